//! Instructions of expressions. What is known to fail is emitted as an instruction that fails, because Go reports it only
//! when the template gets there.

use super::Parser;
use super::pipeline::{Fields, Head, Term};
use crate::code::{Chain, Declaration, Failure, Function, KEEP, Literal, Op};
use crate::number::Constant;

impl Parser<'_> {
    fn emit(&mut self, op: Op) {
        self.tree.code.push(op);
    }

    fn emit_failure(&mut self, failure: Failure, node: u32) {
        self.program.failures.push(failure);
        let failure = self.program.failures.len() as u32 - 1;
        self.emit(Op::Fail { failure, node });
    }

    fn emit_literal(&mut self, literal: Literal, node: u32) {
        self.program.literals.push(literal);
        let index = self.program.literals.len() as u32 - 1;
        self.emit(Op::Constant { index, node });
    }

    fn chain(&mut self, first: u32, count: u32) -> u32 {
        self.program.chains.push(Chain { first, count, arguments: false });
        self.program.chains.len() as u32 - 1
    }

    /// The declaration that a name refers to at this place.
    fn resolve(&self, name: u32) -> Option<u32> {
        let declarations = &self.program.declarations;
        self.tree.slots.iter().rev().copied().find(|declaration| declarations[*declaration as usize].name == name)
    }

    /// Declares a variable with the value on top, or assigns it. Returns the declaration.
    pub(super) fn emit_declaration(&mut self, name: u32, assigns: bool) -> Option<u32> {
        let known = self.resolve(name);
        if assigns {
            match known {
                Some(declaration) => {
                    let slot = self.program.declarations[declaration as usize].slot;
                    self.emit(Op::Assign { slot, declaration });
                }
                None => self.emit_failure(Failure::Undefined(name), KEEP),
            }
            return known;
        }
        let slot = self.tree.slots.len() as u32;
        self.program.declarations.push(Declaration { name, slot, hidden: known });
        let declaration = self.program.declarations.len() as u32 - 1;
        self.tree.slots.push(declaration);
        self.emit(Op::Declare);
        Some(declaration)
    }

    /// The end of an action that is a pipeline: its value is written unless it declares something.
    pub(super) fn emit_print(&mut self, declares: bool) {
        if declares {
            self.emit(Op::Pop);
            return;
        }
        match self.tree.code.last_mut() {
            Some(last @ Op::Field { .. }) => {
                if let Op::Field { chain, node, .. } = *last {
                    *last = Op::PrintField { chain, node };
                }
            }
            Some(last @ Op::Call { .. }) => match *last {
                Op::Call { function, piped, count, node, .. } if function.writes_text() => {
                    *last = Op::CallPrint { function, piped, count, node };
                }
                _ => self.emit(Op::Print),
            },
            _ => self.emit(Op::Print),
        }
    }

    /// Before the second and each further argument of `and`, `or`: does the one before decide?
    pub(super) fn before_argument(&mut self) {
        let Head::Function(function @ (Function::And | Function::Or), _) = self.pipe().command.head else { return };
        if self.pipe().command.operands > 1 {
            self.emit_test(function);
        }
    }

    fn emit_test(&mut self, function: Function) {
        let test = (self.tree.code.len(), self.tree.slots.len());
        let command = &mut self.pipe().command;
        command.tests.push(test);
        let piped = command.piped;
        self.emit(Op::Decide { or: function == Function::Or, piped, target: 0, skipped: 0 });
    }

    pub(super) fn emit_operand(&mut self, term: Term, fields: Fields) {
        let first = self.pipe().command.operands == 0;
        self.pipe().command.operands += 1;
        let (start, end) = match &term {
            Term::Function(_, token)
            | Term::Dot(token)
            | Term::Nil(token)
            | Term::Variable(_, token)
            | Term::Field(token)
            | Term::Bool(token)
            | Term::Number(_, token)
            | Term::Text(_, token) => (token.start, token.end),
            Term::Parentheses { open, close, .. } => (*open, *close),
        };
        let end = if fields.count > 0 { fields.end } else { end };
        self.pipe().end = end;
        let head = if first {
            self.emit_head(term, fields, start, end)
        } else {
            self.emit_argument(term, fields, start, end);
            return;
        };
        let (kept, kept_slots) = (self.tree.code.len(), self.tree.slots.len());
        let command = &mut self.pipe().command;
        command.head = head;
        (command.kept, command.kept_slots) = (kept, kept_slots);
    }

    fn emit_head(&mut self, term: Term, fields: Fields, start: u32, end: u32) -> Head {
        match term {
            Term::Function(function, token) if fields.count == 0 => Head::Function(function, token),
            Term::Nil(_) => Head::Nil(self.node(start, end, start)),
            Term::Variable(name, _) if fields.count == 0 => {
                let node = self.node(start, end, start);
                self.emit_variable(name, node, true);
                Head::Variable(node)
            }
            Term::Parentheses { start, end, .. } if fields.count == 0 => {
                Head::Parentheses(self.node(start, end, start))
            }
            Term::Variable(..) | Term::Field(_) | Term::Function(..) | Term::Parentheses { .. } => {
                Head::Field(self.emit_fields(term, fields, start, end, true))
            }
            literal => {
                let node = self.node(start, end, start);
                self.emit_constant(literal, node, true);
                Head::Literal(node)
            }
        }
    }

    fn emit_argument(&mut self, term: Term, fields: Fields, start: u32, end: u32) {
        let command = &self.pipe().command;
        let string = matches!(command.head, Head::Function(Function::Printf, _)) && command.operands == 2;
        if matches!(command.head, Head::Function(Function::Call, _)) && command.operands == 2 {
            let (start, end) = match term {
                Term::Parentheses { start, end, .. } if fields.count == 0 => (start, end),
                _ => (start, end),
            };
            self.pipe().command.callee = self.node(start, end, start);
        }
        match term {
            Term::Variable(name, _) if fields.count == 0 => {
                let node = self.node(start, end, start);
                self.emit_variable(name, node, false);
            }
            Term::Function(function, token) if fields.count == 0 => {
                let node = self.node(token.start, token.end, token.start);
                self.emit_call(function, 0, false, node, node, KEEP);
            }
            Term::Parentheses { .. } if fields.count == 0 => {}
            Term::Variable(..) | Term::Field(_) | Term::Function(..) | Term::Parentheses { .. } => {
                self.emit_fields(term, fields, start, end, false);
            }
            literal => {
                let node = self.node(start, end, start);
                match literal {
                    Term::Nil(_) if string => self.emit_failure(Failure::NilToString, node),
                    Term::Nil(_) => self.emit(Op::Nil { node }),
                    Term::Bool(_) | Term::Number(..) if string => {
                        self.emit_failure(Failure::ExpectedString(node), node);
                    }
                    Term::Text(..) => {
                        self.emit_constant(literal, node, false);
                        return;
                    }
                    _ => self.emit_constant(literal, node, false),
                }
            }
        }
        if string {
            self.emit(Op::CheckString { node: KEEP });
        }
    }

    /// A constant, or dot.
    fn emit_constant(&mut self, term: Term, node: u32, unwrap: bool) {
        match term {
            Term::Dot(_) => self.emit(Op::Dot { node, unwrap }),
            Term::Bool(token) => self.emit_literal(Literal::Bool(self.value(token) == b"true"), node),
            Term::Number(Constant::Overflow, _) => self.emit_failure(Failure::Overflow(node), node),
            Term::Number(constant, _) => self.emit_literal(Literal::Number(constant), node),
            Term::Text(text, _) => self.emit_literal(Literal::Text(text), node),
            _ => {}
        }
    }

    fn emit_variable(&mut self, name: u32, node: u32, unwrap: bool) {
        match self.resolve(name) {
            Some(declaration) => {
                let slot = self.program.declarations[declaration as usize].slot;
                self.emit(Op::Variable { slot, declaration, node, unwrap });
            }
            None => self.emit_failure(Failure::Undefined(name), node),
        }
    }

    /// A term and its fields. Returns the number of their chain.
    fn emit_fields(&mut self, term: Term, fields: Fields, start: u32, end: u32, unwrap: bool) -> u32 {
        let own = u32::from(matches!(term, Term::Field(_)));
        let chain = self.chain(fields.first, fields.count + own);
        let pos = if fields.count > 0 { fields.pos } else { start };
        let node = self.node(start, end, pos);
        match term {
            Term::Field(_) => self.emit(Op::Field { chain, node, unwrap }),
            Term::Variable(name, _) => match self.resolve(name) {
                Some(declaration) => self.emit(Op::VariableField { declaration, chain, node, unwrap }),
                None => self.emit_failure(Failure::Undefined(name), node),
            },
            Term::Function(function, token) => {
                let function_node = self.node(token.start, token.end, token.start);
                self.emit_call(function, 0, false, function_node, function_node, KEEP);
                self.emit(Op::Chain { chain, unwrap });
            }
            _ => self.emit(Op::Chain { chain, unwrap }),
        }
        chain
    }

    /// A call with so many arguments on the stack; `name`: the node of the function's name.
    fn emit_call(&mut self, function: Function, count: u32, piped: bool, name: u32, node: u32, callee: u32) {
        let (fixed, variadic) = function.arity();
        let total = count + u32::from(piped);
        if if variadic { total < fixed } else { total != fixed } {
            let got = if variadic { count } else { total };
            self.emit_failure(Failure::Count { function, got }, name);
            return;
        }
        if function == Function::Printf && count == 0 {
            self.emit(Op::CheckString { node: name });
        }
        self.emit(Op::Call { function, piped, count, node, callee });
    }

    /// The end of a command: what it does with its arguments.
    pub(super) fn close_command(&mut self) {
        let command = &self.pipe().command;
        let (code, slots, kept, kept_slots) = (command.code, command.slots, command.kept, command.kept_slots);
        let (head, operands, piped) = (command.head, command.operands, command.piped);
        let arguments = operands > 1 || piped;
        match head {
            Head::Function(function, token) => self.close_call(function, token),
            Head::Nil(node) if !arguments => self.emit_failure(Failure::NilCommand, node),
            _ if !arguments => {}
            Head::Field(chain) => {
                self.cut(kept, kept_slots);
                self.program.chains[chain as usize].arguments = true;
                if piped {
                    self.emit(Op::DropBelow);
                }
            }
            Head::Variable(node) => {
                self.cut(kept, kept_slots);
                self.emit_failure(Failure::NonFunction(node), node);
            }
            Head::Literal(node) | Head::Nil(node) => {
                self.cut(code, slots);
                self.emit_failure(Failure::NonFunction(node), node);
            }
            Head::Parentheses(node) => {
                self.cut(code, slots);
                let at = if piped { KEEP } else { self.pipe_node() };
                self.emit_failure(Failure::NonFunction(node), at);
            }
            Head::None => {}
        }
    }

    fn close_call(&mut self, function: Function, token: crate::token::Token) {
        let command = std::mem::take(&mut self.pipe().command);
        let count = command.operands - 1;
        let name = self.node(token.start, token.end, token.start);
        let end = self.pipe().end;
        let node = if count == 0 { name } else { self.node(command.start, end, command.start) };
        let (fixed, variadic) = function.arity();
        let total = count + u32::from(command.piped);
        if total < fixed || !variadic && total != fixed {
            self.cut(command.code, command.slots);
        }
        self.pipe().command = command;
        if !matches!(function, Function::And | Function::Or) || total < fixed {
            let (piped, callee) = (self.pipe().command.piped, self.pipe().command.callee);
            self.emit_call(function, count, piped, name, node, callee);
            if function == Function::Index {
                self.emit(Op::Unwrap { node: KEEP });
            }
            return;
        }
        if self.pipe().command.piped && count > 0 {
            self.emit_test(function);
        }
        let here = (self.tree.code.len() as u32, self.tree.slots.len());
        for (test, slots) in std::mem::take(&mut self.pipe().command.tests) {
            if let Op::Decide { target, skipped, .. } = &mut self.tree.code[test] {
                *target = here.0;
                *skipped = (here.1 - slots) as u32;
            }
        }
        self.emit(Op::Unwrap { node: if count == 0 { name } else { KEEP } });
    }

    /// Takes instructions back: Go reports the mistake before it evaluates what they evaluate.
    fn cut(&mut self, code: usize, slots: usize) {
        self.tree.code.truncate(code);
        self.tree.slots.truncate(slots);
    }

    /// The node of the pipeline that is being read; where it ends is set when it does.
    fn pipe_node(&mut self) -> u32 {
        if let Some(node) = self.pipe().node {
            return node;
        }
        let start = self.pipe().start;
        let node = self.node(start, start, start);
        self.pipe().node = Some(node);
        node
    }
}
