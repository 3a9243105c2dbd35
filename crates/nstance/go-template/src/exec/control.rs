//! Loops, calls of templates, and what `and` and `or` decide.

use super::Stop;
use super::iterate::Iteration;
use super::machine::{Frame, Machine, OpenLoop};
use super::val::Val;
use crate::code::{Loop, Unused};
use crate::message::{Argument, Message};

/// Go's limit for templates in templates.
const DEEPEST: usize = 100_000;

impl<'a> Machine<'a, '_> {
    pub(super) fn decide(&mut self, or: bool, piped: bool, target: u32, skipped: u32) {
        let value = self.pop();
        if value.is_true() != or {
            return;
        }
        if piped {
            self.pop();
        }
        self.stack.push(value);
        self.variables.extend(std::iter::repeat_n(Val::Undeclared, skipped as usize));
        self.at = target as usize;
    }

    pub(super) fn range(&mut self, index: u32) -> Result<(), Stop<'a>> {
        let info = &self.program.loops[index as usize];
        let value = self.pop();
        if info.variables > 1 && Iteration::counts(&value) {
            let data = vec![Argument::Data(value)];
            return Err(Message::new("can't use %v to iterate over more than one variable", data).into());
        }
        let Some(iteration) = Iteration::over(&value) else {
            return Err(Message::new("range can't iterate over %v", vec![Argument::Data(value)]).into());
        };
        self.loops.push(OpenLoop { iteration, dot: self.dot.clone(), dots: self.dots.len() });
        if !self.turn(info)? {
            self.close_loop(index);
            self.at = info.otherwise as usize;
        }
        Ok(())
    }

    /// The next element; at the end what follows the loop.
    pub(super) fn next(&mut self, index: u32) -> Result<(), Stop<'a>> {
        let info = &self.program.loops[index as usize];
        if !self.turn(info)? {
            self.close_loop(index);
        }
        Ok(())
    }

    /// Makes the next element dot, and sets the loop's variables. Returns whether there is one.
    fn turn(&mut self, info: &'a Loop) -> Result<bool, Stop<'a>> {
        self.work(1)?;
        self.variables.truncate(self.base + info.slots as usize);
        let Some(open) = self.loops.last_mut() else { return Ok(false) };
        self.dots.truncate(open.dots);
        let Some(element) = open.iteration.next() else { return Ok(false) };
        if info.variables > 1 {
            let key = open.iteration.index();
            let slot = self.slot(self.program.declarations[info.index as usize].slot, info.index)?;
            self.variables[slot] = key;
        }
        if info.variables > 0 {
            let slot = self.slot(self.program.declarations[info.element as usize].slot, info.element)?;
            self.variables[slot] = element.clone();
        }
        self.dot = element;
        self.at = info.body as usize;
        Ok(true)
    }

    pub(super) fn close_loop(&mut self, index: u32) {
        let info = &self.program.loops[index as usize];
        self.variables.truncate(self.base + info.slots as usize);
        if let Some(open) = self.loops.pop() {
            self.dots.truncate(open.dots);
            self.dot = open.dot;
        }
        self.at = info.after as usize;
    }

    pub(super) fn lookup(&mut self, invocation: u32, node: u32) -> Result<(), Stop<'a>> {
        self.node = node;
        let invocation = &self.program.invocations[invocation as usize];
        if invocation.definition.is_none() {
            return Err(Message::new("template %q not defined", vec![(&*invocation.name).into()]).into());
        }
        if self.frames.len() == DEEPEST {
            let deepest = Argument::Int(DEEPEST as i64);
            return Err(Message::new("exceeded maximum template depth (%v)", vec![deepest]).into());
        }
        Ok(())
    }

    pub(super) fn invoke(&mut self, invocation: u32, argument: bool) -> Result<(), Stop<'a>> {
        self.work(1)?;
        self.check_memory()?;
        let dot = if argument { self.pop() } else { Val::Invalid };
        let invocation = &self.program.invocations[invocation as usize];
        let Some(definition) = invocation.definition else { return Ok(()) };
        if self.held.get() > 0 {
            self.release(invocation.unused);
        }
        self.frames.push(Frame {
            definition: self.definition,
            at: self.at,
            base: self.base,
            dot: std::mem::replace(&mut self.dot, dot.clone()),
            node: self.node,
        });
        self.base = self.variables.len();
        self.variables.push(dot);
        self.definition = definition;
        self.code = &self.program.definitions[definition as usize].code;
        self.at = 0;
        Ok(())
    }

    /// Lets go of the values that this template does not read any more.
    fn release(&mut self, unused: Unused) {
        if unused.dots != 0 {
            self.release_dots(unused);
        }
        for (slot, variable) in self.variables[self.base..].iter_mut().take(u64::BITS as usize).enumerate() {
            if unused.variables >> slot & 1 == 1 {
                *variable = Val::Invalid;
            }
        }
    }

    fn release_dots(&mut self, unused: Unused) {
        if unused.dots >> unused.depth & 1 == 1 {
            self.dot = Val::Invalid;
        }
        let (mut dot, mut open) = (self.dots.len(), self.loops.len());
        for depth in (0..unused.depth).rev() {
            // What opened the next depth holds the dot of this one.
            let held = if unused.withs >> (depth + 1) & 1 == 1 {
                dot -= 1;
                self.dots.get_mut(dot)
            } else {
                open -= 1;
                self.loops.get_mut(open).map(|open| &mut open.dot)
            };
            if let Some(held) = held.filter(|_| unused.dots >> depth & 1 == 1) {
                *held = Val::Invalid;
            }
        }
    }

    /// Goes back to where the template was called; `false` for the main one.
    pub(super) fn go_back(&mut self) -> bool {
        let Some(frame) = self.frames.pop() else { return false };
        self.variables.truncate(self.base);
        self.base = frame.base;
        self.dot = frame.dot;
        self.node = frame.node;
        self.definition = frame.definition;
        self.code = &self.program.definitions[frame.definition as usize].code;
        self.at = frame.at;
        true
    }
}
