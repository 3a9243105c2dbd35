//! The tree of a document as the parser finds it: nothing is resolved or merged yet.

use std::collections::HashMap;
use std::rc::Rc;

use libyaml::{Event, Mark, Parser};

use super::Error;
use crate::node::{Origin, Source};

/// Deeper documents are refused, before they exhaust the stack.
const MAX_DEPTH: usize = 500;

/// One node, as it is written.
pub struct Raw {
    /// Where it starts.
    pub origin: Origin,
    /// What it is.
    pub kind: Kind,
}

/// The kinds of nodes.
pub enum Kind {
    /// A text; plain if it has neither quotes nor a tag.
    Scalar {
        /// The text without quotes.
        text: String,
        /// Its tag.
        tag: Option<String>,
        /// Whether it has neither quotes nor a tag.
        is_plain: bool,
    },
    /// A list.
    Sequence(Vec<Rc<Raw>>),
    /// Keys and values, merges (`<<`) among them.
    Mapping(Vec<(Rc<Raw>, Rc<Raw>)>),
    /// The node of an anchor.
    Alias(Rc<Raw>),
}

/// An anchor's node: unfinished while its own content is read.
enum Anchor {
    Open(usize),
    Closed(Rc<Raw>),
}

/// The root of the first document, and where the second one begins.
pub(super) fn read(text: &str, source: Source) -> Result<(Option<Rc<Raw>>, Option<Origin>), Error> {
    let mut reader = Reader { parser: Parser::utf8(text), source, anchors: HashMap::new(), opened: 0 };
    let root = reader.document()?;
    // What follows is not read, so it may be invalid.
    let next = reader.next().ok().filter(|event| matches!(event.kind(), libyaml::Kind::DocumentStart));
    Ok((root, next.map(|event| reader.origin(event.start()))))
}

struct Reader<'t> {
    parser: Parser<'t>,
    source: Source,
    anchors: HashMap<String, Anchor>,
    opened: usize,
}

impl Reader<'_> {
    fn document(&mut self) -> Result<Option<Rc<Raw>>, Error> {
        loop {
            let event = self.next()?;
            match event.kind() {
                libyaml::Kind::StreamEnd => return Ok(None),
                libyaml::Kind::DocumentStart => {
                    if event.version().is_some_and(|version| version != (1, 1)) {
                        return Err(self.error("found incompatible YAML document", event.start()));
                    }
                    let event = self.next()?;
                    let root = self.node(&event, 0)?;
                    self.next()?;
                    return Ok(Some(root));
                }
                _ => {}
            }
        }
    }

    fn next(&mut self) -> Result<Event, Error> {
        self.parser.next().map_err(|e| {
            // yaml.v2 counts lines from 0, except in the scanner's errors, and does not name the first.
            let from_zero = |mark: Option<Mark>| mark.map_or(0, |mark| mark.line - 1);
            let line = match from_zero(e.mark) {
                0 => from_zero(e.context_mark),
                line => line + u32::from(e.is_lexical),
            };
            let message = if line == 0 { e.problem } else { format!("line {line}: {}", e.problem) };
            let origin = e.mark.map_or(Origin { source: self.source, line: 1, column: 1 }, |mark| self.origin(mark));
            Error { message, origin }
        })
    }

    fn error(&self, message: &str, mark: Mark) -> Error {
        Error { message: message.to_owned(), origin: self.origin(mark) }
    }

    fn origin(&self, mark: Mark) -> Origin {
        Origin { source: self.source, line: mark.line, column: mark.column }
    }

    fn node(&mut self, event: &Event, depth: usize) -> Result<Rc<Raw>, Error> {
        let mark = event.start();
        if depth > MAX_DEPTH {
            return Err(self.error(&format!("exceeded max depth of {MAX_DEPTH}"), mark));
        }
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (kind, anchor) = match event.kind() {
            libyaml::Kind::Alias(anchor) => (Kind::Alias(self.anchored(&text(anchor), mark)?), None),
            libyaml::Kind::Scalar { text: value, anchor, tag, quoted, .. } => {
                let opened = self.open(anchor.map(text));
                let tag = tag.map(text);
                let is_plain = tag.is_none() && !quoted;
                (Kind::Scalar { text: text(value), tag, is_plain }, opened)
            }
            libyaml::Kind::SequenceStart { anchor, .. } => {
                let opened = self.open(anchor.map(text));
                (Kind::Sequence(self.items(depth)?), opened)
            }
            libyaml::Kind::MappingStart { anchor, .. } => {
                let opened = self.open(anchor.map(text));
                let mut nodes = self.items(depth)?.into_iter();
                let mut entries = Vec::with_capacity(nodes.len() / 2);
                while let (Some(key), Some(value)) = (nodes.next(), nodes.next()) {
                    entries.push((key, value));
                }
                (Kind::Mapping(entries), opened)
            }
            _ => return Err(self.error("did not find expected node content", mark)),
        };
        let node = Rc::new(Raw { origin: self.origin(mark), kind });
        if let Some((name, number)) = anchor
            && matches!(self.anchors.get(&name), Some(Anchor::Open(open)) if *open == number)
        {
            self.anchors.insert(name, Anchor::Closed(Rc::clone(&node)));
        }
        Ok(node)
    }

    /// The nodes up to the end of a list or a map.
    fn items(&mut self, depth: usize) -> Result<Vec<Rc<Raw>>, Error> {
        let mut items = Vec::new();
        loop {
            let event = self.next()?;
            if matches!(event.kind(), libyaml::Kind::SequenceEnd | libyaml::Kind::MappingEnd) {
                return Ok(items);
            }
            items.push(self.node(&event, depth + 1)?);
        }
    }

    /// Declares an anchor; gives its name and which declaration it is, for a name may be declared again within.
    fn open(&mut self, name: Option<String>) -> Option<(String, usize)> {
        let name = name?;
        self.opened += 1;
        self.anchors.insert(name.clone(), Anchor::Open(self.opened));
        Some((name, self.opened))
    }

    fn anchored(&self, name: &str, mark: Mark) -> Result<Rc<Raw>, Error> {
        match self.anchors.get(name) {
            Some(Anchor::Closed(node)) => Ok(Rc::clone(node)),
            // The name is not shown: it may be a value that should have stood in quotes.
            Some(Anchor::Open(_)) => Err(self.error("anchor '<redacted>' value contains itself", mark)),
            None => Err(self.error("unknown anchor '<redacted>' referenced", mark)),
        }
    }
}
