//! The stop of the process itself: its signal or stop program, QUIT, KILL.

use super::{Life, Main, Stage};
use crate::machine::{Action, Event, KILL_ATTEMPTS, KILL_INTERVAL, Role, Target, Timer, signal};

impl Life {
    pub(super) fn stop_program_ended(&mut self, event: Event) {
        self.stop_runs = false;
        match self.main {
            Main::Outlived => self.main_ended(),
            // It could not be run, so nothing will come of it.
            Main::StopProgram if matches!(event, Event::Absent(_)) => self.signal_to_stop(),
            _ => {}
        }
    }

    pub(super) fn halt(&mut self, restart: bool) {
        self.stage = Stage::Halting { restart };
        self.ask_main();
    }

    /// The first step of the process' own stop.
    pub(super) fn ask_main(&mut self) {
        if self.main != Main::Running {
            return;
        }
        if self.plan.follows && self.in_hook && !self.hook_runs {
            // It has not appeared yet; what the start program left behind is terminated.
            return self.main_ended();
        }
        match self.plan.stop_program.filter(|_| !self.in_hook) {
            Some(timeout) => {
                self.main = Main::StopProgram;
                self.stop_runs = true;
                self.out.push(Action::Start(Role::Stop));
                self.arm(Timer::Main, timeout);
            }
            None => self.signal_to_stop(),
        }
    }

    pub(super) fn signal_to_stop(&mut self) {
        self.signal_main(self.plan.policy.stop_signal);
        self.main = Main::Asked;
        self.arm(Timer::Main, self.plan.policy.stop_timeout);
    }

    pub(super) fn escalate_main(&mut self) {
        match self.main {
            Main::StopProgram => self.signal_to_stop(),
            Main::Outlived => {
                self.stop_runs = false;
                self.main_ended();
            }
            Main::Asked => {
                self.signal_main(signal::QUIT);
                self.main = Main::Quit;
                self.arm(Timer::Main, self.plan.policy.quit_timeout);
            }
            Main::Quit => self.kill_main(1),
            Main::Killed(kills) if kills < KILL_ATTEMPTS => self.kill_main(kills + 1),
            // Nobody can kill it; it is not waited for any longer.
            Main::Killed(_) => self.main_ended(),
            Main::None => self.tasks_timed_out(),
            Main::Running => {}
        }
    }

    /// With all that descends from it; while scripts run, only with its group, in which they are not.
    pub(super) fn kill_main(&mut self, kills: u32) {
        self.main = Main::Killed(kills);
        match self.stage {
            Stage::Halting { .. } | Stage::Stop => self.send(Target::Everything, signal::KILL),
            _ => self.send(Target::Group(self.role()), signal::KILL),
        }
        self.arm(Timer::Main, KILL_INTERVAL);
    }
}
