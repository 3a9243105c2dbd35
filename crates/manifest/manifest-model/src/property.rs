//! Property trees: lookup by dotted name, setting, BOSH's sort, JSON round trip.

use std::cmp::Ordering;
use std::rc::Rc;

use value::{Encoding, Map, Text, Value, float_to_s};

/// What lies at a dotted name.
#[derive(Debug, Clone, PartialEq)]
pub enum Found<'a> {
    /// The value, `Nil` included.
    Value(&'a Value),
    /// A key on the way is absent or nil.
    Absent,
    /// An element on the way is something else than a Hash: its class' name.
    NotAHash(&'static str),
}

/// Looks a dotted name up, strictly: every step needs a Hash.
pub fn lookup<'a>(root: &'a Value, name: &str) -> Found<'a> {
    let mut here = root;
    for key in split(name) {
        match here {
            Value::Map(map) => match map.get(key) {
                Some(value) => here = value,
                None => return Found::Absent,
            },
            Value::Nil => return Found::Absent,
            other => return Found::NotAHash(other.class_name()),
        }
    }
    Found::Value(here)
}

/// The parts of a dotted name as Ruby's `String#split('.')` gives them (empty parts at the end are dropped).
pub fn split(name: &str) -> impl Iterator<Item = &str> {
    let trimmed = name.trim_end_matches('.');
    let parts = if trimmed.is_empty() { None } else { Some(trimmed.split('.')) };
    parts.into_iter().flatten()
}

/// Whether the dotted name `part` is below `whole`: `tls.ca` is below `tls`.
pub fn is_below(part: &str, whole: &str) -> bool {
    part.strip_prefix(whole).is_some_and(|rest| rest.starts_with('.'))
}

/// Sets the value at a dotted name, making Hashes on the way.
pub fn set(root: &mut Map, name: &str, value: Value) {
    let parts: Vec<&str> = split(name).collect();
    set_parts(root, &parts, value);
}

fn set_parts(map: &mut Map, parts: &[&str], value: Value) {
    match parts {
        [] => {}
        [last] => map.set(last, value),
        [first, rest @ ..] => {
            if !matches!(map.get(first), Some(Value::Map(_))) {
                map.set(first, Value::Map(Rc::default()));
            }
            if let Some(Value::Map(inner)) = map.get_mut(first) {
                set_parts(Rc::make_mut(inner), rest, value);
            }
        }
    }
}

/// BOSH's sort of a bound property: Hashes by key, recursively, but not inside Arrays.
///
/// # Errors
/// Keys that Ruby cannot compare (`comparison of Array with Array failed`).
pub fn sort(value: &Value) -> Result<Value, &'static str> {
    let Value::Map(map) = value else { return Ok(value.clone()) };
    let mut pairs = Vec::with_capacity(map.len());
    for (key, inner) in map.iter() {
        pairs.push((key.clone(), sort(inner)?));
    }
    // A sort of more than one key compares keys of each kind with keys of another.
    let comparable = pairs.windows(2).all(|two| compare_keys(&two[0].0, &two[1].0).is_some());
    if !comparable {
        return Err("comparison of Array with Array failed");
    }
    pairs.sort_by(|(a, _), (b, _)| compare_keys(a, b).unwrap_or(Ordering::Equal));
    Ok(Value::Map(Rc::new(Map::from_unique(pairs))))
}

/// Ruby's `<=>` of two keys of one Hash.
fn compare_keys(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Str(a), Value::Str(b)) => Some(a.bytes.cmp(&b.bytes)),
        (Value::Symbol(a), Value::Symbol(b)) => Some(a.as_bytes().cmp(b.as_bytes())),
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        (Value::Float(a), Value::Float(b)) => a.partial_cmp(b),
        (Value::Int(a), Value::Float(b)) => compare_numbers(*a, *b),
        (Value::Float(a), Value::Int(b)) => compare_numbers(*b, *a).map(Ordering::reverse),
        _ => None,
    }
}

/// An Integer and a Float, without rounding the Integer.
fn compare_numbers(a: i64, b: f64) -> Option<Ordering> {
    const BEYOND: f64 = 9_223_372_036_854_775_808.0;
    match b {
        b if b.is_nan() => None,
        b if b >= BEYOND => Some(Ordering::Less),
        b if b < -BEYOND => Some(Ordering::Greater),
        b => Some(a.cmp(&(b.floor() as i64)).then(0.0.partial_cmp(&(b - b.floor()))?)),
    }
}

/// What is left of a value after `JSON.parse(JSON.generate(value))`: keys and Symbols become Strings, and nothing is
/// shared any more.
///
/// # Errors
/// What JSON cannot hold: NaN, infinities, Strings that are no UTF-8.
pub fn json_round_trip(value: &Value) -> Result<Value, &'static str> {
    Ok(match value {
        Value::Nil | Value::Bool(_) | Value::Int(_) | Value::BigInt(_) => value.clone(),
        Value::Float(f) if f.is_finite() => value.clone(),
        Value::Float(_) => return Err("a number that JSON cannot hold"),
        Value::Str(text) => Value::Str(Rc::new(json_text(text)?)),
        Value::Symbol(name) => Value::str(&**name),
        Value::Array(items) => Value::Array(Rc::new(items.iter().map(json_round_trip).collect::<Result<_, _>>()?)),
        Value::Map(map) => {
            let mut round = Vec::with_capacity(map.len());
            let mut only_strings = true;
            for (key, inner) in map.iter() {
                let text = match key {
                    Value::Str(text) => json_text(text)?,
                    Value::Float(f) => utf8(float_to_s(*f)),
                    other => utf8(other.scalar_to_s().ok_or("a key that JSON cannot hold")?),
                };
                only_strings &= matches!(key, Value::Str(_));
                round.push((Value::Str(Rc::new(text)), json_round_trip(inner)?));
            }
            let map = if only_strings { Map::from_unique(round) } else { round.into_iter().collect() };
            Value::Map(Rc::new(map))
        }
    })
}

fn utf8(text: String) -> Text {
    Text { bytes: text.into_bytes(), encoding: Encoding::Utf8 }
}

fn json_text(text: &Text) -> Result<Text, &'static str> {
    match std::str::from_utf8(&text.bytes) {
        Ok(valid) => Ok(utf8(valid.to_owned())),
        Err(_) => Err("a String that is not UTF-8"),
    }
}

/// Merges `over` into `base` as BOSH merges global and instance-group properties: recursively where both are Hashes,
/// otherwise `over` replaces.
pub fn merge(base: &Value, over: &Value) -> Value {
    let (Value::Map(under), Value::Map(upper)) = (base, over) else { return over.clone() };
    let mut merged = Map::clone(under);
    for (key, value) in upper.iter() {
        let value = match under.iter().find(|(k, _)| *k == key) {
            Some((_, present)) => merge(present, value),
            None => value.clone(),
        };
        merged.insert(key.clone(), value);
    }
    Value::Map(Rc::new(merged))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Value {
        Value::map([("b", Value::Int(1)), ("a", Value::map([("z", Value::Nil), ("y", Value::str("s"))]))])
    }

    #[test]
    fn lookup_tells_absent_from_wrong() {
        let root = sample();
        assert_eq!(lookup(&root, "a.y"), Found::Value(&Value::str("s")));
        assert_eq!(lookup(&root, "a.z"), Found::Value(&Value::Nil));
        assert_eq!(lookup(&root, "a.z.deeper"), Found::Absent);
        assert_eq!(lookup(&root, "a.q"), Found::Absent);
        assert_eq!(lookup(&root, "b.c"), Found::NotAHash("Integer"));
        assert_eq!(lookup(&root, "a.y."), Found::Value(&Value::str("s")));
    }

    #[test]
    fn sorting_leaves_arrays_alone() {
        let inner = Value::map([("b", Value::Nil), ("a", Value::Nil)]);
        let root = Value::map([("z", Value::array([inner.clone()])), ("a", inner.clone())]);
        let sorted = sort(&root).unwrap();
        let sorted_inner = Value::map([("a", Value::Nil), ("b", Value::Nil)]);
        assert_eq!(sorted, Value::map([("a", sorted_inner), ("z", Value::array([inner]))]));
        let mixed =
            Value::Map(Rc::new([(Value::Int(1), Value::Nil), (Value::str("a"), Value::Nil)].into_iter().collect()));
        assert!(sort(&mixed).is_err());
        // So many that a sort notices an inconsistent order.
        let many = (0..60).map(|i| {
            let key = i * 37 % 60;
            (
                if key % 2 == 0 { Value::str(format!("k{key}")) } else { Value::Symbol(format!("k{key}").into()) },
                Value::Nil,
            )
        });
        assert!(sort(&Value::Map(Rc::new(many.collect()))).is_err());
    }

    #[test]
    fn numbers_are_ordered_exactly() {
        let big = 9_007_199_254_740_993;
        let order = [(big, 9_007_199_254_740_992.0), (1, 0.5), (-1, -1.5), (0, -0.5), (i64::MAX, 1e18), (3, 2.999)];
        assert!(order.iter().all(|(a, b)| compare_numbers(*a, *b) == Some(Ordering::Greater)));
        let less = [(1, 1.5), (-2, -1.5), (i64::MAX, 9_223_372_036_854_775_808.0), (0, 0.1), (0, f64::INFINITY)];
        assert!(less.iter().all(|(a, b)| compare_numbers(*a, *b) == Some(Ordering::Less)));
        assert_eq!(compare_numbers(2, 2.0), Some(Ordering::Equal));
        assert_eq!(compare_numbers(2, f64::NAN), None);
    }

    #[test]
    fn json_makes_strings_of_keys_and_symbols() {
        let pairs = [
            (Value::Int(1), Value::Symbol("s".into())),
            (Value::Nil, Value::Float(1.5)),
            (Value::Bool(true), Value::Nil),
        ];
        let value = Value::Map(Rc::new(pairs.into_iter().collect()));
        assert_eq!(
            json_round_trip(&value).unwrap(),
            Value::map([("1", Value::str("s")), ("", Value::Float(1.5)), ("true", Value::Nil)])
        );
        assert!(json_round_trip(&Value::Float(f64::NAN)).is_err());
    }

    #[test]
    fn setting_makes_the_way() {
        let mut map = Map::default();
        set(&mut map, "a.b.c", Value::Int(1));
        set(&mut map, "a.b.d", Value::Int(2));
        let expected = Value::map([("b", Value::map([("c", Value::Int(1)), ("d", Value::Int(2))]))]);
        assert_eq!(map.get("a"), Some(&expected));
    }

    #[test]
    fn merging_recurses_into_hashes_only() {
        let over = Value::map([("a", Value::map([("y", Value::Int(2))])), ("b", Value::map([("x", Value::Nil)]))]);
        let merged = merge(&sample(), &over);
        assert_eq!(lookup(&merged, "a.y"), Found::Value(&Value::Int(2)));
        assert_eq!(lookup(&merged, "a.z"), Found::Value(&Value::Nil));
        assert_eq!(lookup(&merged, "b.x"), Found::Value(&Value::Nil));
    }
}
