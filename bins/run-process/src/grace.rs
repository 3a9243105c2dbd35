//! How long a stop may take, divided among its steps.

use std::time::Duration;

use supervisor::{Policy, StopLimits};

/// Kept free at the end, for KILL and for the last output.
const LONGEST_MARGIN: Duration = Duration::from_secs(1);

/// A time as it is written: `45s`, `1m30s`, `500ms`, or a number of seconds.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let malformed = || "must be a time such as 45s, 1m30s, 500ms, or a number of seconds".to_owned();
    if let Ok(seconds) = text.parse::<u32>() {
        return Ok(Duration::from_secs(seconds.into()));
    }
    let mut total = Duration::ZERO;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let number: u32 = rest[..digits].parse().map_err(|_| malformed())?;
        let unit_and_rest = &rest[digits..];
        let unit = &unit_and_rest[..unit_and_rest.find(|c: char| c.is_ascii_digit()).unwrap_or(unit_and_rest.len())];
        let one = match unit {
            "ms" => Duration::from_millis(1),
            "s" => Duration::from_secs(1),
            "m" => Duration::from_secs(60),
            "h" => Duration::from_secs(60 * 60),
            _ => return Err(malformed()),
        };
        total = one.checked_mul(number).and_then(|part| total.checked_add(part)).ok_or_else(malformed)?;
        rest = &unit_and_rest[unit.len()..];
    }
    if text.is_empty() { Err(malformed()) } else { Ok(total) }
}

/// Divides `grace`: some of it is kept free; the process has its policy's times, but no more than half of the rest if
/// there are scripts, which get the other half or more; and post-stop a tenth after it.
pub(crate) fn limits(grace: Duration, policy: &Policy, scripts: bool) -> StopLimits {
    let total = grace - LONGEST_MARGIN.min(grace / 10);
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
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_people_do() {
        let cases = [
            ("45s", Some(45_000)),
            ("45", Some(45_000)),
            ("0", Some(0)),
            ("1m30s", Some(90_000)),
            ("500ms", Some(500)),
            ("1h", Some(3_600_000)),
            ("1s500ms", Some(1_500)),
            ("", None),
            ("s", None),
            ("-5s", None),
            ("5 s", None),
            ("5d", None),
            ("5s5", None),
            ("1.5s", None),
            ("99999999999s", None),
            ("ümläut", None),
        ];
        for (text, millis) in cases {
            assert_eq!(duration(text).ok(), millis.map(Duration::from_millis), "{text:?}");
        }
    }

    #[test]
    fn everything_fits_into_the_grace() {
        for seconds in [0u64, 1, 5, 10, 20, 30, 45, 600] {
            for scripts in [false, true] {
                let grace = Duration::from_secs(seconds);
                let limits = limits(grace, &Policy::default(), scripts);
                let stop = limits.stop_timeout + limits.quit_timeout;
                assert!(limits.scripts + stop <= limits.total && limits.total <= grace, "{seconds} {limits:?}");
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
