//! When a line was logged, as far as it says so itself.

use std::str::FromStr;
use std::time::Duration;

use serde_json::{Map, Value};
use x509_cert::der::DateTime;

/// How far into a line its time may begin: behind a level or a process number. Dates behind that are part of what is told.
const MAX_START: usize = 48;

/// The keys of logs in JSON.
const KEYS: [&str; 4] = ["timestamp", "time", "ts", "@timestamp"];

/// The time since 1970 at which a line was logged: a date and a time of day near its start, or the timestamp of a JSON object. A time
/// without a zone is UTC, as on stemcells.
pub(super) fn of_line(line: &str) -> Option<Duration> {
    let text = line.trim_start();
    if text.starts_with('{')
        && let Ok(entries) = serde_json::from_str::<Map<String, Value>>(text)
    {
        return KEYS.iter().find_map(|key| of_value(entries.get(*key)?));
    }
    // The first digit of a number of four digits.
    let starts = text.char_indices().take_while(|(at, _)| *at <= MAX_START);
    let is_start = |at: usize| !text[..at].ends_with(|c: char| c.is_ascii_digit());
    starts.filter(|(at, c)| c.is_ascii_digit() && is_start(*at)).find_map(|(at, _)| parse_time(&text[at..]))
}

/// A timestamp of JSON: text, or seconds, milliseconds, microseconds or nanoseconds since 1970.
fn of_value(value: &Value) -> Option<Duration> {
    let number = match value {
        Value::String(text) => match parse_time(text) {
            Some(time) => return Some(time),
            None => text.parse().ok()?,
        },
        other => other.as_f64()?,
    };
    // Until the year 5138, milliseconds and smaller units are larger numbers than seconds.
    let seconds = [1.0, 1e3, 1e6, 1e9].into_iter().map(|unit| number / unit).find(|seconds| *seconds < 1e11)?;
    Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero())
}

/// The time at the start of a text: `2026-01-02T03:04:05.678Z`, `2026/01/02 03:04:05`, with or without a fraction and a zone.
pub(super) fn parse_time(text: &str) -> Option<Duration> {
    let bytes = text.as_bytes().get(..19)?;
    let separator = |at: usize, allowed: &[u8]| allowed.contains(&bytes[at]);
    let is_time =
        separator(4, b"-/") && bytes[7] == bytes[4] && separator(10, b"T ") && bytes[13] == b':' && bytes[16] == b':';
    if !is_time {
        return None;
    }
    let number = |from: usize, to: usize| {
        let digits = bytes.get(from..to).filter(|digits| digits.iter().all(u8::is_ascii_digit))?;
        u16::from_str(std::str::from_utf8(digits).ok()?).ok()
    };
    let small = |from: usize| u8::try_from(number(from, from + 2)?).ok();
    let time = DateTime::new(number(0, 4)?, small(5)?, small(8)?, small(11)?, small(14)?, small(17)?).ok()?;
    let (fraction, rest) = fraction(&text[19..]);
    let time = time.unix_duration() + fraction;
    match zone(rest)? {
        ahead if ahead < 0 => Some(time + Duration::from_secs(ahead.unsigned_abs())),
        ahead => time.checked_sub(Duration::from_secs(ahead.unsigned_abs())),
    }
}

/// The fraction of a second at the start of a text, and what follows.
fn fraction(text: &str) -> (Duration, &str) {
    let Some(rest) = text.strip_prefix(['.', ',']) else { return (Duration::ZERO, text) };
    let length = rest.bytes().take_while(u8::is_ascii_digit).count();
    let nanoseconds = format!("{:0<9.9}", &rest[..length]).parse().unwrap_or_default();
    (Duration::from_nanos(nanoseconds), &rest[length..])
}

/// How many seconds a zone at the start of a text is ahead of UTC; 0 without one.
fn zone(text: &str) -> Option<i64> {
    let sign = match text.bytes().next() {
        Some(b'+') => 1,
        Some(b'-') => -1,
        _ => return Some(0),
    };
    let digits: String = text[1..].chars().take(5).filter(|c| *c != ':').take_while(char::is_ascii_digit).collect();
    let number = |range: std::ops::Range<usize>| digits.get(range).and_then(|part| part.parse::<i64>().ok());
    Some(sign * (number(0..2)? * 3600 + number(2..4).unwrap_or(0) * 60))
}

/// A time as `--since` takes it and `--timestamps` prints it, to the millisecond.
pub(super) fn shown(time: Duration) -> String {
    let whole = DateTime::from_unix_duration(Duration::from_secs(time.as_secs())).map(|time| time.to_string());
    let whole = whole.unwrap_or_default();
    format!("{}.{:03}Z", whole.trim_end_matches('Z'), time.subsec_millis())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str) -> String {
        of_line(line).map(shown).unwrap_or_default()
    }

    #[test]
    fn lines_of_common_loggers_have_their_time() {
        for (line, expected) in [
            ("2026-11-27T22:00:01.5Z started", "2026-11-27T22:00:01.500Z"),
            ("[2026-11-27 22:00:01+0000] started", "2026-11-27T22:00:01.000Z"),
            ("2026-11-27 22:00:01.123 UTC [17] LOG:  ready", "2026-11-27T22:00:01.123Z"),
            ("[17] 2026/11/27 22:00:01.654321 [INF] Server is ready", "2026-11-27T22:00:01.654Z"),
            ("2026-11-28T00:00:01+02:00 x", "2026-11-27T22:00:01.000Z"),
            ("2026-11-27T20:30:01-0130 x", "2026-11-27T22:00:01.000Z"),
            (r#"{"timestamp":"2026-11-27T22:00:01.000000005Z","level":"info"}"#, "2026-11-27T22:00:01.000Z"),
            (r#"{"level":"info","ts":1795816801.25}"#, "2026-11-27T22:00:01.250Z"),
            (r#"{"timestamp":"1795816801.250000000","source":"rep"}"#, "2026-11-27T22:00:01.250Z"),
            (r#"{"time":1795816801250,"a":"2020-01-01T00:00:00Z"}"#, "2026-11-27T22:00:01.250Z"),
        ] {
            assert_eq!(found(line), expected, "{line}");
        }
    }

    #[test]
    fn other_lines_have_none() {
        for line in [
            "",
            "started",
            "2026-11-27",
            "2026-13-27T22:00:01Z",
            "12026-11-27T22:00:01Z",
            "2026-11-27x22:00:01",
            "1795816801 x",
            "{\"a\": 1}",
            "{\"ts\": \"soon\"}",
            "the certificate of the server of this machine is valid until 2027-01-01 00:00:00",
            "2026-11-27T22:00:0é",
        ] {
            assert_eq!(found(line), "", "{line}");
        }
    }
}
