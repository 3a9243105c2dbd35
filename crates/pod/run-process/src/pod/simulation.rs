//! Whole pods, without a process: the machines of their supervisors, who know of each other what their documents say, in
//! every order in which things can happen.

use std::collections::BTreeSet;
use std::time::Duration;

use proptest::prelude::*;
use supervisor::machine::{Action, Target, Timer};
use supervisor::{Drained, Event, Exit, Life, Machine, Plan, Policy, Role};

use super::*;

const TERM: i32 = 15;
const KILL: i32 = 9;
const SCRIPTS: [Role; 3] = [Role::PreStop, Role::Drain, Role::PostStop];

/// What happened, in order: which process, what for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Happened {
    Started(usize, Role),
    Ended(usize, Role),
    /// The process was asked to stop.
    Stopped(usize),
    /// The supervisor was killed.
    Killed(usize),
}

struct Process {
    job: String,
    life: Life,
    /// Whether the supervisor runs.
    lives: bool,
    asked: bool,
    children: BTreeSet<Role>,
    armed: BTreeSet<usize>,
    claimed: bool,
    state: ProcessState,
}

impl Process {
    fn new(job: &str) -> Process {
        let plan = Plan {
            process: true,
            policy: Policy::default(),
            hook: false,
            follows: false,
            start_waits: false,
            stop_program: None,
            stop_tasks: Vec::new(),
            post_start_waits: false,
            scripts: true,
            window: Duration::from_secs(3),
            limits: None,
        };
        Process {
            job: job.to_owned(),
            life: Life::new(plan),
            lives: true,
            asked: false,
            children: BTreeSet::new(),
            armed: BTreeSet::new(),
            claimed: false,
            state: ProcessState {
                state: State::Running,
                pid: None,
                exit_code: None,
                signal: None,
                stop: None,
                since: 0,
            },
        }
    }
}

fn runner(happened: Happened) -> Option<usize> {
    if let Happened::Started(n, _) = happened { Some(n) } else { None }
}

struct World {
    processes: Vec<Process>,
    history: Vec<Happened>,
}

impl World {
    fn new(jobs: &[&str]) -> World {
        let processes = jobs.iter().map(|job| Process::new(job)).collect();
        let mut world = World { processes, history: Vec::new() };
        for n in 0..world.processes.len() {
            let first = world.processes[n].life.begin();
            world.perform(n, first);
        }
        world
    }

    fn apply(&mut self, n: usize, event: Event) {
        if self.processes[n].lives {
            let actions = self.processes[n].life.on(event);
            self.perform(n, actions);
            self.write_document(n);
        }
    }

    /// As `Records` does when anything has changed.
    fn write_document(&mut self, n: usize) {
        let process = &mut self.processes[n];
        let ended = process.life.is_done();
        process.state.stop = crate::records::stop(process.life.progress());
        process.state.state = if ended { State::Exited } else { State::Running };
        process.lives &= !ended;
    }

    fn perform(&mut self, n: usize, actions: Vec<Action>) {
        let mut events = Vec::new();
        for action in actions {
            let claimed_by_others =
                |world: &World| world.processes.iter().any(|p| p.lives && p.claimed && p.job == world.processes[n].job);
            match action {
                Action::Start(Role::PostStart) => events.push(Event::Absent(Role::PostStart)),
                Action::Start(role) => {
                    self.history.push(Happened::Started(n, role));
                    self.processes[n].children.insert(role);
                    events.push(Event::Started(role));
                }
                Action::Send(Target::Child(Role::Main), TERM) => self.history.push(Happened::Stopped(n)),
                Action::Send(Target::Everything, KILL) => {
                    for role in std::mem::take(&mut self.processes[n].children) {
                        self.history.push(Happened::Ended(n, role));
                        events.push(Event::Exited(role, Exit::Signal(KILL)));
                    }
                    events.push(Event::NoChildren);
                }
                Action::Send(..) | Action::Finish => {}
                Action::Arm(timer, _) => drop(self.processes[n].armed.insert(timer as usize)),
                Action::Disarm(timer) => drop(self.processes[n].armed.remove(&(timer as usize))),
                Action::Count if self.processes[n].children.is_empty() => events.push(Event::NoChildren),
                Action::Count => {}
                Action::Claim => {
                    let claimed = !claimed_by_others(self);
                    self.processes[n].claimed = claimed;
                    events.push(Event::Claimed(claimed));
                }
            }
        }
        for event in events {
            self.apply(n, event);
        }
    }

    /// One of its children ends.
    fn end(&mut self, n: usize, which: usize, again: bool) {
        let Some(role) = self.processes[n].children.iter().copied().nth(which) else { return };
        self.processes[n].children.remove(&role);
        self.history.push(Happened::Ended(n, role));
        let event = match role {
            Role::Drain if again => Event::Drained(Drained::Again(Duration::from_secs(1))),
            Role::Drain => Event::Drained(Drained::After(Duration::ZERO)),
            _ => Event::Exited(role, Exit::Code(0)),
        };
        self.apply(n, event);
        if self.processes[n].children.is_empty() {
            self.apply(n, Event::NoChildren);
        }
    }

    /// It reads the others' documents.
    fn look(&mut self, n: usize) {
        if !self.processes[n].asked {
            return;
        }
        let others = self.processes.iter().enumerate().filter(|(other, p)| *other != n && p.lives);
        let others: Vec<_> =
            others.map(|(_, p)| Other { job: p.job.clone(), process: String::new(), state: p.state.clone() }).collect();
        let pod = view(&others, &self.processes[n].job);
        self.apply(n, Event::Pod(pod));
    }

    fn ask(&mut self, n: usize) {
        self.processes[n].asked = true;
        self.apply(n, Event::Signal(TERM));
    }

    /// The supervisor is killed, and with it whatever it runs.
    fn kill(&mut self, n: usize) {
        if std::mem::take(&mut self.processes[n].lives) {
            self.history.push(Happened::Killed(n));
            for role in std::mem::take(&mut self.processes[n].children) {
                self.history.push(Happened::Ended(n, role));
            }
        }
    }

    /// One of the timers expires that run by themselves here: not the one for a pod that does not stop.
    fn timeout(&mut self, n: usize, timer: Timer) {
        if timer != Timer::Window && self.processes[n].armed.remove(&(timer as usize)) {
            self.apply(n, Event::Timeout(timer));
        }
    }

    fn step(&mut self, step: Step) {
        let n = step.process % self.processes.len();
        match step.what {
            What::Ask => self.ask(n),
            What::Look => self.look(n),
            What::End(which, again) => self.end(n, which, again),
            What::Timeout(timer) => self.timeout(n, Timer::ALL[timer % Timer::ALL.len()]),
            What::Kill => self.kill(n),
        }
    }

    /// Asks all processes to stop, and lets everything end and all supervisors look, until none is left.
    fn settle(&mut self) -> bool {
        (0..self.processes.len()).for_each(|n| self.ask(n));
        for _ in 0..100 {
            for n in 0..self.processes.len() {
                // The process itself ends because it is asked to, not before.
                let stopped = self.history.contains(&Happened::Stopped(n));
                let next = self.processes[n].children.iter().position(|role| *role != Role::Main || stopped);
                if let Some(which) = next {
                    self.end(n, which, false);
                }
                self.timeout(n, Timer::Pause);
                self.look(n);
            }
            if self.processes.iter().all(|p| !p.lives) {
                return true;
            }
        }
        false
    }

    fn all(&self, is_it: impl Fn(&Happened) -> bool) -> Vec<usize> {
        self.history.iter().enumerate().filter(|(_, happened)| is_it(happened)).map(|(at, _)| at).collect()
    }

    fn of(&self, role: Role) -> (Vec<usize>, Vec<usize>) {
        (
            self.all(|h| matches!(h, Happened::Started(_, started) if *started == role)),
            self.all(|h| matches!(h, Happened::Ended(_, ended) if *ended == role)),
        )
    }

    /// BOSH's order, over all jobs.
    fn check_order(&self) -> Result<(), TestCaseError> {
        let [pre_stops, drains] = [Role::PreStop, Role::Drain].map(|script| self.of(script));
        let stops = self.all(|h| matches!(h, Happened::Stopped(_)));
        prop_assert!(pre_stops.1.last() < drains.0.first() || drains.0.is_empty(), "{:?}", self.history);
        prop_assert!(drains.1.last() < stops.first() || stops.is_empty(), "{:?}", self.history);
        for (n, process) in self.processes.iter().enumerate() {
            let of_job = |other: usize| self.processes[other].job == process.job;
            for script in SCRIPTS {
                let runs = self.all(|h| matches!(h, Happened::Started(o, role) if of_job(*o) && *role == script));
                // A drain may be called again, by the same process; and where one was killed, another one takes over.
                let by: BTreeSet<_> = runs.iter().filter_map(|at| runner(self.history[*at])).collect();
                let killed = by.iter().filter(|n| self.history.contains(&Happened::Killed(**n))).count();
                let once = by.len() <= 1 + killed && (script == Role::Drain || runs.len() == by.len());
                prop_assert!(once, "{script:?} of {}: {:?}", process.job, self.history);
            }
            let ends = self.all(|h| matches!(h, Happened::Ended(o, Role::Main) if of_job(*o)));
            let own = self.all(|h| *h == Happened::Started(n, Role::PostStop));
            prop_assert!(own.is_empty() || ends.last() < own.first(), "{:?}", self.history);
        }
        Ok(())
    }
}

#[derive(Debug, Clone, Copy)]
struct Step {
    process: usize,
    what: What,
}

#[derive(Debug, Clone, Copy)]
enum What {
    Ask,
    Look,
    End(usize, bool),
    Timeout(usize),
    Kill,
}

fn steps(kills: u32) -> impl Strategy<Value = Vec<Step>> {
    let what = prop_oneof![
        4 => Just(What::Ask),
        8 => Just(What::Look),
        8 => (1..3usize, any::<bool>()).prop_map(|(which, again)| What::End(which, again)),
        2 => Just(What::End(0, false)),
        4 => (0..Timer::ALL.len()).prop_map(What::Timeout),
        kills => Just(What::Kill),
    ];
    prop::collection::vec((0..5usize, what).prop_map(|(process, what)| Step { process, what }), 0..120)
}

fn jobs() -> impl Strategy<Value = Vec<&'static str>> {
    prop::collection::vec(prop::sample::select(vec!["a", "b", "c"]), 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn all_pre_stops_come_before_all_drains_before_all_stops(jobs in jobs(), steps in steps(1)) {
        let mut world = World::new(&jobs);
        for step in steps {
            world.step(step);
        }
        prop_assert!(world.settle(), "not all end: {:?}", world.history);
        world.check_order()?;
    }

    /// Where nothing is killed and nothing ends by itself, every job's scripts run.
    #[test]
    fn every_jobs_scripts_run_once(jobs in jobs(), order in prop::collection::vec(0..5usize, 0..20)) {
        let mut world = World::new(&jobs);
        for n in order {
            let n = n % jobs.len();
            world.ask(n);
            world.look(n);
        }
        prop_assert!(world.settle(), "not all end: {:?}", world.history);
        world.check_order()?;
        let distinct: BTreeSet<_> = jobs.iter().collect();
        for script in SCRIPTS {
            prop_assert_eq!(world.of(script).0.len(), distinct.len(), "{:?}", world.history);
        }
    }
}
