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
    /// The watch time is over.
    TimedOut,
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

    /// Takes an observation: whether there are processes, and whether all of them, and what runs the scripts of jobs without
    /// any, run; `at` is the time since the start.
    pub(crate) fn observe(&mut self, at: Duration, has_processes: bool, all_run: bool) -> Decision {
        if !all_run {
            self.running_since = None;
            return if at > self.limit { Decision::TimedOut } else { Decision::Wait };
        }
        let since = *self.running_since.get_or_insert(at);
        if at - since >= SETTLE || !has_processes { Decision::Started } else { Decision::Wait }
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

    #[test]
    fn processes_have_started_when_all_have_run_for_a_second() {
        let mut watch = StartWatch::new(seconds(60.0));
        assert_eq!(watch.observe(seconds(0.0), true, false), Decision::Wait);
        assert_eq!(watch.observe(seconds(5.0), true, true), Decision::Wait);
        assert_eq!(watch.observe(seconds(5.9), true, true), Decision::Wait);
        assert_eq!(watch.observe(seconds(6.0), true, true), Decision::Started);
        let mut without_processes = StartWatch::new(seconds(60.0));
        assert_eq!(without_processes.observe(Duration::ZERO, false, false), Decision::Wait);
        assert_eq!(without_processes.observe(Duration::ZERO, false, true), Decision::Started);
    }

    #[test]
    fn a_process_that_exits_may_yet_run_until_the_watch_time_is_over() {
        let mut watch = StartWatch::new(seconds(60.0));
        assert_eq!(watch.observe(seconds(2.0), true, true), Decision::Wait);
        assert_eq!(watch.observe(seconds(2.5), true, false), Decision::Wait);
        assert_eq!(watch.observe(seconds(3.2), true, true), Decision::Wait);
        assert_eq!(watch.observe(seconds(60.0), true, false), Decision::Wait);
        assert_eq!(watch.observe(seconds(60.1), true, false), Decision::TimedOut);
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
