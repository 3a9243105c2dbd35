//! Executing a parsed template: a stack machine without recursion.

mod call;
mod compare;
mod control;
mod fields;
mod functions;
mod iterate;
mod machine;
mod val;

pub(crate) use val::{Part, Val};

use crate::code::{KEEP, Program, line_and_column};
use crate::context;
use crate::error::{Error, Stage};
use crate::message::Message;
use crate::value::Value;
use go_strconv::quote;

/// What a map does for a key that it does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MissingKey {
    /// `missingkey=default` and `missingkey=invalid`: there is no value; written, it is `<no value>`.
    #[default]
    Invalid,
    /// `missingkey=zero`: the zero value of the type of the map's elements.
    Zero,
    /// `missingkey=error`: an error.
    Error,
}

/// How much a template may use.
#[derive(Clone, Copy)]
pub struct Bounds<'h> {
    /// Bytes of output.
    pub output: usize,
    /// Bytes that variables, texts in the making and nested templates take.
    pub memory: usize,
    /// Asked again and again: has the time run out?
    pub expired: Option<&'h dyn Fn() -> bool>,
}

impl Default for Bounds<'_> {
    /// 16 MiB of output, 256 MiB of memory, any time.
    fn default() -> Self {
        Bounds { output: 16 << 20, memory: 256 << 20, expired: None }
    }
}

/// How a template is executed.
#[derive(Clone, Copy, Default)]
pub struct Options<'h> {
    /// What a map does for a key that it does not have.
    pub missing_key: MissingKey,
    /// How much it may use.
    pub bounds: Bounds<'h>,
}

/// Why an execution ends early.
pub(crate) enum Stop<'a> {
    /// A mistake that Go reports too.
    Failed(Message<'a>),
    /// A bound was exceeded.
    Exceeded(String),
}

impl<'a> From<Message<'a>> for Stop<'a> {
    fn from(message: Message<'a>) -> Self {
        Stop::Failed(message)
    }
}

/// Executes the program and appends what it writes.
pub(crate) fn execute(
    program: &Program,
    data: &Value,
    options: &Options<'_>,
    out: &mut Vec<u8>,
) -> Result<(), Box<Error>> {
    let mut machine = machine::Machine::new(program, data, options, out);
    match machine.run() {
        Ok(()) => Ok(()),
        Err(stop) => Err(Box::new(report(program, &machine.place(), stop))),
    }
}

/// Where an execution is: its expression, and the name of the template.
pub(crate) struct Place<'a> {
    node: u32,
    template: &'a [u8],
}

fn report(program: &Program, place: &Place<'_>, stop: Stop<'_>) -> Error {
    let mut text = b"template: ".to_vec();
    text.extend_from_slice(&program.name);
    let mut position = (1, 0);
    let node = if place.node == KEEP { None } else { program.nodes.get(place.node as usize) };
    if let Some(node) = node {
        position = line_and_column(&program.text, node.pos);
        text.extend_from_slice(format!(":{}:{}", position.0, position.1).as_bytes());
    }
    text.extend_from_slice(b": executing ");
    quote::quote(&mut text, &doubled(place.template));
    if let Some(node) = node {
        text.extend_from_slice(b" at <");
        text.extend_from_slice(&doubled(&context::describe(program, *node)));
        text.push(b'>');
    }
    text.extend_from_slice(b": ");
    let (stage, message) = match stop {
        Stop::Failed(message) => (Stage::Exec, message),
        Stop::Exceeded(what) => (Stage::Limit, Message::new("%s", vec![what.as_str().into()])),
    };
    let rendered = message.render_behind(text);
    Error { stage, line: position.0, column: node.map(|_| position.1), text: rendered.text, quoted: rendered.quoted }
}

/// The text as it stands in a format: each `%` twice.
fn doubled(text: &[u8]) -> Vec<u8> {
    text.iter().flat_map(|byte| std::iter::repeat_n(*byte, if *byte == b'%' { 2 } else { 1 })).collect()
}
