//! What all documents have in common: a version, and a reader that accepts nothing that it does not know.

use problem::{Class, Place, Problem, Result, code};
use serde::de::{DeserializeOwned, Deserializer};
use serde::{Deserialize, Serialize};

/// The key under which every document has its version.
pub(crate) const VERSION_KEY: &str = "version";

/// A document that crosses containers or processes.
pub(crate) struct Format {
    /// What messages call it.
    pub(crate) name: &'static str,
    /// The version that this program writes, or only reads.
    pub(crate) version: u32,
    /// The class of the problem when a document is refused.
    pub(crate) class: Class,
}

impl Format {
    /// A problem of this document; `path` is the file.
    pub(crate) fn problem(&self, message: &str, path: &str) -> Problem {
        Problem::new(self.class, format!("{}: {message}", self.name)).code(code::DOCUMENT_INVALID).at(Place::file(path))
    }

    /// Checks the version that a document has. `None` stands for a document without one.
    pub(crate) fn check_version(&self, found: Option<&str>, path: &str) -> Result<()> {
        let (name, own) = (self.name, self.version);
        let message = match found {
            Some(found) if found == own.to_string() => return Ok(()),
            Some(found) => {
                format!("{name} has version {found}, and this program reads version {own}")
            }
            None => format!("{name} has no version, and this program reads version {own}"),
        };
        let hint = "the program that wrote it and the one that reads it must be from the same release of boson";
        Err(Problem::new(self.class, message).code(code::DOCUMENT_VERSION).at(Place::file(path)).hint(hint).into())
    }

    /// Whether a text is a mapping in YAML with this version.
    pub(crate) fn is_version_of(&self, text: &str) -> bool {
        let document: serde_yaml::Result<serde_yaml::Value> = serde_yaml::from_str(text);
        document.is_ok_and(|document| document[VERSION_KEY].as_u64() == Some(self.version.into()))
    }

    /// The document as YAML, its version first.
    pub(crate) fn encode_yaml(&self, document: &impl Serialize) -> Result<String> {
        // What serde reports may quote a value.
        let cannot = |_| Problem::internal(format!("cannot encode {}", self.name)).code(code::DOCUMENT_INVALID);
        let body = serde_yaml::to_value(document).map_err(cannot)?;
        let mut whole = serde_yaml::Mapping::new();
        whole.insert(VERSION_KEY.into(), self.version.into());
        whole.extend(body.as_mapping().cloned().unwrap_or_default());
        Ok(serde_yaml::to_string(&whole).map_err(cannot)?)
    }

    /// Reads a document in YAML; `path` is named in problems.
    ///
    /// # Errors
    /// No YAML, another version or none, unknown or missing fields, values of the wrong type.
    pub(crate) fn decode_yaml<T: DeserializeOwned>(&self, text: &str, path: &str) -> Result<T> {
        let value: serde_yaml::Value = serde_yaml::from_str(text).map_err(|e| {
            let mut problem = self.problem("is not YAML", path);
            if let (Some(place), Some(at)) = (&mut problem.place, e.location()) {
                place.line = u32::try_from(at.line()).ok();
                place.column = u32::try_from(at.column()).ok();
            }
            problem
        })?;
        let serde_yaml::Value::Mapping(mut whole) = value else {
            return Err(self.problem("is not a mapping", path).into());
        };
        let version = whole.shift_remove(VERSION_KEY).map(|version| match version {
            serde_yaml::Value::Number(n) => n.to_string(),
            _ => NOT_A_NUMBER.to_owned(),
        });
        self.check_version(version.as_deref(), path)?;
        self.strict(serde_yaml::Value::Mapping(whole), path)
    }

    /// The document as JSON in one line, its version first.
    pub(crate) fn encode_json_line(&self, document: &impl Serialize) -> String {
        let body = serde_json::to_value(document).unwrap_or_default();
        let mut whole = serde_json::Map::new();
        whole.insert(VERSION_KEY.to_owned(), self.version.into());
        whole.extend(body.as_object().cloned().unwrap_or_default());
        format!("{}\n", serde_json::Value::Object(whole))
    }

    /// Reads a document in JSON; `path` is named in problems.
    ///
    /// # Errors
    /// As [`Format::decode_yaml`].
    pub(crate) fn decode_json<T: DeserializeOwned>(&self, text: &str, path: &str) -> Result<T> {
        let value: serde_json::Value = serde_json::from_str(text).map_err(|_| self.problem("is not JSON", path))?;
        let serde_json::Value::Object(mut whole) = value else {
            return Err(self.problem("is not an object", path).into());
        };
        let version = whole.shift_remove(VERSION_KEY).map(|version| match version {
            serde_json::Value::Number(n) => n.to_string(),
            _ => NOT_A_NUMBER.to_owned(),
        });
        self.check_version(version.as_deref(), path)?;
        self.strict(serde_json::Value::Object(whole), path)
    }

    fn strict<'de, T: DeserializeOwned, D: Deserializer<'de>>(&self, value: D, path: &str) -> Result<T> {
        serde_path_to_error::deserialize(value).map_err(|e| {
            let at = e.path().to_string();
            let what = fault(&e.into_inner().to_string());
            let message = if at == "." { what } else { format!("{at}: {what}") };
            self.problem(&message, path).into()
        })
    }
}

/// Reads a field that may be null, and may not be absent.
///
/// # Errors
/// Those of the value.
pub(crate) fn nullable<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<Option<T>, D::Error> {
    Option::deserialize(deserializer)
}

/// A version that is text or a list may be anything; it is not shown.
pub(crate) const NOT_A_NUMBER: &str = "(not a number)";

/// What is wrong, without the values that serde's own messages quote.
fn fault(message: &str) -> String {
    let quoted = |start: &str| message.strip_prefix(start)?.split('`').next();
    if let Some(field) = quoted("unknown field `") {
        return format!("unknown field '{field}'");
    }
    match quoted("missing field `") {
        Some(field) => format!("field '{field}' is missing"),
        None => "value of the wrong type".to_owned(),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Checks that a document is refused for another version, for none, and for an unknown field at the top.
    pub(crate) fn refuses_other_documents(text: &str, decode: impl Fn(&str) -> Result<()>) {
        decode(text).unwrap();
        let is_json = text.starts_with('{');
        let digits = text.find(|c: char| c.is_ascii_digit()).unwrap();
        let version: u32 = text[digits..=digits].parse().unwrap();
        let written =
            |version: &str| if is_json { format!("\"version\":{version}") } else { format!("version: {version}\n") };
        let (own, other) = (written(&version.to_string()), version + 1);
        let absent = text.replacen(&if is_json { format!("{own},") } else { own.clone() }, "", 1);
        let unknown = if is_json {
            text.replacen('{', "{\"surprise\":\"hunter2\",", 1)
        } else {
            format!("{text}surprise: hunter2\n")
        };
        let refused = |text: &str| decode(text).unwrap_err().to_string();
        let message = refused(&text.replacen(&own, &written(&other.to_string()), 1));
        let expected = format!(" has version {other}, and this program reads version {version}\n");
        assert!(message.contains(&expected), "{message}");
        let message = refused(&absent);
        assert!(message.contains(&format!(" has no version, and this program reads version {version}\n")), "{message}");
        let message = refused(&unknown);
        assert!(message.contains("unknown field 'surprise'") || message.contains("'surprise' is unknown"), "{message}");
        assert!(!message.contains("hunter2"), "{message}");
        let message = refused(&text.replacen(&own, &written("\"hunter2\""), 1));
        assert!(message.contains("version (not a number)") && !message.contains("hunter2"), "{message}");
    }

    #[test]
    fn faults_name_fields_and_never_values() {
        assert_eq!(fault("unknown field `x`, expected `y`"), "unknown field 'x'");
        assert_eq!(fault("missing field `x`"), "field 'x' is missing");
        for message in ["invalid type: string \"hunter2\", expected u32", "unknown variant `hunter2`, expected `a`"] {
            assert_eq!(fault(message), "value of the wrong type");
        }
    }
}
