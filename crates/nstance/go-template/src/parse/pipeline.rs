//! Pipelines: commands, operands, parentheses.

use super::{Parsed, Parser};
use crate::code::Function;
use crate::message::Argument;
use crate::number::{self, Constant};
use crate::token::{Kind, Token};

/// Go's limit for parentheses in parentheses.
const DEEPEST: usize = 10_000;

/// A pipeline while it is parsed.
pub(super) struct Pipe {
    context: &'static str,
    /// What ends it: the action's delimiter, or a parenthesis.
    closer: Kind,
    /// Where its parenthesis opened.
    open: u32,
    pub(super) start: u32,
    /// The end of what it consists of so far.
    pub(super) end: u32,
    names: Vec<u32>,
    assigns: bool,
    commands: u32,
    /// The first command behind a pipe that is no function and no field.
    misplaced: Option<u32>,
    /// The node of the pipeline as a whole, if anything needs it.
    pub(super) node: Option<u32>,
    pub(super) command: Command,
}

/// A command while it is parsed.
#[derive(Default)]
pub(super) struct Command {
    pub(super) start: u32,
    pub(super) operands: u32,
    /// Does the value of the command before come through a pipe?
    pub(super) piped: bool,
    /// Where its instructions begin, and how many slots there were.
    pub(super) code: usize,
    pub(super) slots: usize,
    /// The same behind its first operand.
    pub(super) kept: usize,
    pub(super) kept_slots: usize,
    pub(super) head: Head,
    /// The node of the first argument of `call`.
    pub(super) callee: u32,
    /// The jumps of `and`, `or`, each with the number of slots there.
    pub(super) tests: Vec<(usize, usize)>,
}

/// The first operand of a command.
#[derive(Default, Clone, Copy)]
pub(super) enum Head {
    #[default]
    None,
    Function(Function, Token),
    Literal(u32),
    Nil(u32),
    Variable(u32),
    /// The number of its chain.
    Field(u32),
    /// The node of what is in the parentheses.
    Parentheses(u32),
}

pub(super) enum Term {
    Function(Function, Token),
    Dot(Token),
    Nil(Token),
    Variable(u32, Token),
    Field(Token),
    Bool(Token),
    Number(Constant, Token),
    Text(Box<[u8]>, Token),
    /// What is in the parentheses, from where to where, and where the parentheses begin and end.
    Parentheses {
        start: u32,
        end: u32,
        open: u32,
        close: u32,
    },
}

/// Fields directly behind a term.
#[derive(Clone, Copy)]
pub(super) struct Fields {
    /// The first one in the program's list, and where it stands.
    pub(super) first: u32,
    pub(super) pos: u32,
    pub(super) end: u32,
    pub(super) count: u32,
}

/// A finished pipeline.
pub(super) struct Declared {
    /// What it declares or assigns to.
    pub(super) declarations: Vec<u32>,
    pub(super) declares: bool,
    /// Where its text is.
    pub(super) start: u32,
    pub(super) end: u32,
    /// Where its parenthesis opened.
    open: u32,
}

enum Read {
    Nothing,
    Term(Term),
    /// A parenthesis: a pipeline follows.
    Open,
}

impl Parser<'_> {
    /// A pipeline up to the action's right delimiter.
    pub(super) fn pipeline(&mut self, context: &'static str) -> Parsed<Declared> {
        self.open_pipe(context, Kind::RightDelim, 0)?;
        loop {
            let token = self.next_significant();
            if token.kind == self.pipe().closer {
                let closed = self.close_pipe()?;
                if self.pipes.is_empty() {
                    return Ok(closed);
                }
                let Declared { start, end, open, .. } = closed;
                self.operand(Term::Parentheses { start, end, open, close: token.end })?;
                if !self.command_goes_on()? {
                    continue;
                }
            } else if starts_operand(token.kind) {
                self.backup();
                self.open_command();
            } else {
                let context = self.pipe().context;
                return self.unexpected(token, context);
            }
            self.operands()?;
        }
    }

    /// The operands of a command up to its end, or up to an opening parenthesis.
    fn operands(&mut self) -> Parsed<()> {
        loop {
            self.peek_significant();
            match self.term()? {
                Read::Open => return Ok(()),
                Read::Nothing => {}
                Read::Term(term) => self.operand(term)?,
            }
            if !self.command_goes_on()? {
                return Ok(());
            }
        }
    }

    pub(super) fn pipe(&mut self) -> &mut Pipe {
        let Some(last) = self.pipes.len().checked_sub(1) else { unreachable!("a pipeline is open") };
        &mut self.pipes[last]
    }

    fn open_pipe(&mut self, context: &'static str, closer: Kind, open: u32) -> Parsed<()> {
        let start = self.peek_significant().start;
        self.pipes.push(Pipe {
            context,
            closer,
            open,
            start,
            end: start,
            names: Vec::new(),
            assigns: false,
            commands: 0,
            misplaced: None,
            node: None,
            command: Command::default(),
        });
        loop {
            let token = self.peek_significant();
            if token.kind != Kind::Variable {
                return Ok(());
            }
            self.next();
            let adjacent = self.peek();
            let sign = self.peek_significant();
            if matches!(sign.kind, Kind::Assign | Kind::Declare) {
                self.next_significant();
                self.declare(token);
                self.pipe().assigns = sign.kind == Kind::Assign;
                return Ok(());
            }
            if sign.kind != Kind::Char || self.value(sign) != b"," {
                if adjacent.kind == Kind::Space {
                    self.backup_three(token, adjacent);
                } else {
                    self.backup_two(token);
                }
                return Ok(());
            }
            self.next_significant();
            self.declare(token);
            if context != "range" || self.pipe().names.len() == 2 {
                return self.fail("too many declarations in %s", vec![context.into()]);
            }
            if !matches!(self.peek_significant().kind, Kind::Variable | Kind::RightDelim | Kind::RightParen) {
                return self.fail("range can only initialize variables", Vec::new());
            }
        }
    }

    /// A variable before `:=` or `=`; for Go's parser both make its name known.
    fn declare(&mut self, token: Token) {
        let name = self.name(self.value(token));
        self.tree.variables.push(name);
        self.pipe().names.push(name);
    }

    fn close_pipe(&mut self) -> Parsed<Declared> {
        let (context, commands, misplaced) = (self.pipe().context, self.pipe().commands, self.pipe().misplaced);
        if commands == 0 {
            return self.fail("missing value for %s", vec![context.into()]);
        }
        if let Some(stage) = misplaced {
            return self.fail("non executable command in pipeline stage %d", vec![Argument::Int(i64::from(stage))]);
        }
        let names = std::mem::take(&mut self.pipe().names);
        let declares = !names.is_empty();
        let assigns = self.pipe().assigns;
        let declarations = names.into_iter().filter_map(|name| self.emit_declaration(name, assigns)).collect();
        let (start, end, open, node) = (self.pipe().start, self.pipe().end, self.pipe().open, self.pipe().node);
        if let Some(node) = node {
            self.program.nodes[node as usize].end = end;
        }
        self.pipes.pop();
        Ok(Declared { declarations, declares, start, end, open })
    }

    fn open_command(&mut self) {
        let start = self.peek_significant().start;
        let (code, slots) = (self.tree.code.len(), self.tree.slots.len());
        let pipe = self.pipe();
        pipe.command = Command { start, code, slots, piped: pipe.commands > 0, ..Command::default() };
    }

    /// What follows an operand: a space and another one, or the end of the command, which is then closed.
    fn command_goes_on(&mut self) -> Parsed<bool> {
        let token = self.next();
        match token.kind {
            Kind::Space => return Ok(true),
            Kind::RightDelim | Kind::RightParen => self.backup(),
            Kind::Pipe => {}
            _ => return self.unexpected(token, "operand"),
        }
        if self.pipe().command.operands == 0 {
            return self.fail("empty command", Vec::new());
        }
        self.close_command();
        let pipe = self.pipe();
        pipe.commands += 1;
        if pipe.commands > 1 && pipe.misplaced.is_none() && matches!(pipe.command.head, Head::Literal(_) | Head::Nil(_))
        {
            pipe.misplaced = Some(pipe.commands);
        }
        Ok(false)
    }

    fn term(&mut self) -> Parsed<Read> {
        let token = self.next_significant();
        let term = match token.kind {
            Kind::Identifier => Term::Function(self.function(token)?, token),
            Kind::Dot => Term::Dot(token),
            Kind::Nil => Term::Nil(token),
            Kind::Variable => Term::Variable(self.variable(token)?, token),
            Kind::Field => Term::Field(token),
            Kind::Bool => Term::Bool(token),
            Kind::CharConstant | Kind::Complex | Kind::Number => Term::Number(self.number(token)?, token),
            Kind::String | Kind::RawString => Term::Text(self.unquote(token)?, token),
            Kind::LeftParen => {
                if self.pipes.len() > DEEPEST {
                    return self.fail("max expression depth exceeded", Vec::new());
                }
                self.before_argument();
                self.open_pipe("parenthesized pipeline", Kind::RightParen, token.start)?;
                return Ok(Read::Open);
            }
            _ => {
                self.backup();
                return Ok(Read::Nothing);
            }
        };
        self.before_argument();
        Ok(Read::Term(term))
    }

    fn variable(&mut self, token: Token) -> Parsed<u32> {
        let name = self.name(self.value(token));
        if self.tree.variables.contains(&name) {
            Ok(name)
        } else {
            self.fail("undefined variable %q", vec![self.value(token).into()])
        }
    }

    fn number(&self, token: Token) -> Parsed<Constant> {
        let literal = self.value(token);
        let parsed = match token.kind {
            Kind::CharConstant => number::character(literal),
            Kind::Complex => number::complex(literal),
            _ => number::simple(literal),
        };
        parsed.or_else(|message| self.fail_with(message))
    }

    /// A term and the fields directly behind it.
    fn operand(&mut self, term: Term) -> Parsed<()> {
        let mut fields = Fields { first: self.program.fields.len() as u32, pos: 0, end: 0, count: 0 };
        if let Term::Field(token) = term {
            self.program.fields.push((token.start + 1, token.end));
        }
        while self.peek().kind == Kind::Field {
            let token = self.next();
            self.program.fields.push((token.start + 1, token.end));
            fields.pos = if fields.count == 0 { token.start } else { fields.pos };
            fields.end = token.end;
            fields.count += 1;
        }
        let literal = match &term {
            Term::Dot(token) | Term::Nil(token) | Term::Bool(token) | Term::Number(_, token) | Term::Text(_, token) => {
                Some(*token)
            }
            _ => None,
        };
        if let Some(token) = literal
            && fields.count > 0
        {
            return self.fail("unexpected . after term %q", vec![self.value(token).into()]);
        }
        self.emit_operand(term, fields);
        Ok(())
    }
}

fn starts_operand(kind: Kind) -> bool {
    use Kind::*;
    matches!(
        kind,
        Bool | CharConstant
            | Complex
            | Dot
            | Field
            | Identifier
            | Number
            | Nil
            | RawString
            | String
            | Variable
            | LeftParen
    )
}
