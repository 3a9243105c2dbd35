//! What a template's code may touch, seen without running it.
//!
//! Most templates read properties and links and write text. Those may follow one another in one process. Others change
//! objects that they were given, or define methods: those get objects of their own, and what they define is removed
//! afterwards. Every other template is evaluated in a process of its own. Each name in a template has to be known to be
//! harmless: an unknown one costs a process, never isolation.

mod definitions;
mod features;
mod lexer;
mod locals;
mod names;
mod patterns;

use std::collections::HashSet;

use crate::scanner;
use definitions::{assigned_constants, defined};
use features::{remember, remember_required};
use lexer::Token;
use locals::Locals;

/// What a template must not share with others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isolation {
    /// Nothing: it changes no object but its own.
    Shared,
    /// Its properties and links, and the class that its methods and constants become part of.
    Copy,
    /// Its process.
    #[default]
    Process,
}

impl Isolation {
    /// The name that the driver knows it by.
    pub fn as_str(self) -> &'static str {
        match self {
            Isolation::Shared => "shared",
            Isolation::Copy => "copy",
            Isolation::Process => "process",
        }
    }
}

/// What is known about a template.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// What it must not share with others. Where that is not certain, the strictest.
    pub isolation: Isolation,
    /// Whether its output may depend on when a struct is built: on demand, or at once.
    pub eager: bool,
    /// Libraries worth loading before processes are forked.
    pub features: Vec<&'static str>,
    /// It reads its spec only by methods that note what is read.
    pub noted: bool,
    /// Its output is the same whenever it is rendered in the same context.
    pub repeatable: bool,
}

/// Analyses a template.
pub fn analyse(template: &[u8]) -> Facts {
    let Ok(text) = std::str::from_utf8(template) else { return unknown(template) };
    let Ok(tokens) = lexer::tokens(&scanner::fragments(text)) else { return unknown(template) };
    let mut reader = Reader {
        tokens: &tokens,
        locals: Locals::of(&tokens),
        methods: defined(&tokens, "def"),
        constants: assigned_constants(&tokens),
        facts: Facts::default(),
        noted: true,
    };
    let isolation = reader.isolation();
    let mut facts = reader.facts;
    remember_required(&mut facts.features, text);
    facts.isolation = if scanner::has_magic_comment(template) { Isolation::Process } else { isolation };
    facts.repeatable = facts.isolation != Isolation::Process && !tokens.iter().any(is_of_the_moment);
    facts.noted = facts.repeatable && reader.noted && !facts.eager;
    facts
}

/// Whether a token may mean something that differs from one rendering to the next.
fn is_of_the_moment(token: &Token) -> bool {
    match token {
        Token::Word(word) | Token::Constant(word) | Token::Symbol(word) => names::is_of_the_moment(word),
        _ => false,
    }
}

/// For code that is not understood: nothing is assumed, but libraries that its text names are loaded early.
fn unknown(template: &[u8]) -> Facts {
    let text = String::from_utf8_lossy(template);
    let mut features = Vec::new();
    for word in text.split(|c: char| !(c.is_alphanumeric() || c == '_')) {
        remember(&mut features, word);
    }
    remember_required(&mut features, &text);
    Facts { eager: text.contains('@') || text.contains("instance_variable"), features, ..Facts::default() }
}

struct Reader<'a> {
    tokens: &'a [Token],
    locals: Locals,
    /// Methods that the template defines.
    methods: HashSet<String>,
    /// Constants that the template defines.
    constants: HashSet<String>,
    facts: Facts,
    /// Nothing was seen that reads the context's variables.
    noted: bool,
}

/// Unknown names need a process.
fn known(is_known: bool) -> Isolation {
    if is_known { Isolation::Shared } else { Isolation::Process }
}

impl Reader<'_> {
    fn isolation(&mut self) -> Isolation {
        let tokens = self.tokens;
        let mut strictest = Isolation::Shared;
        let mut unevaluated = 0;
        for (i, token) in tokens.iter().enumerate() {
            if i < unevaluated {
                continue;
            }
            if *token == Token::Word("defined?".to_owned()) {
                unevaluated = self.end_of_brackets(i + 1);
                continue;
            }
            if let Token::Word(word) | Token::Constant(word) | Token::Symbol(word) = token {
                remember(&mut self.facts.features, word);
            }
            strictest = strictest.max(match token {
                Token::Word(word) => self.word(i, word),
                Token::Constant(word) => self.constant(i, word),
                Token::Instance(name) => {
                    self.noted = false;
                    self.facts.eager |= matches!(name.as_str(), "spec" | "properties");
                    Isolation::Shared
                }
                Token::Symbol(name) => self.symbol(i, name),
                Token::Sign("&") => self.block(i),
                Token::Sign("<<" | "<<=") => self.change(i.checked_sub(1)),
                Token::Sign(
                    "=" | "||=" | "&&=" | "+=" | "-=" | "*=" | "/=" | "|=" | "&=" | "**=" | "%=" | "^=" | ">>=",
                ) => self.assignment(i),
                _ => Isolation::Shared,
            });
        }
        strictest
    }

    fn token(&self, i: Option<usize>) -> Option<&Token> {
        i.and_then(|i| self.tokens.get(i))
    }

    fn is_dotted(&self, i: usize) -> bool {
        matches!(self.token(i.checked_sub(1)), Some(Token::Sign("." | "&." | "::")))
    }

    /// A change of the object that the tokens up to `end` stand for.
    fn change(&self, end: Option<usize>) -> Isolation {
        let Some(end) = end else { return Isolation::Process };
        match &self.tokens[end] {
            Token::Word(name) if !self.is_dotted(end) && self.locals.is_own(name) => Isolation::Shared,
            Token::Literal(_) => Isolation::Shared,
            _ if self.comes_from_the_context(end) => Isolation::Copy,
            _ => Isolation::Process,
        }
    }

    /// Whether a chain of calls that ends here begins with a local variable, a method of the context or a literal, and
    /// not with a constant, whose objects belong to the process.
    fn comes_from_the_context(&self, mut i: usize) -> bool {
        loop {
            match &self.tokens[i] {
                Token::Sign("]" | ")" | "}") => {
                    let Some(before) = self.opening(i).and_then(|open| open.checked_sub(1)) else { return false };
                    match &self.tokens[before] {
                        Token::Word(word) if names::is_keyword(word) => return false,
                        Token::Word(_) | Token::Literal(_) | Token::Instance(_) => i = before,
                        Token::Sign("]" | ")" | "}") => i = before,
                        _ => return false,
                    }
                }
                // A class belongs to the process.
                Token::Word(word) if names::is_keyword(word) || word == "class" => return false,
                Token::Word(_) | Token::Instance(_) | Token::Literal(_) => match self.is_dotted(i) {
                    true if i >= 2 => i -= 2,
                    true => return false,
                    false => return true,
                },
                _ => return false,
            }
        }
    }

    /// An assignment changes a local variable, a constant of the template's own, or an object.
    fn assignment(&self, i: usize) -> Isolation {
        let Some(before) = i.checked_sub(1) else { return Isolation::Process };
        match &self.tokens[before] {
            Token::Word(_) if !self.is_dotted(before) => Isolation::Shared,
            // `object.name =`
            Token::Word(_) if before >= 2 => self.change(Some(before - 2)),
            Token::Sign("]") => self.change(self.opening(before).and_then(|open| open.checked_sub(1))),
            // Looked at as a constant; a parameter with a default value.
            Token::Constant(_) => Isolation::Shared,
            Token::Instance(_) => Isolation::Shared,
            _ => Isolation::Process,
        }
    }

    /// The bracket that opens what closes here.
    fn opening(&self, closing: usize) -> Option<usize> {
        let mut depth = 0usize;
        for i in (0..=closing).rev() {
            match self.tokens[i] {
                Token::Sign("]" | ")" | "}") => depth += 1,
                Token::Sign("[" | "(" | "{") => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return Some(i);
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// `map(&:name)` calls it, and so do `reduce(:name)` and `reduce x, :name`.
    fn symbol(&self, i: usize, name: &str) -> Isolation {
        let is_last = match self.token(Some(i + 1)) {
            Some(Token::Sign(")" | "]" | "}") | Token::End) | None => true,
            Some(Token::Word(word)) => names::is_keyword(word),
            _ => false,
        };
        match self.token(i.checked_sub(1)) {
            Some(Token::Sign("&")) => known(names::is_pure(name)),
            _ if is_last && names::is_changing(name) => Isolation::Copy,
            _ if is_last => known(!names::is_reaching(name)),
            _ => Isolation::Shared,
        }
    }

    /// `map(&value)` calls what the value names, unless it is a block that was passed.
    fn block(&self, i: usize) -> Isolation {
        match (self.token(i.checked_sub(1)), self.token(Some(i + 1))) {
            (Some(Token::Sign("(" | ",")), Some(Token::Symbol(_))) => Isolation::Shared,
            (Some(Token::Sign("(" | ",")), Some(Token::Word(name))) => known(self.locals.is_block(name)),
            (Some(Token::Sign("(" | ",")), _) => Isolation::Process,
            _ => Isolation::Shared,
        }
    }

    /// What follows the brackets that open at `i`; `i` where none do.
    fn end_of_brackets(&self, i: usize) -> usize {
        let mut depth = 0usize;
        for (n, token) in self.tokens.iter().enumerate().skip(i) {
            match token {
                Token::Sign("(") => depth += 1,
                Token::Sign(")") => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                return if n > i { n + 1 } else { i };
            }
        }
        i
    }

    fn word(&mut self, i: usize, word: &str) -> Isolation {
        if word == "def" {
            return self.definition(i);
        }
        if matches!(self.token(i.checked_sub(1)), Some(Token::Word(k)) if k == "def") {
            return Isolation::Shared;
        }
        if self.is_dotted(i) {
            return self.method(i, word);
        }
        if word == "require" {
            let feature = self.tokens[i + 1..].iter().find(|t| **t != Token::Sign("("));
            return known(matches!(feature, Some(Token::Literal(feature)) if names::is_requirable(feature)));
        }
        // It may be dumped as a whole.
        self.noted &= word != "self";
        // A parameter may carry a name of the context's. A variable of one block is none in another, and a method may
        // never be defined: then Ruby's own is called.
        if self.locals.contains(word) || self.methods.contains(word) {
            return known(!names::is_reaching(word));
        }
        known(names::is_keyword(word) || names::is_function(word))
    }

    /// A method becomes one of the context's class, and is taken away again: it must not replace one that is there.
    fn definition(&self, i: usize) -> Isolation {
        let name = match self.tokens.get(i + 1..) {
            Some([Token::Word(this), Token::Sign("."), Token::Word(name), ..]) if this == "self" => name,
            Some([Token::Word(name), next, ..]) if !matches!(next, Token::Sign("." | "=" | "::")) => name,
            _ => return Isolation::Process,
        };
        if names::may_be_defined(name) { Isolation::Copy } else { Isolation::Process }
    }

    fn method(&self, i: usize, word: &str) -> Isolation {
        let receiver = i.checked_sub(2);
        if matches!(self.token(receiver), Some(Token::Word(this)) if this == "self") && self.methods.contains(word) {
            return known(!names::is_reaching(word));
        }
        if word == "send" && self.finds_a_network(i) {
            return Isolation::Shared;
        }
        if names::is_changing(word) {
            return self.change(receiver);
        }
        known(names::is_pure(word) || (self.is_struct_path(i) && !self.is_written_or_called(i)))
    }

    /// `properties.a.b` and `spec.a.b`: a name that is no method of a struct reads a key.
    fn is_struct_path(&self, mut i: usize) -> bool {
        while i >= 2 && matches!(self.tokens[i - 1], Token::Sign("." | "&.")) {
            i -= 2;
        }
        matches!(&self.tokens[i], Token::Word(root) if matches!(root.as_str(), "properties" | "spec") && !self.locals.contains(root))
    }

    /// `spec.networks.send(spec.networks.methods(false).first)`, which is how templates of old find their network.
    fn finds_a_network(&self, i: usize) -> bool {
        let sign = Token::Sign;
        let networks = || [Token::Word("spec".to_owned()), sign("."), Token::Word("networks".to_owned()), sign(".")];
        let [methods, none, first] = ["methods", "false", "first"].map(|word| Token::Word(word.to_owned()));
        let argument = [sign("("), none, sign(")"), sign("."), first, sign(")")];
        let called = [&[sign("(")][..], &networks(), &[methods], &argument].concat();
        !self.locals.contains("spec")
            && self.tokens[..i].ends_with(&networks())
            && self.tokens[i + 1..].starts_with(&called)
    }

    fn is_written_or_called(&self, i: usize) -> bool {
        match self.tokens.get(i + 1) {
            Some(
                Token::Sign("(" | "{" | "->" | "*" | "&") | Token::Literal(_) | Token::Symbol(_) | Token::Constant(_),
            ) => true,
            Some(Token::Word(word)) => !names::is_keyword(word) || word == "do",
            _ => false,
        }
    }

    fn constant(&self, i: usize, word: &str) -> Isolation {
        if matches!(self.tokens.get(i + 1), Some(Token::Sign("("))) && names::is_function(word) {
            return Isolation::Shared;
        }
        if let ("File", Some([Token::Sign("."), Token::Word(method)])) = (word, self.tokens.get(i + 1..i + 3)) {
            return known(!self.is_dotted(i) && !self.constants.contains(word) && names::is_of_file_names(method));
        }
        let own = self.constants.contains(word) && !self.is_dotted(i) && !names::is_known_constant(word);
        match (own, names::is_known_constant(word) && !self.constants.contains(word)) {
            (true, _) if names::may_be_defined(word) => Isolation::Copy,
            (_, true) => Isolation::Shared,
            _ => Isolation::Process,
        }
    }
}

#[cfg(test)]
mod tests;
