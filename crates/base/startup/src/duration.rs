//! Lengths of time, as flags and variables give them.

use std::time::Duration;

use problem::Problem;

const FORM: &str = "must be a time such as 45s, 1m30s, 500ms, or a number of seconds";

/// A time as it is written: `45s`, `1m30s`, `500ms`, or a number of seconds. Units are `ms`, `s`, `m`, `h` and `d`.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let malformed = || FORM.to_owned();
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
            "d" => Duration::from_secs(24 * 60 * 60),
            _ => return Err(malformed()),
        };
        total = one.checked_mul(number).and_then(|part| total.checked_add(part)).ok_or_else(malformed)?;
        rest = &unit_and_rest[unit.len()..];
    }
    if text.is_empty() { Err(malformed()) } else { Ok(total) }
}

/// The time limit that the variable `name` gives; `None` if it is absent or empty.
///
/// # Errors
/// A text that is not a time, or a limit of 0.
pub fn time_limit(name: &str, text: Option<&str>) -> problem::Result<Option<Duration>> {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(None) };
    match parse_duration(text) {
        Ok(Duration::ZERO) => Err(Problem::usage(format!("{name} must be longer than 0")).into()),
        Ok(limit) => Ok(Some(limit)),
        Err(why) => Err(Problem::usage(format!("{name} {why}, not '{text}'")).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zero_time_limit_is_refused() {
        let message = |text| time_limit("T", Some(text)).unwrap_err().to_string();
        assert_eq!(message("0s"), "error: T must be longer than 0");
        assert!(
            message("soon").starts_with("error: T must be a time such as 45s")
                && message("soon").ends_with("not 'soon'")
        );
        assert_eq!(time_limit("T", Some("")), Ok(None));
        assert_eq!(time_limit("T", Some("2")), Ok(Some(Duration::from_secs(2))));
    }

    #[test]
    fn durations_are_parsed_with_units() {
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
            ("5d", Some(432_000_000)),
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
