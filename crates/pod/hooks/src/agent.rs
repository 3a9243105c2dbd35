//! What BOSH's agent gives every script that it runs.

use std::ffi::OsString;
use std::path::PathBuf;

use vcap::Vcap;

/// Its `PATH`, which replaces the agent's own.
pub const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// The environment: `PATH`, and `TMPDIR`, which the agent sets for itself. A script gets no other variable, in particular none
/// of the container.
pub fn environment(vcap: &Vcap) -> Vec<(OsString, OsString)> {
    vec![("PATH".into(), PATH.into()), ("TMPDIR".into(), vcap.base().join("data/tmp").into())]
}

/// The working directory: `/var/vcap/bosh`, created if it is missing; `/` where that is impossible.
pub fn working_directory(vcap: &Vcap) -> PathBuf {
    let dir = vcap.base().join("bosh");
    let exists = dir.is_dir() || std::fs::create_dir(&dir).is_ok();
    if exists { dir } else { PathBuf::from("/") }
}
