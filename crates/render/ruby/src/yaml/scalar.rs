//! What Psych makes of plain scalars, where that is certain.
//!
//! No second resolver of YAML: a sieve in front of Psych's own (`Psych::ScalarScanner#tokenize`). It knows which texts
//! can be nothing but Strings, and the forms in which booleans, nil and usual numbers are written. Everything else (dates,
//! octals, sexagesimals, Symbols and so on) is asked of Psych.

use std::rc::Rc;

use value::Value;

/// What a plain scalar stands for.
#[derive(Debug, PartialEq)]
pub(crate) enum Plain {
    /// A String.
    Text,
    /// This value.
    Value(Value),
    /// Psych knows.
    Unknown,
}

/// Looks at the text of a plain scalar.
pub(crate) fn plain(text: &str) -> Plain {
    let mut chars = text.chars();
    let Some(first) = chars.next() else { return Plain::Value(Value::Nil) };
    if text.contains('\n') {
        return Plain::Unknown;
    }
    if starts_as_text(first, chars.next()) {
        // Psych compares texts of up to five characters with its constants.
        return if text.len() > 5 { Plain::Text } else { word(text) };
    }
    match first {
        '0'..='9' => number(text),
        '-' if text[1..].starts_with(|c: char| c.is_ascii_digit()) => number(text),
        '.' | ':' | '-' | '+' => Plain::Unknown,
        // Every value that is not a String begins with one of the above.
        _ => Plain::Text,
    }
}

/// The first characters after which Psych looks at no number: one at most that is no digit and none of `.:-`, then one
/// that numbers do not begin with.
fn starts_as_text(first: char, second: Option<char>) -> bool {
    let is_of_text = |c: char| {
        if c.is_ascii() { c.is_ascii_alphabetic() || "_ \t\x0b\x0c\r!@#$%^&*(){}<>|/\\~;=".contains(c) } else { false }
    };
    is_of_text(first) || !(first.is_ascii_digit() || ".:-".contains(first)) && second.is_some_and(is_of_text)
}

fn word(text: &str) -> Plain {
    let is = |words: &[&str]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    if text == "~" || is(&["null"]) {
        Plain::Value(Value::Nil)
    } else if is(&["yes", "true", "on"]) {
        Plain::Value(Value::Bool(true))
    } else if is(&["no", "false", "off"]) {
        Plain::Value(Value::Bool(false))
    } else {
        Plain::Text
    }
}

/// A text that begins with a digit, or a minus and a digit.
fn number(text: &str) -> Plain {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let canonical = |text: &str| digits(text) && (text.len() == 1 || !text.starts_with('0')) && text.len() <= 17;
    if canonical(unsigned) {
        return text.parse().map_or(Plain::Unknown, |n| Plain::Value(Value::Int(n)));
    }
    if let Some((whole, fraction)) = unsigned.split_once('.') {
        if canonical(whole) && digits(fraction) && fraction.len() <= 17 {
            return text.parse().map_or(Plain::Unknown, |f| Plain::Value(Value::Float(f)));
        }
        // Versions and IP addresses.
        if fraction.contains('.') && unsigned.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
            return Plain::Text;
        }
    }
    if unsigned.starts_with("0x") || unsigned.starts_with("0b") {
        return Plain::Unknown;
    }
    // Letters of exponents, dates and times, and what separates digits anywhere.
    let of_numbers = |b: u8| b.is_ascii_digit() || b"+-_,.:eETtZz \t\x0b\x0c\r".contains(&b);
    if unsigned.bytes().all(of_numbers) { Plain::Unknown } else { Plain::Text }
}

/// A String's text in an object of its own.
pub(crate) fn text_value(bytes: &[u8]) -> Value {
    Value::Str(Rc::new(value::Text { bytes: bytes.to_vec(), encoding: value::Encoding::Utf8 }))
}
