//! The entries of ConfigMaps and Secrets as files.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::processed;
use dialect_kubernetes_templates::{Options, files};

/// Messages show keys as the template has them, and the exit code is that of whoever is at fault.
#[test]
fn unsuitable_entries_show_no_value() {
    let template = |objects: &str, default: &str| {
        format!("kind: Template\napiVersion: v1\nparameters: [{{name: S{default}}}]\nobjects:\n{objects}")
    };
    let map = "- {kind: ConfigMap, apiVersion: v1, data: {$(S): x}}";
    for (objects, value, message) in [
        (map, "hunter2/x", "objects[0].data.$(S): the key is not the name of a file in a volume"),
        (
            &format!("{map}\n- {{kind: Secret, apiVersion: v1, stringData: {{$(S): x}}}}"),
            "hunter2",
            "objects[1].stringData.$(S): another entry has the file name '$(S)' too",
        ),
        ("- {kind: Secret, apiVersion: v1, data: {a: $(S)}}", "hunter2!", "objects[0].data.a: must be base64"),
        ("- {kind: ConfigMap, apiVersion: v1, data: {a: $((S))}}", "22", "objects[0].data.a: must be a string"),
    ] {
        let given = processed(&template(objects, ""), &[("S", value)], &Options::default());
        let default = processed(&template(objects, &format!(", value: '{value}'")), &[], &Options::default());
        for (processed, code) in [(given, 65), (default, 66)] {
            let found = files(&processed).unwrap_err();
            assert!(found.to_string().contains(message), "{found}");
            assert_eq!(found.exit_code(), code, "{found}");
            assert!(!found.to_string().contains(value), "{found}");
        }
    }
}
