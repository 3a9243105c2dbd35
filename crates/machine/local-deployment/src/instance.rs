//! One instance: its sandbox, and the commands and processes in it.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use handoff::hook_state::HookState;
use handoff::process_state::SKIP_DRAIN;
use nix::sys::signal::Signal;
use problem::{IoContext, Problem, Result as Outcome, code};
use sandbox::{Command, Exit, Process, ProcessId, Stdio};
use workload::{Program, Scripts};

use crate::deployment::{Deployment, Group, Member};
use crate::dns_health::DnsHealth;
use crate::drain_reports::DrainReports;
use crate::failure::{FailedStage, Failure};
use crate::host::Host;
use crate::log_excerpt::{last_distinct_lines_with, without_echo};
use crate::parallel::for_each;
use crate::state_files::StateFiles;
use crate::supervised::{StopLimit, Supervised, View, now};
use crate::time_limits::STOP_LIMIT;
use crate::{report, sandbox_spec};
use local_state::InstanceDir;
use local_state::control::State;

/// Programs that run the jobs' lifecycle scripts of the same name.
const SCRIPT_PROGRAMS: [Program; 3] = [Program::PreStart, Program::PostStart, Program::PostDeploy];

/// How often processes that stop are polled.
const INTERVAL: Duration = Duration::from_millis(20);

/// An instance whose sandbox exists.
#[derive(Debug)]
pub(crate) struct Instance {
    /// The deployment that it was made for.
    pub(crate) deployment: Arc<Deployment>,
    pub(crate) member: Member,
    dir: InstanceDir,
    sandbox: sandbox::Instance,
    /// The sandbox's first process.
    init: Option<ProcessId>,
    environment: Vec<(String, String)>,
    state_files: StateFiles,
    pub(crate) dns_health: DnsHealth,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// What it does where no process tells.
    stage: State,
    since: u64,
    /// Whether everything that its start comprises has succeeded.
    complete: bool,
    /// Whether an errand runs in it.
    occupied: bool,
    supervised: Vec<Arc<Supervised>>,
}

impl Instance {
    /// Makes the sandbox.
    pub(crate) fn create(host: &Host, deployment: &Arc<Deployment>, member: &Member) -> Result<Instance, Failure> {
        let group = deployment.group_of(member);
        let dir = host.dir.instance(&member.name);
        dir.make()?;
        let disk = if group.has_disk() { Some(host.dir.attach_disk(&member.name)?) } else { None };
        let spec = sandbox_spec::specification(host, deployment, group, member, &dir, disk);
        let sandbox = host.network().create(spec).map_err(|e| {
            Problem::internal(format!("cannot make the sandbox of {}", member.name))
                .code(code::SANDBOX_UNAVAILABLE)
                .because(e)
        })?;
        for path in sandbox_spec::properties_files(group) {
            sandbox
                .write(&path, group.properties.expose().as_bytes(), 0o600)
                .map_err(|e| Problem::internal(format!("cannot prepare {}", member.name)).because(e))?;
        }
        let stage = State::Stage("sandbox".to_owned());
        Ok(Instance {
            deployment: Arc::clone(deployment),
            member: member.clone(),
            state_files: StateFiles::new(dir.vcap()),
            dir,
            init: ProcessId::of(sandbox.init()),
            sandbox,
            environment: sandbox_spec::environment(group, member),
            dns_health: DnsHealth::default(),
            inner: Mutex::new(Inner { stage, since: now(), complete: false, occupied: false, supervised: Vec::new() }),
        })
    }

    /// Runs the stages that come before the processes.
    pub(crate) fn prepare(&self, host: &Host) -> Result<(), Failure> {
        let pod = &self.group().pod;
        for container in &pod.prepare {
            let command = &container.command;
            self.stage_of_start(command.program, || self.run_stage(host, command, false))?;
        }
        // Serves /dev/log until the sandbox ends; in a pod, tail-logs does.
        self.run_logged(&["boson", "logs", "--serve-syslog"], "syslog")?;
        self.pre_start(host)
    }

    /// Runs the pre-start scripts of all jobs.
    pub(crate) fn pre_start(&self, host: &Host) -> Result<(), Failure> {
        let scripts = &self.group().pod.pre_start;
        if let Some(command) = scripts.command() {
            self.stage_of_start(command.program, || self.run_scripts(host, scripts))?;
        }
        self.set_stage(State::Ready);
        Ok(())
    }

    fn stage_of_start(&self, program: Program, run: impl Fn() -> Result<(), Failure>) -> Result<(), Failure> {
        self.set_stage(State::Stage(program.name().to_owned()));
        let result = run();
        if result.is_err() {
            self.set_stage(State::Failed);
        }
        result
    }

    /// Changes the names of the deployment in its `/etc/hosts`. What scripts have added stays.
    pub(crate) fn update_hosts(&self, text: &str) -> Outcome<()> {
        let updated = self.sandbox.update_hosts(text);
        Ok(updated.map_err(|e| Problem::internal(format!("{}: cannot update /etc/hosts", self.name())).because(e))?)
    }

    /// `group/index`.
    pub(crate) fn name(&self) -> &str {
        &self.member.name
    }

    /// Its group.
    pub(crate) fn group(&self) -> &Group {
        self.deployment.group_of(&self.member)
    }

    /// What it does where no process tells, and since when.
    pub(crate) fn stage(&self) -> (State, u64) {
        let inner = self.lock();
        (inner.stage.clone(), inner.since)
    }

    pub(crate) fn set_stage(&self, stage: State) {
        let mut inner = self.lock();
        inner.stage = stage;
        inner.since = now();
    }

    /// Whether everything that its start comprises has succeeded.
    pub(crate) fn is_complete(&self) -> bool {
        self.lock().complete
    }

    pub(crate) fn set_complete(&self, complete: bool) {
        self.lock().complete = complete;
    }

    /// Reserves it for an errand; returns whether no other errand runs in it.
    pub(crate) fn occupy(&self) -> bool {
        !std::mem::replace(&mut self.lock().occupied, true)
    }

    /// The errand has exited.
    pub(crate) fn release(&self) {
        self.lock().occupied = false;
    }

    /// Whether an errand runs in it.
    pub(crate) fn is_occupied(&self) -> bool {
        self.lock().occupied
    }

    /// Runs lifecycle scripts of all jobs, those of privileged jobs with their privileges, and waits until they have exited.
    pub(crate) fn run_scripts(&self, host: &Host, scripts: &Scripts) -> Result<(), Failure> {
        if !self.is_privileged() {
            return scripts.command().map_or(Ok(()), |command| self.run_stage(host, &command, false));
        }
        let command =
            |privileged| Some((scripts.command_for(|job| self.has_privileged(job) == privileged)?, privileged));
        let commands: Vec<_> = [true, false].into_iter().filter_map(command).collect();
        // As in BOSH all at the same time.
        for_each(&commands, commands.len(), |(command, privileged)| self.run_stage(host, command, *privileged))
    }

    /// Whether any of its jobs is privileged.
    fn is_privileged(&self) -> bool {
        !self.deployment.privileged.of(&self.member.group).is_empty()
    }

    fn has_privileged(&self, job: &str) -> bool {
        self.deployment.privileged.contains(&self.member.group, job)
    }

    /// Runs one of boson's programs inside and waits until it has exited.
    fn run_stage(&self, host: &Host, command: &workload::Command, privileged: bool) -> Result<(), Failure> {
        if host.interrupt.is_asked() {
            return Err(Failure::Interrupted);
        }
        let verb = command.program.name();
        let path = self.dir.log(verb);
        let process = Arc::new(self.start(&command.argv(), None, privileged, to_log(&path)?)?);
        let to_kill = Arc::clone(&process);
        let guard = host.interrupt.guard(move || to_kill.signal_group(Signal::SIGKILL));
        let exit = process.wait();
        drop(guard);
        self.report_limits(host);
        if exit == Exit::Code(0) {
            return Ok(());
        }
        if host.interrupt.is_asked() {
            return Err(Failure::Interrupted);
        }
        let printed = fs::read_to_string(&path).unwrap_or_default();
        let mut output = self.deployment.source_names.restore(&printed);
        if SCRIPT_PROGRAMS.contains(&command.program) {
            let logged = self.script_output(verb);
            if !logged.is_empty() {
                output = without_echo(&output, self.group().pod.jobs.iter().map(|job| job.name.as_str()));
            }
            output.push_str(&logged);
        }
        Err(self.failed(verb, output, exit.code()))
    }

    /// Reports what the sandbox warns of: limits that scripts and processes in it wanted and did not get since this was called last,
    /// settings of the machine that they wrote.
    pub(crate) fn report_limits(&self, host: &Host) {
        for warning in self.sandbox.take_warnings() {
            host.progress.line(&report::warned(self.name(), &warning));
        }
    }

    /// The failure of a stage of this instance.
    pub(crate) fn failed(&self, verb: &str, output: String, code: u8) -> Failure {
        FailedStage { instance: Some(self.name().to_owned()), verb: verb.to_owned(), output, code }.into()
    }

    /// The last lines that lifecycle scripts of this name have logged. Read by a process inside, which may read every file.
    pub(crate) fn script_output(&self, script: &str) -> String {
        let path = self.dir.log("logs");
        let argv = ["boson", "logs", "--inside", self.name()];
        let Ok(process) = to_log(&path).and_then(|stdio| self.run(&argv, stdio)) else { return String::new() };
        process.wait();
        let all = fs::read_to_string(&path).unwrap_or_default();
        ["stdout", "stderr"].map(|stream| last_distinct_lines_with(&all, &format!("/{script}.{stream}.log] "))).concat()
    }

    /// Starts a command inside, with the environment of a pod's containers.
    pub(crate) fn run(&self, argv: &[&str], stdio: Stdio) -> Outcome<Process> {
        self.start(argv, None, false, stdio)
    }

    /// As [`Self::run`], with the privileges of a job.
    pub(crate) fn run_for(&self, job: &str, argv: &[&str], stdio: Stdio) -> Outcome<Process> {
        self.start(argv, None, self.has_privileged(job), stdio)
    }

    /// As [`Self::run`], for an operator: with the privileges of the instance, and one more environment variable.
    pub(crate) fn exec(&self, argv: &[&str], variable: Option<(String, String)>, stdio: Stdio) -> Outcome<Process> {
        self.start(argv, variable, self.is_privileged(), stdio)
    }

    fn start(
        &self,
        argv: &[&str],
        variable: Option<(String, String)>,
        privileged: bool,
        stdio: Stdio,
    ) -> Outcome<Process> {
        let command = Command {
            argv: argv.iter().map(|&arg| arg.to_owned()).collect(),
            env: self.environment.iter().cloned().chain(variable).collect(),
            directory: "/".into(),
            stdio,
            privileged,
        };
        Ok(self.sandbox.run(command).map_err(|e| Problem::internal(format!("{}: {e}", self.name())))?)
    }

    /// As [`Instance::run`]; the output is appended to the log of this name.
    pub(crate) fn run_logged(&self, argv: &[&str], name: &str) -> Outcome<Process> {
        self.run(argv, to_log(&self.process_log(name))?)
    }

    /// Starts all processes, each under a supervisor of its own, and a supervisor for the scripts of each other job.
    pub(crate) fn start_processes(self: &Arc<Self>, host: &Arc<Host>) -> Result<(), Failure> {
        let pod = &self.group().pod;
        let argv = |command: &workload::Command| command.argv().into_iter().map(str::to_owned).collect::<Vec<_>>();
        let index = self.member.instance.index;
        let (running, idle): (Vec<_>, Vec<_>) = pod.processes.iter().partition(|process| process.runs_in(index));
        let processes = running
            .iter()
            .map(|process| Supervised::new(&process.job, Some(&process.process), argv(&process.container.command)));
        // A job that runs nothing in this instance has its scripts all the same.
        let mut idle_jobs = BTreeSet::new();
        let has_none = |job: &str| !running.iter().any(|process| process.job == job);
        let idle = idle.iter().filter(|process| has_none(&process.job) && idle_jobs.insert(process.job.as_str()));
        let idle = idle.map(|process| Supervised::new(&process.job, None, argv(&process.container.command)));
        // On one machine nothing needs a container for a job that runs nothing.
        let scripts = pod.scripts_only.iter().filter(|job| !job.scripts.is_empty());
        let scripts = scripts.map(|job| Supervised::new(&job.job, None, argv(&job.container.command)));
        let all: Vec<Arc<Supervised>> = processes.chain(idle).chain(scripts).map(Arc::new).collect();
        self.lock().supervised.clone_from(&all);
        for supervised in all {
            let (instance, job) = (Arc::clone(self), supervised.job.clone());
            supervised.supervise(host, self.name(), move |argv, log| {
                instance.run_for(&job, argv, to_log(&instance.process_log(log))?)
            })?;
        }
        Ok(self.dns_health.watch(|argv, stdio| self.run(argv, stdio))?)
    }

    /// What its supervisor prints.
    pub(crate) fn process_log(&self, name: &str) -> PathBuf {
        self.dir.log(&name.replace('/', "."))
    }

    /// Its processes, and what they do; those of one job where one is named.
    pub(crate) fn processes(&self, job: Option<&str>) -> Vec<(Arc<Supervised>, View)> {
        self.views(job).into_iter().filter(|(supervised, _)| supervised.process.is_some()).collect()
    }

    /// As [`Instance::processes`], and what runs the scripts of jobs without processes.
    pub(crate) fn views(&self, job: Option<&str>) -> Vec<(Arc<Supervised>, View)> {
        let view = |supervised: Arc<Supervised>| {
            let view = supervised.view(&self.state_files);
            (supervised, view)
        };
        self.supervised(job).into_iter().map(view).collect()
    }

    /// The id on the host of a process inside.
    pub(crate) fn pid_on_host(&self, pid: i32) -> Option<i32> {
        sandbox::pid_of(self.sandbox.init(), pid)
    }

    /// How the scripts of this name do that run beside the processes.
    pub(crate) fn script_states(&self, script: &str) -> Vec<HookState> {
        let mut jobs: Vec<String> = self.supervised(None).iter().map(|supervised| supervised.job.clone()).collect();
        jobs.dedup();
        jobs.iter().filter_map(|job| self.state_files.script(job, script)).collect()
    }

    /// Asks all processes to stop, or those of one job, the last one first.
    pub(crate) fn request_stop(&self, job: Option<&str>, limit: StopLimit) {
        self.supervised(job).iter().rev().for_each(|supervised| supervised.request_stop(limit));
    }

    /// Whether the next stop leaves out pre-stop and drain.
    pub(crate) fn skip_drain(&self, skip: bool) -> Outcome<()> {
        let path = Path::new("/var/vcap/sys/run/boson").join(SKIP_DRAIN);
        let text: &[u8] = if skip { b"1" } else { b"" };
        let written = self.sandbox.write(&path, text, 0o644);
        Ok(written.map_err(|e| Problem::internal(format!("{}: cannot prepare the stop", self.name())).because(e))?)
    }

    /// The jobs whose drain runs.
    fn draining(&self) -> Vec<String> {
        let supervised = self.supervised(None);
        let draining = supervised.iter().filter(|supervised| supervised.is_draining(&self.state_files));
        let mut jobs: Vec<String> = draining.map(|supervised| supervised.job.clone()).collect();
        jobs.dedup();
        jobs
    }

    /// Starts what was stopped.
    pub(crate) fn request_start(&self, job: Option<&str>) {
        self.supervised(job).iter().for_each(|supervised| supervised.request_start());
    }

    /// Whether its processes have been started at all.
    pub(crate) fn has_started(&self) -> bool {
        !self.lock().supervised.is_empty()
    }

    /// Starts the processes that were stopped or unmonitored inside, whose supervisors wait for `bpm start`.
    pub(crate) fn resume_stopped(&self, job: Option<&str>) -> Outcome<()> {
        for (supervised, view) in self.processes(job) {
            if let (State::Stopped | State::Failing, Some(process)) = (view.state, &supervised.process) {
                self.run_logged(&["bpm", "start", &supervised.job, "-p", process], "bpm")?.wait();
            }
        }
        Ok(())
    }

    /// Whether all processes that were asked to stop have.
    pub(crate) fn is_stopped(&self, job: Option<&str>) -> bool {
        self.supervised(job).iter().all(|supervised| supervised.is_stopped())
    }

    /// Waits until it is stopped, as long as its scripts take; from an interrupt on, as long as the grace period. Returns whether it
    /// is. `report` gets what drains, and then every minute for how long.
    pub(crate) fn wait_until_stopped(&self, job: Option<&str>, host: &Host, report: &dyn Fn(&str)) -> bool {
        let start = Instant::now();
        let (mut limited, mut reports) = (None, DrainReports::default());
        while !self.is_stopped(job) {
            if limited.is_none() && host.interrupt.is_asked() {
                self.request_stop(job, StopLimit::Grace);
                limited = Some(Instant::now());
            }
            if limited.is_some_and(|since| since.elapsed() > STOP_LIMIT) || host.interrupt.is_urgent() {
                return false;
            }
            if let Some(line) = reports.next(self.name(), &self.draining(), start.elapsed()) {
                report(&line);
            }
            std::thread::sleep(INTERVAL);
        }
        true
    }

    /// Whether its sandbox exists: one whose first process was killed does not.
    pub(crate) fn is_alive(&self) -> bool {
        self.init.is_some_and(ProcessId::is_alive)
    }

    /// Kills everything in it, and waits until it has exited.
    pub(crate) fn kill(&self) {
        self.supervised(None).iter().for_each(|supervised| supervised.give_up());
        self.sandbox.kill();
        while self.is_alive() {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.sandbox.release();
    }

    fn supervised(&self, job: Option<&str>) -> Vec<Arc<Supervised>> {
        let inner = self.lock();
        inner.supervised.iter().filter(|supervised| job.is_none_or(|job| supervised.job == job)).cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Standard streams of a command whose output is appended to a file.
fn to_log(path: &Path) -> Outcome<Stdio> {
    let file = File::options().create(true).append(true).mode(0o600).open(path).io("write", path)?;
    Stdio::to_file(file).io("write", path)
}
