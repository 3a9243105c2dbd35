//! Documents with variables, as the CLI interpolates them.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use go_yaml::{Node, Source, Value, read, read_names, write};
use interpolation::{Interpolated, Kind, Sources, interpolate, parse_assignment, parse_value};
use proptest::prelude::*;

fn node(text: &str) -> Node {
    read(text.as_bytes(), Source(0)).unwrap()
}

/// Values of a file, a line each.
fn sources(values: &str) -> Sources {
    let mut sources = Sources::default();
    for (key, value) in read_names(values.as_bytes(), Source(1)).unwrap() {
        sources.add(Kind::File, key.as_str().unwrap(), value);
    }
    sources.merge().unwrap()
}

fn run(document: &str, values: &str) -> Interpolated {
    interpolate(node(document), &sources(values)).unwrap()
}

fn failures(document: &str, values: &str) -> Vec<String> {
    interpolate(node(document), &sources(values)).unwrap_err().iter().map(ToString::to_string).collect()
}

const VALUES: &str =
    "{s: text, n: 5, f: 1.5, t: true, z: null, m: {x: {k: deep}, l: [a, b], '1': one}, l: [1, 2], b: '((s))', e: ''}";

#[test]
fn references_become_values() {
    for (document, expected) in [
        ("a: ((s))", "a: text"),
        ("a: ((n))", "a: 5"),
        ("a: ((f))", "a: 1.5"),
        ("a: ((t))", "a: true"),
        ("a: ((z))", "a: null"),
        ("a: (( n ))", "a: 5"),
        ("a: ((!n))", "a: 5"),
        ("a: ((m.x.k))", "a: deep"),
        ("a: ((m.l.0))", "a: a"),
        ("a: ((m.l.-1))", "a: b"),
        ("a: ((m.1))", "a: one"),
        ("a: ((m.x.k))", "a: deep"),
        ("a: ((l))", "a:\n- 1\n- 2"),
        ("[((s)), x((n))y]", "- text\n- x5y"),
        ("((s)): 1", "text: 1"),
        ("((n)): 1", "5: 1"),
        ("((s))", "text"),
        ("a: ((s))-((n))-((s))", "a: text-5-text"),
        ("a: ((s))(( s ))", "a: text(( s ))"),
        ("a: ((!s))!", "a: text!"),
        // Within one string a value is read again, elsewhere it is not.
        ("a: ((b))", "a: ((s))"),
        ("a: ((b))-((s))", "a: text-text"),
        ("a: ((s))-((b))", "a: text-((s))"),
        ("a: ((e))((n))", "a: \"5\""),
        ("a: ((none))", "a: ((none))"),
        ("a: x((none))((n))", "a: x((none))5"),
        ("a: 1", "a: 1"),
    ] {
        assert_eq!(write(&run(document, VALUES).document).trim_end(), expected, "{document}");
    }
}

#[test]
fn what_cannot_be_replaced_is_reported_without_values() {
    assert_eq!(
        failures("{a: ((m.q)), b: ((s.x)), c: x((f)), d: 'x((l))', e: ((z.x))}", VALUES),
        [
            "Finding variable 'm.q':\n  Expected to find a map key 'q' for path '/q' (found map keys: '1', 'l', 'x')",
            "Finding variable 's.x':\n  Expected to find a map at path '/x' but found 'string'",
            "Invalid type 'float64' for variable 'f'. Supported types for interpolation within a string are integers and strings.",
            "Invalid type '[]interface {}' for variable 'l'. Supported types for interpolation within a string are integers and strings.",
            "Finding variable 'z.x':\n  Expected to find a map at path '/x' but found '<nil>'",
        ]
    );
    assert_eq!(
        failures("{((s)): 1, text: 2}", VALUES),
        ["Expected keys of a map to stay different, but two became equal"]
    );
    assert_eq!(failures("{((l)): 1}", VALUES), ["Expected key '((l))' to become a scalar but found '[]interface {}'"]);
}

#[test]
fn missing_and_unused_variables_are_listed() {
    let found = run("{a: ((b.c)), d: 'x((e))', f: ((u)), g: ((passwrod))}", "{u: 1, password: 2, w: {x: 3}}");
    let missing: Vec<&str> = found.missing.iter().map(|missing| missing.name.as_str()).collect();
    assert_eq!(missing, ["b", "e", "passwrod"]);
    let values = sources("{u: 1, password: 2, w: {x: 3}}");
    assert_eq!(values.similar("passwrod").as_deref(), Some("password"));
    assert_eq!((found.missing[1].origins[0].line, found.missing[1].origins[0].column), (1, 17));
    assert_eq!(found.unused, ["password", "w"]);
}

#[test]
fn definitions_are_struck_out() {
    let document = "
variables:
- {name: a, type: password}
- {name: b, type: password}
- {name: c}
x: ((a))
";
    let found = run(document, "{a: 1, c: 2}");
    assert_eq!(write(&found.document), "variables:\n- name: b\n  type: password\nx: 1\n");
    assert_eq!(found.missing.iter().map(|missing| missing.name.as_str()).collect::<Vec<_>>(), ["b"]);
    assert!(found.unused.is_empty());
    assert_eq!(write(&run("variables: [{name: a}]", "a: 1").document), "variables: []\n");
    assert_eq!(
        failures("variables: [x, {type: password}, {name: 1}]", ""),
        [
            "Expected a variable to be a map but found 'string'",
            "Expected a variable to have a name",
            "Expected 'name' of a variable to be a string but found 'int'",
        ]
    );
}

#[test]
fn definitions_are_interpolated_like_the_rest() {
    let document = "variables:\n- {name: ((p))-pw, type: password, options: {length: ((n))}}\n";
    let found = run(document, "{p: x, n: 5}");
    let expected = "variables:\n- name: x-pw\n  options:\n    length: 5\n  type: password\n";
    assert_eq!(write(&found.document), expected);
    // One that has a value is searched for by the name that it had before.
    let mut sources = sources("{p: x, n: 5}");
    sources.set_store(read_names(b"{((p))-pw: generated}", Source(2)).unwrap());
    let failures = interpolate(node(document), &sources).unwrap_err();
    let path = "/variables/name=((p))-pw";
    let message = format!("Expected to find exactly one matching array item for path '{path}' but found 0");
    assert_eq!(failures.iter().map(ToString::to_string).collect::<Vec<_>>(), [message]);
}

#[test]
fn a_variable_that_is_defined_twice_is_an_error_if_it_has_a_value() {
    let document = "variables: [{name: a}, {name: a, type: rsa}]";
    let found = run(document, "b: 1");
    assert_eq!(write(&found.document), "variables:\n- name: a\n- name: a\n  type: rsa\n");
    let message = "Expected to find exactly one matching array item for path '/variables/name=a' but found 2";
    assert_eq!(failures(document, "a: 1"), [message, message]);
}

#[test]
fn a_definition_that_refers_to_itself_is_an_error() {
    let failed = |name: &str, other: &str| {
        format!("Interpolating variable '{name}' definition options\n  Finding variable '{other}': Detected recursion")
    };
    assert_eq!(failures("variables: [{name: a, options: {x: '-((a.b))-'}}]", ""), [failed("a", "a")]);
    // Values change nothing: the options are interpolated before.
    let circle = "variables: [{name: c, options: {x: ((d))}}, {name: a, type: rsa, options: {((b)): 1}}, \
                  {name: b, options: [((a)), ((d))]}, {name: d}]";
    assert_eq!(failures(circle, "{a: 1, b: 2}"), [failed("a", "b"), failed("b", "a")]);
}

#[test]
fn flags_have_precedence_and_merge_by_path() {
    let value = |text: &str| parse_value(text).unwrap();
    let mut sources = Sources::default();
    sources.add(Kind::Flag, "a.b", value("flag"));
    sources.add(Kind::Flag, "a.d.e", value("1"));
    sources.add(Kind::File, "a", node("{b: file, c: file}"));
    sources.add(Kind::Environment, "a", node("{f: env}"));
    sources.add(Kind::File, "x", value("first"));
    sources.add(Kind::File, "x", value("second"));
    sources.set_store(read_names(b"{x: store, y: store}", Source(2)).unwrap());
    let sources = sources.merge().unwrap();
    let shown = interpolate(node("[((a)), ((x)), ((y))]"), &sources).unwrap();
    assert_eq!(write(&shown.document), "- b: flag\n  c: file\n  d:\n    e: 1\n- second\n- store\n");

    // A value takes the place of another one whole: its keys are not added to the other's.
    let mut sources = Sources::default();
    sources.add(Kind::File, "a", node("{b: 1, c: 2}"));
    sources.add(Kind::File, "d.e", node("1"));
    sources.add(Kind::File, "f", node("1"));
    sources.add(Kind::Flag, "a", value("{b: 3}"));
    sources.add(Kind::Flag, "d", value("{g: 4}"));
    sources.add(Kind::Flag, "f.h", value("5"));
    let sources = sources.merge().unwrap();
    let shown = interpolate(node("[((a)), ((d)), ((f))]"), &sources).unwrap();
    assert_eq!(write(&shown.document), "- b: 3\n- g: 4\n- h: 5\n");
    let missing = interpolate(node("((a.c))"), &sources).unwrap_err();
    assert!(missing[0].to_string().starts_with("Finding variable 'a.c':"), "{missing:?}");

    let mut sources = Sources::default();
    sources.add(Kind::Flag, "a.b", value("1"));
    sources.add(Kind::Flag, "a", value("s3cret"));
    let failure = &sources.merge().unwrap_err()[0];
    assert_eq!(failure.to_string(), "Expected variable 'a' to be a map, because variable 'a.b' is given, too");
}

#[test]
fn flags_are_read_as_the_cli_reads_them() {
    for (text, expected) in [
        ("5", "5"),
        ("y", "true"),
        ("null", "null"),
        ("{b: 1}", "b: 1"),
        ("text", "text"),
        (" a # b", "' a # b'"),
        ("\"x\\ny\"", "x\\ny"),
        ("'a'", "a"),
        ("\"5\"", "\"5\""),
        ("# c", "null"),
        ("!!str 5", "!!str 5"),
    ] {
        let written = write(&parse_value(text).unwrap());
        let expected = if text == "!!str 5" { "'!!str 5'" } else { expected };
        assert_eq!(written.trim_end(), expected, "{text}");
    }
    for text in ["@s3cret", "%s3cret", "*s3cret", ": b: s3cret", "\"s3cret", "&s3cret [*s3cret]", "!s3!cret x"] {
        let why = parse_value(text).unwrap_err();
        assert!(!why.contains("s3"), "{text}: {why}");
    }
    assert_eq!(parse_assignment("a=b=c", "value").unwrap(), ("a", "b=c"));
    assert_eq!(parse_assignment("a", "value").unwrap_err(), "Expected var 'a' to be in format 'name=value'");
    assert_eq!(
        parse_assignment("=s3cret", "value").unwrap_err(),
        "Expected var '=<redacted>' to specify non-empty name"
    );
    assert_eq!(parse_assignment("a=", "path").unwrap_err(), "Expected var 'a=' to specify non-empty path");
}

proptest! {
    #[test]
    fn documents_without_references_stay(text in "[ -'*-~]{0,40}") {
        let node = Node::new(Value::String(text));
        let found = interpolate(node.clone(), &Sources::default()).unwrap();
        prop_assert_eq!(found.document, node);
    }
}
