//! Lengths of time, as flags and variables give them.

use std::time::Duration;

/// A time as it is written: `45s`, `1m30s`, `500ms`, or a number of seconds.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
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
            assert_eq!(parse_duration(text).ok(), millis.map(Duration::from_millis), "{text:?}");
        }
    }
}
