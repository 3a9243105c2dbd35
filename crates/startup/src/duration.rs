//! Lengths of time, as flags and variables give them.

use std::time::Duration;

/// Reads `45s`, `500ms`, `2m` or `1h`; a number alone is seconds.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit {
        "ms" => 1,
        "s" | "" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err("must be a number and its unit: ms, s, m or h, as in 45s".to_owned()),
    };
    let number: u64 = match number.parse() {
        Ok(number) => number,
        Err(_) if number.is_empty() => return Err("must start with a number, as in 45s".to_owned()),
        Err(_) => return Err("is too long".to_owned()),
    };
    // More than anybody waits, and little enough to be added to any clock.
    const LONGEST: u64 = 1000 * 365 * 24 * 3_600_000;
    let millis = number.checked_mul(factor).filter(|millis| *millis <= LONGEST);
    millis.map(Duration::from_millis).ok_or_else(|| "is too long".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_and_its_unit() {
        for (text, millis) in
            [("0", 0), ("30", 30_000), ("45s", 45_000), ("500ms", 500), ("2m", 120_000), ("1h", 3_600_000)]
        {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "s", "-1", "1.5s", "1 s", "1d", "99999999999999999999", "9999999999999999h"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }
}
