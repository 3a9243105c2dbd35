//! The whole life of one process in a pod.
//!
//! ```text
//!            ┌──────────────── start, restart ────────────────┐
//!            ▼                                                │
//!  ──▶ Hook ──▶ Running ──stop, restart──▶ Halting ──▶ Sweep ──▶ Halted
//!                 │  │                                           │
//!                 │  └── TERM ──▶ Window ◀──────── TERM ─────────┘
//!   ends by       │                │  │ all others of the pod were asked, too: the pod stops
//!   itself        │   it alone     │  └─▶ PreStop ─▶ (all) ─▶ Drain ⇄ Pause ─▶ (all) ─┐
//!                 │                ▼                                                   │
//!                 │              Stop ◀────────────────────────────────────────────────┘
//!                 ▼                ▼
//!               Sweep ◀─────────── ┘ ──▶ (the job's others) ──▶ PostStop ──▶ Sweep ──▶ Done
//! ```
//!
//! How far the stop of the process itself has come (its signal, QUIT, KILL) is independent of these stages: a drain
//! script may stop the process, and the process may end by itself while others are waited for.

mod halt;
mod stages;
mod waiting;

use std::time::Duration;

use super::{
    Action, Event, FLUSH_TIMEOUT, Machine, Pod, Policy, Progress, Request, Role, State, Target, Timer,
    post_start_interval, signal,
};

/// What belongs to the life of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// How the process is stopped.
    pub policy: Policy,
    /// Whether there is a process at all; without one there are only the job's scripts, and nothing can be requested.
    pub process: bool,
    /// Whether a hook runs before each start.
    pub hook: bool,
    /// Whether the hook is a program that starts the process in the background: its own end does not matter, and the process
    /// runs as soon as it is [found](Event::Found).
    pub follows: bool,
    /// Whether the first start waits for [`Event::MayStart`].
    pub start_waits: bool,
    /// How long the program has that stops the process, before its first signal; absent if there is no such program.
    pub stop_program: Option<Duration>,
    /// What runs beside the stop of the process if that is for good: tasks by their numbers. Their ends are waited for, as long
    /// as the process itself may take.
    pub stop_tasks: Vec<usize>,
    /// Whether post-start waits until [`Event::PodRuns`].
    pub post_start_waits: bool,
    /// Whether the job's scripts run when the pod stops, agreed with the other processes of the pod.
    pub scripts: bool,
    /// How long the others of the pod have to be asked to end, too, after this or the last of them was.
    pub window: Duration,
    /// What everything has to fit into if TERM requests the stop; without it, and with INT, scripts take their time.
    pub limits: Option<StopLimits>,
}

/// The times within which a process has to end, from the signal that asked for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StopLimits {
    /// After this time the process is stopped, whatever scripts still run.
    pub scripts: Duration,
    /// After this time everything that is left is killed.
    pub total: Duration,
    /// How long the process has before QUIT, instead of the policy's time.
    pub stop_timeout: Duration,
    /// How long it has between QUIT and KILL, instead of the policy's time.
    pub quit_timeout: Duration,
    /// How long the last output has to be read, after all that.
    pub flush: Duration,
}

/// How far the process' own stop has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Main {
    /// It does not run.
    None,
    /// It runs, or its hook does.
    Running,
    /// The program that stops it runs, or its effect is waited for.
    StopProgram,
    /// It has ended; the program that stopped it still runs.
    Outlived,
    Asked,
    Quit,
    Killed(u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Up,
    Halting { restart: bool },
    Halted,
    Window,
    PreStop,
    AwaitPreStops,
    Drain,
    Pause { again: bool },
    AwaitDrains,
    Stop,
    Sweep { then: Then, kills: u32 },
    AwaitJob,
    PostStop,
    Done,
}

/// What follows when nothing of the process is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    Halt,
    Start,
    /// What was asked of the pod.
    Window,
    AwaitJob,
    Done,
}

/// The state of a life.
#[derive(Debug, Clone)]
pub struct Life {
    plan: Plan,
    stage: Stage,
    main: Main,
    /// Whether what runs is the hook, or what has to run before is waited for.
    in_hook: bool,
    /// Whether the hook was started and has not ended.
    hook_runs: bool,
    /// Whether the stop program was started and has not ended.
    stop_runs: bool,
    /// The stop tasks that were started and have not ended.
    tasks: Vec<usize>,
    /// Whether the next start waits for others.
    waits: bool,
    /// How far the others see this one.
    progress: Progress,
    stop_requested: bool,
    /// Whether the stop has to fit into the limits.
    limited: bool,
    /// Whether post-start may be run.
    pod_runs: bool,
    /// How often post-start has failed beside this run of the process.
    post_start_failures: u32,
    /// Whether it is to be run again when its pause is over.
    post_start_again: bool,
    /// Whether the pod stops and this process runs its job's scripts.
    speaker: bool,
    pod: Pod,
    out: Vec<Action>,
}

impl Machine for Life {
    fn begin(&mut self) -> Vec<Action> {
        if self.waits {
            self.in_hook = true;
        } else if self.plan.process {
            self.start()
        } else {
            self.post_start()
        }
        std::mem::take(&mut self.out)
    }

    fn on(&mut self, event: Event) -> Vec<Action> {
        if !self.is_done() {
            self.handle(event);
        }
        std::mem::take(&mut self.out)
    }

    fn state(&self) -> State {
        match self.stage {
            Stage::Up if self.in_hook => State::Starting,
            Stage::Up => State::Running,
            Stage::Halting { .. } | Stage::Sweep { then: Then::Halt | Then::Start, .. } => State::Stopping,
            Stage::Halted => State::Stopped,
            Stage::Done => State::Ended,
            _ => State::Ending,
        }
    }

    fn progress(&self) -> Progress {
        self.progress
    }

    fn stop_requested(&self) -> bool {
        self.stop_requested
    }

    fn flush_timeout(&self) -> Duration {
        match self.plan.limits {
            Some(limits) if self.limited => limits.flush.min(FLUSH_TIMEOUT),
            _ => FLUSH_TIMEOUT,
        }
    }
}

impl Life {
    /// A process that is to be started.
    pub fn new(plan: Plan) -> Self {
        Life {
            pod_runs: !plan.post_start_waits,
            stage: Stage::Up,
            main: Main::None,
            in_hook: false,
            hook_runs: false,
            stop_runs: false,
            tasks: Vec::new(),
            waits: plan.start_waits,
            post_start_failures: 0,
            post_start_again: false,
            progress: Progress::None,
            stop_requested: false,
            limited: false,
            speaker: false,
            pod: Pod::default(),
            out: Vec::new(),
            plan,
        }
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Signal(signal::TERM) => self.asked(true),
            Event::Signal(signal::INT) => self.asked(false),
            Event::Signal(signal) | Event::Request(Request::Signal(signal)) => self.forward(signal),
            // Checks run programs without a process, too.
            Event::Request(request @ Request::Run(_)) => self.requested(request),
            Event::Request(request) if self.plan.process => self.requested(request),
            Event::MayStart => self.may_start(),
            Event::MustWait => self.must_wait(),
            Event::Started(Role::Main) => {
                self.in_hook = false;
                self.post_start_failures = 0;
                self.post_start();
            }
            Event::PodRuns if !self.pod_runs => {
                self.pod_runs = true;
                self.post_start();
            }
            Event::Exited(Role::Hook, _) | Event::Absent(Role::Hook) if self.plan.follows => self.start_program_ended(),
            Event::Exited(Role::Stop, _) | Event::Absent(Role::Stop) => self.stop_program_ended(event),
            Event::Exited(Role::Hook, exit) if exit.is_success() && self.stage == Stage::Up => self.start_main(),
            Event::Exited(Role::Hook | Role::Main, _) => self.main_ended(),
            Event::Exited(Role::PostStart, exit) if !exit.is_success() => self.post_start_failed(),
            Event::Exited(Role::Task(number), _) | Event::Absent(Role::Task(number)) => self.task_ended(number),
            Event::Exited(role, _) | Event::Absent(role) => self.script_ended(role),
            Event::Drained(drained) => self.drained(drained),
            Event::NoChildren => self.nothing_left(),
            Event::Timeout(timer) => self.timeout(timer),
            Event::Claimed(claimed) => self.claimed(claimed),
            Event::Pod(pod) => {
                let asked = std::mem::replace(&mut self.pod, pod).asked;
                self.look_at_the_pod();
                // The stop of the pod is under way: the remaining processes may be asked soon.
                if self.stage == Stage::Window && pod.asked > asked {
                    self.arm(Timer::Window, self.plan.window);
                }
            }
            Event::PodRuns | Event::Started(_) | Event::Request(_) | Event::Found(_) | Event::NotFound => {}
        }
    }

    /// BOSH: once everything runs.
    fn post_start(&mut self) {
        self.post_start_again = false;
        if self.pod_runs && self.is_running() {
            self.out.push(Action::Start(Role::PostStart));
        }
    }

    /// Unlike with a director, no one here notices that the process was only not ready yet, and tries again.
    fn post_start_failed(&mut self) {
        if self.is_running() {
            self.post_start_failures += 1;
            self.post_start_again = true;
            self.arm(Timer::PostStart, post_start_interval(self.post_start_failures));
        }
    }

    fn is_running(&self) -> bool {
        self.stage == Stage::Up && (self.main == Main::Running || !self.plan.process) && !self.in_hook
    }

    fn start(&mut self) {
        self.stage = Stage::Up;
        self.waits = false;
        if self.plan.hook {
            self.main = Main::Running;
            self.in_hook = true;
            self.hook_runs = true;
            self.out.push(Action::Start(Role::Hook));
        } else {
            self.start_main();
        }
    }

    fn start_main(&mut self) {
        self.main = Main::Running;
        self.in_hook = false;
        self.out.push(Action::Start(Role::Main));
    }

    fn requested(&mut self, request: Request) {
        if let Request::Run(number) = request {
            return self.out.push(Action::Start(Role::Task(number)));
        }
        if self.waits {
            return self.requested_while_waiting(request);
        }
        self.obey(request);
    }

    fn obey(&mut self, request: Request) {
        match (request, &mut self.stage) {
            (Request::Start | Request::Restart, Stage::Halted) => self.start(),
            (Request::Start | Request::Restart, Stage::Halting { restart }) => *restart = true,
            (Request::Start | Request::Restart, Stage::Sweep { then: then @ Then::Halt, .. }) => *then = Then::Start,
            (Request::Restart, Stage::Up) => self.halt(true),
            (Request::Stop, Stage::Up) => self.halt(false),
            (Request::Stop, Stage::Halting { restart }) => *restart = false,
            (Request::Stop, Stage::Sweep { then: then @ Then::Start, .. }) => *then = Then::Halt,
            // A drain script may stop the process that it drains.
            (Request::Stop, _) => self.ask_main(),
            _ => {}
        }
    }

    /// The process may still appear, unless it is to be stopped.
    fn start_program_ended(&mut self) {
        self.hook_runs = false;
        if self.in_hook && self.stage != Stage::Up {
            self.main_ended();
        }
    }

    fn main_ended(&mut self) {
        if self.main == Main::StopProgram && self.stop_runs {
            // It may have to clear up. Its time is limited by the same timer.
            self.main = Main::Outlived;
            return;
        }
        self.main = Main::None;
        self.in_hook = false;
        self.out.push(Action::Disarm(Timer::Main));
        match self.stage {
            Stage::Up => self.sweep(Then::Done),
            Stage::Halting { restart: true } => self.sweep(Then::Start),
            Stage::Halting { restart: false } => self.sweep(Then::Halt),
            Stage::Stop => self.sweep_after_stop(),
            // The stop of the pod goes on without it.
            _ => {}
        }
    }

    fn forward(&mut self, signal: i32) {
        if self.main != Main::None {
            self.signal_main(signal);
        }
    }

    fn signal_main(&mut self, signal: i32) {
        self.send(Target::Child(self.role()), signal);
    }

    fn role(&self) -> Role {
        if self.in_hook { Role::Hook } else { Role::Main }
    }

    fn send(&mut self, target: Target, signal: i32) {
        self.out.push(Action::Send(target, signal));
    }

    fn arm(&mut self, timer: Timer, after: Duration) {
        self.out.push(Action::Arm(timer, after));
    }
}

#[cfg(test)]
mod tests;
