//! When a group counts as started, and when its start has failed: decisions only. `start` observes the instances and carries
//! the decisions out.

use std::time::Duration;

use handoff::hook_state::{HookState, State as ScriptState};
use problem::Class;

/// How long all processes must have run for their start to count as successful. BOSH asks for the first time when the lower
/// watch time is over, and takes the first answer; boson asks from the start on.
const SETTLE: Duration = Duration::from_secs(1);

/// How often a post-start script may fail: it runs again after one second, and then after two.
const POST_START_ATTEMPTS: u32 = 3;

/// What follows from the observations so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Observe again.
    Wait,
    /// All processes run.
    Started,
    /// The watch time is over, or a process cannot run.
    Failed,
}

/// What is seen of the processes at one moment.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Observation {
    /// Whether there are processes.
    pub(crate) has_processes: bool,
    /// Whether all of them run, and what runs the scripts of jobs without processes.
    pub(crate) all_run: bool,
    /// Whether one of them does not run and has exited as a program does that does not exist, or cannot be executed; not before the
    /// others run or have exited, so that all that fail in the same way are reported.
    pub(crate) cannot_run: bool,
}

/// Whether this exit status is that of a program that does not exist (127) or cannot be executed (126): another attempt does not help.
pub(crate) fn cannot_run(exit: u8) -> bool {
    matches!(exit, 126 | 127)
}

/// The start of the processes of some instances. A process that exits is started again, so it may yet run in time.
#[derive(Debug)]
pub(crate) struct StartWatch {
    /// How long it may take: the upper watch time of the group's `update`.
    limit: Duration,
    running_since: Option<Duration>,
}

impl StartWatch {
    pub(crate) fn new(limit: Duration) -> StartWatch {
        StartWatch { limit, running_since: None }
    }

    /// Takes an observation; `at` is the time since the start. A process that cannot run ends the start.
    pub(crate) fn observe(&mut self, at: Duration, seen: Observation) -> Decision {
        if !seen.all_run {
            self.running_since = None;
            return if at > self.limit || seen.cannot_run { Decision::Failed } else { Decision::Wait };
        }
        let since = *self.running_since.get_or_insert(at);
        if at - since >= SETTLE || !seen.has_processes { Decision::Started } else { Decision::Wait }
    }
}

/// How the post-start scripts beside an instance's processes have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PostStart {
    /// Not yet. There is no limit, as in BOSH.
    Pending,
    /// All of them have succeeded.
    Succeeded,
    /// One has failed as often as it may; the exit code.
    Failed(u8),
}

impl PostStart {
    /// Judges the states of all scripts.
    pub(crate) fn of(scripts: &[HookState]) -> PostStart {
        let has_failed =
            |script: &&HookState| script.state == ScriptState::Failed && script.attempt >= POST_START_ATTEMPTS;
        match scripts.iter().find(has_failed) {
            Some(script) => PostStart::Failed(script.exit_code.unwrap_or(Class::Internal.exit_code())),
            None if scripts.iter().all(|script| script.state == ScriptState::Succeeded) => PostStart::Succeeded,
            None => PostStart::Pending,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(n: f64) -> Duration {
        Duration::from_secs_f64(n)
    }

    const RUNNING: Observation = Observation { has_processes: true, all_run: true, cannot_run: false };
    const STARTING: Observation = Observation { all_run: false, ..RUNNING };

    #[test]
    fn processes_have_started_when_all_have_run_for_a_second() {
        let mut watch = StartWatch::new(seconds(60.0));
        assert_eq!(watch.observe(seconds(0.0), STARTING), Decision::Wait);
        assert_eq!(watch.observe(seconds(5.0), RUNNING), Decision::Wait);
        assert_eq!(watch.observe(seconds(5.9), RUNNING), Decision::Wait);
        assert_eq!(watch.observe(seconds(6.0), RUNNING), Decision::Started);
        let mut without_processes = StartWatch::new(seconds(60.0));
        assert_eq!(without_processes.observe(Duration::ZERO, Observation::default()), Decision::Wait);
        let ready = Observation { has_processes: false, ..RUNNING };
        assert_eq!(without_processes.observe(Duration::ZERO, ready), Decision::Started);
    }

    #[test]
    fn a_process_that_exits_may_yet_run_until_the_watch_time_is_over() {
        let mut watch = StartWatch::new(seconds(60.0));
        assert_eq!(watch.observe(seconds(2.0), RUNNING), Decision::Wait);
        assert_eq!(watch.observe(seconds(2.5), STARTING), Decision::Wait);
        assert_eq!(watch.observe(seconds(3.2), RUNNING), Decision::Wait);
        assert_eq!(watch.observe(seconds(60.0), STARTING), Decision::Wait);
        assert_eq!(watch.observe(seconds(60.1), STARTING), Decision::Failed);
    }

    #[test]
    fn a_program_that_is_missing_ends_the_start_at_once() {
        assert!([126, 127].into_iter().all(cannot_run) && ![0, 1, 125, 128, 143].into_iter().any(cannot_run));
        let missing = Observation { cannot_run: true, ..STARTING };
        let mut watch = StartWatch::new(seconds(60.0));
        assert_eq!(watch.observe(seconds(2.0), STARTING), Decision::Wait);
        assert_eq!(watch.observe(seconds(2.1), missing), Decision::Failed);
    }

    #[test]
    fn post_start_fails_with_its_last_attempt() {
        let script =
            |state, attempt, exit_code| HookState { state, attempt, exit_code, since: 0, last_lines: Vec::new() };
        let succeeded = script(ScriptState::Succeeded, 1, Some(0));
        let again = script(ScriptState::Failed, 2, Some(3));
        let failed = script(ScriptState::Failed, 3, Some(3));
        let lost = script(ScriptState::Failed, 3, None);
        assert_eq!(PostStart::of(&[]), PostStart::Succeeded);
        assert_eq!(PostStart::of(&[succeeded.clone(), again.clone()]), PostStart::Pending);
        assert_eq!(PostStart::of(&[again, failed, succeeded.clone()]), PostStart::Failed(3));
        assert_eq!(PostStart::of(&[succeeded.clone(), lost]), PostStart::Failed(70));
        assert_eq!(PostStart::of(&[succeeded]), PostStart::Succeeded);
    }
}
