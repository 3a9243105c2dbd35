//! The pieces of a template's text.

/// The marks around an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delimiters {
    pub(crate) left: Box<[u8]>,
    pub(crate) right: Box<[u8]>,
}

impl Delimiters {
    /// These marks; an empty one stands for Go's own.
    pub fn new(left: impl AsRef<[u8]>, right: impl AsRef<[u8]>) -> Self {
        let or = |given: &[u8], default: &[u8]| Box::from(if given.is_empty() { default } else { given });
        Delimiters { left: or(left.as_ref(), b"{{"), right: or(right.as_ref(), b"}}") }
    }
}

impl Default for Delimiters {
    /// `{{` and `}}`.
    fn default() -> Self {
        Delimiters::new("", "")
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The message is in [`crate::lexer::Lexer::error`].
    Error,
    Eof,
    Text,
    LeftDelim,
    RightDelim,
    Space,
    Bool,
    Char,
    CharConstant,
    Complex,
    Number,
    String,
    RawString,
    Assign,
    Declare,
    Pipe,
    LeftParen,
    RightParen,
    Field,
    Identifier,
    Variable,
    Dot,
    Nil,
    Block,
    Break,
    Continue,
    Define,
    Else,
    End,
    If,
    Range,
    Template,
    With,
}

impl Kind {
    /// Messages show keywords in angle brackets.
    pub(crate) fn is_keyword(self) -> bool {
        use Kind::*;
        matches!(self, Dot | Nil | Block | Break | Continue | Define | Else | End | If | Range | Template | With)
    }

    pub(crate) fn of_word(word: &[u8]) -> Kind {
        match word {
            b"block" => Kind::Block,
            b"break" => Kind::Break,
            b"continue" => Kind::Continue,
            b"define" => Kind::Define,
            b"else" => Kind::Else,
            b"end" => Kind::End,
            b"if" => Kind::If,
            b"nil" => Kind::Nil,
            b"range" => Kind::Range,
            b"template" => Kind::Template,
            b"with" => Kind::With,
            b"true" | b"false" => Kind::Bool,
            _ => Kind::Identifier,
        }
    }
}

/// A piece of the text: its kind and its bytes' places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Token {
    pub(crate) const NONE: Token = Token { kind: Kind::Eof, start: 0, end: 0 };
}
