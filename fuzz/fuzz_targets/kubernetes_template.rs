//! Kubernetes Templates: reading, scanning, processing, writing and reading again; and expressions of generators.
#![no_main]

use dialect_kubernetes_templates::{Document, Expression, Format, UserValues, Mode, Options, Syntax, process, read, write};
use libfuzzer_sys::fuzz_target;
use problem::Place;

/// A value that no message may contain.
const SECRET: &str = "hunter2$(B)";

fuzz_target!(|input: &[u8]| {
    let (choice, text) = input.split_first().unwrap_or((&0, &[]));
    let file = if choice & 1 == 0 { "fuzz.yaml" } else { "fuzz.json" };
    if let Ok(expression) = Expression::parse(&String::from_utf8_lossy(text)) {
        expression.value(&|bytes| bytes.fill(choice >> 4));
    }
    if let Ok(node) = read(text, Format::of(file)) {
        for format in [Format::Json, Format::Yaml] {
            let written = write(&node, format);
            let again = read(written.as_bytes(), format);
            // JSON's -0 is 0 in YAML.
            let is_exact = format == Format::Json || !written.contains("-0");
            assert!(again.is_ok_and(|again| !is_exact || again == node), "{written}");
        }
    }
    let Ok(document) = Document::read(text, file) else { return };
    let options = Options {
        syntax: if choice & 2 == 0 { Syntax::Kubernetes } else { Syntax::Openshift },
        mode: if choice & 4 == 0 { Mode::Strict } else { Mode::Compat },
        ignore_unknown: true,
        ..Options::default()
    };
    let mut given = UserValues::default();
    for name in ["A", "B", "X"] {
        given.set(name, SECRET, Place::file("--param"));
    }
    let outcome = process(document, &given, &options, &|bytes| bytes.fill(0));
    let messages = outcome.warnings.iter().map(ToString::to_string).chain(outcome.result.err().map(|e| e.to_string()));
    if !String::from_utf8_lossy(text).contains("hunter2") {
        messages.for_each(|message| assert!(!message.contains("hunter2"), "{message}"));
    }
});
