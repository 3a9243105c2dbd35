//! Random values, of every kind that a document can hold.

use std::rc::Rc;

use value::Value;
use value::{BigInt, Encoding, Map, Text};

use crate::random::Random;

const TEXTS: &[&str] =
    &["", "a", "name", "release", "nil", "((x))", "a((x))b", "..", "/", "a.b", "1", "true", "ü☃", "\n", "errand", "*"];

/// A value with at most `depth` levels of Arrays and Hashes. `keys` are likely Strings of it, as keys and as values.
pub fn value(random: &mut Random, keys: &[&str], depth: usize) -> Value {
    match random.below(if depth == 0 { 9 } else { 18 }) {
        0 => Value::Nil,
        1 => Value::Bool(random.one_in(2)),
        2 => Value::Int(*random.pick(&[0, 1, -1, 3, 255, -129, 65_536, 1 << 30, -(1 << 31), i64::MAX, i64::MIN])),
        3 => Value::Float(*random.pick(&[0.0, -0.0, 1.5, -2.25, 1e300, f64::NAN, f64::INFINITY, f64::NEG_INFINITY])),
        4 => Value::Symbol((*random.pick(TEXTS)).into()),
        5 => {
            let magnitude = (0..10 + 2 * random.below(3)).map(|_| random.below(255) as u8 + 1).collect();
            Value::BigInt(Rc::new(BigInt { negative: random.one_in(2), magnitude }))
        }
        6 => Value::Str(Rc::new(Text { bytes: vec![0xff, random.below(256) as u8], encoding: Encoding::Binary })),
        7 | 8 => {
            let texts = if random.one_in(3) { TEXTS } else { keys };
            Value::str(*random.pick(texts))
        }
        9..=12 => Value::array((0..random.below(4)).map(|_| value(random, keys, depth - 1)).collect::<Vec<_>>()),
        _ => {
            let pairs = (0..random.below(9)).map(|_| {
                let key = if random.one_in(12) { value(random, keys, 0) } else { Value::str(*random.pick(keys)) };
                (key, value(random, keys, depth - 1))
            });
            Value::Map(Rc::new(pairs.collect::<Vec<_>>().into_iter().collect::<Map>()))
        }
    }
}

/// Whether they are equal, where NaN equals itself.
pub fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Float(a), Value::Float(b)) => a.to_bits() == b.to_bits() || a == b,
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| same(a, b)),
        (Value::Map(a), Value::Map(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|((ka, va), (kb, vb))| same(ka, kb) && same(va, vb))
        }
        _ => a == b,
    }
}
