//! The manifest and the configs, with generated variables.

use std::cell::RefCell;
use std::fs;
use std::path::Path;

use manifest_inputs::{Configs, Documents, Inputs, StorePaths};
use plan::Target;
use problem::{IoContext, Place, Problem, Problems, Result, code};
use ruby::Vm;

/// The content of the variables store of a run that keeps none: each rendering of the run has the same values.
pub(crate) type GeneratedValues = Option<Vec<u8>>;

/// Reads manifests with the same flags.
pub(crate) struct ManifestReader<'a> {
    pub(crate) vm: &'a Vm,
    pub(crate) inputs: &'a Inputs,
    pub(crate) configs: &'a Configs,
    /// What was generated for manifests without a variables store.
    pub(crate) generated: &'a RefCell<GeneratedValues>,
}

impl ManifestReader<'_> {
    /// Reads a manifest; applies operations, and generates and replaces variables.
    pub(crate) fn read(&self, manifest: &Path, target: &Target) -> Result<Documents> {
        let (name, text) = manifest_inputs::read(manifest);
        let refused = |e| -> Problems {
            let problem = Problem::input("cannot read the manifest").code(code::MANIFEST_MISSING);
            problem.at(Place::file(&name)).because(e).into()
        };
        // Secrets: in memory where the machine has a directory there.
        let parent = local_state::user_dirs::in_memory().unwrap_or_else(std::env::temp_dir);
        let temporary =
            tempfile::Builder::new().prefix("boson-render-").tempdir_in(&parent).io("make a directory in", &parent)?;
        let store = temporary.path().join("variables.yml");
        if let Some(values) = self.generated.borrow().as_ref() {
            fs::write(&store, values).io("write", &store)?;
        }
        let default_store = |_: Option<&str>| Ok(StorePaths::from(store.as_path()));
        let text = text.map_err(refused);
        let draft = self.inputs.read(self.configs, &name, text, Some(&default_store))?;
        let addresses = plan::link_addresses(self.vm, &draft, target)?;
        let documents = draft.finish(&addresses)?;
        if let Ok(values) = fs::read(&store) {
            self.generated.replace(Some(values));
        }
        Ok(documents)
    }
}
