//! When a process that ended is started again: decisions only.
//!
//! monit starts it in its next cycle, which begins every 10 seconds, without a limit. Here the first restart is immediate, and
//! the delay grows to monit's cycle while the process goes on ending.

use std::time::Duration;

/// The delay after the second end in a row; it doubles with each further one.
const SECOND: Duration = Duration::from_secs(1);

/// The longest delay: monit's cycle.
const LONGEST: Duration = Duration::from_secs(10);

/// A process that ran for so long has recovered: its next restart is immediate.
const RECOVERED: Duration = Duration::from_secs(10);

/// The delay of one process.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    /// The delay before the next restart.
    next: Duration,
}

impl Backoff {
    /// The delay until the restart of a process that has run for `ran`.
    pub(crate) fn after(&mut self, ran: Duration) -> Duration {
        if ran >= RECOVERED {
            self.next = Duration::ZERO;
        }
        let delay = self.next;
        self.next = if delay.is_zero() { SECOND } else { (delay * 2).min(LONGEST) };
        delay
    }

    /// The next restart is immediate.
    pub(crate) fn reset(&mut self) {
        self.next = Duration::ZERO;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_restart_is_immediate_and_the_delay_grows_to_ten_seconds() {
        let mut backoff = Backoff::default();
        let mut delays = |ran: u64, n: usize| -> Vec<u64> {
            (0..n).map(|_| backoff.after(Duration::from_secs(ran)).as_secs()).collect()
        };
        assert_eq!(delays(0, 7), [0, 1, 2, 4, 8, 10, 10]);
        assert_eq!(delays(10, 1), [0]);
        assert_eq!(delays(9, 2), [1, 2]);
        backoff.reset();
        assert_eq!(backoff.after(Duration::ZERO), Duration::ZERO);
    }
}
