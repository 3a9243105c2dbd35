//! Whether the processes whose logs these are still run: from the states that `run-process` leaves.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use handoff::process_state::{ERRAND, ProcessState, State};
use hooks::services;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use vcap::Vcap;

/// More than any state or `bpm.yml` has.
const LARGEST: u64 = 1024 * 1024;

/// The processes of a pod.
#[derive(Debug)]
pub(crate) struct Processes {
    vcap: Vcap,
}

impl Processes {
    pub(crate) fn of(vcap: Vcap) -> Processes {
        Processes { vcap }
    }

    /// Whether one of those runs that were ever started here.
    pub(crate) fn any_runs(&self) -> bool {
        let states = entries(&self.states()).into_iter().flat_map(|job| entries(&job));
        states.filter(|path| is_state(path)).any(|state| !has_ended(&state))
    }

    /// Whether all that the rendered jobs have, and there are some, have been started and have ended.
    pub(crate) fn all_ended(&self) -> bool {
        let mut all = self.expected().into_iter().peekable();
        all.peek().is_some() && all.all(|(job, process)| has_ended(&self.state(&job, &process)))
    }

    /// A job runs what its `monit` starts, or its `bpm.yml`; one that runs nothing is an errand if it has `bin/run`.
    fn expected(&self) -> Vec<(String, String)> {
        let mut all = Vec::new();
        for job in self.vcap.rendered_jobs().unwrap_or_default() {
            match services::of_job(&self.vcap, &job) {
                Ok(services) if !services.is_empty() => {
                    all.extend(services.into_iter().map(|service| (service.job, service.process)));
                }
                Ok(_) if self.vcap.job(&job).join("bin/run").exists() => all.push((job, ERRAND.to_owned())),
                Ok(_) => {}
                // Its run-process fails and reports it, whatever its process is called.
                Err(_) => all.extend(self.known(&job).into_iter().map(|process| (job.clone(), process))),
            }
        }
        all
    }

    /// The processes of the job that have a state, or the one that is called as the job is.
    fn known(&self, job: &str) -> Vec<String> {
        let states = entries(&self.states().join(job)).into_iter().filter(|path| is_state(path));
        let names: Vec<String> =
            states.filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned())).collect();
        if names.is_empty() { vec![job.to_owned()] } else { names }
    }

    fn states(&self) -> PathBuf {
        self.vcap.base().join("sys/run/boson")
    }

    fn state(&self, job: &str, process: &str) -> PathBuf {
        self.vcap.process_state(job, process)
    }
}

/// Whether the state is final, or its writer no longer runs.
fn has_ended(state: &Path) -> bool {
    let decoded = read(state).ok().and_then(|text| ProcessState::decode(&text, "").ok());
    let is_over = decoded.as_ref().is_some_and(|state| matches!(state.state, State::Exited | State::Crashed));
    is_over || is_released(&state.with_extension("lock"))
}

/// Whether the lock that `run-process` holds as long as it lives is there and free. If that is unknown, the state counts.
fn is_released(lock: &Path) -> bool {
    let mut wanted = libc::flock {
        l_type: libc::F_WRLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    };
    let Ok(file) = open(lock) else { return false };
    let asked: Result<_, Errno> = fcntl(&file, FcntlArg::F_OFD_GETLK(&mut wanted));
    asked.is_ok() && wanted.l_type == libc::F_UNLCK as libc::c_short
}

fn is_state(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "state")
}

fn open(path: &Path) -> std::io::Result<File> {
    File::options().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)
}

fn read(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    open(path)?.take(LARGEST).read_to_string(&mut text)?;
    Ok(text)
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use nix::fcntl::FcntlArg;
    use testkit::files::write;

    use super::*;

    const RUNS: &str = "{\"version\":1,\"state\":\"running\",\"pid\":7,\"since\":5}\n";
    const ENDED: &str = "{\"version\":1,\"state\":\"exited\",\"pid\":7,\"exit_code\":0,\"since\":5}\n";
    const CRASHED: &str = "{\"version\":1,\"state\":\"crashed\",\"exit_code\":127,\"since\":5}\n";

    fn case() -> (tempfile::TempDir, Processes) {
        let root = tempfile::tempdir().unwrap();
        let processes = Processes::of(Vcap::under(root.path()));
        (root, processes)
    }

    fn path(root: &tempfile::TempDir, path: &str) -> PathBuf {
        root.path().join("var/vcap").join(path)
    }

    #[test]
    fn all_processes_of_all_jobs_have_to_end() {
        let (root, processes) = case();
        assert!(!processes.all_ended() && !processes.any_runs());
        write(
            &path(&root, "jobs/web/config/bpm.yml"),
            "processes: [{name: web, executable: a}, {name: w2, executable: b}]",
        );
        write(&path(&root, "jobs/smoke/bin/run"), "");
        write(&path(&root, "jobs/hooks/bin/pre-start"), "");
        write(&path(&root, "jobs/broken/config/bpm.yml"), "processes: {");
        for (job, process, state) in
            [("web", "web", ENDED), ("web", "w2", CRASHED), ("smoke", "run", ENDED), ("broken", "side", CRASHED)]
        {
            assert!(!processes.all_ended(), "{job} {process}");
            let file = path(&root, &format!("sys/run/boson/{job}/{process}.state"));
            write(&file, RUNS);
            assert!(processes.any_runs() && !processes.all_ended());
            write(&file, state);
            assert!(!processes.any_runs());
        }
        assert!(processes.all_ended());
    }

    #[test]
    fn the_services_of_monit_are_waited_for() {
        let (root, processes) = case();
        write(&path(&root, "jobs/web/config/bpm.yml"), "processes: [{name: unused, executable: a}]");
        let monit = "check process agent with pidfile /a.pid\n  start program \"/bin/agent\"\n  group vcap\n";
        write(&path(&root, "jobs/web/monit"), monit);
        assert!(!processes.all_ended());
        write(&path(&root, "sys/run/boson/web/agent.state"), ENDED);
        assert!(processes.all_ended());
    }

    #[test]
    fn the_state_of_a_killed_supervisor_counts_no_more() {
        let (root, processes) = case();
        write(&path(&root, "sys/run/boson/web/web.state"), RUNS);
        assert!(processes.any_runs());
        let lock = path(&root, "sys/run/boson/web/web.lock");
        let held = File::create(&lock).unwrap();
        let whole = libc::flock {
            l_type: libc::F_WRLCK as libc::c_short,
            l_whence: libc::SEEK_SET as libc::c_short,
            l_start: 0,
            l_len: 0,
            l_pid: 0,
        };
        fcntl(&held, FcntlArg::F_OFD_SETLK(&whole)).unwrap();
        assert!(processes.any_runs());
        drop(held);
        assert!(!processes.any_runs());
    }
}
