//! Reads documents. `serde_json` decodes the strings; it cannot read the documents, which are not JSON, and knows no positions.

use std::sync::Arc;

use problem::{Problem, Problems, Result};

use super::{DEEPEST, Data, Node, Object, Position};

/// Reads a document; `what` names it in messages (`configuration`), `file` is its file.
///
/// # Errors
/// A text that is not UTF-8 or not JSON with comments and trailing commas, an object or list in more than [`DEEPEST`]
/// others, and each key that occurs twice in an object.
pub fn parse(what: &str, file: &str, text: &[u8]) -> Result<Node> {
    let file: Arc<str> = file.into();
    let text = std::str::from_utf8(text).map_err(|error| {
        let valid = std::str::from_utf8(&text[..error.valid_up_to()]).unwrap_or_default();
        let position = Cursor::new(&file, valid).position(valid.len());
        Problem::input(format!("the {what} is not UTF-8")).at(position.place())
    })?;
    let mut reader = Reader { text, at: 0, cursor: Cursor::new(&file, text), open: Vec::new(), twice: Vec::new() };
    let invalid = |message: &str| format!("the {what} is invalid: {message}");
    let node = match reader.document() {
        Ok(node) => node,
        Err(message) => {
            let at = reader.at.min(text.len());
            return Err(Problem::input(invalid(&message)).at(Cursor::new(&file, text).position(at).place()).into());
        }
    };
    let duplicate = |(key, position): (String, Position)| {
        Problem::input(invalid(&format!("the key \"{}\" occurs twice", key.escape_debug()))).at(position.place())
    };
    Problems::check(reader.twice.into_iter().map(duplicate).collect())?;
    Ok(node)
}

/// Finds line and column of offsets that do not decrease.
struct Cursor<'t> {
    text: &'t str,
    at: usize,
    position: Position,
}

impl<'t> Cursor<'t> {
    fn new(file: &Arc<str>, text: &'t str) -> Self {
        Cursor { text, at: 0, position: Position { file: file.clone(), line: 1, column: 1 } }
    }

    fn position(&mut self, offset: usize) -> Position {
        for character in self.text.get(self.at..offset).unwrap_or_default().chars() {
            if character == '\n' {
                self.position.line += 1;
                self.position.column = 1;
            } else {
                self.position.column += 1;
            }
        }
        self.at = self.at.max(offset);
        self.position.clone()
    }
}

/// A list or object whose elements are being read.
enum Open {
    List(Position, Vec<Node>),
    /// Its members, and the key of the next one.
    Object(Position, Object, String),
}

type Read<T> = std::result::Result<T, String>;

struct Reader<'t> {
    text: &'t str,
    at: usize,
    cursor: Cursor<'t>,
    open: Vec<Open>,
    /// Keys that occur twice in an object, each at its second place.
    twice: Vec<(String, Position)>,
}

impl Reader<'_> {
    fn document(&mut self) -> Read<Node> {
        loop {
            let Some(mut node) = self.value()? else { continue };
            // The value is an element of what is open, whose end may follow, and so on.
            loop {
                let Some(open) = self.open.pop() else {
                    self.skip()?;
                    return if self.at == self.text.len() { Ok(node) } else { Err("text after the document".into()) };
                };
                match self.element(open, node)? {
                    Some(complete) => node = complete,
                    None => break,
                }
            }
        }
    }

    /// Adds an element to a list or object, which is returned if it is complete.
    fn element(&mut self, open: Open, node: Node) -> Read<Option<Node>> {
        match open {
            Open::List(position, mut items) => {
                items.push(node);
                if self.more(b']', "',' or ']' expected")? {
                    self.open.push(Open::List(position, items));
                    return Ok(None);
                }
                Ok(Some(Node { position, data: Data::List(items) }))
            }
            Open::Object(position, mut members, key) => {
                if members.contains_key(&key) {
                    self.twice.push((key, node.position));
                } else {
                    members.insert(key, node);
                }
                if self.more(b'}', "',' or '}' expected")? {
                    let key = self.key()?;
                    self.open.push(Open::Object(position, members, key));
                    return Ok(None);
                }
                Ok(Some(Node::object(position, members)))
            }
        }
    }

    /// Whether an element follows; a comma may stand before the end.
    fn more(&mut self, end: u8, expected: &str) -> Read<bool> {
        self.skip()?;
        let comma = self.accept(b',');
        self.skip()?;
        if self.accept(end) {
            return Ok(false);
        }
        if comma { Ok(true) } else { Err(self.unless_ended(expected)) }
    }

    /// A key and its colon.
    fn key(&mut self) -> Read<String> {
        self.skip()?;
        if self.peek() != Some(b'"') {
            return Err(self.unless_ended("a key in double quotes expected"));
        }
        let key = self.string()?;
        self.skip()?;
        if self.accept(b':') { Ok(key) } else { Err(self.unless_ended("':' expected")) }
    }

    /// A value; `None` if a list or object begins that has elements.
    fn value(&mut self) -> Read<Option<Node>> {
        self.skip()?;
        let position = self.cursor.position(self.at);
        let data = match self.peek() {
            Some(b'"') => Data::String(self.string()?),
            Some(b'[' | b'{') => return self.container(position),
            Some(b'-' | b'0'..=b'9') => Data::Number(self.number()?),
            _ if self.word("true") => Data::Bool(true),
            _ if self.word("false") => Data::Bool(false),
            _ if self.word("null") => Data::Null,
            _ => return Err(self.unless_ended("a value expected")),
        };
        Ok(Some(Node { position, data }))
    }

    fn container(&mut self, position: Position) -> Read<Option<Node>> {
        if self.open.len() == DEEPEST {
            return Err(format!("objects and lists are nested more than {DEEPEST} deep"));
        }
        let list = self.peek() == Some(b'[');
        self.at += 1;
        self.skip()?;
        if list {
            if self.accept(b']') {
                return Ok(Some(Node { position, data: Data::List(Vec::new()) }));
            }
            self.open.push(Open::List(position, Vec::new()));
        } else {
            if self.accept(b'}') {
                return Ok(Some(Node::object(position, Object::new())));
            }
            let key = self.key()?;
            self.open.push(Open::Object(position, Object::new(), key));
        }
        Ok(None)
    }

    /// Skips white space and comments.
    fn skip(&mut self) -> Read<()> {
        loop {
            while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
                self.at += 1;
            }
            let rest = &self.text[self.at..];
            if rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if let Some(comment) = rest.strip_prefix("/*") {
                let Some(length) = comment.find("*/") else { return Err("a comment is not closed".into()) };
                self.at += length + 4;
            } else {
                return Ok(());
            }
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn accept(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn word(&mut self, word: &str) -> bool {
        let found = self.text[self.at..].starts_with(word);
        self.at += if found { word.len() } else { 0 };
        found
    }

    /// What is wrong here, or that the text ends here.
    fn unless_ended(&self, expected: &str) -> String {
        if self.at < self.text.len() { expected.into() } else { format!("it is incomplete: {expected}") }
    }

    fn number(&mut self) -> Read<Box<str>> {
        let start = self.at;
        self.accept(b'-');
        if !self.accept(b'0') {
            self.digits()?;
        }
        if self.accept(b'.') {
            self.digits()?;
        }
        if self.accept(b'e') || self.accept(b'E') {
            let _ = self.accept(b'+') || self.accept(b'-');
            self.digits()?;
        }
        Ok(self.text[start..self.at].into())
    }

    fn digits(&mut self) -> Read<()> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at > start { Ok(()) } else { Err(self.unless_ended("a digit expected")) }
    }

    fn string(&mut self) -> Read<String> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        let mut end = start + 1;
        let mut escapes = false;
        loop {
            match bytes.get(end) {
                Some(b'"') => break,
                Some(b'\\') => {
                    escapes = true;
                    end += 2;
                }
                Some(0..=0x1F) => {
                    self.at = end;
                    return Err("a control character in a string".into());
                }
                Some(_) => end += 1,
                None => return Err("a string is not closed".into()),
            }
        }
        self.at = end + 1;
        let text = &self.text[start..=end];
        if !escapes {
            return Ok(text[1..text.len() - 1].into());
        }
        serde_json::from_str(text).map_err(|_| {
            self.at = start;
            "a string has an invalid escape".into()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: impl AsRef<[u8]>) -> String {
        let problems = parse("configuration", "c.json", text.as_ref()).unwrap_err();
        problems.to_string().replace("error: the configuration is ", "").replace("\n  --> c.json", " at")
    }

    #[test]
    fn comments_and_trailing_commas_are_read() {
        let text = "// one\n{ /* two */ \"b\": [1, 2.50, ], // three\n \"a\": {\"x\": \"\\u00e9\\n\",},\n}\n/* end */";
        let node = parse("configuration", "c.json", text.as_bytes()).unwrap();
        let members = node.as_object().unwrap();
        assert_eq!(members.keys().collect::<Vec<_>>(), ["b", "a"]);
        let Data::List(items) = &members["b"].data else { panic!("a list") };
        assert!(matches!(&items[1].data, Data::Number(text) if &**text == "2.50"));
        let inner = &members["a"].as_object().unwrap()["x"];
        assert_eq!((inner.as_str(), inner.position.to_string()), (Some("é\n"), "c.json:3:13".to_owned()));
    }

    #[test]
    fn mistakes_have_places() {
        for (text, expected) in [
            ("", "invalid: it is incomplete: a value expected at:1:1"),
            ("{\"a\": 1\n \"b\": 2}", "invalid: ',' or '}' expected at:2:2"),
            ("{\"a\": [1,", "invalid: it is incomplete: a value expected at:1:10"),
            ("[,]", "invalid: a value expected at:1:2"),
            ("[1,,]", "invalid: a value expected at:1:4"),
            ("{a: 1}", "invalid: a key in double quotes expected at:1:2"),
            ("{\"a\" 1}", "invalid: ':' expected at:1:6"),
            ("{\"a\":1} x", "invalid: text after the document at:1:9"),
            ("/* x", "invalid: a comment is not closed at:1:1"),
            ("[01]", "invalid: ',' or ']' expected at:1:3"),
            ("[1.]", "invalid: a digit expected at:1:4"),
            ("[-]", "invalid: a digit expected at:1:3"),
            ("[nulll]", "invalid: ',' or ']' expected at:1:6"),
            ("[\"hunter2", "invalid: a string is not closed at:1:2"),
            ("[\"hunter2\\", "invalid: a string is not closed at:1:2"),
            ("[\"hunter2\\x\"]", "invalid: a string has an invalid escape at:1:2"),
            ("[\"\\ud800\"]", "invalid: a string has an invalid escape at:1:2"),
            ("[\"a\nb\"]", "invalid: a control character in a string at:1:4"),
            ("{\"ü\":1,\n\"ü\":2}", "invalid: the key \"ü\" occurs twice at:2:5"),
        ] {
            assert_eq!(message(text), expected, "{text}");
        }
        assert_eq!(message(b"{\n\"a\": \"\xFF\"}"), "not UTF-8 at:2:7");
        assert_eq!(message("{\"a\":1,\"a\":2,\"b\":{\"c\":1,\"c\":2}}").lines().count(), 2);
    }

    #[test]
    fn nesting_is_bounded() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(parse("c", "c", nested(DEEPEST).as_bytes()).is_ok());
        assert!(message(nested(DEEPEST + 1)).contains("more than 500 deep at:1:501"));
        assert!(message("{\"a\":".repeat(100_000)).contains("more than 500 deep"));
    }
}
