//! Calls of functions.

use super::machine::Machine;
use super::val::{Text, Val};
use super::{Stop, functions};
use crate::code::{Function, KEEP};
use crate::context;
use crate::message::{Argument, Message};
use crate::value::Value;

/// So many bytes of text count as much work as a call.
const BYTES_PER_WORK: usize = 1 << 8;

impl<'a> Machine<'a, '_> {
    pub(super) fn check_string(&mut self, node: u32) -> Result<(), Stop<'a>> {
        self.node = if node == KEEP { self.node } else { node };
        let value = self.pop();
        if value.as_text().is_some() {
            self.push(value, true);
            return Ok(());
        }
        Err(match &value {
            Val::Invalid => Message::new("invalid value; expected %s", vec!["string".into()]),
            other => {
                let name = match other {
                    Val::Interface(Value::Nil) => other.type_name(),
                    other => other.dynamic_type_name(),
                };
                Message::new("wrong type for value; expected %s; got %s", vec!["string".into(), name.into()])
            }
        }
        .into())
    }

    /// Puts the arguments of a call in order: what comes through the pipe is the last one. Returns where they begin.
    fn arguments(&mut self, piped: bool, count: u32) -> usize {
        let start = self.stack.len() - count as usize - usize::from(piped);
        if piped {
            self.stack[start..].rotate_left(1);
        }
        start
    }

    pub(super) fn call(
        &mut self,
        function: Function,
        piped: bool,
        count: u32,
        node: u32,
        callee: u32,
    ) -> Result<(), Stop<'a>> {
        let start = self.arguments(piped, count);
        if count == 0 {
            self.node = node;
        }
        let result = if function.writes_text() {
            let room = self.options.bounds.memory.saturating_sub(self.held.get());
            let mut text = Vec::new();
            functions::write(function, &self.stack[start..], &mut text, room);
            self.work(1 + text.len() / BYTES_PER_WORK)?;
            let text = Val::Text(Text::new(text, &self.held));
            self.check_memory()?;
            text
        } else {
            let (program, arguments) = (self.program, &self.stack[start..]);
            let callee = || match arguments {
                [value] if count == 0 => match value.as_text() {
                    Some(_) => Argument::Data(value.clone()),
                    None => Argument::Text(format!("<{} Value>", value.dynamic_type_name()).into_bytes()),
                },
                _ => Argument::Text(context::describe(program, program.nodes[callee as usize])),
            };
            match functions::call(function, arguments, &self.held, callee) {
                Ok(value) => value,
                Err(message) => {
                    self.node = node;
                    let arguments = vec![function.name().into(), Argument::Error(message.render())];
                    return Err(Message::new("error calling %s: %w", arguments).into());
                }
            }
        };
        self.stack.truncate(start);
        self.stack.push(result);
        Ok(())
    }

    pub(super) fn call_and_print(
        &mut self,
        function: Function,
        piped: bool,
        count: u32,
        node: u32,
    ) -> Result<(), Stop<'a>> {
        let start = self.arguments(piped, count);
        if count == 0 {
            self.node = node;
        }
        let before = self.out.len();
        functions::write(function, &self.stack[start..], self.out, self.limit);
        self.stack.truncate(start);
        self.work(1 + (self.out.len() - before) / BYTES_PER_WORK)?;
        self.check_output()
    }
}
