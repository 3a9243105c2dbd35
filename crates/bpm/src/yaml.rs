//! A YAML document as a tree of raw nodes with positions.
//!
//! bpm reads `bpm.yml` with Go's yaml.v3, which hands a scalar's raw text to string fields and needs the style of a
//! scalar (plain or quoted) to type the others; so the tree keeps both and resolves nothing itself.

use std::collections::HashMap;
use std::rc::Rc;

use problem::{Place, Problem, Problems, Result, code};
use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, Tag};

/// Deeper documents are refused: nobody writes them, and they would exhaust the stack.
const MAX_DEPTH: usize = 200;

/// One node; aliases share it.
#[derive(Debug)]
pub(crate) struct Node {
    /// Line, from 1.
    pub(crate) line: u32,
    /// Column, from 1.
    pub(crate) column: u32,
    /// Short form of an explicit tag: `!!str`, `!foo`.
    pub(crate) tag: Option<String>,
    pub(crate) kind: Kind,
}

#[derive(Debug)]
pub(crate) enum Kind {
    Scalar { text: String, plain: bool },
    Sequence(Vec<Rc<Node>>),
    Mapping(Vec<Entry>),
}

/// A key and its value.
pub(crate) type Entry = (Rc<Node>, Rc<Node>);

impl Node {
    /// The node's tag as yaml.v3 resolves and names it.
    pub(crate) fn short_tag(&self) -> &str {
        match (&self.tag, &self.kind) {
            (Some(tag), _) => tag,
            (None, Kind::Sequence(_)) => "!!seq",
            (None, Kind::Mapping(_)) => "!!map",
            (None, Kind::Scalar { plain: false, .. }) => "!!str",
            (None, Kind::Scalar { text, .. }) => match text.as_str() {
                "" | "~" | "null" | "Null" | "NULL" => "!!null",
                "true" | "True" | "TRUE" | "false" | "False" | "FALSE" => "!!bool",
                "<<" => "!!merge",
                _ => "!!str",
            },
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        self.short_tag() == "!!null"
    }

    /// Whether it is a scalar without quotes.
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self.kind, Kind::Scalar { plain: true, .. })
    }

    /// The raw text of a scalar.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }

    /// The node's place in `file`.
    pub(crate) fn place(&self, file: &str) -> Place {
        Place { column: Some(self.column), ..Place::line(file, self.line) }
    }
}

/// Reads the first document of `text`, as `yaml.Unmarshal` does; `None` where there is none.
pub(crate) fn read(text: &str, file: &str) -> Result<Option<Rc<Node>>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = Reader { events: Parser::new_from_str(text), anchors: HashMap::new(), file };
    loop {
        match reader.next()? {
            Some((Event::StreamEnd, _)) | None => return Ok(None),
            Some((Event::DocumentStart(_), _)) => {
                let Some((event, span)) = reader.next()? else { return Ok(None) };
                return reader.node(event, span, 0).map(Some);
            }
            Some(_) => {}
        }
    }
}

type Scanned<'a> = std::result::Result<(Event<'a>, Span), ScanError>;

struct Reader<'a, I: Iterator<Item = Scanned<'a>>> {
    events: I,
    anchors: HashMap<usize, Rc<Node>>,
    file: &'a str,
}

impl<'a, I: Iterator<Item = Scanned<'a>>> Reader<'a, I> {
    fn next(&mut self) -> Result<Option<(Event<'a>, Span)>> {
        self.events.next().transpose().map_err(|e| self.syntax(e.info(), e.marker().line(), e.marker().col()))
    }

    fn syntax(&self, what: &str, line: usize, column: usize) -> Problems {
        let mut place = Place::line(self.file, number(line));
        place.column = Some(number(column + 1));
        Problem::input(format!("failed to parse job configuration: {what}")).code(code::BPM_INVALID).at(place).into()
    }

    fn node(&mut self, event: Event<'a>, span: Span, depth: usize) -> Result<Rc<Node>> {
        let (line, column) = (span.start.line(), span.start.col());
        if depth > MAX_DEPTH {
            return Err(self.syntax("exceeded max depth", line, column));
        }
        let (kind, anchor, tag) = match event {
            Event::Alias(id) => {
                let known = self.anchors.get(&id).cloned();
                return known.ok_or_else(|| self.syntax("unknown anchor, or one that contains itself", line, column));
            }
            Event::Scalar(text, style, anchor, tag) => {
                (Kind::Scalar { text: text.into_owned(), plain: style == ScalarStyle::Plain }, anchor, tag)
            }
            Event::SequenceStart(anchor, tag) => {
                let mut items = Vec::new();
                while let Some((event, span)) = self.item(line, column)? {
                    items.push(self.node(event, span, depth + 1)?);
                }
                (Kind::Sequence(items), anchor, tag)
            }
            Event::MappingStart(anchor, tag) => {
                let mut entries = Vec::new();
                while let Some((event, span)) = self.item(line, column)? {
                    let key = self.node(event, span, depth + 1)?;
                    let Some((event, span)) = self.item(line, column)? else {
                        return Err(self.syntax("did not find expected value", line, column));
                    };
                    entries.push((key, self.node(event, span, depth + 1)?));
                }
                (Kind::Mapping(entries), anchor, tag)
            }
            _ => return Err(self.syntax("did not find expected node content", line, column)),
        };
        let tag = tag.as_deref().and_then(short);
        let node = Rc::new(Node { line: number(line), column: number(column + 1), tag, kind });
        if anchor != 0 {
            self.anchors.insert(anchor, Rc::clone(&node));
        }
        Ok(node)
    }

    /// The next event inside a collection, `None` at its end.
    fn item(&mut self, line: usize, column: usize) -> Result<Option<(Event<'a>, Span)>> {
        match self.next()? {
            Some((Event::SequenceEnd | Event::MappingEnd, _)) => Ok(None),
            Some(event) => Ok(Some(event)),
            None => Err(self.syntax("unexpected end of the document", line, column)),
        }
    }
}

/// The short form of a tag; `!` alone only says "not plain".
fn short(tag: &Tag) -> Option<String> {
    match (tag.handle.as_str(), tag.suffix.as_str()) {
        ("tag:yaml.org,2002:" | "!!", suffix) => Some(format!("!!{suffix}")),
        ("" | "!", "" | "!") => Some("!!str".to_owned()),
        (handle, suffix) => match format!("{handle}{suffix}").strip_prefix("tag:yaml.org,2002:") {
            Some(suffix) => Some(format!("!!{suffix}")),
            None => Some(format!("{handle}{suffix}")),
        },
    }
}

fn number(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
