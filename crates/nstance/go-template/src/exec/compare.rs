//! `eq`, `ne`, `lt`, `le`, `gt`, `ge`.

use std::sync::Arc;

use super::val::Val;
use crate::code::Function;
use crate::message::{Argument, Message};
use crate::value::{Struct, Value};

/// What two values must have in common to be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Basic {
    None,
    Bool,
    Complex,
    Int,
    Float,
    String,
    Uint,
}

fn basic(value: &Val<'_>) -> Basic {
    match value {
        Val::Bool(_) => Basic::Bool,
        Val::Int(_) | Val::Int64(_) => Basic::Int,
        Val::Uint8(_) | Val::Uint64(_) => Basic::Uint,
        Val::Float64(_) => Basic::Float,
        Val::Complex128(..) => Basic::Complex,
        Val::Str(_) | Val::Text(_) => Basic::String,
        _ => Basic::None,
    }
}

fn integer(value: &Val<'_>) -> i128 {
    match value {
        Val::Int(value) | Val::Int64(value) => i128::from(*value),
        Val::Uint8(value) => i128::from(*value),
        Val::Uint64(value) => i128::from(*value),
        _ => 0,
    }
}

fn float(value: &Val<'_>) -> f64 {
    if let Val::Float64(value) = value { *value } else { 0.0 }
}

fn is_integer(kind: Basic) -> bool {
    matches!(kind, Basic::Int | Basic::Uint)
}

fn invalid_type<'a>() -> Message<'a> {
    Message::new("invalid type for comparison", Vec::new())
}

fn incompatible<'a>(a: &Val<'a>, b: &Val<'a>) -> Message<'a> {
    Message::new(
        "incompatible types for comparison: %v and %v",
        vec![a.dynamic_type_name().into(), b.dynamic_type_name().into()],
    )
}

pub(crate) fn compare<'a>(function: Function, arguments: &[Val<'a>]) -> Result<bool, Message<'a>> {
    let Some((first, others)) = arguments.split_first() else { return Err(invalid_type()) };
    match (function, others) {
        (Function::Eq, _) => equal_to_any(first, others),
        (Function::Ne, _) => equal_to_any(first, others).map(|equal| !equal),
        (Function::Lt, [other]) => less(first, other),
        (Function::Le, [other]) => less_or_equal(first, other),
        (Function::Gt, [other]) => less_or_equal(first, other).map(|less| !less),
        (_, [other]) => less(first, other).map(|less| !less),
        _ => Err(invalid_type()),
    }
}

fn less_or_equal<'a>(a: &Val<'a>, b: &Val<'a>) -> Result<bool, Message<'a>> {
    Ok(less(a, b)? || equal_to_any(a, std::slice::from_ref(b))?)
}

fn less<'a>(a: &Val<'a>, b: &Val<'a>) -> Result<bool, Message<'a>> {
    let (a, b) = (&a.clone().unwrapped(), &b.clone().unwrapped());
    let kinds = (basic(a), basic(b));
    match kinds {
        (Basic::None, _) | (_, Basic::None) => Err(invalid_type()),
        (a_kind, b_kind) if is_integer(a_kind) && is_integer(b_kind) => Ok(integer(a) < integer(b)),
        (a_kind, b_kind) if a_kind != b_kind => Err(incompatible(a, b)),
        (Basic::Float, _) => Ok(float(a) < float(b)),
        (Basic::String, _) => Ok(a.as_text() < b.as_text()),
        _ => Err(invalid_type()),
    }
}

fn equal_to_any<'a>(first: &Val<'a>, others: &[Val<'a>]) -> Result<bool, Message<'a>> {
    if others.is_empty() {
        return Err(Message::new("missing argument for comparison", Vec::new()));
    }
    let first = &first.clone().unwrapped();
    for other in others {
        if equal(first, &other.clone().unwrapped())? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn equal<'a>(a: &Val<'a>, b: &Val<'a>) -> Result<bool, Message<'a>> {
    let kinds = (basic(a), basic(b));
    match kinds {
        (a_kind, b_kind) if is_integer(a_kind) && is_integer(b_kind) => Ok(integer(a) == integer(b)),
        (a_kind, b_kind) if a_kind != b_kind => {
            if matches!(a, Val::Invalid) || matches!(b, Val::Invalid) {
                return Ok(false);
            }
            Err(incompatible(a, b))
        }
        (Basic::Bool, _) => Ok(matches!((a, b), (Val::Bool(a), Val::Bool(b)) if a == b)),
        (Basic::Float, _) => Ok(float(a) == float(b)),
        (Basic::String, _) => Ok(a.as_text() == b.as_text()),
        (Basic::Complex, _) => match (a, b) {
            (Val::Complex128(a_real, a_imaginary), Val::Complex128(b_real, b_imaginary)) => {
                Ok(a_real == b_real && a_imaginary == b_imaginary)
            }
            _ => Ok(false),
        },
        _ => equal_containers(a, b),
    }
}

fn kind(value: &Val<'_>) -> u8 {
    match value {
        Val::Map(_) => 1,
        Val::List(_) | Val::Part(_) => 2,
        Val::Struct(_) => 3,
        _ => 0,
    }
}

fn is_nil(value: &Val<'_>) -> bool {
    match value {
        Val::Invalid | Val::Undeclared => true,
        Val::Map(map) => map.nil,
        other => other.as_list().is_some_and(|list| list.nil),
    }
}

fn equal_containers<'a>(a: &Val<'a>, b: &Val<'a>) -> Result<bool, Message<'a>> {
    let type_of = |value: &Val<'a>| Argument::from(value.dynamic_type_name());
    if kind(a) != kind(b) && kind(a) != 0 && kind(b) != 0 {
        return Err(Message::new(
            "non-comparable types %s: %v, %s: %v",
            vec![Argument::Data(a.clone()), type_of(a), type_of(b), Argument::Data(b.clone())],
        ));
    }
    if is_nil(a) || is_nil(b) {
        return Ok(is_nil(a) == is_nil(b));
    }
    let (Val::Struct(a), Val::Struct(b_struct)) = (a, b) else {
        return Err(Message::new("non-comparable type %s: %v", vec![Argument::Data(b.clone()), type_of(b)]));
    };
    if !is_comparable(b_struct) {
        return Err(Message::new("non-comparable type %s: %v", vec![Argument::Data(b.clone()), type_of(b)]));
    }
    equal_structs(a, b_struct)
}

/// Can values of the type be compared, as far as the type says?
fn is_comparable(value: &Struct) -> bool {
    value.kind.fields().iter().zip(&value.fields).all(|(field, value)| {
        field.any
            || match value {
                Value::List(_) | Value::Map(_) => false,
                Value::Struct(inner) => is_comparable(inner),
                _ => true,
            }
    })
}

fn equal_structs<'a>(a: &'a Struct, b: &'a Struct) -> Result<bool, Message<'a>> {
    if !Arc::ptr_eq(&a.kind, &b.kind) && a.kind != b.kind {
        return Ok(false);
    }
    for (a, b) in a.fields.iter().zip(&b.fields) {
        if !equal_values(a, b)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Go's `==` of two interfaces.
fn equal_values<'a>(a: &'a Value, b: &'a Value) -> Result<bool, Message<'a>> {
    Ok(match (a, b) {
        (Value::Nil, Value::Nil) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Int(a), Value::Int(b)) | (Value::Int64(a), Value::Int64(b)) => a == b,
        (Value::Uint64(a), Value::Uint64(b)) => a == b,
        (Value::Float64(a), Value::Float64(b)) => a == b,
        (Value::String(a), Value::String(b)) => a == b,
        (Value::Struct(a), Value::Struct(b)) => equal_structs(a, b)?,
        (Value::List(_), Value::List(_)) | (Value::Map(_), Value::Map(_)) if a.type_name() == b.type_name() => {
            return Err(Message::new("runtime error: comparing uncomparable type %s", vec![a.type_name().into()]));
        }
        _ => false,
    })
}
