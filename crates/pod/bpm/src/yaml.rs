//! A YAML document as a tree of raw nodes with positions.
//!
//! BPM reads `bpm.yml` with Go's yaml.v3, a port of libyaml, which hands a scalar's raw text to string fields and needs the
//! style of a scalar (plain or quoted) to type the others. So the events are libyaml's, and the tree keeps text and style and
//! resolves nothing itself.

use std::borrow::Cow;
use std::collections::HashMap;
use std::rc::Rc;

use libyaml::{Event, Kind, Malformed, Mark, Parser};
use problem::{Place, Problem, Result, code};

/// Deeper documents are refused: they would exhaust the stack.
const MAX_DEPTH: usize = 200;

/// One node; aliases share it.
#[derive(Debug)]
pub(crate) struct Node {
    mark: Mark,
    /// Short form of an explicit tag: `!!str`, `!foo`.
    pub(crate) tag: Option<String>,
    pub(crate) content: Content,
}

#[derive(Debug)]
pub(crate) enum Content {
    Scalar { text: String, plain: bool },
    Sequence(Vec<Rc<Node>>),
    Mapping(Vec<Entry>),
}

/// A key and its value.
pub(crate) type Entry = (Rc<Node>, Rc<Node>);

impl Node {
    fn new(mark: Mark, tag: Option<&[u8]>, content: Content) -> Rc<Node> {
        let tag = tag.filter(|tag| *tag != b"!").map(short);
        Rc::new(Node { mark, tag, content })
    }

    /// Its line, from 1.
    pub(crate) fn line(&self) -> u32 {
        self.mark.line
    }

    /// The node's tag as yaml.v3 resolves and names it.
    pub(crate) fn short_tag(&self) -> &str {
        match (&self.tag, &self.content) {
            (Some(tag), _) => tag,
            (None, Content::Sequence(_)) => "!!seq",
            (None, Content::Mapping(_)) => "!!map",
            (None, Content::Scalar { plain: false, .. }) => "!!str",
            (None, Content::Scalar { text, .. }) => word_tag(text),
        }
    }

    /// Whether it is null, by its text as well as by its tag.
    pub(crate) fn is_null(&self) -> bool {
        self.short_tag() == "!!null" && self.text().is_some_and(|text| word_tag(text) == "!!null")
    }

    /// Whether it is a scalar without quotes.
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self.content, Content::Scalar { plain: true, .. })
    }

    /// Its column, from 1.
    pub(crate) fn column(&self) -> u32 {
        self.mark.column
    }

    /// The value of a key of a mapping, the first one where there are several.
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        let Content::Mapping(entries) = &self.content else { return None };
        entries.iter().find(|(name, _)| name.text() == Some(key)).map(|(_, value)| &**value)
    }

    /// The elements of a sequence; of others none.
    pub(crate) fn items(&self) -> &[Rc<Node>] {
        match &self.content {
            Content::Sequence(items) => items,
            _ => &[],
        }
    }

    /// The raw text of a scalar.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.content {
            Content::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }

    /// The node's place in `file`.
    pub(crate) fn place(&self, file: &str) -> Place {
        place(self.mark, file)
    }
}

/// The tag to which yaml.v3 resolves a plain scalar that is not a number.
pub(crate) fn word_tag(text: &str) -> &'static str {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => "!!null",
        "true" | "True" | "TRUE" | "false" | "False" | "FALSE" => "!!bool",
        "<<" => "!!merge",
        _ => "!!str",
    }
}

/// Reads the first document of `text`, as `yaml.Unmarshal` does; `None` where the text has none.
pub(crate) fn read(text: &[u8], file: &str) -> Result<Option<Rc<Node>>> {
    let mut text = Cow::Borrowed(text);
    loop {
        let document = Reader { parser: Parser::new(&text), anchors: HashMap::new() }.document();
        let malformed = match document {
            Ok(root) => return Ok(root),
            Err(malformed) => malformed,
        };
        match escaped_apostrophe(&text, &malformed) {
            Some(at) => drop(text.to_mut().remove(at)),
            None => {
                let place = malformed.mark.map_or_else(|| Place::file(file), |mark| place(mark, file));
                let message = format!("failed to parse job configuration: {}", malformed.message);
                return Err(Problem::input(message).code(code::BPM_INVALID).at(place).into());
            }
        }
    }
}

/// Where the backslash of a `\'` lies that libyaml refuses in a text in double quotes, and yaml.v3 reads as an apostrophe.
fn escaped_apostrophe(text: &[u8], malformed: &Malformed) -> Option<usize> {
    let mark = malformed.mark.filter(|_| malformed.message.starts_with("found unknown escape character"))?;
    let (at, _) = std::str::from_utf8(text).ok()?.char_indices().nth(mark.index)?;
    text[at..].starts_with(b"\\'").then_some(at)
}

struct Reader<'a> {
    parser: Parser<'a>,
    /// `None` while the anchor's collection is open.
    anchors: HashMap<Vec<u8>, Option<Rc<Node>>>,
}

type Parsed<T> = std::result::Result<T, Malformed>;

fn refused<T>(message: &str, mark: Mark) -> Parsed<T> {
    Err(Malformed::new(message, mark))
}

impl Reader<'_> {
    fn document(mut self) -> Parsed<Option<Rc<Node>>> {
        loop {
            match self.parser.next()?.kind() {
                Kind::StreamEnd => return Ok(None),
                Kind::DocumentStart => {
                    let first = self.parser.next()?;
                    let root = self.node(&first, 0)?;
                    self.end_of_document()?;
                    return Ok(Some(root));
                }
                _ => {}
            }
        }
    }

    fn node(&mut self, event: &Event, depth: usize) -> Parsed<Rc<Node>> {
        let mark = event.start();
        if depth > MAX_DEPTH {
            return refused("exceeded max depth", mark);
        }
        match event.kind() {
            Kind::Alias(name) => match self.anchors.get(name) {
                Some(Some(node)) => Ok(Rc::clone(node)),
                Some(None) => refused("anchor value contains itself", mark),
                None => refused("unknown anchor referenced", mark),
            },
            Kind::Scalar { text, anchor, tag, plain, .. } => {
                let text = String::from_utf8_lossy(text).into_owned();
                let node = Node::new(mark, tag, Content::Scalar { text, plain });
                if let Some(anchor) = anchor {
                    self.anchors.insert(anchor.to_vec(), Some(Rc::clone(&node)));
                }
                Ok(node)
            }
            Kind::SequenceStart { anchor, tag } => {
                self.open(anchor);
                let mut items = Vec::new();
                while let Some(event) = self.item()? {
                    items.push(self.node(&event, depth + 1)?);
                }
                Ok(self.close(anchor, Node::new(mark, tag, Content::Sequence(items))))
            }
            Kind::MappingStart { anchor, tag } => {
                self.open(anchor);
                let mut entries = Vec::new();
                while let Some(event) = self.item()? {
                    let key = self.node(&event, depth + 1)?;
                    let value = self.parser.next()?;
                    entries.push((key, self.node(&value, depth + 1)?));
                }
                Ok(self.close(anchor, Node::new(mark, tag, Content::Mapping(entries))))
            }
            _ => refused("did not find expected node content", mark),
        }
    }

    /// The next event inside a collection, `None` at its end.
    fn item(&mut self) -> Parsed<Option<Event>> {
        let event = self.parser.next()?;
        let is_end = matches!(event.kind(), Kind::SequenceEnd | Kind::MappingEnd);
        Ok(if is_end { None } else { Some(event) })
    }

    fn open(&mut self, anchor: Option<&[u8]>) {
        if let Some(anchor) = anchor {
            self.anchors.insert(anchor.to_vec(), None);
        }
    }

    fn close(&mut self, anchor: Option<&[u8]>, node: Rc<Node>) -> Rc<Node> {
        // An anchor inside may have the same name: then that one is the later one.
        if let Some(open @ None) = anchor.and_then(|anchor| self.anchors.get_mut(anchor)) {
            *open = Some(Rc::clone(&node));
        }
        node
    }

    /// yaml.v3 reads some tokens ahead, so it refuses a document that is followed by something that cannot be one.
    fn end_of_document(&mut self) -> Parsed<()> {
        self.parser.next()?;
        self.parser.next().map(drop).or_else(|e| if e.is_lexical { Err(e) } else { Ok(()) })
    }
}

/// The short form of a tag, as yaml.v3 names it.
fn short(tag: &[u8]) -> String {
    let tag = String::from_utf8_lossy(tag);
    match tag.strip_prefix("tag:yaml.org,2002:") {
        Some(suffix) => format!("!!{suffix}"),
        None => tag.into_owned(),
    }
}

fn place(mark: Mark, file: &str) -> Place {
    Place { column: Some(mark.column), ..Place::line(file, mark.line) }
}
