//! Go's number literals: integers with prefixes and underscores, floats, hexadecimal floats, imaginary and character
//! constants.

use crate::quote;

/// What a literal stands for where nothing says which type is wanted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Constant {
    Int(i64),
    Float(f64),
    Complex(f64, f64),
    /// An integer that only an unsigned type could hold: an error when it is evaluated.
    Overflow,
}

fn message(text: &str, literal: &[u8]) -> Vec<u8> {
    let mut message = text.as_bytes().to_vec();
    quote::quote(&mut message, literal);
    message
}

/// A character constant, its quotes included; else the message.
pub(crate) fn character(literal: &[u8]) -> Result<Constant, Vec<u8>> {
    let inside = &literal[1..];
    let character = quote::unquote_char(inside, b'\'').ok_or_else(|| b"invalid syntax".to_vec())?;
    if &inside[character.length..] != b"'" {
        return Err([b"malformed character constant: ", literal].concat());
    }
    Ok(Constant::Int(i64::from(character.value)))
}

/// A simple number; else the message.
pub(crate) fn simple(literal: &[u8]) -> Result<Constant, Vec<u8>> {
    if let [imaginary @ .., b'i'] = literal
        && let Ok(value) = parse_float(imaginary)
    {
        return Ok(Constant::Complex(0.0, value));
    }
    let contains = |set: &[u8]| literal.iter().any(|byte| set.contains(byte));
    // Go takes a number for a float if it contains one of these, with a sign before `0x` even the hexadecimal digit E.
    let hexadecimal = matches!(literal, [b'0', b'x' | b'X', _, ..]) && !contains(b"pP");
    let looks_like_float = !hexadecimal && contains(b".eEpP");
    match parse_int(literal) {
        Some(value) if looks_like_float => return Ok(Constant::Float(value as f64)),
        Some(value) => return Ok(Constant::Int(value)),
        None => {}
    }
    if let Some(value) = parse_uint(literal) {
        return Ok(if looks_like_float { Constant::Float(value as f64) } else { Constant::Overflow });
    }
    match parse_float(literal) {
        Ok(value) if contains(b".eEpP") => Ok(Constant::Float(value)),
        Ok(_) => Err(message("integer overflow: ", literal)),
        Err(_) => Err(message("illegal number syntax: ", literal)),
    }
}

/// A complex number, `1+2i`; else the message.
pub(crate) fn complex(literal: &[u8]) -> Result<Constant, Vec<u8>> {
    const MALFORMED: &[u8] = b"syntax error scanning complex number";
    let real = float_prefix(literal);
    let rest = &literal[real.len()..];
    let Some(b'+' | b'-') = rest.first() else { return Err(MALFORMED.to_vec()) };
    let imaginary = &rest[..1 + float_prefix(&rest[1..]).len()];
    if rest.get(imaginary.len()) != Some(&b'i') {
        return Err(MALFORMED.to_vec());
    }
    let part = |text: &[u8]| {
        parse_float(text).map_err(|why| {
            let mut text = message("strconv.ParseFloat: parsing ", text);
            text.extend_from_slice(match why {
                FloatError::Syntax => b": invalid syntax",
                FloatError::Range => b": value out of range",
            });
            text
        })
    };
    Ok(Constant::Complex(part(real)?, part(imaginary)?))
}

/// How far `text` looks like a float.
fn float_prefix(text: &[u8]) -> &[u8] {
    let mut end = 0;
    let mut accept = |set: &[u8]| {
        let found = text.get(end).is_some_and(|byte| set.contains(byte));
        end += usize::from(found);
        found
    };
    accept(b"+-");
    let (digits, exponent): (&[u8], &[u8]) =
        if accept(b"0") && accept(b"xX") { (b"0123456789aAbBcCdDeEfF_", b"pP") } else { (b"0123456789_", b"eEpP") };
    while accept(digits) {}
    if accept(b".") {
        while accept(digits) {}
    }
    if accept(exponent) {
        accept(b"+-");
        while accept(b"0123456789_") {}
    }
    &text[..end]
}

fn parse_int(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    let value = parse_uint(digits)?;
    if negative { 0i64.checked_sub_unsigned(value) } else { i64::try_from(value).ok() }
}

fn parse_uint(text: &[u8]) -> Option<u64> {
    let (base, digits): (u32, &[u8]) = match text {
        [b'0', b'b' | b'B', _, ..] => (2, &text[2..]),
        [b'0', b'o' | b'O', _, ..] => (8, &text[2..]),
        [b'0', b'x' | b'X', _, ..] => (16, &text[2..]),
        [b'0', rest @ ..] => (8, rest),
        [] => return None,
        digits => (10, digits),
    };
    let mut value = 0u64;
    for byte in digits.iter().filter(|byte| **byte != b'_') {
        let digit = char::from(*byte).to_digit(base)?;
        value = value.checked_mul(u64::from(base))?.checked_add(u64::from(digit))?;
    }
    underscores_separate_digits(text).then_some(value)
}

/// An underscore may stand between two digits only, or behind a base's prefix.
fn underscores_separate_digits(text: &[u8]) -> bool {
    if !text.contains(&b'_') {
        return true;
    }
    let text = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
    let (digits, mut last, hexadecimal) = match text {
        [b'0', letter @ (b'b' | b'B' | b'o' | b'O' | b'x' | b'X'), rest @ ..] => (rest, b'0', letter | 0x20 == b'x'),
        _ => (text, b'^', false),
    };
    for &byte in digits {
        let class = match byte {
            b'_' if last != b'0' => return false,
            b'_' => b'_',
            _ if byte.is_ascii_digit() || hexadecimal && byte.is_ascii_hexdigit() => b'0',
            _ if last == b'_' => return false,
            _ => b'!',
        };
        last = class;
    }
    last != b'_'
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FloatError {
    Syntax,
    Range,
}

fn parse_float(text: &[u8]) -> Result<f64, FloatError> {
    if !underscores_separate_digits(text) {
        return Err(FloatError::Syntax);
    }
    let clean: Vec<u8> = text.iter().copied().filter(|byte| *byte != b'_').collect();
    let unsigned = clean.strip_prefix(b"-").or(clean.strip_prefix(b"+")).unwrap_or(&clean);
    let value = if let [b'0', b'x' | b'X', digits @ ..] = unsigned {
        let value = hexadecimal_float(digits).ok_or(FloatError::Syntax)?;
        if clean[0] == b'-' { -value } else { value }
    } else {
        // Not what Rust takes besides digits: `inf`, `nan`.
        if !unsigned.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-')) {
            return Err(FloatError::Syntax);
        }
        str::from_utf8(&clean).ok().and_then(|text| text.parse::<f64>().ok()).ok_or(FloatError::Syntax)?
    };
    if value.is_infinite() { Err(FloatError::Range) } else { Ok(value) }
}

/// The value of `1.8p3`, its `0x` left out; `None` if it is malformed, infinite if it is too large.
fn hexadecimal_float(text: &[u8]) -> Option<f64> {
    let split = text.iter().position(|byte| matches!(byte, b'p' | b'P'))?;
    let (digits, exponent) = (&text[..split], &text[split + 1..]);
    let mut mantissa = 0u64;
    let mut scale = 0i64;
    let (mut point, mut any, mut rest) = (false, false, false);
    for &byte in digits {
        if byte == b'.' && !point {
            point = true;
            continue;
        }
        let digit = char::from(byte).to_digit(16)?;
        any = true;
        if mantissa >> 60 == 0 {
            mantissa = mantissa << 4 | u64::from(digit);
            scale -= if point { 4 } else { 0 };
        } else {
            rest |= digit != 0;
            scale += if point { 0 } else { 4 };
        }
    }
    let (negative, exponent) = match exponent {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if !any || exponent.is_empty() || !exponent.iter().all(u8::is_ascii_digit) {
        return None;
    }
    // From 100,000 on more digits change nothing.
    let exponent = exponent.iter().fold(0i64, |value, byte| (value * 10 + i64::from(byte - b'0')).min(100_000));
    Some(round(mantissa, scale + if negative { -exponent } else { exponent }, rest))
}

/// `mantissa` times two to the `exponent`, rounded to the nearest float, ties to even; `rest`: a little more than that.
fn round(mantissa: u64, exponent: i64, rest: bool) -> f64 {
    if mantissa == 0 {
        return 0.0;
    }
    let shift = mantissa.leading_zeros();
    let mantissa = mantissa << shift;
    // The value is mantissa * 2^exponent with the highest of 64 bits set.
    let exponent = exponent - i64::from(shift);
    let top = exponent + 63;
    if top > 1023 {
        return f64::INFINITY;
    }
    let keep = if top >= -1022 { 53 } else { 53 - (-1022 - top) };
    if keep < 0 {
        return 0.0;
    }
    let drop = (64 - keep) as u32;
    let (kept, dropped) = if drop == 64 {
        (0, u128::from(mantissa))
    } else {
        (mantissa >> drop, u128::from(mantissa) & ((1 << drop) - 1))
    };
    let half = 1u128 << (drop - 1);
    let up = dropped > half || dropped == half && (rest || kept & 1 == 1);
    let significand = kept + u64::from(up);
    // The biased exponent and the fraction: a carry out of the fraction raises the exponent, up to infinity.
    let biased = if top >= -1022 { (top + 1022) as u64 } else { 0 };
    f64::from_bits((biased << 52) + significand)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn simple_text(literal: &str) -> Result<Constant, String> {
        simple(literal.as_bytes()).map_err(|message| String::from_utf8(message).unwrap())
    }

    #[test]
    fn integers() {
        for (literal, value) in [
            ("0", 0),
            ("-0", 0),
            ("017", 15),
            ("0o17", 15),
            ("0b101", 5),
            ("0xE", 14),
            ("1_000", 1000),
            ("0x_1", 1),
            ("-9223372036854775808", i64::MIN),
            ("+5", 5),
        ] {
            assert_eq!(simple_text(literal), Ok(Constant::Int(value)), "{literal}");
        }
        assert_eq!(simple_text("18446744073709551615"), Ok(Constant::Overflow));
        assert_eq!(simple_text("-0xE"), Ok(Constant::Float(-14.0)), "Go takes the digit for an exponent");
    }

    #[test]
    fn floats() {
        for (literal, value) in [
            ("1.5", 1.5),
            (".5", 0.5),
            ("1.", 1.0),
            ("1e3", 1000.0),
            ("1_0.2_5", 10.25),
            ("0x1p-2", 0.25),
            ("0x1.8p1", 3.0),
            ("0x.8P0", 0.5),
            ("-0x1p4", -16.0),
            ("0x1.00000000000008p0", 1.0),
            ("0x1.00000000000018p0", 1.0000000000000004),
            ("0x1.000000000000081p0", 1.0000000000000002),
            ("0x1p-1074", 5e-324),
            ("0x1p-1075", 0.0),
            ("0x1.8p-1075", 5e-324),
            ("0x1.fffffffffffffp1023", f64::MAX),
            ("0x0.00000000000000000000000001p104", 1.0),
        ] {
            assert_eq!(simple_text(literal), Ok(Constant::Float(value)), "{literal}");
        }
        for bad in ["1e400", "0x1", "+.", "0x1.8", "1__0.5", "1_e3", "0x1.fffffffffffff8p1023"] {
            let expected =
                if bad == "0x1" { Ok(Constant::Int(1)) } else { Err(format!("illegal number syntax: {bad:?}")) };
            assert_eq!(simple_text(bad), expected, "{bad}");
        }
        assert_eq!(simple_text("08"), Err("integer overflow: \"08\"".into()));
        assert_eq!(simple_text("99999999999999999999"), Err("integer overflow: \"99999999999999999999\"".into()));
    }

    #[test]
    fn complex_numbers() {
        assert_eq!(simple_text("2i"), Ok(Constant::Complex(0.0, 2.0)));
        assert_eq!(complex(b"1+2i"), Ok(Constant::Complex(1.0, 2.0)));
        assert_eq!(complex(b"-0x1p1-1.5e1i"), Ok(Constant::Complex(-2.0, -15.0)));
        assert_eq!(complex(b"1i+2i").unwrap_err(), b"syntax error scanning complex number");
        assert_eq!(complex(b"1_+2i").unwrap_err(), b"strconv.ParseFloat: parsing \"1_\": invalid syntax");
    }
}
