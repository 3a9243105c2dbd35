//! Expressions of a batch.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

fn answers(input: &str) -> Vec<String> {
    let mut output = Vec::new();
    brokerpak::eval::answer_all(input.as_bytes(), &mut output).unwrap();
    String::from_utf8(output).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn requests_are_answered_in_their_order() {
    let input = r#"{"id":1,"expression":"a${x + 1}","variables":{"x":41}}

{"id":{"any":["json"]},"expression":"$${x}"}
{"id":2,"expression":"plain"}
{"id":3,"expression":"${list}","variables":{"list":["a",1,true,null,1.50]}}
{"id":4,"expression":"é\n ${nope}"}
{"id":5,"expression":"${1 / 0}"}
{"id":6,"expression":"${unfinished"}
{"id":7,"expression":"${counter.next()}${counter.next()}"}
{"id":8,"expression":"${counter.next()}"}
{"id":9,"expression":"${env(\"A\")}${config(\"a.b\")}${config(\"c\")}","env":{"A":"","GSB_A_B":" x ","C":"m"},"config":{"a":{"b":1}},"env_config_mapping":{"C":"c"}}
{"id":10,"expression":"${env(\"PATH\")}"}
{"id":11,"unknown":1}
{"id":12,"expression":"${str.truncate(2, \"日本語\")}${str.truncate(-1, \"x\")}"}
{"id":13,"expression":"${9223372036854775807 + 1}"}
{"id":14,"expression":"${rand.base64(-1)}"}"#;
    assert_eq!(
        answers(input),
        [
            r#"{"id":1,"is_expression":true,"value":"a42"}"#,
            r#"{"id":{"any":["json"]},"is_expression":true,"value":"${x}"}"#,
            r#"{"id":2,"is_expression":false,"value":"plain"}"#,
            r#"{"id":3,"is_expression":true,"value":["a","1","1","","1.5"]}"#,
            r#"{"id":4,"is_expression":true,"error":{"message":"2:4: unknown variable accessed: nope","line":2,"column":4}}"#,
            r#"{"id":5,"is_expression":true,"error":{"message":"__builtin_IntMath: divide by zero"}}"#,
            r#"{"id":6,"is_expression":false,"error":{"message":"parse error at 1:13: expected \"}\" but found end of string","line":1,"column":13}}"#,
            r#"{"id":7,"is_expression":true,"value":"12"}"#,
            r#"{"id":8,"is_expression":true,"value":"1"}"#,
            r#"{"id":9,"is_expression":true,"value":"xm"}"#,
            r#"{"id":10,"is_expression":true,"error":{"message":"env: missing environment variable PATH"}}"#,
            r#"{"error":{"message":"the line is not a request (column 18)"}}"#,
            r#"{"id":12,"is_expression":true,"error":{"message":"str.truncate: the count -1 is negative"}}"#,
            r#"{"id":13,"is_expression":true,"error":{"message":"__builtin_IntMath: integer overflow"}}"#,
            r#"{"id":14,"is_expression":true,"error":{"message":"rand.base64: the count -1 is negative"}}"#,
        ]
    );
}

#[test]
fn deep_expressions_are_errors() {
    let deep = [
        ("${", "(", "1", ")", "}"),
        ("${", "-", "1", "", "}"),
        ("", "${\"", "", "\"}", ""),
        ("${", "1 ? 1 : ", "1", "", "}"),
    ];
    for (start, open, middle, close, end) in deep {
        let text = format!("{start}{}{middle}{}{end}", open.repeat(100_000), close.repeat(100_000));
        let answer = &answers(&serde_json::json!({ "expression": text }).to_string())[0];
        assert!(answer.contains("nested deeper than 250 levels"), "{open}: {}", &answer[..200.min(answer.len())]);
    }
    let long = format!("${{1{}}}", " + 1".repeat(100_000));
    let answer = &answers(&serde_json::json!({ "expression": long }).to_string())[0];
    assert!(answer.ends_with(r#""value":"100001"}"#));
}
