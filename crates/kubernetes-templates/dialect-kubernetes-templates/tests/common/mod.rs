//! Helpers of the tests of rules.
#![allow(dead_code, reason = "each test program uses some of them")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use dialect_kubernetes_templates::{
    Document, Format, Mode, Node, Options, Outcome, Processed, Syntax, UserValues, process, write,
};
use problem::{Place, Problems};

/// Options of a mode.
pub(crate) fn mode(mode: Mode) -> Options {
    Options { mode, ..Options::default() }
}

/// Options of OpenShift's syntax.
pub(crate) fn openshift(mode: Mode) -> Options {
    Options { syntax: Syntax::Openshift, mode, label_selectors: false, ..Options::default() }
}

/// Processes a template in YAML with these values.
pub(crate) fn outcome(template: &str, given: &[(&str, &str)], options: &Options) -> Outcome {
    let document = Document::read(template.as_bytes(), "t.yaml").unwrap_or_else(|e| panic!("{e}\n{template}"));
    let mut values = UserValues::default();
    given.iter().for_each(|(name, value)| values.set(*name, *value, Place::file(format!("--param {name}"))));
    process(document, &values, options, &|bytes| bytes.fill(0))
}

/// The result, which must be one.
pub(crate) fn processed(template: &str, given: &[(&str, &str)], options: &Options) -> Processed {
    outcome(template, given, options).result.unwrap_or_else(|e| panic!("{e}\n{template}"))
}

/// The problems, which must be some.
pub(crate) fn problems(template: &str, given: &[(&str, &str)], options: &Options) -> Problems {
    outcome(template, given, options).result.map(|done| done.into_list()).expect_err(template)
}

/// The messages of the problems, each with `line:column` where that is known, and the exit code.
pub(crate) fn messages(template: &str, given: &[(&str, &str)], options: &Options) -> (Vec<String>, u8) {
    let problems = problems(template, given, options);
    let message = |problem: &problem::Problem| match &problem.place {
        Some(place) if place.line.is_some() => {
            format!("{}:{}: {}", place.line.unwrap_or(0), place.column.unwrap_or(0), problem.message)
        }
        _ => problem.message.clone(),
    };
    (problems.iter().map(message).collect(), problems.exit_code())
}

/// The parameters A, of text, I, an int, B, a bool, S, a string, D, base64, M, a number, and O and P without value, as the list of a template.
pub(crate) const PARAMETERS: &str = "parameters:
- {name: A, value: a}
- {name: I, type: int, value: '8080'}
- {name: B, type: bool, value: 'true'}
- {name: S, type: string, value: '5'}
- {name: D, type: base64, value: 'MQ=='}
- {name: M, value: '12'}
- {name: O}
- {name: P, type: int}
";

/// A template of one object, whose field `x` has this text.
pub(crate) fn field(text: &str) -> String {
    let mut quoted = write(&Node::string(text), Format::Json);
    quoted.truncate(quoted.trim_end().len());
    format!("kind: Template\napiVersion: v1\nobjects:\n- {{kind: K, apiVersion: v1, x: {quoted}}}\n{PARAMETERS}")
}

/// The field `x` of the first object, as JSON.
pub(crate) fn x(processed: &Processed) -> String {
    let object = processed.objects()[0].as_map().unwrap();
    write(object.get("x").unwrap(), Format::Json).trim_end().to_owned()
}
