//! Words, numbers and signs of the language.

use crate::model::Span;

/// What a token is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Token {
    /// A word outside quotes: a keyword, a name or a path.
    Word(String),
    /// Text in quotes.
    Quoted(String),
    /// A number without a point.
    Number(u32),
    /// A number with a point.
    Real(f64),
    /// A sign: `%`, `>`, `!=`, `{`.
    Sign(&'static str),
    /// The end of the file.
    End,
}

impl Token {
    /// The token as messages show it.
    pub(crate) fn text(&self) -> String {
        match self {
            Token::Word(text) | Token::Quoted(text) => text.clone(),
            Token::Number(n) => n.to_string(),
            Token::Real(n) => n.to_string(),
            Token::Sign(sign) => (*sign).to_owned(),
            Token::End => String::new(),
        }
    }
}

/// Words without meaning (monit 5.2.5, `l.l`).
const NOISE: [&str; 24] = [
    "is", "as", "are", "for", "on", "only", "with", "within", "without", "program", "programs", "and", "has", "using",
    "use", "the", "sum", "than", "usage", "was", "times", "but", "of", "does",
];

/// Units that may stand directly behind a number.
const UNITS: [&str; 4] = ["b", "kb", "mb", "gb"];

/// Signs of several characters before those that begin them.
const SIGNS: [&str; 11] = ["==", "!=", ">", "<", "=", "%", "{", "}", "@", ":", "!"];

/// Reads tokens on demand: what comes next depends on the statement.
pub(crate) struct Lexer<'t> {
    rest: &'t str,
    at: Span,
}

impl<'t> Lexer<'t> {
    pub(crate) fn new(text: &'t str) -> Lexer<'t> {
        Lexer { rest: text, at: Span { line: 1, column: 1 } }
    }

    fn advance(&mut self, length: usize) -> &'t str {
        let (taken, rest) = self.rest.split_at(length);
        for c in taken.chars() {
            if c == '\n' {
                self.at = Span { line: self.at.line.saturating_add(1), column: 1 };
            } else {
                self.at.column = self.at.column.saturating_add(1);
            }
        }
        self.rest = rest;
        taken
    }

    fn advance_while(&mut self, accept: impl Fn(char) -> bool) -> &'t str {
        self.advance(self.rest.find(|c| !accept(c)).unwrap_or(self.rest.len()))
    }

    /// Skips blanks, line ends, comments and separators.
    fn skip_blank(&mut self) {
        loop {
            let before = self.rest.len();
            self.advance_while(|c| c.is_ascii_whitespace() || matches!(c, ';' | ',' | '(' | ')'));
            if self.rest.starts_with('#') {
                self.advance_while(|c| c != '\n');
            }
            if self.rest.len() == before {
                return;
            }
        }
    }

    /// The next token with its place; words without meaning are skipped.
    pub(crate) fn next(&mut self) -> (Token, Span) {
        loop {
            self.skip_blank();
            let at = self.at;
            let token = self.token();
            match &token {
                Token::Word(word) if NOISE.contains(&word.to_ascii_lowercase().as_str()) => {}
                _ => return (token, at),
            }
        }
    }

    fn token(&mut self) -> Token {
        let Some(first) = self.rest.chars().next() else { return Token::End };
        if matches!(first, '"' | '\'')
            && let Some(text) = self.quoted(first)
        {
            return Token::Quoted(text);
        }
        let word = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len());
        // A sign ends no word: `a=b` is a word, `=b` is a sign and a word.
        if let Some(sign) = SIGNS.into_iter().find(|sign| self.rest.starts_with(sign)) {
            self.advance(sign.len());
            return Token::Sign(sign);
        }
        if word == 0 {
            return Token::Word(self.advance(first.len_utf8()).to_owned());
        }
        let text = &self.rest[..word];
        let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(word);
        if digits > 0 && (digits == word || UNITS.contains(&text[digits..].to_ascii_lowercase().as_str())) {
            let number = text[..digits].parse().unwrap_or(u32::MAX);
            self.advance(digits);
            return Token::Number(number);
        }
        if text.bytes().all(|b| b.is_ascii_digit() || b == b'.')
            && digits > 0
            && let Ok(number) = text.parse()
        {
            self.advance(word);
            return Token::Real(number);
        }
        Token::Word(self.advance(word).to_owned())
    }

    /// Text in quotes, without them; nothing if they are not closed.
    fn quoted(&mut self, quote: char) -> Option<String> {
        let length = self.rest[1..].find(quote)?;
        let text = self.rest[1..=length].to_owned();
        self.advance(length + 2);
        Some(text)
    }

    /// A name: of a service or a group. It may be a word that has a meaning elsewhere.
    pub(crate) fn name(&mut self) -> (Token, Span) {
        self.skip_blank();
        let at = self.at;
        if let Some(quote) = self.rest.chars().next().filter(|c| matches!(c, '"' | '\''))
            && let Some(name) = self.quoted(quote)
        {
            return (Token::Quoted(name), at);
        }
        let name = self.advance_while(is_word);
        if name.is_empty() { (self.token(), at) } else { (Token::Word(name.to_owned()), at) }
    }

    /// The names of `depends on`: to the end of the line, or of the next one after a comma.
    pub(crate) fn dependencies(&mut self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        self.advance_while(is_blank);
        let word = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len());
        if self.rest[..word].eq_ignore_ascii_case("on") {
            self.advance(word);
        }
        let mut comma = true;
        loop {
            self.advance_while(is_blank);
            match self.rest.chars().next() {
                Some(',') => {
                    comma = true;
                    self.advance(1);
                }
                Some('\n') if comma => {
                    self.advance(1);
                }
                Some('#') => {
                    self.advance_while(|c| c != '\n');
                }
                Some(quote @ ('"' | '\'')) => match self.quoted(quote) {
                    Some(name) => {
                        names.push(name);
                        comma = false;
                    }
                    None => return names,
                },
                Some(c) if is_word(c) => {
                    names.push(self.advance_while(is_word).to_owned());
                    comma = false;
                }
                _ => return names,
            }
        }
    }

    /// The words of a program in quotes, behind `start`, `stop` or `exec`; nothing where no quotes come next.
    pub(crate) fn program(&mut self) -> Option<Vec<String>> {
        self.advance_while(|c| c.is_ascii_whitespace());
        let word = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len());
        if self.rest[..word].eq_ignore_ascii_case("program") {
            self.advance(word);
            self.advance_while(|c| c.is_ascii_whitespace());
        }
        if self.rest.starts_with('=') && !self.rest.starts_with("==") {
            self.advance(1);
            self.advance_while(|c| c.is_ascii_whitespace());
        }
        let quote = self.rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let text = self.quoted(quote)?;
        Some(words(&text, if quote == '"' { '\'' } else { '"' }))
    }

    /// Skips what is in braces, if an opening one comes next.
    pub(crate) fn skip_braces(&mut self) {
        self.skip_blank();
        if self.rest.starts_with('{') {
            let end = self.rest.find('}').map_or(self.rest.len(), |end| end + 1);
            self.advance(end);
        }
    }
}

/// Splits a program into words at blanks; a text in inner quotes is one word if nothing but a blank is before and behind it.
pub(crate) fn words(text: &str, inner_quote: char) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = text.trim_start_matches(|c: char| c.is_ascii_whitespace());
    while !rest.is_empty() {
        let blank = rest.find(|c: char| c.is_ascii_whitespace()).unwrap_or(rest.len());
        let quoted = rest.strip_prefix(inner_quote).and_then(|inner| inner.find(inner_quote));
        // The longest match wins, as in monit: in `'a'b` the quotes are characters of the word.
        let end = match quoted {
            Some(length) if length + 2 >= blank => {
                words.push(rest[1..=length].to_owned());
                length + 2
            }
            _ => {
                words.push(rest[..blank].to_owned());
                blank
            }
        };
        rest = rest[end..].trim_start_matches(|c: char| c.is_ascii_whitespace());
    }
    words
}

/// Whether a character can be in a word outside quotes (monit 5.2.5, `l.l`, `str`).
fn is_word(c: char) -> bool {
    c > '!' && !matches!(c, '@' | ':' | '{' | '}' | '"' | '\'' | ';' | '(' | ')' | ',' | '%' | '\u{7f}')
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r')
}
