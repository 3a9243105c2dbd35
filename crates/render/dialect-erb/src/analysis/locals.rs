//! A template's local variables.

use std::collections::HashSet;

use super::lexer::Token;
use super::names::is_function;
use super::patterns;

/// The local variables of a template: what is assigned to, parameters of blocks and methods, variables of loops and
/// rescues. A variable is the template's own if every value it gets is an object that the template makes on the spot.
pub(super) struct Locals {
    own: HashSet<String>,
    foreign: HashSet<String>,
    blocks: HashSet<String>,
    /// Names in patterns are variables, too: whatever value they match.
    matches_patterns: bool,
}

/// The variable that collects a template's output.
const BUFFER: &str = "_erbout";

impl Locals {
    /// Whether there is a variable of this name.
    pub(super) fn contains(&self, name: &str) -> bool {
        self.own.contains(name) || self.foreign.contains(name)
    }

    /// Whether it holds only the template's own objects. Outside of a variable's block its name is the context's again.
    pub(super) fn is_own(&self, name: &str) -> bool {
        let only_a_variable = name == BUFFER || !is_function(name);
        self.own.contains(name) && !self.foreign.contains(name) && !self.matches_patterns && only_a_variable
    }

    /// Whether it is a parameter that holds a block: `&name`.
    pub(super) fn is_block(&self, name: &str) -> bool {
        self.blocks.contains(name)
    }

    /// The variables of a piece of code.
    pub(super) fn of(tokens: &[Token]) -> Locals {
        let own = HashSet::from([BUFFER.to_owned()]);
        let matches_patterns = patterns::are_in(tokens);
        let mut locals = Locals { own, foreign: HashSet::new(), blocks: HashSet::new(), matches_patterns };
        locals.collect(tokens);
        locals
    }

    fn collect(&mut self, tokens: &[Token]) {
        let mut in_parameters = false;
        for (i, token) in tokens.iter().enumerate() {
            let before = i.checked_sub(1).map(|i| &tokens[i]);
            match token {
                Token::Sign("|") => {
                    in_parameters = !in_parameters && opens_block(&tokens[..i]);
                }
                Token::Word(name) if in_parameters => self.parameter(name, before),
                Token::Word(name) if name == "def" => {
                    self.parameters(tokens[i + 1..].iter().skip_while(|t| !ends_name(t)))
                }
                Token::Word(name) => self.word(name, tokens, i),
                // `->(a, b)`
                Token::Sign("->") => self.parameters(tokens[i + 1..].iter()),
                _ => {}
            }
        }
    }

    /// Names between brackets, or up to the end of the line.
    fn parameters<'a>(&mut self, tokens: impl Iterator<Item = &'a Token>) {
        let mut before = None;
        let mut depth = 0usize;
        for token in tokens {
            match token {
                Token::Sign("(") => depth += 1,
                Token::Sign(")") if depth > 1 => depth -= 1,
                Token::Sign(")") => break,
                Token::Sign("{") | Token::End if depth == 0 => break,
                _ => {}
            }
            if let Token::Word(name) | Token::Symbol(name) = token {
                self.parameter(name, before);
            }
            before = Some(token);
        }
    }

    fn parameter(&mut self, name: &str, before: Option<&Token>) {
        self.foreign.insert(name.to_owned());
        if before == Some(&Token::Sign("&")) {
            self.blocks.insert(name.to_owned());
        }
    }

    fn word(&mut self, name: &str, tokens: &[Token], i: usize) {
        let (before, from_here) = (i.checked_sub(1).map(|i| &tokens[i]), &tokens[i..]);
        let dotted = matches!(before, Some(Token::Sign("." | "&." | "::")));
        let bound = match before {
            Some(Token::Word(word)) => word == "for",
            Some(Token::Sign("=>")) => patterns::is_rescued(&tokens[..i - 1]),
            _ => false,
        };
        let one_of_several = matches!(before, Some(Token::Sign("," | "*")));
        let assigned = match from_here.get(1) {
            _ if dotted => false,
            Some(Token::Sign("=")) if !one_of_several && is_made_here(&from_here[2..]) => {
                self.own.insert(name.to_owned());
                false
            }
            Some(Token::Sign("=" | "||=" | "&&=" | "+=" | "-=" | "*=" | "/=" | "|=" | "&=")) => true,
            Some(Token::Sign("," | ")")) => assigns_several(from_here),
            _ => bound,
        };
        if assigned {
            self.foreign.insert(name.to_owned());
        }
    }
}

/// Whether a block begins at the end of this, so that `|` opens its parameters. They may stand in a line of their own.
fn opens_block(before: &[Token]) -> bool {
    match before.iter().rev().find(|token| **token != Token::End) {
        Some(Token::Sign("{")) => true,
        Some(Token::Word(word)) => word == "do",
        _ => false,
    }
}

/// Whether a definition's parameters begin here: at a bracket, or at once behind the name.
fn ends_name(token: &Token) -> bool {
    matches!(token, Token::Sign("(") | Token::End)
}

/// `a, b = ...` and `(a, b), c[0] = ...`: the statement goes on to an assignment.
fn assigns_several(tokens: &[Token]) -> bool {
    let mut before = None;
    for token in tokens {
        match token {
            Token::Sign("=") => return true,
            Token::Sign("{" | "->") => return false,
            Token::End if !matches!(before, Some(&Token::Sign("," | "("))) => return false,
            _ => before = Some(token),
        }
    }
    false
}

/// Whether the value that begins here is a new object and nothing else: a literal that ends the statement or is only
/// called upon.
fn is_made_here(value: &[Token]) -> bool {
    match value.first() {
        Some(Token::Literal(_)) => return matches!(value.get(1), Some(Token::End)),
        Some(Token::Sign("[" | "{")) => {}
        _ => return false,
    }
    let mut depth = 0usize;
    for (i, token) in value.iter().enumerate() {
        match token {
            Token::Sign("[" | "{" | "(") => depth += 1,
            Token::Sign("]" | "}" | ")") => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return matches!(value.get(i + 1), Some(Token::End));
        }
    }
    false
}
