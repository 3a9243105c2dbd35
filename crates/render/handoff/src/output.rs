//! `output.json`: a JSON object of file name to file content, what one container hands to `write-secrets`.

use problem::{Place, Problem, code};

/// The key under which `plan ig-resolved` hands over the resolved instance group.
pub const PROPERTIES_YAML: &str = "properties.yaml";
/// The key under which `plan bpm` hands over the BPM information.
pub const BPM_YAML: &str = "bpm.yaml";
/// The key under which `plan --output-dir` hands over the deployment.
pub const DEPLOYMENT_YAML: &str = "deployment.yaml";

/// The key under which `plan --output-dir` hands over the links that the deployment shares.
pub const LINKS_JSON: &str = "links.json";

/// The text of an `output.json` that holds one file.
pub fn encode(file_name: &str, content: &str) -> String {
    let mut object = serde_json::Map::new();
    object.insert(file_name.to_owned(), content.into());
    let mut text = serde_json::Value::Object(object).to_string();
    text.push('\n');
    text
}

/// The content of `file_name` in the text of an `output.json`; `path` is named in the problem.
pub fn decode(text: &str, file_name: &str, path: &str) -> problem::Result<String> {
    let wrong = |what: &str| {
        Problem::input(format!("not an output.json: {what}")).code(code::DOCUMENT_INVALID).at(Place::file(path))
    };
    let value: serde_json::Value = serde_json::from_str(text).map_err(|e| {
        Problem::input(format!("not an output.json: not JSON at line {} column {}", e.line(), e.column()))
            .code(code::DOCUMENT_INVALID)
            .at(Place::file(path))
    })?;
    let content = value.get(file_name).ok_or_else(|| wrong(&format!("it has no key '{file_name}'")))?;
    Ok(content.as_str().map(str::to_owned).ok_or_else(|| wrong(&format!("'{file_name}' is not a string")))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded() {
        let content = "a: \"<&>\u{2028}é\"\n";
        assert_eq!(decode(&encode(BPM_YAML, content), BPM_YAML, "x").unwrap(), content);
    }

    #[test]
    fn a_wrong_document_is_named_without_its_content() {
        let text = r#"{"secret": "hunter2"}"#;
        let problem = decode(text, BPM_YAML, "out/output.json").unwrap_err().to_string();
        assert_eq!(problem, "error: not an output.json: it has no key 'bpm.yaml'\n  --> out/output.json");
    }
}
