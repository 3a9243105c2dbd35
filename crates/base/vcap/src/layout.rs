//! Where BOSH's things lie.

use std::path::{Path, PathBuf};

use problem::{IoContext, Problem, Result, code};

/// The `/var/vcap` of a pod or of a local instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vcap {
    base: PathBuf,
}

impl Vcap {
    /// Among the jobs, what holds BPM's command: `bpm/bin/bpm`, which is boson's own.
    pub const BPM: &str = "bpm";

    /// monit's command, boson's own: `/var/vcap/bosh/bin/monit`.
    pub const MONIT: &str = "monit";

    /// The `/var/vcap` below `root` (`/` in a pod).
    pub fn under(root: &Path) -> Self {
        Vcap { base: root.join("var/vcap") }
    }

    /// `/var/vcap` itself.
    pub fn base(&self) -> &Path {
        &self.base
    }

    /// Job sources of a release image: `/var/vcap/jobs-src`.
    pub fn jobs_src(&self) -> PathBuf {
        self.base.join("jobs-src")
    }

    /// The shared volume with the job sources of all releases: `/var/vcap/all-releases`.
    pub fn all_releases(&self) -> PathBuf {
        self.base.join("all-releases")
    }

    /// Rendered jobs: `/var/vcap/jobs`.
    pub fn jobs(&self) -> PathBuf {
        self.base.join("jobs")
    }

    /// One rendered job: `/var/vcap/jobs/<job>`.
    pub fn job(&self, job: &str) -> PathBuf {
        self.jobs().join(job)
    }

    /// Compiled packages: `/var/vcap/packages`.
    pub fn packages(&self) -> PathBuf {
        self.base.join("packages")
    }

    /// Logs of a job: `/var/vcap/sys/log/<job>`.
    pub fn log(&self, job: &str) -> PathBuf {
        self.base.join("sys/log").join(job)
    }

    /// Run directory of a job: `/var/vcap/sys/run/<job>`.
    pub fn run(&self, job: &str) -> PathBuf {
        self.base.join("sys/run").join(job)
    }

    /// Pid files of a job's BPM processes: `/var/vcap/sys/run/bpm/<job>`.
    pub fn bpm_run(&self, job: &str) -> PathBuf {
        self.base.join("sys/run/bpm").join(job)
    }

    /// The state documents of boson's own programs about a job: `/var/vcap/sys/run/boson/<job>`.
    pub fn boson_run(&self, job: &str) -> PathBuf {
        self.base.join("sys/run/boson").join(job)
    }

    /// The socket of a process' supervisor: `/var/vcap/sys/run/boson/<job>/<process>.sock`.
    pub fn control_socket(&self, job: &str, process: &str) -> PathBuf {
        self.boson_run(job).join(format!("{process}.sock"))
    }

    /// The state of a process: `/var/vcap/sys/run/boson/<job>/<process>.state`.
    pub fn process_state(&self, job: &str, process: &str) -> PathBuf {
        self.boson_run(job).join(format!("{process}.state"))
    }

    /// The state of a job's lifecycle script: `/var/vcap/sys/run/boson/<job>/<script>.hook`.
    pub fn hook_state(&self, job: &str, script: &str) -> PathBuf {
        self.boson_run(job).join(format!("{script}.hook"))
    }

    /// Ephemeral data of a job: `/var/vcap/data/<job>`.
    pub fn data(&self, job: &str) -> PathBuf {
        self.base.join("data").join(job)
    }

    /// Persistent data of a job: `/var/vcap/store/<job>`.
    pub fn store(&self, job: &str) -> PathBuf {
        self.base.join("store").join(job)
    }

    /// Where boson's executables are installed for the containers of a pod: `/var/vcap/all-releases/.boson/bin`.
    pub fn installed(&self) -> PathBuf {
        self.all_releases().join(".boson/bin")
    }

    /// The names of the rendered jobs, sorted. A link whose job went away and hidden entries are none, nor is
    /// [`BPM`](Self::BPM).
    pub fn rendered_jobs(&self) -> Result<Vec<String>> {
        let jobs = self.jobs();
        let entries = match std::fs::read_dir(&jobs) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                let problem =
                    Problem::input(format!("cannot read {}", jobs.display())).code(code::JOB_NOT_RENDERED).because(e);
                return Err(problem.hint("render-jobs puts the rendered jobs there").into());
            }
            other => other.io("read", &jobs)?,
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.io("read", &jobs)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if !name.starts_with('.') && name != Self::BPM && entry.path().is_dir() {
                names.push(name);
            }
        }
        names.sort_unstable();
        Ok(names)
    }
}
