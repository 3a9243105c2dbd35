//! The job's scripts that run when the pod stops, by the contracts of BOSH's agent.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use handoff::process_state::SKIP_DRAIN;
use hooks::agent;
use nix::sys::statvfs::statvfs;
use nix::unistd::{Gid, Uid};
use supervisor::{Command, Drained, End, ResourceLimits, Role};
use vcap::Vcap;

/// BOSH's agent: root's, and vcap may read.
const LOG_MODE: u32 = 0o640;
/// More than a number has; what is longer is none.
const LONGEST_ANSWER: usize = 256;

/// A script of the job.
pub(crate) struct Script {
    pub(crate) name: &'static str,
    pub(crate) command: Command,
    /// How much of its stdout is an answer.
    pub(crate) answer: usize,
    pub(crate) log_mode: u32,
}

/// What a role's script is called.
pub(crate) fn name(role: Role) -> Option<&'static str> {
    match role {
        Role::PreStop => Some("pre-stop"),
        Role::Drain => Some("drain"),
        Role::PostStop => Some("post-stop"),
        Role::Task(_) | Role::Hook | Role::Main | Role::Stop | Role::PostStart => None,
    }
}

/// The job's script for this role, if it has one. A drain script that is called `again` is asked how far it is.
pub(crate) fn script(vcap: &Vcap, job: &str, role: Role, again: bool) -> Option<Script> {
    let name = name(role)?;
    let program = path(vcap, job, name);
    if !program.exists() {
        return None;
    }
    let mut env = agent::environment(vcap);
    let mut args = Vec::new();
    match role {
        Role::PreStop => {
            // A pod is gone for good when it stops; its disk and its deployment stay.
            for (what, state) in [("VM", "delete"), ("INSTANCE", "keep"), ("DEPLOYMENT", "keep")] {
                env.push((format!("BOSH_{what}_NEXT_STATE").into(), state.into()));
            }
        }
        Role::Drain => {
            args = vec![if again { "job_check_status" } else { "job_shutdown" }.into(), "hash_unchanged".into()];
            let state = format!("{{\"persistent_disk\":{}}}", persistent_disk(vcap));
            env.push(("BOSH_JOB_STATE".into(), state.into()));
        }
        _ => {}
    }
    let command = Command {
        program: program.into(),
        args,
        env,
        dir: Some(agent::working_directory(vcap)),
        identity: None,
        no_new_privileges: false,
        limits: ResourceLimits::default(),
    };
    let answer = if role == Role::Drain { LONGEST_ANSWER } else { 0 };
    Some(Script { name, command, answer, log_mode: LOG_MODE })
}

/// Whether any job of the pod has a script that runs when it stops.
pub(crate) fn exist(vcap: &Vcap) -> bool {
    let jobs = vcap.rendered_jobs().unwrap_or_default();
    let names = [Role::PreStop, Role::Drain, Role::PostStop].map(|role| name(role).unwrap_or_default());
    jobs.iter().any(|job| names.iter().any(|name| path(vcap, job, name).exists()))
}

/// Whether this stop leaves out pre-stop and drain (BOSH: `--skip-drain`). `boson up` writes the file before it stops an instance.
pub(crate) fn are_skipped(states: &Path) -> bool {
    std::fs::read(states.join(SKIP_DRAIN)).is_ok_and(|text| !text.is_empty())
}

/// Where the job has the script.
pub(crate) fn path(vcap: &Vcap, job: &str, name: &str) -> PathBuf {
    vcap.job(job).join("bin").join(name)
}

/// The answer of the drain script by BOSH's rules, and why it counts as done where it broke them.
pub(crate) fn drained(end: &End) -> (Drained, Option<String>) {
    let done = Drained::After(Duration::ZERO);
    match &end.result {
        // The caller knows where it lies and reports why.
        Err(_) => return (done, None),
        // A status that is not 0 is no failure as long as there is an answer.
        Ok(exit @ supervisor::Exit::Signal(_)) => return (done, Some(exit.to_string())),
        Ok(supervisor::Exit::Code(_)) => {}
    }
    let answer = std::str::from_utf8(&end.captured).ok().and_then(|text| text.trim().parse::<i64>().ok());
    match answer {
        Some(seconds @ 0..) => (Drained::After(Duration::from_secs(seconds.unsigned_abs())), None),
        Some(seconds) => (Drained::Again(Duration::from_secs(seconds.unsigned_abs())), None),
        None => (done, Some("Script did not return a signed integer".to_owned())),
    }
}

/// The size of the persistent disk in MiB, 0 where none is mounted.
fn persistent_disk(vcap: &Vcap) -> u64 {
    let store = vcap.base().join("store");
    let device = |path: &std::path::Path| path.metadata().map(|meta| meta.dev()).ok();
    if device(&store).is_none() || device(&store) == device(vcap.base()) {
        return 0;
    }
    statvfs(&store).map_or(0, |fs| fs.blocks() * fs.fragment_size() / (1024 * 1024))
}

/// The owner of the scripts' logs: root, and vcap's group.
pub(crate) fn log_owner(owner: (Uid, Gid)) -> (Uid, Gid) {
    (Uid::from_raw(0), owner.1)
}

#[cfg(test)]
mod tests {
    use supervisor::Exit;

    use super::*;

    #[test]
    fn a_drain_script_answers_with_a_signed_integer() {
        let seconds = Duration::from_secs;
        let cases = [
            ("0", Drained::After(seconds(0)), true),
            (" 7\n", Drained::After(seconds(7)), true),
            ("+7", Drained::After(seconds(7)), true),
            ("-3\n", Drained::Again(seconds(3)), true),
            ("", Drained::After(seconds(0)), false),
            ("1.5", Drained::After(seconds(0)), false),
            ("1 2", Drained::After(seconds(0)), false),
            ("ten", Drained::After(seconds(0)), false),
        ];
        for (answer, expected, is_valid) in cases {
            for code in [0, 1] {
                let end = End { role: Role::Drain, result: Ok(Exit::Code(code)), captured: answer.into() };
                let (drained, complaint) = drained(&end);
                assert_eq!((drained, complaint.is_none()), (expected, is_valid), "{answer:?}");
            }
        }
        let killed = End { role: Role::Drain, result: Ok(Exit::Signal(9)), captured: "-5".into() };
        assert_eq!(drained(&killed).1.unwrap(), "killed by SIGKILL");
    }
}
