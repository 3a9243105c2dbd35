//! What the instances of a deployment use of this machine: compiled packages, and root file systems.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The packages and the root file system of every group.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Packages(BTreeMap<String, Programs>);

/// What the instances of a group use.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Programs {
    /// The root file system; the host's own programs where absent.
    pub(crate) base: Option<PathBuf>,
    /// Name and directory of each compiled package.
    pub(crate) packages: BTreeSet<(String, PathBuf)>,
}

impl Packages {
    /// Enters what a group uses.
    pub(crate) fn add(&mut self, group: &str, programs: Programs) {
        self.0.insert(group.to_owned(), programs);
    }

    /// What a group uses.
    pub(crate) fn of(&self, group: &str) -> Programs {
        self.0.get(group).cloned().unwrap_or_default()
    }
}
