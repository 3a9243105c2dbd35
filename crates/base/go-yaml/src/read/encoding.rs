//! The text of a document: UTF-8, or UTF-16 behind a byte order mark.

use std::borrow::Cow;

use super::Error;
use crate::node::{Origin, Source};

/// The characters of a document, without a byte order mark.
///
/// # Errors
/// Bytes that are not UTF-8, or not the UTF-16 that the byte order mark names.
pub fn text(bytes: &[u8], source: Source) -> Result<Cow<'_, str>, Error> {
    let utf16 = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes.chunks(2).map(|pair| unit([pair[0], pair.get(1).copied().unwrap_or(0)])).collect();
        let message =
            if bytes.len().is_multiple_of(2) { "unexpected low surrogate area" } else { "incomplete UTF-16 character" };
        let text = if bytes.len().is_multiple_of(2) { String::from_utf16(&units).ok() } else { None };
        text.map(Cow::Owned).ok_or_else(|| error(message, source, b""))
    };
    if let Some(rest) = bytes.strip_prefix(b"\xff\xfe") {
        return utf16(rest, u16::from_le_bytes);
    }
    if let Some(rest) = bytes.strip_prefix(b"\xfe\xff") {
        return utf16(rest, u16::from_be_bytes);
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(|e| {
        let (valid, rest) = bytes.split_at(e.valid_up_to());
        error(problem(rest), source, valid)
    })
}

/// Why the bytes do not begin with a character, in the words of the library.
fn problem(bytes: &[u8]) -> &'static str {
    let width = match bytes.first() {
        Some(0xc0..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xf7) => 4,
        _ => return "invalid leading UTF-8 octet",
    };
    let trailing = bytes.iter().skip(1).take(width - 1).take_while(|byte| **byte & 0xc0 == 0x80).count();
    if trailing == width - 1 {
        let is_long = matches!(bytes, [0xc0 | 0xc1, ..] | [0xe0, ..=0x9f, ..] | [0xf0, ..=0x8f, ..]);
        return if is_long { "invalid length of a UTF-8 sequence" } else { "invalid Unicode character" };
    }
    if bytes.len() < width && trailing + 1 == bytes.len() {
        return "incomplete UTF-8 octet sequence";
    }
    "invalid trailing UTF-8 octet"
}

fn error(message: &str, source: Source, before: &[u8]) -> Error {
    let line = before.iter().filter(|byte| **byte == b'\n').count();
    let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let column = String::from_utf8_lossy(&before[start..]).chars().count();
    let number = |n: usize| u32::try_from(n + 1).unwrap_or(u32::MAX);
    Error { message: message.to_owned(), origin: Origin { source, line: number(line), column: number(column) } }
}
