//! The files that the containers of the pod share.
//!
//! ```text
//! DIR/state/        the state directory of `brokerpak run`
//! DIR/lease         until when the Lease is held, in nanoseconds of the machine's clock since its start
//! DIR/loaded        exists when the state has been loaded
//! DIR/running       locked by `brokerpak leased-run` while terraform may run
//! DIR/status        the exit code of the run
//! DIR/output.json   the result of the run
//! DIR/finished      exists when everything has been stored
//! DIR/store         locked while storing
//! ```

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use problem::{IoContext, Problem, Result};
use serde_json::Value as Json;

use crate::boot_time;

/// The shared directory.
pub(crate) struct Files {
    directory: PathBuf,
}

impl Files {
    pub(crate) fn new(directory: &Path) -> Files {
        Files { directory: directory.to_owned() }
    }

    /// The state directory of the run.
    pub(crate) fn state(&self) -> PathBuf {
        self.directory.join("state")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    pub(crate) fn is_loaded(&self) -> bool {
        self.path("loaded").exists()
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.path("finished").exists()
    }

    /// Writes one of the files that only have to exist.
    pub(crate) fn mark(&self, name: &str) -> Result<()> {
        self.replace(name, "")
    }

    /// Writes a file beside its place, and renames it.
    fn replace(&self, name: &str, text: &str) -> Result<()> {
        let (path, new) = (self.path(name), self.path(&format!(".{name}.new")));
        fs::write(&new, text).and_then(|()| fs::rename(&new, &path)).io("write", &path)
    }

    /// Says until when the Lease is held.
    pub(crate) fn write_lease(&self, until: Duration) -> Result<()> {
        self.replace("lease", &until.as_nanos().to_string())
    }

    /// Whether the Lease is held now.
    pub(crate) fn lease_is_held(&self) -> Result<bool> {
        let Ok(text) = fs::read_to_string(self.path("lease")) else { return Ok(false) };
        let now = boot_time::now().io("read", Path::new("the machine's clock"))?;
        Ok(text.trim().parse::<u128>().is_ok_and(|until| now.as_nanos() < until))
    }

    /// Whether terraform may be running.
    pub(crate) fn is_running(&self) -> Result<bool> {
        let path = self.path("running");
        match File::open(&path) {
            Ok(file) => Ok(file.try_lock_shared().is_err()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error).io("read", &path),
        }
    }

    /// Waits until no other process stores, and excludes others as long as the result lives.
    pub(crate) fn lock(&self) -> Result<File> {
        let path = self.path("store");
        let locked = || -> io::Result<File> {
            let mut options = OpenOptions::new();
            let file = options.create(true).truncate(false).write(true).mode(0o600).open(&path)?;
            file.lock()?;
            Ok(file)
        };
        locked().io("lock", &path)
    }

    /// The exit code and the result of the run; the result is absent if the run has not come so far.
    pub(crate) fn outcome(&self) -> Result<(u8, Option<Json>)> {
        let path = self.path("status");
        let text = fs::read_to_string(&path).io("read", &path)?;
        let wrong = |what: &str| Problem::internal(format!("{what} is not what brokerpak run writes"));
        let code = text.trim().parse().map_err(|_| wrong("the status"))?;
        let path = self.path("output.json");
        match fs::read(&path) {
            Ok(text) => Ok((code, Some(serde_json::from_slice(&text).map_err(|_| wrong("the output"))?))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok((code, None)),
            Err(error) => Err(error).io("read", &path),
        }
    }
}
