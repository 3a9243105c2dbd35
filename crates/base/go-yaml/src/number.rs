//! Numbers as Go's `strconv` reads and prints them.

/// An integer of Go's types.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Integer {
    /// `int`.
    Int(i64),
    /// `uint64`, above the greatest [`Integer::Int`].
    Uint(u64),
}

/// `strconv.ParseInt` with base 0 and, failing that, `ParseUint`: the prefix names the base (`0x`, `0o`, `0`, `0b`).
/// The text has no underscores.
pub(crate) fn integer(text: &str) -> Option<Integer> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let is_signed = digits.len() != text.len();
    let lower = digits.get(..2).map(str::to_ascii_lowercase);
    let (radix, digits) = match lower.as_deref() {
        Some("0x") => (16, &digits[2..]),
        Some("0o") => (8, &digits[2..]),
        Some("0b") => (2, &digits[2..]),
        Some(prefix) if prefix.starts_with('0') => (8, &digits[1..]),
        _ => (10, digits),
    };
    // Rust would take a second sign.
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let magnitude = u64::from_str_radix(digits, radix).ok()?;
    match (negative, i64::try_from(magnitude)) {
        (false, Ok(n)) => Some(Integer::Int(n)),
        (true, Ok(n)) => Some(Integer::Int(-n)),
        (true, Err(_)) if magnitude == 1 << 63 => Some(Integer::Int(i64::MIN)),
        // `ParseUint` takes no sign.
        (false, Err(_)) if !is_signed => Some(Integer::Uint(magnitude)),
        _ => None,
    }
}

/// `^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$` of a finite number.
pub(crate) fn float(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => (&unsigned[..at], Some(&unsigned[at + 1..])),
        None => (unsigned, None),
    };
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_mantissa = match mantissa.split_once('.') {
        Some(("", fraction)) => is_digits(fraction),
        Some((whole, fraction)) => is_digits(whole) && (fraction.is_empty() || is_digits(fraction)),
        None => is_digits(mantissa),
    };
    let is_exponent = exponent.is_none_or(|text| is_digits(text.strip_prefix(['-', '+']).unwrap_or(text)));
    if !is_mantissa || !is_exponent {
        return None;
    }
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// `strconv.FormatFloat(f, 'g', -1, 64)`, with YAML's names of what is not finite.
pub fn format(number: f64) -> String {
    if number.is_nan() {
        return ".nan".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    go_strconv::number::format_float(number)
}
