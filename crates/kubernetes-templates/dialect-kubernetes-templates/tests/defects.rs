//! The defects of other implementations (OpenShift's library-go and oc, ktmpl), in the order in which they are known, and what
//! happens here instead.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::cell::Cell;
use std::collections::BTreeSet;

use common::{field, messages, mode, openshift, outcome, problems, processed, x};
use dialect_kubernetes_templates::Mode::{Compat, Strict};
use dialect_kubernetes_templates::{Expression, Format, write};

fn template(syntax_x: &str, parameters: &str) -> String {
    format!(
        "kind: Template\napiVersion: v1\nobjects: [{{kind: K, apiVersion: v1, x: '{syntax_x}'}}]\nparameters: {parameters}"
    )
}

/// The characters that an expression of one character gives.
fn alphabet(expression: &str) -> String {
    let expression = Expression::parse(expression).unwrap();
    let next = Cell::new(0u64);
    let count = |bytes: &mut [u8]| bytes.copy_from_slice(&next.replace(next.get() + 1).to_le_bytes());
    let values: BTreeSet<String> = (0..1000).map(|_| expression.value(&count)).collect();
    values.into_iter().collect()
}

#[test]
fn defect_1_ranges_exclude_their_last_character() {
    assert_eq!(alphabet("[0-1]{1}"), "01");
    assert_eq!(alphabet("[A-F0-9]{1}"), "0123456789ABCDEF");
    assert_eq!(alphabet("[a-zA-Z0-9]{1}").len(), 62);
    assert_eq!(alphabet("[a-a]{1}"), "a");
    assert_eq!(alphabet("[ABC]{1}"), "ABC");
    assert_eq!(alphabet("[0-9A]{1}"), "0123456789A");
    assert_eq!(alphabet("[a-c_]{1}"), "_abc");
    // A class without length is not a constant password.
    let generated = template("${P}", "[{name: P, generate: expression, from: '[a-z]'}]");
    for mode in [openshift(Strict), openshift(Compat)] {
        let (found, code) = messages(&generated, &[], &mode);
        let expected = "template.parameters[0]: Invalid value: \"expression\": malformed expresion syntax: [a-z]: a class needs its length behind it, as in [a-z]{8} (parameter P)";
        assert!(found.len() == 1 && found[0].ends_with(expected), "{found:?}");
        assert_eq!(code, 66);
    }
}

#[test]
fn defect_2_passwords_are_predictable() {
    // All random numbers are those of the caller, which takes them from the kernel: other bytes give another value.
    let value = |byte: u8| Expression::parse("[a-zA-Z0-9]{16}").unwrap().value(&|bytes| bytes.fill(byte));
    assert_ne!(value(1), value(2));
    assert_eq!(value(1), value(1));
}

#[test]
fn defect_3_values_are_scanned_once_more() {
    for (a, b) in [("${B}", "x"), ("${A}", "${B}"), ("$", "{A}")] {
        let template = template("${A}${B}", "[{name: A}, {name: B}]");
        let found = x(&processed(&template, &[("A", a), ("B", b)], &openshift(Strict)));
        assert_eq!(found, format!("\"{a}{b}\""));
    }
    assert_eq!(x(&processed(&field("$(A)$(A)"), &[("A", "$(S)")], &mode(Strict))), "\"$(S)$(S)\"");
}

#[test]
fn defect_4_keys_that_become_equal_replace_each_other() {
    for map in ["{'${A}': 1, '${B}': 2}", "{'${A}': 1, same: 2}", "{same: 1, '${A}': 2}"] {
        let text = format!(
            "kind: Template\napiVersion: v1\nobjects: [{{kind: K, apiVersion: v1, x: {map}}}]\nparameters: [{{name: A, value: same}}, {{name: B, value: same}}]"
        );
        for mode in [openshift(Strict), openshift(Compat)] {
            let (found, code) = messages(&text, &[], &mode);
            assert!(found.len() == 1 && found[0].ends_with("are equal after substitution"), "{map}: {found:?}");
            assert_eq!(code, 66);
        }
    }
    let labels = "kind: Template\napiVersion: v1\nobjects: []\nlabels: {'${A}': x, same: y}\nparameters: [{name: A, value: same}]";
    assert_eq!(messages(labels, &[], &openshift(Compat)).0.len(), 1);
}

#[test]
fn defect_5_a_parameter_that_is_declared_twice_ignores_the_users_value() {
    for (text, mode) in [
        (template("${A}", "[{name: A, value: x}, {name: A, value: z}]"), openshift(Compat)),
        (template("$(A)", "[{name: A, value: x}, {name: A, value: z}]"), mode(Compat)),
    ] {
        let (found, code) = messages(&text, &[("A", "z")], &mode);
        assert!(found.len() == 1 && found[0].ends_with("the parameter 'A' is declared twice"), "{found:?}");
        assert_eq!(code, 66);
    }
}

#[test]
fn defect_6_unknown_references_are_left_silently() {
    let text = template("${OPENSHIFT_VERSION}", "[{name: OPENSHIFT_VERSIONS, value: x}]");
    let found = problems(&text, &[], &openshift(Strict)).to_string();
    assert!(found.contains("${OPENSHIFT_VERSION}: no parameter has the name 'OPENSHIFT_VERSION'"), "{found}");
    assert!(found.ends_with("hint: did you mean 'OPENSHIFT_VERSIONS'?"), "{found}");
    // The mode that is compatible with OpenShift leaves them.
    assert_eq!(x(&processed(&text, &[], &openshift(Compat))), "\"${OPENSHIFT_VERSION}\"");
}

#[test]
fn defect_7_of_ktmpl() {
    // The result of $((A)) is not scanned.
    assert_eq!(x(&processed(&field("$((A))"), &[("A", "\"$(S)\"")], &mode(Strict))), "\"$(S)\"");
    assert_eq!(x(&processed(&field("$((A))-$(S)"), &[("A", "$(S)")], &mode(Strict))), "\"$(S)-5\"");
    // An optional parameter without value is empty text.
    assert_eq!(x(&processed(&field("a$(O)b"), &[], &mode(Strict))), "\"ab\"");
    // Keys that are not strings are text, as kubectl reads them.
    let keys = "kind: Template\napiVersion: v1\nobjects: [{kind: K, apiVersion: v1, x: {5: a, true: b}}]\n";
    assert_eq!(
        x(&processed(keys, &[], &mode(Strict))).split_whitespace().collect::<String>(),
        r#"{"5":"a","true":"b"}"#
    );
    // No objects are a valid List.
    let empty = processed("kind: Template\napiVersion: v1\nobjects: []\n", &[], &mode(Strict)).into_list();
    assert_eq!(write(&empty, Format::Yaml), "apiVersion: v1\nkind: List\nitems: []\n");
    // Keys that are replaced keep their places.
    let order = "kind: Template\napiVersion: v1\nobjects: [{kind: K, apiVersion: v1, x: {z: 1, $(A): 2, b: 3}}]\nparameters: [{name: A, value: a}]";
    assert_eq!(
        x(&processed(order, &[], &mode(Strict))).split_whitespace().collect::<String>(),
        r#"{"z":1,"a":2,"b":3}"#
    );
    // A required parameter with an empty value.
    let required = template("$(A)", "[{name: A, required: true, value: x}]");
    assert_eq!(messages(&required, &[("A", "")], &mode(Strict)).1, 65);
}

#[test]
fn numbers_lose_digits() {
    for (value, expected) in [
        ("9007199254740993", "9007199254740993"),
        ("1e3", "1e3"),
        ("1.0", "1.0"),
        ("18446744073709551616", "18446744073709551616"),
    ] {
        let text = template("${{A}}", "[{name: A}]");
        assert_eq!(x(&processed(&text, &[("A", value)], &openshift(Strict))), expected);
    }
    // Those of the template itself, too.
    let numbers = r#"{"kind": "Template", "apiVersion": "v1", "objects": [{"kind": "K", "apiVersion": "v1", "x": [9007199254740993, 1.10, 1E400e]}]}"#;
    let numbers = numbers.replace(", 1E400e", ", 12345678901234567890.123456789012345678901");
    let found = x(&processed(&numbers, &[], &mode(Strict))).split_whitespace().collect::<String>();
    assert_eq!(found, "[9007199254740993,1.10,12345678901234567890.123456789012345678901]");
}

#[test]
fn null_deletes_keys_or_ends_the_program() {
    let text = template("${{A}}", "[{name: A, value: 'null'}]");
    assert_eq!(x(&processed(&text, &[], &openshift(Strict))), "null");
    let list = "kind: Template\napiVersion: v1\nobjects: [{kind: K, apiVersion: v1, x: ['${{A}}'], '${{NUM}}': 1}]\nparameters: [{name: A, value: 'null'}, {name: NUM, value: '5'}]";
    let done = processed(list, &[], &openshift(Strict));
    let object = done.objects()[0].as_map().unwrap();
    assert_eq!(write(object.get("x").unwrap(), Format::Json).split_whitespace().collect::<String>(), "[null]");
    // A key is text.
    assert!(object.get("5").is_some());
    let null = "kind: Template\napiVersion: v1\nobjects: [null]\n";
    let (found, code) = messages(null, &[], &openshift(Strict));
    assert!(
        found[0].ends_with("item[0].objects: Invalid value: unable to handle object: it is not an object"),
        "{found:?}"
    );
    assert_eq!(code, 66);
}

#[test]
fn nested_lists_are_neither_substituted_nor_labelled() {
    let text = "kind: Template\napiVersion: v1\nlabels: {a: b}\nobjects:\n- {kind: List, apiVersion: v1, items: [{kind: K, apiVersion: v1, x: '${A}'}]}\nparameters: [{name: A, value: v}]";
    let text = write(&processed(text, &[], &openshift(Strict)).into_list(), Format::Yaml);
    assert!(
        text.contains("  - kind: K\n    apiVersion: v1\n    x: v\n    metadata:\n      labels:\n        a: b\n"),
        "{text}"
    );
}

#[test]
fn the_conflict_rule_rejects_the_example_of_the_proposal() {
    let text = "kind: Template\napiVersion: v1\nobjects:\n- {kind: Pod, apiVersion: v1, spec: {containers: [{env: [{name: USER, value: $(USER)}, {name: PASSWORD, value: $(PASSWORD)}]}]}}\nparameters: [{name: USER, value: u}, {name: PASSWORD, value: p}]";
    assert!(outcome(text, &[], &mode(Strict)).result.is_ok());
}
