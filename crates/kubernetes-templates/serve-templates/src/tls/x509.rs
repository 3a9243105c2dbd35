//! What is read of an X.509 certificate: the common name of its subject, and when its validity ends.

use std::time::{Duration, SystemTime};

/// The parts of a certificate that are needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parts {
    /// The last common name of the subject; empty if it has none.
    pub(crate) common_name: String,
    /// The end of the validity.
    pub(crate) not_after: SystemTime,
}

const INTEGER: u8 = 0x02;
const OBJECT_IDENTIFIER: u8 = 0x06;
const UTC_TIME: u8 = 0x17;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const VERSION: u8 = 0xa0;
/// The types of text whose bytes are UTF-8: UTF8String, PrintableString, IA5String.
const TEXTS: [u8; 3] = [0x0c, 0x13, 0x16];
/// The object identifier 2.5.4.3.
const COMMON_NAME: [u8; 3] = [0x55, 0x04, 0x03];

/// The parts of a certificate in DER; nothing if it is not one.
pub(crate) fn parts(certificate: &[u8]) -> Option<Parts> {
    let mut outer = Der(certificate).content(SEQUENCE)?;
    let mut certificate = outer.content(SEQUENCE)?;
    if certificate.0.first() == Some(&VERSION) {
        certificate.content(VERSION)?;
    }
    certificate.content(INTEGER)?;
    certificate.content(SEQUENCE)?;
    // The issuer.
    certificate.content(SEQUENCE)?;
    let mut validity = certificate.content(SEQUENCE)?;
    validity.next()?;
    let (kind, not_after) = validity.next()?;
    let not_after = time(kind, not_after)?;
    let mut subject = certificate.content(SEQUENCE)?;
    let mut common_name = String::new();
    while !subject.0.is_empty() {
        let mut attributes = subject.content(SET)?;
        while !attributes.0.is_empty() {
            let mut attribute = attributes.content(SEQUENCE)?;
            let is_name = attribute.content(OBJECT_IDENTIFIER)?.0 == COMMON_NAME;
            let (kind, value) = attribute.next()?;
            if is_name && TEXTS.contains(&kind) {
                common_name = String::from_utf8(value.to_vec()).ok()?;
            }
        }
    }
    Some(Parts { common_name, not_after })
}

/// Elements of DER that follow each other.
struct Der<'b>(&'b [u8]);

impl<'b> Der<'b> {
    /// The next element: its tag and its content.
    fn next(&mut self) -> Option<(u8, &'b [u8])> {
        let (tag, rest) = self.0.split_first()?;
        let (first, mut rest) = rest.split_first()?;
        let mut length = usize::from(*first);
        if length >= 0x80 {
            let (bytes, behind) =
                rest.split_at_checked(length - 0x80).filter(|(bytes, _)| (1..=4).contains(&bytes.len()))?;
            length = bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
            rest = behind;
        }
        let (content, behind) = rest.split_at_checked(length)?;
        self.0 = behind;
        Some((*tag, content))
    }

    /// The content of the next element, which has this tag.
    fn content(&mut self, expected: u8) -> Option<Der<'b>> {
        self.next().filter(|(tag, _)| *tag == expected).map(|(_, content)| Der(content))
    }
}

/// A UTCTime (`YYMMDDhhmmssZ`, of the years 1950 to 2049) or GeneralizedTime (`YYYYMMDDhhmmssZ`).
fn time(kind: u8, text: &[u8]) -> Option<SystemTime> {
    let text =
        std::str::from_utf8(text).ok()?.strip_suffix('Z').filter(|text| text.bytes().all(|b| b.is_ascii_digit()))?;
    let (year, rest) =
        text.split_at_checked(if kind == UTC_TIME { 2 } else { 4 }).filter(|(_, rest)| rest.len() == 10)?;
    let mut year: u64 = year.parse().ok()?;
    if kind == UTC_TIME {
        year += if year < 50 { 2000 } else { 1900 };
    }
    let number = |at: usize| rest[at..at + 2].parse::<u64>().ok();
    let (month, day) = (number(0)?, number(2)?);
    if year < 1970 || !(1..=12).contains(&month) {
        return Some(SystemTime::UNIX_EPOCH);
    }
    // Years begin in March, so that the day of a leap year is the last one.
    let (of, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * of + of / 4 - of / 100 + of / 400 + (153 * month + 2) / 5 + day.checked_sub(1)? - 719_468;
    let seconds = days * 86_400 + number(4)? * 3_600 + number(6)? * 60 + number(8)?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DnType, KeyPair};

    use super::*;

    #[test]
    fn certificates_have_a_name_and_an_end() {
        let mut params = CertificateParams::new(vec!["x".to_owned()]).unwrap();
        params.distinguished_name.push(DnType::OrganizationName, "o");
        params.distinguished_name.push(DnType::CommonName, "front-proxy-client");
        for (year, seconds) in [(2049, 2_493_072_000), (2051, 2_556_144_000)] {
            params.not_after = rcgen::date_time_ymd(year, 1, 1);
            let certificate = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
            let parts = parts(certificate.der()).unwrap();
            assert_eq!(parts.common_name, "front-proxy-client");
            assert_eq!(parts.not_after.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs(), seconds);
            // No prefix of it is one.
            let der = certificate.der().to_vec();
            assert!((0..der.len()).all(|length| super::parts(&der[..length]).is_none()));
        }
    }

    #[test]
    fn times_are_those_of_the_calendar() {
        let seconds = |kind, text: &str| {
            time(kind, text.as_bytes()).map(|time| time.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs())
        };
        assert_eq!(seconds(UTC_TIME, "000229000000Z"), Some(951_782_400));
        assert_eq!(seconds(UTC_TIME, "261123000102Z"), Some(1_795_392_062));
        assert_eq!(seconds(0x18, "21000301000000Z"), Some(4_107_542_400));
        assert_eq!(seconds(UTC_TIME, "700101000000Z"), Some(0));
        for text in ["", "Z", "2611230000Z", "261123000000", "26112300000xZ", "260023000000+0000Z", "261100000000Z"] {
            assert_eq!(seconds(UTC_TIME, text), None, "{text}");
        }
    }
}
