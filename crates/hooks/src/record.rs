//! What a script leaves for others to read.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use handoff::hook_state::{HookState, State};
use nix::unistd::{Gid, Uid};
use problem::Result;
use supervisor::Exit;
use vcap::Vcap;
use vcap::atomic::write_file;
use vcap::own_dir::ensure_dir;

/// The state file of one script of one job.
#[derive(Debug)]
pub(crate) struct Record {
    file: PathBuf,
}

impl Record {
    pub(crate) fn open(vcap: &Vcap, job: &str, script: &str) -> Result<Record> {
        ensure_dir(&vcap.boson_run(job), 0o755, (Uid::from_raw(0), Gid::from_raw(0)))?;
        Ok(Record { file: vcap.hook_state(job, script) })
    }

    pub(crate) fn started(&mut self) {
        self.write(State::Running, None);
    }

    pub(crate) fn ended(&mut self, exit: Exit) {
        let state = if exit.is_success() { State::Succeeded } else { State::Failed };
        self.write(state, Some(exit.status()));
    }

    /// A record that cannot be written must not stop scripts that run.
    fn write(&self, state: State, exit_code: Option<u8>) {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let document = HookState { state, exit_code, since };
        if let Err(problems) = write_file(&self.file, document.encode().as_bytes(), 0o644) {
            tracing::warn!("{problems}");
        }
    }
}
