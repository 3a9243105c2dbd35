//! The log files of a program.

use std::fs::File;
use std::io;

use nix::unistd::{Gid, Uid};
use problem::Result;
use supervisor::{Command, Echo, SpawnError, Task, Tee};
use vcap::log_file::{OutputTail, open_log};

use crate::Context;

/// The two log files of a program.
pub(crate) struct Logs {
    stdout: File,
    stderr: File,
    output: OutputTail,
}

impl Logs {
    /// Opens `<name>.stdout.log` and `<name>.stderr.log` in the job's log directory.
    pub(crate) fn open(context: &Context, name: &str, mode: u32, owner: (Uid, Gid)) -> Result<Logs> {
        let path = |stream| context.log_dir().join(format!("{name}.{stream}.log"));
        let output = OutputTail::begin(path("stdout"), path("stderr"));
        let open = |stream| open_log(&path(stream), mode, owner);
        Ok(Logs { stdout: open("stdout")?, stderr: open("stderr")?, output })
    }

    /// The end of the output since the logs were opened.
    pub(crate) fn output(&self) -> &OutputTail {
        &self.output
    }

    /// The program with these logs, which others may use, too.
    pub(crate) fn task(&self, command: Command) -> std::result::Result<Task, SpawnError> {
        let file =
            |file: &File| file.try_clone().map_err(|error: io::Error| SpawnError { doing: "open its logs", error });
        let stdout = Tee { file: Some(file(&self.stdout)?), echo: Echo::stdout(), capture: 0 };
        let stderr = Tee { file: Some(file(&self.stderr)?), echo: Echo::stderr(), capture: 0 };
        Ok(Task { command, stdout, stderr })
    }
}
