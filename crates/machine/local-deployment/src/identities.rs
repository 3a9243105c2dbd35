//! Who the instances of a deployment were in its versions before: they keep their indexes, and with them their disks.

use std::path::{Path, PathBuf};

use handoff::identities::{IDENTITIES_JSON, Identities};
use local_state::StateDir;
use manifest_inputs::Documents;
use problem::{IoContext, Result};
use serde::Deserialize;

/// Readable by its owner only, as all of the state directory.
const MODE: u32 = 0o600;

/// The state directory of the deployment that the documents are of, with the name and the directory that the user has given. Nothing if
/// there is none, or if the manifest has no name: then `plan` says so.
pub(crate) fn directory(documents: &Documents, name: Option<&str>, state_dir: Option<&Path>) -> Option<PathBuf> {
    #[derive(Deserialize)]
    struct Named {
        name: String,
    }
    let of_manifest = || Some(serde_yaml::from_slice::<Named>(documents.manifest.text()).ok()?.name);
    let name = name.filter(|name| !name.is_empty()).map(str::to_owned).or_else(of_manifest).unwrap_or_default();
    let dir = StateDir::of(state_dir.filter(|path| !path.as_os_str().is_empty()), &name).ok()?;
    dir.identities().is_file().then(|| dir.path().to_owned())
}

/// Remembers the identities of a version, and of those before it.
pub(crate) fn keep(dir: &StateDir, planned: &Identities) -> Result<()> {
    vcap::atomic::write_file(&dir.identities(), planned.encode().as_bytes(), MODE)
}

/// The identities of the versions before; `directory` is that of [`directory`].
pub(crate) fn read(directory: Option<&Path>) -> Result<Identities> {
    let Some(directory) = directory else { return Ok(Identities::default()) };
    let path = directory.join(IDENTITIES_JSON);
    let text = std::fs::read_to_string(&path).io("read", &path)?;
    Identities::decode(&text, &path.display().to_string())
}
