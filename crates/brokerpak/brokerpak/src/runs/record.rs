//! What is known of an instance or a binding.

use std::collections::BTreeMap;

use brokerpak_model::pak::Template;
use brokerpak_model::remembered::Results;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

/// The version of the form of records.
pub(crate) const FORMAT: u32 = 1;

/// How far an operation has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Phase {
    /// terraform runs, or was interrupted by a kill.
    #[default]
    Running,
    Failed,
    Succeeded,
}

/// What is known of an instance or a binding.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Record {
    pub(crate) format: u32,
    /// Its id, which the name of the directory only resembles.
    pub(crate) id: String,
    pub(crate) service: String,
    pub(crate) plan: String,
    /// The parameters of the request, for the comparison with the next one.
    pub(crate) requested: Map<String, Json>,
    /// Those that count: with what an import has found.
    pub(crate) parameters: Map<String, Json>,
    /// Further fields of the last request, which later ones may lack.
    pub(crate) request: Map<String, Json>,
    /// Whether the instance is provisioned, the binding bound.
    pub(crate) is_done: bool,
    /// The last operation.
    pub(crate) operation: String,
    pub(crate) phase: Phase,
    /// What the last operation reports.
    pub(crate) message: String,
    /// The lineage of its state; empty if it has none.
    pub(crate) lineage: String,
    pub(crate) results: Results,
    /// The templates of an instance that was imported, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) imported: Option<BTreeMap<String, String>>,
}

impl Record {
    pub(crate) fn new(id: &str) -> Record {
        Record { format: FORMAT, id: id.to_owned(), ..Record::default() }
    }

    /// The template of an imported instance.
    pub(crate) fn imported_template(&self) -> Option<Template> {
        let sources = self.imported.as_ref()?.iter().map(|(name, text)| (name.clone(), text.clone())).collect();
        let mut template = Template { sources, ..Template::default() };
        brokerpak_model::import::read_names(&mut template).ok()?;
        Some(template)
    }
}
