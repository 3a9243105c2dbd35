//! Messages as Go builds them: the place is part of the format, so that a `%` in a template's name takes arguments.

use std::ops::Range;

use crate::exec::Val;
use crate::fmt::Printer;

/// What a message says: a format and its arguments.
pub(crate) struct Message<'a> {
    pub(crate) format: &'static str,
    pub(crate) arguments: Vec<Argument<'a>>,
}

pub(crate) enum Argument<'a> {
    Text(Vec<u8>),
    /// A value of the data.
    Data(Val<'a>),
    Int(i64),
    /// A message of its own, with the parts that quote data.
    Error(Rendered),
}

/// A message's text and the parts of it that quote data.
#[derive(Default)]
pub(crate) struct Rendered {
    pub(crate) text: Vec<u8>,
    pub(crate) quoted: Vec<Range<usize>>,
}

impl From<&str> for Argument<'_> {
    fn from(text: &str) -> Self {
        Argument::Text(text.as_bytes().to_vec())
    }
}

impl From<&[u8]> for Argument<'_> {
    fn from(text: &[u8]) -> Self {
        Argument::Text(text.to_vec())
    }
}

impl<'a> Message<'a> {
    pub(crate) fn new(format: &'static str, arguments: Vec<Argument<'a>>) -> Self {
        Message { format, arguments }
    }

    /// Its text without a place.
    pub(crate) fn render(&self) -> Rendered {
        self.render_behind(Vec::new())
    }

    /// Its text behind a place, in which `%` is a directive too.
    pub(crate) fn render_behind(&self, place: Vec<u8>) -> Rendered {
        let mut format = place;
        format.extend_from_slice(self.format.as_bytes());
        let values: Vec<Val<'_>> = self
            .arguments
            .iter()
            .map(|argument| match argument {
                Argument::Text(text) => Val::Str(text),
                Argument::Data(value) => value.clone(),
                Argument::Error(rendered) => Val::Str(&rendered.text),
                Argument::Int(value) => Val::Int(*value),
            })
            .collect();
        let mut text = Vec::new();
        let places = Printer::new(&mut text, usize::MAX).printf_traced(&format, &values);
        let mut quoted = Vec::new();
        for (index, place) in places.into_iter().filter(|(_, place)| !place.is_empty()) {
            match &self.arguments[index] {
                Argument::Data(_) => quoted.push(place),
                // The inner message stands there as it is unless a name's directive pads or escapes it.
                Argument::Error(inner) if text.get(place.clone()) == Some(&inner.text) => {
                    quoted.extend(inner.quoted.iter().map(|part| place.start + part.start..place.start + part.end));
                }
                Argument::Error(inner) if !inner.quoted.is_empty() => quoted.push(place),
                _ => {}
            }
        }
        Rendered { text, quoted }
    }
}
