//! Floats as Go's `strconv` writes them, and the flags on top.

use std::io::Write;

use super::{Printer, scalar};
use crate::exec::Val;

/// No float has more decimal digits, before or behind the point.
const MOST_DIGITS: usize = 1_100;

/// The digits of a decimal number, `0.d1d2d3… * 10^point`, without zeros at the end.
struct Decimal {
    digits: Vec<u8>,
    point: i32,
}

impl Decimal {
    /// From Rust's scientific notation, `1.5e-7`.
    fn from_scientific(text: &[u8]) -> Decimal {
        let split = memchr::memchr(b'e', text).unwrap_or(text.len());
        let mut digits: Vec<u8> = text[..split].iter().copied().filter(u8::is_ascii_digit).collect();
        while digits.last() == Some(&b'0') {
            digits.pop();
        }
        let exponent: i32 =
            str::from_utf8(&text[(split + 1).min(text.len())..]).ok().and_then(|e| e.parse().ok()).unwrap_or(0);
        Decimal { point: if digits.is_empty() { 0 } else { exponent + 1 }, digits }
    }

    /// The fewest digits that only this number has.
    fn shortest(number: f64) -> Decimal {
        let (digits, point) = go_strconv::number::shortest_digits(number);
        Decimal { digits, point }
    }

    /// So many digits, rounded to the nearest, halves to even.
    fn rounded(number: f64, digits: usize) -> Decimal {
        let mut text = Vec::new();
        // Writing to a vector cannot fail.
        let _ = write!(text, "{:.*e}", digits.clamp(1, MOST_DIGITS) - 1, number.abs());
        Decimal::from_scientific(&text)
    }
}

/// Appends a finite float in the format of the verb; `precision`: `None` for as many digits as needed.
fn append(out: &mut Vec<u8>, number: f64, verb: char, precision: Option<usize>) {
    if number.is_sign_negative() {
        out.push(b'-');
    }
    match verb {
        'b' => binary(out, number),
        'x' | 'X' => hexadecimal(out, number, precision, verb == 'X'),
        'f' => fixed(out, number, precision),
        'e' | 'E' => {
            let decimal = match precision {
                Some(precision) => Decimal::rounded(number, precision.saturating_add(1)),
                None => Decimal::shortest(number),
            };
            let precision = precision.unwrap_or(decimal.digits.len().max(1) - 1);
            scientific(out, &decimal, precision, verb as u8);
        }
        _ => general(out, number, precision, if verb == 'G' { b'E' } else { b'e' }),
    }
}

fn fixed(out: &mut Vec<u8>, number: f64, precision: Option<usize>) {
    match precision {
        Some(precision) => {
            let exact = precision.min(MOST_DIGITS);
            let _ = write!(out, "{:.*}", exact, number.abs());
            out.resize(out.len() + precision - exact, b'0');
        }
        None => plain(out, &Decimal::shortest(number), None),
    }
}

/// The number without an exponent, with so many digits behind the point, or as many as there are.
fn plain(out: &mut Vec<u8>, decimal: &Decimal, precision: Option<usize>) {
    let digit =
        |place: i32| usize::try_from(place).ok().and_then(|place| decimal.digits.get(place)).copied().unwrap_or(b'0');
    if decimal.point > 0 {
        out.extend((0..decimal.point).map(digit));
    } else {
        out.push(b'0');
    }
    let precision = precision.unwrap_or((decimal.digits.len() as i32 - decimal.point).max(0) as usize);
    if precision > 0 {
        out.push(b'.');
        out.extend((0..precision).map(|place| digit(decimal.point.saturating_add(place as i32))));
    }
}

fn scientific(out: &mut Vec<u8>, decimal: &Decimal, precision: usize, letter: u8) {
    out.push(decimal.digits.first().copied().unwrap_or(b'0'));
    if precision > 0 {
        out.push(b'.');
        let behind = &decimal.digits[decimal.digits.len().min(1)..];
        let behind = &behind[..behind.len().min(precision)];
        out.extend_from_slice(behind);
        out.resize(out.len() + precision - behind.len(), b'0');
    }
    let exponent = if decimal.digits.is_empty() { 0 } else { decimal.point - 1 };
    let sign = if exponent < 0 { '-' } else { '+' };
    let _ = write!(out, "{}{sign}{:02}", char::from(letter), exponent.abs());
}

fn general(out: &mut Vec<u8>, number: f64, precision: Option<usize>, letter: u8) {
    let decimal = match precision {
        Some(precision) => Decimal::rounded(number, precision),
        None => Decimal::shortest(number),
    };
    let known = decimal.digits.len();
    let exponent = decimal.point - 1;
    let mut precision_used = precision.map_or(known, |precision| if known > 0 { precision.max(1) } else { precision });
    let mut least = precision_used;
    if least > known && known as i32 >= decimal.point {
        least = known;
    }
    if precision.is_none() {
        least = 6;
    }
    if exponent < -4 || i64::from(exponent) >= least as i64 {
        precision_used = precision_used.min(known);
        scientific(out, &decimal, precision_used.max(1) - 1, letter);
        return;
    }
    if precision_used as i64 > i64::from(decimal.point) {
        precision_used = known;
    }
    plain(out, &decimal, Some((precision_used as i64 - i64::from(decimal.point)).max(0) as usize));
}

/// The significand and the exponent of two.
fn parts(number: f64) -> (u64, i32) {
    let bits = number.to_bits();
    let exponent = (bits >> 52 & 0x7FF) as i32;
    let fraction = bits & ((1 << 52) - 1);
    if exponent == 0 { (fraction, -1022) } else { (fraction | 1 << 52, exponent - 1023) }
}

fn binary(out: &mut Vec<u8>, number: f64) {
    let (significand, exponent) = parts(number);
    let _ = write!(out, "{significand}p{:+}", exponent - 52);
}

fn hexadecimal(out: &mut Vec<u8>, number: f64, precision: Option<usize>, upper: bool) {
    let (mut significand, mut exponent) = parts(number);
    if significand == 0 {
        exponent = 0;
    }
    // The leading one at bit 60.
    significand <<= 8;
    while significand != 0 && significand & 1 << 60 == 0 {
        significand <<= 1;
        exponent -= 1;
    }
    if let Some(precision) = precision.filter(|precision| *precision < 15) {
        let shift = 4 * precision;
        let rest = significand << shift & ((1 << 60) - 1);
        significand >>= 60 - shift;
        if rest | significand & 1 > 1 << 59 {
            significand += 1;
        }
        significand <<= 60 - shift;
        if significand & 1 << 61 != 0 {
            significand >>= 1;
            exponent += 1;
        }
    }
    let digits = if upper { scalar::UPPER } else { scalar::LOWER };
    out.extend_from_slice(&[b'0', digits[16], b'0' + (significand >> 60 & 1) as u8]);
    significand <<= 4;
    let count = precision.unwrap_or((64 - significand.trailing_zeros() as usize).div_ceil(4));
    if count > 0 {
        out.push(b'.');
        for _ in 0..count {
            out.push(digits[(significand >> 60 & 15) as usize]);
            significand <<= 4;
        }
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    let _ = write!(out, "{}{sign}{:02}", if upper { 'P' } else { 'p' }, exponent.abs());
}

impl Printer<'_> {
    pub(super) fn float(&mut self, number: f64, verb: char, value: &Val<'_>) {
        match verb {
            'v' => self.formatted(number, 'g', None),
            'b' | 'g' | 'G' | 'x' | 'X' => self.formatted(number, verb, None),
            'f' | 'e' | 'E' => self.formatted(number, verb, Some(6)),
            'F' => self.formatted(number, 'f', Some(6)),
            _ => self.bad_verb(value, verb),
        }
    }

    pub(super) fn complex(&mut self, real: f64, imaginary: f64, verb: char, value: &Val<'_>) {
        if !matches!(verb, 'v' | 'b' | 'g' | 'G' | 'x' | 'X' | 'f' | 'F' | 'e' | 'E') {
            return self.bad_verb(value, verb);
        }
        self.out.push(b'(');
        self.float(real, verb, value);
        let plus = std::mem::replace(&mut self.flags.plus, true);
        self.float(imaginary, verb, value);
        self.flags.plus = plus;
        self.out.extend_from_slice(b"i)");
    }

    fn formatted(&mut self, number: f64, verb: char, precision: Option<usize>) {
        let flags = self.flags;
        let precision = flags.precision.or(precision);
        if self.limit.saturating_sub(self.out.len()) < precision.unwrap_or(0) && !matches!(verb, 'b' | 'g' | 'G') {
            return self.padding(precision.unwrap_or(0));
        }
        let mut text = std::mem::take(&mut self.scratch);
        text.clear();
        if number.is_finite() {
            append(&mut text, number, verb, precision);
        } else {
            text.extend_from_slice(if number.is_nan() {
                b"NaN"
            } else if number > 0.0 {
                b"+Inf"
            } else {
                b"-Inf"
            });
        }
        // From here on the sign is always there, if only to be left out.
        if !matches!(text.first(), Some(b'-' | b'+')) {
            text.insert(0, b'+');
        }
        if flags.space && text[0] == b'+' && !flags.plus {
            text[0] = b' ';
        }
        if !number.is_finite() {
            let start = usize::from(number.is_nan() && !flags.space && !flags.plus);
            // A sign that was not asked for stays with an infinity.
            self.pad_with_spaces(&text[start..]);
            self.scratch = text;
            return;
        }
        if flags.sharp && verb != 'b' {
            keep_zeros(&mut text, verb, precision);
        }
        if !flags.plus && text[0] == b'+' {
            self.pad(&text[1..]);
        } else if flags.zero && !flags.minus && flags.width.is_some_and(|width| width > text.len()) {
            let width = flags.width.unwrap_or(0);
            self.out.push(text[0]);
            self.padding(width - text.len());
            self.out.extend_from_slice(&text[1..]);
        } else {
            self.pad(&text);
        }
        self.scratch = text;
    }
}

/// The flag `#`: a decimal point always, and zeros at the end of `%g`.
fn keep_zeros(text: &mut Vec<u8>, verb: char, precision: Option<usize>) {
    let mut missing =
        if matches!(verb, 'g' | 'G' | 'x') { precision.map_or(6, |precision| precision as i64) } else { 0 };
    let hexadecimal = matches!(verb, 'x' | 'X');
    let is_exponent = |byte: &u8| matches!(byte, b'p' | b'P') || !hexadecimal && matches!(byte, b'e' | b'E');
    let split = text.iter().skip(1).position(is_exponent).map_or(text.len(), |place| place + 1);
    let tail = text.split_off(split);
    let mut point = false;
    let mut nonzero = false;
    for &byte in &text[1..] {
        if byte == b'.' {
            point = true;
            continue;
        }
        nonzero |= byte != b'0';
        missing -= i64::from(nonzero);
    }
    if !point {
        if text.len() == 2 && text[1] == b'0' {
            missing -= 1;
        }
        text.push(b'.');
    }
    text.resize(text.len() + missing.max(0) as usize, b'0');
    text.extend_from_slice(&tail);
}
