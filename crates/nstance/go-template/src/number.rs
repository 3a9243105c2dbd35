//! Go's number literals: integers with prefixes and underscores, floats, hexadecimal floats, imaginary and character
//! constants.

use go_strconv::number::{NumberError, parse_float, parse_int, parse_uint};
use go_strconv::quote;

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
    match parse_int(literal, 0) {
        Ok(value) if looks_like_float => return Ok(Constant::Float(value as f64)),
        Ok(value) => return Ok(Constant::Int(value)),
        Err(_) => {}
    }
    if let Ok(value) = parse_uint(literal, 0) {
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
                NumberError::Syntax => b": invalid syntax",
                NumberError::Range => b": value out of range",
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
