//! Documents that are read and written, as yaml.v2 does it.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use go_yaml::{Source, Value, read, write};
use proptest::prelude::*;

fn rewritten(text: &str) -> String {
    read(text.as_bytes(), Source(0)).map_or_else(|e| format!("! {e}"), |node| write(&node))
}

#[test]
fn scalars_have_the_types_of_go() {
    for (text, written) in [
        ("y", "true"),
        ("Off", "false"),
        ("oN", "oN"),
        ("~", "null"),
        ("0644", "420"),
        ("0o17", "15"),
        ("0x1F", "31"),
        ("-0b11", "-3"),
        ("1_000", "1000"),
        ("08", "8"),
        ("1e3", "1000"),
        ("1.0", "1"),
        ("1000000.0", "1e+06"),
        ("999999.5", "999999.5"),
        ("0.00001", "1e-05"),
        ("12345678.5", "1.23456785e+07"),
        ("18446744073709551615", "18446744073709551615"),
        ("99999999999999999999", "1e+20"),
        ("1e400", "1e400"),
        (".5", "0.5"),
        (".INF", ".inf"),
        ("12:30:45", "\"12:30:45\""),
        ("2020-01-02", "\"2020-01-02\""),
        ("2020-13-01", "2020-13-01"),
        ("\"12\"", "\"12\""),
        ("!!str 1", "\"1\""),
        ("!foo 12", "\"12\""),
        ("!!float 1", "1"),
        ("!!binary aGVsbG8=", "hello"),
        ("!!binary /w==", "!!binary /w=="),
        ("\"\\U0001F600 \\ue000\"", "\"\\U0001F600 \u{e000}\""),
        ("'a\n\n  b'", "|-\n  a\n  b"),
        ("\"\\n\"", "|2+\n"),
    ] {
        assert_eq!(rewritten(text), format!("{written}\n"), "{text}");
    }
}

#[test]
fn strings_that_ruby_would_read_otherwise_are_quoted() {
    for text in [":a", "1,000", "-1,0.5", "0x1,F", ".iNf", "-.INf"] {
        assert_eq!(rewritten(&format!("'{text}'")), format!("\"{text}\"\n"));
    }
    for text in ["a:b", "1.2.3", "10.0.0.1,10.0.0.2", "deadbeef", "1-2", "a,b", "0x1p4", "_1", ",1", ":"] {
        let quoted = if text.starts_with([',', ':']) { format!("'{text}'") } else { text.to_owned() };
        assert_eq!(rewritten(&format!("'{text}'")), quoted + "\n");
    }
}

#[test]
fn keys_have_the_order_of_go() {
    let keys = [
        "-a", "_a", "\"~\"", "\"9\"", "\"10\"", "Ab", "B", "a", "a 1", "a-b", "a.b", "a_b", "a1", "a1b", "a01", "a2",
        "a02", "a10", "aB", "ab", "é",
    ];
    let document: String = keys.iter().rev().map(|key| format!("{key}: 1\n")).collect();
    let written = rewritten(&document);
    let order: Vec<&str> = written.lines().map(|line| line.trim_end_matches(": 1")).collect();
    assert_eq!(order, keys);
    assert_eq!(
        rewritten("{x: 0, ~: 0, 1.5: 0, 2: 0, 1: 0, true: 0, false: 0}"),
        "false: 0\ntrue: 0\n1: 0\n1.5: 0\n2: 0\nnull: 0\nx: 0\n"
    );
}

#[test]
fn merges_take_effect_where_they_stand() {
    assert_eq!(rewritten("m: &m {a: 1, b: 1}\nx: {a: 0, <<: *m, b: 2}\n"), "m:\n  a: 1\n  b: 1\nx:\n  a: 1\n  b: 2\n");
    assert_eq!(rewritten("{<<: [{a: 1}, {a: 2, b: 3}]}"), "a: 1\nb: 3\n");
    assert_eq!(rewritten("{'<<': 1, a: 1, a: 2}"), "\"<<\": 1\na: 2\n");
}

#[test]
fn what_go_refuses_is_refused() {
    for (text, message) in [
        ("a: [", "line 1: did not find expected node content"),
        ("a: *x", "unknown anchor '<redacted>' referenced"),
        ("&x [*x]", "anchor '<redacted>' value contains itself"),
        ("{<<: 1}", "map merge requires map or sequence of maps as the value"),
        ("? [a]\n: 1", "invalid map key: []interface {}"),
        ("%YAML 1.2\n---\na", "found incompatible YAML document"),
        ("!!int s3cret", "cannot decode !!str `<redacted>` as a !!int"),
        ("a\u{7}", "control characters are not allowed"),
    ] {
        let error = read(text.as_bytes(), Source(0)).unwrap_err();
        assert_eq!(error.message, message, "{text}");
    }
    assert_eq!(read(b"\xff", Source(0)).unwrap_err().message, "invalid leading UTF-8 octet");
}

#[test]
fn hostile_documents_are_refused() {
    let bomb: String = (1..30).fold("a0: &a0 [x, x]\n".to_owned(), |text, n| {
        let before = n - 1;
        text + &format!("a{n}: &a{n} [*a{before}, *a{before}]\n")
    });
    assert_eq!(read(bomb.as_bytes(), Source(0)).unwrap_err().message, "document contains excessive aliasing");
    let deep = "[".repeat(100_000);
    assert_eq!(read(deep.as_bytes(), Source(0)).unwrap_err().message, "exceeded max depth of 500");
}

#[test]
fn nodes_know_their_places() {
    let document = read(b"a:\n  - b: 1\n    c: x\n", Source(7)).unwrap();
    let Value::List(items) = &document.get("a").unwrap().value else { panic!("a list") };
    let origin = items[0].get("c").unwrap().origin;
    assert_eq!((origin.source, origin.line, origin.column), (Source(7), 3, 8));
}

proptest! {
    #[test]
    fn strings_stay_what_they_are(text in any::<String>()) {
        let node = go_yaml::Node::new(Value::String(text.clone()));
        prop_assert_eq!(read(write(&node).as_bytes(), Source(0)).unwrap().value, Value::String(text));
    }
}
