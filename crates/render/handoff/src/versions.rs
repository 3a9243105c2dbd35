//! The record of the versions that are valid together: what `write-secrets` writes last and `deploy` reads first.

use std::collections::BTreeMap;

use problem::{Class, Result};
use serde::{Deserialize, Serialize};

use crate::document::Format;

const FORMAT: Format = Format { name: "versions.yaml", version: 2, class: Class::Internal };
/// Its runs have no flags; only read.
const WITHOUT_FLAGS: Format = Format { version: 1, ..FORMAT };

/// The key of the record in its ConfigMap.
pub const VERSIONS_YAML: &str = "versions.yaml";
/// Runs that the record keeps, for a rollback.
const KEPT: usize = 4;

/// The whole document.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Versions {
    /// The runs, the present one first: it and those that a rollback can return to.
    pub runs: Vec<Run>,
}

/// The versions of one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Its number, from 1.
    pub run: u32,
    /// The version of the deployment's document: `deployment-v<n>`.
    pub deployment: u32,
    /// The version of each group's documents: `ig-resolved.<ig>-v<n>` and `bpm.<ig>-v<n>`.
    pub groups: BTreeMap<String, u32>,
    /// The flags of `deploy`: the images of releases, and what else the manifest does not say. Not known if the run was recorded by
    /// an earlier release, in version 1 of the document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flags: Option<Vec<String>>,
}

/// A document of version 1.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct VersionsWithoutFlags {
    runs: Vec<RunWithoutFlags>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RunWithoutFlags {
    run: u32,
    deployment: u32,
    groups: BTreeMap<String, u32>,
}

impl Versions {
    /// The document's text.
    ///
    /// # Errors
    /// Only internal ones.
    pub fn encode(&self) -> Result<String> {
        FORMAT.encode_yaml(self)
    }

    /// Reads the document, also of version 1, whose runs have no flags; `path` is named in problems.
    ///
    /// # Errors
    /// Another version or none, unknown or missing fields, values of the wrong type.
    pub fn decode(text: &str, path: &str) -> Result<Versions> {
        if !WITHOUT_FLAGS.is_version_of(text) {
            return FORMAT.decode_yaml(text, path);
        }
        let document: VersionsWithoutFlags = WITHOUT_FLAGS.decode_yaml(text, path)?;
        let run = |of: RunWithoutFlags| Run { run: of.run, deployment: of.deployment, groups: of.groups, flags: None };
        Ok(Versions { runs: document.runs.into_iter().map(run).collect() })
    }

    /// The record after a run with these versions and flags; nothing if they are those of the present run.
    #[must_use]
    pub fn with(&self, deployment: u32, groups: BTreeMap<String, u32>, flags: Vec<String>) -> Option<Versions> {
        let run = self.runs.iter().map(|run| run.run).max().unwrap_or_default() + 1;
        let next = Run { run, deployment, groups, flags: Some(flags) };
        if self.runs.first().is_some_and(|present| Run { run, ..present.clone() } == next) {
            return None;
        }
        let mut runs = vec![next];
        runs.extend(self.runs.iter().take(KEPT - 1).cloned());
        Some(Versions { runs })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(version: u32) -> BTreeMap<String, u32> {
        [("nats".to_owned(), version)].into()
    }

    #[test]
    fn a_run_without_a_change_is_no_run() {
        let flags = |image: &str| vec!["--image".to_owned(), image.to_owned()];
        let first = Versions::default().with(1, groups(1), flags("nats=1")).unwrap();
        assert_eq!(first.runs[0].run, 1);
        assert_eq!(first.with(1, groups(1), flags("nats=1")), None);
        // Other images are another run.
        assert_eq!(first.with(1, groups(1), flags("nats=2")).unwrap().runs[0].run, 2);
        let mut versions = first;
        for version in 2..9 {
            versions = versions.with(1, groups(version), Vec::new()).unwrap();
        }
        let kept: Vec<u32> = versions.runs.iter().map(|run| run.run).collect();
        assert_eq!(kept, [8, 7, 6, 5]);
    }

    #[test]
    fn it_is_read_strictly() {
        let text = Versions::default()
            .with(2, groups(3), vec!["--grace".to_owned(), "60s".to_owned()])
            .unwrap()
            .encode()
            .unwrap();
        assert_eq!(
            text,
            "version: 2\nruns:\n- run: 1\n  deployment: 2\n  groups:\n    nats: 3\n  flags:\n  - --grace\n  - 60s\n"
        );
        crate::document::tests::refuses_other_documents(&text, |text| Versions::decode(text, "x").map(drop));
    }

    #[test]
    fn the_flags_of_runs_in_a_document_of_version_1_are_not_known() {
        let text = "version: 1\nruns:\n- run: 7\n  deployment: 2\n  groups: {nats: 1}\n";
        let versions = Versions::decode(text, "x").unwrap();
        assert_eq!(versions.runs, [Run { run: 7, deployment: 2, groups: groups(1), flags: None }]);
        // The same documents with known flags are another run.
        let next = versions.with(2, groups(1), Vec::new()).unwrap();
        let flags: Vec<_> = next.runs.iter().map(|run| (run.run, run.flags.clone())).collect();
        assert_eq!(flags, [(8, Some(Vec::new())), (7, None)]);
        assert_eq!(Versions::decode(&next.encode().unwrap(), "x").unwrap(), next);
        for wrong in ["  flags: []\n", "surprise: 1\n"] {
            let message = Versions::decode(&format!("{text}{wrong}"), "x").unwrap_err().to_string();
            assert!(message.contains("unknown field"), "{message}");
        }
    }
}
