//! Fields of structs and keys of maps.

use super::MissingKey;
use super::val::Val;
use crate::message::Message;
use crate::value::{Map, Struct, Value};

/// A field of a value; `arguments`: arguments are given to it.
pub(crate) fn field<'a>(
    receiver: &Val<'a>,
    name: &[u8],
    arguments: bool,
    missing: MissingKey,
) -> Result<Val<'a>, Message<'a>> {
    match receiver {
        Val::Map(map) => key(map, name, arguments, missing),
        Val::Interface(Value::Map(map)) => key(map, name, arguments, missing),
        Val::Struct(value) => struct_field(value, receiver, name, arguments),
        Val::Interface(Value::Struct(value)) => struct_field(value, receiver, name, arguments),
        Val::Invalid | Val::Undeclared => match missing {
            MissingKey::Error => Err(Message::new("nil data; no entry for key %q", vec![name.into()])),
            _ => Ok(Val::Invalid),
        },
        Val::Interface(Value::Nil) => {
            Err(Message::new("nil pointer evaluating %s.%s", vec!["interface {}".into(), name.into()]))
        }
        other => Err(no_field(other, name)),
    }
}

fn no_field<'a>(receiver: &Val<'a>, name: &[u8]) -> Message<'a> {
    Message::new("can't evaluate field %s in type %s", vec![name.into(), receiver.type_name().into()])
}

fn key<'a>(map: &'a Map, name: &[u8], arguments: bool, missing: MissingKey) -> Result<Val<'a>, Message<'a>> {
    if arguments {
        return Err(Message::new("%s is not a method but has arguments", vec![name.into()]));
    }
    match map.get(name) {
        Some(value) => Ok(Val::element(map.elements, value)),
        None => match missing {
            MissingKey::Invalid => Ok(Val::Invalid),
            MissingKey::Zero => Ok(Val::zero(map.elements)),
            MissingKey::Error => Err(Message::new("map has no entry for key %q", vec![name.into()])),
        },
    }
}

fn struct_field<'a>(
    value: &'a Struct,
    receiver: &Val<'a>,
    name: &[u8],
    arguments: bool,
) -> Result<Val<'a>, Message<'a>> {
    let Some((field, value)) = value.field(name) else { return Err(no_field(receiver, name)) };
    if arguments {
        return Err(Message::new("%s has arguments but cannot be invoked as function", vec![name.into()]));
    }
    Ok(if field.any { Val::Interface(value) } else { Val::concrete(value) })
}
