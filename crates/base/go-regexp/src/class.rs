//! Classes of characters and escapes.

use crate::error::{Result, before, error, next};

/// An expression that matches nowhere.
pub(crate) const NOTHING: &str = r"[^\x00-\x{10FFFF}]";

const POSIX: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "word",
    "xdigit",
];

/// Translates a class in brackets, which `text` begins with; gives the rest.
pub(crate) fn bracket<'t>(out: &mut String, text: &'t str) -> Result<&'t str> {
    let mut left = &text[1..];
    out.push('[');
    if let Some(rest) = left.strip_prefix('^') {
        out.push('^');
        left = rest;
    }
    let mut first = true;
    while first || !left.starts_with(']') {
        first = false;
        if let Some((part, rest)) = named(left)? {
            out.push_str(part);
            left = rest;
            continue;
        }
        if let Some((part, rest)) = escaped(left)? {
            out.push_str(&part);
            left = rest;
            continue;
        }
        let range = left;
        let low;
        (low, left) = member(left, text)?;
        let mut high = low;
        if left.len() >= 2 && left.starts_with('-') && !left.starts_with("-]") {
            (high, left) = member(&left[1..], text)?;
            if high < low {
                return error("invalid character class range", before(range, left));
            }
        }
        add_range(out, low, high);
    }
    out.push(']');
    Ok(&left[1..])
}

/// Code points that are not characters (halves of surrogate pairs) match nothing.
fn add_range(out: &mut String, low: u32, high: u32) {
    let low = if (0xD800..=0xDFFF).contains(&low) { 0xE000 } else { low };
    let high = if (0xD800..=0xDFFF).contains(&high) { 0xD7FF } else { high };
    if low <= high {
        out.push_str(&format!("\\x{{{low:X}}}-\\x{{{high:X}}}"));
    } else {
        out.push_str(NOTHING);
    }
}

/// A character of the class `whole`, at the start of `text`.
fn member<'t>(text: &'t str, whole: &str) -> Result<(u32, &'t str)> {
    match next(text) {
        None => error("missing closing ]", whole),
        Some(('\\', _)) => character(text),
        Some((member, rest)) => Ok((member.into(), rest)),
    }
}

/// `[:name:]` at the start of `text`, within a class.
fn named(text: &str) -> Result<Option<(&str, &str)>> {
    let Some(inside) = text.strip_prefix("[:") else { return Ok(None) };
    let Some(end) = inside.find(":]") else { return Ok(None) };
    let (name, rest) = (&inside[..end], &inside[end + 2..]);
    let part = before(text, rest);
    if !POSIX.contains(&name.strip_prefix('^').unwrap_or(name)) {
        return error("invalid character class range", part);
    }
    Ok(Some((part, rest)))
}

/// An escape for a class (`\d`, `\pL`) at the start of `text`, as a part of a class in brackets; and the rest.
pub(crate) fn escaped(text: &str) -> Result<Option<(String, &str)>> {
    let Some(letter) = text.strip_prefix('\\').and_then(|rest| rest.chars().next()) else { return Ok(None) };
    let part = match letter {
        'd' => "0-9",
        'D' => "[^0-9]",
        's' => r"\t\n\x0C\r ",
        'S' => r"[^\t\n\x0C\r ]",
        'w' => "0-9A-Za-z_",
        'W' => "[^0-9A-Za-z_]",
        'p' | 'P' => return unicode(text, letter == 'P'),
        _ => return Ok(None),
    };
    Ok(Some((part.to_owned(), &text[2..])))
}

/// `\pL` or `\p{Greek}`.
fn unicode(text: &str, negated: bool) -> Result<Option<(String, &str)>> {
    let (name, rest) = match next(&text[2..]) {
        None => return error("invalid character class range", text),
        Some(('{', inside)) => match inside.find('}') {
            None => return error("invalid character class range", text),
            Some(end) => (&inside[..end], &inside[end + 1..]),
        },
        Some((letter, rest)) => (&text[2..2 + letter.len_utf8()], rest),
    };
    let (name, negated) = name.strip_prefix('^').map_or((name, negated), |name| (name, !negated));
    let class = format!("\\{}{{{name}}}", if negated { 'P' } else { 'p' });
    let is_name = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphabetic() || matches!(b, b'_' | b'-' | b' '));
    if !is_name || regex::Regex::new(&class).is_err() {
        return error("invalid character class range", before(text, rest));
    }
    Ok(Some((class, rest)))
}

/// The code point of an escape, which `text` begins with; and the rest.
pub(crate) fn character(text: &str) -> Result<(u32, &str)> {
    let Some((letter, rest)) = next(&text[1..]) else { return error("trailing backslash at end of expression", "") };
    let simple = match letter {
        'a' => 7,
        'f' => 12,
        'n' => 10,
        'r' => 13,
        't' => 9,
        'v' => 11,
        'x' => return hexadecimal(text, rest),
        '1'..='7' if !rest.starts_with(|c| matches!(c, '0'..='7')) => {
            return error("invalid escape sequence", before(text, rest));
        }
        '0'..='7' => {
            let more = rest.bytes().take(2).take_while(|byte| matches!(byte, b'0'..=b'7')).count();
            let digits = &text[1..2 + more];
            return Ok((digits.bytes().fold(0, |value, byte| value * 8 + u32::from(byte - b'0')), &rest[more..]));
        }
        other if other.is_ascii() && !other.is_ascii_alphanumeric() => other.into(),
        _ => return error("invalid escape sequence", before(text, rest)),
    };
    Ok((simple, rest))
}

/// `\x41` or `\x{1F600}`; `rest` follows the letter.
fn hexadecimal<'t>(text: &'t str, rest: &'t str) -> Result<(u32, &'t str)> {
    let invalid = |left: &str| error("invalid escape sequence", before(text, left));
    let Some((first, mut left)) = next(rest) else { return invalid(rest) };
    if first != '{' {
        let Some((second, after)) = next(left) else { return invalid(left) };
        return match (first.to_digit(16), second.to_digit(16)) {
            (Some(high), Some(low)) => Ok((high * 16 + low, after)),
            _ => invalid(after),
        };
    }
    let (mut value, mut digits) = (0, 0);
    while let Some((character, after)) = next(left) {
        left = after;
        match character.to_digit(16) {
            None if character == '}' && digits > 0 => return Ok((value, left)),
            Some(digit) if value * 16 + digit <= 0x10_FFFF => (value, digits) = (value * 16 + digit, digits + 1),
            _ => break,
        }
    }
    invalid(left)
}
