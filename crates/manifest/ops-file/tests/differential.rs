//! Random documents and operations, here and in Go. `OPS_FILE_CASES` is how many (10,000 if it is not set),
//! `OPS_FILE_SEED` the number that they follow from.

mod common;
#[path = "common/generate.rs"]
mod generate;

use ops_file::{Path, Token};
use serde_json::Value as Json;
use testkit::random::Random;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name}: {text}")))
}

/// go-patch changes the wrong list where an item is named behind a match that `:next` or `:prev` moved to an item that is a list.
fn meets_the_defect(request: &Json) -> bool {
    let ops: Json = request["Ops"].as_str().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    ops.as_array().into_iter().flatten().filter_map(|op| op["path"].as_str()?.parse().ok()).any(|path: Path| {
        path.tokens().windows(2).any(|pair| {
            matches!(&pair[0], Token::Match { modifiers, .. } if !modifiers.is_empty())
                && !matches!(pair[1], Token::Key { .. })
        })
    })
}

/// Go's message with the two texts of the document removed that it may show, as here: the text that does not fit its tag, and the
/// name of an unknown anchor, which is a part of a value whose quotes were forgotten.
fn without_value(error: &str) -> String {
    let (start, quote) = match error {
        _ if error.contains("cannot decode") => (0, '`'),
        _ => match error.find("unknown anchor '") {
            Some(start) => (start, '\''),
            None => return error.to_owned(),
        },
    };
    match (error[start..].find(quote), error.rfind(quote)) {
        (Some(first), Some(last)) if start + first < last => {
            format!("{}<redacted>{}", &error[..=start + first], &error[last..])
        }
        _ => error.to_owned(),
    }
}

#[test]
fn documents_change_as_in_go() {
    let (cases, seed) = (number("OPS_FILE_CASES", 10_000), number("OPS_FILE_SEED", 1));
    let go = common::Go::build();
    let mut random = Random::new(seed);
    let requests: Vec<Json> = (0..cases).map(|_| generate::request(&mut random)).collect();
    let mut wrong = Vec::new();
    let mut failures = 0;
    for (request, mut expected) in requests.iter().zip(go.answers(&requests)) {
        if let Some(error) = expected["error"].as_str() {
            expected["error"] = without_value(error).into();
        }
        let mut here = common::answer(request);
        // Go writes it without quotes, as a key too, which other readers take for a merge.
        if let Some(output) = here["output"].as_str() {
            here["output"] = output.replace("\"<<\"", "<<").into();
        }
        failures += usize::from(expected["error"].is_string());
        if here != expected && !meets_the_defect(request) {
            wrong.push(format!("{request}\n  Go:   {expected}\n  here: {here}"));
        }
    }
    println!("{cases} cases, {failures} of which fail");
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
}
