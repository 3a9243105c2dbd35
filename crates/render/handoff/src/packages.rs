//! `jobs-src/<release>/.packages`: the packages in the image of a release. `copy-jobs` writes it beside the job sources, and
//! `plan` compares it with what is rendered.

use std::collections::BTreeSet;

use problem::{Class, Result};
use serde::{Deserialize, Serialize};

use crate::document::Format;

const FORMAT: Format = Format { name: "the list of packages", version: 1, class: Class::Internal };

/// The name of the file among a release's job sources.
pub const FILE: &str = ".packages";

/// The packages in the image of a release.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Packages {
    /// Their names.
    pub packages: BTreeSet<String>,
}

impl Packages {
    /// The document's text.
    pub fn encode(&self) -> String {
        FORMAT.encode_json_line(self)
    }

    /// Reads the document; `path` is named in problems.
    ///
    /// # Errors
    /// Another version or none, unknown or missing fields.
    pub fn decode(text: &str, path: &str) -> Result<Packages> {
        FORMAT.decode_json(text, path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_survives_a_round_and_is_read_strictly() {
        let list = Packages { packages: ["nats", "go-1.22"].map(str::to_owned).into() };
        let text = list.encode();
        assert_eq!(text, "{\"version\":1,\"packages\":[\"go-1.22\",\"nats\"]}\n");
        assert_eq!(Packages::decode(&text, "p").unwrap(), list);
        for other in ["{}", "{\"version\":2,\"packages\":[]}", "{\"version\":1,\"packages\":[],\"more\":1}", "x"] {
            assert!(Packages::decode(other, "p").is_err(), "{other}");
        }
    }
}
