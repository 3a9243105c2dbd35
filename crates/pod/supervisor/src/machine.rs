//! What to do when, without a single system call: events in, actions out, no clock.
//!
//! There are two machines. [`Batch`] runs programs side by side to their end, as hooks are. [`Life`] is the whole life of
//! one process in a pod: its hooks, its start and stop on request, and the stop of the pod.

mod batch;
mod life;

use std::time::Duration;

pub use batch::Batch;
pub use life::{Life, Plan, StopLimits};

use crate::exit::Exit;

/// Numbers of the signals that the machines use; they are the same on every Linux.
pub(crate) mod signal {
    pub(crate) const INT: i32 = 2;
    pub(crate) const QUIT: i32 = 3;
    pub(crate) const KILL: i32 = 9;
    pub(crate) const TERM: i32 = 15;
}

/// A process that still exists after KILL is killed again after this time: it may have had children in between.
pub(crate) const KILL_INTERVAL: Duration = Duration::from_millis(100);
/// How often; then the rest is left to the kernel (a process in an uninterruptible wait cannot be killed).
pub(crate) const KILL_ATTEMPTS: u32 = 50;

/// The delay before a failed post-start script is run again; it doubles with each further failure.
const POST_START_INTERVAL: Duration = Duration::from_secs(1);
/// The maximum of that delay.
const LONGEST_POST_START_INTERVAL: Duration = Duration::from_secs(60);

/// The delay before a post-start script that has failed this often is run again.
pub(crate) fn post_start_interval(failures: u32) -> Duration {
    let doubled = 1u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX);
    POST_START_INTERVAL.saturating_mul(doubled).min(LONGEST_POST_START_INTERVAL)
}

/// How long a slow reader has for the last output, if nothing else limits it.
pub(crate) const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// How processes are stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// The signal that stops a process.
    pub stop_signal: i32,
    /// How long it has before QUIT.
    pub stop_timeout: Duration,
    /// How long it has between QUIT and KILL; leftover processes have as long between TERM and KILL.
    pub quit_timeout: Duration,
}

impl Default for Policy {
    /// BPM's: TERM, 15 seconds, QUIT, 2 seconds.
    fn default() -> Self {
        Policy {
            stop_signal: signal::TERM,
            stop_timeout: Duration::from_secs(15),
            quit_timeout: Duration::from_secs(2),
        }
    }
}

/// A child, by its purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// One of several programs that run side by side, by its number.
    Task(usize),
    /// BPM's `hooks.pre_start`.
    Hook,
    /// The process itself.
    Main,
    /// The program that stops the process: `stop program` of monit.
    Stop,
    /// BOSH's `post-start` script, beside the running process.
    PostStart,
    /// BOSH's `pre-stop` script.
    PreStop,
    /// BOSH's `drain` script.
    Drain,
    /// BOSH's `post-stop` script.
    PostStop,
}

/// A request from outside, for example from a control socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Request {
    /// Start the process if it does not run; a stop that is under way is waited for.
    Start,
    /// Stop the process, and keep the supervisor running.
    Stop,
    /// Stop the process if it runs, then start it.
    Restart,
    /// Send the process this signal.
    Signal(i32),
    /// Run the [`Role::Task`] with this number beside the process.
    Run(usize),
}

/// How a run of the drain script ended, by BOSH's rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drained {
    /// It is done; the process may be stopped after this time.
    After(Duration),
    /// The script is to be run again after this time.
    Again(Duration),
}

/// The state of the other processes of the pod, as far as this one needs it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pod {
    /// How many others are alive: their supervisors run, and their processes have not exited.
    pub others: u32,
    /// How many of those are stopping.
    pub asked: u32,
    /// How many of the stopping ones have not completed their job's pre-stop.
    pub before_pre_stopped: u32,
    /// How many of the stopping ones have not completed their job's drain.
    pub before_drained: u32,
    /// How many of the stopping ones belong to the same job.
    pub of_the_job: u32,
}

/// An event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The supervisor got this signal.
    Signal(i32),
    /// A request was received.
    Request(Request),
    /// A started child runs.
    Started(Role),
    /// A child exited, or could not be started (with the status that a shell returns then).
    Exited(Role, Exit),
    /// The child does not exist: the job does not have the script.
    Absent(Role),
    /// The drain script exited.
    Drained(Drained),
    /// No child is left, not even an adopted one.
    NoChildren,
    /// The time armed for this purpose has passed.
    Timeout(Timer),
    /// The new state of the other processes of the pod.
    Pod(Pod),
    /// All other processes of the pod run, for the first time.
    PodRuns,
    /// Whether this process is the one that runs its job's scripts.
    Claimed(bool),
    /// All dependencies of this process run.
    MayStart,
    /// A dependency of this process does not run any more, or was started again.
    MustWait,
    /// The process to follow runs with this id. The loop turns it into [`Event::Started`].
    Found(i32),
    /// The process to follow has not appeared in time. The loop turns it into [`Event::Exited`].
    NotFound,
}

/// The purpose of a timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Timer {
    /// The next step towards KILL for the process.
    Main,
    /// The next step towards KILL for all processes.
    Sweep,
    /// Whether the whole pod stops.
    Window,
    /// The pause that a drain script asked for.
    Pause,
    /// The scripts before the process is stopped.
    Scripts,
    /// The total time of the stop.
    Total,
    /// The pause before post-start is run again.
    PostStart,
}

impl Timer {
    /// All of them, in the order of their numbers.
    pub const ALL: [Timer; 7] =
        [Timer::Main, Timer::Sweep, Timer::Window, Timer::Pause, Timer::Scripts, Timer::Total, Timer::PostStart];
}

/// An action for the loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Start this child; reported as started, exited or absent.
    Start(Role),
    /// Send this signal.
    Send(Target, i32),
    /// Report [`Event::Timeout`] after this time, forgetting an earlier one.
    Arm(Timer, Duration),
    /// Cancel this timer.
    Disarm(Timer),
    /// Report [`Event::NoChildren`] if no children are left.
    Count,
    /// Find out whether this process runs its job's scripts.
    Claim,
    /// Finish: nothing is left to wait for.
    Finish,
}

/// The receivers of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// This child.
    Child(Role),
    /// This child and its process group.
    Group(Role),
    /// Every descendant, adopted ones too.
    Everything,
}

/// The state of a machine, for outside observers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// The hook runs, or the process is about to be started.
    Starting,
    /// The process runs.
    Running,
    /// A request has asked the process to stop, and it has not exited yet.
    Stopping,
    /// The process was stopped by a request and can be started again.
    Stopped,
    /// The supervisor is exiting: the pod stops, or the process exited.
    Ending,
    /// Everything has finished.
    Ended,
}

/// The progress of the pod's stop, for the other processes of the pod.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Progress {
    /// No stop was requested.
    #[default]
    None,
    /// A stop was requested.
    Asked,
    /// The job's pre-stop has completed.
    PreStopped,
    /// The job's drain has completed.
    Drained,
    /// The process has exited.
    Ended,
}

/// A pure state machine for the loop.
pub trait Machine {
    /// The first actions.
    fn begin(&mut self) -> Vec<Action>;
    /// The actions after `event`.
    fn on(&mut self, event: Event) -> Vec<Action>;
    /// The current state.
    fn state(&self) -> State;
    /// The progress of the pod's stop.
    fn progress(&self) -> Progress;
    /// Whether a signal requested the stop.
    fn stop_requested(&self) -> bool;
    /// How long a slow reader has for the last output once every process has exited.
    fn flush_timeout(&self) -> Duration {
        FLUSH_TIMEOUT
    }
    /// Whether descendants that still run at the end are left running.
    fn leaves_descendants(&self) -> bool {
        false
    }
    /// Whether [`Action::Finish`] was given.
    fn is_done(&self) -> bool {
        self.state() == State::Ended
    }
}
