//! `identities.json`: who the instances of a deployment are, or were, for the next version of it.

use std::collections::BTreeMap;

use manifest_model::identity::{Slot, known_after};
use problem::{Class, Result};
use serde::{Deserialize, Serialize};

use crate::deployment::Deployment;
use crate::document::Format;

/// The name of its file, and its key in the record of a deployment's versions.
pub const IDENTITIES_JSON: &str = "identities.json";

const FORMAT: Format = Format { name: IDENTITIES_JSON, version: 1, class: Class::Input };

/// The whole document: the instances that each group has or had in any version, by index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identities(pub BTreeMap<String, Vec<Slot>>);

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    instance_groups: BTreeMap<String, Vec<Identity>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Identity {
    index: u32,
    az: Option<String>,
    az_index: u32,
    ordinal: u32,
}

impl Identities {
    /// What the version after `deployment` has to keep, which itself has kept these.
    pub fn after(mut self, deployment: &Deployment) -> Identities {
        for group in &deployment.instance_groups {
            let slot = |instance: &crate::deployment::Instance| Slot {
                az: instance.az.clone(),
                az_index: instance.az_index,
                ordinal: instance.ordinal,
                index: instance.index,
            };
            let slots: Vec<Slot> = group.instances.iter().map(slot).collect();
            let earlier = self.0.entry(group.name.clone()).or_default();
            *earlier = known_after(&slots, earlier);
        }
        self
    }

    /// The document's text, one line.
    pub fn encode(&self) -> String {
        let identity = |slot: &Slot| Identity {
            index: slot.index,
            az: slot.az.clone(),
            az_index: slot.az_index,
            ordinal: slot.ordinal,
        };
        let groups = self.0.iter().map(|(group, slots)| (group.clone(), slots.iter().map(identity).collect()));
        FORMAT.encode_json_line(&Document { instance_groups: groups.collect() })
    }

    /// Reads the document; `path` is named in problems.
    ///
    /// # Errors
    /// Another version or none, unknown or missing fields.
    pub fn decode(text: &str, path: &str) -> Result<Identities> {
        let document: Document = FORMAT.decode_json(text, path)?;
        let slot = |identity: Identity| Slot {
            az: identity.az,
            az_index: identity.az_index,
            ordinal: identity.ordinal,
            index: identity.index,
        };
        let groups = document.instance_groups.into_iter();
        Ok(Identities(groups.map(|(group, slots)| (group, slots.into_iter().map(slot).collect())).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_survive_a_round_and_are_read_strictly() {
        let slot = Slot { az: Some("z1".to_owned()), az_index: 1, ordinal: 2, index: 7 };
        let identities = Identities([("web".to_owned(), vec![slot])].into());
        assert_eq!(Identities::decode(&identities.encode(), "i").unwrap(), identities);
        for other in
            ["{}", "{\"version\":2,\"instance_groups\":{}}", "{\"version\":1,\"instance_groups\":{\"a\":[{}]}}"]
        {
            assert!(Identities::decode(other, "i").is_err(), "{other}");
        }
    }
}
