//! Messages of the API server.

/// What comes before a value in messages of validation, and of server-side apply.
const BEFORE: [&str; 6] =
    ["Invalid value: ", "Unsupported value: ", "Duplicate value: ", "Forbidden value: ", "Not found: ", ", got "];

/// A message without the values that it quotes: they may be secrets.
pub(crate) fn without_values(message: &str) -> String {
    let mut out = String::new();
    let mut rest = message;
    while let Some((at, before)) = BEFORE.iter().filter_map(|text| Some((rest.find(text)?, *text))).min() {
        let (kept, behind) = rest.split_at(at + before.len());
        let end = value_end(behind);
        out.push_str(kept);
        out.push_str("(hidden)");
        rest = &behind[end..];
    }
    out.push_str(rest);
    out
}

/// Where a value ends: at `: ` or `, ` outside of quotes and brackets.
fn value_end(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut depth, mut is_quoted, mut at) = (0_usize, false, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if is_quoted => at += 1,
            b'"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            b'{' | b'[' | b'(' => depth += 1,
            // The bracket around all messages.
            b'}' | b']' | b')' if depth == 0 => return at,
            b'}' | b']' | b')' => depth -= 1,
            b':' | b',' if depth == 0 && bytes.get(at + 1).is_none_or(|next| *next == b' ') => return at,
            _ => {}
        }
        at += 1;
    }
    // A quote that does not end.
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_left_out() {
        for (message, expected) in [
            (
                "Service \"web\" is invalid: spec.ports[0].port: Invalid value: 70000: must be between 1 and 65535, inclusive",
                "Service \"web\" is invalid: spec.ports[0].port: Invalid value: (hidden): must be between 1 and 65535, inclusive",
            ),
            (
                "[a: Invalid value: \"s3:\\\" cret\": no, b: Unsupported value: \"x\": supported values: \"A\", \"B\"]",
                "[a: Invalid value: (hidden): no, b: Unsupported value: (hidden): supported values: \"A\", \"B\"]",
            ),
            (
                "Job x is invalid: spec.template: Invalid value: core.PodTemplateSpec{Env:[]core.EnvVar{V:\"s: }\"}}: field is immutable",
                "Job x is invalid: spec.template: Invalid value: (hidden): field is immutable",
            ),
            (
                "failed to create typed patch object: .data.a: expected string, got &value.valueUnstructured{Value:5}",
                "failed to create typed patch object: .data.a: expected string, got (hidden)",
            ),
            ("a: Invalid value: \"never ends: \u{e9}", "a: Invalid value: (hidden)"),
            ("secrets \"x\" not found", "secrets \"x\" not found"),
        ] {
            assert_eq!(without_values(message), expected);
        }
    }
}
