//! `boson interpolate --vars-store`: certificates checked by the machine's `openssl`, keys by its `ssh-keygen`.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

/// A directory with a manifest.
fn directory(manifest: &str) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("m.yml"), manifest).unwrap();
    directory
}

fn command(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(testkit::executable("boson"));
    command.args(["interpolate", "m.yml", "--vars-store", "creds.yml"]).args(arguments).current_dir(directory);
    command
}

fn interpolate(directory: &Path, arguments: &[&str]) -> String {
    succeeded(&command(directory, arguments).output().unwrap())
}

fn succeeded(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// What a program of the machine prints.
fn run(directory: &Path, line: &str) -> String {
    let mut words = line.split(' ');
    let mut program = Command::new(words.next().unwrap());
    succeeded(&program.args(words).current_dir(directory).output().unwrap())
}

fn store(directory: &Path) -> String {
    fs::read_to_string(directory.join("creds.yml")).unwrap()
}

/// Writes parts of values into files of their names.
fn extract(directory: &Path, parts: &[&str]) {
    let references: String = parts.iter().map(|part| format!("{part}: (({part}))\n")).collect();
    fs::write(directory.join("parts.yml"), references).unwrap();
    for part in parts {
        let path = format!("/{part}");
        let mut command = Command::new(testkit::executable("boson"));
        command.args(["interpolate", "parts.yml", "-l", "creds.yml", "--path", &path]).current_dir(directory);
        // Printed with a line feed more than the value has.
        let text = succeeded(&command.output().unwrap());
        fs::write(directory.join(part), text.strip_suffix('\n').unwrap()).unwrap();
    }
    fs::set_permissions(directory.join(parts[0]), fs::Permissions::from_mode(0o600)).unwrap();
}

const CERTIFICATES: &str = "
variables:
- name: leaf
  type: certificate
  options:
    ca: middle
    common_name: '*.example.org'
    organization: Ä & Co
    alternative_names: [nats.service.internal, 10.0.0.1, '::1']
    extended_key_usage: [server_auth, client_auth]
    duration: 30
- {name: middle, type: certificate, options: {ca: root, is_ca: true, common_name: middle, key_length: 2048}}
- {name: root, type: certificate, options: {is_ca: true, common_name: root, key_length: 2048, duration: 20000}}
ca: ((root.certificate))
";

#[test]
fn certificates_are_those_of_the_cli() {
    let directory = directory(CERTIFICATES);
    let directory = directory.path();
    let printed = interpolate(directory, &[]);
    assert!(printed.ends_with("variables: []\n"), "{printed}");
    extract(
        directory,
        &[
            "leaf.certificate",
            "leaf.private_key",
            "leaf.ca",
            "middle.certificate",
            "middle.ca",
            "root.certificate",
            "root.ca",
        ],
    );
    let verified = run(
        directory,
        "openssl verify -x509_strict -CAfile root.certificate -untrusted middle.certificate leaf.certificate",
    );
    assert_eq!(verified, "leaf.certificate: OK\n");
    for (ca, certificate) in
        [("leaf.ca", "middle.certificate"), ("middle.ca", "root.certificate"), ("root.ca", "root.certificate")]
    {
        assert_eq!(fs::read(directory.join(ca)).unwrap(), fs::read(directory.join(certificate)).unwrap(), "{ca}");
    }
    let text = run(directory, "openssl x509 -in leaf.certificate -noout -text -nameopt utf8,sep_comma_plus_space");
    let expected = [
        "Version: 3 (0x2)",
        "Signature Algorithm: sha256WithRSAEncryption",
        "Issuer: C=US, O=Cloud Foundry, CN=middle",
        "Subject: C=US, O=Ä & Co, CN=*.example.org",
        "Public-Key: (3072 bit)",
        "X509v3 Key Usage: critical",
        "Digital Signature, Key Encipherment",
        "TLS Web Server Authentication, TLS Web Client Authentication",
        "X509v3 Basic Constraints: critical",
        "CA:FALSE",
        "DNS:nats.service.internal, IP Address:10.0.0.1, IP Address:0:0:0:0:0:0:0:1",
    ];
    let mut lines = text.lines().map(str::trim);
    for line in expected {
        assert!(lines.any(|found| found == line), "{line}: {text}");
    }
    run(directory, "openssl x509 -in leaf.certificate -noout -checkend 2500000");
    let mut later = Command::new("openssl");
    later.args(["x509", "-noout", "-checkend", "2600000", "-in", "leaf.certificate"]).current_dir(directory);
    assert!(!later.output().unwrap().status.success());
    // The key is that of the certificate, in the format of PKCS#1.
    let key = fs::read_to_string(directory.join("leaf.private_key")).unwrap();
    assert!(key.starts_with("-----BEGIN RSA PRIVATE KEY-----\n"), "another format");
    let of_key = run(directory, "openssl pkey -in leaf.private_key -pubout");
    assert_eq!(run(directory, "openssl x509 -in leaf.certificate -noout -pubkey"), of_key);
    let ids = ["Subject Key Identifier", "Authority Key Identifier"].map(|name| {
        let text = run(directory, "openssl x509 -in middle.certificate -noout -text");
        let mut lines = text.lines().map(|line| line.trim().to_owned());
        lines.find(|line| line.contains(name)).and_then(|_| lines.next()).unwrap()
    });
    assert!(text.contains(&ids[0]) && !text.contains(&ids[1]), "{ids:?}");
}

#[test]
fn keys_passwords_and_users_are_those_of_the_cli() {
    let directory = directory(
        "variables:
- {name: ssh, type: ssh}
- {name: commented, type: ssh, options: {ssh_comment: me@here}}
- {name: rsa, type: rsa}
- {name: plain, type: password}
- {name: special, type: password, options: {length: 9, include_special: true, exclude_lower: true}}
- {name: user, type: user, options: {username: admin, length: 30}}
",
    );
    let directory = directory.path();
    interpolate(directory, &[]);
    extract(
        directory,
        &[
            "ssh.private_key",
            "ssh.public_key",
            "ssh.public_key_fingerprint",
            "commented.public_key",
            "rsa.private_key",
            "rsa.public_key",
            "plain",
            "special",
            "user.username",
            "user.password",
            "user.password_hash",
        ],
    );
    let text = |name: &str| fs::read_to_string(directory.join(name)).unwrap();
    assert_eq!(run(directory, "ssh-keygen -y -f ssh.private_key"), text("ssh.public_key"));
    let fingerprint = run(directory, "ssh-keygen -l -E md5 -f ssh.public_key");
    assert!(fingerprint.starts_with(&format!("2048 MD5:{} ", text("ssh.public_key_fingerprint"))), "{fingerprint}");
    assert!(run(directory, "ssh-keygen -l -f commented.public_key").contains(" me@here "));
    assert_eq!(run(directory, "openssl rsa -in rsa.private_key -pubout"), text("rsa.public_key"));
    let plain = text("plain");
    assert_eq!(plain.len(), 20);
    assert!(plain.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()), "another character");
    let special = text("special");
    assert_eq!(special.len(), 9);
    assert!(!special.bytes().any(|byte| byte.is_ascii_lowercase()), "a lower case letter");
    for class in [u8::is_ascii_uppercase, u8::is_ascii_digit, u8::is_ascii_punctuation] {
        assert!(special.as_bytes().iter().any(class), "a class of characters is missing");
    }
    assert_eq!((text("user.username").as_str(), text("user.password").len()), ("admin", 30));
    let hash = text("user.password_hash");
    let salt = hash.split('$').nth(2).unwrap();
    let again = run(directory, &format!("openssl passwd -6 -salt {salt} {}", text("user.password")));
    assert_eq!(again.trim_end(), hash);
}

#[test]
fn a_store_makes_runs_equal_and_is_private() {
    let directory =
        directory("variables: [{name: p, type: password}, {name: s, type: user}]\nx: ((p))\ny: ((s.username))\n");
    let directory = directory.path();
    let first = interpolate(directory, &[]);
    let written = store(directory);
    assert_eq!(interpolate(directory, &[]), first);
    assert_eq!(store(directory), written);
    let mode = fs::metadata(directory.join("creds.yml")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o600);
    // A value given has precedence, and is not stored.
    assert!(interpolate(directory, &["-v", "p=given"]).contains("x: given\n"));
    assert_eq!(store(directory), written);
    // What is in the store needs no right to write.
    fs::set_permissions(directory, fs::Permissions::from_mode(0o500)).unwrap();
    assert_eq!(interpolate(directory, &[]), first);
    fs::set_permissions(directory, fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn the_store_of_the_bosh_cli_is_taken_over() {
    let directory = directory("variables: [{name: p, type: password}, {name: q, type: password}]\nx: ((p))\n");
    let directory = directory.path();
    fs::write(directory.join("creds.yml"), "p: old\nother: {a: 1}\n").unwrap();
    assert!(interpolate(directory, &[]).contains("x: old\n"));
    let values = store(directory);
    let keys: BTreeMap<&str, &str> = values.lines().filter_map(|line| line.split_once(':')).collect();
    assert_eq!((keys["p"], keys["other"], keys["q"].len()), (" old", "", 21));
}

#[test]
fn two_runs_at_once_agree() {
    let directory =
        directory("variables: [{name: p, type: password}, {name: k, type: rsa}]\nx: ((p))\ny: ((k.public_key))\n");
    let start = || command(directory.path(), &[]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let running = [start(), start(), start()];
    let printed = running.map(|child| succeeded(&child.wait_with_output().unwrap()));
    assert!(printed[0] == printed[1] && printed[1] == printed[2], "{printed:?}");
    let mut left: Vec<_> = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["creds.yml", "m.yml"]);
}

#[test]
fn a_failed_run_writes_nothing() {
    for (manifest, arguments) in [
        ("variables: [{name: p, type: password}]\nx: ((p.part))\n", &[][..]),
        ("variables: [{name: p, type: password}]\nx: ((q))\n", &["--var-errs"]),
        ("variables: [{name: p, type: password}, {name: q, type: pasword}]\n", &[]),
        ("variables: [{name: p, type: password}]\nx: 1\n", &["--path", "/y"]),
    ] {
        let directory = directory(manifest);
        let output = command(directory.path(), arguments).output().unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(65), 0), "{manifest}");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "{manifest}");
    }
}

/// As many keys as take minutes.
fn many_keys() -> String {
    let definition = |n| format!("- {{name: key-{n}, type: rsa, options: {{key_length: 3072}}}}\n");
    let keys: String = (0..500).map(definition).collect();
    format!("variables:\n- {{name: password, type: password}}\n{keys}")
}

/// The names and values that a store has.
fn values(store: &str) -> BTreeMap<String, String> {
    let mut values: BTreeMap<String, String> = BTreeMap::new();
    let mut name = String::new();
    for line in store.lines().filter(|line| !line.starts_with('#')) {
        if let Some((key, _)) = line.split_once(':').filter(|_| !line.starts_with(' ')) {
            key.clone_into(&mut name);
        }
        values.entry(name.clone()).or_default().push_str(line);
    }
    values
}

#[test]
fn an_interrupted_generation_continues_where_it_was() {
    for (signal, is_kept) in [(Signal::SIGINT, true), (Signal::SIGTERM, true), (Signal::SIGKILL, false)] {
        let directory = directory(&many_keys());
        let directory = directory.path();
        let mut child = command(directory, &[]).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(|line| line.unwrap());
        assert_eq!(lines.next().unwrap(), "generating 501 variables, 500 keys");
        let second = |line: &String| line.starts_with("generated key-") && line.ends_with(" (2 of 500)");
        assert!(lines.any(|line| second(&line)));
        kill(Pid::from_raw(child.id().cast_signed()), signal).unwrap();
        let rest: String = lines.collect();
        assert_eq!(child.wait().unwrap().signal(), Some(signal as i32), "{rest}");
        assert_eq!(rest.contains("interrupted: the variables generated so far are in creds.yml"), is_kept, "{rest}");

        let mode = fs::metadata(directory.join("creds.yml")).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o600);
        let first = values(&store(directory));
        assert!(first.contains_key("password") && first.len() >= 3, "{:?}", first.keys());
        assert!(first.len() < 501, "{} values", first.len());
        if is_kept {
            assert_eq!(fs::read_dir(directory).unwrap().count(), 2, "something else is left");
        }
        let names = first.keys().filter(|name| name.starts_with("key-"));
        let keys: String =
            names.map(|name| format!("- {{name: {name}, type: rsa, options: {{key_length: 3072}}}}\n")).collect();
        let rest = format!("variables:\n- {{name: new, type: password}}\n- {{name: password, type: password}}\n{keys}");
        fs::write(directory.join("m.yml"), rest).unwrap();
        let output = command(directory, &[]).output().unwrap();
        succeeded(&output);
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        let mut second = values(&store(directory));
        assert!(second.remove("new").is_some());
        assert!(second == first, "a value was generated twice");
    }
}

#[test]
fn a_value_is_written_before_the_others_exist() {
    let directory = directory(&many_keys());
    let directory = directory.path();
    let mut child = command(directory, &[]).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(|line| line.unwrap());
    assert!(lines.any(|line| line.ends_with(" (4 of 500)")));
    let stored = values(&store(directory));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(stored.contains_key("password") && stored.len() >= 5, "{:?}", stored.keys());
}

#[test]
fn the_order_of_the_store_is_that_of_the_names() {
    let directory = directory(CERTIFICATES);
    let directory = directory.path();
    interpolate(directory, &[]);
    let text = store(directory);
    let names: Vec<&str> =
        text.lines().filter(|line| !line.starts_with([' ', '#'])).filter_map(|line| line.strip_suffix(':')).collect();
    assert_eq!(names, ["leaf", "middle", "root"]);
}

#[test]
fn an_authority_that_is_given_signs_if_it_can() {
    let directory = directory(CERTIFICATES);
    let directory = directory.path();
    interpolate(directory, &[]);
    fs::rename(directory.join("creds.yml"), directory.join("given.yml")).unwrap();
    let manifest =
        |ca: &str| format!("variables: [{{name: new, type: certificate, options: {{ca: {ca}, key_length: 2048}}}}]\n");
    fs::write(directory.join("m.yml"), manifest("middle")).unwrap();
    interpolate(directory, &["-l", "given.yml"]);
    fs::copy(directory.join("given.yml"), directory.join("all.yml")).unwrap();
    extract(directory, &["new.certificate", "new.ca"]);
    run(directory, "openssl verify -partial_chain -CAfile new.ca new.certificate");
    fs::remove_file(directory.join("creds.yml")).unwrap();
    fs::write(directory.join("m.yml"), manifest("leaf")).unwrap();
    let output = command(directory, &["-l", "given.yml"]).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(65));
    assert!(message.contains("variable 'leaf': the certificate is not that of a certificate authority"), "{message}");
    assert!(!directory.join("creds.yml").exists());
}

#[test]
fn variables_are_listed_and_rotated_without_their_values() {
    let directory = directory(
        "variables: [{name: nats_password, type: password}, {name: ca, type: certificate, options: {is_ca: true}}]\nx: ((nats_password))\n",
    );
    let directory = directory.path();
    let first = interpolate(directory, &[]);
    let variables = |arguments: &[&str]| {
        let mut command = Command::new(testkit::executable("boson"));
        command.arg("variables").args(arguments).args(["--vars-store", "creds.yml"]).current_dir(directory);
        command.output().unwrap()
    };
    let lines = |output: &Output| {
        succeeded(output).lines().map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
    };
    let listed: Vec<Vec<String>> = lines(&variables(&[]));
    assert_eq!(
        (listed[1][..2].join(" "), listed[2].join(" ")),
        ("ca certificate".to_owned(), "nats_password password - -".to_owned())
    );
    assert!(listed[1][2].ends_with('Z') && listed[1][3] == "-", "{listed:?}");

    let unknown = variables(&["rotate", "q", "nats_pasword"]);
    assert_eq!(unknown.status.code(), Some(65));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("did you mean 'nats_password'?"));
    succeeded(&variables(&["rotate", "nats_password"]));
    let marked: Vec<Vec<String>> = lines(&variables(&[]));
    assert_eq!(marked[2].join(" "), "nats_password password - to be rotated");
    let second = interpolate(directory, &[]);
    assert_ne!(second, first);
    assert_eq!(interpolate(directory, &[]), second);
    let after: Vec<Vec<String>> = lines(&variables(&[]));
    assert_eq!(after, listed);
}

#[test]
fn links_are_reported_to_be_unknown() {
    let definition = "variables:
- name: c
  type: certificate
  options: {self_sign: true, key_length: 2048}
  consumes: {common_name: {from: web}, alternative_name: {from: [ignored, as, the, CLI, does]}}
";
    let directory = directory(definition);
    let output = command(directory.path(), &[]).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{printed}");
    let warning = "WARN the certificate of variable 'c' lacks the names of the links that it consumes";
    assert_eq!(printed.matches(warning).count(), 1, "{printed}");
    assert!(
        printed.contains("  --> m.yml:2:3\n  hint: let `boson plan --vars-store` or `boson up` generate it"),
        "{printed}"
    );
    // What exists is taken as it is.
    let output = command(directory.path(), &[]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn definitions_that_cannot_be_found_again_are_errors_before_anything_is_generated() {
    let refused = |definitions: &str, message: &str| {
        let directory = directory(&format!("variables: [{definitions}]\n"));
        let output = command(directory.path(), &["-v", "p=x"]).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(65), "{definitions}: {stderr}");
        assert!(stderr.contains(message), "{definitions}: {stderr}");
        assert!(!directory.path().join("creds.yml").exists(), "{definitions}");
    };
    let password = |name: &str| format!("{{name: {name}, type: password}}");
    let twice = format!("{}, {}", password("a"), password("a"));
    refused(&twice, "Some of the variables have duplicate names, eg: 'a'");
    refused(&password("((p))-pw"), "Variable name '((p))-pw' must not contain references");
    let itself = "{name: a, type: password, options: {length: ((b))}}, {name: b, options: {x: ((a))}}";
    refused(itself, "Interpolating variable 'a' definition options");
    // Without a type nothing is generated, and nothing is removed.
    let directory = directory("variables: [{name: a}, {name: a}, {name: ((p))-pw}]\n");
    assert_eq!(interpolate(directory.path(), &["-v", "p=x"]), "variables:\n- name: a\n- name: a\n- name: x-pw\n");
}
