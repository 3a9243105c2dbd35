//! What Go limits, and what a caller limits: nothing overflows the stack, nothing goes on for ever.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::cell::Cell;

use go_template::{Bounds, Delimiters, Error, List, Map, MissingKey, Options, Stage, Template, Value};

fn parse(text: &str) -> Result<Template, Box<Error>> {
    Template::parse("t", text, &Delimiters::default())
}

fn render_with(text: &str, data: &Value, bounds: Bounds<'_>) -> Result<Vec<u8>, Box<Error>> {
    parse(text)?.execute(data, &Options { missing_key: MissingKey::Invalid, bounds })
}

fn render(text: &str) -> Result<String, String> {
    match render_with(text, &Value::Nil, Bounds::default()) {
        Ok(output) => Ok(String::from_utf8(output).unwrap()),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn ten_thousand_parentheses_parse_and_one_more_does_not() {
    let nested = |depth: usize| format!("{{{{{}1{}}}}}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(render(&nested(10_000)), Ok("1".into()));
    assert_eq!(render(&nested(10_001)), Err("template: t:1: max expression depth exceeded".into()));
}

#[test]
fn deep_parentheses_are_shown_in_messages() {
    let text = format!("{{{{len {}1{}}}}}", "(print ".repeat(5_000), ")".repeat(5_000));
    assert_eq!(render(&text), Ok("1".into()));
    let text = format!("{{{{len 1 {}1{}}}}}", "(print ".repeat(5_000), ")".repeat(5_000));
    assert_eq!(
        render(&text),
        Err("template: t:1:2: executing \"t\" at <len>: wrong number of args for len: want 1 got 2".into())
    );
    let text = format!("{{{{index {}1{}}}}}", "(print ".repeat(2_000) + "", ")".repeat(2_000) + " 9");
    assert!(render(&text).unwrap_err().contains(": error calling index: index out of range: <redacted>"));
}

#[test]
fn a_hundred_thousand_templates_nest_and_one_more_does_not() {
    let exceeded = ": exceeded maximum template depth (100000)";
    let plain = "{{define \"r\"}}{{template \"r\"}}{{end}}{{template \"r\"}}";
    assert_eq!(render(plain), Err(format!("template: t:1:25: executing \"r\" at <{{{{template \"r\"}}}}>{exceeded}")));
    let inside =
        "{{define \"r\"}}{{range 1}}{{with 1}}{{if 1}}{{template \"r\"}}{{end}}{{end}}{{end}}{{end}}{{template \"r\"}}";
    assert!(render(inside).unwrap_err().ends_with(exceeded));
}

#[test]
fn control_structures_nest_without_a_limit() {
    let depth = 50_000;
    let text = "{{if 1}}".repeat(depth) + "x" + &"{{end}}".repeat(depth);
    assert_eq!(render(&text), Ok("x".into()));
    let text = "{{with 1}}{{range 1}}".repeat(depth) + "x" + &"{{end}}{{end}}".repeat(depth);
    assert_eq!(render(&text), Ok("x".into()));
    let text = "{{block \"b\" 1}}".repeat(depth);
    assert_eq!(render(&text), Err("template: t:1: unexpected EOF".into()));
}

#[test]
fn deep_data_is_printed() {
    let mut value = Value::Nil;
    for _ in 0..100_000 {
        value = Value::List(List::new(vec![value]));
    }
    let output = render_with("{{.}}{{printf \"%d %v\" . .}}", &value, Bounds::default()).unwrap();
    assert!(output.starts_with(b"[[[[[") && output.ends_with(b"]]]]]"));
    assert!(!format!("{value:?}").contains("nil"));
}

fn limited(text: &str, bounds: Bounds<'_>) -> String {
    let error = render_with(text, &Value::from("data"), bounds).unwrap_err();
    assert_eq!(error.stage, Stage::Limit, "{error}");
    error.to_string()
}

#[test]
fn output_is_limited() {
    let bounds = Bounds { output: 1000, ..Bounds::default() };
    let expected = "output exceeds the limit of 1000 bytes";
    for text in [
        "{{range 1000}}xy{{end}}",
        "{{range 1000}}{{$}}{{end}}",
        "{{printf \"%1000000d\" 1}}",
        "{{printf \"%.1000000d\" 1}}",
        "{{printf \"%01000000d\" 1}}",
        "{{printf \"%.1000000f\" 1.5}}",
        "{{printf \"%1000000s%1000000s%1000000s\" . . .}}",
        "{{printf \"%.1000000U\" 1}}",
        "{{define \"r\"}}ab{{template \"r\"}}{{end}}{{template \"r\"}}",
    ] {
        assert!(limited(text, bounds).ends_with(expected), "{text}");
    }
    let exact = Bounds { output: 4, ..Bounds::default() };
    assert_eq!(render_with("{{.}}", &Value::from("data"), exact).unwrap(), b"data");
    assert_eq!(
        limited("{{.}}{{.}}", exact),
        "template: t:1:7: executing \"t\" at <.>: output exceeds the limit of 4 bytes"
    );
    assert_eq!(
        limited("text", Bounds { output: 3, ..exact }),
        "template: t: executing \"t\": output exceeds the limit of 3 bytes"
    );
}

#[test]
fn memory_is_limited() {
    let bounds = Bounds { memory: 1 << 20, ..Bounds::default() };
    let expected = "values exceed the limit of 1048576 bytes";
    let doubling = format!("{{{{$x := .}}}}{}", "{{$x = print $x $x}}".repeat(60));
    let keeping = (0..40).map(|n| format!("{{{{$v{n} := printf \"%100000d\" 1}}}}")).collect::<String>();
    let recursing = format!(
        "{{{{define \"r\"}}}}{}{{{{template \"r\"}}}}{{{{end}}}}{{{{template \"r\"}}}}",
        "{{$x := 1}}".repeat(1000)
    );
    for text in [doubling, keeping, recursing, "{{$x := printf \"%1000000d%1000000d\" 1 2}}".into()] {
        assert!(limited(&text, bounds).ends_with(expected), "{text:.60}");
    }
    // What nothing holds any more does not count.
    let reusing = "{{range 100}}{{$x := printf \"%100000d\" 1}}{{end}}done";
    assert_eq!(render_with(reusing, &Value::Nil, bounds).unwrap(), b"done");
}

#[test]
fn only_what_is_alive_counts_as_memory() {
    let bounds = Bounds { memory: 64 << 20, ..Bounds::default() };
    let recursive = |call: &str| {
        let call = call.replace("LONG", &"x".repeat(1000));
        format!(r#"{{{{define "r"}}}}{call}{{{{end}}}}{{{{template "r"}}}}"#)
    };
    let exceeded = ": exceeded maximum template depth (100000)";
    // Each call has a text of its own, a hundred megabytes in all; none is read after the next call.
    for call in [
        r#"{{template "r" (print "LONG")}}"#,
        r#"{{$x := print "LONG"}}{{template "r" $x}}"#,
        r#"{{with print "LONG"}}{{template "r" .}}{{end}}"#,
        r#"{{range 1}}{{with print "LONG"}}{{range 1}}{{template "r" $}}{{end}}{{end}}{{end}}"#,
        r#"{{with print "LONG"}}{{.}}{{end}}{{with print "LONG"}}{{template "r" .}}{{end}}"#,
        r#"{{range 1}}{{if 1}}{{$x := print "LONG"}}{{$x = print $x}}{{template "r" $x}}{{end}}{{end}}"#,
    ] {
        let text = recursive(call);
        let error = render_with(&text, &Value::Nil, Bounds { output: 1 << 30, ..bounds }).unwrap_err();
        assert!(error.to_string().ends_with(exceeded), "{call}: {error}");
    }
    let shrinking =
        r#"{{define "r"}}{{if .}}{{template "r" (slice . 1)}}{{end}}{{end}}{{template "r" (printf "%20000d" 1)}}"#;
    assert_eq!(render_with(shrinking, &Value::Nil, Bounds { memory: 8 << 20, ..bounds }).unwrap(), b"");
    // What is read later is alive.
    for call in [
        r#"{{template "r" (print "LONG")}}{{.}}"#,
        r#"{{template "r" (print "LONG")}}{{$}}"#,
        r#"{{$x := print "LONG"}}{{range 2}}{{template "r" $x}}{{end}}"#,
        r#"{{with print "LONG"}}{{range 2}}{{with 1}}{{template "r"}}{{end}}{{end}}{{.}}{{end}}"#,
    ] {
        let text = recursive(call);
        assert!(limited(&text, bounds).ends_with("values exceed the limit of 67108864 bytes"), "{call}");
    }
}

#[test]
fn values_that_are_read_after_a_call_are_kept() {
    let define = r#"{{define "e"}}{{end}}{{define "u"}}<{{template "e" (print .)}}{{.}}{{template "e"}}{{$}}>{{end}}"#;
    for (text, expected) in [
        (r#"{{template "u" (print "a")}}"#, "<aa>"),
        (r#"{{$x := print "a"}}{{range 3}}{{template "e" $x}}{{$x}}{{end}}"#, "aaa"),
        (r#"{{$x := print "a"}}{{range 3}}{{$x}}{{template "e" $x}}{{end}}"#, "aaa"),
        (r#"{{$x := print "a"}}{{range 3}}{{$x = print $x "b"}}{{template "e"}}{{end}}{{$x}}"#, "abbb"),
        (r#"{{with print "a"}}{{with print "b"}}{{template "e" .}}{{end}}{{template "e"}}{{.}}{{end}}"#, "a"),
        (r#"{{with print "a"}}{{range 2}}{{template "e"}}{{end}}{{.}}{{end}}"#, "a"),
        (
            r#"{{with print "a"}}{{range 2}}{{with print . "b"}}{{template "e"}}{{.}}{{end}}{{.}}{{end}}{{.}}{{end}}"#,
            "0b01b1a",
        ),
        (
            r#"{{with print "a"}}{{range 3}}{{template "e"}}{{continue}}{{end}}{{with 1}}{{template "e"}}{{end}}{{.}}{{end}}"#,
            "a",
        ),
        (
            r#"{{with print "a"}}{{range 0}}{{else}}{{with 1}}{{template "e"}}{{end}}{{.}}{{end}}{{template "e"}}{{.}}{{end}}"#,
            "aa",
        ),
        (r#"{{$x := print "a"}}{{if and 0 ($x := print "b")}}{{end}}{{template "e"}}{{$x}}"#, "a"),
        (r#"{{range $i, $v := print | len | slice "abc" | len}}{{end}}"#, ""),
        (r#"{{block "b" (print "a")}}{{template "e"}}{{.}}{{end}}{{block "c" (print "b")}}{{.}}{{end}}"#, "ab"),
    ] {
        let rendered = render(&format!("{define}{text}"));
        // More dots and variables around it than are told apart.
        let around = r#"{{with print "x"}}"#.repeat(70) + &"{{$y := 1}}".repeat(70);
        let deep = render(&format!("{define}{around}{text}{}", "{{end}}".repeat(70)));
        assert_eq!(deep.is_ok(), rendered.is_ok(), "{text}");
        if rendered.is_ok() {
            assert_eq!(deep, rendered, "{text}");
        }
        if expected.is_empty() {
            // Go cannot go over an integer with two variables.
            assert!(rendered.unwrap_err().contains("iterate over more than one variable"), "{text}");
        } else {
            assert_eq!(rendered.as_deref(), Ok(expected), "{text}");
        }
    }
}

#[test]
fn time_is_limited() {
    for text in [
        "{{range 9223372036854775807}}{{end}}",
        "{{range 1000000}}{{range 1000000}}{{continue}}{{end}}{{end}}",
        "{{define \"r\"}}{{range 10}}{{end}}{{end}}{{range 9223372036854775807}}{{template \"r\"}}{{end}}",
        "{{range 9223372036854775807}}{{$x := print .}}{{end}}",
    ] {
        let looks = Cell::new(0);
        let expired = || {
            looks.set(looks.get() + 1);
            looks.get() == 100
        };
        let bounds = Bounds { expired: Some(&expired), ..Bounds::default() };
        assert!(limited(text, bounds).ends_with("execution exceeds its time limit"), "{text}");
        assert_eq!(looks.get(), 100);
    }
}

#[test]
fn output_before_a_failure_is_appended_to_existing_output() {
    let template = parse("ab{{len 1}}").unwrap();
    let mut out = b"before ".to_vec();
    template.execute_into(&Value::Nil, &Options::default(), &mut out).unwrap_err();
    assert_eq!(out, b"before ab");
}

#[test]
fn messages_tell_which_parts_quote_data() {
    const CANARY: &str = "canary-4711";
    let data = || {
        let list = Value::List(List::new(vec![Value::from(CANARY)]));
        Value::Map(Map::new([(Box::from(&b"x"[..]), Value::from(CANARY)), (Box::from(&b"l"[..]), list)]))
    };
    for (text, quotes) in [
        ("{{range .x}}{{end}}", true),
        ("{{eq .l .l}}", true),
        ("{{eq .l $}}", true),
        ("{{.x | call}}", true),
        ("{{.x.y}}", false),
        ("{{index .l 7}}", true),
        ("{{slice .x 3 1}}", true),
        ("{{printf .l}}", false),
        ("{{range 1.5}}{{end}}", true),
        ("{{range print}}{{end}}", false),
    ] {
        for name in ["t", "%s", "%d%v%q%x"] {
            let template = Template::parse(name, text, &Delimiters::default()).unwrap();
            let error = template.execute(&data(), &Options::default()).unwrap_err();
            assert!(!error.to_string().contains(CANARY), "{error}");
            assert!(!format!("{error:?}").contains(CANARY), "{error:?}");
            assert!(error.quoted.iter().all(|part| !part.is_empty() && part.end <= error.text.len()));
            if name == "t" {
                assert_eq!(!error.quoted.is_empty(), quotes, "{text}: {error}");
            }
        }
    }
}

#[test]
fn a_parse_error_has_a_line_and_an_execution_error_a_column() {
    let error = parse("a\n{{if}}").unwrap_err();
    assert_eq!((error.stage, error.line, error.column), (Stage::Parse, 2, None));
    let error = render_with("a\n  {{.x.y.z}}", &Value::from("s"), Bounds::default()).unwrap_err();
    assert_eq!((error.stage, error.line, error.column), (Stage::Exec, 2, Some(6)));
}
