//! What to do when: the whole life of supervised processes, without a single system call.
//!
//! ```text
//! Running ──TERM or INT──▶ Asked ──stop timeout──▶ Quit ──quit timeout──▶ Killing ──▶ Done
//!    │                       │                       │                       ▲
//!    └───── all ended ───────┴──────▶ Leftovers ◀────┘ ──── quit timeout ────┘
//! ```
//!
//! The steps are BPM's: the shutdown signal, after 15 s QUIT, after 2 s KILL. As with BPM the first two go to the process
//! itself and KILL to everything below it; what a process leaves behind when it ends is terminated and then killed.

use std::time::Duration;

use crate::exit::Exit;

/// Numbers of the signals that the machine itself knows; they are the same on every Linux.
mod signal {
    pub(super) const INT: i32 = 2;
    pub(super) const QUIT: i32 = 3;
    pub(super) const KILL: i32 = 9;
    pub(super) const TERM: i32 = 15;
}

/// A process that was killed and is still there is killed again after this time: it may have had children in between.
const KILL_INTERVAL: Duration = Duration::from_millis(100);
/// So often; then the rest is left to the kernel (a process in an uninterruptible wait cannot be killed by anybody).
const KILL_ATTEMPTS: u32 = 50;

/// How processes are stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// The signal that asks a process to stop.
    pub stop_signal: i32,
    /// How long it has before QUIT.
    pub stop_timeout: Duration,
    /// How long it has between QUIT and KILL; as long has what it left behind between TERM and KILL.
    pub quit_timeout: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        Policy {
            stop_signal: signal::TERM,
            stop_timeout: Duration::from_secs(15),
            quit_timeout: Duration::from_secs(2),
        }
    }
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The supervisor got this signal.
    Signal(i32),
    /// The supervised process with this number ended.
    Exited(usize, Exit),
    /// No child is left, not even an adopted one.
    NoChildren,
    /// The time armed last is over.
    Deadline,
}

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Send this signal.
    Send(Target, i32),
    /// Report [`Event::Deadline`] after this time, forgetting an earlier one.
    Arm(Duration),
    /// It is over: nothing is left to wait for.
    Finish,
}

/// Who gets a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// The supervised process with this number.
    Process(usize),
    /// Every descendant, adopted ones too.
    Everything,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    Asked,
    Quit,
    Leftovers,
    Killing { attempts: u32 },
    Done,
}

/// The state of a run.
#[derive(Debug, Clone)]
pub struct Machine {
    policy: Policy,
    phase: Phase,
    alive: Vec<bool>,
    stop_requested: bool,
}

impl Machine {
    /// Supervises as many processes, all of them just started.
    pub fn new(processes: usize, policy: Policy) -> Self {
        Machine { policy, phase: Phase::Running, alive: vec![true; processes], stop_requested: false }
    }

    /// Whether a signal asked for the end.
    pub fn stop_requested(&self) -> bool {
        self.stop_requested
    }

    /// Whether [`Action::Finish`] was given.
    pub fn is_done(&self) -> bool {
        self.phase == Phase::Done
    }

    /// What to do now that `event` happened.
    pub fn on(&mut self, event: Event) -> Vec<Action> {
        match event {
            _ if self.is_done() => Vec::new(),
            Event::Signal(signal::TERM | signal::INT) => self.stop(),
            Event::Signal(signal) => self.to_alive(signal),
            Event::Exited(process, _) => self.exited(process),
            Event::NoChildren if self.any_alive() => Vec::new(),
            Event::NoChildren => self.finish(),
            Event::Deadline => self.escalate(),
        }
    }

    fn stop(&mut self) -> Vec<Action> {
        self.stop_requested = true;
        if self.phase != Phase::Running {
            return Vec::new();
        }
        self.phase = Phase::Asked;
        let mut actions = self.to_alive(self.policy.stop_signal);
        actions.push(Action::Arm(self.policy.stop_timeout));
        actions
    }

    fn exited(&mut self, process: usize) -> Vec<Action> {
        if let Some(alive) = self.alive.get_mut(process) {
            *alive = false;
        }
        if self.any_alive() || matches!(self.phase, Phase::Leftovers | Phase::Killing { .. }) {
            return Vec::new();
        }
        self.phase = Phase::Leftovers;
        vec![Action::Send(Target::Everything, signal::TERM), Action::Arm(self.policy.quit_timeout)]
    }

    fn escalate(&mut self) -> Vec<Action> {
        match self.phase {
            Phase::Asked => {
                self.phase = Phase::Quit;
                let mut actions = self.to_alive(signal::QUIT);
                actions.push(Action::Arm(self.policy.quit_timeout));
                actions
            }
            Phase::Quit | Phase::Leftovers => self.kill(1),
            Phase::Killing { attempts } if attempts >= KILL_ATTEMPTS => self.finish(),
            Phase::Killing { attempts } => self.kill(attempts + 1),
            // Nothing was armed.
            Phase::Running | Phase::Done => Vec::new(),
        }
    }

    fn kill(&mut self, attempts: u32) -> Vec<Action> {
        self.phase = Phase::Killing { attempts };
        vec![Action::Send(Target::Everything, signal::KILL), Action::Arm(KILL_INTERVAL)]
    }

    fn finish(&mut self) -> Vec<Action> {
        self.phase = Phase::Done;
        vec![Action::Finish]
    }

    fn to_alive(&self, signal: i32) -> Vec<Action> {
        let alive = self.alive.iter().enumerate().filter(|(_, alive)| **alive);
        alive.map(|(process, _)| Action::Send(Target::Process(process), signal)).collect()
    }

    fn any_alive(&self) -> bool {
        self.alive.contains(&true)
    }
}

#[cfg(test)]
mod tests;
