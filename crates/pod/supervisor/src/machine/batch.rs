//! Programs that run side by side until each has exited.
//!
//! ```text
//! Running ──TERM or INT──▶ Asked ──stop timeout──▶ Quit ──quit timeout──▶ Killing ──▶ Done
//!    │                       │                       │                       ▲  ▲
//!    │                       └──────▶ Leftovers ◀────┘ ──── quit timeout ────┘  │
//!    └───── all ended ──────────────────────────────────────────────────────────┘
//! ```
//!
//! The steps are BPM's: the shutdown signal, after 15 s QUIT, after 2 s KILL. As with BPM the first two go to the process
//! itself and KILL to everything below it; after a stop, the programs' descendants are terminated and then killed.
//! Descendants of programs that exit without a stop are kept, as with BOSH's agent: a pre-start may start a daemon.

use std::time::Duration;

use super::{
    Action, Event, KILL_ATTEMPTS, KILL_INTERVAL, Machine, Policy, Progress, Role, State, Target, Timer, signal,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    Asked,
    Quit,
    Leftovers,
    Killing { attempts: u32 },
    Done,
}

/// Programs that run side by side.
#[derive(Debug, Clone)]
pub struct Batch {
    policy: Policy,
    phase: Phase,
    alive: Vec<bool>,
    stop_requested: bool,
}

impl Machine for Batch {
    fn begin(&mut self) -> Vec<Action> {
        (0..self.alive.len()).map(|number| Action::Start(Role::Task(number))).collect()
    }

    fn on(&mut self, event: Event) -> Vec<Action> {
        match event {
            _ if self.is_done() => Vec::new(),
            Event::Signal(signal::TERM | signal::INT) => self.stop(),
            Event::Signal(signal) => self.to_alive(signal),
            Event::Exited(Role::Task(number), _) => self.exited(number),
            Event::NoChildren if self.any_alive() => Vec::new(),
            Event::NoChildren => self.finish(),
            Event::Timeout(Timer::Sweep) => self.escalate(),
            _ => Vec::new(),
        }
    }

    fn state(&self) -> State {
        match self.phase {
            Phase::Running => State::Running,
            Phase::Asked | Phase::Quit => State::Stopping,
            Phase::Leftovers | Phase::Killing { .. } => State::Ending,
            Phase::Done => State::Ended,
        }
    }

    fn progress(&self) -> Progress {
        Progress::None
    }

    fn stop_requested(&self) -> bool {
        self.stop_requested
    }

    fn leaves_descendants(&self) -> bool {
        !self.stop_requested
    }
}

impl Batch {
    /// As many programs, all of them to be started at once.
    pub fn new(programs: usize, policy: Policy) -> Self {
        Batch { policy, phase: Phase::Running, alive: vec![true; programs], stop_requested: false }
    }

    fn stop(&mut self) -> Vec<Action> {
        self.stop_requested = true;
        if self.phase != Phase::Running {
            return Vec::new();
        }
        self.phase = Phase::Asked;
        let mut actions = self.to_alive(self.policy.stop_signal);
        actions.push(arm(self.policy.stop_timeout));
        actions
    }

    fn exited(&mut self, process: usize) -> Vec<Action> {
        if let Some(alive) = self.alive.get_mut(process) {
            *alive = false;
        }
        if self.any_alive() || matches!(self.phase, Phase::Leftovers | Phase::Killing { .. }) {
            return Vec::new();
        }
        if !self.stop_requested {
            return self.finish();
        }
        self.phase = Phase::Leftovers;
        vec![Action::Send(Target::Everything, signal::TERM), arm(self.policy.quit_timeout), Action::Count]
    }

    fn escalate(&mut self) -> Vec<Action> {
        match self.phase {
            Phase::Asked => {
                self.phase = Phase::Quit;
                let mut actions = self.to_alive(signal::QUIT);
                actions.push(arm(self.policy.quit_timeout));
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
        vec![Action::Send(Target::Everything, signal::KILL), arm(KILL_INTERVAL)]
    }

    fn finish(&mut self) -> Vec<Action> {
        self.phase = Phase::Done;
        vec![Action::Finish]
    }

    fn to_alive(&self, signal: i32) -> Vec<Action> {
        let alive = self.alive.iter().enumerate().filter(|(_, alive)| **alive);
        alive.map(|(process, _)| Action::Send(Target::Child(Role::Task(process)), signal)).collect()
    }

    fn any_alive(&self) -> bool {
        self.alive.contains(&true)
    }
}

fn arm(after: Duration) -> Action {
    Action::Arm(Timer::Sweep, after)
}

#[cfg(test)]
mod tests;
