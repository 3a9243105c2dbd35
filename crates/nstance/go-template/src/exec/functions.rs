//! The predefined functions, but for `and` and `or`, which are jumps.

use std::cell::Cell;
use std::rc::Rc;

use super::compare::compare;
use super::val::{Part, Text, Val};
use crate::code::Function;
use crate::escape;
use crate::fmt::Printer;
use crate::message::{Argument, Message};

/// Appends what a function makes that [`Function::writes_text`], up to a number of bytes.
pub(crate) fn write(function: Function, arguments: &[Val<'_>], out: &mut Vec<u8>, limit: usize) {
    match function {
        Function::Print => Printer::new(out, limit).print(arguments),
        Function::Println => Printer::new(out, limit).println(arguments),
        Function::Printf => {
            if let Some((format, arguments)) = arguments.split_first() {
                Printer::new(out, limit).printf(format.as_text().unwrap_or_default(), arguments);
            }
        }
        Function::Html => escaped(escape::html, arguments, out, limit),
        Function::Js => escaped(escape::js, arguments, out, limit),
        Function::Urlquery => escaped(escape::urlquery, arguments, out, limit),
        _ => {}
    }
}

fn escaped(escape: fn(&mut Vec<u8>, &[u8]), arguments: &[Val<'_>], out: &mut Vec<u8>, limit: usize) {
    if let [argument] = arguments
        && let Some(text) = argument.as_text()
    {
        return escape(out, text);
    }
    let shown: Vec<Val<'_>> = arguments
        .iter()
        .map(|argument| match argument.clone().unwrapped() {
            Val::Invalid => Val::Str(b"<no value>"),
            other => other,
        })
        .collect();
    let mut text = Vec::new();
    Printer::new(&mut text, limit).print(&shown);
    escape(out, &text);
}

/// Calls a function that makes no text.
pub(crate) fn call<'a>(
    function: Function,
    arguments: &[Val<'a>],
    held: &Rc<Cell<usize>>,
    callee: impl FnOnce() -> Argument<'a>,
) -> Result<Val<'a>, Message<'a>> {
    let Some(first) = arguments.first() else { return Ok(Val::Invalid) };
    match function {
        Function::Index => index(first, &arguments[1..]),
        Function::Slice => slice(first, &arguments[1..], held),
        Function::Len => length(first),
        Function::Not => Ok(Val::Bool(!first.is_true())),
        Function::Call => match first.clone().unwrapped() {
            Val::Invalid => Err(Message::new("call of nil", Vec::new())),
            value => Err(Message::new("non-function %s of type %s", vec![callee(), value.type_name().into()])),
        },
        _ => compare(function, arguments).map(Val::Bool),
    }
}

fn length<'a>(value: &Val<'a>) -> Result<Val<'a>, Message<'a>> {
    let count = match value {
        Val::Invalid | Val::Undeclared => {
            return Err(Message::new("reflect: call of reflect.Value.Type on zero Value", Vec::new()));
        }
        other => match other.clone().unwrapped() {
            Val::Invalid => return Err(Message::new("len of nil pointer", Vec::new())),
            Val::Map(map) => map.entries.len(),
            inner => match (inner.as_text(), inner.as_list()) {
                (Some(text), _) => text.len(),
                (_, Some(list)) => list.length,
                _ => return Err(Message::new("len of type %s", vec![inner.type_name().into()])),
            },
        },
    };
    Ok(Val::Int(count as i64))
}

/// An index up to `most`.
fn position<'a>(index: &Val<'a>, most: usize) -> Result<usize, Message<'a>> {
    let value = match index {
        Val::Int(value) | Val::Int64(value) => *value,
        Val::Uint8(value) => i64::from(*value),
        Val::Uint64(value) => *value as i64,
        Val::Invalid => return Err(Message::new("cannot index slice/array with nil", Vec::new())),
        other => {
            return Err(Message::new("cannot index slice/array with type %s", vec![other.type_name().into()]));
        }
    };
    usize::try_from(value)
        .ok()
        .filter(|value| *value <= most)
        .ok_or_else(|| Message::new("index out of range: %d", vec![Argument::Data(Val::Int(value))]))
}

fn index<'a>(item: &Val<'a>, indexes: &[Val<'a>]) -> Result<Val<'a>, Message<'a>> {
    let mut item = item.clone().unwrapped();
    if matches!(item, Val::Invalid) {
        return Err(Message::new("index of untyped nil", Vec::new()));
    }
    for index in indexes {
        item = item.unwrapped();
        if matches!(item, Val::Invalid) {
            return Err(Message::new("index of nil pointer", Vec::new()));
        }
        item = if let Val::Map(map) = item {
            match index.clone().unwrapped() {
                Val::Invalid => {
                    return Err(Message::new("value is nil; should be of type %s", vec!["string".into()]));
                }
                key => match key.as_text() {
                    Some(key) => {
                        map.get(key).map_or(Val::zero(map.elements), |value| Val::element(map.elements, value))
                    }
                    None => {
                        let arguments = vec![key.type_name().into(), "string".into()];
                        return Err(Message::new("value has type %s; should be %s", arguments));
                    }
                },
            }
        } else if let Some(list) = item.as_list() {
            let place = position(&index.clone().unwrapped(), list.length)?;
            if place == list.length {
                return Err(Message::new("reflect: slice index out of range", Vec::new()));
            }
            list.get(place)
        } else if let Some(text) = item.as_text() {
            let place = position(&index.clone().unwrapped(), text.len())?;
            match text.get(place) {
                Some(byte) => Val::Uint8(*byte),
                None => return Err(Message::new("reflect: string index out of range", Vec::new())),
            }
        } else {
            return Err(Message::new("can't index item of type %s", vec![item.type_name().into()]));
        };
    }
    Ok(item)
}

fn slice<'a>(item: &Val<'a>, indexes: &[Val<'a>], held: &Rc<Cell<usize>>) -> Result<Val<'a>, Message<'a>> {
    let item = item.clone().unwrapped();
    if matches!(item, Val::Invalid) {
        return Err(Message::new("slice of untyped nil", Vec::new()));
    }
    if indexes.len() > 3 {
        return Err(Message::new("too many slice indexes: %d", vec![Argument::Int(indexes.len() as i64)]));
    }
    let (length, capacity) = match (item.as_text(), item.as_list()) {
        (Some(_), _) if indexes.len() == 3 => {
            return Err(Message::new("cannot 3-index slice a string", Vec::new()));
        }
        (Some(text), _) => (text.len(), text.len()),
        (_, Some(list)) => (list.length, list.capacity),
        _ => return Err(Message::new("can't slice item of type %s", vec![item.type_name().into()])),
    };
    let mut places = [0, length, capacity];
    for (place, index) in places.iter_mut().zip(indexes) {
        // Unlike `index`, `slice` takes no index out of an `any`: an element of a list or map is none.
        *place = position(index, capacity)?;
    }
    let [from, to, end] = places;
    for (low, high) in [(from, to), (to, end)] {
        if low > high {
            let data = |place: usize| Argument::Data(Val::Int(place as i64));
            return Err(Message::new("invalid slice index: %d > %d", vec![data(low), data(high)]));
        }
    }
    if let Some(list) = item.as_list() {
        let items = &list.items[from.min(list.items.len())..];
        return Ok(Val::Part(Rc::new(Part { items, length: to - from, capacity: end - from, ..list })));
    }
    Ok(match item {
        Val::Str(text) => Val::Str(&text[from..to]),
        other => Val::Text(Text::new(other.as_text().unwrap_or_default()[from..to].to_vec(), held)),
    })
}
