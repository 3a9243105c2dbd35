//! Packages: listed, used, with files.

use std::collections::BTreeSet;

use problem::Place;
use release::Content;

use super::files::place_in;
use super::{code_lines, names_after};
use crate::finding::{Findings, at};
use crate::rules;
use crate::source::{JobSource, ReleaseSource};

const PACKAGES: &str = "/var/vcap/packages/";

/// Packages that files of a job name: of the release without being listed, or of another release.
pub(crate) fn named(release: &ReleaseSource, job: &JobSource, findings: &mut Findings) {
    if release.packages.is_empty() {
        return;
    }
    let mut seen = BTreeSet::new();
    for template in job.all_templates() {
        let text = template.text();
        for (number, line) in code_lines(&text) {
            for (name, column) in names_after(line, PACKAGES) {
                let is_listed = job.spec.packages.iter().any(|(listed, _)| listed == name);
                if is_listed || !seen.insert((template.file.clone(), name.to_owned())) {
                    continue;
                }
                let place = at(&template.file, number, column);
                if release.packages.contains(name) {
                    let message = format!("the spec of job '{}' does not list package '{name}'", job.name);
                    let hint = format!("add it to `packages` in {}", job.spec_file);
                    findings.add(rules::PACKAGE_UNLISTED, place, message).hint(hint);
                } else if name != "bpm" {
                    let message = format!(
                        "package '{name}' is not of this release: a job of its release must be in the same group"
                    );
                    findings.add(rules::POD_PACKAGE, place, message);
                }
            }
        }
    }
}

/// The packages of a source release.
pub(crate) fn check(source: &ReleaseSource, findings: &mut Findings) {
    let Some(release) = source.release.as_ref().filter(|_| source.is_source) else { return };
    let needed: BTreeSet<&str> = release
        .packages
        .iter()
        .flat_map(|package| &package.dependencies)
        .chain(release.jobs.iter().flat_map(|job| &job.packages))
        .map(String::as_str)
        .collect();
    for package in &release.packages {
        let directory = package.dir.file_name().unwrap_or_default().to_string_lossy();
        let spec = if package.content == Content::Vendored { "spec.lock" } else { "spec" };
        let file = source.file(&format!("packages/{directory}/{spec}"));
        if !needed.contains(package.name.as_str()) && !release.jobs.is_empty() && package.content != Content::Vendored {
            let message = format!("no job and no package of the release needs package '{}'", package.name);
            findings.add(rules::PACKAGE_UNUSED, Place::line(&file, 1), message);
        }
        let text = std::fs::read_to_string(package.dir.join(spec)).unwrap_or_default();
        for pattern in package.unmatched_patterns(release).unwrap_or_default() {
            let message = format!("no file in src/ and no blob matches '{pattern}'");
            let finding = findings.add(rules::PACKAGE_FILES, place_in(&file, &text, &pattern), message);
            finding.hint("the files of a directory match with DIRECTORY/**/*");
        }
    }
}
