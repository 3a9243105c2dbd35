//! Findings of lint, by the file that they are about.

use lint_release::Finding;

/// What is wrong with the releases, or why they could not be checked.
pub(crate) type Findings = problem::Result<Vec<Finding>>;

/// The findings about a file.
pub(crate) fn of_file<'f>(findings: &'f Findings, file: &str) -> Vec<&'f Finding> {
    let file = plain(file).to_owned();
    findings.iter().flatten().filter(|finding| plain(&finding.place.file) == file).collect()
}

/// A path without the `./` before it.
pub(crate) fn plain(path: &str) -> &str {
    path.trim_start_matches("./")
}
