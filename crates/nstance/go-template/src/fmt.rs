//! Go's `fmt`: `print`, `println` and `printf` with its verbs, flags and marks for mistakes.

mod float;
mod printf;
mod scalar;

use std::ops::Range;

use crate::exec::{Part, Val};
use crate::value::{Elements, Map, Struct, Value};

/// Writes values behind a text, up to a number of bytes.
pub(crate) struct Printer<'o> {
    out: &'o mut Vec<u8>,
    limit: usize,
    flags: Flags,
    scratch: Vec<u8>,
    /// Which argument was written where, if somebody wants to know.
    trace: Option<Vec<(usize, Range<usize>)>>,
}

/// What stands between `%` and the verb.
#[derive(Default, Clone, Copy)]
struct Flags {
    width: Option<usize>,
    precision: Option<usize>,
    minus: bool,
    plus: bool,
    sharp: bool,
    space: bool,
    zero: bool,
    /// `%+v`: names of fields.
    plus_v: bool,
    /// `%#v`: Go's syntax.
    sharp_v: bool,
}

/// A list, map or struct whose elements are being written.
enum Walk<'a> {
    List(Part<'a>, usize),
    Map(&'a Map, usize),
    Struct(&'a Struct, usize),
}

impl<'o> Printer<'o> {
    /// Writes to `out`, until it is longer than `limit`.
    pub(crate) fn new(out: &'o mut Vec<u8>, limit: usize) -> Self {
        Printer { out, limit, flags: Flags::default(), scratch: Vec::new(), trace: None }
    }

    /// Is there more text than may be?
    fn is_full(&self) -> bool {
        self.out.len() > self.limit
    }

    /// Writes the arguments with a space between two that are not strings.
    pub(crate) fn print(&mut self, arguments: &[Val<'_>]) {
        let mut after_string = true;
        for argument in arguments {
            let string = argument.as_text().is_some();
            if !string && !after_string {
                self.out.push(b' ');
            }
            self.argument(argument, 'v');
            after_string = string;
        }
    }

    /// Writes the arguments with a space between each two and a newline at the end.
    pub(crate) fn println(&mut self, arguments: &[Val<'_>]) {
        for (index, argument) in arguments.iter().enumerate() {
            if index > 0 {
                self.out.push(b' ');
            }
            self.argument(argument, 'v');
        }
        self.out.push(b'\n');
    }

    /// Writes a value as `{{.}}` does.
    pub(crate) fn value(&mut self, value: &Val<'_>) {
        match value {
            Val::Invalid => self.out.extend_from_slice(b"<no value>"),
            Val::Str(text) => self.out.extend_from_slice(text),
            value => self.argument(value, 'v'),
        }
    }

    fn argument(&mut self, value: &Val<'_>, verb: char) {
        if self.is_full() {
            return;
        }
        match value {
            Val::Interface(inner) => return self.argument(&Val::concrete(inner), verb),
            Val::Invalid | Val::Undeclared => match verb {
                'T' | 'v' => self.pad(b"<nil>"),
                _ => self.bad_verb(value, verb),
            },
            _ if verb == 'T' => self.string(value.dynamic_type_name().as_bytes(), 's', value),
            _ if verb == 'p' => self.pointer(value),
            Val::List(_) | Val::Part(_) | Val::Map(_) | Val::Struct(_) => {
                if verb == 'w' {
                    self.bad_verb(value, verb);
                } else {
                    self.container(value, verb);
                }
            }
            scalar => self.scalar(scalar, verb),
        }
    }

    fn scalar(&mut self, value: &Val<'_>, verb: char) {
        match value {
            Val::Bool(flag) => match verb {
                't' | 'v' => self.pad(if *flag { b"true" } else { b"false" }),
                _ => self.bad_verb(value, verb),
            },
            Val::Int(number) | Val::Int64(number) => {
                self.integer(number.unsigned_abs(), *number < 0, true, verb, value)
            }
            Val::Uint8(number) => self.integer(u64::from(*number), false, false, verb, value),
            Val::Uint64(number) => self.integer(*number, false, false, verb, value),
            Val::Float64(number) => self.float(*number, verb, value),
            Val::Complex128(real, imaginary) => self.complex(*real, *imaginary, verb, value),
            other => {
                if let Some(text) = other.as_text() {
                    self.string(text, verb, value);
                }
            }
        }
    }

    /// The mark for a verb that does not fit: `%!d(string=x)`.
    fn bad_verb(&mut self, value: &Val<'_>, verb: char) {
        self.out.extend_from_slice(b"%!");
        self.push(verb);
        self.out.push(b'(');
        if matches!(value, Val::Invalid | Val::Undeclared) {
            self.out.extend_from_slice(b"<nil>");
        } else {
            self.out.extend_from_slice(value.dynamic_type_name().as_bytes());
            self.out.push(b'=');
            self.argument(value, 'v');
        }
        self.out.push(b')');
    }

    fn push(&mut self, character: char) {
        self.out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    }

    /// The address of a map or slice: Go's differs from run to run, here it is always the same.
    fn pointer(&mut self, value: &Val<'_>) {
        let nil = match value {
            Val::Map(map) => map.nil,
            Val::List(_) | Val::Part(_) => value.as_list().is_some_and(|list| list.nil),
            _ => return self.bad_verb(value, 'p'),
        };
        let sharp = self.flags.sharp;
        self.flags.sharp = !sharp;
        self.digits(if nil { 0 } else { 0xc0_0000_0000 }, false, 16, 'v', scalar::LOWER);
        self.flags.sharp = sharp;
    }

    /// A list, map or struct and all that is in it, without recursion.
    fn container(&mut self, value: &Val<'_>, verb: char) {
        let mut walks: Vec<Walk<'_>> = Vec::new();
        self.open(value, &mut walks);
        while let Some(walk) = walks.last_mut() {
            if self.is_full() {
                return;
            }
            let Some(element) = walk.next() else {
                self.out.push(walk.closer(self.flags.sharp_v));
                walks.pop();
                continue;
            };
            if element.index > 0 {
                self.out.extend_from_slice(if self.flags.sharp_v { b", " } else { b" " });
            }
            match element.label {
                Label::None => {}
                Label::Key(key) => {
                    self.string(key, verb, &Val::Str(key));
                    self.out.push(b':');
                }
                Label::Field(name) if self.flags.sharp_v || self.flags.plus_v => {
                    self.out.extend_from_slice(name.as_bytes());
                    self.out.push(b':');
                }
                Label::Field(_) => {}
            }
            self.element(&element.value, verb, &mut walks);
        }
    }

    fn element<'a>(&mut self, value: &Val<'a>, verb: char, walks: &mut Vec<Walk<'a>>) {
        match value {
            Val::Interface(Value::Nil) => {
                self.out.extend_from_slice(if self.flags.sharp_v { b"interface {}(nil)" } else { b"<nil>" });
            }
            Val::Interface(inner) => self.element(&Val::concrete(inner), verb, walks),
            Val::List(_) | Val::Part(_) | Val::Map(_) | Val::Struct(_) => self.open(value, walks),
            scalar => self.scalar(scalar, verb),
        }
    }

    fn open<'a>(&mut self, value: &Val<'a>, walks: &mut Vec<Walk<'a>>) {
        let (walk, nil, opening) = match value {
            Val::Map(map) => (Walk::Map(map, 0), map.nil, &b"map["[..]),
            Val::Struct(value) => (Walk::Struct(value, 0), false, &b"{"[..]),
            list => {
                let Some(list) = list.as_list() else { return };
                (Walk::List(list, 0), list.nil, &b"["[..])
            }
        };
        if !self.flags.sharp_v {
            self.out.extend_from_slice(opening);
        } else {
            self.out.extend_from_slice(value.dynamic_type_name().as_bytes());
            if nil {
                self.out.extend_from_slice(b"(nil)");
                return;
            }
            self.out.push(b'{');
        }
        walks.push(walk);
    }
}

enum Label<'a> {
    None,
    Key(&'a [u8]),
    Field(&'a str),
}

struct Element<'a> {
    index: usize,
    label: Label<'a>,
    value: Val<'a>,
}

impl<'a> Walk<'a> {
    fn next(&mut self) -> Option<Element<'a>> {
        match self {
            Walk::List(list, next) => {
                let index = *next;
                *next += 1;
                (index < list.length).then(|| Element { index, label: Label::None, value: list.get(index) })
            }
            Walk::Map(map, next) => {
                let index = *next;
                *next += 1;
                let (key, value) = map.entries.get(index)?;
                Some(Element { index, label: Label::Key(key), value: Val::element(map.elements, value) })
            }
            Walk::Struct(value, next) => {
                let index = *next;
                *next += 1;
                let field = value.kind.fields().get(index)?;
                let elements = if field.any { Elements::Any } else { Elements::String };
                let value = Val::element(elements, &value.fields[index]);
                Some(Element { index, label: Label::Field(&field.name), value })
            }
        }
    }

    fn closer(&self, sharp_v: bool) -> u8 {
        if sharp_v || matches!(self, Walk::Struct(..)) { b'}' } else { b']' }
    }
}
