//! Go templates by themselves.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::time::Duration;

use go_template::Delimiters;
use render_files::text_template::{DataType, Missing, NumberTypes, Renderer, answer_all};

fn renderer() -> Renderer {
    Renderer {
        missingkey: Missing::Default,
        data_type: DataType::Any,
        numbers: NumberTypes::Exact,
        delimiters: Delimiters::default(),
        show_values: false,
        timeout: Duration::ZERO,
        output_limit: 1 << 20,
    }
}

fn answers(renderer: &Renderer, input: &str) -> Vec<String> {
    let mut output = Vec::new();
    answer_all(renderer, input.as_bytes(), &mut output).unwrap();
    String::from_utf8(output).unwrap().lines().map(str::to_owned).collect()
}

fn answer(input: &str) -> String {
    answers(&renderer(), input).join("\n")
}

#[test]
fn requests_are_answered_in_their_order() {
    let input = r#"{"id":1,"template":"a{{.x}}","data":{"x":1}}

{"id":{"any":["json"]},"template_base64":"e3sueH19/w==","data":{"x":2}}
{"template":"{{.x.y}}","data":{"x":"secret"},"name":"file.tmpl"}
{"id":"p","template":"\n{{nosuch}}"}"#;
    assert_eq!(
        answers(&renderer(), input),
        [
            r#"{"id":1,"output":"a1"}"#,
            r#"{"id":{"any":["json"]},"output_base64":"Mv8="}"#,
            r#"{"error":{"stage":"exec","line":1,"column":4,"text":"template: file.tmpl:1:4: executing \"file.tmpl\" at <.x.y>: can't evaluate field y in type interface {}"}}"#,
            r#"{"id":"p","error":{"stage":"parse","line":2,"text":"template: main:2: function \"nosuch\" not defined"}}"#,
        ]
    );
}

#[test]
fn the_flags_are_the_defaults_of_requests() {
    let input = r#"{"template":"{{.x}}","data":{},"missingkey":"zero","data_type":"map[string]string"}
{"template":"{{.x}}","data":{}}
{"template":"{{.Vars.A}}{{.Instance.ID}}|","data":{"Vars":{"A":"b"}},"data_type":"nstance"}
{"template":"{{printf \"%T %T %T\" .a .b .c}}","data":{"a":1,"b":18446744073709551615,"c":1.0}}
{"template":"{{printf \"%T\" .a}}","data":{"a":1},"numbers":"float64"}"#;
    let renderer = Renderer { missingkey: Missing::Error, ..renderer() };
    assert_eq!(
        answers(&renderer, input),
        [
            r#"{"output":""}"#,
            r#"{"error":{"stage":"exec","line":1,"column":2,"text":"template: main:1:2: executing \"main\" at <.x>: map has no entry for key \"x\""}}"#,
            r#"{"output":"b|"}"#,
            r#"{"output":"int uint64 float64"}"#,
            r#"{"output":"float64"}"#,
        ]
    );
}

#[test]
fn data_is_shown_only_if_it_is_asked_for() {
    let input = r#"{"template":"{{range .}}{{end}}","data":"canary"}"#;
    assert!(answer(input).contains("range can't iterate over <redacted>"));
    let shown = answers(&Renderer { show_values: true, ..renderer() }, input);
    assert!(shown[0].contains("range can't iterate over canary"));
}

#[test]
fn lines_that_are_no_request_get_an_answer() {
    for (line, text) in [
        ("canary", "the line is not a request: column 1: it is not JSON"),
        ("{\"template\":\"canary\"", "the line is not a request: column 20: the JSON is not complete"),
        ("[]", "a field is unknown, occurs twice or has a wrong type"),
        ("{\"template\":\"x\",\"canary\":1}", "a field is unknown"),
        ("{\"template\":\"x\",\"template\":\"canary\"}", "occurs twice"),
        ("{\"template\":17}", "has a wrong type"),
        ("{}", "either template or template_base64 is needed"),
        ("{\"template\":\"x\",\"template_base64\":\"eA==\"}", "either template or template_base64 is needed"),
        ("{\"template_base64\":\"canary\"}", "template_base64 is not base64"),
        (
            "{\"template\":\"x\",\"data\":{\"a\":1,\"a\":\"canary\"}}",
            "data: line 1, column 21: duplicate key \\\"a\\\"",
        ),
        (
            "{\"template\":\"x\",\"data\":{\"a\":[\"canary\"]},\"data_type\":\"map[string]string\"}",
            "data: data.a is a list, not a string",
        ),
        (
            "{\"template\":\"x\",\"data\":{\"Instance\":{\"ID\":4711}},\"data_type\":\"nstance\"}",
            "data: Instance.ID is a number, not a string",
        ),
        (
            "{\"template\":\"x\",\"data\":{\"Vars\":1},\"data_type\":\"nstance\"}",
            "data: Vars is a number, not an object",
        ),
    ] {
        let answer = answer(line);
        assert!(answer.contains(r#""stage":"request""#) && answer.contains(text), "{line}: {answer}");
        assert!(!answer.contains("4711") && !answer.contains("canary"), "{line}: {answer}");
    }
}

#[test]
fn a_line_that_is_no_request_keeps_its_id() {
    assert!(
        answer(r#"{"id":{"a":1},"template":"x","unknown":1}"#)
            .starts_with(r#"{"id":{"a":1},"error":{"stage":"request""#)
    );
    assert!(answer(r#"{"id":1,"id":2,"template":"x"}"#).starts_with(r#"{"error""#));
}

#[test]
fn a_line_that_is_too_long_is_skipped() {
    use std::io::{BufReader, Read};
    let long = std::io::repeat(b'x').take((64 << 20) + 1);
    let input = BufReader::new(long.chain(&b"x\n{\"template\":\"after\"}\n"[..]));
    let mut output = Vec::new();
    answer_all(&renderer(), input, &mut output).unwrap();
    let text = String::from_utf8(output).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].contains("the line has more than 67108864 bytes"), "{text}");
    assert_eq!(lines[1..], [r#"{"output":"after"}"#]);
}

#[test]
fn templates_are_bounded() {
    let limited = Renderer { output_limit: 10, timeout: Duration::from_nanos(1), ..renderer() };
    let answers = answers(
        &limited,
        "{\"template\":\"{{range 9}}xyz{{end}}\"}\n{\"template\":\"{{range 9223372036854775807}}{{end}}\"}",
    );
    assert!(answers[0].contains(r#""stage":"limit""#) && answers[0].contains("output exceeds the limit of 10 bytes"));
    assert!(answers[1].contains(r#""stage":"limit""#) && answers[1].contains("execution exceeds its time limit"));
}

#[test]
fn delimiters_may_be_others() {
    let other = Renderer { delimiters: Delimiters::new("[[", "]]"), ..renderer() };
    assert_eq!(answers(&other, r#"{"template":"[[1]]{{2}}"}"#), [r#"{"output":"1{{2}}"}"#]);
}
