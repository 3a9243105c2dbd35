//! The watch times of instances: how long each may take, and since when it is ready. Pure: the caller says what time it is.

use std::collections::BTreeMap;
use std::time::Duration;

use diagnosis::Phase;
use handoff::deployment::WatchTime;

/// An instance at one look.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) pod: String,
    pub(crate) phase: Phase,
    /// Whether something is known to be wrong with it.
    pub(crate) is_troubled: bool,
    /// Whether its pod is the next one to be replaced.
    pub(crate) is_next: bool,
}

/// The clocks of a group's instances.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    clocks: BTreeMap<String, Clock>,
    last: Option<Duration>,
}

#[derive(Debug, Default)]
struct Clock {
    /// How much of its time an instance has used.
    used: Duration,
    /// Whether its processes were started: the time before does not count any more.
    has_started: bool,
    ready: Option<Ready>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Ready {
    /// Before the first look.
    Before,
    Since(Duration),
}

impl Watch {
    /// Takes note of all instances at this time.
    ///
    /// As BOSH does, it gives an instance its time when its processes have been started: preparing (images, rendering, pre-start)
    /// takes as long as it takes while nothing is wrong. An instance that is not started because something is wrong, or that gets no
    /// pod or no node, has the same time before that.
    pub(crate) fn look(&mut self, now: Duration, all: &[Seen]) {
        let is_first = self.last.is_none();
        let passed = now.saturating_sub(self.last.unwrap_or(now));
        self.last = Some(now);
        for seen in all {
            let clock = self.clocks.entry(seen.pod.clone()).or_default();
            clock.ready = match (&seen.phase, clock.ready) {
                (Phase::Ready, None) if is_first => Some(Ready::Before),
                (Phase::Ready, None) => Some(Ready::Since(now)),
                (Phase::Ready, ready) => ready,
                _ => None,
            };
            let counts = match seen.phase {
                Phase::Ready => false,
                Phase::Outdated => seen.is_next,
                Phase::Preparing(_) | Phase::Leaving => seen.is_troubled,
                Phase::Starting(_) if !clock.has_started => {
                    (clock.has_started, clock.used) = (true, Duration::ZERO);
                    false
                }
                Phase::Starting(_) | Phase::Missing | Phase::Unscheduled => true,
            };
            clock.used += if counts { passed } else { Duration::ZERO };
        }
    }

    /// Whether an instance has been ready for the minimum of its watch time.
    pub(crate) fn is_settled(&self, pod: &str, time: WatchTime) -> bool {
        let now = self.last.unwrap_or_default();
        match self.clocks.get(pod).and_then(|clock| clock.ready) {
            Some(Ready::Before) => true,
            Some(Ready::Since(since)) => now.saturating_sub(since) >= Duration::from_millis(time.from),
            None => false,
        }
    }

    /// Whether an instance has used up its watch time.
    pub(crate) fn is_over(&self, pod: &str, time: WatchTime) -> bool {
        self.clocks.get(pod).is_some_and(|clock| clock.ready.is_none() && clock.used > Duration::from_millis(time.to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: WatchTime = WatchTime { from: 2_000, to: 10_000 };

    fn seen(phase: Phase, is_troubled: bool, is_next: bool) -> Seen {
        Seen { pod: "web-0".to_owned(), phase, is_troubled, is_next }
    }

    /// Looks once a second: at how many seconds the time was over, and when the instance was settled.
    fn outcome(phases: impl Iterator<Item = Seen>) -> (Option<u64>, Option<u64>) {
        let (mut watch, mut over, mut settled) = (Watch::default(), None, None);
        for (second, seen) in (0..).zip(phases) {
            watch.look(Duration::from_secs(second), &[seen]);
            over = over.or(watch.is_over("web-0", TIME).then_some(second));
            settled = settled.or(watch.is_settled("web-0", TIME).then_some(second));
        }
        (over, settled)
    }

    fn repeated(phase: &Phase, is_troubled: bool, is_next: bool, times: usize) -> impl Iterator<Item = Seen> {
        std::iter::repeat_n(seen(phase.clone(), is_troubled, is_next), times)
    }

    #[test]
    fn time_begins_when_the_processes_are_started() {
        let (preparing, starting) = (Phase::Preparing("pre-start".to_owned()), Phase::Starting(Vec::new()));
        let phases = repeated(&preparing, false, false, 100).chain(repeated(&starting, false, false, 20));
        assert_eq!(outcome(phases), (Some(111), None));
        // What was used before does not count.
        let phases = repeated(&preparing, true, false, 8).chain(repeated(&starting, false, false, 20));
        assert_eq!(outcome(phases), (Some(19), None));
    }

    #[test]
    fn trouble_before_the_start_uses_the_same_time() {
        for phase in [Phase::Preparing(String::new()), Phase::Leaving] {
            assert_eq!(outcome(repeated(&phase, false, false, 100)).0, None, "{phase:?}");
            assert_eq!(outcome(repeated(&phase, true, false, 100)).0, Some(11), "{phase:?}");
        }
        for phase in [Phase::Missing, Phase::Unscheduled] {
            assert_eq!(outcome(repeated(&phase, false, false, 100)).0, Some(11), "{phase:?}");
        }
        assert_eq!(outcome(repeated(&Phase::Outdated, false, false, 100)).0, None);
        assert_eq!(outcome(repeated(&Phase::Outdated, false, true, 100)).0, Some(11));
    }

    #[test]
    fn an_instance_is_settled_when_it_has_been_ready_for_the_minimum() {
        assert_eq!(outcome(repeated(&Phase::Ready, false, false, 1)), (None, Some(0)), "it was so before");
        let starting = Phase::Starting(Vec::new());
        let phases = repeated(&starting, false, false, 3).chain(repeated(&Phase::Ready, false, false, 5));
        assert_eq!(outcome(phases), (None, Some(5)));
        // A crash loop whose process lives for a second.
        let one = |phase: &Phase| seen(phase.clone(), true, false);
        let phases = (0..100).map(|n| if n % 2 == 0 { one(&starting) } else { one(&Phase::Ready) });
        assert_eq!(outcome(phases), (Some(22), None));
    }
}
