//! What Ruby writes is read, and nothing else does harm.

use testkit::random::Random;
use testkit::values::{same, value};

use super::*;

#[test]
fn integers_of_every_length_survive() {
    for n in
        [0, 1, -1, 122, 123, -123, -124, 255, 256, -256, -257, 65535, 65536, 1 << 30, -(1 << 30), i64::MAX, i64::MIN]
    {
        assert_eq!(load(&dump(&Value::Int(n))), Ok(Value::Int(n)), "{n}");
    }
}

#[test]
fn the_same_object_stays_the_same_object() {
    let shared = Value::str("x");
    let value = Value::array([Value::Float(1.5), shared.clone(), Value::Int(i64::MAX), shared, Value::str("x")]);
    let back = load(&dump(&value)).unwrap();
    let Value::Array(items) = &back else { panic!() };
    let pointer = |i: usize| match &items[i] {
        Value::Str(t) => Rc::as_ptr(t),
        _ => panic!(),
    };
    assert_eq!(back, value);
    assert_eq!(pointer(1), pointer(3));
    assert_ne!(pointer(1), pointer(4));
}

#[test]
fn truncated_input_is_refused() {
    let whole = dump(&Value::map([("a", Value::array([Value::str("b"), Value::Symbol("é".into())]))]));
    for n in 0..whole.len() {
        assert!(load(&whole[..n]).is_err());
    }
    assert!(load(&whole).is_ok());
}

#[test]
fn random_values_survive() {
    let mut random = Random::new(21);
    for _ in 0..20_000 {
        let value = value(&mut random, &["a", "b", "name", "ü"], 5);
        assert!(same(&load(&dump(&value)).unwrap(), &value), "{value:?}");
    }
}

#[test]
fn invalid_dumps_are_refused_or_read_but_never_crash() {
    let mut random = Random::new(22);
    for _ in 0..50_000 {
        let mut bytes = dump(&value(&mut random, &["a", "b"], 4));
        for _ in 0..=random.below(4) {
            let at = 2 + random.below(bytes.len() - 1);
            match random.below(3) {
                0 if at < bytes.len() => bytes[at] = *random.pick(b"0TFilf\"I:;[{@\x00\x01\x04\x7f\x80\xff"),
                1 if at < bytes.len() => bytes[at] = random.below(256) as u8,
                _ => bytes.truncate(at.max(2)),
            }
        }
        let _ = load(&bytes);
    }
}

#[test]
fn what_is_nested_too_deeply_is_refused() {
    let nested = |depth: usize| [vec![4, 8], b"[\x06".repeat(depth), vec![b'0']].concat();
    // Deeper than Psych can read; each level takes some stack.
    let read = std::thread::Builder::new().stack_size(64 << 20).spawn(move || {
        assert!(load(&nested(DEEPEST - 1)).is_ok());
        assert_eq!(load(&nested(1_000_000)), Err(Malformed("nested too deeply")));
        assert!(load(&[vec![4, 8], b"I".repeat(1_000_000)].concat()).is_err());
    });
    read.unwrap().join().unwrap();
}
