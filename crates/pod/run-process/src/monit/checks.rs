//! The rules of a service, checked in every cycle while its process runs; and those of the files, directories and hosts that
//! the job's `monit` checks.

mod connections;
mod watched;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ::monit::{Action, Change, Condition, Config, Program, Resource, ResourceLimit, Service};
use nix::poll::PollFd;
use problem::{Problems, Result};
use process_usage::{Snapshot, Usage, all_memory};
use supervisor::{Command, Event, Progress, Request, Source, State, Status};

use self::connections::{Tested, Tests};
use self::watched::{Checked, Target};
use super::monitoring::Monitoring;
use super::program;
use super::restarts::{Restarts, RestartsByRules};
use super::rule::{Verdict, exceeds};
use crate::context::Context;
use crate::environment::with;
use crate::records::Records;

/// Why a process counts as failing that monit does not monitor.
const UNMONITORED: &str = "not monitored";

/// Checks the rules.
pub(crate) struct Checks {
    subject: String,
    root: PathBuf,
    cycle: Duration,
    /// That of the process first. Without a process, all of them are about something else.
    services: Vec<Checked>,
    /// What rules run, by number.
    programs: Vec<Command>,
    usage: Usage,
    restarts: Restarts,
    by_rules: RestartsByRules,
    monitoring: Monitoring,
    starts: u64,
    next: Option<Instant>,
    pending: Option<Tests>,
    /// Whether the process is not to be started: it was unmonitored before this run.
    is_held: bool,
}

impl Checks {
    /// The rules of `service`, a process or not; with `others`, also those of the other services of `config` that are not processes.
    ///
    /// # Errors
    /// An unknown user or group of a program.
    pub(crate) fn new(
        context: &Context,
        config: &Config,
        service: &Service,
        others: bool,
        records: &Records,
    ) -> Result<Checks> {
        let place = |path: &str| crate::dirs::place(&context.vcap, path);
        let mut programs: Vec<(Program, String)> = Vec::new();
        let mut checked = |service: &Service, target| {
            let mut number = |program: &Program| {
                programs.push((program.clone(), service.name.clone()));
                programs.len() - 1
            };
            Checked::new(service, target, &mut number)
        };
        let own = Checked::target_of(&service.kind, place).unwrap_or(Target::Process);
        let mut services = vec![checked(service, own)];
        for other in config.services.iter().filter(|other| others && other.name != service.name) {
            let Some(target) = Checked::target_of(&other.kind, place) else { continue };
            let is_dependency = service.depends_on.contains(&other.name);
            services.push(Checked { is_dependency, ..checked(other, target) });
        }
        let (mut commands, mut problems) = (Vec::new(), Vec::new());
        for (program, name) in &programs {
            match command(context, program, name) {
                Ok(command) => commands.push(command),
                Err(found) => problems.extend(found.into_vec()),
            }
        }
        Problems::check(problems)?;
        let mut checks = Checks {
            subject: context.subject(),
            root: context.vcap.base().ancestors().nth(2).unwrap_or(Path::new("/")).to_owned(),
            cycle: context.cycle,
            services,
            programs: commands,
            usage: Usage::default(),
            restarts: Restarts::of(context, service),
            by_rules: RestartsByRules::of(context),
            monitoring: Monitoring::new(context),
            starts: 0,
            next: None,
            pending: None,
            is_held: false,
        };
        if records.is_restart() {
            checks.count_restart();
        }
        checks.is_held = checks.has_process() && checks.restarts.is_unmonitored();
        Ok(checks)
    }

    fn has_process(&self) -> bool {
        self.services[0].target == Target::Process
    }

    /// What the control socket has to know, and asks for.
    pub(crate) fn monitoring(&self) -> Monitoring {
        self.monitoring.clone()
    }

    /// The stop programs of services that are not processes: BOSH's agent stops every service of group `vcap`.
    pub(crate) fn stop_programs(&self) -> Vec<usize> {
        self.services.iter().filter(|service| service.counts).filter_map(|service| service.stop).collect()
    }

    /// What rules run, by number.
    pub(crate) fn programs(&self) -> Vec<Command> {
        self.programs.clone()
    }

    /// Whether the process is not to be started, because a rule has ended its monitoring.
    pub(crate) fn is_held(&self) -> bool {
        self.is_held
    }

    /// The process has exited, and monit would start it again: unless it has done so too often.
    fn count_restart(&mut self) {
        if self.restarts.is_unmonitored() {
            return;
        }
        self.restarts.note();
        let unmonitors = |rule: &::monit::Rule| match rule.condition {
            Condition::Restarts { count, cycles } => {
                rule.action == Action::Unmonitor && self.restarts.within(cycles) >= count
            }
            _ => false,
        };
        let exceeded = self.services[0].rules.iter().find(|watched| unmonitors(&watched.state.rule));
        if let Some(line) = exceeded.map(|watched| watched.state.rule.at.line) {
            tracing::warn!("{}: too many restarts (monit, line {line}); it is not started again", self.subject);
            self.restarts.unmonitor();
        }
    }

    /// Keeps the process from its first start, which waits for that, until a request starts it.
    fn hold(&mut self, status: &Status) -> Option<Event> {
        if status.state != State::Starting || !std::mem::take(&mut self.is_held) {
            return None;
        }
        self.services[0].is_unmonitored = true;
        Some(Event::Request(Request::Stop))
    }

    /// The process runs for the first time, or again; gives what follows.
    fn begin(&mut self, status: &Status) -> Vec<Event> {
        let is_first = std::mem::replace(&mut self.starts, status.starts) == 0;
        self.pending = None;
        self.monitoring.set_failing(None);
        self.next = Some(Instant::now() + self.cycle);
        if self.services[0].is_unmonitored {
            // It was started on request.
            self.restarts.clear();
        }
        self.services[0].begin();
        if !is_first {
            return Vec::new();
        }
        // BOSH's agent starts every service, and monit waits for processes alone.
        self.services[1..].iter_mut().for_each(Checked::begin);
        let mut events: Vec<Event> = self.services.iter().filter_map(|service| run(service.start)).collect();
        events.extend(self.check_restarts());
        self.report_failing();
        events
    }

    /// Applies all rules; gives what follows.
    fn conclude(&mut self, pid: i32, tested: &[Tested]) -> Vec<Event> {
        self.next = Some(Instant::now() + self.cycle);
        let snapshot = Snapshot::take();
        let mut events = self.check_restarts();
        self.restarts.forget_old();
        for s in 0..self.services.len() {
            if !self.services[s].is_due() {
                continue;
            }
            for r in 0..self.services[s].rules.len() {
                let tested = || tested.iter().find(|tested| (tested.service, tested.rule) == (s, r));
                let Some(failure) = self.check((s, r), pid, &snapshot, tested) else { continue };
                events.extend(self.apply((s, r), failure));
                let is_over = self.services[s].is_unmonitored || restarts(&events);
                if is_over {
                    break;
                }
            }
        }
        self.usage.note(snapshot);
        self.report_failing();
        events
    }

    /// monit checks these rules first, so that a service is not restarted once more.
    fn check_restarts(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        for r in 0..self.services[0].rules.len() {
            let Condition::Restarts { count, cycles } = self.services[0].rules[r].state.rule.condition else {
                continue;
            };
            let recent = self.restarts.within(cycles);
            let failure = (recent >= count).then(|| format!("{recent} restarts"));
            if !self.services[0].is_unmonitored {
                events.extend(self.apply((0, r), failure));
            }
        }
        events
    }

    fn report_failing(&self) {
        let failing = self.services.iter().filter(|service| service.counts).find_map(|service| {
            let rule = service.rules.iter().map(|watched| &watched.state).find(|state| state.is_failing)?;
            let unmonitored = if service.is_unmonitored { "not monitored any more: " } else { "" };
            Some(format!("{unmonitored}{} (monit, line {})", rule.describe(), rule.rule.at.line))
        });
        let unmonitored = || self.services[0].is_unmonitored.then(|| UNMONITORED.to_owned());
        self.monitoring.set_failing(failing.or_else(unmonitored));
    }

    /// A client wants the process to be monitored, or not.
    fn set_monitored(&mut self, monitored: bool) {
        if monitored {
            if std::mem::take(&mut self.services[0].is_unmonitored) {
                self.restarts.clear();
                self.services[0].begin();
            }
        } else {
            self.services[0].is_unmonitored = true;
            self.restarts.unmonitor();
        }
        self.report_failing();
    }

    /// What a rule's check found: a text if it failed; nothing if it cannot be checked now.
    fn check<'a>(
        &mut self,
        (s, r): (usize, usize),
        pid: i32,
        snapshot: &Snapshot,
        tested: impl Fn() -> Option<&'a Tested>,
    ) -> Option<Option<String>> {
        let (usage, service) = (&self.usage, &mut self.services[s]);
        let watched = &mut service.rules[r];
        match (&watched.state.rule.condition, &service.target) {
            (Condition::Connection(_), _) => tested().map(|tested| tested.failure.clone()),
            (Condition::Resource(limit), Target::Process) => resource(usage, *limit, pid, snapshot),
            (Condition::Missing, Target::Path(path)) => Some((!path.exists()).then(|| "it does not exist".to_owned())),
            (Condition::Changed(_), Target::Path(path)) => watched.change(watched.state.fingerprint(path)),
            (Condition::Changed(Change::Pid), Target::Process) => watched.change(u64::try_from(pid).ok()),
            (Condition::Changed(Change::ParentPid), Target::Process) => watched.change(snapshot.parent(pid)),
            _ => None,
        }
    }

    fn apply(&mut self, (s, r): (usize, usize), failure: Option<String>) -> Vec<Event> {
        let watched = &mut self.services[s].rules[r];
        let verdict = watched.state.note(failure.is_some());
        let (what, line, subject) = (watched.state.describe(), watched.state.rule.at.line, &self.subject);
        match verdict {
            Verdict::Nothing => Vec::new(),
            Verdict::Recovered => {
                tracing::info!("{subject}: recovered: {what} (monit, line {line})");
                let action = watched.state.rule.recovery.as_ref().map(|recovery| recovery.action.clone());
                let program = watched.recovery;
                action.map_or_else(Vec::new, |action| self.act(s, &action, program))
            }
            Verdict::Act { is_first } => {
                if is_first {
                    let why = failure.unwrap_or_default();
                    let of = if s == 0 { String::new() } else { format!(" of '{}'", self.services[s].name) };
                    tracing::warn!("{subject}: {what}{of} (monit, line {line}): {why}");
                }
                let watched = &self.services[s].rules[r];
                let (action, program) = (watched.state.rule.action.clone(), watched.exec);
                self.act(s, &action, program)
            }
        }
    }

    /// Does what a rule of a service says.
    fn act(&mut self, s: usize, action: &Action, program: Option<usize>) -> Vec<Event> {
        let service = &mut self.services[s];
        let changes_it = matches!(action, Action::Restart | Action::Start | Action::Stop);
        if service.is_passive && changes_it {
            return Vec::new();
        }
        let is_process = service.target == Target::Process;
        service.is_unmonitored |= matches!(action, Action::Stop | Action::Unmonitor);
        let depends = service.is_dependency && *action == Action::Restart;
        let of_others = |programs: [Option<usize>; 2]| {
            let own = programs.into_iter().filter_map(run);
            own.chain(depends.then_some(Event::Request(Request::Restart))).collect()
        };
        if *action == Action::Restart && (is_process || depends) {
            self.by_rules.add();
        }
        match action {
            Action::Alert => Vec::new(),
            Action::Exec(_) => run(program).into_iter().collect(),
            Action::Unmonitor => {
                if is_process {
                    self.restarts.unmonitor();
                }
                Vec::new()
            }
            // monit does not wait for the programs of what is not a process.
            Action::Restart if !is_process => of_others([service.stop, service.start]),
            Action::Start if !is_process => of_others([service.start, None]),
            Action::Stop if !is_process => of_others([service.stop, None]),
            Action::Restart => {
                self.restarts.note();
                vec![Event::Request(Request::Restart)]
            }
            Action::Stop => vec![Event::Request(Request::Stop)],
            // It runs.
            Action::Start => Vec::new(),
        }
    }
}

fn run(program: Option<usize>) -> Option<Event> {
    program.map(|number| Event::Request(Request::Run(number)))
}

fn restarts(events: &[Event]) -> bool {
    events.contains(&Event::Request(Request::Restart))
}

fn resource(usage: &Usage, limit: ResourceLimit, pid: i32, snapshot: &Snapshot) -> Option<Option<String>> {
    let memory = |total| Some((snapshot.memory(pid, total), all_memory(), " bytes"));
    let percent = |total| Some((usage.permille(snapshot, pid, total)? / 10, None, " %"));
    let (value, all, unit) = match limit.resource {
        Resource::Memory => memory(false)?,
        Resource::TotalMemory => memory(true)?,
        Resource::Cpu => percent(false)?,
        Resource::TotalCpu => percent(true)?,
        Resource::Children => (snapshot.children(pid), None, " processes"),
        // The machine's value, not this service's.
        _ => return None,
    };
    Some(exceeds(value, limit.operator, limit.limit, all).then(|| format!("{value}{unit}")))
}

fn command(context: &Context, program: &Program, service: &str) -> Result<Command> {
    let command = program::command(context, program)?;
    Ok(Command { env: with(program::environment(service, "Failed", None), &command.env), ..command })
}

impl Source for Checks {
    fn interests<'a>(&'a self, wanted: &mut Vec<PollFd<'a>>) {
        wanted.extend(self.pending.iter().map(Tests::interest));
    }

    fn deadline(&self) -> Option<Instant> {
        self.next.filter(|_| self.pending.is_none())
    }

    fn advance(&mut self, status: &Status) -> Vec<Event> {
        if let Some(monitored) = self.monitoring.take_request() {
            self.set_monitored(monitored);
        }
        if status.progress != Progress::None {
            // It is stopped on request.
            self.restarts.clear();
            (self.next, self.pending) = (None, None);
            return Vec::new();
        }
        let pid = status.pid.map(|pid| pid.as_raw()).or_else(|| (!self.has_process()).then_some(0));
        let (State::Running, Some(pid)) = (status.state, pid) else {
            (self.next, self.pending) = (None, None);
            return self.hold(status).into_iter().collect();
        };
        if self.next.is_none() {
            return self.begin(status);
        }
        // A daemon that has replaced itself goes on under the same checks.
        self.starts = status.starts;
        if let Some(pending) = &self.pending {
            let Some(tested) = pending.results() else { return Vec::new() };
            self.pending = None;
            return self.conclude(pid, &tested);
        }
        if self.next.is_some_and(|next| next > Instant::now()) {
            return Vec::new();
        }
        match Tests::start(&self.services, &self.root) {
            Ok(None) => return self.conclude(pid, &[]),
            Ok(pending) => self.pending = pending,
            Err(error) => {
                tracing::warn!(%error, "{}: connections cannot be tested", self.subject);
                self.next = Some(Instant::now() + self.cycle);
            }
        }
        Vec::new()
    }
}
