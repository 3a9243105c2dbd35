//! Rules of names, ids and addresses, with the messages of the reference.

use problem::Place;

use crate::object::Placed;
use crate::report::Report;

/// The types of variables.
pub(crate) const TYPES: [&str; 6] = ["object", "boolean", "array", "number", "string", "integer"];

/// Reports a field without a text; gives whether it has one.
pub(crate) fn present(field: &Placed<String>, path: String, report: &mut Report) -> bool {
    let is_present = !field.value.trim().is_empty();
    if !is_present {
        missing(path, field.place.clone(), report);
    }
    is_present
}

/// Reports a missing field.
pub(crate) fn missing(path: String, place: Place, report: &mut Report) {
    report.error("missing field(s)", path, place);
}

/// A CLI-friendly name: letters, digits, periods and hyphens.
pub(crate) fn name(field: &Placed<String>, path: String, report: &mut Report) {
    if present(field, path.clone(), report)
        && !field.value.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.'))
    {
        report.error("field must match '^[a-zA-Z0-9-\\.]+$'", path, field.place.clone());
    }
}

/// A UUID of any version.
pub(crate) fn uuid(field: &Placed<String>, path: String, report: &mut Report) {
    let parts: Vec<&str> = field.value.split('-').collect();
    let is_uuid = parts.iter().map(|part| part.len()).eq([8, 4, 4, 4, 12])
        && parts.concat().bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_uuid {
        report.error("field must be a UUID", path, field.place.clone());
    }
}

/// An absolute URL, or in a directory the reference to an image (`file://`).
pub(crate) fn url(field: &Placed<String>, path: String, report: &mut Report) {
    if !is_url(&field.value) {
        report.error("field must be a URL", path, field.place.clone());
    }
}

/// Go's `url.ParseRequestURI` with a scheme.
fn is_url(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
    let is_text = !text.bytes().any(|byte| byte.is_ascii_control());
    let percent_encoded = rest.match_indices('%').all(|(at, _)| {
        rest.get(at + 1..at + 3).is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
    });
    let host = rest.strip_prefix("//").map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default());
    let host_is_valid = host.is_none_or(|host| {
        let port = host.rsplit_once(':').map_or("", |(_, port)| if port.contains(']') { "" } else { port });
        !host.contains(' ') && port.bytes().all(|byte| byte.is_ascii_digit())
    });
    is_scheme && is_text && percent_encoded && host_is_valid
}

/// The type of a variable; empty is allowed.
pub(crate) fn variable_type(field: &Placed<String>, path: String, report: &mut Report) {
    if !field.value.is_empty() && !TYPES.contains(&field.value.as_str()) {
        report.error("field must match '^(|object|boolean|array|number|string|integer)$'", path, field.place.clone());
    }
}

/// Reports a value that another one has, too.
pub(crate) fn unique<'v>(seen: &mut Vec<&'v str>, field: &'v Placed<String>, path: String, report: &mut Report) {
    if field.value.trim().is_empty() {
        return;
    }
    if seen.contains(&field.value.as_str()) {
        report.error(format!("duplicated value, must be unique: {}", field.value), path, field.place.clone());
    }
    seen.push(&field.value);
}
