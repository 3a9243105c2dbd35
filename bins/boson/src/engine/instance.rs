//! One instance: its sandbox, and the commands and processes in it.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use handoff::hook_state::HookState;
use handoff::process_state::State as ProcessStateName;
use nix::sys::signal::Signal;
use problem::{IoContext, Problem, Result as Outcome, code};
use sandbox::{Command, Exit, Process, ProcessId, Stdio};
use workload::Program;

use super::deployment::{Group, Member};
use super::failure::{FailedStage, Failure};
use super::host::{Event, Host};
use super::log_excerpt::last_lines_with;
use super::report;
use super::sandbox_spec;
use super::state_files::StateFiles;
use crate::control::State;
use crate::state::InstanceDir;

/// Programs that run the jobs' lifecycle scripts of the same name.
const SCRIPT_PROGRAMS: [Program; 3] = [Program::PreStart, Program::PostStart, Program::PostDeploy];

/// An instance whose sandbox exists.
#[derive(Debug)]
pub(crate) struct Instance {
    name: String,
    dir: InstanceDir,
    sandbox: sandbox::Instance,
    environment: Vec<(String, String)>,
    state_files: StateFiles,
    processes: Mutex<Vec<Supervised>>,
}

/// A process under `run-process`.
#[derive(Debug, Clone)]
struct Supervised {
    job: String,
    process: String,
    /// The supervisor.
    handle: Arc<Process>,
}

impl Supervised {
    fn name(&self) -> String {
        process_name(&self.job, &self.process)
    }
}

/// What the status table calls a process.
fn process_name(job: &str, process: &str) -> String {
    format!("{job}/{process}")
}

impl Instance {
    /// Makes the sandbox and runs the stages that come before the processes.
    pub(crate) fn prepare(host: &Host, group: &Group, member: &Member) -> Result<Instance, Failure> {
        let dir = host.dir.instance(&member.name);
        dir.make()?;
        host.status.set_instance(&member.name, State::Stage("sandbox".to_owned()));
        let sandbox = host.network.create(sandbox_spec::specification(host, group, member, &dir)).map_err(|e| {
            Problem::internal(format!("cannot make the sandbox of {}", member.name))
                .code(code::SANDBOX_UNAVAILABLE)
                .because(e)
        })?;
        for path in sandbox_spec::properties_files(group) {
            sandbox
                .write(&path, group.properties.expose().as_bytes(), 0o600)
                .map_err(|e| Problem::internal(format!("cannot prepare {}", member.name)).because(e))?;
        }
        let instance = Instance {
            name: member.name.clone(),
            state_files: StateFiles::new(dir.vcap()),
            dir,
            sandbox,
            environment: sandbox_spec::environment(group, member),
            processes: Mutex::default(),
        };
        let prepare = group.pod.prepare.iter().map(|container| container.command.clone());
        for command in prepare.chain(group.pod.pre_start.command()) {
            host.status.set_instance(&member.name, State::Stage(command.program.name().to_owned()));
            instance.run_stage(host, &command)?;
        }
        host.status.set_instance(&member.name, State::Ready);
        Ok(instance)
    }

    /// `group/index`.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Runs one of boson's programs inside and waits until it has exited.
    pub(crate) fn run_stage(&self, host: &Host, command: &workload::Command) -> Result<(), Failure> {
        if host.interrupt.is_asked() {
            return Err(Failure::Interrupted);
        }
        let verb = command.program.name();
        let path = self.dir.log(verb);
        let process = Arc::new(self.run(&command.argv(), to_log(&path)?)?);
        let to_kill = Arc::clone(&process);
        let guard = host.interrupt.guard(move || to_kill.signal_group(Signal::SIGKILL));
        let exit = process.wait();
        drop(guard);
        if exit == Exit::Code(0) {
            return Ok(());
        }
        if host.interrupt.is_asked() {
            return Err(Failure::Interrupted);
        }
        let mut output = host.source_names.restore(&fs::read_to_string(&path).unwrap_or_default());
        if SCRIPT_PROGRAMS.contains(&command.program) {
            output.push_str(&self.script_output(verb));
        }
        Err(self.failed(verb, output, exit.code()))
    }

    /// The failure of a stage of this instance.
    pub(crate) fn failed(&self, verb: &str, output: String, code: u8) -> Failure {
        FailedStage { instance: Some(self.name.clone()), verb: verb.to_owned(), output, code }.into()
    }

    /// The last lines that lifecycle scripts of this name have logged. Read by a process inside, which may read every file.
    pub(crate) fn script_output(&self, script: &str) -> String {
        let path = self.dir.log("logs");
        let argv = ["boson", "logs", "--inside", &self.name];
        let Ok(process) = to_log(&path).and_then(|stdio| self.run(&argv, stdio)) else { return String::new() };
        process.wait();
        let all = fs::read_to_string(&path).unwrap_or_default();
        ["stdout", "stderr"].map(|stream| last_lines_with(&all, &format!("/{script}.{stream}.log] "))).concat()
    }

    /// Starts a command inside, with the environment of a pod's containers.
    pub(crate) fn run(&self, argv: &[&str], stdio: Stdio) -> Outcome<Process> {
        let command = Command {
            argv: argv.iter().map(|&arg| arg.to_owned()).collect(),
            env: self.environment.clone(),
            directory: "/".into(),
            stdio,
        };
        Ok(self.sandbox.run(command).map_err(|e| Problem::internal(format!("{}: {e}", self.name)))?)
    }

    /// Starts all processes, each under a supervisor of its own.
    pub(crate) fn start_processes(&self, host: &Arc<Host>, group: &Group) -> Result<(), Failure> {
        let processes = &group.pod.processes;
        if processes.is_empty() {
            return Ok(());
        }
        let names: Vec<String> = processes.iter().map(|p| process_name(&p.job, &p.process)).collect();
        host.status.set_processes(&self.name, &names);
        for (process, name) in processes.iter().zip(&names) {
            let handle = Arc::new(self.run(&process.container.command.argv(), to_log(&self.process_log(name))?)?);
            let supervised = Supervised { job: process.job.clone(), process: process.process.clone(), handle };
            self.supervised().push(supervised.clone());
            self.watch(host, supervised)?;
        }
        Ok(())
    }

    /// A thread that waits until a supervisor has exited, and reports it.
    fn watch(&self, host: &Arc<Host>, supervised: Supervised) -> Outcome<()> {
        let (host, instance) = (Arc::clone(host), self.name.clone());
        std::thread::Builder::new()
            .name(format!("{instance} {}", supervised.name()))
            .spawn(move || {
                let exit = supervised.handle.wait();
                let state = host.status.set_exited(&instance, &supervised.name(), exit.code());
                if state == State::Exited {
                    host.report(Event::Changed(report::exited(&instance, &supervised.name(), exit)));
                }
                host.report(Event::Exited);
            })
            .map_err(|e| Problem::internal("cannot start a thread").because(e))?;
        Ok(())
    }

    /// What its supervisor prints.
    pub(crate) fn process_log(&self, name: &str) -> PathBuf {
        self.dir.log(&name.replace('/', "."))
    }

    /// The processes (`job/process`) whose supervisors report this state.
    pub(crate) fn processes_in(&self, state: ProcessStateName) -> Vec<String> {
        let in_state = |supervised: &&Supervised| {
            let reported = self.state_files.process(&supervised.job, &supervised.process);
            reported.is_some_and(|reported| reported.state == state)
        };
        self.supervised().iter().filter(in_state).map(Supervised::name).collect()
    }

    /// The ids on the host of the processes that run, by `job/process`.
    pub(crate) fn pids(&self) -> Vec<(String, i32)> {
        let pid_on_host = |supervised: &Supervised| {
            let reported = self.state_files.process(&supervised.job, &supervised.process);
            let running = reported.filter(|reported| reported.state == ProcessStateName::Running)?;
            Some((supervised.name(), sandbox::pid_of(self.sandbox.init(), running.pid?)?))
        };
        self.supervised().iter().filter_map(pid_on_host).collect()
    }

    /// How the scripts of this name do that run beside the processes.
    pub(crate) fn script_states(&self, script: &str) -> Vec<HookState> {
        let jobs: BTreeSet<String> = self.supervised().iter().map(|supervised| supervised.job.clone()).collect();
        jobs.iter().filter_map(|job| self.state_files.script(job, script)).collect()
    }

    /// Asks every process to stop, the last one first.
    pub(crate) fn request_stop(&self, host: &Host) {
        for supervised in self.supervised().iter().rev() {
            let name = supervised.name();
            if matches!(host.status.state(&self.name, &name), Some(State::Running | State::Starting)) {
                host.status.set_process(&self.name, &name, State::Stopping);
                supervised.handle.signal(Signal::SIGTERM);
            }
        }
    }

    /// Kills everything in it, and waits until it has exited.
    pub(crate) fn kill(&self) {
        let init = ProcessId::of(self.sandbox.init());
        self.sandbox.kill();
        while init.is_some_and(ProcessId::is_alive) {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    fn supervised(&self) -> MutexGuard<'_, Vec<Supervised>> {
        self.processes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Standard streams of a command whose output is appended to a file.
fn to_log(path: &Path) -> Outcome<Stdio> {
    let file = File::options().create(true).append(true).mode(0o600).open(path).io("write", path)?;
    Stdio::to_file(file).io("write", path)
}
