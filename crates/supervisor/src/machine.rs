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

/// Numbers of the signals that the machines themselves know; they are the same on every Linux.
pub(crate) mod signal {
    pub(crate) const INT: i32 = 2;
    pub(crate) const QUIT: i32 = 3;
    pub(crate) const KILL: i32 = 9;
    pub(crate) const TERM: i32 = 15;
}

/// A process that was killed and is still there is killed again after this time: it may have had children in between.
pub(crate) const KILL_INTERVAL: Duration = Duration::from_millis(100);
/// So often; then the rest is left to the kernel (a process in an uninterruptible wait cannot be killed by anybody).
pub(crate) const KILL_ATTEMPTS: u32 = 50;

/// How long it takes until a post-start that has failed for the first time is run again; twice as long each further time.
const POST_START_INTERVAL: Duration = Duration::from_secs(1);
/// But no longer.
const LONGEST_POST_START_INTERVAL: Duration = Duration::from_secs(60);

/// How long it takes until a post-start that has failed so often is run again.
pub(crate) fn post_start_interval(failures: u32) -> Duration {
    let doubled = 1u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX);
    POST_START_INTERVAL.saturating_mul(doubled).min(LONGEST_POST_START_INTERVAL)
}

/// How long the last output has to reach a slow reader, where nothing limits it.
pub(crate) const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

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
    /// BPM's: TERM, 15 seconds, QUIT, 2 seconds.
    fn default() -> Self {
        Policy {
            stop_signal: signal::TERM,
            stop_timeout: Duration::from_secs(15),
            quit_timeout: Duration::from_secs(2),
        }
    }
}

/// A child, by what it is for.
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

/// A request from outside: from a control socket, say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Request {
    /// Start the process if it does not run; a stop that is under way is waited for.
    Start,
    /// Stop the process, and stay.
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
    /// It is to be asked again after this time.
    Again(Duration),
}

/// What the other processes of the pod do, as far as this one has to know it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pod {
    /// How many others live: their supervisors run, and their processes have not ended.
    pub others: u32,
    /// How many of those were asked to end.
    pub asked: u32,
    /// How many of those that were asked still have their job's pre-stop before them.
    pub before_pre_stopped: u32,
    /// How many of those that were asked still have their job's drain before them.
    pub before_drained: u32,
    /// How many of those that were asked are of the same job.
    pub of_the_job: u32,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The supervisor got this signal.
    Signal(i32),
    /// Somebody asks for something.
    Request(Request),
    /// A child that was to be started runs.
    Started(Role),
    /// A child ended, or could not be started (with the status that a shell gives then).
    Exited(Role, Exit),
    /// There is no such child to be started: the job has no such script.
    Absent(Role),
    /// The drain script ended.
    Drained(Drained),
    /// No child is left, not even an adopted one.
    NoChildren,
    /// The time armed last for this purpose is over.
    Timeout(Timer),
    /// What the other processes of the pod do now.
    Pod(Pod),
    /// All other processes of the pod run, for the first time.
    PodRuns,
    /// Whether this process is the one that runs its job's scripts.
    Claimed(bool),
    /// Everything that has to run before this process runs.
    MayStart,
    /// The process that is to be followed runs with this id. The loop turns it into [`Event::Started`].
    Found(i32),
    /// The process that is to be followed has not appeared in time. The loop turns it into [`Event::Exited`].
    NotFound,
}

/// What a time is measured for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Timer {
    /// The next step towards KILL for the process.
    Main,
    /// The next step towards KILL for everything.
    Sweep,
    /// Whether the whole pod stops.
    Window,
    /// The pause that a drain script asked for.
    Pause,
    /// The scripts before the process is stopped.
    Scripts,
    /// Everything.
    Total,
    /// The pause before post-start is run again.
    PostStart,
}

impl Timer {
    /// All of them, in the order of their numbers.
    pub const ALL: [Timer; 7] =
        [Timer::Main, Timer::Sweep, Timer::Window, Timer::Pause, Timer::Scripts, Timer::Total, Timer::PostStart];
}

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Start this child; reported as started, exited or absent.
    Start(Role),
    /// Send this signal.
    Send(Target, i32),
    /// Report [`Event::Timeout`] after this time, forgetting an earlier one.
    Arm(Timer, Duration),
    /// Forget about this time.
    Disarm(Timer),
    /// Report [`Event::NoChildren`] if that is so.
    Count,
    /// Find out whether this process runs its job's scripts.
    Claim,
    /// It is over: nothing is left to wait for.
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

/// What a machine is doing, for those who look at it from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// The hook runs, or the process is about to be started.
    Starting,
    /// The process runs.
    Running,
    /// The process was asked to end by a request, and has not yet.
    Stopping,
    /// The process was stopped by a request and can be started again.
    Stopped,
    /// The supervisor is on its way out: the pod stops, or the process ended by itself.
    Ending,
    /// Everything is over.
    Ended,
}

/// How far the stop of the pod has come, for the other processes of the pod.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Progress {
    /// Nobody asked.
    #[default]
    None,
    /// Asked to end.
    Asked,
    /// The job's pre-stop is over.
    PreStopped,
    /// The job's drain is over.
    Drained,
    /// The process has ended.
    Ended,
}

/// A pure state machine for the loop.
pub trait Machine {
    /// What to do first.
    fn begin(&mut self) -> Vec<Action>;
    /// What to do now that `event` happened.
    fn on(&mut self, event: Event) -> Vec<Action>;
    /// What it is doing.
    fn state(&self) -> State;
    /// How far the stop of the pod has come.
    fn progress(&self) -> Progress;
    /// Whether a signal asked for the end.
    fn stop_requested(&self) -> bool;
    /// How long the last output has to reach a slow reader once every process has ended.
    fn flush_timeout(&self) -> Duration {
        FLUSH_TIMEOUT
    }
    /// Whether descendants that still run at the end are left alone.
    fn leaves_descendants(&self) -> bool {
        false
    }
    /// Whether [`Action::Finish`] was given.
    fn is_done(&self) -> bool {
        self.state() == State::Ended
    }
}
