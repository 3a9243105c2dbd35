//! One lifecycle script of one job.

use std::cell::{Cell, RefCell};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use handoff::hook_state::{HookState, State};
use nix::unistd::{Gid, Uid};
use problem::Result;
use supervisor::{Command, Echo, Exit, ResourceLimits, Task, Tee};
use vcap::Vcap;
use vcap::atomic::{clear_leftovers, replace_file};
use vcap::log_file::{OutputTail, open_log, tail_message};
use vcap::own_dir::ensure_dir;

use crate::agent;

/// BOSH's agent: of a log directory that it has to make itself.
const LOG_DIR_MODE: u32 = 0o750;
/// BOSH's agent: of a script's log files.
const LOG_MODE: u32 = 0o640;

/// A script that a job has, and the record of how it is doing.
#[derive(Debug)]
pub struct Script {
    path: PathBuf,
    name: &'static str,
    job: String,
    env: Vec<(OsString, OsString)>,
    dir: PathBuf,
    log_dir: PathBuf,
    state_dir: PathBuf,
    state_file: PathBuf,
    owner: (Uid, Gid),
    /// How often it was started.
    attempt: Cell<u32>,
    /// The output of the present run.
    output: RefCell<OutputTail>,
    /// The end of the output of a run that failed.
    last_lines: RefCell<Vec<String>>,
}

impl Script {
    /// The script of this name, if the job has one. `vcap_group` reads its logs.
    ///
    /// BOSH's agent: what counts is that it exists, not that it can be executed.
    pub fn of_job(vcap: &Vcap, job: &str, name: &'static str, vcap_group: Gid) -> Option<Script> {
        let path = vcap.job(job).join("bin").join(name);
        path.exists().then(|| Script {
            path,
            name,
            job: job.to_owned(),
            env: agent::environment(vcap),
            dir: agent::working_directory(vcap),
            log_dir: vcap.log(job),
            state_dir: vcap.boson_run(job),
            state_file: vcap.hook_state(job, name),
            owner: (Uid::from_raw(0), vcap_group),
            attempt: Cell::new(0),
            output: RefCell::default(),
            last_lines: RefCell::default(),
        })
    }

    /// Its path.
    pub fn path(&self) -> &std::path::Path {
        &self.path
    }

    /// Whose it is.
    pub fn job(&self) -> &str {
        &self.job
    }

    /// The file with what it prints on stderr.
    pub fn stderr_log(&self) -> PathBuf {
        self.log("stderr")
    }

    fn log(&self, stream: &str) -> PathBuf {
        self.log_dir.join(format!("{}.{stream}.log", self.name))
    }

    /// What is to be started, with its logs; everything that can fail before the start has been done then.
    ///
    /// `prefix` comes before each line that is forwarded to the container's own stdout and stderr.
    pub fn task(&self, prefix: &str) -> Result<Task> {
        if !self.log_dir.exists() {
            ensure_dir(&self.log_dir, LOG_DIR_MODE, self.owner)?;
        }
        let tee = |stream, echo: Option<Echo>| -> Result<Tee> {
            let file = open_log(&self.log(stream), LOG_MODE, self.owner)?;
            Ok(Tee { file: Some(file), echo: echo.map(|echo| echo.with_prefix(prefix)), capture: 0 })
        };
        self.output.replace(OutputTail::begin(self.log("stdout"), self.log("stderr")));
        Ok(Task {
            command: Command {
                program: self.path.clone().into(),
                args: Vec::new(),
                env: self.env.clone(),
                dir: Some(self.dir.clone()),
                identity: None,
                no_new_privileges: false,
                limits: ResourceLimits::default(),
            },
            stdout: tee("stdout", Echo::stdout())?,
            stderr: tee("stderr", Echo::stderr())?,
        })
    }

    /// Records that it is going to be run.
    pub fn waiting(&self) {
        clear_leftovers(&self.state_file);
        self.record(State::Waiting, None);
    }

    /// Records that it runs.
    pub fn started(&self) {
        self.attempt.set(self.attempt.get() + 1);
        self.record(State::Running, None);
    }

    /// Records how it ended.
    pub fn ended(&self, exit: Exit) {
        let state = if exit.is_success() { State::Succeeded } else { State::Failed };
        self.last_lines.replace(if exit.is_success() { Vec::new() } else { self.output.borrow().lines() });
        self.record(state, Some(exit.status()));
    }

    /// How a run that failed ended, what it lacked if that can be told, where its output is, and the end of that.
    pub fn failure(&self, exit: Exit) -> String {
        let lines = self.last_lines.borrow();
        let lacks = lacks(&lines).map_or_else(String::new, |what| format!(", {what}"));
        format!("{exit}{lacks}; see {}{}", self.stderr_log().display(), tail_message(&lines))
    }

    /// Whether it has succeeded before.
    pub fn has_succeeded(&self) -> bool {
        let text = std::fs::read_to_string(&self.state_file).unwrap_or_default();
        HookState::decode(&text, "").is_ok_and(|hook| hook.state == State::Succeeded)
    }

    /// A record that cannot be written must not stop a script that runs.
    fn record(&self, state: State, exit_code: Option<u8>) {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let last_lines = if state == State::Failed { self.last_lines.borrow().clone() } else { Vec::new() };
        let document = HookState { state, exit_code, attempt: self.attempt.get(), since, last_lines };
        // Where it exists it stays as it is: in a pod whose scripts run as root it may be a run-process' that runs as vcap.
        let made = match self.state_dir.is_dir() {
            true => Ok(()),
            false => ensure_dir(&self.state_dir, 0o755, (Uid::from_raw(0), Gid::from_raw(0))),
        };
        if let Err(problems) = made.and_then(|()| replace_file(&self.state_file, document.encode().as_bytes(), 0o644)) {
            tracing::warn!("{problems}");
        }
    }
}

/// What a script lacked that failed with this output: programs that every shell and VM has say it in the same words.
fn lacks(lines: &[String]) -> Option<&'static str> {
    const LIMIT: &str = "it raises a limit above the hard limit of its container, which needs the capability SYS_RESOURCE \
                         (in a pod: capabilities in properties.quarks.run.security_context of the job)";
    const PRIVILEGED: &str = "it needs to be privileged (boson up: --allow-privileged; in a pod: privileged in \
                              properties.quarks.run.security_context of the job)";
    lines.iter().find_map(|line| {
        // bash, dash.
        let is_limit = line.contains("ulimit: ")
            && (line.contains("cannot modify limit: Operation not permitted") || line.contains("error setting limit"));
        let is_refused = line.contains("permission denied") || line.contains("Operation not permitted");
        let needs_privileges = |program: &str| line.contains(program) && is_refused;
        if is_limit {
            Some(LIMIT)
        } else if ["mount: ", "mknod: ", "losetup: "].into_iter().any(needs_privileges) {
            Some(PRIVILEGED)
        } else {
            None
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_script_lacked_is_read_from_its_output() {
        let of = |line: &str| lacks(&["first".to_owned(), line.to_owned()]);
        for line in [
            "/x/bin/pre-start: line 3: ulimit: open files: cannot modify limit: Operation not permitted",
            "/x/bin/pre-start: 3: ulimit: error setting limit (Operation not permitted)",
        ] {
            assert!(of(line).is_some_and(|what| what.contains("SYS_RESOURCE")), "{line}");
        }
        for line in ["mount: /mnt: permission denied.", "mknod: /dev/loop0: Operation not permitted"] {
            assert!(of(line).is_some_and(|what| what.contains("privileged")), "{line}");
        }
        for line in ["mount: /mnt: no such device", "cat: /x: Permission denied", "ulimit -n 4096"] {
            assert_eq!(of(line), None, "{line}");
        }
    }
}
