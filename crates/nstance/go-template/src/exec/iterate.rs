//! What `range` goes over.

use super::val::{Part, Val};
use crate::value::Map;

/// The elements of a value, with their indexes.
pub(crate) enum Iteration<'a> {
    List(Part<'a>, usize),
    Map(&'a Map, usize),
    /// From zero up to an `int`; the function makes an element of the type of the value.
    Numbers {
        next: u64,
        end: u64,
        make: fn(u64) -> Val<'a>,
    },
}

impl<'a> Iteration<'a> {
    /// The elements of a value: of no value there are none. `None` if it has none by its type.
    pub(crate) fn over(value: &Val<'a>) -> Option<Iteration<'a>> {
        let numbers = |end: i64, make| Iteration::Numbers { next: 0, end: end.max(0) as u64, make };
        Some(match value {
            Val::Int(end) => numbers(*end, |n| Val::Int(n as i64)),
            Val::Int64(end) => numbers(*end, |n| Val::Int64(n as i64)),
            Val::Uint8(end) => numbers(i64::from(*end), |n| Val::Uint8(n as u8)),
            Val::Uint64(end) => Iteration::Numbers { next: 0, end: *end, make: Val::Uint64 },
            Val::Map(map) => Iteration::Map(map, 0),
            Val::Invalid => Iteration::Numbers { next: 0, end: 0, make: Val::Uint64 },
            other => Iteration::List(other.as_list()?, 0),
        })
    }

    /// Does it count instead of going over elements?
    pub(crate) fn counts(value: &Val<'_>) -> bool {
        matches!(value, Val::Int(_) | Val::Int64(_) | Val::Uint8(_) | Val::Uint64(_))
    }

    /// The next element.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<Val<'a>> {
        match self {
            Iteration::List(list, next) => {
                let index = *next;
                *next += 1;
                (index < list.length).then(|| list.get(index))
            }
            Iteration::Map(map, next) => {
                let (_, value) = map.entries.get(*next)?;
                *next += 1;
                Some(Val::element(map.elements, value))
            }
            Iteration::Numbers { next, end, make } => {
                if next >= end {
                    return None;
                }
                *next += 1;
                Some(make(*next - 1))
            }
        }
    }

    /// The index or key of the element that came last.
    pub(crate) fn index(&self) -> Val<'a> {
        match self {
            Iteration::List(_, next) => Val::Int(*next as i64 - 1),
            Iteration::Map(map, next) => Val::Str(&map.entries[*next - 1].0),
            Iteration::Numbers { .. } => Val::Invalid,
        }
    }
}
