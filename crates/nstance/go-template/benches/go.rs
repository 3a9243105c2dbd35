//! Parsing and executing, against a compiled Go program with the same templates and data, in one run:
//! `cargo bench -p go-template --features go`.
#![allow(clippy::print_stdout, reason = "a table for people")]

#[path = "../tests/common/mod.rs"]
mod common;

use std::hint::black_box;
use std::process::Command;

use serde_json::Value as Json;

/// How long each measurement takes, in seconds; it has several rounds, of which the best one counts.
const SECONDS: f64 = 0.5;
const ROUNDS: u32 = 5;

/// The nanoseconds that this thread has had a processor: what else runs on the machine does not count.
fn cpu() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux tells");
    text.split(' ').next().and_then(|first| first.parse().ok()).expect("a number")
}

/// Nanoseconds that the work takes.
fn measure(mut work: impl FnMut()) -> f64 {
    work();
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = cpu();
        let mut count = 0u32;
        let mut step = 1;
        while cpu() - start < SECONDS * 1e9 / f64::from(ROUNDS) {
            (0..step).for_each(|_| work());
            count += step;
            step = (2 * step).min(256);
        }
        best = best.min((cpu() - start) / f64::from(count));
    }
    best
}

fn go(go: &common::Go, line: &str) -> (f64, f64) {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench.jsonl");
    std::fs::write(&path, line).expect("the request is written");
    let output = Command::new(go.program()).arg("bench").arg(&path).arg(SECONDS.to_string()).output().expect("Go runs");
    let text = String::from_utf8(output.stdout).expect("a line");
    let numbers: Vec<f64> = text.split_whitespace().skip(1).filter_map(|number| number.parse().ok()).collect();
    (numbers[0], numbers[1])
}

fn main() {
    let templates = std::fs::read_to_string(common::manifest_dir().join("benches/templates.jsonl")).expect("templates");
    let oracle = common::Go::build();
    println!(
        "{:18} {:>11} {:>11} {:>7} {:>11} {:>11} {:>7}",
        "", "parse, ns", "Go", "ratio", "execute, ns", "Go", "ratio"
    );
    let mut logarithms = (0.0, 0.0);
    let mut worst = (f64::INFINITY, f64::INFINITY);
    for line in templates.lines() {
        let request: Json = serde_json::from_str(line).expect("a request");
        let template = common::parse(&request).expect("it parses");
        let (data, options) = (common::data(&request), common::options(&request));
        let mut out = Vec::new();
        let execute = measure(|| {
            out.clear();
            template.execute_into(&data, &options, &mut out).expect("it renders");
            black_box(&out);
        });
        let text = request["template"].as_str().unwrap_or_default();
        let delimiters = go_template::Delimiters::default();
        let parse = measure(|| {
            black_box(go_template::Template::parse("bench", text, &delimiters).expect("it parses"));
        });
        let (go_parse, go_execute) = go(&oracle, line);
        let ratios = (go_parse / parse, go_execute / execute);
        logarithms = (logarithms.0 + ratios.0.ln(), logarithms.1 + ratios.1.ln());
        worst = (worst.0.min(ratios.0), worst.1.min(ratios.1));
        println!(
            "{:18} {parse:11.0} {go_parse:11.0} {:6.2}x {execute:11.0} {go_execute:11.0} {:6.2}x",
            request["name"].as_str().unwrap_or_default(),
            ratios.0,
            ratios.1
        );
    }
    let count = templates.lines().count() as f64;
    println!(
        "{:18} {:>23} {:6.2}x {:>23} {:6.2}x",
        "geometric mean",
        "",
        (logarithms.0 / count).exp(),
        "",
        (logarithms.1 / count).exp()
    );
    println!("{:18} {:>23} {:6.2}x {:>23} {:6.2}x", "least", "", worst.0, "", worst.1);
}
