//! The stop of the pod, step by step, and the steps after the process has exited.

use super::{Life, Main, Stage, Then};
use crate::machine::{Action, Drained, KILL_ATTEMPTS, KILL_INTERVAL, Progress, Role, Target, Timer, signal};

impl Life {
    /// A signal requests the stop, within the limits if there are any and it is `limited`: also one that began without them.
    pub(super) fn asked(&mut self, limited: bool) {
        if limited && !std::mem::replace(&mut self.limited, true) {
            self.limit();
        }
        if std::mem::replace(&mut self.stop_requested, true) {
            return;
        }
        self.progress = Progress::Asked;
        match &mut self.stage {
            // A process that has not started needs no drain.
            Stage::Up if self.in_hook => self.stop(),
            Stage::Up | Stage::Halting { .. } | Stage::Halted if self.plan.scripts => self.open_window(),
            Stage::Up | Stage::Halting { .. } | Stage::Halted => self.stop(),
            // Scripts must not run while everything is being killed.
            Stage::Sweep { then: then @ (Then::Halt | Then::Start), .. } => *then = Then::Window,
            // The supervisor is exiting.
            _ => {}
        }
    }

    /// From now on the stop has to fit into the limits.
    fn limit(&mut self) {
        let Some(limits) = self.plan.limits else { return };
        self.arm(Timer::Scripts, limits.scripts);
        self.arm(Timer::Total, limits.total);
        let policy = &mut self.plan.policy;
        (policy.stop_timeout, policy.quit_timeout) = (limits.stop_timeout, limits.quit_timeout);
        // The stop program has the process' own time; the signals after it share the rest.
        if let Some(stop_program) = &mut self.plan.stop_program {
            *stop_program = (*stop_program).min(limits.stop_timeout);
            (policy.stop_timeout, policy.quit_timeout) = (limits.quit_timeout / 2, limits.quit_timeout / 2);
        }
    }

    /// Waits for the others of the pod to be stopped, too.
    fn open_window(&mut self) {
        self.stage = Stage::Window;
        self.arm(Timer::Window, self.plan.window);
    }

    /// The others have made progress, perhaps enough.
    pub(super) fn look_at_the_pod(&mut self) {
        match self.stage {
            Stage::Window if self.pod.asked == self.pod.others => {
                self.out.push(Action::Disarm(Timer::Window));
                self.stage = Stage::PreStop;
                self.out.push(Action::Claim);
            }
            Stage::AwaitPreStops if self.pod.before_pre_stopped == 0 => self.drain(),
            Stage::AwaitDrains if self.pod.before_drained == 0 => self.stop(),
            Stage::AwaitJob if self.pod.of_the_job == 0 => {
                self.stage = Stage::PostStop;
                self.out.push(Action::Start(Role::PostStop));
            }
            _ => {}
        }
    }

    pub(super) fn claimed(&mut self, claimed: bool) {
        if self.stage != Stage::PreStop {
            return;
        }
        self.speaker = claimed;
        if claimed {
            self.out.push(Action::Start(Role::PreStop));
        } else {
            self.pre_stopped();
        }
    }

    fn pre_stopped(&mut self) {
        self.progress = Progress::PreStopped;
        self.stage = Stage::AwaitPreStops;
        self.look_at_the_pod();
    }

    fn drain(&mut self) {
        if self.speaker {
            self.stage = Stage::Drain;
            self.out.push(Action::Start(Role::Drain));
        } else {
            self.all_drained();
        }
    }

    fn all_drained(&mut self) {
        self.progress = Progress::Drained;
        self.stage = Stage::AwaitDrains;
        self.look_at_the_pod();
    }

    pub(super) fn drained(&mut self, drained: Drained) {
        if self.stage != Stage::Drain {
            return;
        }
        let (again, pause) = match drained {
            Drained::After(pause) => (false, pause),
            Drained::Again(pause) => (true, pause),
        };
        if pause.is_zero() && !again {
            return self.all_drained();
        }
        self.stage = Stage::Pause { again };
        self.arm(Timer::Pause, pause);
    }

    pub(super) fn script_ended(&mut self, role: Role) {
        match (role, self.stage) {
            (Role::PreStop, Stage::PreStop) => self.pre_stopped(),
            // Without a script, or if it could not be run.
            (Role::Drain, Stage::Drain) => self.all_drained(),
            (Role::PostStop, Stage::PostStop) => self.sweep(Then::Done),
            // Nothing to start.
            (Role::Hook | Role::Main, _) => self.main_ended(),
            _ => {}
        }
    }

    /// Stops the process for good.
    fn stop(&mut self) {
        for timer in [Timer::Window, Timer::Pause, Timer::Scripts] {
            self.out.push(Action::Disarm(timer));
        }
        self.stage = Stage::Stop;
        // No scripts follow, so other processes need not wait for them.
        if self.progress == Progress::Asked || self.progress == Progress::PreStopped {
            self.progress = Progress::Drained;
        }
        self.tasks = std::mem::take(&mut self.plan.stop_tasks);
        self.out.extend(self.tasks.iter().map(|number| Action::Start(Role::Task(*number))));
        if self.main == Main::None {
            self.sweep_after_stop();
        } else {
            self.ask_main();
        }
    }

    /// The process has been stopped; what is to run beside that may take as long.
    pub(super) fn sweep_after_stop(&mut self) {
        if self.tasks.is_empty() {
            self.sweep(if self.speaker { Then::AwaitJob } else { Then::Done });
        } else {
            self.arm(Timer::Main, self.plan.policy.stop_timeout);
        }
    }

    pub(super) fn task_ended(&mut self, number: usize) {
        let before = self.tasks.len();
        self.tasks.retain(|task| *task != number);
        let was_last = before > 0 && self.tasks.is_empty();
        if was_last && self.main == Main::None && self.stage == Stage::Stop {
            self.out.push(Action::Disarm(Timer::Main));
            self.sweep_after_stop();
        }
    }

    /// The tasks beside the stop have had their time.
    pub(super) fn tasks_timed_out(&mut self) {
        if self.stage == Stage::Stop && !self.tasks.is_empty() {
            self.tasks.clear();
            self.sweep_after_stop();
        }
    }

    /// Terminates, and then kills, what descends from this process.
    pub(super) fn sweep(&mut self, then: Then) {
        self.stage = Stage::Sweep { then, kills: 0 };
        self.send(Target::Everything, signal::TERM);
        self.arm(Timer::Sweep, self.plan.policy.quit_timeout);
        self.out.push(Action::Count);
    }

    fn kill_everything(&mut self, then: Then, kills: u32) {
        self.stage = Stage::Sweep { then, kills };
        self.send(Target::Everything, signal::KILL);
        self.arm(Timer::Sweep, KILL_INTERVAL);
        self.out.push(Action::Count);
    }

    pub(super) fn nothing_left(&mut self) {
        let Stage::Sweep { then, .. } = self.stage else { return };
        self.main = Main::None;
        self.in_hook = false;
        self.out.push(Action::Disarm(Timer::Sweep));
        match then {
            Then::Halt => self.stage = Stage::Halted,
            Then::Start => self.start_again(),
            Then::Window => {
                self.stage = Stage::Halted;
                if self.plan.scripts { self.open_window() } else { self.finish() }
            }
            Then::AwaitJob => {
                self.progress = Progress::Ended;
                self.stage = Stage::AwaitJob;
                self.look_at_the_pod();
            }
            Then::Done => self.finish(),
        }
    }

    fn finish(&mut self) {
        if self.stop_requested {
            self.progress = Progress::Ended;
        }
        self.stage = Stage::Done;
        self.out.push(Action::Finish);
    }

    pub(super) fn timeout(&mut self, timer: Timer) {
        match (timer, self.stage) {
            (Timer::Main, _) => self.escalate_main(),
            (Timer::Sweep, Stage::Sweep { then, kills }) if kills < KILL_ATTEMPTS => {
                self.kill_everything(then, kills + 1);
            }
            // What is left cannot be killed; it is not waited for any longer.
            (Timer::Sweep, Stage::Sweep { .. }) => self.nothing_left(),
            // No other process is stopping: this one is to be stopped, not the pod.
            (Timer::Window, Stage::Window) => self.stop(),
            (Timer::Pause, Stage::Pause { again: true }) => {
                self.stage = Stage::Drain;
                self.out.push(Action::Start(Role::Drain));
            }
            (Timer::Pause, Stage::Pause { again: false }) => self.all_drained(),
            (Timer::PostStart, _) if self.post_start_again => self.post_start(),
            (Timer::Scripts, _) => self.out_of_time(),
            (Timer::Total, Stage::AwaitJob) => self.finish(),
            (Timer::Total, _) => self.kill_everything(Then::Done, 1),
            _ => {}
        }
    }

    /// The scripts' time is over; processes that still run are terminated, and finally killed with everything else.
    fn out_of_time(&mut self) {
        let script = match self.stage {
            Stage::PreStop => Some(Role::PreStop),
            Stage::Drain => Some(Role::Drain),
            Stage::Window | Stage::AwaitPreStops | Stage::Pause { .. } | Stage::AwaitDrains => None,
            _ => return,
        };
        if let Some(script) = script {
            self.send(Target::Group(script), signal::TERM);
        }
        self.stop();
    }
}
