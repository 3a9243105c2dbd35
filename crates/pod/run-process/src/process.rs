//! Running one program of a job to its end, with its output teed and its life recorded.

mod post_start;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use bpm::ProcessConfig;
use hooks::Script;
use nix::libc::SIGTERM;
use nix::unistd::Pid;
use problem::{Class, Place, Problem, Problems, Result, code};
use serde_json::json;
use supervisor::failures::{hint, not_started};
use supervisor::{
    Command, End, Event, Exit, FIND, Host, Life, Machine as _, OUTPUT_GRACE, Plan, Policy, Progress, Role, Source,
    SpawnError, State, Status, Task,
};
use vcap::log_file::OutputTail;

use crate::control::Control;
use crate::logs::Logs;
use crate::monit::{Checks, Depends, Managed};
use crate::pod::Others;
use crate::records::Records;
use crate::siblings::Siblings;
use crate::{Context, container, grace, scripts};

/// What failed if the volumes of a process are not as its `bpm.yml` needs them.
const CHECK_VOLUMES: &str = "check the volumes";

/// What is to be run, and how.
pub(crate) struct Program {
    /// The process itself; absent where there are only the scripts of a job without one.
    pub(crate) main: Option<Command>,
    /// BPM's hook, before each start.
    pub(crate) hook: Option<Command>,
    /// How the process is stopped.
    pub(crate) policy: Policy,
    /// The mode of its log files.
    pub(crate) log_mode: u32,
    /// Where it is described, for messages.
    pub(crate) described: Option<Place>,
    /// Whether the job's scripts run when the pod stops.
    pub(crate) scripts: bool,
    /// The job's post-start script, if this process is the one beside which it runs.
    pub(crate) post_start: Option<Script>,
    /// How long the process' output is still read when it has exited.
    pub(crate) output_grace: Duration,
    /// What has to run before it is started: jobs and processes.
    pub(crate) depends: BTreeSet<(String, String)>,
    /// The `bpm.yml` whose volumes are checked when the hook has run; absent if they are checked already.
    pub(crate) volumes: Option<ProcessConfig>,
    /// The programs that start and stop the process, instead of `main`.
    pub(crate) managed: Option<Managed>,
    /// The rules of monit.
    pub(crate) checks: Option<Checks>,
}

impl Program {
    /// No process, but the scripts of the job, with the log modes of BOSH's agent: root's, which vcap may read.
    pub(crate) fn of_scripts(context: &Context, post_start: Option<Script>) -> Program {
        const LOG_MODE: u32 = 0o640;
        Program {
            main: None,
            hook: None,
            policy: context.policy.clone(),
            log_mode: LOG_MODE,
            described: None,
            scripts: true,
            post_start,
            output_grace: Duration::ZERO,
            depends: BTreeSet::new(),
            volumes: None,
            managed: None,
            checks: None,
        }
    }

    fn has_process(&self) -> bool {
        self.main.is_some() || self.managed.is_some()
    }

    /// How long the stop program has.
    fn stop_program(&self) -> Option<Duration> {
        self.managed.as_ref().filter(|managed| managed.has_stop()).map(|managed| managed.stop_timeout)
    }
}

/// Runs what was prepared, if there is something to be run, and records what kept it from running; gives its status.
pub(crate) fn run(context: &Context, prepared: Result<Option<(Program, Records)>>) -> Result<u8> {
    let prepared = context.explain(prepared).inspect_err(|problems| Records::never_opened(context, problems))?;
    let Some((program, mut records)) = prepared else { return Ok(0) };
    let result = context.explain(supervise(context, program, &mut records));
    if let Err(problems) = &result {
        records.failed(&problems.to_string(), problems.exit_code());
    }
    result
}

/// Runs the program until it has ended and nothing that descends from it is left; gives its status.
fn supervise(context: &Context, mut program: Program, records: &mut Records) -> Result<u8> {
    let scripts = program.scripts && !context.skip_stop_scripts;
    let mut depends = Depends::new(context, std::mem::take(&mut program.depends));
    let wanted = program.policy.stop_timeout + program.stop_program().unwrap_or_default();
    let wanted = Policy { stop_timeout: wanted, ..program.policy.clone() };
    let limits = context.grace.map(|grace| grace::limits(grace, &wanted, scripts && scripts::exist(&context.vcap)));
    let longest_window = limits.map_or(context.stop_window, |limits| limits.total / 10);
    let mut machine = Life::new(Plan {
        policy: program.policy.clone(),
        process: program.has_process(),
        hook: program.hook.is_some() || program.managed.is_some(),
        follows: program.managed.is_some(),
        start_waits: depends.waits() || program.checks.as_ref().is_some_and(Checks::is_held),
        stop_program: program.stop_program(),
        stop_tasks: program.checks.as_ref().map(Checks::stop_programs).unwrap_or_default(),
        post_start_waits: true,
        scripts,
        window: context.stop_window.min(longest_window),
        limits,
    });
    let logs = Logs::open(context, &context.process, program.log_mode, context.owner)?;
    let mut others = Others::new(context);
    let mut siblings = Siblings::new(context, program.has_process(), program.post_start.is_some());
    let mut checks = program.checks.take();
    let monitoring = checks.as_ref().map(Checks::monitoring);
    let mut control = Control::open(context, program.has_process(), monitoring);
    let mut follow = program.managed.as_ref().map(|managed| managed.follow(context.cycle));
    let programs = checks.as_ref().map(Checks::programs).unwrap_or_default();
    let mut running = Running {
        context,
        program,
        programs,
        logs,
        records,
        state: State::Starting,
        exit: None,
        failure: None,
        draining: false,
        script_output: OutputTail::default(),
        post_start_failed: false,
        complaints: Vec::new(),
    };
    if depends.waits() {
        running.records.waits(depends.wanted());
    }
    if !running.program.has_process() {
        // Nothing is started, so that nothing can fail.
        (running.state, running.exit) = (State::Running, Some(Exit::Code(0)));
        running.records.runs_nothing();
    }
    let mut sources: Vec<&mut dyn Source> = vec![&mut others, &mut siblings, &mut control];
    // Before what lets the process start: it may have been started too often.
    sources.extend(checks.as_mut().map(|checks| checks as &mut dyn Source));
    sources.push(&mut depends);
    sources.extend(follow.as_mut().map(|follow| follow as &mut dyn Source));
    supervisor::supervise(&context.signals, &mut machine, &mut running, &mut sources)
        .map_err(|e| Problem::internal("supervising failed").because(e))?;
    control.close(running.exit);
    running.finish(machine.stop_requested())
}

/// Why the process never ran, and what `run-process` exits with therefore.
struct Failure {
    problems: Problems,
    status: u8,
}

struct Running<'a> {
    context: &'a Context,
    program: Program,
    /// What `exec` of monit's rules runs.
    programs: Vec<Command>,
    logs: Logs,
    records: &'a mut Records,
    state: State,
    /// How the process ended last.
    exit: Option<Exit>,
    failure: Option<Failure>,
    /// Whether the drain script was called already.
    draining: bool,
    /// The output of the script that runs, or ran last, during the stop.
    script_output: OutputTail,
    /// Whether the termination message reports a post-start that failed.
    post_start_failed: bool,
    /// What the termination message reports about scripts of the stop.
    complaints: Vec<String>,
}

impl Host for Running<'_> {
    fn task(&mut self, role: Role) -> std::result::Result<Option<Task>, SpawnError> {
        if let (Role::Hook | Role::Stop, Some(managed)) = (role, &self.program.managed) {
            let command = if role == Role::Hook { managed.start() } else { managed.stop(self.records.pid()) };
            if let (Role::Hook, Some(start)) = (role, &command) {
                self.records.starting(Path::new(&start.program));
            }
            return command.map(|command| self.logs.task(command)).transpose();
        }
        if role == Role::Main {
            self.check_volumes()?;
        }
        let command = match role {
            Role::Task(number) => {
                let command = self.programs.get(number).cloned();
                return command.map(|command| self.logs.task(command)).transpose();
            }
            Role::Main => self.program.main.as_ref(),
            Role::Hook => self.program.hook.as_ref(),
            Role::PostStart => return Ok(self.post_start()),
            _ => return self.script(role),
        };
        if let (Role::Hook, Some(hook)) = (role, command) {
            self.records.starting(Path::new(&hook.program));
        }
        let Some(command) = command else { return Ok(None) };
        self.logs.task(command.clone()).map(Some)
    }

    fn started(&mut self, role: Role, pid: Pid) {
        match (role, &self.program.post_start) {
            (Role::Main, _) => {
                (self.exit, self.failure) = (None, None);
                self.records.started(pid);
            }
            (Role::PostStart, Some(script)) => {
                self.records.note("post-start", json!({}));
                script.started();
            }
            _ => {}
        }
    }

    fn ended(&mut self, end: End) -> Event {
        if let Some(event) = self.managed_ended(&end) {
            return event;
        }
        match (end.role, &end.result) {
            (Role::Main, Ok(exit)) => {
                self.exit = Some(*exit);
                self.records.stopped(*exit);
            }
            (Role::Main, Err(error)) if error.doing == CHECK_VOLUMES => {}
            (Role::Main, Err(error)) => {
                let main = self.program.main.as_ref();
                let program = main.map_or(Path::new(""), |main| Path::new(&main.program));
                let problem = not_started(program, main.and_then(|main| main.dir.as_deref()), error);
                let problem = Problem { place: self.program.described.clone(), ..problem };
                self.failure = Some(Failure { problems: problem.into(), status: error.status() });
            }
            (Role::Hook, Ok(exit)) if exit.is_success() => {}
            (Role::Hook, result) => self.hook_failed(result),
            (Role::PostStart, result) => self.post_start_ended(result),
            (Role::Drain, _) => {
                let (drained, complaint) = scripts::drained(&end);
                let complaint = end.result.as_ref().err().map(|error| self.why_not(Role::Drain, error)).or(complaint);
                if let Some(complaint) = complaint {
                    self.complain(Role::Drain, &complaint);
                }
                return Event::Drained(drained);
            }
            (Role::Task(_), Err(error)) => {
                tracing::warn!(
                    "{}: cannot {} a program of monit: {}",
                    self.context.subject(),
                    error.doing,
                    error.error
                );
            }
            (role, Ok(exit)) if !exit.is_success() => self.complain(role, &exit.to_string()),
            (role, Err(error)) => self.complain(role, &self.why_not(role, error)),
            _ => {}
        }
        end.event()
    }

    fn changed(&mut self, status: &Status) {
        self.state = status.state;
        if status.state == State::Ending && status.progress == Progress::Asked {
            self.records.note("stopping", json!({}));
        }
        self.records.changed(status);
    }

    fn output_grace(&self, role: Role) -> Duration {
        match role {
            Role::Main => self.program.output_grace,
            // The answer may come through a helper; after post-stop every helper is terminated.
            Role::Drain | Role::PostStop => OUTPUT_GRACE,
            _ => Duration::ZERO,
        }
    }

    fn claim(&mut self) -> bool {
        self.records.claim_scripts()
    }
}

impl Running<'_> {
    /// Checks the volumes that the hook may have made.
    fn check_volumes(&mut self) -> std::result::Result<(), SpawnError> {
        let (Some(config), Some(described)) = (&self.program.volumes, &self.program.described) else { return Ok(()) };
        match container::check_volumes(self.context, config, described) {
            Ok(unfulfilled) => {
                if !unfulfilled.is_empty() {
                    self.records.note("requests-unfulfilled", json!({"requests": unfulfilled}));
                }
                Ok(())
            }
            Err(problems) => {
                let error = std::io::Error::other(problems.to_string());
                self.failure = Some(Failure { status: problems.exit_code(), problems });
                Err(SpawnError { doing: CHECK_VOLUMES, error })
            }
        }
    }

    /// What the end of a program of monit means; nothing if it is no such program, or means the same as that of others.
    fn managed_ended(&mut self, end: &End) -> Option<Event> {
        let managed = self.program.managed.as_ref()?;
        let subject = self.context.subject();
        match (end.role, &end.result) {
            // Its daemon may have handed over to another one.
            (Role::Main, Ok(_)) if self.state == State::Running => managed.finder.live().map(Event::Found),
            (Role::Main, Err(error)) if error.doing == FIND => {
                let problem = Problem { place: self.program.described.clone(), ..managed.not_found() };
                self.failure = Some(Failure { problems: problem.into(), status: Class::Internal.exit_code() });
                Some(end.event())
            }
            (Role::Hook, Ok(exit)) => {
                // monit takes no notice of it; the pid file alone counts.
                if !exit.is_success() {
                    tracing::warn!("{subject}: the start program failed: {exit}");
                }
                self.records.note("start-program-ended", json!({"status": exit.status()}));
                Some(end.event())
            }
            (Role::Hook, Err(error)) => {
                let problem = not_started(managed.start_program(), None, error);
                let problem = Problem { place: self.program.described.clone(), ..problem };
                self.failure = Some(Failure { problems: problem.into(), status: error.status() });
                Some(Event::Exited(Role::Main, Exit::Code(error.status())))
            }
            (Role::Stop, Ok(exit)) => {
                if !exit.is_success() {
                    tracing::warn!("{subject}: the stop program failed: {exit}");
                }
                Some(end.event())
            }
            (Role::Stop, Err(error)) => {
                tracing::warn!("{subject}: cannot {} the stop program: {}", error.doing, error.error);
                Some(Event::Absent(Role::Stop))
            }
            _ => None,
        }
    }

    fn script(&mut self, role: Role) -> std::result::Result<Option<Task>, SpawnError> {
        if matches!(role, Role::PreStop | Role::Drain) && scripts::are_skipped(&self.context.states()) {
            return Ok(None);
        }
        let again = role == Role::Drain && std::mem::replace(&mut self.draining, true);
        let Some(script) = scripts::script(&self.context.vcap, &self.context.job, role, again) else { return Ok(None) };
        self.records.note(script.name, json!({}));
        let owner = scripts::log_owner(self.context.owner);
        let logs = Logs::open(self.context, script.name, script.log_mode, owner).map_err(|problems| SpawnError {
            doing: "open the logs of",
            error: std::io::Error::other(problems.to_string()),
        })?;
        self.script_output = logs.output().clone();
        let mut task = logs.task(script.command)?;
        task.stdout.capture = script.answer;
        Ok(Some(task))
    }

    /// Why a script could not be run.
    fn why_not(&self, role: Role, error: &SpawnError) -> String {
        let path = scripts::name(role).map(|name| scripts::path(&self.context.vcap, &self.context.job, name));
        let hint = path.and_then(|path| hint(&path, error)).map_or(String::new(), |hint| format!("; {hint}"));
        format!("cannot {} it: {}{hint}", error.doing, error.error)
    }

    /// A script failed. The stop goes on.
    fn complain(&mut self, role: Role, why: &str) {
        let Some(name) = scripts::name(role) else { return };
        tracing::error!("{}: {name} failed: {why}", self.context.subject());
        self.records.note(&format!("{name}-failed"), json!({"error": why}));
        let complaint = format!("{}: {name} failed: {why}{}", self.context.subject(), self.script_output.message());
        self.complaints.push(complaint);
        startup::termination::report(self.complaints.join("\n"));
    }

    fn hook_failed(&mut self, result: &std::result::Result<Exit, SpawnError>) {
        let hook = self.program.hook.as_ref().map_or(Path::new(""), |hook| Path::new(&hook.program));
        let mut problem = Problem::internal("prestart hook failed").code(code::SCRIPT_FAILED);
        problem.place.clone_from(&self.program.described);
        let problem = match result {
            Ok(exit) => problem.because(format!("{}: {exit}{}", hook.display(), self.logs.output().message())),
            Err(error) => {
                let reason = not_started(hook, None, error);
                let problem = reason.causes.iter().fold(problem.because(&reason.message), Problem::because);
                Problem { hint: reason.hint, ..problem }
            }
        };
        self.failure = Some(Failure { problems: problem.into(), status: Class::Internal.exit_code() });
    }

    /// The status of `run-process`, recorded.
    fn finish(self, asked: bool) -> Result<u8> {
        let Running { context, records, exit, failure, logs: output, .. } = self;
        match (exit, failure) {
            (_, Some(Failure { problems, status })) if !asked => {
                records.failed(&problems.to_string(), status);
                startup::finish(context.explain::<u8>(Err(problems)));
                Ok(status)
            }
            // Asked to stop before there was a process: as if it had been stopped at once.
            (exit, _) => {
                let exit = exit.unwrap_or(Exit::Signal(SIGTERM));
                records.ended(exit, asked);
                if !exit.is_success() && !asked {
                    let logs = context.log_dir().join(format!("{}.stderr.log", context.process));
                    let (subject, end) = (context.subject(), output.output().message());
                    startup::termination::report(format!("{subject}: {exit}; see {}{end}", logs.display()));
                }
                Ok(exit.status())
            }
        }
    }
}
