//! Random YAML, read here and by sigs.k8s.io/yaml, kubectl's library. `YAML_CASES` is how many (10,000 if it is not set),
//! `YAML_SEED` the number that they follow from.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::Path;

use dialect_kubernetes_templates::{Format, read, write};
use serde_json::Value as Json;
use testkit::go::Program;
use testkit::random::Random;

const SCALARS: &[&str] = &[
    "0",
    "-0",
    "7",
    "+7",
    "007",
    "08",
    "0644",
    "0o17",
    "0x1F",
    "0X1f",
    "-0x10",
    "0b11",
    "-0b1",
    "1_000",
    "1__0",
    "_1",
    "0_7",
    "1.5",
    "1.50",
    "-1.5",
    "+1.5",
    ".5",
    "-.5",
    "5.",
    "1e3",
    "1e+3",
    "1E-3",
    "1.e3",
    "1e400",
    "1e-400",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775809",
    "0xffffffffffffffffff",
    "1:30",
    "190:20:30",
    "190:20:30.15",
    "y",
    "Y",
    "n",
    "N",
    "yes",
    "YES",
    "yEs",
    "no",
    "No",
    "on",
    "On",
    "off",
    "OFF",
    "true",
    "True",
    "TRUE",
    "tRUE",
    "false",
    "null",
    "Null",
    "NULL",
    "~",
    "nULL",
    ".nan",
    ".inf",
    "-.inf",
    "2001-12-14",
    "2001-2-4",
    "2001-13-14",
    "2001-12-14T21:59:43Z",
    "2001-12-14 21:59:43",
    "2001-12-14t21:59:43.10-05:00",
    "a",
    "a b",
    "'n'",
    "'5'",
    "\"5\"",
    "\"a\\tb\"",
    "''",
    "\"\\u00e9\"",
    "<<",
    "=",
    "-",
    "a-b",
    "1a",
    "0x",
    "0b2",
    "1.2.3",
    "1,5",
    "$(A)",
    "$((A))",
    "!!str 5",
    "!!int 5",
    "!!int '5'",
    "!!int a",
    "!!float 5",
    "!!float 1.5",
    "!!bool yes",
    "!!bool 5",
    "!!null ''",
    "!!binary aGk=",
    "!!binary '='",
    "!x 5",
    "!!timestamp 2001-12-14",
    "!!timestamp a",
    "! 5",
];

/// A document: a scalar, a list or a map in flow or block style, with anchors, aliases and merges.
fn document(random: &mut Random) -> String {
    match random.below(4) {
        0 => (*random.pick(SCALARS)).to_owned(),
        1 => flow(random, 3, &mut 0),
        _ => {
            let mut text = String::new();
            let mut anchors = 0;
            for _ in 0..random.below(5) + 1 {
                let value = flow(random, 2, &mut anchors);
                let key = key(random);
                if random.one_in(4) && anchors > 0 {
                    text += &format!("<<: *a{}\n", random.below(anchors) + 1);
                }
                text += &format!("{key}: {value}\n");
            }
            text
        }
    }
}

fn key(random: &mut Random) -> String {
    match random.below(3) {
        0 => format!("k{}", random.below(4)),
        1 => "b".to_owned() + &"x".repeat(random.below(3)),
        _ => (*random.pick(SCALARS)).to_owned(),
    }
}

fn flow(random: &mut Random, depth: usize, anchors: &mut usize) -> String {
    let kind = if depth == 0 { 0 } else { random.below(6) };
    let anchor = if random.one_in(4) && kind > 0 {
        *anchors += 1;
        format!("&a{anchors} ")
    } else {
        String::new()
    };
    match kind {
        1 | 2 => {
            let items: Vec<String> = (0..random.below(4)).map(|_| flow(random, depth - 1, anchors)).collect();
            format!("{anchor}[{}]", items.join(", "))
        }
        3 | 4 => {
            let entry = |random: &mut Random, anchors: &mut usize| {
                if random.one_in(5) && *anchors > 0 {
                    return format!("<<: *a{}", random.below(*anchors) + 1);
                }
                format!("{}: {}", key(random), flow(random, depth - 1, anchors))
            };
            let entries: Vec<String> = (0..random.below(4)).map(|_| entry(random, anchors)).collect();
            format!("{anchor}{{{}}}", entries.join(", "))
        }
        5 if *anchors > 1 => format!("*a{}", random.below(*anchors) + 1),
        _ => (*random.pick(SCALARS)).to_owned(),
    }
}

/// Equal, numbers as `float64` where one of them is one.
fn is_equal(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Number(a), Json::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Json::Array(a), Json::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_equal(a, b)),
        (Json::Object(a), Json::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| is_equal(a, b)))
        }
        (a, b) => a == b,
    }
}

#[test]
fn documents_are_read_as_by_kubectl() {
    let number = |name: &str, default: u64| std::env::var(name).map_or(default, |text| text.parse().unwrap());
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/go");
    let go = Program::build(&directory, Path::new(env!("CARGO_TARGET_TMPDIR")), "kubectl-yaml");
    let mut random = Random::new(number("YAML_SEED", 1));
    let documents: Vec<String> = (0..number("YAML_CASES", 10_000)).map(|_| document(&mut random)).collect();
    let read_here: Vec<_> = documents.iter().map(|text| read(text.as_bytes(), Format::Yaml)).collect();
    // What is written is read there as well.
    let written: Vec<String> =
        read_here.iter().map(|read| read.as_ref().map_or(String::new(), |node| write(node, Format::Yaml))).collect();
    let ask = |texts: &[String]| -> Vec<Json> {
        let lines: Vec<String> = texts.iter().map(|text| Json::from(text.as_str()).to_string()).collect();
        go.answers(&lines).iter().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let (mut wrong, mut failures) = (Vec::new(), 0);
    let answers = ask(&documents).into_iter().zip(ask(&written));
    for ((document, here), (there, again)) in documents.iter().zip(&read_here).zip(answers) {
        failures += usize::from(here.is_err());
        let is_same = match here {
            Ok(node) => {
                let json: Json = serde_json::from_str(&write(node, Format::Json)).unwrap();
                [there, again].iter().all(|answer| {
                    let outputs = answer.get("outputs").and_then(Json::as_array);
                    answer.get("error").is_none()
                        && outputs.is_some_and(|outputs| outputs.iter().any(|output| is_equal(&json, output)))
                })
            }
            // kubectl takes the last of equal keys, or any.
            Err(error) => there.get("strict").is_some() || error.message.contains("occurs twice"),
        };
        if !is_same {
            let here = here.as_ref().map(|node| write(node, Format::Json));
            wrong.push(format!("{document:?}\n  here: {here:?}"));
        }
    }
    println!("{} cases, {failures} of which fail", documents.len());
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
}
