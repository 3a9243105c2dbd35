//! How long a stop may take, divided among its steps.

use std::time::Duration;

use supervisor::{Policy, StopLimits};

/// Kept free at the end, for KILL and for the last output.
const LONGEST_MARGIN: Duration = Duration::from_secs(1);

/// Divides `grace`: some of it is kept free; the process has its policy's times, but no more than half of the rest if
/// there are scripts, which get the other half or more; and post-stop a tenth after it.
pub(crate) fn limits(grace: Duration, policy: &Policy, scripts: bool) -> StopLimits {
    let margin = LONGEST_MARGIN.min(grace / 10);
    let total = grace - margin;
    let (for_process, for_post_stop) = if scripts { (total / 2, total / 10) } else { (total, Duration::ZERO) };
    let wanted = policy.stop_timeout + policy.quit_timeout;
    let (stop_timeout, quit_timeout) = if wanted <= for_process {
        (policy.stop_timeout, policy.quit_timeout)
    } else {
        let share = for_process.as_secs_f64() / wanted.as_secs_f64();
        (policy.stop_timeout.mul_f64(share), policy.quit_timeout.mul_f64(share))
    };
    StopLimits {
        scripts: total.saturating_sub(stop_timeout + quit_timeout + for_post_stop),
        total,
        stop_timeout,
        quit_timeout,
        flush: margin / 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_fits_into_the_grace() {
        for seconds in [0u64, 1, 5, 10, 20, 30, 45, 600] {
            for scripts in [false, true] {
                let grace = Duration::from_secs(seconds);
                let limits = limits(grace, &Policy::default(), scripts);
                let stop = limits.stop_timeout + limits.quit_timeout;
                assert!(
                    limits.scripts + stop <= limits.total && limits.total + limits.flush <= grace,
                    "{seconds} {limits:?}"
                );
                let scripts_share = limits.scripts.as_secs_f64() >= 0.35 * limits.total.as_secs_f64();
                assert!(!scripts || scripts_share, "{seconds} {limits:?}");
                if seconds >= 45 {
                    assert_eq!(stop, Duration::from_secs(17), "BPM's own times");
                }
            }
        }
        let alone = limits(Duration::from_secs(30), &Policy::default(), false);
        assert_eq!((alone.stop_timeout, alone.total), (Duration::from_secs(15), Duration::from_secs(29)));
    }
}
