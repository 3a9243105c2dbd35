//! Numbers as Go reads and prints them.

use std::fmt;

use crate::quote::quoted;

/// Why a text is not a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberError {
    /// It does not have the form of one.
    Syntax,
    /// The type cannot hold it.
    Range,
}

impl fmt::Display for NumberError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NumberError::Syntax => "invalid syntax",
            NumberError::Range => "value out of range",
        })
    }
}

impl NumberError {
    /// Go's message with the name of its function and the text: `strconv.ParseInt: parsing "x": invalid syntax`.
    pub fn message(self, function: &str, text: &str) -> String {
        format!("strconv.{function}: parsing {}: {self}", quoted(text))
    }
}

/// `ParseInt` of 64 bits. `base` is 10, or 0 for the base that the prefix names (`0x`, `0o`, `0`, `0b`), with underscores
/// between digits.
///
/// # Errors
/// A text that is not an integer, or not one of 64 bits.
pub fn parse_int(text: &[u8], base: u32) -> Result<i64, NumberError> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    let value = parse_uint(digits, base)?;
    let value = if negative { 0i64.checked_sub_unsigned(value) } else { i64::try_from(value).ok() };
    value.ok_or(NumberError::Range)
}

/// `ParseUint` of 64 bits, with the bases of [`parse_int`].
///
/// # Errors
/// As [`parse_int`]; a sign is one.
pub fn parse_uint(text: &[u8], base: u32) -> Result<u64, NumberError> {
    let (radix, digits): (u32, &[u8]) = match (base, text) {
        (_, []) => return Err(NumberError::Syntax),
        (0, [b'0', b'b' | b'B', _, ..]) => (2, &text[2..]),
        (0, [b'0', b'o' | b'O', _, ..]) => (8, &text[2..]),
        (0, [b'0', b'x' | b'X', _, ..]) => (16, &text[2..]),
        (0, [b'0', rest @ ..]) => (8, rest),
        (0, digits) => (10, digits),
        (base, digits) => (base, digits),
    };
    let mut value = 0u64;
    for byte in digits.iter().filter(|byte| base != 0 || **byte != b'_') {
        let digit = char::from(*byte).to_digit(radix).ok_or(NumberError::Syntax)?;
        let next = value.checked_mul(u64::from(radix)).and_then(|value| value.checked_add(u64::from(digit)));
        value = next.ok_or(NumberError::Range)?;
    }
    if base == 0 && !underscores_separate_digits(text) { Err(NumberError::Syntax) } else { Ok(value) }
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

/// `ParseFloat` of 64 bits: decimal, hexadecimal, infinite and not a number.
///
/// # Errors
/// A text that is not a number, or too large a one.
pub fn parse_float(text: &[u8]) -> Result<f64, NumberError> {
    let (negative, unsigned) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    if unsigned.eq_ignore_ascii_case(b"inf") || unsigned.eq_ignore_ascii_case(b"infinity") {
        return Ok(if negative { f64::NEG_INFINITY } else { f64::INFINITY });
    }
    if text.eq_ignore_ascii_case(b"nan") {
        return Ok(f64::NAN);
    }
    if !underscores_separate_digits(text) {
        return Err(NumberError::Syntax);
    }
    let clean: Vec<u8> = unsigned.iter().copied().filter(|byte| *byte != b'_').collect();
    let value = if let [b'0', b'x' | b'X', digits @ ..] = clean.as_slice() {
        hexadecimal_float(digits).ok_or(NumberError::Syntax)?
    } else {
        // Without the forms that only Rust accepts: words, a second sign.
        let is_number = clean.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
        if !is_number || matches!(clean.first(), Some(b'+' | b'-')) {
            return Err(NumberError::Syntax);
        }
        str::from_utf8(&clean).ok().and_then(|text| text.parse::<f64>().ok()).ok_or(NumberError::Syntax)?
    };
    if value.is_infinite() { Err(NumberError::Range) } else { Ok(if negative { -value } else { value }) }
}

/// The fewest digits that only this finite number has, without zeros at either end, and the place of the decimal point among
/// them. Of two equally short and near texts it is the even one, as in Go; Rust's own formatting takes the greater one.
pub fn shortest_digits(number: f64) -> (Vec<u8>, i32) {
    let mut buffer = zmij::Buffer::new();
    let text = buffer.format_finite(number.abs());
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let before = mantissa.find('.').unwrap_or(mantissa.len());
    let all = mantissa.bytes().filter(u8::is_ascii_digit);
    let zeros = all.clone().take_while(|digit| *digit == b'0').count();
    let mut digits: Vec<u8> = all.skip(zeros).collect();
    while digits.last() == Some(&b'0') {
        digits.pop();
    }
    let point = if digits.is_empty() { 0 } else { before as i32 - zeros as i32 + exponent };
    (digits, point)
}

/// `FormatFloat(number, 'g', -1, 64)`: the fewest digits that are read as the same number.
pub fn format_float(number: f64) -> String {
    let (digits, point) = shortest_digits(if number.is_finite() { number } else { 0.0 });
    if !number.is_finite() || digits.is_empty() || (-3..7).contains(&point) {
        return format_decimal(number);
    }
    let (first, rest) = digits.split_at(1);
    let exponent = point - 1;
    let mut text = if number < 0.0 { "-".to_owned() } else { String::new() };
    text.push(char::from(first[0]));
    if !rest.is_empty() {
        text.push('.');
        text.extend(rest.iter().map(|digit| char::from(*digit)));
    }
    text.push_str(&format!("e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs()));
    text
}

/// `FormatFloat(number, 'f', -1, 64)`: never with an exponent.
pub fn format_decimal(number: f64) -> String {
    if let Some(name) = not_finite(number) {
        return name.to_owned();
    }
    let (digits, point) = shortest_digits(number);
    let digit = |place: i32| usize::try_from(place).ok().and_then(|place| digits.get(place)).copied().unwrap_or(b'0');
    let mut text = if number.is_sign_negative() { "-".to_owned() } else { String::new() };
    if point <= 0 {
        text.push('0');
    }
    text.extend((0..point).map(|place| char::from(digit(place))));
    let end = digits.len() as i32;
    if end > point {
        text.push('.');
        text.extend((point..end).map(|place| char::from(digit(place))));
    }
    text
}

fn not_finite(number: f64) -> Option<&'static str> {
    if number.is_nan() {
        Some("NaN")
    } else if number.is_infinite() {
        Some(if number > 0.0 { "+Inf" } else { "-Inf" })
    } else {
        None
    }
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

    #[test]
    fn integers() {
        assert_eq!(parse_int(b"010", 0), Ok(8));
        assert_eq!(parse_int(b"010", 10), Ok(10));
        assert_eq!(parse_int(b"-0x1_0", 0), Ok(-16));
        assert_eq!(parse_int(b"1_0", 10), Err(NumberError::Syntax));
        assert_eq!(parse_int(b"9223372036854775808", 0), Err(NumberError::Range));
        assert_eq!(parse_int(b"99999999999999999999x", 0), Err(NumberError::Range), "Go stops at the first overflow");
        assert_eq!(NumberError::Syntax.message("Atoi", "a\"b"), r#"strconv.Atoi: parsing "a\"b": invalid syntax"#);
    }

    #[test]
    fn floats() {
        assert_eq!(parse_float(b"-Infinity"), Ok(f64::NEG_INFINITY));
        assert!(parse_float(b"nAn").is_ok_and(f64::is_nan));
        for bad in [&b"+nan"[..], b"in", b"", b"--1", b"1e", b"."] {
            assert_eq!(parse_float(bad), Err(NumberError::Syntax), "{bad:?}");
        }
        assert_eq!(parse_float(b"0x1p-2"), Ok(0.25));
    }

    #[test]
    fn formats() {
        for (number, text) in [
            (1e20, "1e+20"),
            (100000.0, "100000"),
            (1234567.5, "1.2345675e+06"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (-0.0, "-0"),
        ] {
            assert_eq!(format_float(number), text);
        }
        for (number, text) in
            [(1e21, "1000000000000000000000"), (0.0, "0"), (0.00125, "0.00125"), (-12.5, "-12.5"), (0.05, "0.05")]
        {
            assert_eq!(format_decimal(number), text);
        }
        assert_eq!(format_float(1_234_567_890_223_460.2), "1.2345678902234602e+15", "halves to even");
        assert_eq!((format_float(1.5e-7), format_float(-1e6)), ("1.5e-07".into(), "-1e+06".into()));
        assert_eq!(format_float(f64::INFINITY), "+Inf");
    }
}
