//! Values while a template is executed: the data by reference, and what functions make.

use std::cell::Cell;
use std::rc::Rc;

use crate::value::{Elements, List, Map, Struct, Value};

/// A value on the stack, with its type as Go's reflection sees it.
#[derive(Clone)]
pub(crate) enum Val<'a> {
    /// No value: of a missing key, of nil taken out of its interface.
    Invalid,
    /// A variable whose declaration was not reached.
    Undeclared,
    /// An `any` that holds this.
    Interface(&'a Value),
    Bool(bool),
    Int(i64),
    Int64(i64),
    Uint8(u8),
    Uint64(u64),
    Float64(f64),
    Complex128(f64, f64),
    Str(&'a [u8]),
    Text(Rc<Text>),
    List(&'a List),
    Part(Rc<Part<'a>>),
    Map(&'a Map),
    Struct(&'a Struct),
}

/// A text that a function made. Its bytes count while it exists.
pub(crate) struct Text {
    bytes: Vec<u8>,
    held: Rc<Cell<usize>>,
}

impl Text {
    pub(crate) fn new(bytes: Vec<u8>, held: &Rc<Cell<usize>>) -> Rc<Text> {
        held.set(held.get() + bytes.len());
        Rc::new(Text { bytes, held: held.clone() })
    }
}

impl Drop for Text {
    fn drop(&mut self) {
        self.held.set(self.held.get() - self.bytes.len());
    }
}

/// A slice of a list, as Go sees it: its elements may reach behind the list's length, up to its capacity.
#[derive(Clone, Copy)]
pub(crate) struct Part<'a> {
    pub(crate) elements: Elements,
    /// The elements from its start on as far as the list has any.
    pub(crate) items: &'a [Value],
    pub(crate) length: usize,
    pub(crate) capacity: usize,
    pub(crate) nil: bool,
}

/// What an element behind a list's length holds.
static NIL: Value = Value::Nil;

impl<'a> Part<'a> {
    pub(crate) fn get(&self, index: usize) -> Val<'a> {
        match self.items.get(index) {
            Some(value) => Val::element(self.elements, value),
            None => Val::zero(self.elements),
        }
    }

    pub(crate) fn type_name(&self) -> &'static str {
        match self.elements {
            Elements::Any => "[]interface {}",
            Elements::String => "[]string",
        }
    }
}

impl<'a> Val<'a> {
    /// What an `any` holds.
    pub(crate) fn concrete(value: &'a Value) -> Val<'a> {
        match value {
            Value::Nil => Val::Invalid,
            Value::Bool(value) => Val::Bool(*value),
            Value::Int(value) => Val::Int(*value),
            Value::Int64(value) => Val::Int64(*value),
            Value::Uint64(value) => Val::Uint64(*value),
            Value::Float64(value) => Val::Float64(*value),
            Value::String(value) => Val::Str(value),
            Value::List(value) => Val::List(value),
            Value::Map(value) => Val::Map(value),
            Value::Struct(value) => Val::Struct(value),
        }
    }

    /// An element of a list or map.
    pub(crate) fn element(elements: Elements, value: &'a Value) -> Val<'a> {
        match elements {
            Elements::Any => Val::Interface(value),
            Elements::String => Val::concrete(value),
        }
    }

    /// The zero value of an element's type.
    pub(crate) fn zero(elements: Elements) -> Val<'a> {
        match elements {
            Elements::Any => Val::Interface(&NIL),
            Elements::String => Val::Str(b""),
        }
    }

    /// The value without its interface.
    pub(crate) fn unwrapped(self) -> Val<'a> {
        match self {
            Val::Interface(value) => Val::concrete(value),
            other => other,
        }
    }

    pub(crate) fn as_text(&self) -> Option<&[u8]> {
        match self {
            Val::Str(text) => Some(text),
            Val::Text(text) => Some(&text.bytes),
            Val::Interface(Value::String(text)) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn as_list(&self) -> Option<Part<'a>> {
        match self {
            Val::List(list) => Some(Part {
                elements: list.elements,
                items: &list.items,
                length: list.items.len(),
                capacity: list.capacity,
                nil: list.nil,
            }),
            Val::Part(part) => Some(**part),
            _ => None,
        }
    }

    /// Go's truth: is it not the zero value, and not empty?
    pub(crate) fn is_true(&self) -> bool {
        match self {
            Val::Invalid | Val::Undeclared => false,
            Val::Interface(value) => Val::concrete(value).is_true(),
            Val::Bool(value) => *value,
            Val::Int(value) | Val::Int64(value) => *value != 0,
            Val::Uint8(value) => *value != 0,
            Val::Uint64(value) => *value != 0,
            Val::Float64(value) => *value != 0.0,
            Val::Complex128(real, imaginary) => *real != 0.0 || *imaginary != 0.0,
            Val::Str(text) => !text.is_empty(),
            Val::Text(text) => !text.bytes.is_empty(),
            Val::List(list) => !list.items.is_empty(),
            Val::Part(part) => part.length > 0,
            Val::Map(map) => !map.entries.is_empty(),
            Val::Struct(_) => true,
        }
    }

    /// The name of the type that reflection sees: of an `any` it is not that of what it holds.
    pub(crate) fn type_name(&self) -> &'a str {
        match self {
            Val::Interface(_) => "interface {}",
            other => other.dynamic_type_name(),
        }
    }

    /// The name of the type of what it holds.
    pub(crate) fn dynamic_type_name(&self) -> &'a str {
        match self {
            Val::Invalid | Val::Undeclared => "<nil>",
            Val::Interface(value) => value.type_name(),
            Val::Bool(_) => "bool",
            Val::Int(_) => "int",
            Val::Int64(_) => "int64",
            Val::Uint8(_) => "uint8",
            Val::Uint64(_) => "uint64",
            Val::Float64(_) => "float64",
            Val::Complex128(..) => "complex128",
            Val::Str(_) | Val::Text(_) => "string",
            Val::List(list) => list.type_name(),
            Val::Part(part) => part.type_name(),
            Val::Map(map) => map.type_name(),
            Val::Struct(value) => value.kind.name(),
        }
    }
}
