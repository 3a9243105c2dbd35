//! `links.json`: the links that a deployment shares with others (`shared: true`). Properties are in it, which may be secrets.

use problem::{Class, Result};
use serde::{Deserialize, Serialize};

use crate::document::Format;

const FORMAT: Format = Format { name: "links.json", version: 1, class: Class::Input };

/// The whole document.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedLinks {
    /// The links, in the order of their providers.
    pub links: Vec<SharedLink>,
}

/// A link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedLink {
    /// The provider's name: the manifest's `as`, or else that of the job's spec.
    pub name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub link_type: String,
    /// What consumers see.
    pub content: serde_json::Value,
}

impl SharedLinks {
    /// The document's text.
    pub fn encode(&self) -> String {
        FORMAT.encode_json_line(self)
    }

    /// Reads the document; `path` is named in problems.
    ///
    /// # Errors
    /// Another version or none, unknown or missing fields.
    pub fn decode(text: &str, path: &str) -> Result<SharedLinks> {
        FORMAT.decode_json(text, path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_survive_a_round_and_are_read_strictly() {
        let content = serde_json::json!({"address": "a", "properties": {"port": 5432}});
        let link = SharedLink { name: "db".to_owned(), link_type: "sql".to_owned(), content };
        let links = SharedLinks { links: vec![link] };
        assert_eq!(SharedLinks::decode(&links.encode(), "l").unwrap(), links);
        for other in ["{}", "{\"version\":2,\"links\":[]}", "{\"version\":1,\"links\":[{\"name\":\"x\"}]}"] {
            assert!(SharedLinks::decode(other, "l").is_err(), "{other}");
        }
    }
}
