//! The directories of this user: state, cache, and one in memory.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use nix::unistd::{User, geteuid};
use problem::{IoContext, Problem, Result};

/// `$XDG_STATE_HOME/boson`.
pub(crate) fn all() -> Result<PathBuf> {
    home("XDG_STATE_HOME", ".local/state", "--state-dir")
}

/// `$XDG_CACHE_HOME/boson`.
pub fn cache() -> Result<PathBuf> {
    home("XDG_CACHE_HOME", ".cache", "XDG_CACHE_HOME")
}

/// boson's directory of one kind (XDG Base Directory Specification: relative values are ignored).
fn home(variable: &str, below_home: &str, instead: &str) -> Result<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    // As a login would set HOME.
    let of_user = || User::from_uid(geteuid()).ok().flatten().map(|user| user.dir).filter(|path| path.is_absolute());
    absolute(variable)
        .or_else(|| absolute("HOME").or_else(of_user).map(|home| home.join(below_home)))
        .map(|path| path.join("boson"))
        .ok_or_else(|| {
            let message = format!("neither {variable} nor HOME is set, and this user has no entry in /etc/passwd");
            Problem::usage(message).hint(format!("set {instead}")).into()
        })
}

/// A directory for its owner alone.
pub fn make_private(path: &Path) -> Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).io("make", path)
}

/// A directory in memory where the machine has one that this user can write to, and nobody else can take away from there
/// what it makes: root may have been left with another user's `XDG_RUNTIME_DIR`.
pub fn in_memory() -> Option<PathBuf> {
    let candidates = [std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from), Some(PathBuf::from("/dev/shm"))];
    candidates.into_iter().flatten().find(|path| {
        let memory =
            nix::sys::statfs::statfs(path).is_ok_and(|fs| fs.filesystem_type() == nix::sys::statfs::TMPFS_MAGIC);
        let safe = fs::metadata(path).is_ok_and(|meta| {
            meta.uid() == geteuid().as_raw() || (meta.uid() == 0 && meta.mode() & nix::libc::S_ISVTX != 0)
        });
        memory && safe && nix::unistd::access(path, nix::unistd::AccessFlags::W_OK).is_ok()
    })
}
