//! Tokens. Text outside `${...}` and in quotes has other rules than expressions, so the scanner keeps count of both.

use std::collections::VecDeque;
use std::fmt;

use go_strconv::quote::quoted;
use go_strconv::unicode::{is_letter, is_letter_mark_or_number};

use crate::error::Position;

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Text outside of expressions.
    Literal,
    /// Text in quotes.
    Text,
    Integer,
    Float,
    Bool,
    /// `${`
    Begin,
    /// `}`
    End,
    OpenQuote,
    CloseQuote,
    Identifier,
    And,
    Or,
    Equal,
    NotEqual,
    LessOrEqual,
    GreaterOrEqual,
    /// An operator or bracket of one character.
    Sign(u8),
    EndOfText,
    Invalid,
}

/// A token of the text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Token<'t> {
    pub(crate) kind: Kind,
    pub(crate) content: &'t str,
    pub(crate) position: Position,
}

impl fmt::Display for Token<'_> {
    /// As messages name it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let content = self.content;
        match self.kind {
            Kind::EndOfText => f.write_str("end of string"),
            Kind::Invalid => write!(f, "invalid sequence {}", quoted(content)),
            Kind::Integer => write!(f, "integer {content}"),
            Kind::Float => write!(f, "float {content}"),
            Kind::Text => write!(f, "string {}", quoted(content)),
            Kind::Literal => write!(f, "literal {}", quoted(content)),
            Kind::OpenQuote => f.write_str("opening quote"),
            Kind::CloseQuote => f.write_str("closing quote"),
            Kind::And | Kind::Or | Kind::NotEqual | Kind::GreaterOrEqual | Kind::LessOrEqual => f.write_str(content),
            _ => f.write_str(&quoted(content)),
        }
    }
}

/// What the scanner reads next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Text,
    Expression,
    Done,
}

/// Reads tokens, one ahead of the parser.
#[derive(Debug)]
pub(crate) struct Scanner<'t> {
    rest: &'t str,
    position: Position,
    mode: Mode,
    /// Number of open `${`.
    nesting: usize,
    ready: VecDeque<Token<'t>>,
}

impl<'t> Scanner<'t> {
    pub(crate) fn new(text: &'t str) -> Scanner<'t> {
        Scanner { rest: text, position: Position::START, mode: Mode::Text, nesting: 0, ready: VecDeque::new() }
    }

    /// The next token, which stays the next one.
    pub(crate) fn peek(&mut self) -> Token<'t> {
        loop {
            if let Some(token) = self.ready.front() {
                return *token;
            }
            match self.mode {
                Mode::Text => self.text(),
                Mode::Expression => self.expression(),
                Mode::Done => self.push(Kind::EndOfText, "", self.position),
            }
        }
    }

    /// The next token; at the end always the same.
    pub(crate) fn read(&mut self) -> Token<'t> {
        let token = self.peek();
        if token.kind != Kind::EndOfText {
            self.ready.pop_front();
        }
        token
    }

    fn push(&mut self, kind: Kind, content: &'t str, position: Position) {
        self.ready.push_back(Token { kind, content, position });
    }

    /// Reads text up to what ends it.
    fn text(&mut self) {
        let start = self.position;
        let is_nested = self.nesting > 0;
        let (length, end, kind, size) = text_end(self.rest, start, is_nested);
        if kind == Kind::Invalid {
            self.push(kind, self.rest, start);
            self.mode = Mode::Done;
            return;
        }
        let (content, rest) = self.rest.split_at(length);
        if !content.is_empty() {
            self.push(if is_nested { Kind::Text } else { Kind::Literal }, content, start);
        }
        let (terminator, rest) = rest.split_at(size);
        self.push(kind, terminator, end);
        self.rest = rest;
        self.position = Position { column: end.column + size as u32, ..end };
        self.nesting += usize::from(kind == Kind::Begin);
        self.mode = if kind == Kind::EndOfText { Mode::Done } else { Mode::Expression };
    }

    /// Reads a token of an expression.
    fn expression(&mut self) {
        let trimmed = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
        for byte in self.rest[..self.rest.len() - trimmed.len()].bytes() {
            if byte == b'\n' {
                self.position = Position { line: self.position.line + 1, column: 1 };
            } else {
                self.position.column += 1;
            }
        }
        self.rest = trimmed;
        let (kind, length, columns) = token(trimmed);
        let (content, rest) = trimmed.split_at(length);
        self.push(kind, content, self.position);
        self.rest = rest;
        self.position.column += columns as u32;
        match kind {
            Kind::Invalid | Kind::EndOfText => self.mode = Mode::Done,
            Kind::End => {
                self.nesting = self.nesting.saturating_sub(1);
                self.mode = Mode::Text;
            }
            Kind::OpenQuote => self.mode = Mode::Text,
            _ => {}
        }
    }
}

/// How long the text at the start of `rest` is, where it ends, and the kind and the length of what ends it.
fn text_end(rest: &str, start: Position, is_nested: bool) -> (usize, Position, Kind, usize) {
    let mut position = start;
    let mut left = rest;
    loop {
        let length = rest.len() - left.len();
        let Some(first) = left.chars().next() else {
            // Quotes that are not closed.
            return (length, position, if is_nested { Kind::Invalid } else { Kind::EndOfText }, 0);
        };
        if left.starts_with("${") {
            return (length, position, Kind::Begin, 2);
        }
        if is_nested && first == '"' {
            return (length, position, Kind::CloseQuote, 1);
        }
        let is_escape = left.starts_with("$$") || is_nested && (left.starts_with("\\\"") || left.starts_with("\\\\"));
        if is_escape {
            position.column += 2;
            left = &left[2..];
            continue;
        }
        if first == '\n' {
            position = Position { line: position.line + 1, column: 1 };
        } else {
            position.column += 1;
        }
        left = &left[first.len_utf8()..];
    }
}

/// The kind of the token at the start of an expression's `rest`, its length, and by how many columns it advances.
fn token(rest: &str) -> (Kind, usize, usize) {
    let bytes = rest.as_bytes();
    let Some(&first) = bytes.first() else { return (Kind::EndOfText, 0, 0) };
    let pair =
        |second: u8, both: Kind, alone: Kind| if bytes.get(1) == Some(&second) { (both, 2, 2) } else { (alone, 1, 1) };
    match first {
        b'}' => (Kind::End, 1, 1),
        b'"' => (Kind::OpenQuote, 1, 1),
        b'(' | b')' | b'[' | b']' | b',' | b'.' | b'+' | b'-' | b'*' | b'/' | b'%' | b'?' | b':' => {
            (Kind::Sign(first), 1, 1)
        }
        b'!' => pair(b'=', Kind::NotEqual, Kind::Sign(first)),
        b'<' => pair(b'=', Kind::LessOrEqual, Kind::Sign(first)),
        b'>' => pair(b'=', Kind::GreaterOrEqual, Kind::Sign(first)),
        b'=' => pair(b'=', Kind::Equal, Kind::Invalid),
        b'&' => pair(b'&', Kind::And, Kind::Invalid),
        b'|' => pair(b'|', Kind::Or, Kind::Invalid),
        b'0'..=b'9' => {
            let (kind, length) = number(bytes);
            (kind, length, length)
        }
        _ => match rest.chars().next() {
            Some(letter) if letter == '_' || is_letter(letter.into()) => {
                let (length, columns) = identifier(rest);
                let kind = if matches!(&rest[..length], "true" | "false") { Kind::Bool } else { Kind::Identifier };
                (kind, length, columns)
            }
            other => (Kind::Invalid, other.map_or(0, char::len_utf8), 1),
        },
    }
}

/// Digits with at most one period; a period before another character than a digit is not a part of the number.
fn number(bytes: &[u8]) -> (Kind, usize) {
    let mut period = None;
    for (at, &byte) in bytes.iter().enumerate() {
        match byte {
            b'0'..=b'9' => {}
            b'.' if period.is_none() => period = Some(at),
            b'.' => return (Kind::Float, at),
            _ if at > 0 && period == Some(at - 1) => return (Kind::Integer, at - 1),
            _ => return (if period.is_some() { Kind::Float } else { Kind::Integer }, at),
        }
    }
    (if period.is_some() { Kind::Float } else { Kind::Integer }, bytes.len())
}

/// How long the name at the start of `rest` is, and by how many columns it advances: a star that turns out not to be a part of
/// it still counts for the columns, as in HIL.
fn identifier(rest: &str) -> (usize, usize) {
    let bytes = rest.as_bytes();
    let mut columns = 0;
    for (at, character) in rest.char_indices() {
        let is_part = matches!(character, '_' | '-' | '.' | '*') || is_letter_mark_or_number(character.into());
        let before = at.checked_sub(1).map(|before| bytes[before]);
        if !is_part || character == '*' && before != Some(b'.') {
            return (at, columns);
        }
        if before == Some(b'*') && character != '.' {
            // Without the star and its period.
            return (at - 2, columns);
        }
        columns += 1;
    }
    (rest.len(), columns)
}
