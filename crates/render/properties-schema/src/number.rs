//! Numbers as Ruby compares them.

use std::cmp::Ordering;

use serde_json::Value as Json;
use value::Value;

/// `<=>` of a number and a number of the schema.
pub(crate) fn compare(instance: &Value, limit: &Json) -> Option<Ordering> {
    match (instance, limit.as_i64()) {
        (Value::Int(n), Some(limit)) => Some(n.cmp(&limit)),
        _ => float(instance)?.partial_cmp(&limit.as_f64()?),
    }
}

/// The nearest Float.
fn float(value: &Value) -> Option<f64> {
    match value {
        Value::Int(n) => Some(*n as f64),
        Value::Float(f) => Some(*f),
        Value::BigInt(n) => {
            let magnitude = n.magnitude.iter().rev().fold(0.0, |sum, byte| sum * 256.0 + f64::from(*byte));
            Some(if n.negative { -magnitude } else { magnitude })
        }
        _ => None,
    }
}

/// Whether a number is a multiple of another: of the decimal numbers that are written, so that 0.3 is one of 0.1.
pub(crate) fn is_multiple(instance: &Value, of: &Json) -> bool {
    let exactly = instance.scalar_to_s().and_then(|text| Decimal::parse(&text));
    if let (Some(number), Some(divisor)) = (exactly, Decimal::parse(&of.to_string()))
        && let Some(multiple) = number.is_multiple_of(divisor)
    {
        return multiple;
    }
    matches!((float(instance), of.as_f64()), (Some(number), Some(divisor)) if number % divisor == 0.0)
}

/// `digits` times ten to the power of `exponent`.
#[derive(Clone, Copy)]
struct Decimal {
    digits: i128,
    exponent: i32,
}

impl Decimal {
    fn parse(text: &str) -> Option<Decimal> {
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{fraction}").parse().ok()?;
        let exponent = exponent.parse::<i32>().ok()?.checked_sub(i32::try_from(fraction.len()).ok()?)?;
        Some(Decimal { digits, exponent })
    }

    /// `None` where the digits are too many.
    fn is_multiple_of(self, other: Decimal) -> Option<bool> {
        let exponent = self.exponent.min(other.exponent);
        let scaled = |n: Decimal| {
            let factor = 10i128.checked_pow(u32::try_from(n.exponent - exponent).ok()?)?;
            n.digits.checked_mul(factor)
        };
        scaled(self)?.checked_rem(scaled(other)?).map(|rest| rest == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multiples_are_those_of_the_written_numbers() {
        let is = |value: Value, of: &str| is_multiple(&value, &serde_json::from_str(of).unwrap());
        assert!(is(Value::Float(0.3), "0.1"));
        assert!(is(Value::Float(1e20), "3e19") == (1e20 as i128 % 30_000_000_000_000_000_000 == 0));
        assert!(is(Value::Int(12), "1.5"));
        assert!(!is(Value::Int(13), "1.5"));
        assert!(!is(Value::Int(3), "0"));
        assert!(!is(Value::Float(f64::INFINITY), "2"));
    }
}
