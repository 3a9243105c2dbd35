//! Random documents, operations and paths.

use serde_json::{Value as Json, json};
use testkit::random::Random;

const SCALARS: &[&str] = &[
    "a",
    "b",
    "x",
    "web",
    "y",
    "n",
    "yes",
    "on",
    "Off",
    "oN",
    "true",
    "null",
    "~",
    "Null",
    "",
    "0",
    "1",
    "-1",
    "+1",
    "12",
    "0644",
    "08",
    "0o17",
    "0O17",
    "0x1F",
    "0b101",
    "-0b11",
    "1_000",
    "12_",
    "_1",
    "1.0",
    "1.5",
    "1e3",
    "1.",
    ".5",
    "1_0.5",
    "1e400",
    "-.5",
    ".inf",
    "-.Inf",
    ".nan",
    "18446744073709551615",
    "9223372036854775808",
    "-9223372036854775808",
    "99999999999999999999",
    "12345678.5",
    "1000000.0",
    "999999.5",
    "0.00001",
    "1e21",
    "2020-01-02",
    "2020-13-01",
    "2020-1-2 3:04:05.67",
    "2020-01-02T03:04:05Z",
    "2020-01-02t03:04:05+01:00",
    "2001-02-29",
    "12:30:45",
    "190:20:30.15",
    "1:2",
    "=",
    "<<",
    "a b",
    "a: b",
    "a:b",
    "a #b",
    "a#b",
    "- a",
    "-",
    "?",
    "? a",
    "!",
    "!!str 1",
    "!!int \"1\"",
    "!!float 1",
    "!!bool \"true\"",
    "!foo 12",
    "! 12",
    "!!binary aGVsbG8=",
    "!!binary /w==",
    "!!int abc",
    "'it''s'",
    "\"x\\ty\"",
    "\"a\\nb\"",
    "\"a\\n\"",
    "\"\\n\"",
    "\" a\"",
    "\"a \"",
    "\"a\\n b\\n\"",
    "\" a\\nb\"",
    "\"a \\nb\"",
    "\"\\u00e9\"",
    "\"\\U0001F600\"",
    "\"\\u007f\"",
    "\"\\u0085\"",
    "\"\\ufeff\"",
    "é",
    "\"a\\rb\"",
    "*x",
    "&x 5",
    "((v))",
    "{}",
    "[]",
    "[a, 1]",
    "{a: 1}",
    "{a, b: }",
    "[a, {b: c}]",
    "'#'",
    "'[x'",
    "'%a'",
    "'@a'",
    "'`'",
    "'---'",
    "'...'",
    "'--- a'",
    "a,b",
    "aaaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb cccccccccccccccccccccccccccccc dddddddddddddddd eeeee",
    "'aaaaaaaaaaaaaaaaaaaa: bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb cccccccccccccccccccccccccccccc dddddddddddddddd eeeee'",
    "\"\\taaaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb  ccccccccccccccccccccccccc ddddddddddddddddddddd eeeee\"",
];

const KEYS: &[&str] = &[
    "a", "b", "c", "name", "0", "1", "a1", "a10", "a2", "a02", "B", "_a", "-a", "a-b", "a.b", "y", "1.5", "null", "é",
    "\"~\"", "v1.9", "v1.10", "<<", "k:v", "/s", "a?",
];
const VALUES: &[&str] = &["x", "y1", "web", "1"];

/// A scalar, or a small document of block collections and scalars.
pub(crate) fn document(random: &mut Random) -> String {
    let mut text = String::new();
    node(random, 0, &mut text, 0);
    text
}

fn node(random: &mut Random, depth: usize, text: &mut String, indent: usize) {
    let margin = " ".repeat(indent);
    let kind = if depth > 3 { 0 } else { random.below(4) };
    match kind {
        0 => {
            text.push_str(random.pick::<&str>(SCALARS));
            text.push('\n');
        }
        1 => {
            text.push('\n');
            for _ in 0..=random.below(3) {
                text.push_str(&format!("{margin}- "));
                node(random, depth + 1, text, indent + 2);
            }
        }
        _ => {
            text.push('\n');
            for _ in 0..=random.below(4) {
                text.push_str(&format!("{margin}{}: ", random.pick(KEYS)));
                node(random, depth + 1, text, indent + 2);
            }
        }
    }
}

/// A document whose collections operations find things in.
pub(crate) fn plain_document(random: &mut Random, depth: usize) -> Json {
    match if depth == 0 {
        4
    } else if depth > 3 {
        0
    } else {
        random.below(5)
    } {
        0 => json!(random.pick(&["x", "web", "1", ""])),
        1 => random.pick(&[json!(1), json!(1.0), json!(1.5), json!(true), json!(null), json!({}), json!([])]).clone(),
        2 => (0..random.below(4)).map(|_| plain_document(random, depth + 1)).collect(),
        3 => (0..random.below(4))
            .map(|_| json!({ "name": random.pick(VALUES), "b": plain_document(random, depth + 2) }))
            .collect(),
        _ => Json::Object(
            (0..random.below(4) + usize::from(depth == 0))
                .map(|_| (random.pick(&["a", "b", "c", "name"]).to_string(), plain_document(random, depth + 1)))
                .collect(),
        ),
    }
}

/// A path that mostly follows the document.
fn path(random: &mut Random, document: &Json) -> String {
    let mut path = String::new();
    let mut node = document;
    for _ in 0..=random.below(4) {
        let token = match node {
            _ if random.one_in(7) => random_token(random).to_owned(),
            Json::Object(entries) if !entries.is_empty() => {
                let keys: Vec<&String> = entries.keys().collect();
                format!("{}{}", random.pick(&keys), random.pick(&["", "", "?"]))
            }
            Json::Array(items) if !items.is_empty() => {
                let index = random.below(items.len());
                let mark = *random.pick(&["", "", "", ":before", ":after", ":next", ":prev", ":next:after"]);
                match items[index]["name"].as_str() {
                    Some(name) => format!("name={name}{}{mark}", random.pick(&["", "", "?"])),
                    None => format!("{index}{mark}"),
                }
            }
            _ => random_token(random).to_owned(),
        };
        let name = token.trim_end_matches('?').split(':').next().unwrap_or_default().to_owned();
        path += &format!("/{token}");
        node = match name.split_once('=') {
            Some((_, value)) => node.as_array().and_then(|items| items.iter().find(|item| item["name"] == value)),
            None => name.parse().ok().and_then(|index: usize| node.get(index)).or_else(|| node.get(&name)),
        }
        .unwrap_or(&Json::Null);
    }
    if random.one_in(50) { (*random.pick(&["", "b", "a/b", "/"])).to_owned() } else { path }
}

fn random_token(random: &mut Random) -> &'static str {
    const TOKENS: &[&str] = &[
        "a",
        "b",
        "c",
        "name",
        "a?",
        "b?",
        "c?",
        "0",
        "1",
        "-1",
        "-2",
        "5",
        "+1",
        "01",
        "-",
        "-?",
        "0?",
        "name=x",
        "name=web",
        "name=y1",
        "name=x?",
        "name=none?",
        "name=none",
        "b=1",
        "0:prev",
        "0:next",
        "-1:next",
        "0:before",
        "0:after",
        "-1:after",
        "name=x:before",
        "name=x:after",
        "name=none?:after",
        "name=x:next",
        "0:next:after",
        "0:before:after",
        "0:foo",
        "0:",
        "k:v",
        "a~1b",
        "a~7b?",
        "~0?",
        "~01",
        "",
        "?",
        "k=x??",
    ];
    random.pick::<&str>(TOKENS)
}

fn operation(random: &mut Random, document: &Json) -> Json {
    let mut operation = json!({ "type": random.pick(&["replace", "replace", "replace", "remove", "test"]), "path": path(random, document) });
    if operation["type"] == "replace" || operation["type"] == "test" && random.one_in(2) {
        operation["value"] = plain_document(random, 2);
    } else if operation["type"] == "test" {
        operation["absent"] = json!(!random.one_in(5));
    }
    if random.one_in(40) {
        operation["value"] = json!("x");
    }
    if random.one_in(60) {
        let kind = *random.pick(&["type", "path", "value", "absent", "error"]);
        operation[kind] = random.pick(&[json!(null), json!("x<&>"), json!(["x"]), json!({})]).clone();
    }
    operation
}

/// A request of any kind.
pub(crate) fn request(random: &mut Random) -> Json {
    match random.below(5) {
        0 => json!({ "Document": document(random) }),
        1 => {
            let document = plain_document(random, 0);
            json!({ "Document": document.to_string(), "Find": path(random, &document) })
        }
        _ => {
            let document = plain_document(random, 0);
            let ops: Vec<Json> = (0..=random.below(3)).map(|_| operation(random, &document)).collect();
            json!({ "Document": document.to_string(), "Ops": json!(ops).to_string() })
        }
    }
}
