//! When a group counts as started, and when its start has failed: decisions only. `start` observes the instances and carries
//! the decisions out.

use std::time::Duration;

use handoff::hook_state::{HookState, State as ScriptState};
use problem::Class;

/// How long a group's processes may take from their start until all of them run.
pub(crate) const START_LIMIT: Duration = Duration::from_secs(60);

/// How long all processes of a group must have run for the group to count as started; and how long other instances have to
/// fail, too, before the failures are reported together.
const SETTLE: Duration = Duration::from_secs(1);

/// How often a post-start script may fail: it runs again after one second, and then after two.
const POST_START_ATTEMPTS: u32 = 3;

/// A group's processes at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Observation {
    /// Whether a process has exited on its own.
    pub(crate) ended_early: bool,
    /// Whether a process does not run yet.
    pub(crate) waiting: bool,
}

/// What follows from the observations so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Observe again.
    Wait,
    /// The group has started.
    Started,
    /// The processes that have exited are the reason why the start has failed.
    EndedEarly,
    /// The processes that do not run yet are the reason.
    TimedOut,
}

/// The start of one group.
#[derive(Debug, Default)]
pub(crate) struct StartWatch {
    /// Whether the group has processes at all.
    has_processes: bool,
    running_since: Option<Duration>,
    ended_since: Option<Duration>,
}

impl StartWatch {
    pub(crate) fn new(has_processes: bool) -> StartWatch {
        StartWatch { has_processes, ..StartWatch::default() }
    }

    /// Takes an observation, `at` being the time since the start.
    pub(crate) fn observe(&mut self, at: Duration, seen: &Observation) -> Decision {
        if seen.ended_early || self.ended_since.is_some() {
            // What is wrong with one instance is mostly wrong with all of them.
            let since = *self.ended_since.get_or_insert(at);
            return if at - since >= SETTLE { Decision::EndedEarly } else { Decision::Wait };
        }
        if seen.waiting {
            return if at > START_LIMIT { Decision::TimedOut } else { Decision::Wait };
        }
        let since = *self.running_since.get_or_insert(at);
        if at - since >= SETTLE || !self.has_processes { Decision::Started } else { Decision::Wait }
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

    const RUNNING: Observation = Observation { ended_early: false, waiting: false };
    const WAITING: Observation = Observation { ended_early: false, waiting: true };
    const ENDED: Observation = Observation { ended_early: true, waiting: true };

    fn seconds(n: f64) -> Duration {
        Duration::from_secs_f64(n)
    }

    #[test]
    fn a_group_has_started_when_its_processes_have_run_for_a_second() {
        let mut watch = StartWatch::new(true);
        assert_eq!(watch.observe(seconds(0.0), &WAITING), Decision::Wait);
        assert_eq!(watch.observe(seconds(5.0), &RUNNING), Decision::Wait);
        assert_eq!(watch.observe(seconds(5.9), &RUNNING), Decision::Wait);
        assert_eq!(watch.observe(seconds(6.0), &RUNNING), Decision::Started);
    }

    #[test]
    fn a_group_without_processes_has_started_at_once() {
        assert_eq!(StartWatch::new(false).observe(Duration::ZERO, &RUNNING), Decision::Started);
    }

    #[test]
    fn the_start_fails_when_a_process_does_not_run_in_time() {
        let mut watch = StartWatch::new(true);
        assert_eq!(watch.observe(START_LIMIT, &WAITING), Decision::Wait);
        assert_eq!(watch.observe(START_LIMIT + Duration::from_millis(1), &WAITING), Decision::TimedOut);
    }

    #[test]
    fn a_process_that_ends_fails_the_start_after_the_others_had_time_to_fail() {
        let mut watch = StartWatch::new(true);
        assert_eq!(watch.observe(seconds(2.0), &RUNNING), Decision::Wait);
        assert_eq!(watch.observe(seconds(2.5), &ENDED), Decision::Wait);
        assert_eq!(watch.observe(seconds(3.2), &ENDED), Decision::Wait);
        assert_eq!(watch.observe(seconds(3.5), &ENDED), Decision::EndedEarly);
    }

    #[test]
    fn post_start_fails_with_its_last_attempt() {
        let script = |state, attempt, exit_code| HookState { state, attempt, exit_code, since: 0 };
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
