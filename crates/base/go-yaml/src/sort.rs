//! The order of keys (`yaml.v2`, sorter.go): numbers and booleans by value, null, strings in natural order.

use std::cmp::Ordering;

use crate::node::{Key, Node};

/// Sorts the entries of a map. A merge sort of our own: the order is not transitive for some keys, where the standard
/// library's sorts may panic.
pub(crate) fn sort(entries: &mut [(&Key, &Node)]) {
    if entries.len() < 2 {
        return;
    }
    let middle = entries.len() / 2;
    sort(&mut entries[..middle]);
    sort(&mut entries[middle..]);
    let (left, right) = (entries[..middle].to_vec(), entries[middle..].to_vec());
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    for entry in entries.iter_mut() {
        let takes_right = match (left.peek(), right.peek()) {
            (Some(a), Some(b)) => compare(b.0, a.0) == Ordering::Less,
            (None, _) => true,
            (_, None) => false,
        };
        let next = if takes_right { right.next() } else { left.next() };
        *entry = next.unwrap_or(*entry);
    }
}

fn compare(a: &Key, b: &Key) -> Ordering {
    match (number(a), number(b)) {
        (Some(x), Some(y)) => x.total_cmp(&y).then_with(|| kind(a).cmp(&kind(b))).then_with(|| same_kind(a, b)),
        _ => match (text(a), text(b)) {
            (Some(x), Some(y)) => natural(&x, &y),
            _ => kind(a).cmp(&kind(b)),
        },
    }
}

/// The rank of a kind: booleans, integers, floats, null, strings.
fn kind(key: &Key) -> u8 {
    match key {
        Key::Bool(_) => 0,
        Key::Int(_) => 1,
        Key::Uint(_) => 2,
        Key::Float(_) => 3,
        Key::Null => 4,
        Key::String(_) | Key::Binary(_) => 5,
    }
}

fn number(key: &Key) -> Option<f64> {
    Some(match key {
        Key::Bool(b) => f64::from(u8::from(*b)),
        Key::Int(n) => *n as f64,
        Key::Uint(n) => *n as f64,
        Key::Float(bits) => f64::from_bits(*bits),
        _ => return None,
    })
}

fn same_kind(a: &Key, b: &Key) -> Ordering {
    match (a, b) {
        (Key::Int(a), Key::Int(b)) => a.cmp(b),
        (Key::Uint(a), Key::Uint(b)) => a.cmp(b),
        _ => Ordering::Equal,
    }
}

fn text(key: &Key) -> Option<Vec<char>> {
    match key {
        Key::String(text) => Some(text.chars().collect()),
        Key::Binary(bytes) => Some(String::from_utf8_lossy(bytes).chars().collect()),
        _ => None,
    }
}

/// Strings by their first difference: letters before, digits as numbers.
fn natural(a: &[char], b: &[char]) -> Ordering {
    let Some(at) = (0..a.len().min(b.len())).find(|at| a[*at] != b[*at]) else { return a.len().cmp(&b.len()) };
    match (a[at].is_alphabetic(), b[at].is_alphabetic()) {
        (true, true) => return a[at].cmp(&b[at]),
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    // A zero behind a digit that is not zero continues a number: what follows has the same number of digits before it.
    let continues =
        (a[at] == '0' || b[at] == '0') && a[..at].iter().rev().take_while(|c| is_digit(**c)).any(|c| *c != '0');
    let (x, x_end) = run(a, at, continues);
    let (y, y_end) = run(b, at, continues);
    x.cmp(&y).then_with(|| x_end.cmp(&y_end)).then_with(|| a[at].cmp(&b[at]))
}

/// The number that begins at `at`, and its end; numbers beyond 64 bits wrap.
fn run(text: &[char], at: usize, continues: bool) -> (i64, usize) {
    let mut number = i64::from(continues);
    let mut end = at;
    while let Some(digit) = text.get(end).copied().filter(|c| is_digit(*c)) {
        number = number.wrapping_mul(10).wrapping_add(i64::from(digit as u32) - i64::from(b'0'));
        end += 1;
    }
    (number, end)
}

/// Unicode's decimal digits count, as they do for Go; only those of ASCII occur in keys of manifests.
fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}
