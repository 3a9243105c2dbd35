//! A reader of JSON that keeps numbers, the order of keys, and positions.

use smol_str::{SmolStr, SmolStrBuilder};

use super::{DEEPEST, ReadError};
use crate::node::{Entry, Map, Node, Position, START, Value};

/// The value of a text.
pub(super) fn read(text: &str) -> Result<Node, ReadError> {
    let mut reader = Reader { text, at: 0, marked: 0, mark: START };
    reader.skip_space();
    if reader.peek().is_none() {
        return Ok(Node { value: Value::Null, position: reader.position() });
    }
    let node = reader.node(0)?;
    reader.skip_space();
    match reader.peek() {
        None => Ok(node),
        Some(_) => Err(reader.error("expected the end of the document")),
    }
}

/// The value that a text spells, of any kind, with space around it; `None` if it is not JSON.
pub(crate) fn value(text: &str) -> Option<Value> {
    if text.trim_matches([' ', '\t', '\n', '\r']).is_empty() {
        return None;
    }
    read(text).ok().map(|node| node.value)
}

/// The scalar that a text spells, without space around it; `None` if it spells none.
pub(crate) fn scalar(text: &str) -> Option<Value> {
    match text.as_bytes().first()? {
        b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n' if !text.ends_with([' ', '\t', '\n', '\r']) => value(text),
        _ => None,
    }
}

/// The number that a text spells in JSON's form; `None` if it spells none, or one that no `float64` comes near.
pub(crate) fn number(text: &str) -> Option<Value> {
    let mut reader = Reader { text, at: 0, marked: 0, mark: Position::default() };
    let value = reader.number().ok()?;
    (reader.at == text.len()).then_some(value)
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    /// How far positions have been counted, and the position there.
    marked: usize,
    mark: Position,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// The position of the next character. Each character is counted once.
    fn position(&mut self) -> Position {
        self.mark = self.mark.behind(&self.text.as_bytes()[self.marked..self.at]);
        self.marked = self.at;
        self.mark
    }

    fn error(&mut self, message: &str) -> ReadError {
        let at_end = if self.peek().is_none() { ", but the document ends" } else { "" };
        ReadError::syntax(format!("invalid JSON: {message}{at_end}"), self.position())
    }

    fn node(&mut self, depth: usize) -> Result<Node, ReadError> {
        let position = self.position();
        if depth > DEEPEST {
            return Err(ReadError::too_deep(position));
        }
        let value = match self.peek() {
            Some(b'{') => self.map(depth)?,
            Some(b'[') => self.list(depth)?,
            Some(b'"') => Value::String(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            _ => self.word()?,
        };
        Ok(Node { value, position })
    }

    fn word(&mut self) -> Result<Value, ReadError> {
        let words = [("null", Value::Null), ("true", Value::Bool(true)), ("false", Value::Bool(false))];
        for (word, value) in words {
            if self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(self.error("expected a value"))
    }

    fn map(&mut self, depth: usize) -> Result<Value, ReadError> {
        self.at += 1;
        let mut entries = Vec::new();
        self.skip_space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Value::Map(Map::default()));
        }
        loop {
            self.skip_space();
            if self.peek() != Some(b'"') {
                return Err(self.error("expected a key in double quotes"));
            }
            let position = self.position();
            let key = self.string()?;
            self.skip_space();
            if self.peek() != Some(b':') {
                return Err(self.error("expected ':' behind the key"));
            }
            self.at += 1;
            self.skip_space();
            let node = self.node(depth + 1)?;
            entries.push(Entry { key, position, node });
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                _ => return Err(self.error("expected ',' or '}'")),
            }
        }
        self.at += 1;
        let map = Map::of(entries);
        if let Some(entry) = map.repeated().first() {
            return Err(ReadError::repeated(&entry.key, entry.position));
        }
        Ok(Value::Map(map))
    }

    fn list(&mut self, depth: usize) -> Result<Value, ReadError> {
        self.at += 1;
        let mut items = Vec::new();
        self.skip_space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Value::List(items));
        }
        loop {
            self.skip_space();
            items.push(self.node(depth + 1)?);
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => break,
                _ => return Err(self.error("expected ',' or ']'")),
            }
        }
        self.at += 1;
        Ok(Value::List(items))
    }

    fn digits(&mut self) -> Result<(), ReadError> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at == start { Err(self.error("expected a digit")) } else { Ok(()) }
    }

    fn number(&mut self) -> Result<Value, ReadError> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
            if self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
                return Err(self.error("a number begins with 0"));
            }
        } else {
            self.digits()?;
        }
        let mut is_integer = true;
        if self.peek() == Some(b'.') {
            is_integer = false;
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            is_integer = false;
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        let text = &self.text[start..self.at];
        // Short integers are finite.
        let is_finite = (is_integer && text.len() < 300) || text.parse::<f64>().is_ok_and(f64::is_finite);
        if !is_finite {
            return Err(self.error("a number is out of range"));
        }
        Ok(Value::Number(text.into()))
    }

    fn string(&mut self) -> Result<SmolStr, ReadError> {
        self.at += 1;
        let mut out = SmolStrBuilder::new();
        let mut start = self.at;
        loop {
            match self.peek() {
                Some(b'"') => {
                    out.push_str(&self.text[start..self.at]);
                    self.at += 1;
                    return Ok(out.finish());
                }
                Some(b'\\') => {
                    out.push_str(&self.text[start..self.at]);
                    self.at += 1;
                    let escaped = self.escape()?;
                    out.push(escaped);
                    start = self.at;
                }
                Some(0..=0x1f) => return Err(self.error("a control character is not escaped")),
                Some(_) => self.at += 1,
                None => return Err(self.error("expected '\"'")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, ReadError> {
        let escaped = match self.peek() {
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                return self.unicode();
            }
            _ => return Err(self.error("invalid escape")),
        };
        self.at += 1;
        Ok(escaped)
    }

    /// Four hexadecimal digits, and the second half of a pair. Half a pair is the replacement character, as Go reads it.
    fn unicode(&mut self) -> Result<char, ReadError> {
        let first = self.hexadecimal()?;
        if let Some(c) = char::from_u32(first) {
            return Ok(c);
        }
        let before = self.at;
        if first < 0xdc00 && self.text.as_bytes()[self.at..].starts_with(b"\\u") {
            self.at += 2;
            let second = self.hexadecimal()?;
            if (0xdc00..0xe000).contains(&second) {
                let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = before;
        }
        Ok(char::REPLACEMENT_CHARACTER)
    }

    fn hexadecimal(&mut self) -> Result<u32, ReadError> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4);
        let number = digits.and_then(|digits| {
            digits.iter().try_fold(0, |number, digit| Some(number * 16 + char::from(*digit).to_digit(16)?))
        });
        let number = number.ok_or_else(|| self.error("invalid escape"))?;
        self.at += 4;
        Ok(number)
    }
}
