//! What the server gives to a new object: a UID, the time, and the end of a generated name.

use std::time::{Duration, SystemTime};

use crate::status::Failure;
use crate::template::NewIdentity;

/// The characters of generated names: no vowels, and nothing that looks like something else.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// What a new object gets.
///
/// # Errors
/// 500 if the kernel has no random bytes.
pub(crate) fn birth() -> Result<NewIdentity, Failure> {
    let mut random = [0; 21];
    getrandom::fill(&mut random).map_err(|e| {
        tracing::error!("cannot read random bytes: {e}");
        Failure::internal()
    })?;
    let (uid, suffix) = random.split_at(16);
    let suffix = suffix.iter().map(|byte| char::from(ALPHABET[usize::from(*byte) % ALPHABET.len()])).collect();
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Ok(NewIdentity { uid: uuid(uid), time: time(now), suffix })
}

/// A random UUID (version 4) of 16 bytes.
fn uuid(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(36);
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        let byte = match at {
            6 => byte & 0x0f | 0x40,
            8 => byte & 0x3f | 0x80,
            _ => *byte,
        };
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

/// A time since 1970 as RFC 3339 writes it, in UTC.
fn time(since: Duration) -> String {
    let (days, rest) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    // Years begin in March, so that the day of a leap year is the last one; an era has 400 years.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = era * 400 + year + next;
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", rest / 3_600, rest / 60 % 60, rest % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_795_392_000, "2026-11-23T00:00:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(time(Duration::from_secs(seconds)), expected);
        }
    }

    #[test]
    fn uids_and_suffixes_are_random() {
        let (one, other) = (birth().unwrap(), birth().unwrap());
        assert_ne!(one.uid, other.uid);
        assert!(one.uid.len() == 36 && one.uid.as_bytes()[14] == b'4', "{}", one.uid);
        assert_eq!(uuid(&[0xff; 16]), "ffffffff-ffff-4fff-bfff-ffffffffffff");
        assert!(one.suffix.len() == 5 && crate::template::is_name(&one.suffix), "{}", one.suffix);
    }
}
