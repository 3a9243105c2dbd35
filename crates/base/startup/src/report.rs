//! Problems as they are printed at the end of a run: for people, or as JSON log lines.

use std::sync::OnceLock;

use problem::{Place, Problem, Problems};
use serde_json::{Map, Value, json};

use crate::LogFormat;

/// How this process logs; text until logging has been started.
static FORMAT: OnceLock<LogFormat> = OnceLock::new();

/// From now on problems have this form.
pub(crate) fn set_format(format: LogFormat) {
    // A second start in one process keeps the first, as logging does.
    let _ = FORMAT.set(format);
}

/// The problems in the form that the flags ask for.
pub(crate) fn formatted(problems: &Problems) -> String {
    match FORMAT.get() {
        Some(LogFormat::Json) => problems.iter().map(json_line).collect::<Vec<_>>().join("\n"),
        _ => text(problems),
    }
}

/// The problems as a person reads them.
pub(crate) fn text(problems: &Problems) -> String {
    without_control(&problems.with_codes().to_string())
}

/// The problem in the form of the other JSON log lines. Excerpts of sources are left out.
fn json_line(problem: &Problem) -> String {
    let place = |place: Option<&Place>| place.map_or(Value::Null, |place| place.to_string().into());
    let notes = problem.notes.iter().map(|note| {
        object([
            ("place", place(Some(&note.place))),
            ("message", note.what.clone().into()),
            ("hint", note.hint.clone().into()),
        ])
    });
    let notes: Vec<Value> = notes.collect();
    let fields = object([
        ("message", problem.message.clone().into()),
        ("code", problem.code.as_str().into()),
        ("class", problem.class.as_str().into()),
        ("place", place(problem.place.as_ref())),
        ("causes", problem.causes.clone().into()),
        ("notes", notes.into()),
        ("hint", problem.hint.clone().into()),
    ]);
    json!({"level": "ERROR", "fields": fields}).to_string()
}

/// An object of these fields without those that hold nothing.
fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    let is_empty = |value: &Value| value.is_null() || value.as_array().is_some_and(Vec::is_empty);
    let fields = fields.into_iter().filter(|(_, value)| !is_empty(value));
    Value::Object(fields.map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>())
}

/// A text with its control characters escaped, except for line feeds and tabs. Names and texts of a release or template are
/// part of messages: none of their control characters may reach a terminal.
pub fn without_control(text: &str) -> String {
    let shown =
        |c: char| if c.is_control() && c != '\n' && c != '\t' { c.escape_debug().to_string() } else { c.into() };
    text.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use problem::{Note, code};

    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(without_control("a\tü\n\u{1b}[31m\r\0\u{9b}x"), "a\tü\n\\u{1b}[31m\\r\\0\\u{9b}x");
    }

    #[test]
    fn a_json_line_has_code_class_and_place() {
        let mut problem =
            Problem::input("no \"job\"").code(code::JOB_UNKNOWN).at(Place::line("m.yml", 3)).because("why");
        problem.notes = vec![Note { place: Place::file("a"), what: Some("b".into()), hint: None }];
        let expected = r#"{"level":"ERROR","fields":{"message":"no \"job\"","code":"job-unknown","class":"input","place":"m.yml:3","causes":["why"],"notes":[{"place":"a","message":"b"}]}}"#;
        assert_eq!(json_line(&problem), expected);
    }
}
