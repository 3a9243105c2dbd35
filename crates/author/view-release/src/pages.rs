//! The pages.

pub(crate) mod file;
pub(crate) mod findings;
pub(crate) mod instance;
pub(crate) mod overview;

use lint_release::Finding;
use problem::Problem;

use crate::html::escaped;
use crate::site::Site;

/// Problems as a person reads them on a terminal.
pub(crate) fn problems<'p>(site: &Site, title: &str, problems: impl IntoIterator<Item = &'p Problem>) -> String {
    let texts: String = problems
        .into_iter()
        .map(|problem| format!("<pre>{}</pre>\n", escaped(&site.masked(&problem.text().to_string()))))
        .collect();
    if texts.is_empty() {
        return String::new();
    }
    format!("<section class=\"problems\" role=\"alert\">\n<h2>{}</h2>\n{texts}</section>\n", escaped(title))
}

/// A finding, without its place.
pub(crate) fn finding(site: &Site, finding: &Finding) -> String {
    let Finding { rule, severity, message, hint, .. } = finding;
    let hint = hint.as_ref().map(|hint| format!(" <span class=\"hint\">hint: {}</span>", escaped(&site.masked(hint))));
    format!(
        "<strong>{severity}</strong> {} <span class=\"rule\" title=\"boson explain-error {}\">[{}]</span>{}",
        escaped(&site.masked(message)),
        rule.code,
        rule.code,
        hint.unwrap_or_default()
    )
}

/// A number with its noun.
pub(crate) fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}
