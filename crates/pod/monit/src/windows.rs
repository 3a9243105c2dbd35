//! Files for the agent of Windows stemcells, which has no monit.

use serde_json::Value;

/// Whether a rendered `monit` file is one of a job for Windows: a JSON object, such as `{"processes": [...]}`. For monit, it would
/// be a syntax error.
pub fn is_for_windows(text: &str) -> bool {
    text.trim_start().starts_with('{') && serde_json::from_str::<Value>(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_json_object_is_for_windows() {
        for text in ["{}", "\n { \"processes\": [{\"name\": \"a\", \"executable\": \"/x.exe\", \"env\": {}}] }\n"] {
            assert!(is_for_windows(text), "{text}");
            assert!(crate::parse(text, "monit").is_err(), "{text}");
        }
        for text in ["", "check process a with pidfile /x", "{", "{\"processes\": [}", "[]", "{} {}"] {
            assert!(!is_for_windows(text), "{text}");
        }
    }
}
