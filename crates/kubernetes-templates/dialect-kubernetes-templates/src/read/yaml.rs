//! YAML as kubectl reads it: yaml.v2's scalars, converted to JSON as sigs.k8s.io/yaml does.

use std::collections::HashMap;

use go_yaml::{Expansion, Integer, Scalar};
use libyaml::{Event, Kind, Mark, Parser};
use smol_str::{SmolStr, ToSmolStr};

use super::{DEEPEST, KeyWarning, LARGEST, ReadError, json};
use crate::node::{Entry, Map, Node, Position, START, Value};

/// Copies for anchors and aliases may take so many bytes of memory. A document of anchors within anchors has no alias, and would
/// take the square of its size.
const MOST_COPIED: u64 = 2 * LARGEST as u64;

/// The parser compares each directive with all others.
const MOST_DIRECTIVES: usize = 1_000;

const UNKNOWN_ANCHOR: &str =
    "invalid YAML: there is no anchor for this alias; a text that begins with '*' needs quotes";

const WANT_MAP: &str = "map merge requires map or sequence of maps as the value";

/// At most this many keys are warned about.
const MAX_WARNINGS: usize = 100;

/// The one document of a text that is not null, with warnings about its keys.
pub(super) fn read(text: &str) -> Result<(Node, Vec<KeyWarning>), ReadError> {
    if let Some((at, _)) = text.match_indices("\n%TAG").nth(MOST_DIRECTIVES) {
        let message = format!("the document has more than {MOST_DIRECTIVES} %TAG directives");
        return Err(ReadError::content(message, START.behind(&text.as_bytes()[..=at])));
    }
    let mut reader = Reader {
        text,
        parser: Parser::utf8(text),
        anchors: HashMap::new(),
        expansion: Expansion::default(),
        size: Size::default(),
        copied: 0,
        items: Vec::new(),
        entries: Vec::new(),
        warnings: Vec::new(),
    };
    let mut found = Node { value: Value::Null, position: START };
    let mut event = Event::default();
    loop {
        reader.next(&mut event)?;
        match event.kind() {
            Kind::StreamEnd => return Ok((found, reader.warnings)),
            Kind::DocumentStart => {
                let position = position(event.start());
                if event.version().is_some_and(|version| version != (1, 1)) {
                    return Err(ReadError::syntax("invalid YAML: found incompatible YAML document", position));
                }
                reader.anchors.clear();
                reader.next(&mut event)?;
                let node = reader.node(&event, 0)?;
                // `---` above and below a document makes no other one.
                if !node.is_null() {
                    if !found.is_null() {
                        return Err(ReadError::content("the file has more than one document", position));
                    }
                    found = node;
                }
                reader.next(&mut event)?;
            }
            _ => {}
        }
    }
}

/// How much has been read, what aliases stand for included.
#[derive(Clone, Copy, Default)]
struct Size {
    nodes: u64,
    /// Of scalars.
    bytes: u64,
}

/// An anchor's node and its size; `None` while its own content is read.
type Anchor = Option<(Node, Size)>;

struct Reader<'t> {
    text: &'t str,
    parser: Parser<'t>,
    anchors: HashMap<Vec<u8>, Anchor>,
    expansion: Expansion,
    size: Size,
    /// How many bytes of memory have been copied for anchors and aliases.
    copied: u64,
    /// The items and entries of lists and maps that have not ended. When one has, it takes exactly the memory that it needs.
    items: Vec<Node>,
    entries: Vec<Entry>,
    warnings: Vec<KeyWarning>,
}

fn excessive(at: Position) -> ReadError {
    ReadError::content("the document contains excessive aliasing", at)
}

fn position(mark: Mark) -> Position {
    Position { line: mark.line, column: mark.column }
}

impl Reader<'_> {
    fn next(&mut self, event: &mut Event) -> Result<(), ReadError> {
        self.parser.read(event).map_err(|e| {
            let before = || self.text.as_bytes().get(..e.offset?);
            let at = e.mark.map_or_else(|| START.behind(before().unwrap_or_default()), position);
            ReadError::syntax(format!("invalid YAML: {}", e.message), at)
        })
    }

    /// The node that begins with an event. Only lists and maps recurse: their frames are small, for documents are deep.
    fn node(&mut self, event: &Event, depth: usize) -> Result<Node, ReadError> {
        if let Some(node) = self.plain_scalar(event, depth)? {
            return Ok(node);
        }
        let before = self.begin(event, depth)?;
        let value = match event.kind() {
            Kind::SequenceStart { .. } => Value::List(self.items(depth)?),
            Kind::MappingStart { .. } => Value::Map(self.map(depth)?),
            _ => self.leaf(event)?,
        };
        self.end(event, value, before)
    }

    /// A scalar without anchor and tag, as most nodes are; `None` for others.
    #[inline(never)]
    fn plain_scalar(&mut self, event: &Event, depth: usize) -> Result<Option<Node>, ReadError> {
        let Kind::Scalar { text, anchor: None, tag: None, quoted, .. } = event.kind() else { return Ok(None) };
        let at = position(event.start());
        if depth > DEEPEST {
            return Err(ReadError::too_deep(at));
        }
        self.count(Size { nodes: 1, bytes: text.len() as u64 }, false, at)?;
        scalar(text, None, quoted, at).map(|value| Some(Node { value, position: at }))
    }

    /// Counts a node, and opens its anchor; gives the size of what has been read before it.
    #[inline(never)]
    fn begin(&mut self, event: &Event, depth: usize) -> Result<Size, ReadError> {
        let at = position(event.start());
        if depth > DEEPEST {
            return Err(ReadError::too_deep(at));
        }
        let before = self.size;
        self.count(Size { nodes: 1, bytes: 0 }, false, at)?;
        if let Kind::SequenceStart { anchor: Some(name), .. } | Kind::MappingStart { anchor: Some(name), .. } =
            event.kind()
        {
            self.anchors.insert(name.to_vec(), None);
        }
        Ok(before)
    }

    /// A scalar, or what an alias stands for.
    #[inline(never)]
    fn leaf(&mut self, event: &Event) -> Result<Value, ReadError> {
        let at = position(event.start());
        match event.kind() {
            Kind::Alias(name) => self.alias(name, at),
            Kind::Scalar { text, tag, quoted, .. } => {
                self.size.bytes += text.len() as u64;
                scalar(text, tag, quoted, at)
            }
            _ => Err(ReadError::syntax("invalid YAML: did not find expected node content", at)),
        }
    }

    /// The node of a value, kept for the aliases of its anchor.
    #[inline(never)]
    fn end(&mut self, event: &Event, value: Value, before: Size) -> Result<Node, ReadError> {
        let node = Node { value, position: position(event.start()) };
        if let Kind::Scalar { anchor: Some(name), .. }
        | Kind::SequenceStart { anchor: Some(name), .. }
        | Kind::MappingStart { anchor: Some(name), .. } = event.kind()
        {
            let size = Size { nodes: self.size.nodes - before.nodes, bytes: self.size.bytes - before.bytes };
            self.copy(size, node.position)?;
            self.anchors.insert(name.to_vec(), Some((node.clone(), size)));
        }
        Ok(node)
    }

    fn count(&mut self, size: Size, are_from_alias: bool, at: Position) -> Result<(), ReadError> {
        self.size.nodes = self.size.nodes.saturating_add(size.nodes);
        self.size.bytes = self.size.bytes.saturating_add(size.bytes);
        if self.expansion.allows(size.nodes, are_from_alias) { Ok(()) } else { Err(excessive(at)) }
    }

    /// kubectl shares the nodes of anchors and aliases; here, each has its own.
    fn copy(&mut self, size: Size, at: Position) -> Result<(), ReadError> {
        let memory = size.nodes.saturating_mul(size_of::<Node>() as u64).saturating_add(size.bytes);
        self.copied = self.copied.saturating_add(memory);
        if self.copied <= MOST_COPIED { Ok(()) } else { Err(excessive(at)) }
    }

    /// The messages do not show the name: it may be a password without quotes.
    fn alias(&mut self, name: &[u8], at: Position) -> Result<Value, ReadError> {
        let size = match self.anchors.get(name) {
            Some(Some((_, size))) => *size,
            Some(None) => {
                return Err(ReadError::syntax("invalid YAML: the value of an anchor contains itself", at));
            }
            None => return Err(ReadError::syntax(UNKNOWN_ANCHOR, at)),
        };
        // Before the copy, which may be what is too large.
        self.count(size, true, at)?;
        self.copy(size, at)?;
        let copy = self.anchors.get(name).and_then(Option::as_ref).map(|(node, _)| node.value.clone());
        Ok(copy.unwrap_or(Value::Null))
    }

    fn items(&mut self, depth: usize) -> Result<Vec<Node>, ReadError> {
        let first = self.items.len();
        let mut event = Event::default();
        loop {
            self.next(&mut event)?;
            if matches!(event.kind(), Kind::SequenceEnd) {
                return Ok(self.items.drain(first..).collect());
            }
            let item = self.node(&event, depth + 1)?;
            self.items.push(item);
        }
    }

    fn map(&mut self, depth: usize) -> Result<Map, ReadError> {
        let first = self.entries.len();
        let mut merged = Vec::new();
        let mut event = Event::default();
        loop {
            self.next(&mut event)?;
            if matches!(event.kind(), Kind::MappingEnd) {
                break;
            }
            let at = position(event.start());
            let is_merge = matches!(event.kind(), Kind::Scalar { text: b"<<", tag, quoted, .. }
                if tag.map_or(!quoted, |tag| tag == b"tag:yaml.org,2002:merge"));
            let key = self.key(&event, depth)?;
            self.next(&mut event)?;
            let is_alias = matches!(event.kind(), Kind::Alias(_));
            let node = self.node(&event, depth + 1)?;
            if is_merge {
                // A list of maps is only merged where it stands.
                if is_alias && node.as_map().is_none() {
                    return Err(ReadError::content(WANT_MAP, node.position));
                }
                merged.push((self.entries.len() - first, node));
            } else {
                self.entries.push(Entry { key, position: at, node });
            }
        }
        let map = Map::of(self.entries.drain(first..).collect());
        if let Some(entry) = map.repeated().first() {
            return Err(ReadError::repeated(&entry.key, entry.position));
        }
        if merged.is_empty() { Ok(map) } else { merge(map, merged) }
    }

    /// A key as JSON has it: text.
    fn key(&mut self, event: &Event, depth: usize) -> Result<SmolStr, ReadError> {
        let at = position(event.start());
        let (plain, has_anchor) = match event.kind() {
            Kind::Scalar { text, tag: None, quoted: false, anchor, .. } => {
                (std::str::from_utf8(text).ok(), anchor.is_some())
            }
            _ => (None, false),
        };
        match plain.map(|text| go_yaml::plain(text, true)) {
            // What it is has been found out: most keys end here.
            Some(Scalar::String | Scalar::Timestamp) if !has_anchor && depth < DEEPEST => {
                let text = plain.unwrap_or_default();
                self.count(Size { nodes: 1, bytes: text.len() as u64 }, false, at)?;
                return Ok(text.into());
            }
            // As JSON writes it, except for floats, which sigs.k8s.io/yaml shortens to 32 bits.
            Some(Scalar::Float(number)) => {
                self.count(Size { nodes: 1, bytes: 0 }, false, at)?;
                return Ok(float_key(number).into());
            }
            Some(Scalar::Integer(Integer::Uint(_))) => {
                return Err(ReadError::content("a key is an integer of more than 63 bits", at));
            }
            _ => {}
        }
        match self.node(event, depth + 1)?.value {
            Value::String(text) | Value::Number(text) => Ok(text),
            Value::Bool(b) => {
                let text = if b { "true" } else { "false" };
                if let Some(plain) = plain.filter(|plain| *plain != text && self.warnings.len() < MAX_WARNINGS) {
                    let message = format!(
                        "the key {plain} is a boolean in YAML 1.1, and becomes '{text}'; put it in quotes if it is text"
                    );
                    self.warnings.push(KeyWarning { message, position: at });
                }
                Ok(text.into())
            }
            Value::Null => Err(ReadError::content("a key is null", at)),
            Value::List(_) | Value::Map(_) => Err(ReadError::content("a key is a list or a map", at)),
        }
    }
}

/// `strconv.FormatFloat(f, 'g', -1, 32)`.
fn float_key(number: f64) -> String {
    let short = number as f32;
    if short.is_finite() {
        // The shortest digits of 32 bits, in the form of 64.
        return go_yaml::format_float(format!("{short:e}").parse().unwrap_or(number));
    }
    go_yaml::format_float(f64::from(short))
}

/// Merges maps in their order: a merge replaces what stands above it, what stands below replaces the merge, as yaml.v2 does.
fn merge(map: Map, merged: Vec<(usize, Node)>) -> Result<Map, ReadError> {
    let mut merged = merged.into_iter().peekable();
    let mut result: Vec<Entry> = Vec::new();
    let mut places: HashMap<SmolStr, usize> = HashMap::new();
    let mut put = |entry: Entry| match places.get(&entry.key) {
        Some(at) => result[*at].node = entry.node,
        None => {
            places.insert(entry.key.clone(), result.len());
            result.push(entry);
        }
    };
    let total = map.len();
    let mut entries = map.into_iter();
    for at in 0..=total {
        while let Some((_, node)) = merged.next_if(|(before, _)| *before == at) {
            let refused =
                || ReadError::content("map merge requires map or sequence of maps as the value", node.position);
            match node.value.clone() {
                Value::Map(map) => map.into_iter().for_each(&mut put),
                // Earlier maps take precedence.
                Value::List(items) => {
                    for item in items.into_iter().rev() {
                        let Value::Map(map) = item.value else { return Err(refused()) };
                        map.into_iter().for_each(&mut put);
                    }
                }
                _ => return Err(refused()),
            }
        }
        entries.next().into_iter().for_each(&mut put);
    }
    Ok(Map::of(result))
}

fn scalar(text: &[u8], tag: Option<&[u8]>, quoted: bool, at: Position) -> Result<Value, ReadError> {
    // libyaml was given UTF-8.
    let text = String::from_utf8_lossy(text);
    let Some(tag) = tag else {
        if quoted {
            return Ok(Value::String(text.into()));
        }
        let value = match go_yaml::plain(&text, true) {
            Scalar::Null => Value::Null,
            Scalar::Bool(b) => Value::Bool(b),
            Scalar::Integer(integer) => Value::Number(digits(integer)),
            Scalar::Float(number) => float(number, &text, at)?,
            Scalar::Timestamp | Scalar::String => Value::String(text.into()),
        };
        return Ok(value);
    };
    let tag = String::from_utf8_lossy(tag);
    match go_yaml::scalar(Some(&tag), text.clone().into_owned(), false).map_err(|e| ReadError::content(e, at))? {
        go_yaml::Value::Null => Ok(Value::Null),
        go_yaml::Value::Bool(b) => Ok(Value::Bool(b)),
        go_yaml::Value::Int(n) => Ok(Value::Number(digits(Integer::Int(n)))),
        go_yaml::Value::Uint(n) => Ok(Value::Number(digits(Integer::Uint(n)))),
        go_yaml::Value::Float(number) => float(number, &text, at),
        go_yaml::Value::String(text) => Ok(Value::String(text.into())),
        go_yaml::Value::Binary(_) => Err(ReadError::content("!!binary value is not UTF-8", at)),
        go_yaml::Value::List(_) | go_yaml::Value::Map(_) => Ok(Value::Null),
    }
}

fn digits(integer: Integer) -> SmolStr {
    match integer {
        Integer::Int(n) => n.to_smolstr(),
        Integer::Uint(n) => n.to_smolstr(),
    }
}

/// A number as it is written, where JSON has the same form, so that no digit is lost.
fn float(number: f64, text: &str, at: Position) -> Result<Value, ReadError> {
    if !number.is_finite() {
        return Err(ReadError::content("JSON has no number for infinity and NaN", at));
    }
    let exact = json::number(text).or_else(|| json::number(&in_json_form(text)));
    Ok(exact.unwrap_or_else(|| Value::Number(go_yaml::format_float(number).into())))
}

/// A decimal number of YAML in JSON's form: without `+`, `_` and leading zeros, with a digit before and behind the point.
fn in_json_form(text: &str) -> String {
    let text = text.replace('_', "");
    let (sign, unsigned) = match text.strip_prefix(['+', '-']) {
        Some(unsigned) => (if text.starts_with('-') { "-" } else { "" }, unsigned),
        None => ("", text.as_str()),
    };
    let (mantissa, exponent) = unsigned.split_at(unsigned.find(['e', 'E']).unwrap_or(unsigned.len()));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let whole = Some(whole.trim_start_matches('0')).filter(|whole| !whole.is_empty()).unwrap_or("0");
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{whole}{point}{fraction}{exponent}")
}
