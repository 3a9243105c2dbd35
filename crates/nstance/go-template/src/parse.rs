//! From text to instructions, in one pass and without recursion: neither nested actions nor parentheses take stack.

mod emit;
mod pipeline;
mod statements;

use std::collections::HashMap;

use crate::code::{Declaration, Definition, Function, Node, Op, Program, line_and_column};
use crate::error::{Error, Stage};
use crate::lexer::Lexer;
use crate::message::{Argument, Message};
use crate::token::{Delimiters, Kind, Token};
use crate::unused;
use go_strconv::unicode;

type Parsed<T> = Result<T, Box<Error>>;

/// Longer texts are refused: places are numbers of 32 bits.
const LONGEST: usize = u32::MAX as usize / 2;

/// Parses `text` as the template `name`.
pub(crate) fn parse(name: &[u8], text: &[u8], delimiters: &Delimiters) -> Parsed<Program> {
    if text.len() > LONGEST {
        let message = format!("template: longer than {LONGEST} bytes");
        let text = message.into_bytes();
        return Err(Box::new(Error { stage: Stage::Limit, line: 1, column: None, text, quoted: Vec::new() }));
    }
    let program = Program {
        name: name.into(),
        text: text.into(),
        delimiters: delimiters.clone(),
        nodes: Vec::new(),
        chains: Vec::new(),
        fields: Vec::new(),
        literals: Vec::new(),
        declarations: vec![Declaration { name: 0, slot: 0, hidden: None }],
        names: vec![Box::from(&b"$"[..])],
        loops: Vec::new(),
        invocations: Vec::new(),
        failures: Vec::new(),
        definitions: Vec::new(),
        main: 0,
    };
    let parser = Parser {
        text,
        lexer: Lexer::new(text, delimiters),
        program,
        names: HashMap::new(),
        defined: HashMap::new(),
        outer: Vec::new(),
        tree: Tree::new(name.into()),
        pipes: Vec::new(),
    };
    parser.run()
}

/// A template while it is parsed.
struct Tree {
    name: Box<[u8]>,
    /// Tokens that have been read ahead, the next one last, and how many they are. Go's messages name the line of the
    /// token that is in the first place, whichever it is.
    tokens: [Token; 3],
    peeked: usize,
    /// Names that may be used from here on, as far as the parser of Go sees it.
    variables: Vec<u32>,
    /// How many loops are open here.
    loops: usize,
    /// Where the action that is being read began.
    action: Option<u32>,
    code: Vec<Op>,
    /// The declarations that hold at this place when the template is executed.
    slots: Vec<u32>,
    controls: Vec<Control>,
    empty: bool,
    kind: TreeKind,
}

enum TreeKind {
    Main,
    Define,
    /// The invocation that stands where the block stood, and its node.
    Block {
        invocation: u32,
        argument: bool,
    },
}

/// An open `if`, `with` or `range`.
struct Control {
    kind: Kind,
    /// Has its `else` been read?
    otherwise: bool,
    /// Is it an `else if` or `else with`, whose `end` closes the action around it too?
    chained: bool,
    /// How many variables and slots there were before it.
    variables: usize,
    slots: usize,
    /// How many slots there are at the start of its parts, with what its pipeline declares.
    part: usize,
    /// The instruction that goes to `else`, or to the end.
    branch: usize,
    /// The instructions that go to the end.
    exits: Vec<usize>,
    /// Did any of its parts declare variables?
    declares: bool,
    /// The number of its loop.
    index: u32,
}

struct Parser<'s> {
    text: &'s [u8],
    lexer: Lexer<'s>,
    program: Program,
    /// The numbers of variables' names; `$` is 0.
    names: HashMap<&'s [u8], u32>,
    defined: HashMap<Box<[u8]>, u32>,
    outer: Vec<Tree>,
    tree: Tree,
    pipes: Vec<pipeline::Pipe>,
}

impl Tree {
    fn new(name: Box<[u8]>) -> Self {
        Tree {
            name,
            tokens: [Token::NONE; 3],
            peeked: 0,
            variables: vec![0],
            loops: 0,
            action: None,
            code: Vec::new(),
            slots: vec![0],
            controls: Vec::new(),
            empty: true,
            kind: TreeKind::Main,
        }
    }
}

// Tokens.
impl<'s> Parser<'s> {
    fn next(&mut self) -> Token {
        if self.tree.peeked > 0 {
            self.tree.peeked -= 1;
        } else {
            self.tree.tokens[0] = self.lexer.next();
        }
        self.tree.tokens[self.tree.peeked]
    }

    fn backup(&mut self) {
        self.tree.peeked += 1;
    }

    /// Puts `first` back before the token that was read last.
    fn backup_two(&mut self, first: Token) {
        self.tree.tokens[1] = first;
        self.tree.peeked = 2;
    }

    fn backup_three(&mut self, first: Token, second: Token) {
        self.tree.tokens[1] = second;
        self.tree.tokens[2] = first;
        self.tree.peeked = 3;
    }

    fn peek(&mut self) -> Token {
        let token = self.next();
        self.backup();
        token
    }

    fn next_significant(&mut self) -> Token {
        loop {
            let token = self.next();
            if token.kind != Kind::Space {
                return token;
            }
        }
    }

    fn peek_significant(&mut self) -> Token {
        let token = self.next_significant();
        self.backup();
        token
    }

    fn value(&self, token: Token) -> &'s [u8] {
        &self.text[token.start as usize..token.end as usize]
    }

    fn expect(&mut self, kind: Kind, context: &str) -> Parsed<Token> {
        let token = self.next_significant();
        if token.kind == kind { Ok(token) } else { self.unexpected(token, context) }
    }
}

// Messages.
impl Parser<'_> {
    fn fail<T>(&self, format: &'static str, arguments: Vec<Argument<'_>>) -> Parsed<T> {
        let (line, _) = line_and_column(self.text, self.tree.tokens[0].start);
        let place = [b"template: ", &*self.program.name, format!(":{line}: ").as_bytes()].concat();
        let rendered = Message::new(format, arguments).render_behind(place);
        Err(Box::new(Error { stage: Stage::Parse, line, column: None, text: rendered.text, quoted: Vec::new() }))
    }

    fn fail_with<T>(&self, text: impl Into<Vec<u8>>) -> Parsed<T> {
        self.fail("%s", vec![Argument::Text(text.into())])
    }

    fn unexpected<T>(&self, token: Token, context: &str) -> Parsed<T> {
        let shown = self.lexer.describe(token, self.text);
        if token.kind != Kind::Error {
            return self.fail("unexpected %s in %s", vec![Argument::Text(shown), context.into()]);
        }
        let line = |pos: u32| line_and_column(self.text, pos).0;
        let mut began = Vec::new();
        if let Some(action) = self.tree.action.map(line)
            && action != line(token.start)
        {
            began.extend_from_slice(if shown.ends_with(b" action") {
                b" started at "
            } else {
                b" in action started at "
            });
            began.extend_from_slice(&self.program.name);
            began.extend_from_slice(format!(":{action}").as_bytes());
        }
        self.fail("%s%s", vec![Argument::Text(shown), Argument::Text(began)])
    }
}

// What instructions refer to.
impl<'s> Parser<'s> {
    fn node(&mut self, start: u32, end: u32, pos: u32) -> u32 {
        self.program.nodes.push(Node { start, end, pos, invocation: false });
        self.program.nodes.len() as u32 - 1
    }

    /// The number of a variable's name.
    fn name(&mut self, name: &'s [u8]) -> u32 {
        if name == b"$" {
            return 0;
        }
        *self.names.entry(name).or_insert_with(|| {
            self.program.names.push(name.into());
            self.program.names.len() as u32 - 1
        })
    }

    fn function(&self, token: Token) -> Parsed<Function> {
        match Function::named(self.value(token)) {
            Some(function) => Ok(function),
            None => self.fail("function %q not defined", vec![self.value(token).into()]),
        }
    }

    /// Adds the finished tree to the definitions: an empty one never replaces another.
    fn define(&mut self) -> Parsed<()> {
        let tree = &mut self.tree;
        tree.code.push(Op::Return);
        let known = self.defined.get(&tree.name).copied();
        let replaces = known.is_none_or(|known| self.program.definitions[known as usize].empty);
        if !replaces && !tree.empty {
            return self.fail("template: multiple definition of template %q", vec![(&*self.tree.name).into()]);
        }
        if replaces {
            self.defined.insert(tree.name.clone(), self.program.definitions.len() as u32);
            let (name, code) = (std::mem::take(&mut tree.name), std::mem::take(&mut tree.code));
            self.program.definitions.push(Definition { name, code, empty: tree.empty });
        }
        Ok(())
    }

    fn finish(mut self) -> Parsed<Program> {
        let main = self.tree.name.clone();
        self.define()?;
        self.program.main = self.defined[&main];
        for invocation in &mut self.program.invocations {
            invocation.definition = self.defined.get(&invocation.name).copied();
        }
        let read_by = unused::read_by(&self.program.declarations);
        for definition in &self.program.definitions {
            for (invocation, unused) in unused::after_calls(&definition.code, &self.program.loops, &read_by) {
                self.program.invocations[invocation as usize].unused = unused;
            }
        }
        Ok(self.program)
    }
}

fn is_white(text: &[u8]) -> bool {
    unicode::runes(text).all(|(rune, _)| unicode::is_space(rune))
}
