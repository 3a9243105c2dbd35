//! Values that violate the job's `properties_schema.json`.

use testkit::files::write;

use crate::secrets::{names, properties};
use crate::templates::MANIFEST;
use crate::{job, plan};

/// Rules that every value violates.
const RULES: &[&str] = &[
    r#"{"type": "boolean"}"#,
    r#"{"type": ["null", "boolean"]}"#,
    r#"{"enum": ["one", "two"]}"#,
    r#"{"const": "one"}"#,
    r#"{"not": {}}"#,
    r#"{"anyOf": [{"const": 1}, {"type": "null"}]}"#,
    r#"{"oneOf": [{}, {}]}"#,
    r#"{"if": {}, "then": false}"#,
    r#"{"maximum": 1, "maxLength": 1, "maxProperties": 0}"#,
    r#"{"type": "boolean", "x-error": "not %{instance}"}"#,
    "false",
];

#[test]
fn schema_violations_are_reported_without_the_value() {
    for rules in RULES {
        let directory = tempfile::tempdir().unwrap();
        let work = directory.path();
        let declared: String = names().map(|name| format!("  s.{name}: {{}}\n")).collect();
        job(work, "j", &format!("properties:\n{declared}"), &[]);
        let of_each: Vec<String> = names().map(|name| format!("\"{name}\": {rules}")).collect();
        let schema = format!(
            r#"{{"$schema": "https://json-schema.org/draft/2020-12/schema", "properties": {{"s": {{"properties": {{{}}}}}}}}}"#,
            of_each.join(", ")
        );
        write(&work.join("base/jobs-src/r/j/properties_schema.json"), schema);
        write(
            &work.join("manifest.yml"),
            format!("{MANIFEST}  - {{name: j, release: r, properties: {{s: {}}}}}\n", properties()),
        );
        let outcome = plan(work);
        assert_eq!(outcome.code, Some(65), "{rules}: {}", outcome.stderr);
        assert!(outcome.stderr.lines().count() > names().count(), "{rules}: {}", outcome.stderr);
    }
}
