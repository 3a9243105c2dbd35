//! Running one program of a job to its end, with its output teed and its life recorded.

use std::path::Path;
use std::time::Duration;

use hooks::Script;
use nix::libc::SIGTERM;
use nix::unistd::Pid;
use problem::{Class, Place, Problem, Result, code};
use serde_json::json;
use supervisor::failures::{hint, not_started};
use supervisor::{
    Command, End, Event, Exit, Host, Life, Machine as _, OUTPUT_GRACE, Plan, Policy, Progress, Role, SpawnError, State,
    Status, Task,
};

use crate::control::Control;
use crate::logs::Logs;
use crate::pod::Others;
use crate::records::Records;
use crate::siblings::Siblings;
use crate::{Context, grace, scripts};

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
fn supervise(context: &Context, program: Program, records: &mut Records) -> Result<u8> {
    let scripts = program.scripts;
    let limits =
        context.grace.map(|grace| grace::limits(grace, &program.policy, scripts && scripts::exist(&context.vcap)));
    let longest_window = limits.map_or(context.stop_window, |limits| limits.total / 10);
    let mut machine = Life::new(Plan {
        policy: program.policy.clone(),
        process: program.main.is_some(),
        hook: program.hook.is_some(),
        post_start_waits: true,
        scripts,
        window: context.stop_window.min(longest_window),
        limits,
    });
    let logs = Logs::open(context, &context.process, program.log_mode, context.owner)?;
    let mut others = Others::new(context);
    let mut siblings = Siblings::new(context, program.main.is_some(), program.post_start.is_some());
    let mut control = Control::open(context, program.main.is_some());
    let mut running =
        Running { context, program, logs, records, state: State::Starting, exit: None, failure: None, draining: false };
    if running.program.main.is_none() {
        // Nothing is started, so that nothing can fail.
        (running.state, running.exit) = (State::Running, Some(Exit::Code(0)));
        running.records.runs_nothing();
    }
    supervisor::supervise(
        &context.signals,
        &mut machine,
        &mut running,
        &mut [&mut others, &mut siblings, &mut control],
    )
    .map_err(|e| Problem::internal("supervising failed").because(e))?;
    control.close(running.exit);
    running.finish(machine.stop_requested())
}

/// Why the process never ran, and what `run-process` exits with therefore.
struct Failure {
    problem: Problem,
    status: u8,
}

struct Running<'a> {
    context: &'a Context,
    program: Program,
    logs: Logs,
    records: &'a mut Records,
    state: State,
    /// How the process ended last.
    exit: Option<Exit>,
    failure: Option<Failure>,
    /// Whether the drain script was called already.
    draining: bool,
}

impl Host for Running<'_> {
    fn task(&mut self, role: Role) -> std::result::Result<Option<Task>, SpawnError> {
        let command = match role {
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
        match (end.role, &end.result) {
            (Role::Main, Ok(exit)) => {
                self.exit = Some(*exit);
                self.records.stopped(*exit);
            }
            (Role::Main, Err(error)) => {
                let main = self.program.main.as_ref();
                let program = main.map_or(Path::new(""), |main| Path::new(&main.program));
                let problem = not_started(program, main.and_then(|main| main.dir.as_deref()), error);
                let problem = Problem { place: self.program.described.clone(), ..problem };
                self.failure = Some(Failure { problem, status: error.status() });
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
    /// BOSH: the script runs once all is started, not whenever a process is started again.
    fn post_start(&self) -> Option<Task> {
        let script = self.program.post_start.as_ref().filter(|script| !script.has_succeeded())?;
        // Its failure is not the process'.
        let failed = |problems| {
            startup::finish(self.context.explain::<u8>(Err(problems)));
            script.ended(Exit::Code(Class::Internal.exit_code()));
        };
        script.task("[post-start] ").map_err(failed).ok()
    }

    fn post_start_ended(&mut self, result: &std::result::Result<Exit, SpawnError>) {
        let Some(script) = &self.program.post_start else { return };
        let exit = result.as_ref().map_or_else(|error| Exit::Code(error.status()), |exit| *exit);
        script.ended(exit);
        self.records.note("post-start-ended", json!({"status": exit.status()}));
        // A script that is stopped together with its process has not failed.
        if exit.is_success() || self.state != State::Running {
            return;
        }
        let problem =
            Problem::internal("post-start failed, so that it does not become ready").code(code::SCRIPT_FAILED);
        let problem = match result {
            Ok(exit) => problem.because(exit),
            Err(error) => {
                let reason = not_started(script.path(), None, error);
                let causes = reason.causes.iter().chain(&reason.hint);
                causes.fold(problem.because(&reason.message), Problem::because)
            }
        };
        let problem = problem
            .hint(format!("the process goes on, and post-start is tried again; see {}", script.stderr_log().display()));
        startup::finish(self.context.explain::<u8>(Err(problem.into())));
    }

    fn script(&mut self, role: Role) -> std::result::Result<Option<Task>, SpawnError> {
        let again = role == Role::Drain && std::mem::replace(&mut self.draining, true);
        let Some(script) = scripts::script(&self.context.vcap, &self.context.job, role, again) else { return Ok(None) };
        self.records.note(script.name, json!({}));
        let owner = scripts::log_owner(self.context.owner);
        let logs = Logs::open(self.context, script.name, script.log_mode, owner).map_err(|problems| SpawnError {
            doing: "open the logs of",
            error: std::io::Error::other(problems.to_string()),
        })?;
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
    }

    fn hook_failed(&mut self, result: &std::result::Result<Exit, SpawnError>) {
        let hook = self.program.hook.as_ref().map_or(Path::new(""), |hook| Path::new(&hook.program));
        let mut problem = Problem::internal("prestart hook failed").code(code::SCRIPT_FAILED);
        problem.place.clone_from(&self.program.described);
        let problem = match result {
            Ok(exit) => problem.because(format!("{}: {exit}", hook.display())),
            Err(error) => {
                let reason = not_started(hook, None, error);
                let problem = reason.causes.iter().fold(problem.because(&reason.message), Problem::because);
                Problem { hint: reason.hint, ..problem }
            }
        };
        self.failure = Some(Failure { problem, status: Class::Internal.exit_code() });
    }

    /// The status of `run-process`, recorded.
    fn finish(self, asked: bool) -> Result<u8> {
        let Running { context, records, exit, failure, .. } = self;
        match (exit, failure) {
            (_, Some(Failure { problem, status })) if !asked => {
                records.failed(&problem.to_string(), status);
                startup::finish(context.explain::<u8>(Err(problem.into())));
                Ok(status)
            }
            // Asked to stop before there was a process: as if it had been stopped at once.
            (exit, _) => {
                let exit = exit.unwrap_or(Exit::Signal(SIGTERM));
                records.ended(exit, asked);
                if !exit.is_success() && !asked {
                    // Its output may hold secrets, so only the place of its log is reported.
                    let logs = context.log_dir().join(format!("{}.stderr.log", context.process));
                    startup::termination::report(format!("{}: {exit}; see {}", context.subject(), logs.display()));
                }
                Ok(exit.status())
            }
        }
    }
}
