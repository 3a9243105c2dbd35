//! JSON as data: the types and texts that Go's `encoding/json` makes of it.

use std::fmt;

use crate::value::{List, Map, Value};
use go_strconv::quote;
use go_strconv::unicode;

/// Go's limit for values in values.
const DEEPEST: usize = 10_000;

/// Which types numbers get.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Numbers {
    /// `int`, where it does not fit `uint64`, else `float64`: no digit of a whole number gets lost.
    #[default]
    Exact,
    /// `float64`, as `encoding/json` does into `any`.
    Float64,
}

/// Why a text is not the JSON of a value. It contains no data but the names of keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonError {
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1, in bytes.
    pub column: u32,
    /// What is wrong there.
    pub message: String,
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for JsonError {}

impl Value {
    /// The value that a JSON text holds, read as Go reads it: bytes that are no UTF-8, and halves of surrogate pairs, become
    /// U+FFFD. Unlike in Go, two equal keys are an error.
    ///
    /// # Errors
    /// A text that is not JSON, a number that no `float64` can hold, a value in more than 10,000 others.
    pub fn from_json(text: &[u8], numbers: Numbers) -> Result<Value, JsonError> {
        let mut reader = Reader { text, at: 0, numbers, open: Vec::new() };
        reader.document().map_err(|(at, message)| {
            let (line, column) = crate::code::line_and_column(text, at.min(text.len()) as u32);
            JsonError { line, column: column + 1, message }
        })
    }
}

type Read<T> = Result<T, (usize, String)>;

struct Reader<'t> {
    text: &'t [u8],
    at: usize,
    numbers: Numbers,
    open: Vec<Open>,
}

/// A list or map whose elements are being read.
enum Open {
    List(Vec<Value>),
    /// Its entries, and the key of the next one.
    Map(Vec<(Box<[u8]>, Value)>, Box<[u8]>),
}

impl Reader<'_> {
    fn document(&mut self) -> Read<Value> {
        loop {
            let Some(mut value) = self.value()? else { continue };
            // The value is an element of what is open, whose end may follow, and so on.
            loop {
                match self.open.pop() {
                    None => {
                        self.space();
                        return if self.at == self.text.len() { Ok(value) } else { self.fail("text behind the value") };
                    }
                    Some(Open::List(mut items)) => {
                        items.push(value);
                        if self.more(b']', "',' or ']' expected")? {
                            self.open.push(Open::List(items));
                            break;
                        }
                        value = Value::List(List::decoded(items));
                    }
                    Some(Open::Map(mut entries, key)) => {
                        entries.push((key, value));
                        if self.more(b'}', "',' or '}' expected")? {
                            let key = self.key()?;
                            self.open.push(Open::Map(entries, key));
                            break;
                        }
                        value = self.map(entries)?;
                    }
                }
            }
        }
    }

    fn fail<T>(&self, message: impl Into<String>) -> Read<T> {
        Err((self.at, message.into()))
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn accept(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// A comma, or the end of a list or map.
    fn more(&mut self, end: u8, message: &str) -> Read<bool> {
        self.space();
        if self.accept(b',') {
            Ok(true)
        } else if self.accept(end) {
            Ok(false)
        } else {
            self.fail(message)
        }
    }

    fn map(&self, entries: Vec<(Box<[u8]>, Value)>) -> Read<Value> {
        let count = entries.len();
        let mut keys: Vec<Box<[u8]>> = Vec::new();
        let map = Map::new(entries.into_iter().inspect(|entry| keys.push(entry.0.clone())));
        if map.entries.len() < count {
            keys.sort();
            let twice = keys.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0].clone()).unwrap_or_default();
            let mut shown = Vec::new();
            quote::quote(&mut shown, &twice);
            return self.fail(format!("duplicate key {}", String::from_utf8_lossy(&shown)));
        }
        Ok(Value::Map(map))
    }

    /// A key and its colon.
    fn key(&mut self) -> Read<Box<[u8]>> {
        self.space();
        if !self.accept(b'"') {
            return self.fail("a key in double quotes expected");
        }
        let key = self.string()?;
        self.space();
        if self.accept(b':') { Ok(key) } else { self.fail("':' expected") }
    }

    /// A value; `None` if a list or map begins that has elements.
    fn value(&mut self) -> Read<Option<Value>> {
        self.space();
        let value = match self.peek() {
            Some(b'"') => {
                self.at += 1;
                Value::String(self.string()?)
            }
            Some(b'[' | b'{') => return self.container(),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b't') => self.word(b"true", Value::Bool(true))?,
            Some(b'f') => self.word(b"false", Value::Bool(false))?,
            Some(b'n') => self.word(b"null", Value::Nil)?,
            _ => return self.fail("a value expected"),
        };
        Ok(Some(value))
    }

    fn container(&mut self) -> Read<Option<Value>> {
        if self.open.len() == DEEPEST {
            return self.fail(format!("more than {DEEPEST} lists and maps in each other"));
        }
        let list = self.peek() == Some(b'[');
        self.at += 1;
        self.space();
        if list && self.accept(b']') {
            return Ok(Some(Value::List(List::decoded(Vec::new()))));
        }
        if !list && self.accept(b'}') {
            return Ok(Some(Value::Map(Map::new([]))));
        }
        let open = if list { Open::List(Vec::new()) } else { Open::Map(Vec::new(), self.key()?) };
        self.open.push(open);
        Ok(None)
    }

    fn word(&mut self, word: &[u8], value: Value) -> Read<Value> {
        if !self.text[self.at..].starts_with(word) {
            return self.fail("a value expected");
        }
        self.at += word.len();
        Ok(value)
    }

    fn digits(&mut self) -> Read<()> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at > start { Ok(()) } else { self.fail("a digit expected") }
    }

    fn number(&mut self) -> Read<Value> {
        let start = self.at;
        let mut whole = true;
        self.accept(b'-');
        if !self.accept(b'0') {
            self.digits()?;
        }
        if self.accept(b'.') {
            whole = false;
            self.digits()?;
        }
        if self.accept(b'e') || self.accept(b'E') {
            whole = false;
            let _ = self.accept(b'+') || self.accept(b'-');
            self.digits()?;
        }
        let text = str::from_utf8(&self.text[start..self.at]).unwrap_or_default();
        if whole && self.numbers == Numbers::Exact {
            if let Ok(number) = text.parse() {
                return Ok(Value::Int(number));
            }
            if let Ok(number) = text.parse() {
                return Ok(Value::Uint64(number));
            }
        }
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Value::Float64(number)),
            _ => Err((start, "the number is out of range".into())),
        }
    }

    /// The rest of a string, its first quote read.
    fn string(&mut self) -> Read<Box<[u8]>> {
        let rest = &self.text[self.at..];
        let plain = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1F)).unwrap_or(rest.len());
        if rest.get(plain) == Some(&b'"') && std::str::from_utf8(&rest[..plain]).is_ok() {
            self.at += plain + 1;
            return Ok(rest[..plain].into());
        }
        let mut out = Vec::new();
        loop {
            let (rune, size) = unicode::decode(&self.text[self.at..]);
            match rune {
                _ if size == 0 => return self.fail("the string is not terminated"),
                0x22 => {
                    self.at += 1;
                    return Ok(out.into());
                }
                0x5C => {
                    let rune = self.escape()?;
                    quote::push(&mut out, rune);
                }
                0..=0x1F => return self.fail("a control character in a string"),
                _ => {
                    self.at += size;
                    quote::push(&mut out, rune);
                }
            }
        }
    }

    fn escape(&mut self) -> Read<u32> {
        let rune = match self.text.get(self.at + 1) {
            Some(b'b') => 0x08,
            Some(b'f') => 0x0C,
            Some(b'n') => 0x0A,
            Some(b'r') => 0x0D,
            Some(b't') => 0x09,
            Some(byte @ (b'"' | b'\\' | b'/')) => u32::from(*byte),
            Some(b'u') => return self.code_point(),
            _ => return self.fail("an escape that JSON does not have"),
        };
        self.at += 2;
        Ok(rune)
    }

    /// `\u1234`, or two of them that are a surrogate pair.
    fn code_point(&mut self) -> Read<u32> {
        let Some(unit) = self.unit(self.at) else { return self.fail("four hexadecimal digits expected behind '\\u'") };
        self.at += 6;
        if !(0xD800..0xE000).contains(&unit) {
            return Ok(unit);
        }
        match self.unit(self.at) {
            Some(low) if unit < 0xDC00 && (0xDC00..0xE000).contains(&low) => {
                self.at += 6;
                Ok(0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00))
            }
            _ => Ok(unicode::REPLACEMENT),
        }
    }

    fn unit(&self, at: usize) -> Option<u32> {
        let text = self.text.get(at..at + 6)?.strip_prefix(b"\\u")?;
        text.iter().try_fold(0, |unit, byte| Some(unit << 4 | char::from(*byte).to_digit(16)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Delimiters, Options, Template};

    fn shown(text: &[u8], numbers: Numbers) -> String {
        let template = Template::parse("t", "{{printf \"%#v\" .}}", &Delimiters::default()).unwrap();
        let value = Value::from_json(text, numbers).unwrap();
        String::from_utf8(template.execute(&value, &Options::default()).unwrap()).unwrap()
    }

    fn error(text: &str) -> String {
        Value::from_json(text.as_bytes(), Numbers::Exact).unwrap_err().to_string()
    }

    #[test]
    fn values_get_go_s_types() {
        let text =
            br#" {"b": [1, -0, 18446744073709551615, 1.5, 1e2, true, null, {}, []], "a": "x\u00e9\n\ud83d\ude00"} "#;
        assert_eq!(
            shown(text, Numbers::Exact),
            "map[string]interface {}{\"a\":\"xé\\n😀\", \"b\":[]interface {}{1, 0, 0xffffffffffffffff, 1.5, 100, true, \
             interface {}(nil), map[string]interface {}{}, []interface {}{}}}"
        );
        assert_eq!(shown(b"[9007199254740993]", Numbers::Exact), "[]interface {}{9007199254740993}");
        assert_eq!(shown(b"[9007199254740993]", Numbers::Float64), "[]interface {}{9.007199254740992e+15}");
    }

    #[test]
    fn what_is_no_unicode_is_replaced() {
        assert_eq!(
            shown(b"\"\xFF\\ud800x\\udc00\\ud800\\u0041\"", Numbers::Exact),
            "\"\u{FFFD}\u{FFFD}x\u{FFFD}\u{FFFD}A\""
        );
    }

    #[test]
    fn mistakes_have_places() {
        for (text, message) in [
            ("", "line 1, column 1: a value expected"),
            ("[1,\n 2", "line 2, column 3: ',' or ']' expected"),
            ("{\"a\" 1}", "line 1, column 6: ':' expected"),
            ("{a: 1}", "line 1, column 2: a key in double quotes expected"),
            ("{\"a\":1,}", "line 1, column 8: a key in double quotes expected"),
            ("{\"a\":1,\n\"a\":2}", "line 2, column 7: duplicate key \"a\""),
            ("01", "line 1, column 2: text behind the value"),
            ("-", "line 1, column 2: a digit expected"),
            ("1.", "line 1, column 3: a digit expected"),
            ("[1e400]", "line 1, column 2: the number is out of range"),
            ("\"a", "line 1, column 3: the string is not terminated"),
            ("\"a\n\"", "line 1, column 3: a control character in a string"),
            ("\"\\x\"", "line 1, column 2: an escape that JSON does not have"),
            ("\"\\u12\"", "line 1, column 2: four hexadecimal digits expected behind '\\u'"),
            ("nul", "line 1, column 1: a value expected"),
            ("// c\n1", "line 1, column 1: a value expected"),
        ] {
            assert_eq!(error(text), message, "{text}");
        }
    }

    #[test]
    fn nesting_is_limited_as_in_go() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(Value::from_json(nested(10_000).as_bytes(), Numbers::Exact).is_ok());
        assert_eq!(error(&nested(10_001)), "line 1, column 10001: more than 10000 lists and maps in each other");
        assert!(error(&"[".repeat(1_000_000)).ends_with("in each other"));
    }
}
