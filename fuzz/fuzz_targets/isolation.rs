//! Templates that change what they share with others, rendered in both isolation modes: the bytes and the failures must be
//! the same.
//!
//! Ruby is started once per process and must not see the fuzzer's, so each input is rendered by two processes of this
//! executable, which find it on their standard input.
#![no_main]

mod grammar;

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use dialect_erb::{IsolationMode, Renderer, Settings, Unit};
use libfuzzer_sys::fuzz_target;
use ruby::Vm;
use template::Source;
use value::Value;

/// Names the isolation mode in the environment of a process that renders.
const MODE: &str = "BOSON_FUZZ_ISOLATION";

/// How long a template may take. What templates change can make another one endless (an array that contains itself).
const TIMEOUT: Duration = Duration::from_secs(5);

fuzz_target!(
    init: {
        if let Ok(mode) = std::env::var(MODE) {
            let mut input = Vec::new();
            std::io::stdin().read_to_end(&mut input).expect("the input");
            let rendered = render(&input, IsolationMode::parse(&mode).expect("a mode"));
            std::io::stdout().write_all(rendered.as_bytes()).expect("the result");
            std::process::exit(0);
        }
    },
    |input: &[u8]| {
        let [auto, process] = ["auto", "process"].map(|mode| in_process(mode, input));
        // A template that was stopped was stopped anywhere.
        let stopped = [&auto, &process].iter().any(|rendered| rendered.contains("template-timeout"));
        if !stopped && auto != process {
            let show = |rendered: &str| rendered.replace("\\n", "\n");
            panic!("the isolation modes differ\n--- auto\n{}\n--- process\n{}", show(&auto), show(&process));
        }
    }
);

fn in_process(mode: &str, input: &[u8]) -> String {
    let executable = std::env::current_exe().expect("this executable");
    let mut child = Command::new(executable)
        .env(MODE, mode)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a process");
    child.stdin.take().expect("its input").write_all(input).expect("the input is written");
    let output = child.wait_with_output().expect("its output");
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "rendering in mode {mode} ended with {}\n{messages}", output.status);
    without_addresses(&String::from_utf8_lossy(&output.stdout))
}

/// The text without the addresses of objects (`#<Object:0x00007feec4049998>`), which differ between any two processes.
fn without_addresses(text: &str) -> String {
    let mut parts = text.split(":0x");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| all + ":0x" + part.trim_start_matches(|c: char| c.is_ascii_hexdigit()))
}

/// Each template of an input with what became of it.
fn render(input: &[u8], isolation: IsolationMode) -> String {
    let sources: Vec<Source> = grammar::templates(input)
        .into_iter()
        .enumerate()
        .map(|(i, text)| Source { name: format!("{i}.erb"), file: format!("{i}.erb"), text: text.into_bytes() })
        .collect();
    // One worker, so that all templates that may share a process do.
    let settings = Settings { workers: 1, timeout: TIMEOUT, isolation };
    let rendered = Vm::beside(|vm| {
        let renderer = Renderer::new(vm, settings)?;
        let units: Vec<Unit> = sources.iter().map(|source| Unit::new(0, "job", source)).collect();
        let results = renderer.render(&[context()], &units, &|_| Vec::new())?;
        Ok(sources.iter().zip(results).fold(String::new(), |text, (source, result)| {
            let result = result.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            text + &format!("{}\n=> {result:?}\n", String::from_utf8_lossy(&source.text))
        }))
    });
    rendered.unwrap_or_else(|problems| panic!("{problems}"))
}

/// What all templates of an input are given.
fn context() -> Value {
    let text = Value::str;
    let properties = Value::map([
        ("text", text("text")),
        ("list", Value::array([text("one"), text("two")])),
        ("hash", Value::map([("key", text("value")), ("deep", Value::map([("list", Value::array([text("x")]))]))])),
    ]);
    let instance = |name| Value::map([("name", text(name)), ("address", text("10.0.0.1")), ("index", Value::Int(0))]);
    let link = Value::map([
        ("instances", Value::array([instance("a"), instance("b")])),
        ("properties", Value::map([("text", text("linked"))])),
        ("address", text("link.example.com")),
    ]);
    Value::map([
        ("name", text("job")),
        ("index", Value::Int(0)),
        ("networks", Value::map([("default", Value::map([("ip", text("10.0.0.7"))]))])),
        ("properties", properties),
        ("links", Value::map([("peers", link)])),
    ])
}
