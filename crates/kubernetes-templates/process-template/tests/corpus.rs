//! The templates of `e2e/corpus/kubernetes-templates`: `render` (the result), `fail` (the template is wrong) and `refuse` (the values are
//! wrong). A feature has `template.yaml` or `template.json`, and may have `values.env` and `arguments`.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::Path;
use std::process::Command;

use testkit::corpus::{Feature, Reference};

const REFERENCE: Reference<'_> = Reference { name: "boson", version: (0, 1) };

/// Exit status, stdout and stderr of a feature.
fn run(feature: &Feature, file: &str) -> (i32, Vec<u8>, Vec<u8>) {
    let mut command = Command::new(testkit::executable("process-template"));
    command.args(["--template", file]).current_dir(&feature.directory);
    if !feature.file("values.env").is_empty() {
        command.args(["--values", "values.env"]);
    }
    command.args(String::from_utf8(feature.file("arguments")).unwrap().split_whitespace());
    let output = command.output().unwrap();
    (output.status.code().unwrap(), output.stdout, output.stderr)
}

#[test]
fn templates_give_the_expected_bytes() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../e2e/corpus/kubernetes-templates");
    let (mut wrong, mut count) = (Vec::new(), 0);
    for (kind, status) in [("render", 0), ("fail", 66), ("refuse", 65)] {
        for extension in ["yaml", "json"] {
            for feature in Feature::all(&corpus.join(kind), extension).unwrap() {
                for template in &feature.templates {
                    count += 1;
                    let (code, stdout, stderr) = run(&feature, &format!("{template}.{extension}"));
                    let name = format!("{kind}/{}/{template}", feature.name);
                    let errors = String::from_utf8_lossy(&stderr).into_owned();
                    if code != status {
                        wrong.push(format!("{name}: exit status {code}, not {status}\n{errors}"));
                    }
                    assert!(!errors.contains("hunter2"), "{name}: {errors}");
                    let output = feature.check(template, &stdout, REFERENCE);
                    let messages = feature.check("errors", &stderr, REFERENCE);
                    wrong.extend(output.err().into_iter().chain(messages.err()).map(|why| format!("{name}: {why}")));
                }
            }
        }
    }
    assert!(wrong.is_empty() && count >= 12, "{count} cases\n{}", wrong.join("\n"));
}
