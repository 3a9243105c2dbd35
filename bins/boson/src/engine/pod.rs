//! One instance: its sandbox, its stages in order, its processes.

use std::collections::BTreeSet;
use std::fs;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use handoff::hook_state::{HookState, State as Script};
use handoff::process_state::{ProcessState, State as Doing};
use nix::sys::signal::Signal;
use problem::{Class, IoContext, Problem, Result as Outcome};
use sandbox::{Bind, Command, Exit, Instance, InstanceSpec, Process, ProcessId, Stdio};
use vcap::Vcap;

use super::deployment::{Group, Member};
use super::failure::{Failure, Stage};
use super::stop::GRACE;
use super::{Engine, Event};
use crate::control::State;
use crate::state::InstanceDir;
use crate::verbs;

/// BOSH's agent runs a job's scripts with this path; boson's own verbs come first.
pub(super) const PATH: &str = "/run/boson/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// What the user's environment says of templates, and a sandbox would not know.
const OF_TEMPLATES: [&str; 2] = ["TEMPLATE_ISOLATION", "TEMPLATE_TIMEOUT"];
/// Verbs that run the jobs' scripts of that name.
const SCRIPTS: [&str; 3] = ["pre-start", "post-start", "post-deploy"];
/// So often a post-start script may fail: it is run again after a second, and then after two.
const POST_START_ATTEMPTS: u32 = 3;
/// How much of a log is shown when something fails.
const LAST_LINES: usize = 15;
/// More than any state file has.
const STATE_FILE_LIMIT: u64 = 64 * 1024;

/// A running instance.
#[derive(Debug)]
pub(super) struct Pod {
    name: String,
    dir: InstanceDir,
    sandbox: Instance,
    environment: Vec<(String, String)>,
    processes: Mutex<Vec<Running>>,
}

/// A process that `run-process` runs.
#[derive(Debug, Clone)]
struct Running {
    job: String,
    process: String,
    handle: Arc<Process>,
}

impl Running {
    fn name(&self) -> String {
        format!("{}/{}", self.job, self.process)
    }
}

impl Pod {
    /// Makes the sandbox and runs the stages that come before the processes.
    pub(super) fn prepare(engine: &Engine, group: &Group, member: &Member) -> Result<Pod, Failure> {
        let dir = engine.dir.instance(&member.name);
        dir.make()?;
        engine.board.instance(&member.name, State::Stage("sandbox".to_owned()));
        let sandbox = engine
            .network
            .create(specification(engine, group, member, &dir))
            .map_err(|e| Problem::internal(format!("cannot make the sandbox of {}", member.name)).because(e))?;
        let properties = format!("/var/run/secrets/resolved-properties/{}/properties.yaml", group.name());
        sandbox
            .write(Path::new(&properties), group.properties.expose().as_bytes(), 0o600)
            .map_err(|e| Problem::internal(format!("cannot prepare {}", member.name)).because(e))?;
        let environment = environment(group, member, properties);
        let pod = Pod { name: member.name.clone(), dir, sandbox, environment, processes: Mutex::default() };
        for verb in ["render-jobs", "create-dirs", "pre-start"] {
            engine.board.instance(&member.name, State::Stage(verb.to_owned()));
            pod.stage(engine, verb, &[])?;
        }
        engine.board.instance(&member.name, State::Ready);
        Ok(pod)
    }

    /// Runs a verb inside to its end.
    pub(super) fn stage(&self, engine: &Engine, verb: &str, arguments: &[&str]) -> Result<(), Failure> {
        if engine.interrupt.is_asked() {
            return Err(Failure::Interrupted);
        }
        let path = self.dir.log(verb);
        let process =
            Arc::new(self.run(&[&[verb], arguments].concat(), Stdio::to_file(create(&path)?).io("write", &path)?)?);
        let to_end = Arc::clone(&process);
        let guard = engine.interrupt.guard(move || to_end.signal_group(Signal::SIGKILL));
        let exit = process.wait();
        drop(guard);
        if exit == Exit::Code(0) {
            return Ok(());
        }
        if engine.interrupt.is_asked() {
            return Err(Failure::Interrupted);
        }
        let mut said = engine.sources.name_in(&fs::read_to_string(&path).unwrap_or_default());
        if SCRIPTS.contains(&verb) {
            said.push_str(&self.logged(verb));
        }
        Err(Stage { instance: Some(self.name.clone()), verb: verb.to_owned(), said, code: exit.code() }.into())
    }

    /// The last lines that scripts of this name have logged; read inside, where every file can be.
    fn logged(&self, script: &str) -> String {
        let path = self.dir.log("logs");
        let argv = ["boson", "logs", "--inside", &self.name];
        let stdio = create(&path).and_then(|file| Stdio::to_file(file).io("write", &path));
        let Ok(process) = stdio.and_then(|stdio| self.run(&argv, stdio)) else { return String::new() };
        process.wait();
        let all = fs::read_to_string(&path).unwrap_or_default();
        ["stdout", "stderr"].map(|stream| last_of(&all, &format!("/{script}.{stream}.log] "))).concat()
    }

    /// Starts a command inside, with a pod's environment.
    pub(super) fn run(&self, argv: &[&str], stdio: Stdio) -> Outcome<Process> {
        let command = Command {
            argv: argv.iter().map(|&arg| arg.to_owned()).collect(),
            env: self.environment.clone(),
            directory: "/".into(),
            stdio,
        };
        Ok(self.sandbox.run(command).map_err(|e| Problem::internal(format!("{}: {e}", self.name)))?)
    }

    /// Starts all processes, each under a supervisor of its own.
    pub(super) fn start_processes(self: &Arc<Pod>, engine: &Arc<Engine>, group: &Group) -> Result<(), Failure> {
        let wanted = group.processes();
        if wanted.is_empty() {
            return Ok(());
        }
        let names: Vec<String> = wanted.iter().map(|(job, process)| format!("{job}/{process}")).collect();
        engine.board.processes(&self.name, &names);
        for (job, process) in wanted {
            let path = self.dir.log(&format!("{job}.{process}"));
            let stdio = Stdio::to_file(create(&path)?).io("write", &path)?;
            let handle = Arc::new(self.run(&["run-process", "--job", &job, "--process", &process], stdio)?);
            let running = Running { job, process, handle };
            self.processes().push(running.clone());
            self.watch(engine, running)?;
        }
        Ok(())
    }

    /// A thread that waits for the end of a process and tells of it.
    fn watch(self: &Arc<Pod>, engine: &Arc<Engine>, running: Running) -> Outcome<()> {
        let (engine, instance) = (Arc::clone(engine), self.name.clone());
        std::thread::Builder::new()
            .name(format!("{instance} {}", running.name()))
            .spawn(move || {
                let exit = running.handle.wait();
                let state = engine.board.ended(&instance, &running.name(), exit.code());
                if state == State::Exited {
                    let how = describe(exit);
                    engine.tell(Event::Changed(format!("{instance}: {} {how}", running.name())));
                }
                engine.tell(Event::Ended);
            })
            .map_err(|e| Problem::internal("cannot start a thread").because(e))?;
        Ok(())
    }

    /// What the processes tell about themselves, brought to the board; the names of those that do not run yet.
    pub(super) fn not_yet_running(&self, engine: &Engine) -> Vec<String> {
        let mut names = Vec::new();
        for running in self.processes().iter() {
            let name = running.name();
            if engine.board.state(&self.name, &name) == Some(State::Starting) {
                if self.told(running).is_some_and(|told| told.state == Doing::Running) {
                    engine.board.process(&self.name, &name, State::Running);
                } else {
                    names.push(format!("{} {name}", self.name));
                }
            }
        }
        names
    }

    /// A problem for every process that has ended though nobody asked for it.
    pub(super) fn ended_early(&self, engine: &Engine) -> Vec<Problem> {
        let mut problems = Vec::new();
        for row in engine.board.rows().into_iter().filter(|row| row.instance == self.name && row.state == State::Exited)
        {
            let Some(name) = row.process else { continue };
            let exit = row.exit.unwrap_or_default();
            let mut problem =
                Problem::internal(format!("{}: {name} ended during the start, exit status {exit}", self.name));
            let last = last_lines(&self.dir.log(&name.replace('/', ".")));
            if !last.is_empty() {
                problem = problem.because(format!("the end of its output:\n{last}"));
            }
            problems.push(problem);
        }
        problems
    }

    /// The process ids on the host, by `job/process`.
    pub(super) fn pids(&self) -> Vec<(String, i32)> {
        let pid_on_host = |running: &Running| {
            let told = self.told(running).filter(|told| told.state == Doing::Running)?;
            Some((running.name(), sandbox::pid_of(self.sandbox.init(), told.pid?)?))
        };
        self.processes().iter().filter_map(pid_on_host).collect()
    }

    /// Asks every process to stop, the last one first.
    pub(super) fn ask_to_stop(&self, engine: &Engine) {
        for running in self.processes().iter().rev() {
            if matches!(engine.board.state(&self.name, &running.name()), Some(State::Running | State::Starting)) {
                engine.board.process(&self.name, &running.name(), State::Stopping);
                running.handle.signal(Signal::SIGTERM);
            }
        }
    }

    /// Ends everything in it, and waits until it has ended.
    pub(super) fn end(&self) {
        let init = ProcessId::of(self.sandbox.init());
        self.sandbox.kill();
        while init.is_some_and(ProcessId::is_alive) {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    /// The processes that were stopped on request and not started again, as `job/process`.
    pub(super) fn stopped(&self) -> Vec<String> {
        let stopped = |running: &&Running| self.told(running).is_some_and(|told| told.state == Doing::Stopped);
        self.processes().iter().filter(stopped).map(Running::name).collect()
    }

    /// Whether the post-start scripts that run beside the processes have all succeeded; a failure if one has failed and
    /// was given the time to find its process at work.
    pub(super) fn post_started(&self) -> Result<bool, Failure> {
        let jobs: BTreeSet<String> = self.processes().iter().map(|running| running.job.clone()).collect();
        let states: Vec<_> = jobs.iter().filter_map(|job| self.hook(job, "post-start")).collect();
        let failed = |told: &&HookState| told.state == Script::Failed && told.attempt >= POST_START_ATTEMPTS;
        let Some(code) = states.iter().find(failed).map(|told| told.exit_code) else {
            return Ok(states.iter().all(|told| told.state == Script::Succeeded));
        };
        let said = self.logged("post-start");
        let code = code.unwrap_or(Class::Internal.exit_code());
        Err(Stage { instance: Some(self.name.clone()), verb: "post-start".to_owned(), said, code }.into())
    }

    /// What the supervisor of a process wrote.
    fn told(&self, running: &Running) -> Option<ProcessState> {
        let (text, path) = self.read(&running.job, &format!("{}.state", running.process))?;
        ProcessState::decode(&text, &path).ok()
    }

    /// What whoever runs a job's script wrote.
    fn hook(&self, job: &str, script: &str) -> Option<HookState> {
        let (text, path) = self.read(job, &format!("{script}.hook"))?;
        HookState::decode(&text, &path).ok()
    }

    /// What boson's own programs inside wrote about a job, and its path.
    fn read(&self, job: &str, file: &str) -> Option<(String, String)> {
        let path = Path::new("sys/run/boson").join(job).join(file);
        let file = sandbox::open_beneath(&self.dir.vcap(), &path).ok()?;
        let mut text = String::new();
        file.take(STATE_FILE_LIMIT).read_to_string(&mut text).ok()?;
        Some((text, path.display().to_string()))
    }

    fn processes(&self) -> MutexGuard<'_, Vec<Running>> {
        self.processes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn specification(engine: &Engine, group: &Group, member: &Member, dir: &InstanceDir) -> InstanceSpec {
    let vcap = Vcap::under(Path::new("/"));
    let mut binds = vec![Bind { source: engine.dir.all_releases(), target: vcap.all_releases(), read_only: true }];
    binds.extend(engine.packages.of(group).into_iter().map(|(name, source)| Bind {
        source,
        target: vcap.packages().join(name),
        read_only: true,
    }));
    let host = member.instance.address.split('.').next().unwrap_or_default();
    InstanceSpec {
        name: member.name.clone(),
        // The kernel's own limit.
        hostname: host.chars().take(64).collect(),
        address: Some(member.ip),
        mount_point: dir.root(),
        vcap: dir.vcap(),
        hosts: Some(engine.dir.hosts()),
        memory: vec![vcap.jobs()],
        binds,
        executable_names: verbs::pod_names(),
    }
}

/// What a pod's containers have in their environment.
fn environment(group: &Group, member: &Member, properties: String) -> Vec<(String, String)> {
    let of_templates = OF_TEMPLATES.into_iter().filter_map(|name| Some((name.to_owned(), std::env::var(name).ok()?)));
    let of_pod = [
        ("PATH", PATH.to_owned()),
        ("INSTANCE_GROUP_NAME", group.name().to_owned()),
        ("AZ_INDEX", member.instance.az_index.to_string()),
        ("REPLICAS", group.info().properties.quarks.replicas.to_string()),
        ("POD_ORDINAL", member.instance.ordinal.to_string()),
        ("POD_IP", member.ip.to_string()),
        ("BOSH_MANIFEST_PATH", properties),
        ("BOSON_GRACE", format!("{}s", GRACE.as_secs())),
    ]
    .map(|(name, value)| (name.to_owned(), value));
    of_pod.into_iter().chain(of_templates).collect()
}

fn create(path: &Path) -> Outcome<File> {
    File::options().create(true).append(true).mode(0o600).open(path).io("write", path)
}

fn describe(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("exited with status {code}"),
        Exit::Signal(signal) => format!("was killed by signal {signal}"),
        Exit::Lost => "ended with its sandbox".to_owned(),
    }
}

/// The end of a file; nothing if it cannot be read.
fn last_lines(path: &Path) -> String {
    let flags = nix::libc::O_NOFOLLOW | nix::libc::O_NONBLOCK;
    let Ok(mut file) = File::options().read(true).custom_flags(flags).open(path) else { return String::new() };
    let mut bytes = Vec::new();
    if file.read_to_end(&mut bytes).is_err() {
        return String::new();
    }
    last_of(&String::from_utf8_lossy(&bytes), "")
}

/// The last of the lines that contain a text.
fn last_of(all: &str, text: &str) -> String {
    let lines: Vec<&str> = all.lines().filter(|line| line.contains(text)).collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].iter().map(|line| format!("{line}\n")).collect()
}
