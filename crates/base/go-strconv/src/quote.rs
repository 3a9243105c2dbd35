//! Go's string and character literals: written (`%q`) and read.

use crate::unicode::{self, decode, encode, is_printable, runes};

const LOWER: &[u8; 16] = b"0123456789abcdef";

/// What is written as an escape although UTF-8 could hold it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Charset {
    /// Nothing that is printable.
    Unicode,
    /// Everything beyond ASCII.
    Ascii,
}

/// A text in double quotes.
pub fn quoted(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len() + 2);
    quote(&mut out, text.as_bytes());
    String::from_utf8_lossy(&out).into_owned()
}

/// Appends `text` in double quotes.
pub fn quote(out: &mut Vec<u8>, text: &[u8]) {
    quote_as(out, text, Charset::Unicode);
}

/// Appends `text` in double quotes; `charset` decides what is escaped.
pub fn quote_as(out: &mut Vec<u8>, text: &[u8], charset: Charset) {
    out.push(b'"');
    for (rune, own) in runes(text) {
        if rune == unicode::REPLACEMENT && own.len() == 1 {
            out.extend_from_slice(&[b'\\', b'x', LOWER[usize::from(own[0] >> 4)], LOWER[usize::from(own[0] & 15)]]);
        } else {
            escape(out, rune, b'"', charset);
        }
    }
    out.push(b'"');
}

/// Appends a code point in single quotes; U+FFFD for what is none.
pub fn quote_rune(out: &mut Vec<u8>, rune: u32, charset: Charset) {
    out.push(b'\'');
    escape(out, encode(rune) as u32, b'\'', charset);
    out.push(b'\'');
}

fn escape(out: &mut Vec<u8>, rune: u32, quote: u8, charset: Charset) {
    if rune == u32::from(quote) || rune == u32::from(b'\\') {
        out.extend_from_slice(&[b'\\', rune as u8]);
        return;
    }
    if is_printable(rune) && (rune < 0x80 || charset == Charset::Unicode) {
        push(out, rune);
        return;
    }
    match rune {
        0x07 => out.extend_from_slice(b"\\a"),
        0x08 => out.extend_from_slice(b"\\b"),
        0x0C => out.extend_from_slice(b"\\f"),
        0x0A => out.extend_from_slice(b"\\n"),
        0x0D => out.extend_from_slice(b"\\r"),
        0x09 => out.extend_from_slice(b"\\t"),
        0x0B => out.extend_from_slice(b"\\v"),
        0..=0x1F | 0x7F => hex(out, b'x', rune, 2),
        0x80..=0xFFFF => hex(out, b'u', rune, 4),
        _ => hex(out, b'U', rune, 8),
    }
}

fn hex(out: &mut Vec<u8>, letter: u8, rune: u32, digits: u32) {
    out.extend_from_slice(&[b'\\', letter]);
    out.extend((0..digits).rev().map(|digit| LOWER[(rune >> (4 * digit) & 15) as usize]));
}

/// Appends a code point in UTF-8.
pub fn push(out: &mut Vec<u8>, rune: u32) {
    out.extend_from_slice(encode(rune).encode_utf8(&mut [0; 4]).as_bytes());
}

/// A code point as messages show it: `U+00E9 'é'`.
pub fn code_point(rune: u32) -> String {
    if is_printable(rune) { format!("U+{rune:04X} '{}'", encode(rune)) } else { format!("U+{rune:04X}") }
}

/// Can the text stand between backquotes?
pub fn can_backquote(text: &[u8]) -> bool {
    runes(text).all(|(rune, own)| match rune {
        0xFEFF => false,
        _ if own.len() > 1 => true,
        unicode::REPLACEMENT | 0x60 | 0x7F => false,
        rune => rune >= 0x20 || rune == 0x09,
    })
}

/// One character of a literal, as it stands in `text`.
#[derive(Debug, PartialEq, Eq)]
pub struct Character {
    /// The code point or byte.
    pub value: u32,
    /// Is it a code point? Else it is a byte (`\xFF`, `\377`).
    pub multibyte: bool,
    /// How many bytes of `text` it takes.
    pub length: usize,
}

/// The first character of a literal's inside; `None` if it is malformed. `delimiter` is the quote that may be escaped
/// and may not stand alone.
pub fn unquote_char(text: &[u8], delimiter: u8) -> Option<Character> {
    let first = *text.first()?;
    if first == delimiter {
        return None;
    }
    if first != b'\\' {
        let (value, length) = decode(text);
        return Some(Character { value, multibyte: first >= 0x80, length });
    }
    let escape = *text.get(1)?;
    let simple = |value: u8| Some(Character { value: u32::from(value), multibyte: false, length: 2 });
    match escape {
        b'a' => simple(0x07),
        b'b' => simple(0x08),
        b'f' => simple(0x0C),
        b'n' => simple(b'\n'),
        b'r' => simple(b'\r'),
        b't' => simple(b'\t'),
        b'v' => simple(0x0B),
        b'\\' => simple(b'\\'),
        b'\'' | b'"' if escape == delimiter => simple(escape),
        b'x' => digits(&text[2..], 2, 16).map(|value| Character { value, multibyte: false, length: 4 }),
        b'u' | b'U' => {
            let count = if escape == b'u' { 4 } else { 8 };
            let value = digits(&text[2..], count, 16).filter(|value| unicode::is_valid(*value))?;
            Some(Character { value, multibyte: true, length: 2 + count })
        }
        b'0'..=b'7' => {
            let value = digits(&text[1..], 3, 8).filter(|value| *value <= 0xFF)?;
            Some(Character { value, multibyte: false, length: 4 })
        }
        _ => None,
    }
}

fn digits(text: &[u8], count: usize, base: u32) -> Option<u32> {
    text.get(..count)?.iter().try_fold(0u32, |value, byte| {
        let digit = char::from(*byte).to_digit(base)?;
        Some(value.wrapping_mul(base) | digit)
    })
}

/// What a string literal stands for, its quotes included in `literal`; `None` if it is malformed.
pub fn unquote(literal: &[u8]) -> Option<std::borrow::Cow<'_, [u8]>> {
    let (&delimiter, rest) = literal.split_first()?;
    let inside = rest.strip_suffix(&[delimiter])?;
    if delimiter == b'`' {
        return Some(if inside.contains(&b'\r') {
            inside.iter().copied().filter(|byte| *byte != b'\r').collect::<Vec<u8>>().into()
        } else {
            inside.into()
        });
    }
    if !inside.contains(&b'\\') && std::str::from_utf8(inside).is_ok() {
        return Some(inside.into());
    }
    let mut out = Vec::with_capacity(inside.len());
    let mut left = inside;
    while !left.is_empty() {
        let character = unquote_char(left, delimiter)?;
        left = &left[character.length..];
        if character.multibyte {
            push(&mut out, character.value);
        } else {
            out.push(character.value as u8);
        }
    }
    Some(out.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quoted(text: &[u8]) -> String {
        let mut out = Vec::new();
        quote(&mut out, text);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn quotes() {
        assert_eq!(
            quoted("a\"\\\n\u{1}\u{7f}é\u{ad}\u{1F600}\u{E000}".as_bytes()),
            r#""a\"\\\n\x01\x7fé\u00ad😀\ue000""#
        );
        assert_eq!(quoted(b"\xFF\xEF\xBF\xBD"), "\"\\xff\u{FFFD}\"");
    }

    #[test]
    fn unquotes() {
        let unquoted = |literal: &str| unquote(literal.as_bytes()).map(|text| text.into_owned());
        assert_eq!(unquoted(r#""\a\x41\101\u00e9\U0001F600\"""#), Some("\u{7}AAé😀\"".as_bytes().to_vec()));
        assert_eq!(unquoted(r#""\xff\377""#), Some(vec![0xFF, 0xFF]));
        assert_eq!(unquoted("`a\r\nb`"), Some(b"a\nb".to_vec()));
        for bad in [r#""\'""#, r#""\ud800""#, r#""\400""#, r#""\x1""#, r#""\z""#, r#""\18""#] {
            assert_eq!(unquoted(bad), None, "{bad}");
        }
        assert_eq!(unquote(b"\"\xFF\"").map(|text| text.into_owned()), Some("\u{FFFD}".as_bytes().to_vec()));
    }

    #[test]
    fn backquotes() {
        assert!(can_backquote("a\té".as_bytes()));
        for bad in ["`", "\u{feff}", "\n", "\u{7f}"] {
            assert!(!can_backquote(bad.as_bytes()), "{bad:?}");
        }
        assert!(!can_backquote(b"\xFF"));
        assert!(can_backquote("\u{FFFD}".as_bytes()));
    }
}
