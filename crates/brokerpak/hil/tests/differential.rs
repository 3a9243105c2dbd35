//! Random expressions, evaluated here and by `hashicorp/hil`. `HIL_CASES` is how many (10,000 if it is not set), `HIL_SEED` the
//! number that they follow from.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod generate;

use std::collections::BTreeMap;
use std::path::Path;

use hil::{Expression, Host, Value, is_expression};
use serde_json::{Value as Json, json};
use testkit::go::Program;
use testkit::random::Random;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name}: {text}")))
}

#[derive(Default)]
struct Fixed {
    counter: i64,
}

impl Host for Fixed {
    fn time_nano(&mut self) -> i128 {
        0
    }

    fn random(&mut self, count: usize) -> Result<Vec<u8>, String> {
        Ok(vec![0; count])
    }

    fn counter_next(&mut self) -> i64 {
        self.counter += 1;
        self.counter
    }

    fn env(&mut self, name: &str) -> Option<String> {
        (name == "HOME").then(|| "/home".to_owned())
    }

    fn config(&mut self, _key: &str) -> Option<String> {
        None
    }
}

fn answer(request: &Json) -> Json {
    let text = request["expression"].as_str().unwrap();
    let variables: BTreeMap<String, Value> = request["variables"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, value)| (name.clone(), Value::from_json(value)))
        .collect();
    let is_expression = is_expression(text);
    match Expression::parse(text).and_then(|tree| tree.evaluate(&variables, &mut Fixed::default())) {
        Ok(value) => json!({ "is_expression": is_expression, "value": value.to_json() }),
        Err(error) => {
            if let Some(position) = error.position {
                let (line, column) = (position.line, position.column);
                let shown = [format!("{line}:{column}:"), format!("At column {column}, line {line}:")];
                assert!(shown.iter().any(|place| error.message.contains(place)), "{error:?}");
            }
            json!({ "is_expression": is_expression, "error": error.message })
        }
    }
}

/// Go finds the two types of a mixed map in any order.
fn without_order(mut answer: Json) -> Json {
    if let Some((before, types)) = answer["error"].as_str().and_then(|error| error.split_once(" types. found ")) {
        let mut types: Vec<&str> = types.split(" and then ").collect();
        types.sort_unstable();
        answer["error"] = format!("{before} {types:?}").into();
    }
    answer
}

/// What differs on purpose: integers that overflow.
fn is_intended(here: &Json) -> bool {
    here["error"].as_str().is_some_and(|error| error.ends_with(": integer overflow"))
}

#[test]
fn expressions_have_the_values_and_messages_of_go() {
    let (cases, seed) = (number("HIL_CASES", 10_000), number("HIL_SEED", 1));
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/go");
    let go = Program::build(&here, Path::new(env!("CARGO_TARGET_TMPDIR")), "hil-oracle");
    let mut random = Random::new(seed);
    let requests: Vec<Json> = (0..cases).map(|_| generate::request(&mut random)).collect();
    let lines: Vec<String> = requests.iter().map(Json::to_string).collect();
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (request, expected) in requests.iter().zip(go.answers(&lines)) {
        let expected = without_order(serde_json::from_str(&expected).unwrap());
        let here = without_order(answer(request));
        *counts.entry(kind(&expected)).or_default() += 1;
        if here != expected && !is_intended(&here) {
            wrong.push(format!("{request}\n  Go:   {expected}\n  here: {here}"));
        }
    }
    println!("{cases} expressions: {counts:?}");
    assert!(counts["values"] > (cases / 5) as u32, "too few have a value: {counts:?}");
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong[..wrong.len().min(25)].join("\n"));
}

fn kind(answer: &Json) -> &'static str {
    match answer["error"].as_str() {
        None => "values",
        Some(error) if error.starts_with("parse error") => "syntax",
        Some(error) if error.starts_with("At column") => "types",
        Some(error) if error.starts_with(|c: char| c.is_ascii_digit()) => "names",
        Some(_) => "evaluation",
    }
}
