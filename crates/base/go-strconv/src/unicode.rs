//! Bytes as Go reads them: UTF-8 with a replacement character for each invalid byte, and Unicode's categories.

use crate::unicode_tables::{DIGITS, LETTERS, MARKS_AND_NUMBERS, PRINTABLE};

/// What stands for an invalid byte.
pub const REPLACEMENT: u32 = 0xFFFD;

/// The largest code point.
pub const MAX: u32 = 0x10_FFFF;

/// The first code point of `bytes` and how many bytes it takes: U+FFFD and 1 for a byte that is not part of valid
/// UTF-8, U+FFFD and 0 where there are no bytes.
pub fn decode(bytes: &[u8]) -> (u32, usize) {
    let Some(&first) = bytes.first() else { return (REPLACEMENT, 0) };
    if first < 0x80 {
        return (u32::from(first), 1);
    }
    let (size, low, high) = match first {
        0xC2..=0xDF => (2, 0x80, 0xBF),
        0xE0 => (3, 0xA0, 0xBF),
        0xE1..=0xEC | 0xEE..=0xEF => (3, 0x80, 0xBF),
        0xED => (3, 0x80, 0x9F),
        0xF0 => (4, 0x90, 0xBF),
        0xF1..=0xF3 => (4, 0x80, 0xBF),
        0xF4 => (4, 0x80, 0x8F),
        _ => return (REPLACEMENT, 1),
    };
    if bytes.len() < size || !(low..=high).contains(&bytes[1]) {
        return (REPLACEMENT, 1);
    }
    let mut value = u32::from(first) & (0x7F >> size);
    for byte in &bytes[1..size] {
        if byte & 0xC0 != 0x80 {
            return (REPLACEMENT, 1);
        }
        value = value << 6 | u32::from(byte & 0x3F);
    }
    (value, size)
}

/// The code points of `bytes`, each with its own bytes.
pub fn runes(mut bytes: &[u8]) -> impl Iterator<Item = (u32, &[u8])> {
    std::iter::from_fn(move || {
        let (rune, size) = decode(bytes);
        let (own, rest) = bytes.split_at(size);
        bytes = rest;
        (size > 0).then_some((rune, own))
    })
}

/// How many code points `bytes` has.
pub fn count(bytes: &[u8]) -> usize {
    if bytes.is_ascii() { bytes.len() } else { runes(bytes).count() }
}

/// The first `limit` code points of `bytes`.
pub fn truncate(bytes: &[u8], limit: usize) -> &[u8] {
    if bytes.len() <= limit {
        return bytes;
    }
    let end = runes(bytes).take(limit).map(|(_, own)| own.len()).sum();
    &bytes[..end]
}

/// Is it a code point that UTF-8 can hold?
pub fn is_valid(rune: u32) -> bool {
    char::from_u32(rune).is_some()
}

/// A code point in UTF-8; U+FFFD for what is none.
pub fn encode(rune: u32) -> char {
    char::from_u32(rune).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn within(ranges: &[(u32, u32)], rune: u32) -> bool {
    let next = ranges.partition_point(|range| range.0 <= rune);
    next > 0 && rune <= ranges[next - 1].1
}

/// Letters, marks, numbers, punctuation, symbols and the space U+0020.
pub fn is_printable(rune: u32) -> bool {
    if rune < 0x80 { (0x20..0x7F).contains(&rune) } else { within(&PRINTABLE, rune) }
}

/// What a name in a template consists of.
pub fn is_alphanumeric(rune: u32) -> bool {
    if rune < 0x80 {
        let byte = rune as u8;
        byte.is_ascii_alphanumeric() || byte == b'_'
    } else {
        within(&LETTERS, rune) || within(&DIGITS, rune)
    }
}

/// A letter (category L).
pub fn is_letter(rune: u32) -> bool {
    if rune < 0x80 { (rune as u8).is_ascii_alphabetic() } else { within(&LETTERS, rune) }
}

/// A letter, mark or number (categories L, M and N).
pub fn is_letter_mark_or_number(rune: u32) -> bool {
    is_letter(rune) || if rune < 0x80 { (rune as u8).is_ascii_digit() } else { within(&MARKS_AND_NUMBERS, rune) }
}

/// White space, as far as a definition with nothing else counts as empty.
pub fn is_space(rune: u32) -> bool {
    matches!(rune, 0x09..=0x0D | 0x20 | 0x85 | 0xA0 | 0x1680 | 0x2000..=0x200A | 0x2028 | 0x2029 | 0x202F | 0x205F | 0x3000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_invalid_byte_counts_alone() {
        let seen: Vec<(u32, usize)> =
            runes(b"a\xE2\x82\xAC\xE2\x82x\xFF").map(|(rune, own)| (rune, own.len())).collect();
        assert_eq!(seen, [(97, 1), (0x20AC, 3), (REPLACEMENT, 1), (REPLACEMENT, 1), (120, 1), (REPLACEMENT, 1)]);
        assert_eq!(decode(b"\xED\xA0\x80"), (REPLACEMENT, 1), "half of a surrogate pair");
        assert_eq!(decode(b"\xF4\x8F\xBF\xBF"), (MAX, 4));
        assert_eq!(decode(b"\xF4\x90\x80\x80"), (REPLACEMENT, 1));
    }

    #[test]
    fn decodes_what_rust_encodes() {
        for rune in (0..=MAX).filter(|rune| is_valid(*rune)) {
            let mut buffer = [0; 4];
            let text = encode(rune).encode_utf8(&mut buffer);
            assert_eq!(decode(text.as_bytes()), (rune, text.len()));
        }
    }

    #[test]
    fn categories() {
        assert!(is_printable(0xE9) && is_printable(0x1F600) && !is_printable(0xAD) && !is_printable(0xA0));
        assert!(is_alphanumeric(0xE9) && is_alphanumeric(0x663) && !is_alphanumeric(0x20AC));
        assert!(is_space(0x2003) && !is_space(0x200B));
    }

    #[test]
    fn counts_and_truncates_by_code_points() {
        assert_eq!(count("aé€".as_bytes()), 3);
        assert_eq!(truncate("aé€".as_bytes(), 2), "aé".as_bytes());
        assert_eq!(truncate(b"\xFF\xFEa", 2), b"\xFF\xFE");
    }
}
