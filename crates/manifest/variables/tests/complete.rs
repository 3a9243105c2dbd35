//! What is generated, with a generator that generates nothing secret.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};

use go_yaml::{Key, Map, Node, Source, Value, read, write};
use interpolation::{Definition, Failure, Kind, Sources};
use proptest::prelude::*;
use variables::{
    Completed, ConsumedLink, Error, Generate, Keep, LinkNames, Order, Signer, Specification, Store, complete,
};

static NUMBER: AtomicUsize = AtomicUsize::new(0);

/// Numbers its values.
#[derive(Default)]
struct Numbers {
    orders: RefCell<Vec<Order>>,
}

fn text(text: String) -> Node {
    Node::new(Value::String(text))
}

impl Generate for Numbers {
    fn generate(&self, orders: &[Order], keep: &mut Keep) -> Result<(), Error> {
        let mut values: Vec<Node> = Vec::new();
        for (i, order) in orders.iter().enumerate() {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            values.push(match &order.specification {
                Specification::Certificate(_) => {
                    let pem = |what: &str| format!("-----BEGIN {what}-----\n{number}\n-----END {what}-----\n");
                    let ca = match &order.signer {
                        Signer::Itself => pem("CERTIFICATE"),
                        Signer::Ordered(index) => {
                            assert!(*index < i, "{} is signed by a later order", order.name);
                            values[*index].get("certificate").unwrap().as_str().unwrap().to_owned()
                        }
                        Signer::Existing { certificate, .. } => certificate.clone(),
                    };
                    let parts = [("certificate", pem("CERTIFICATE")), ("private_key", pem("KEY")), ("ca", ca)];
                    let map: Map =
                        parts.into_iter().map(|(key, value)| (Key::String(key.into()), text(value))).collect();
                    Node::new(Value::Map(map))
                }
                _ => text(format!("value {number}")),
            });
        }
        self.orders.borrow_mut().extend(orders.to_vec());
        for (index, value) in values.into_iter().enumerate().rev() {
            keep(vec![(index, value)])?;
        }
        Ok(())
    }
}

struct Outcome {
    completed: Result<Completed, Vec<Failure>>,
    orders: Vec<String>,
    specifications: Vec<Specification>,
}

/// One run, given the lines of `variables:`, in which every link has this address; none is known without one.
fn run_with_links(manifest: &str, address: Option<&str>, store: &mut Store) -> Outcome {
    generate(manifest, &[], address, store)
}

/// One run, given the lines of `variables:`.
fn run(manifest: &str, given: &[(&str, &str)], store: &mut Store) -> Outcome {
    generate(manifest, given, None, store)
}

fn generate(manifest: &str, given: &[(&str, &str)], address: Option<&str>, store: &mut Store) -> Outcome {
    let document = read(format!("variables:\n{manifest}").as_bytes(), Source::default()).unwrap();
    let definitions = Definition::of(&document).unwrap();
    let mut sources = Sources::default();
    for (name, value) in given {
        sources.add(Kind::Flag, name, read(value.as_bytes(), Source::default()).unwrap());
    }
    let mut sources = sources.merge().unwrap();
    let numbers = Numbers::default();
    let mut changed = store.clone();
    let links = address.map_or_else(LinkNames::unknown, |address| {
        let (links, _) = ConsumedLink::all_of(&definitions, &sources).unwrap();
        LinkNames::of(&links, &vec![address.to_owned(); links.len()])
    });
    let mut saved = None;
    let mut save = |store: &Store| {
        saved = Some(store.clone());
        Ok(())
    };
    let completed = complete(&definitions, &mut sources, &mut changed, &links, &numbers, &mut save);
    let completed = completed.map_err(|error| match error {
        Error::Definitions(failures) => failures,
        other => panic!("{other:?}"),
    });
    assert!(saved.is_none_or(|saved| saved == changed), "a value is not saved");
    if completed.is_ok() {
        *store = changed;
    }
    let specifications = numbers.orders.take().into_iter();
    let (orders, specifications) = specifications.map(|order| (order.name, order.specification)).unzip();
    Outcome { completed, orders, specifications }
}

fn warnings(outcome: &Outcome) -> Vec<&str> {
    outcome.completed.as_ref().unwrap().warnings.iter().map(|warning| warning.message.as_str()).collect()
}

const CHAIN: &str = "
- {name: leaf, type: certificate, options: {ca: middle, common_name: leaf}}
- {name: middle, type: certificate, options: {ca: root, is_ca: true, common_name: middle}}
- {name: p, type: password}
- {name: root, type: certificate, options: {is_ca: true, common_name: root}}
";

#[test]
fn authorities_are_generated_before_what_they_sign() {
    let mut store = Store::default();
    let outcome = run(CHAIN, &[], &mut store);
    assert_eq!(outcome.orders, ["root", "middle", "leaf", "p"]);
    let text = store.text();
    let again = run(CHAIN, &[], &mut store);
    assert!(again.orders.is_empty() && warnings(&again).is_empty());
    assert_eq!(store.text(), text);
}

#[test]
fn values_of_other_sources_are_not_generated() {
    let mut store = Store::default();
    let outcome = run("- {name: p, type: password}\n- {name: q}\n", &[("p", "5")], &mut store);
    assert!(outcome.orders.is_empty() && store == Store::default());
}

#[test]
fn options_refer_to_variables() {
    let mut store = Store::default();
    let manifest = "
- {name: c, type: certificate, options: {common_name: ((b)), ca: ((ca_name))}}
- {name: b, type: user, options: {username: ((a))-((given))}}
- {name: a, type: password}
- {name: root, type: certificate, options: {is_ca: true}}
- {name: unknown, type: password, options: {length: ((nothing))}}
- {name: below, type: password, options: {length: ((unknown))}}
";
    let outcome = run(manifest, &[("given", "x"), ("ca_name", "root")], &mut store);
    assert_eq!(outcome.orders, ["a", "root", "b", "c"]);
    assert!(outcome.completed.is_ok() && store.get("unknown").is_none() && store.get("below").is_none());
}

#[test]
fn all_mistakes_are_reported_and_nothing_is_generated() {
    let cases = [
        ("- {name: a, type: pasword}", "Unsupported value type: pasword", "did you mean 'password'?"),
        (
            "- {name: a, type: password, options: {lenght: 5}}",
            "Unsupported parameter 'lenght'",
            "did you mean 'length'?",
        ),
        (
            "- {name: a, type: password, options: [1]}",
            "Expected the options to be a map but found '[]interface {}'",
            "",
        ),
        (
            "- {name: a, type: password, options: {length: x}}",
            "Expected 'length' to be an integer but found 'string'",
            "",
        ),
        ("- {name: a, type: password, options: {length: -1}}", "'length' param cannot be negative", ""),
        ("- {name: a, type: password, options: {length: 100000000}}", "at most 65536", ""),
        ("- {name: a, type: user, options: {exclude_lower: 1}}", "Expected 'exclude_lower' to be a boolean", ""),
        (
            "- {name: a, type: user, options: {exclude_lower: true, exclude_upper: true, exclude_number: true}}",
            "all are excluded",
            "",
        ),
        (
            "- {name: a, type: rsa, options: {key_length: 1024}}",
            "Invalid key_length: 1024.  Must be one of: [2048 3072 4096]",
            "",
        ),
        ("- {name: a, type: ssh, options: {key_size: 2048}}", "Unsupported parameter 'key_size'", ""),
        ("- {name: a, type: certificate}", "Missing required CA name", ""),
        ("- {name: a, type: certificate, options: {ca: b}}", "Expected to find variable 'b' with a certificate", ""),
        ("- {name: a, type: certificate, options: {ca: a}}", "Detected recursion: a is signed by a", ""),
        (
            "- {name: a, type: certificate, options: {ca: given}}",
            "Expected to find variable 'given' with a certificate",
            "",
        ),
        ("- {name: a, type: certificate, options: {ca: x.y}}", "without dots", ""),
        ("- {name: a, type: certificate, options: {self_sign: true, duration: 106752}}", "from 1 to 106751", ""),
        ("- {name: a, type: certificate, options: {self_sign: true, duration: -1}}", "from 1 to 106751", ""),
        (
            "- {name: a, type: certificate, options: {self_sign: true, duration: 1.5}}",
            "Expected 'duration' to be an integer",
            "",
        ),
        (
            "- {name: a, type: certificate, options: {self_sign: true, extended_key_usage: [client_aut]}}",
            "Unsupported extended key usage value: client_aut",
            "did you mean 'client_auth'?",
        ),
        (
            "- {name: a, type: certificate, options: {self_sign: true, key_usage: [sign]}}",
            "Unsupported key usage value: sign",
            "",
        ),
        (
            "- {name: a, type: certificate, options: {self_sign: true, organizations: [x]}}",
            "Unsupported parameter 'organizations'",
            "did you mean 'organization'?",
        ),
        (
            "- {name: a, type: certificate, options: {self_sign: true, alternative_names: x}}",
            "Expected 'alternative_names' to be an array",
            "",
        ),
        ("- {name: a, type: certificate, options: {self_sign: true, alternative_names: [é]}}", "ASCII", ""),
        ("- {name: a, type: certificate, options: {self_sign: true, country: USA}}", "two letters", ""),
        ("- {name: a, type: password, options: {length: ((a))}}", "Finding variable 'a': Detected recursion", ""),
        ("- {name: a, type: password, update_mode: converged}", "unknown update_mode", "did you mean 'converge'?"),
        ("- {name: a.b, type: password}", "must not contain dots", ""),
        (
            "- {name: a, type: certificate, options: {ca: b}}\n- {name: b, type: certificate, options: {self_sign: true}}",
            "Variable 'b' is not a certificate authority",
            "is_ca: true",
        ),
        (
            "- {name: a, type: certificate, options: {ca: b}}\n- {name: b, type: password}",
            "Variable 'b' is not a certificate, but of the type password",
            "",
        ),
        (
            "- {name: a, type: certificate, options: {ca: b, is_ca: true}}\n- {name: b, type: certificate, options: {ca: a, is_ca: true}}",
            "Detected recursion: a is signed by b is signed by a",
            "",
        ),
    ];
    for (manifest, message, hint) in cases {
        let manifest =
            format!("{manifest}\n- {{name: wrong, type: nothing-like-it}}\n- {{name: right, type: password}}\n");
        let outcome = run(&manifest, &[("given", "5")], &mut Store::default());
        let failures = outcome.completed.unwrap_err();
        let shown: Vec<String> = failures.iter().map(ToString::to_string).collect();
        assert!(outcome.orders.is_empty(), "{manifest}");
        // A cycle and a signer are looked for when the options are right.
        let found = failures.iter().find(|failure| failure.to_string().contains(message));
        let Some(found) = found else {
            let manifest = manifest.replace("- {name: wrong, type: nothing-like-it}\n", "");
            let failures = run(&manifest, &[("given", "5")], &mut Store::default()).completed.unwrap_err();
            assert!(
                failures.iter().any(|failure| failure.to_string().contains(message)),
                "{manifest} {shown:?} {failures:?}"
            );
            continue;
        };
        assert!(found.hint.as_deref().unwrap_or_default().contains(hint), "{found:?}");
    }
}

#[test]
fn a_changed_definition_is_reported_or_generated_anew() {
    let manifest = |days: u32, mode: &str| {
        format!("- {{name: c, type: certificate, update_mode: {mode}, options: {{is_ca: true, duration: {days}}}}}\n")
    };
    let mut store = Store::default();
    run(&manifest(10, "no-overwrite"), &[], &mut store);
    let first = store.get("c").cloned();

    let kept = run(&manifest(20, "no-overwrite"), &[], &mut store);
    assert_eq!(warnings(&kept), ["the definition of variable 'c' has changed since its value was generated: duration"]);
    assert_eq!(store.get("c").cloned(), first);
    assert!(run(&manifest(10, "converge"), &[], &mut store).orders.is_empty());
    assert_eq!(run(&manifest(20, "converge"), &[], &mut store).orders, ["c"]);
    assert!(run(&manifest(20, "converge"), &[], &mut store).orders.is_empty());
    assert_eq!(run(&manifest(20, "overwrite"), &[], &mut store).orders, ["c"]);
    assert_eq!(run(&manifest(20, "overwrite"), &[], &mut store).orders, ["c"]);
}

const LINKED: &str = "
- name: c
  type: certificate
  update_mode: MODE
  options: {self_sign: true, alternative_names: [web.example.org]}
  consumes: {alternative_name: {from: web, properties: {wildcard: true}}, common_name: {from: web}}
";

#[test]
fn certificates_take_names_from_links() {
    let certificate = |outcome: &Outcome| match &outcome.specifications[..] {
        [Specification::Certificate(certificate)] => certificate.clone(),
        other => panic!("{other:?}"),
    };
    let mut store = Store::default();
    let linked = LINKED.replace("MODE", "no-overwrite");
    let outcome = run_with_links(&linked, Some("d-web.ns.svc"), &mut store);
    let shown = format!("{:?}", certificate(&outcome));
    assert!(shown.contains(r#"alternative_names: [Dns("web.example.org"), Dns("*.ns.svc")]"#), "{shown}");
    assert!(shown.contains(r#"("CN", "d-web.ns.svc")"#), "{shown}");
    // The options' own common name counts, and one name occurs once.
    let given =
        linked.replace("self_sign: true", "common_name: own, self_sign: true").replace("web.example.org", "'*.ns.svc'");
    let outcome = run_with_links(&given, Some("d-web.ns.svc"), &mut Store::default());
    let shown = format!("{:?}", certificate(&outcome));
    assert!(shown.contains(r#"("CN", "own")"#), "{shown}");
    assert!(shown.contains(r#"alternative_names: [Dns("*.ns.svc")]"#), "{shown}");
}

#[test]
fn another_address_of_a_link_is_a_changed_definition() {
    let (kept, converged) = (LINKED.replace("MODE", "no-overwrite"), LINKED.replace("MODE", "converge"));
    let mut store = Store::default();
    run_with_links(&kept, Some("d-web.ns.svc"), &mut store);
    assert!(warnings(&run_with_links(&kept, Some("d-web.ns.svc"), &mut store)).is_empty());
    let expected =
        ["the definition of variable 'c' has changed since its value was generated: alternative_names, common_name"];
    assert_eq!(warnings(&run_with_links(&kept, Some("e-web.other.svc"), &mut store)), expected);
    // A run that knows no links does not take them for changed.
    let unknown = run_with_links(&converged, None, &mut store);
    assert!(unknown.orders.is_empty() && warnings(&unknown).is_empty());
    assert_eq!(run_with_links(&converged, Some("e-web.other.svc"), &mut store).orders, ["c"]);
}

#[test]
fn a_certificate_that_lacks_the_names_of_its_links_is_reported() {
    let mut store = Store::default();
    let outcome = run_with_links(&LINKED.replace("MODE", "no-overwrite"), None, &mut store);
    assert_eq!(outcome.orders, ["c"]);
    assert!(warnings(&outcome)[0].starts_with("the certificate of variable 'c' lacks the names of the links"));
}

#[test]
fn what_a_replaced_authority_has_signed_is_reported_or_signed_anew() {
    let manifest = |mode: &str| {
        format!(
            "- {{name: leaf, type: certificate, update_mode: {mode}, options: {{ca: root}}}}\n\
             - {{name: root, type: certificate, options: {{is_ca: true}}}}\n"
        )
    };
    let mut store = Store::default();
    run(&manifest("no-overwrite"), &[], &mut store);
    store.mark("root");
    let expected = ["the certificate of variable 'leaf' was signed by an earlier value of 'root'"];
    // In the run that replaces it, and in later ones.
    let rotated = run(&manifest("no-overwrite"), &[], &mut store);
    assert_eq!((rotated.orders.clone(), warnings(&rotated)), (vec!["root".to_owned()], expected.to_vec()));
    let later = run(&manifest("no-overwrite"), &[], &mut store);
    assert_eq!((later.orders.len(), warnings(&later)), (0, expected.to_vec()));
    assert_eq!(run(&manifest("converge"), &[], &mut store).orders, ["leaf"]);
    assert!(warnings(&run(&manifest("no-overwrite"), &[], &mut store)).is_empty());
}

#[test]
fn values_of_the_store_are_kept_whatever_they_are() {
    let mut store = Store::parse(b"a: ~\nb: [1]\nc: 5\n", Source::default()).unwrap();
    let manifest =
        "- {name: a, type: password}\n- {name: b, type: rsa}\n- {name: c, type: certificate, options: {cax: 1}}\n";
    let outcome = run(manifest, &[], &mut store);
    assert!(outcome.orders.is_empty());
    assert!(warnings(&outcome)[0].contains("variable 'c'"));
}

proptest! {
    /// Whatever the order of definitions, the same variables are generated, authorities first.
    #[test]
    fn the_order_of_definitions_does_not_matter(
        above in prop::collection::vec(any::<prop::sample::Index>(), 2..12),
        order in Just((0..12usize).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let count = above.len();
        let line = |i: &usize| {
            let ca = if *i == 0 { String::new() } else { format!(", ca: v{}", above[*i].index(*i)) };
            format!("- {{name: v{i}, type: certificate, options: {{is_ca: true{ca}}}}}\n")
        };
        let manifest: String = order.iter().filter(|i| **i < count).map(line).collect();
        let mut store = Store::default();
        let outcome = run(&manifest, &[], &mut store);
        prop_assert_eq!(outcome.orders.len(), count);
        for (i, above) in above.iter().enumerate().skip(1) {
            let part = |name: usize, key: &str| write(store.get(&format!("v{name}")).unwrap().get(key).unwrap());
            prop_assert_eq!(part(i, "ca"), part(above.index(i), "certificate"));
        }
        let text = store.text();
        prop_assert!(run(&manifest, &[], &mut store).orders.is_empty());
        prop_assert_eq!(store.text(), text);
    }
}

/// The parts of a certificate: its authority's, its own, and its key.
fn parts(store: &Store, name: &str) -> [String; 3] {
    ["ca", "certificate", "private_key"]
        .map(|key| store.get(name).unwrap().get(key).unwrap().as_str().unwrap().to_owned())
}

#[test]
fn a_new_authority_is_trusted_before_it_signs() {
    let mut store = Store::default();
    run(CHAIN, &[], &mut store);
    let [before_ca, before, before_key] = parts(&store, "middle");
    store.rotate_authority("middle").unwrap();
    // A certificate that is new in this run is signed by the authority that is known everywhere.
    let more = format!("{CHAIN}- {{name: other, type: certificate, options: {{ca: middle, common_name: other}}}}\n");
    let outcome = run(&more, &[], &mut store);
    assert_eq!(outcome.orders, ["middle", "other"]);
    assert!(warnings(&outcome).is_empty(), "{:?}", warnings(&outcome));
    let [ca, both, key] = parts(&store, "middle");
    assert_eq!((&ca, &key), (&before_ca, &before_key));
    assert!(both.starts_with(before.trim()) && both.len() > before.len());
    assert_eq!([&parts(&store, "leaf")[0], &parts(&store, "other")[0]], [&both, &both]);

    store.rotate_authority("middle").unwrap();
    let outcome = run(&more, &[], &mut store);
    assert_eq!(outcome.orders, ["leaf", "other"]);
    let [_, both, key] = parts(&store, "middle");
    assert!(both.trim().ends_with(before.trim()) && key != before_key);
    assert_eq!(parts(&store, "leaf")[0], both);

    store.rotate_authority("middle").unwrap();
    let outcome = run(&more, &[], &mut store);
    assert!(outcome.orders.is_empty() && warnings(&outcome).is_empty());
    assert_eq!(parts(&store, "leaf")[0], parts(&store, "middle")[1]);
}

#[test]
fn an_authority_below_a_rotated_one_is_reported_and_rotated_before_the_last_step() {
    let mut store = Store::default();
    run(CHAIN, &[], &mut store);
    for _ in 0..2 {
        store.rotate_authority("root").unwrap();
        run(CHAIN, &[], &mut store);
    }
    let outcome = run(CHAIN, &[], &mut store);
    let [warning] = warnings(&outcome)[..] else { panic!("{:?}", warnings(&outcome)) };
    assert!(warning.contains("'middle' was signed by an earlier value of 'root'"), "{warning}");
    assert!(store.rotate_authority("root").is_err());
    for _ in 0..3 {
        store.rotate_authority("middle").unwrap();
        run(CHAIN, &[], &mut store);
    }
    store.rotate_authority("root").unwrap();
    let outcome = run(CHAIN, &[], &mut store);
    assert!(warnings(&outcome).is_empty(), "{:?}", warnings(&outcome));
}

#[test]
fn an_authority_that_the_manifest_does_not_define_is_reported() {
    let mut store = Store::default();
    run(CHAIN, &[], &mut store);
    store.rotate_authority("root").unwrap();
    let outcome = run("- {name: p, type: password}\n", &[], &mut store);
    assert_eq!(warnings(&outcome), ["variable 'root' is to be rotated, but the manifest does not define it"]);
}
