//! Values that depend on what other programs made, checked with the machine's `openssl`.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::Path;
use std::process::Command;

use go_yaml::{Node, Origin};
use variable_generator::{Generator, expiry};
use variables::{
    AlternativeName, Certificate, Error, ExtendedKeyUsage, Generate, KeyUsage, Order, Signer, Specification,
};

/// Runs a program in a directory; its output.
fn run(directory: &Path, line: &str) -> String {
    let mut words = line.split(' ');
    let mut program = Command::new(words.next().unwrap());
    let output = program.args(words).current_dir(directory).output().unwrap();
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn certificate(name: &str, signer: Signer) -> Order {
    let certificate = Certificate {
        subject: vec![("C", "US".to_owned()), ("CN", name.to_owned())],
        key_length: 2048,
        days: 10,
        is_ca: false,
        ca: None,
        key_usage: vec![KeyUsage::DigitalSignature],
        extended_key_usage: vec![ExtendedKeyUsage::ServerAuth],
        alternative_names: vec![AlternativeName::Dns(format!("{name}.example.org"))],
    };
    order(name, Specification::Certificate(certificate), signer)
}

fn order(name: &str, specification: Specification, signer: Signer) -> Order {
    Order { name: name.to_owned(), origin: Origin::default(), specification, signer }
}

fn edit(order: &mut Order, edit: impl Fn(&mut Certificate)) {
    let Specification::Certificate(certificate) = &mut order.specification else { panic!("not a certificate") };
    edit(certificate);
}

fn failures(error: Error) -> Vec<(String, String)> {
    let Error::Definitions(failures) = error else { panic!("{error:?}") };
    failures.into_iter().map(|failure| (failure.message, failure.cause.unwrap_or_default())).collect()
}

/// The values by the names of their orders, and how the generation ended.
fn generate(orders: &[Order]) -> (Vec<(String, Node)>, Result<(), Error>) {
    let mut values = Vec::new();
    let outcome = Generator.generate(orders, &mut |kept| {
        values.extend(kept.into_iter().map(|(index, value)| (orders[index].name.clone(), value)));
        Ok(())
    });
    (values, outcome)
}

fn part(value: &Node, key: &str) -> String {
    value.get(key).unwrap().as_str().unwrap().to_owned()
}

/// Makes an authority whose key `openssl` writes with these commands to `key.pem`.
fn authority(directory: &Path, key: &[&str]) -> Signer {
    key.iter().for_each(|line| drop(run(directory, line)));
    run(directory, "openssl req -x509 -new -key key.pem -days 30 -subj /O=Elsewhere/CN=authority -out ca.pem");
    let text = |name: &str| fs::read_to_string(directory.join(name)).unwrap();
    Signer::Existing { name: "ca".to_owned(), certificate: text("ca.pem"), private_key: text("key.pem") }
}

const KEYS: [(&str, &[&str]); 6] = [
    ("PKCS#1", &["openssl genrsa -traditional -out key.pem 2048"]),
    ("PKCS#8", &["openssl genpkey -algorithm RSA -out key.pem"]),
    ("SEC1 of P-256 behind its parameters", &["openssl ecparam -name prime256v1 -genkey -out key.pem"]),
    ("PKCS#8 of P-256", &["openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out key.pem"]),
    ("SEC1 of P-384", &["openssl ecparam -name secp384r1 -genkey -noout -out key.pem"]),
    ("PKCS#8 of P-521", &["openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-521 -out key.pem"]),
];

#[test]
fn authorities_of_other_programs_sign() {
    for (kind, key) in KEYS {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        let signer = authority(directory, key);
        let (values, outcome) = generate(&[certificate("leaf", signer)]);
        assert!(outcome.is_ok(), "{kind}: {outcome:?}");
        fs::write(directory.join("leaf.pem"), part(&values[0].1, "certificate")).unwrap();
        let verified = run(directory, "openssl verify -CAfile ca.pem leaf.pem");
        assert_eq!(verified, "leaf.pem: OK\n", "{kind}");
        assert_eq!(part(&values[0].1, "ca"), fs::read_to_string(directory.join("ca.pem")).unwrap(), "{kind}");
        let names = run(directory, "openssl x509 -in leaf.pem -noout -issuer -subject -nameopt RFC2253");
        assert_eq!(names, "issuer=CN=authority,O=Elsewhere\nsubject=CN=leaf,C=US\n", "{kind}");
    }
}

#[test]
fn authorities_that_cannot_sign_are_refused_before_anything_is_generated() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let signer = authority(directory, KEYS[1].1);
    let Signer::Existing { certificate: good, private_key: key, .. } = signer else { unreachable!() };
    run(directory, "openssl genpkey -algorithm RSA -out other.pem");
    run(directory, "openssl pkey -in key.pem -pubout -out public.pem");
    run(directory, "openssl rsa -in key.pem -traditional -aes128 -passout pass:x -out encrypted.pem");
    run(directory, "openssl pkcs8 -topk8 -in key.pem -passout pass:x -out encrypted8.pem");
    run(directory, "openssl genpkey -algorithm ED25519 -out edwards.pem");
    run(
        directory,
        "openssl req -x509 -new -key key.pem -days 30 -subj /CN=x -addext basicConstraints=CA:FALSE -out leaf.pem",
    );
    run(
        directory,
        "openssl req -x509 -new -key key.pem -days 30 -subj /CN=x -addext keyUsage=digitalSignature -out usage.pem",
    );
    let text = |name: &str| fs::read_to_string(directory.join(name)).unwrap();
    let cases = [
        ("no PEM".to_owned(), key.clone(), "Parsing certificate: it is not an X.509 certificate"),
        (key.clone(), key.clone(), "Parsing certificate: it is not an X.509 certificate"),
        (good.clone(), good.clone(), "Parsing private key: it is not a private key, or is encrypted"),
        (good.clone(), text("encrypted.pem"), "Parsing private key: it is not a private key, or is encrypted"),
        (good.clone(), text("encrypted8.pem"), "Parsing private key: it is not a private key, or is encrypted"),
        (good.clone(), text("public.pem"), "Parsing private key: it is a public key"),
        (
            good.clone(),
            text("edwards.pem"),
            "Parsing private key: it is neither an RSA key nor a key of the curves P-256, P-384 and P-521",
        ),
        (good.clone(), text("other.pem"), "the private key does not belong to the certificate"),
        (text("leaf.pem"), key.clone(), "the certificate is not that of a certificate authority"),
        (text("usage.pem"), key.clone(), "the certificate is not that of a certificate authority"),
    ];
    let order = |(certificate, private_key, _): &(String, String, &str)| {
        let signer = Signer::Existing {
            name: "ca".to_owned(),
            certificate: certificate.clone(),
            private_key: private_key.clone(),
        };
        certificate_of(signer)
    };
    let orders: Vec<Order> = cases.iter().map(order).collect();
    let (values, outcome) = generate(&orders);
    let expected: Vec<(String, String)> = cases
        .iter()
        .map(|(.., reason)| {
            ("Generating variable 'leaf': Loading certificates".to_owned(), format!("variable 'ca': {reason}"))
        })
        .collect();
    assert_eq!(failures(outcome.unwrap_err()), expected);
    assert!(values.is_empty());
}

fn certificate_of(signer: Signer) -> Order {
    certificate("leaf", signer)
}

#[test]
fn a_value_that_fails_does_not_lose_the_others() {
    let mut root = certificate("root", Signer::Itself);
    edit(&mut root, |root| root.is_ca = true);
    let mut wrong = certificate("wrong", Signer::Ordered(0));
    edit(&mut wrong, |wrong| wrong.alternative_names = vec![AlternativeName::Dns("ä".to_owned())]);
    let orders = [
        root,
        wrong,
        certificate("leaf", Signer::Ordered(0)),
        // Signed by what fails.
        certificate("behind", Signer::Ordered(1)),
        order("key", Specification::Ssh(2048, None), Signer::Itself),
    ];
    let (values, outcome) = generate(&orders);
    let failures = failures(outcome.unwrap_err());
    assert_eq!(failures.len(), 1, "{failures:?}");
    assert_eq!(failures[0].0, "Generating variable 'wrong'");
    let mut names: Vec<&str> = values.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["key", "leaf", "root"]);
}

#[test]
fn a_value_that_cannot_be_kept_ends_the_generation() {
    let mut count = 0;
    let orders: Vec<Order> = (0..4).map(|n| order(&n.to_string(), Specification::Rsa(2048), Signer::Itself)).collect();
    let outcome = Generator.generate(&orders, &mut |_| {
        count += 1;
        Err(problem::Problem::internal("the disk is full").into())
    });
    assert!(matches!(outcome, Err(Error::System(_))), "{outcome:?}");
    assert_eq!(count, 1);
}

#[test]
fn long_certificates_expire_after_the_year_2050() {
    let directory = tempfile::tempdir().unwrap();
    let mut order = certificate("long", Signer::Itself);
    edit(&mut order, |certificate| certificate.days = variables::MOST_DAYS);
    let (values, outcome) = generate(&[order]);
    assert!(outcome.is_ok(), "{outcome:?}");
    let pem = part(&values[0].1, "certificate");
    fs::write(directory.path().join("long.pem"), &pem).unwrap();
    let shown = run(directory.path(), "openssl x509 -in long.pem -noout -enddate -dateopt iso_8601");
    let expiry = expiry(&pem).unwrap();
    assert_eq!(shown.trim_end(), format!("notAfter={}", expiry.date.replace('T', " ")));
    let days = i64::from(variables::MOST_DAYS) * 86_400;
    assert!((days - 600..=days).contains(&expiry.seconds), "{}", expiry.seconds);
}
