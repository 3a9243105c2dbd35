//! Operations on documents, their definitions, and what holds between them.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use go_yaml::{Node, Source, read, write};
use ops_file::{Operation, parse};
use proptest::prelude::*;

fn node(text: &str) -> Node {
    read(text.as_bytes(), Source(0)).unwrap()
}

fn operations(text: &str) -> Vec<Operation> {
    parse(&node(text)).unwrap()
}

fn changed(document: &str, ops: &str) -> String {
    let mut document = node(document);
    for operation in operations(ops) {
        if let Err(failure) = operation.apply(&mut document) {
            return format!("! {failure}");
        }
    }
    write(&document)
}

#[test]
fn documents_change() {
    for (document, op, expected) in [
        ("{a: 1}", "{type: replace, path: /a, value: 2}", "a: 2\n"),
        ("{a: 1}", "{type: replace, path: '', value: [x]}", "- x\n"),
        ("{a: 1}", "{type: replace, path: '/b?', value: {c: d}}", "a: 1\nb:\n  c: d\n"),
        ("{a: 1}", "{type: replace, path: '/b?/c/d', value: 1}", "a: 1\nb:\n  c:\n    d: 1\n"),
        ("{a: 1}", "{type: replace, path: '/b?/-', value: 1}", "a: 1\nb:\n- 1\n"),
        ("{a: 1}", "{type: replace, path: '/b?/name=x/v', value: 1}", "a: 1\nb:\n- name: x\n  v: 1\n"),
        ("{a: 1}", "{type: replace, path: /a, value: 1.0}", "a: 1\n"),
        ("[1, 2]", "{type: replace, path: /0, value: x}", "- x\n- 2\n"),
        ("[1, 2]", "{type: replace, path: /-, value: x}", "- 1\n- 2\n- x\n"),
        ("[1, 2]", "{type: replace, path: '/0:before', value: x}", "- x\n- 1\n- 2\n"),
        ("[1, 2]", "{type: replace, path: '/-1:after', value: x}", "- 1\n- 2\n- x\n"),
        ("[1, 2, 3]", "{type: replace, path: '/0:next:after', value: x}", "- 1\n- 2\n- x\n- 3\n"),
        ("[{k: a}]", "{type: replace, path: '/k=a:before', value: x}", "- x\n- k: a\n"),
        ("[{k: a}]", "{type: replace, path: '/k=b?:before', value: x}", "- k: a\n- x\n"),
        ("[{k: a}, [1]]", "{type: replace, path: '/k=a:next/0', value: x}", "- k: a\n- - x\n"),
        ("{a: 1, b: 2}", "{type: remove, path: /a}", "b: 2\n"),
        ("{a: 1}", "{type: remove, path: '/b?/c'}", "a: 1\n"),
        ("[1, 2]", "{type: remove, path: /-1}", "- 1\n"),
        ("[{k: a}, {k: b}]", "{type: remove, path: /k=a}", "- k: b\n"),
        ("[{k: a}]", "{type: remove, path: '/k=b?'}", "- k: a\n"),
        ("[[1, 2]]", "{type: remove, path: /0/0}", "- - 2\n"),
        ("{a: 1}", "{type: test, path: /a, value: 1}", "a: 1\n"),
        ("{a: 1}", "{type: test, path: /b, absent: true}", "a: 1\n"),
        ("[1]", "{type: test, path: /1, absent: true}", "- 1\n"),
        ("{a: }", "{type: test, path: /a, absent: false}", "a: null\n"),
        ("{a: 1}", "{type: test, path: /a, value: 1.0}", "! Found value does not match expected value"),
        ("{a: 1}", "{type: test, path: /a, absent: true}", "! Expected to not find '/a'"),
        ("{a: 1}", "{type: test, path: '/b?', absent: true}", "! Expected to not find '/b?'"),
        ("{a: 1}", "{type: remove, path: ''}", "! Cannot remove entire document"),
        (
            "{a: [1]}",
            "{type: remove, path: /a/-}",
            "! Expected to not find token 'patch.AfterLastIndexToken' at path '/a/-'",
        ),
        (
            "{a: 1}",
            "{type: replace, path: '/b?/0', value: 1}",
            "! Expected to find key, matching index or after last index token at path '/b?/0'",
        ),
        (
            "[1]",
            "{type: replace, path: '/0:before:after', value: 1}",
            "! Expected to not find any modifiers after 'before' modifier, but found modifier 'patch.AfterModifier'",
        ),
    ] {
        assert_eq!(changed(document, &format!("[{op}]")), expected, "{document} {op}");
    }
}

#[test]
fn operations_are_carried_out_in_order_and_share_nothing() {
    let ops = "
- type: replace
  path: /a?
  value: &shared {x: 1}
- type: replace
  path: /b?
  value: *shared
- {type: replace, path: /a/x, value: 2}
";
    assert_eq!(changed("{}", ops), "a:\n  x: 2\nb:\n  x: 1\n");
}

#[test]
fn definitions_are_checked() {
    for (ops, expected) in [
        ("{type: replace}", "Replace operation [0]: Missing path within\n{\n  \"Type\": \"replace\"\n}"),
        (
            "{type: replace, path: /a}",
            "Replace operation [0]: Missing value within\n{\n  \"Type\": \"replace\",\n  \"Path\": \"/a\"\n}",
        ),
        (
            "{type: remove, path: /a, value: s3cret}",
            "Remove operation [0]: Cannot specify value within\n{\n  \"Type\": \"remove\",\n  \"Path\": \"/a\",\n  \"Value\": \"<redacted>\"\n}",
        ),
        (
            "{type: test, path: /a}",
            "Test operation [0]: Missing value or absent within\n{\n  \"Type\": \"test\",\n  \"Path\": \"/a\"\n}",
        ),
        (
            "{type: remove, path: a}",
            "Remove operation [0]: Invalid path: Expected to start with '/' within\n{\n  \"Type\": \"remove\",\n  \"Path\": \"a\"\n}",
        ),
        (
            "{type: qcopy, path: /a}",
            "Unknown operation [0] with type 'qcopy' within\n{\n  \"Type\": \"qcopy\",\n  \"Path\": \"/a\"\n}",
        ),
        ("", "Unknown operation [0] with type '' within\n{}"),
    ] {
        assert_eq!(parse(&node(&format!("- {ops}"))).unwrap_err().to_string(), expected, "{ops}");
    }
    assert_eq!(
        parse(&node("{}")).unwrap_err().to_string(),
        "yaml: unmarshal errors:\n  line 1: cannot unmarshal !!map into []patch.OpDefinition"
    );
    assert_eq!(
        parse(&node("- path: [a]")).unwrap_err().to_string(),
        "yaml: unmarshal errors:\n  line 1: cannot unmarshal !!seq into string"
    );
    assert!(operations("").is_empty() && operations("[]").is_empty());
}

proptest! {
    #[test]
    fn a_replacement_is_found_and_a_removal_is_absent(key in "[a-z]{1,8}", other in "[a-z]{1,8}", value in "[ -~]{0,20}") {
        let quoted = serde_json::to_string(&value).unwrap();
        let document = format!("{{{other}: 1}}");
        let replaced = format!("[{{type: replace, path: '/{key}?', value: {quoted}}}, {{type: test, path: /{key}, value: {quoted}}}]");
        prop_assert!(!changed(&document, &replaced).starts_with('!'));
        let removed = format!("[{{type: remove, path: '/{key}?'}}, {{type: test, path: /{key}, absent: true}}]");
        prop_assert!(!changed(&document, &removed).starts_with('!'));
    }
}
