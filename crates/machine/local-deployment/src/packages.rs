//! What the instances of a deployment use of this machine: compiled packages, and root file systems.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use deployment_diff::Programs as Compared;
use serde::{Deserialize, Serialize};

/// The packages and the root file system of every group.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
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

    /// What each group uses, for a comparison with another version: a directory's name identifies its content.
    pub(crate) fn compared(&self) -> BTreeMap<String, Compared> {
        let name = |path: &PathBuf| path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let compared = |programs: &Programs| Compared {
            base: programs.base.as_ref().map(&name).unwrap_or_default(),
            packages: programs.packages.iter().map(|(package, path)| (package.clone(), name(path))).collect(),
        };
        self.0.iter().map(|(group, programs)| (group.clone(), compared(programs))).collect()
    }

    /// What a group uses.
    pub(crate) fn of(&self, group: &str) -> Programs {
        self.0.get(group).cloned().unwrap_or_default()
    }
}
