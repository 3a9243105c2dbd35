//! The tree of a document as the parser finds it: nothing is resolved or merged yet.

use std::collections::HashMap;
use std::rc::Rc;

use libyaml_safer::{Encoding, ErrorKind, Event, EventData, Mark, Parser};

use super::Error;
use crate::node::{Origin, Source};

/// Deeper documents are refused, before they exhaust the stack.
const MAX_DEPTH: usize = 500;

/// One node.
pub(super) struct Raw {
    pub(super) origin: Origin,
    pub(super) kind: Kind,
}

pub(super) enum Kind {
    Scalar { text: String, tag: Option<String>, is_plain: bool },
    Sequence(Vec<Rc<Raw>>),
    Mapping(Vec<(Rc<Raw>, Rc<Raw>)>),
    Alias(Rc<Raw>),
}

/// An anchor's node: unfinished while its own content is read.
enum Anchor {
    Open(usize),
    Closed(Rc<Raw>),
}

/// The root of the first document.
pub(super) fn read(text: &str, source: Source) -> Result<Option<Rc<Raw>>, Error> {
    let mut text = text.as_bytes();
    let mut parser = Parser::new();
    parser.set_encoding(Encoding::Utf8);
    parser.set_input_string(&mut text);
    let mut reader = Reader { parser, source, anchors: HashMap::new(), opened: 0 };
    loop {
        let event = reader.next()?;
        match event.data {
            EventData::StreamEnd => return Ok(None),
            EventData::DocumentStart { version_directive, .. } => {
                if version_directive.is_some_and(|version| (version.major, version.minor) != (1, 1)) {
                    return Err(reader.error("found incompatible YAML document", event.start_mark));
                }
                let event = reader.next()?;
                let root = reader.node(event, 0)?;
                reader.next()?;
                return Ok(Some(root));
            }
            _ => {}
        }
    }
}

struct Reader<'r, 'b> {
    parser: Parser<&'r mut &'b [u8]>,
    source: Source,
    anchors: HashMap<String, Anchor>,
    opened: usize,
}

impl Reader<'_, '_> {
    fn next(&mut self) -> Result<Event, Error> {
        self.parser.parse().map_err(|e| {
            let none = Mark::default();
            let (problem, context) = (e.problem_mark().unwrap_or(none), e.context_mark().unwrap_or(none));
            // yaml.v2 counts lines from 0, except in the scanner's errors, and does not name the first.
            let line = match (problem.line, context.line) {
                (0, context) => context,
                (line, _) => line + u64::from(e.kind() == ErrorKind::Scanner),
            };
            let message = if line == 0 { e.problem().to_owned() } else { format!("line {line}: {}", e.problem()) };
            Error { message, ..self.error("", problem) }
        })
    }

    fn error(&self, message: &str, mark: Mark) -> Error {
        Error { message: message.to_owned(), origin: self.origin(mark) }
    }

    fn origin(&self, mark: Mark) -> Origin {
        let number = |n: u64| u32::try_from(n + 1).unwrap_or(u32::MAX);
        Origin { source: self.source, line: number(mark.line), column: number(mark.column) }
    }

    fn node(&mut self, event: Event, depth: usize) -> Result<Rc<Raw>, Error> {
        let mark = event.start_mark;
        if depth > MAX_DEPTH {
            return Err(self.error(&format!("exceeded max depth of {MAX_DEPTH}"), mark));
        }
        let (kind, anchor) = match event.data {
            EventData::Alias { anchor } => (Kind::Alias(self.anchored(&anchor, mark)?), None),
            EventData::Scalar { anchor, tag, value, plain_implicit, .. } => {
                let opened = self.open(anchor);
                (Kind::Scalar { text: value, tag, is_plain: plain_implicit }, opened)
            }
            EventData::SequenceStart { anchor, .. } => {
                let opened = self.open(anchor);
                (Kind::Sequence(self.items(depth)?), opened)
            }
            EventData::MappingStart { anchor, .. } => {
                let opened = self.open(anchor);
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
            if matches!(event.data, EventData::SequenceEnd | EventData::MappingEnd) {
                return Ok(items);
            }
            items.push(self.node(event, depth + 1)?);
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
            Some(Anchor::Open(_)) => Err(self.error(&format!("anchor '{name}' value contains itself"), mark)),
            None => Err(self.error(&format!("unknown anchor '{name}' referenced"), mark)),
        }
    }
}
