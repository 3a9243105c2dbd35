//! Documents: what is read, what is refused, and what is written.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::x;
use dialect_kubernetes_templates::{Format, Mode, Node, Value, read, write};
use proptest::prelude::*;

fn yaml(text: &str) -> String {
    let node = read(text.as_bytes(), Format::Yaml).unwrap_or_else(|e| panic!("{e}: {text}"));
    write(&node, Format::Json).split_whitespace().collect()
}

fn refused(text: &[u8], format: Format) -> String {
    let error = read(text, format).expect_err(&String::from_utf8_lossy(text));
    format!("{}:{}: {error}", error.position.line, error.position.column)
}

#[test]
fn yaml_is_read_as_kubectl_reads_it() {
    for (text, expected) in [
        ("0644", "420"),
        ("0o17", "15"),
        ("0x1F", "31"),
        ("0b101", "5"),
        ("1_000", "1000"),
        ("+5", "5"),
        ("08", "8"),
        ("n", "false"),
        ("Yes", "true"),
        ("off", "false"),
        ("~", "null"),
        ("", "null"),
        ("2001-12-14", "\"2001-12-14\""),
        ("2001-12-14T21:59:43Z", "\"2001-12-14T21:59:43Z\""),
        ("1:30", "\"1:30\""),
        ("190:20:30", "\"190:20:30\""),
        ("1.50", "1.50"),
        ("1e3", "1e3"),
        (".5", "0.5"),
        ("1.", "1"),
        (".1_0", "0.10"),
        (".1__0", "\".1__0\""),
        ("._1", "\"._1\""),
        // Where JSON has another form, no digit is lost either.
        (".12345678901234567890123", "0.12345678901234567890123"),
        ("+9007199254740993.0", "9007199254740993.0"),
        ("-9_007_199_254_740_993.5e+3", "-9007199254740993.5e+3"),
        ("018446744073709551617", "18446744073709551617"),
        ("12345678901234567890123.", "12345678901234567890123"),
        ("-00.5", "-0.5"),
        ("18446744073709551615", "18446744073709551615"),
        ("18446744073709551616", "18446744073709551616"),
        ("9007199254740993", "9007199254740993"),
        ("!!str 5", "\"5\""),
        ("!!int '5'", "5"),
        ("!!binary aGk=", "\"hi\""),
        ("'n'", "\"n\""),
        (
            "{n: 1, 5: 2, 1.5: 3, 0x10: 4, null : 5}".replace(", null : 5", "").as_str(),
            r#"{"false":1,"5":2,"1.5":3,"16":4}"#,
        ),
        (
            "a: &x {b: 1, c: 2}\nd: {<<: *x, c: 3}\ne: {c: 3, <<: *x}\nf: *x",
            r#"{"a":{"b":1,"c":2},"d":{"b":1,"c":3},"e":{"c":2,"b":1},"f":{"b":1,"c":2}}"#,
        ),
        ("{<<: [{a: 1}, {a: 2, b: 2}]}", r#"{"a":1,"b":2}"#),
        ("{.inf: 1, 3.14159265358979: 2}", r#"{".inf":1,"3.1415927":2}"#),
        ("'<<': 1", r#"{"<<":1}"#),
        ("---\na: 1\n---\n", r#"{"a":1}"#),
        ("# nothing\n", "null"),
        ("{\"a\": \"\\ud83d\\ude00\"}", "{\"a\":\"\u{1f600}\"}"),
        ("{a: 1}", r#"{"a":1}"#),
    ] {
        assert_eq!(yaml(text), expected, "{text}");
    }
}

#[test]
fn documents_that_are_refused() {
    for (text, message) in [
        ("a: 1\na: 2", "2:1: the key 'a' occurs twice in one map"),
        ("yes: 1\n'true': 2", "2:1: the key 'true' occurs twice in one map"),
        ("a: 1\n---\nb: 2", "2:1: the file has more than one document"),
        ("a: .inf", "1:4: JSON has no number for infinity and NaN"),
        ("null: 1", "1:1: a key is null"),
        ("[a]: 1", "1:1: a key is a list or a map"),
        (
            "a: *hunter2",
            "1:4: invalid YAML: there is no anchor for this alias; a text that begins with '*' needs quotes",
        ),
        ("a: 1\n\u{e9}: \"a\u{1}b\"", "2:6: invalid YAML: control characters are not allowed"),
        ("a: \u{7f}", "1:4: invalid YAML: control characters are not allowed"),
        ("a: &b [*b]", "1:8: invalid YAML: the value of an anchor contains itself"),
        ("a: &x [{b: 1}]\n<<: *x", "2:5: map merge requires map or sequence of maps as the value"),
        ("18446744073709551615: 1", "1:1: a key is an integer of more than 63 bits"),
        ("<<: 1", "1:5: map merge requires map or sequence of maps as the value"),
        ("a: [1", "2:1: invalid YAML"),
        ("{\"a\": 1, \"a\": 2}", "1:10: the key 'a' occurs twice in one map"),
        ("a: b: c", "1:5: invalid YAML"),
        ("\u{e9}: \t@", "1:"),
    ] {
        let found = refused(text.as_bytes(), Format::Yaml);
        assert!(found.starts_with(message), "{text}: {found}");
    }
    for (text, message) in [
        ("{\"a\": 1, \"a\": 2}", "1:10: the key 'a' occurs twice in one map"),
        ("{\"\u{e9}\": 1,\n  x}", "2:3: invalid JSON: expected a key in double quotes"),
        ("{\"a\": 01}", "1:8: invalid JSON: a number begins with 0"),
        ("{\"a\": 1e999}", "1:12: invalid JSON: a number is out of range"),
        ("{\"a\": tru}", "1:7: invalid JSON: expected a value"),
        ("{\"a\" 1}", "1:6: invalid JSON: expected ':' behind the key"),
        ("{\"a\": 1", "1:8: invalid JSON: expected ',' or '}', but the document ends"),
        ("{} {}", "1:4: invalid JSON: expected the end of the document"),
        ("[1,]", "1:4: invalid JSON: expected a value"),
        ("\"a\nb\"", "1:3: invalid JSON: a control character is not escaped"),
        ("\"\\x\"", "1:3: invalid JSON: invalid escape"),
        ("a: 1", "1:1: invalid JSON: expected a value"),
    ] {
        assert_eq!(refused(text.as_bytes(), Format::Json), message, "{text}");
    }
    assert_eq!(refused(b"a: 1\nb: \xff\n", Format::Yaml), "2:4: invalid leading UTF-8 octet");
    assert_eq!(refused(b"{\"a\":\n\"\xc3(\"}", Format::Json), "2:2: invalid trailing UTF-8 octet");
}

#[test]
fn corners_in_which_kubectl_and_the_parser_differ() {
    // kubectl refuses these,
    assert_eq!(yaml(r#"{a: "\/"}"#), r#"{"a":"/"}"#);
    assert_eq!(yaml("{a: [a?]}"), r#"{"a":["a?"]}"#);
    // and reads these.
    for text in ["[a:]", "{a:}", "!,", "!["] {
        assert!(refused(text.as_bytes(), Format::Yaml).contains("invalid YAML"), "{text}");
    }
}

#[test]
fn limits() {
    let directives: String = (0..60_000).map(|number| format!("%TAG !t{number}! x\n")).collect();
    let text = format!("{directives}--- a\n");
    assert_eq!(refused(text.as_bytes(), Format::Yaml), "1002:1: the document has more than 1000 %TAG directives");
    let nested = |depth: usize, open: &str, close: &str| open.repeat(depth) + &close.repeat(depth);
    for format in [Format::Json, Format::Yaml] {
        assert!(read(nested(200, "[", "]").as_bytes(), format).is_ok());
        assert!(read((nested(200, "{\"a\":", "}").replace(":}", ":1}")).as_bytes(), format).is_ok());
        for depth in [1_001, 100_000] {
            let found = refused(nested(depth, "[", "]").as_bytes(), format);
            assert!(found.ends_with("the document has more than 500 levels"), "{found}");
        }
    }
    let block: String = (0..1_001).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
    assert!(refused(block.as_bytes(), Format::Yaml).ends_with("more than 500 levels"));
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let before = format!("*a{}", level - 1);
        bomb += &format!("a{level}: &a{level} [{}]\n", vec![before; 9].join(", "));
    }
    assert!(refused(bomb.as_bytes(), Format::Yaml).ends_with("the document contains excessive aliasing"));
    // A long text is copied for each alias, and for each anchor around it.
    let long = format!("a: &a '{}'\nb: [{}]\n", "x".repeat(1 << 20), vec!["*a"; 200].join(", "));
    assert!(refused(long.as_bytes(), Format::Yaml).ends_with("the document contains excessive aliasing"));
    let around: String = (0..400).map(|level| format!("&a{level} [")).collect();
    let around = format!("{around}'{}'{}", "x".repeat(1 << 20), "]".repeat(400));
    assert!(refused(around.as_bytes(), Format::Yaml).ends_with("the document contains excessive aliasing"));
    // So are lists and empty texts, which have no bytes.
    for leaf in ["''", "[]"] {
        let leaves = vec![leaf; 100_000].join(",");
        let around = format!("{} [{leaves}]{}", around.split("'").next().unwrap_or_default(), "]".repeat(400));
        assert!(refused(around.as_bytes(), Format::Yaml).ends_with("the document contains excessive aliasing"));
    }
    let large = vec![b' '; dialect_kubernetes_templates::LARGEST + 1];
    assert_eq!(refused(&large, Format::Yaml), "0:0: the document has more than 64 MiB");
}

#[test]
fn results_have_limits() {
    // A megabyte that 1,000 fields refer to, and labels for many objects.
    let fields = vec!["$(A)"; 1_000].join(", ");
    let text = format!(
        "kind: Template\napiVersion: v1\nobjects: [{{kind: K, apiVersion: v1, x: [{fields}]}}]\nparameters: [{{name: A}}]"
    );
    let value = "x".repeat(1 << 20);
    let (found, code) = common::messages(&text, &[("A", &value)], &Default::default());
    assert!(
        found.len() == 1 && found[0].ends_with("values and labels add more than 128 MiB to the template"),
        "{found:?}"
    );
    assert_eq!(code, 65);
    let labels: Vec<String> = (0..1_000).map(|number| format!("l{number}: x")).collect();
    let objects = vec!["{kind: K, apiVersion: v1}"; 5_000].join(", ");
    let text = format!("kind: Template\napiVersion: v1\nlabels: {{{}}}\nobjects: [{objects}]", labels.join(", "));
    let (found, code) = common::messages(&text, &[], &Default::default());
    assert!(
        found.len() == 1 && found[0].ends_with("values and labels add more than 128 MiB to the template"),
        "{found:?}"
    );
    assert_eq!(code, 66);
    // A list takes more memory than its text.
    let text = format!(
        "kind: Template\napiVersion: v1\nobjects: [{{kind: K, apiVersion: v1, x: [{}]}}]\nparameters: [{{name: A}}]",
        vec!["'${{A}}'"; 100].join(", ")
    );
    let value = format!("[{}0]", "0,".repeat(50_000));
    let (found, code) =
        common::messages(&text, &[("A", &value)], &common::openshift(dialect_kubernetes_templates::Mode::Strict));
    assert!(
        found.len() == 1 && found[0].ends_with("values and labels add more than 128 MiB to the template"),
        "{found:?}"
    );
    assert_eq!(code, 65);
    // Not as many messages as mistakes.
    let fields = vec!["$(B)"; 5_000].join(", ");
    let text = format!("kind: Template\napiVersion: v1\nobjects: [{{kind: K, apiVersion: v1, x: [{fields}]}}]");
    let (found, code) = common::messages(&text, &[], &Default::default());
    assert_eq!((found.len(), code), (1_001, 66));
    assert_eq!(found[1_000], "more problems than these 1000 are not reported");
    // The key is part of all their paths.
    let key = "k".repeat(100_000);
    let references = "$(B), ".repeat(900);
    let text =
        format!("kind: Template\napiVersion: v1\nobjects:\n- {{kind: K, apiVersion: v1, ? {key} : [{references}]}}\n");
    let (found, _) = common::messages(&text, &[], &Default::default());
    assert_eq!((found.len(), found[5].as_str()), (6, "more problems than these 5 are not reported"));
}

#[test]
fn a_document_that_is_no_template() {
    for (text, message) in [
        ("", "the file has no document: expected a Template"),
        ("[]", "expected a Template, not a list"),
        ("kind: Pod\napiVersion: v1", "kind: must be Template, not 'Pod'"),
        ("apiVersion: v1", "kind: must be Template, it is absent"),
        ("kind: [Template]", "kind: must be Template, not a list"),
        ("kind: Template\nobjects: []", "apiVersion: must be v1 or template.openshift.io/v1, it is absent"),
        ("kind: Template\napiVersion: v2\nobjects: []", "apiVersion: must be v1 or template.openshift.io/v1, not 'v2'"),
        (
            "kind: Template\napiVersion: v1",
            "objects: Required value: a Template has a list of objects, which may be empty",
        ),
        (
            "kind: Template\napiVersion: v1\nobjects: null",
            "objects: Required value: a Template has a list of objects, which may be empty",
        ),
        ("kind: Template\napiVersion: v1\nobjects: {}", "objects: must be a list, not a map"),
    ] {
        let (found, code) = common::messages(text, &[], &Default::default());
        assert!(found.len() == 1 && found[0].ends_with(message), "{text}: {found:?}");
        assert_eq!(code, 66);
    }
    let empty = "kind: Template\napiVersion: template.openshift.io/v1\nobjects: []";
    let list = common::processed(empty, &[], &Default::default()).into_list();
    assert_eq!(write(&list, Format::Yaml), "apiVersion: v1\nkind: List\nitems: []\n");
}

#[test]
fn yaml_is_quoted_where_a_reader_would_take_text_for_something_else() {
    for (text, expected) in [
        ("web", "web"),
        ("docker.io/a/b:1.0", "docker.io/a/b:1.0"),
        ("two words", "two words"),
        ("yes", "\"yes\""),
        ("N", "\"N\""),
        ("null", "\"null\""),
        ("", "\"\""),
        ("5", "\"5\""),
        ("0644", "\"0644\""),
        ("1e3", "\"1e3\""),
        ("1:30", "\"1:30\""),
        ("2001-12-14", "\"2001-12-14\""),
        ("a: b", "\"a: b\""),
        ("a #b", "\"a #b\""),
        ("a:", "\"a:\""),
        (" a", "\" a\""),
        ("- a", "\"- a\""),
        ("*a", "\"*a\""),
        ("\u{e9}", "\"\u{e9}\""),
        ("a\tb", "\"a\\tb\""),
        ("a\nb\n", "|\n  a\n  b"),
        ("a\n\n b", "|-\n  a\n\n   b"),
        ("a\n\n", "\"a\\n\\n\""),
        (" a\nb", "\" a\\nb\""),
        ("a\r\nb", "\"a\\r\\nb\""),
        ("\u{85}\u{feff}", "\"\\u0085\\ufeff\""),
    ] {
        let node = Node::new(Value::Map([("k", Node::string(text))].into_iter().collect()));
        assert_eq!(write(&node, Format::Yaml), format!("k: {expected}\n"), "{text:?}");
    }
}

fn node() -> impl Strategy<Value = Node> {
    let text =
        prop_oneof!["[a-z0-9:. #~\\-_/$()\\n]{0,12}", any::<String>(), Just("no".to_owned()), Just("0x1".to_owned())];
    let number =
        prop_oneof![any::<i64>().prop_map(|n| n.to_string()), Just("1.50".to_owned()), Just("-2e7".to_owned())];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        number.prop_map(|text| Value::Number(text.into())),
        text.prop_map(|text: String| Value::String(text.into())),
    ];
    leaf.prop_map(Node::new).prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(|items| Node::new(Value::List(items))),
            prop::collection::btree_map(any::<String>(), inner, 0..5).prop_map(|entries| {
                let entries = entries.iter().map(|(key, node)| (key.as_str(), node.clone()));
                Node::new(Value::Map(entries.collect()))
            }),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(node in node()) {
        for format in [Format::Json, Format::Yaml] {
            let text = write(&node, format);
            let again = read(text.as_bytes(), format).unwrap_or_else(|e| panic!("{e} at {:?}: {text}", e.position));
            prop_assert!(again == node, "{}", text);
            prop_assert_eq!(write(&again, format), text);
        }
    }

    #[test]
    fn no_text_is_too_much_for_the_reader(text in any::<Vec<u8>>(), yaml in "[a-c*&:{}\\[\\]<!|>'\"\\- \\n#,]{0,60}") {
        for bytes in [text.as_slice(), yaml.as_bytes()] {
            let _ = (read(bytes, Format::Json), read(bytes, Format::Yaml));
        }
    }
}

#[test]
fn long_keys_are_explicit() {
    let key = "k".repeat(1100);
    let node =
        Node::new(Value::Map([(key.as_str(), Node::new(Value::List(vec![Node::string("a")])))].into_iter().collect()));
    let text = write(&node, Format::Yaml);
    assert!(text.starts_with("? k"));
    assert!(read(text.as_bytes(), Format::Yaml).unwrap() == node);
}

#[test]
fn keys_that_yaml_reads_as_booleans_and_unknown_fields_are_warned_about() {
    let template = "kind: Template\napiVersion: v1\nobjectLabels: {a: b}\nobjects:\n- {kind: K, apiVersion: v1, x: {n: 1, 'y': 2, true: 3}}\n";
    let outcome = common::outcome(template, &[], &common::mode(Mode::Compat));
    let warnings: Vec<String> = outcome.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "warning: the key n is a boolean in YAML 1.1, and becomes 'false'; put it in quotes if it is text\n  --> t.yaml:5:33",
            "warning: a Template has no field 'objectLabels', which has no effect (did you mean 'labels'?)\n  --> t.yaml:3:1"
        ]
    );
    let object = x(&outcome.result.unwrap()).split_whitespace().collect::<String>();
    assert_eq!(object, r#"{"false":1,"y":2,"true":3}"#);
}
