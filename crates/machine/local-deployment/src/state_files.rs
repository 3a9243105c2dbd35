//! What boson's own programs inside an instance report about its jobs, as files below its `/var/vcap`.

use std::io::Read;
use std::path::{Path, PathBuf};

use handoff::hook_state::HookState;
use handoff::process_state::ProcessState;

/// More bytes than any state file has.
const LIMIT: u64 = 64 * 1024;

/// The state files of one instance.
#[derive(Debug)]
pub(crate) struct StateFiles {
    /// The instance's `/var/vcap` on the host.
    vcap: PathBuf,
}

impl StateFiles {
    pub(crate) fn new(vcap: PathBuf) -> StateFiles {
        StateFiles { vcap }
    }

    /// The state of a process; nothing before its supervisor has written it.
    pub(crate) fn process(&self, job: &str, process: &str) -> Option<ProcessState> {
        let (text, path) = self.read(job, &format!("{process}.state"))?;
        ProcessState::decode(&text, &path).ok()
    }

    /// Whether a process counts as failing although it runs: its supervisor says why in a file.
    pub(crate) fn is_failing(&self, job: &str, process: &str) -> bool {
        self.read(job, &format!("{process}.failing")).is_some()
    }

    /// How often a rule of monit has restarted a process.
    pub(crate) fn restarts_by_rules(&self, job: &str, process: &str) -> u32 {
        let count = self.read(job, &format!("{process}.rule-restarts"));
        count.and_then(|(text, _)| text.trim().parse().ok()).unwrap_or(0)
    }

    /// The state of a job's lifecycle script; nothing before it was started.
    pub(crate) fn script(&self, job: &str, script: &str) -> Option<HookState> {
        let (text, path) = self.read(job, &format!("{script}.hook"))?;
        HookState::decode(&text, &path).ok()
    }

    /// Text and path of a file. What the instance's own processes put there is not followed.
    fn read(&self, job: &str, file: &str) -> Option<(String, String)> {
        let path = Path::new("sys/run/boson").join(job).join(file);
        let file = sandbox::open_beneath(&self.vcap, &path).ok()?;
        let mut text = String::new();
        file.take(LIMIT).read_to_string(&mut text).ok()?;
        Some((text, path.display().to_string()))
    }
}
