//! The machine: its stacks, and what each instruction does to them.

use std::cell::Cell;
use std::rc::Rc;

use super::fields::field;
use super::iterate::Iteration;
use super::val::Val;
use super::{Options, Place, Stop};
use crate::code::{Declaration, Failure, KEEP, Literal, Op, Program};
use crate::context;
use crate::fmt::Printer;
use crate::message::{Argument, Message};
use crate::number::Constant;
use crate::value::Value;

/// After so much work the clock is asked; a call or a turn of a loop is one.
const WORK_PER_LOOK: usize = 1 << 12;

pub(crate) struct Machine<'a, 'o> {
    pub(super) program: &'a Program,
    pub(super) options: &'a Options<'a>,
    pub(super) out: &'o mut Vec<u8>,
    /// The longest that `out` may become.
    pub(super) limit: usize,
    pub(super) stack: Vec<Val<'a>>,
    pub(super) dot: Val<'a>,
    /// The dots that come back at the end of each `with`.
    pub(super) dots: Vec<Val<'a>>,
    pub(super) variables: Vec<Val<'a>>,
    /// Where the variables of this template begin.
    pub(super) base: usize,
    pub(super) loops: Vec<OpenLoop<'a>>,
    pub(super) frames: Vec<Frame<'a>>,
    pub(super) code: &'a [Op],
    pub(super) at: usize,
    pub(super) definition: u32,
    /// The expression that messages show.
    pub(super) node: u32,
    /// The bytes of all texts that functions made and something still holds.
    pub(super) held: Rc<Cell<usize>>,
    pub(super) work: usize,
}

pub(super) struct OpenLoop<'a> {
    pub(super) iteration: Iteration<'a>,
    pub(super) dot: Val<'a>,
    pub(super) dots: usize,
}

/// Where a template that was called goes back to.
pub(super) struct Frame<'a> {
    pub(super) definition: u32,
    pub(super) at: usize,
    pub(super) base: usize,
    pub(super) dot: Val<'a>,
    pub(super) node: u32,
}

impl<'a, 'o> Machine<'a, 'o> {
    pub(crate) fn new(program: &'a Program, data: &'a Value, options: &'a Options<'a>, out: &'o mut Vec<u8>) -> Self {
        let dot = Val::concrete(data);
        let limit = out.len().saturating_add(options.bounds.output);
        Machine {
            program,
            options,
            out,
            limit,
            stack: Vec::new(),
            variables: vec![dot.clone()],
            dot,
            dots: Vec::new(),
            base: 0,
            loops: Vec::new(),
            frames: Vec::new(),
            code: &program.definitions[program.main as usize].code,
            at: 0,
            definition: program.main,
            node: KEEP,
            held: Rc::new(Cell::new(0)),
            work: 0,
        }
    }

    /// Where it is.
    pub(crate) fn place(&self) -> Place<'a> {
        Place { node: self.node, template: &self.program.definitions[self.definition as usize].name }
    }

    pub(crate) fn run(&mut self) -> Result<(), Stop<'a>> {
        loop {
            let op = self.code[self.at];
            self.at += 1;
            match op {
                Op::Text { start, end } => {
                    self.out.extend_from_slice(&self.program.text[start as usize..end as usize]);
                    self.check_output()?;
                }
                Op::PrintField { chain, node } => {
                    self.node = node;
                    let value = self.fields(None, chain)?;
                    self.print(&value.unwrapped())?;
                }
                Op::Print => {
                    let value = self.pop();
                    self.print(&value)?;
                }
                Op::Field { chain, node, unwrap } => {
                    self.node = node;
                    let value = self.fields(None, chain)?;
                    self.push(value, unwrap);
                }
                Op::Variable { slot, declaration, node, unwrap } => {
                    self.node = node;
                    let slot = self.slot(slot, declaration)?;
                    let value = self.variables[slot].clone();
                    self.push(value, unwrap);
                }
                Op::VariableField { declaration, chain, node, unwrap } => {
                    self.node = node;
                    let slot = self.slot(self.program.declarations[declaration as usize].slot, declaration)?;
                    let value = self.variables[slot].clone();
                    let value = self.fields(Some(value), chain)?;
                    self.push(value, unwrap);
                }
                Op::Chain { chain, unwrap } => {
                    let value = self.pop();
                    let value = self.fields(Some(value), chain)?;
                    self.push(value, unwrap);
                }
                Op::Dot { node, unwrap } => {
                    self.node = node;
                    let value = self.dot.clone();
                    self.push(value, unwrap);
                }
                Op::Constant { index, node } => {
                    self.node = node;
                    let value = self.literal(index);
                    self.stack.push(value);
                }
                Op::Nil { node } => {
                    self.node = node;
                    self.stack.push(Val::Invalid);
                }
                Op::Call { function, piped, count, node, callee } => self.call(function, piped, count, node, callee)?,
                Op::CallPrint { function, piped, count, node } => self.call_and_print(function, piped, count, node)?,
                Op::Next { index } => self.next(index)?,
                Op::Range { index } => self.range(index)?,
                Op::Invoke { invocation, argument } => self.invoke(invocation, argument)?,
                Op::Return => {
                    if !self.go_back() {
                        return Ok(());
                    }
                }
                other => self.other(other)?,
            }
        }
    }

    /// The instructions that are short or rare.
    fn other(&mut self, op: Op) -> Result<(), Stop<'a>> {
        match op {
            Op::Jump { target } => self.at = target as usize,
            Op::JumpIfFalse { target } => {
                if !self.pop().is_true() {
                    self.at = target as usize;
                }
            }
            Op::With { target } => {
                let value = self.pop();
                if value.is_true() {
                    self.dots.push(std::mem::replace(&mut self.dot, value));
                } else {
                    self.at = target as usize;
                }
            }
            Op::EndWith => self.dot = self.dots.pop().unwrap_or(Val::Invalid),
            Op::Break { index } => self.close_loop(index),
            Op::Forget { slot } => self.variables.truncate(self.base + slot as usize),
            Op::Declare => {
                let value = self.stack.last().cloned().unwrap_or(Val::Invalid);
                self.variables.push(value);
            }
            Op::Assign { slot, declaration } => {
                let slot = self.slot(slot, declaration)?;
                self.variables[slot] = self.stack.last().cloned().unwrap_or(Val::Invalid);
            }
            Op::Pop => drop(self.pop()),
            Op::DropBelow => {
                let value = self.pop();
                self.pop();
                self.stack.push(value);
            }
            Op::Unwrap { node } => {
                self.node = if node == KEEP { self.node } else { node };
                let value = self.pop();
                self.push(value, true);
            }
            Op::Decide { or, piped, target, skipped } => self.decide(or, piped, target, skipped),
            Op::CheckString { node } => self.check_string(node)?,
            Op::Lookup { invocation, node } => self.lookup(invocation, node)?,
            Op::Fail { failure, node } => {
                self.node = if node == KEEP { self.node } else { node };
                return Err(self.failure(self.program.failures[failure as usize]).into());
            }
            _ => debug_assert!(false, "the loop handles the others"),
        }
        Ok(())
    }

    pub(super) fn pop(&mut self) -> Val<'a> {
        self.stack.pop().unwrap_or(Val::Invalid)
    }

    pub(super) fn push(&mut self, value: Val<'a>, unwrap: bool) {
        self.stack.push(if unwrap { value.unwrapped() } else { value });
    }

    pub(super) fn check_output(&self) -> Result<(), Stop<'a>> {
        if self.out.len() > self.limit {
            return Err(Stop::Exceeded(format!("output exceeds the limit of {} bytes", self.options.bounds.output)));
        }
        Ok(())
    }

    fn print(&mut self, value: &Val<'a>) -> Result<(), Stop<'a>> {
        if let Val::Str(text) = value {
            self.out.extend_from_slice(text);
        } else {
            Printer::new(self.out, self.limit).value(value);
        }
        self.check_output()
    }

    /// Notes work that was done, and looks at the clock now and then.
    pub(super) fn work(&mut self, amount: usize) -> Result<(), Stop<'a>> {
        self.work += amount;
        if self.work >= WORK_PER_LOOK {
            self.work = 0;
            if self.options.bounds.expired.is_some_and(|expired| expired()) {
                return Err(Stop::Exceeded("execution exceeds its time limit".into()));
            }
        }
        Ok(())
    }

    pub(super) fn check_memory(&self) -> Result<(), Stop<'a>> {
        let used = self.held.get()
            + self.frames.len() * size_of::<Frame<'_>>()
            + self.loops.len() * size_of::<OpenLoop<'_>>()
            + (self.variables.len() + self.stack.len() + self.dots.len()) * size_of::<Val<'_>>();
        if used > self.options.bounds.memory {
            return Err(Stop::Exceeded(format!("values exceed the limit of {} bytes", self.options.bounds.memory)));
        }
        Ok(())
    }

    /// Fields of a value, or of dot.
    fn fields(&self, value: Option<Val<'a>>, chain: u32) -> Result<Val<'a>, Stop<'a>> {
        let chain = self.program.chains[chain as usize];
        let names = &self.program.fields[chain.first as usize..(chain.first + chain.count) as usize];
        let missing = self.options.missing_key;
        let mut value = value;
        for (index, &(start, end)) in names.iter().enumerate() {
            let name = &self.program.text[start as usize..end as usize];
            let arguments = chain.arguments && index + 1 == names.len();
            value = Some(field(value.as_ref().unwrap_or(&self.dot), name, arguments, missing)?);
        }
        Ok(value.unwrap_or(Val::Invalid))
    }

    /// The place of a variable. What `and` or `or` did not reach is not declared: then it is what was hidden by it.
    pub(super) fn slot(&self, slot: u32, declaration: u32) -> Result<usize, Stop<'a>> {
        let place = self.base + slot as usize;
        if !matches!(self.variables[place], Val::Undeclared) {
            return Ok(place);
        }
        let Declaration { name, mut hidden, .. } = self.program.declarations[declaration as usize];
        while let Some(next) = hidden {
            let declaration = self.program.declarations[next as usize];
            let place = self.base + declaration.slot as usize;
            if !matches!(self.variables[place], Val::Undeclared) {
                return Ok(place);
            }
            hidden = declaration.hidden;
        }
        Err(self.failure(Failure::Undefined(name)).into())
    }

    fn literal(&self, index: u32) -> Val<'a> {
        match &self.program.literals[index as usize] {
            Literal::Bool(value) => Val::Bool(*value),
            Literal::Text(text) => Val::Str(text),
            Literal::Number(Constant::Int(value)) => Val::Int(*value),
            Literal::Number(Constant::Float(value)) => Val::Float64(*value),
            Literal::Number(Constant::Complex(real, imaginary)) => Val::Complex128(*real, *imaginary),
            Literal::Number(Constant::Overflow) => Val::Invalid,
        }
    }

    fn failure(&self, failure: Failure) -> Message<'a> {
        let shown = |node: u32| Argument::Text(context::describe(self.program, self.program.nodes[node as usize]));
        match failure {
            Failure::Count { function, got } => {
                let (want, variadic) = function.arity();
                let format = if variadic {
                    "wrong number of args for %s: want at least %d got %d"
                } else {
                    "wrong number of args for %s: want %d got %d"
                };
                let numbers = [want, got].map(|number| Argument::Int(i64::from(number)));
                Message::new(format, std::iter::once(function.name().into()).chain(numbers).collect())
            }
            Failure::NonFunction(node) => Message::new("can't give argument to non-function %s", vec![shown(node)]),
            Failure::NilCommand => Message::new("nil is not a command", Vec::new()),
            Failure::NilToString => Message::new("cannot assign nil to %s", vec!["string".into()]),
            Failure::ExpectedString(node) => Message::new("expected string; found %s", vec![shown(node)]),
            Failure::Overflow(node) => Message::new("%s overflows int", vec![shown(node)]),
            Failure::Undefined(name) => {
                Message::new("undefined variable: %s", vec![(&*self.program.names[name as usize]).into()])
            }
        }
    }
}
