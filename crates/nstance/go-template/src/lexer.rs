//! The text of a template as tokens.

use memchr::memmem;

use crate::token::{Delimiters, Kind, Token};
use go_strconv::quote;
use go_strconv::unicode::{self, decode, is_alphanumeric};

#[derive(Clone)]
pub(crate) struct Lexer<'s> {
    text: &'s [u8],
    delimiters: &'s Delimiters,
    left: memmem::Finder<'s>,
    pos: usize,
    start: usize,
    inside_action: bool,
    parentheses: usize,
    /// What is wrong, after a token of kind [`Kind::Error`].
    pub(crate) error: Vec<u8>,
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

/// How many bytes of white space the text ends with.
fn trailing_space(text: &[u8]) -> usize {
    text.iter().rev().take_while(|byte| is_space(**byte)).count()
}

fn leading_space(text: &[u8]) -> usize {
    text.iter().take_while(|byte| is_space(**byte)).count()
}

impl<'s> Lexer<'s> {
    pub(crate) fn new(text: &'s [u8], delimiters: &'s Delimiters) -> Self {
        Lexer {
            text,
            delimiters,
            left: memmem::Finder::new(&*delimiters.left),
            pos: 0,
            start: 0,
            inside_action: false,
            parentheses: 0,
            error: Vec::new(),
        }
    }

    /// A lexer that reads on inside an action, from the start of an expression that has been read before.
    pub(crate) fn inside(text: &'s [u8], delimiters: &'s Delimiters, start: u32) -> Self {
        let start = start as usize;
        Lexer { pos: start, start, inside_action: true, ..Lexer::new(text, delimiters) }
    }

    /// The next token.
    pub(crate) fn next(&mut self) -> Token {
        if self.inside_action { self.action() } else { self.text() }
    }

    fn rest(&self) -> &'s [u8] {
        &self.text[self.pos..]
    }

    fn emit(&mut self, kind: Kind) -> Token {
        let token = Token { kind, start: self.start as u32, end: self.pos as u32 };
        self.start = self.pos;
        token
    }

    fn skip(&mut self, bytes: usize) {
        self.pos += bytes;
        self.start = self.pos;
    }

    fn fail(&mut self, message: impl Into<Vec<u8>>) -> Token {
        self.error = message.into();
        let start = self.start as u32;
        self.text = &self.text[..self.start];
        self.pos = self.start;
        Token { kind: Kind::Error, start, end: start }
    }

    fn text(&mut self) -> Token {
        loop {
            let Some(length) = self.left.find(self.rest()) else {
                self.pos = self.text.len();
                return self.emit(if self.pos > self.start { Kind::Text } else { Kind::Eof });
            };
            if length > 0 {
                let delimiter = self.pos + length;
                let after = &self.text[delimiter + self.delimiters.left.len()..];
                let trimmed = if trims_left(after) { trailing_space(&self.text[self.pos..delimiter]) } else { 0 };
                self.pos = delimiter - trimmed;
                let token = self.emit(Kind::Text);
                self.skip(trimmed);
                if token.end > token.start {
                    return token;
                }
            }
            if let Some(token) = self.left_delimiter() {
                return token;
            }
        }
    }

    /// The left delimiter; `None` where a comment followed and has been read.
    fn left_delimiter(&mut self) -> Option<Token> {
        self.pos += self.delimiters.left.len();
        let marker = if trims_left(self.rest()) { 2 } else { 0 };
        if self.rest()[marker..].starts_with(b"/*") {
            self.skip(marker);
            return self.comment();
        }
        let token = self.emit(Kind::LeftDelim);
        self.inside_action = true;
        self.skip(marker);
        self.parentheses = 0;
        Some(token)
    }

    fn comment(&mut self) -> Option<Token> {
        let Some(end) = memmem::find(&self.rest()[2..], b"*/") else {
            return Some(self.fail("unclosed comment"));
        };
        self.pos += 2 + end + 2;
        let Some(trims) = self.right_delimiter_ahead() else {
            return Some(self.fail("comment ends before closing delimiter"));
        };
        self.pass_right_delimiter(trims);
        self.start = self.pos;
        None
    }

    /// Is the right delimiter next, and does it trim the text behind it?
    fn right_delimiter_ahead(&self) -> Option<bool> {
        let rest = self.rest();
        if trims_right(rest) && rest[2..].starts_with(&self.delimiters.right) {
            Some(true)
        } else {
            rest.starts_with(&self.delimiters.right).then_some(false)
        }
    }

    fn pass_right_delimiter(&mut self, trims: bool) {
        self.pos += if trims { 2 } else { 0 } + self.delimiters.right.len();
        if trims {
            self.pos += leading_space(self.rest());
        }
    }

    fn right_delimiter(&mut self, trims: bool) -> Token {
        if trims {
            self.skip(2);
        }
        self.pos += self.delimiters.right.len();
        let token = self.emit(Kind::RightDelim);
        if trims {
            self.skip(leading_space(self.rest()));
        }
        self.inside_action = false;
        token
    }

    fn action(&mut self) -> Token {
        if let Some(trims) = self.right_delimiter_ahead() {
            return if self.parentheses == 0 { self.right_delimiter(trims) } else { self.fail("unclosed left paren") };
        }
        let Some(&first) = self.rest().first() else { return self.fail("unclosed action") };
        match first {
            b' ' | b'\t' | b'\r' | b'\n' => self.space(),
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => self.identifier(),
            b'.' if !matches!(self.rest().get(1), None | Some(b'0'..=b'9')) => {
                self.pos += 1;
                self.field_or_variable(Kind::Field, Kind::Dot)
            }
            b'.' | b'+' | b'-' | b'0'..=b'9' => self.number(),
            b'"' => self.quoted(b'"', Kind::String, "unterminated quoted string"),
            b'\'' => self.quoted(b'\'', Kind::CharConstant, "unterminated character constant"),
            b'`' => self.raw(),
            b'$' => {
                self.pos += 1;
                self.field_or_variable(Kind::Variable, Kind::Variable)
            }
            _ => self.sign(first),
        }
    }

    fn sign(&mut self, first: u8) -> Token {
        let (rune, size) = decode(self.rest());
        if first >= 0x80 && is_alphanumeric(rune) {
            return self.identifier();
        }
        self.pos += size;
        match first {
            b'=' => self.emit(Kind::Assign),
            b':' if self.rest().first() == Some(&b'=') => {
                self.pos += 1;
                self.emit(Kind::Declare)
            }
            b':' => self.fail("expected :="),
            b'|' => self.emit(Kind::Pipe),
            b'(' => {
                self.parentheses += 1;
                self.emit(Kind::LeftParen)
            }
            b')' if self.parentheses == 0 => self.fail("unexpected right paren"),
            b')' => {
                self.parentheses -= 1;
                self.emit(Kind::RightParen)
            }
            0x20..=0x7E => self.emit(Kind::Char),
            _ => self.fail(format!("unrecognized character in action: {}", quote::code_point(rune))),
        }
    }

    fn space(&mut self) -> Token {
        let count = leading_space(self.rest());
        self.pos += count;
        // White space before a trimming right delimiter belongs to it.
        let last = &self.text[self.pos - 1..];
        if trims_right(last) && last[2..].starts_with(&self.delimiters.right) {
            self.pos -= 1;
            if count == 1 {
                return self.right_delimiter(true);
            }
        }
        self.emit(Kind::Space)
    }

    fn pass_alphanumeric(&mut self) {
        loop {
            match self.rest().first() {
                Some(byte) if byte.is_ascii_alphanumeric() || *byte == b'_' => self.pos += 1,
                Some(byte) if *byte >= 0x80 => match decode(self.rest()) {
                    (rune, size) if is_alphanumeric(rune) => self.pos += size,
                    _ => return,
                },
                _ => return,
            }
        }
    }

    /// May a name end here?
    fn at_terminator(&self) -> bool {
        match self.rest().first() {
            None | Some(b' ' | b'\t' | b'\r' | b'\n' | b'.' | b',' | b'|' | b':' | b')' | b'(') => true,
            Some(_) => self.rest().starts_with(&self.delimiters.right),
        }
    }

    fn bad_character(&mut self) -> Token {
        let (rune, _) = decode(self.rest());
        self.fail(format!("bad character {}", quote::code_point(rune)))
    }

    fn identifier(&mut self) -> Token {
        self.pass_alphanumeric();
        if !self.at_terminator() {
            return self.bad_character();
        }
        let kind = Kind::of_word(&self.text[self.start..self.pos]);
        self.emit(kind)
    }

    fn field_or_variable(&mut self, kind: Kind, alone: Kind) -> Token {
        if self.at_terminator() {
            return self.emit(alone);
        }
        self.pass_alphanumeric();
        if self.at_terminator() { self.emit(kind) } else { self.bad_character() }
    }

    fn accept(&mut self, set: &[u8]) -> bool {
        let found = self.rest().first().is_some_and(|byte| set.contains(byte));
        self.pos += usize::from(found);
        found
    }

    fn number(&mut self) -> Token {
        let whole = self.scan_number();
        if whole && matches!(self.rest().first(), Some(b'+' | b'-')) {
            if self.scan_number() && self.text[self.pos - 1] == b'i' {
                return self.emit(Kind::Complex);
            }
        } else if whole {
            return self.emit(Kind::Number);
        }
        let mut message = b"bad number syntax: ".to_vec();
        quote::quote(&mut message, &self.text[self.start..self.pos]);
        self.fail(message)
    }

    /// Reads what looks like a number; whether it is one, its value shows. `false` if a letter follows, which is read.
    fn scan_number(&mut self) -> bool {
        const DECIMAL: &[u8] = b"0123456789_";
        self.accept(b"+-");
        let mut digits = DECIMAL;
        let mut exponent: &[u8] = b"eE";
        if self.accept(b"0") {
            if self.accept(b"xX") {
                (digits, exponent) = (b"0123456789abcdefABCDEF_", b"pP");
            } else if self.accept(b"oO") {
                (digits, exponent) = (b"01234567_", b"");
            } else if self.accept(b"bB") {
                (digits, exponent) = (b"01_", b"");
            }
        }
        while self.accept(digits) {}
        if self.accept(b".") {
            while self.accept(digits) {}
        }
        if self.accept(exponent) {
            self.accept(b"+-");
            while self.accept(DECIMAL) {}
        }
        self.accept(b"i");
        let (rune, size) = decode(self.rest());
        if size > 0 && is_alphanumeric(rune) {
            self.pos += size;
            return false;
        }
        true
    }

    fn quoted(&mut self, quote: u8, kind: Kind, unterminated: &str) -> Token {
        self.pos += 1;
        loop {
            match self.rest().first() {
                Some(b'\\') if !matches!(self.rest().get(1), None | Some(b'\n')) => self.pos += 2,
                None | Some(b'\n' | b'\\') => return self.fail(unterminated),
                Some(byte) if *byte == quote => {
                    self.pos += 1;
                    return self.emit(kind);
                }
                Some(_) => self.pos += 1,
            }
        }
    }

    fn raw(&mut self) -> Token {
        match memchr::memchr(b'`', &self.rest()[1..]) {
            Some(length) => {
                self.pos += length + 2;
                self.emit(Kind::RawString)
            }
            None => self.fail("unterminated raw quoted string"),
        }
    }

    /// A token as messages show it.
    pub(crate) fn describe(&self, token: Token, source: &[u8]) -> Vec<u8> {
        let value = &source[token.start as usize..token.end as usize];
        match token.kind {
            Kind::Eof => b"EOF".to_vec(),
            Kind::Error => self.error.clone(),
            kind if kind.is_keyword() => [b"<", value, b">"].concat(),
            _ => {
                let mut text = Vec::new();
                quote::quote(&mut text, if value.len() > 10 { unicode::truncate(value, 10) } else { value });
                if value.len() > 10 {
                    text.extend_from_slice(b"...");
                }
                text
            }
        }
    }
}

/// Does the action that begins here trim the text before it?
fn trims_left(rest: &[u8]) -> bool {
    matches!(rest, [b'-', space, ..] if is_space(*space))
}

/// Does the action that ends here trim the text behind it?
fn trims_right(rest: &[u8]) -> bool {
    matches!(rest, [space, b'-', ..] if is_space(*space))
}
