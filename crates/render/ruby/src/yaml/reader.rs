//! Values from a document's events, as Psych builds them. What is rare (tags, merging something else than mappings) is
//! left to Psych as a whole, and so is everything that is wrong.

use std::collections::HashMap;
use std::rc::Rc;

use libyaml::{Kind, Malformed, Parser};
use value::{Map, Value};

use super::scalar::{Plain, plain, text_value};

/// Psych has to read the document.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Rare;

impl From<Malformed> for Rare {
    fn from(_: Malformed) -> Rare {
        Rare
    }
}

/// About what Psych's own recursion can read; what walks the values later recurses too.
const DEEPEST: usize = 1_300;

/// The first document's value; `ask` gives what Psych makes of a plain scalar.
pub(super) fn read(text: &[u8], ask: &mut dyn FnMut(&str) -> Option<Value>) -> Result<Value, Rare> {
    let text = std::str::from_utf8(text).map_err(|_| Rare)?;
    let mut parser = Parser::utf8(text);
    let mut builder =
        Builder { ask, asked: HashMap::new(), anchors: HashMap::new(), keys: HashMap::new(), open: vec![], root: None };
    loop {
        match parser.next()?.kind() {
            Kind::StreamEnd => return Ok(Value::Nil),
            Kind::DocumentEnd => return builder.root.take().ok_or(Rare),
            event => builder.event(event)?,
        }
    }
}

struct Builder<'a> {
    ask: &'a mut dyn FnMut(&str) -> Option<Value>,
    asked: HashMap<String, Value>,
    /// `None` while the anchor's collection is open.
    anchors: HashMap<Vec<u8>, Option<Value>>,
    /// Keys: one object for all that are equal, as in Psych.
    keys: HashMap<Vec<u8>, Value>,
    open: Vec<Open>,
    root: Option<Value>,
}

/// A collection that is being built.
struct Open {
    anchor: Option<Vec<u8>>,
    content: Content,
}

enum Content {
    Sequence(Vec<Value>),
    /// The pairs, and the key that waits for its value.
    Mapping(Pairs, Option<Value>),
}

/// What stands in the document for a value: it decides what `<<` merges.
#[derive(Clone, Copy)]
enum Stands {
    Scalar,
    Sequence,
    Mapping,
    Alias,
}

impl Builder<'_> {
    fn event(&mut self, event: Kind) -> Result<(), Rare> {
        match event {
            Kind::Scalar { tag: Some(_), .. }
            | Kind::SequenceStart { tag: Some(_), .. }
            | Kind::MappingStart { tag: Some(_), .. } => Err(Rare),
            Kind::Scalar { text, anchor, quoted, .. } => self.scalar(text, anchor, quoted),
            Kind::Alias(name) => {
                let value = self.anchors.get(name).cloned().flatten().ok_or(Rare)?;
                self.place(value, Stands::Alias)
            }
            Kind::SequenceStart { anchor, .. } => self.start(anchor, Content::Sequence(Vec::new())),
            Kind::MappingStart { anchor, .. } => self.start(anchor, Content::Mapping(Pairs::default(), None)),
            Kind::SequenceEnd | Kind::MappingEnd => self.end(),
            Kind::StreamStart | Kind::DocumentStart | Kind::DocumentEnd | Kind::StreamEnd => Ok(()),
        }
    }

    fn scalar(&mut self, text: &[u8], anchor: Option<&[u8]>, quoted: bool) -> Result<(), Rare> {
        let value = if quoted { None } else { self.plain(text)? };
        if let (None, None, true) = (&value, anchor, self.awaits_key()) {
            let key = self.key_of(text);
            return self.key(key);
        }
        let value = value.unwrap_or_else(|| text_value(text));
        if let Some(anchor) = anchor {
            self.anchors.insert(anchor.to_vec(), Some(value.clone()));
        }
        self.place(value, Stands::Scalar)
    }

    /// What a plain scalar stands for, `None` for its text.
    fn plain(&mut self, text: &[u8]) -> Result<Option<Value>, Rare> {
        let text = std::str::from_utf8(text).map_err(|_| Rare)?;
        match plain(text) {
            Plain::Text => Ok(None),
            Plain::Value(value) => Ok(Some(value)),
            Plain::Unknown => {
                if let Some(known) = self.asked.get(text) {
                    return Ok(Some(known.clone()));
                }
                let value = (self.ask)(text).ok_or(Rare)?;
                // Each String is an object of its own, and so are big numbers.
                if matches!(value, Value::Nil | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Symbol(_)) {
                    self.asked.insert(text.to_owned(), value.clone());
                }
                Ok(Some(value))
            }
        }
    }

    fn awaits_key(&self) -> bool {
        matches!(self.open.last(), Some(Open { content: Content::Mapping(_, None), .. }))
    }

    fn key_of(&mut self, text: &[u8]) -> Value {
        if let Some(key) = self.keys.get(text) {
            return key.clone();
        }
        let key = text_value(text);
        self.keys.insert(text.to_vec(), key.clone());
        key
    }

    fn key(&mut self, key: Value) -> Result<(), Rare> {
        let key = match key {
            Value::Str(text) => self.key_of(&text.bytes),
            Value::Nil | Value::Bool(_) | Value::Int(_) | Value::Symbol(_) => key,
            _ => return Err(Rare),
        };
        match self.open.last_mut() {
            Some(Open { content: Content::Mapping(_, awaited), .. }) => *awaited = Some(key),
            _ => return Err(Rare),
        }
        Ok(())
    }

    fn start(&mut self, anchor: Option<&[u8]>, content: Content) -> Result<(), Rare> {
        // A collection as a key.
        if self.open.len() >= DEEPEST || self.awaits_key() {
            return Err(Rare);
        }
        if let Some(anchor) = anchor {
            self.anchors.insert(anchor.to_vec(), None);
        }
        self.open.push(Open { anchor: anchor.map(<[u8]>::to_vec), content });
        Ok(())
    }

    fn end(&mut self) -> Result<(), Rare> {
        let Open { anchor, content } = self.open.pop().ok_or(Rare)?;
        let (value, stands) = match content {
            Content::Sequence(items) => (Value::Array(Rc::new(items)), Stands::Sequence),
            Content::Mapping(pairs, _) => (Value::Map(Rc::new(Map::from_unique(pairs.pairs))), Stands::Mapping),
        };
        if let Some(anchor) = anchor {
            // An anchor inside may have the same name: then it is the later one.
            if let Some(open @ None) = self.anchors.get_mut(&anchor) {
                *open = Some(value.clone());
            }
        }
        self.place(value, stands)
    }

    fn place(&mut self, value: Value, stands: Stands) -> Result<(), Rare> {
        if self.awaits_key() {
            return self.key(value);
        }
        match self.open.last_mut() {
            None => self.root = Some(value),
            Some(Open { content: Content::Sequence(items), .. }) => items.push(value),
            Some(Open { content: Content::Mapping(pairs, key), .. }) => {
                let key = key.take().ok_or(Rare)?;
                if key.as_str() == Some("<<") { pairs.merge(&value, stands)? } else { pairs.insert(key, value) }
            }
        }
        Ok(())
    }
}

/// Beyond so many pairs they are found by an index.
const FEW: usize = 16;

/// A Hash that grows: a key that comes again replaces the value and keeps its place.
#[derive(Default)]
struct Pairs {
    pairs: Vec<(Value, Value)>,
    /// Where the Strings among the keys are, if there are more than a few.
    index: HashMap<Vec<u8>, usize>,
}

impl Pairs {
    fn find(&self, key: &Value) -> Option<usize> {
        match key {
            Value::Str(text) if !self.index.is_empty() => self.index.get(&text.bytes).copied(),
            _ => self.pairs.iter().position(|(known, _)| known == key),
        }
    }

    fn insert(&mut self, key: Value, value: Value) {
        if let Some(i) = self.find(&key) {
            self.pairs[i].1 = value;
            return;
        }
        self.pairs.push((key, value));
        let new = if self.index.is_empty() { 0 } else { self.pairs.len() - 1 };
        if self.pairs.len() > FEW {
            for (i, (key, _)) in self.pairs.iter().enumerate().skip(new) {
                if let Value::Str(text) = key {
                    self.index.insert(text.bytes.clone(), i);
                }
            }
        }
    }

    /// `<<`: merged values replace existing ones. Of several mappings the first ones win.
    fn merge(&mut self, value: &Value, stands: Stands) -> Result<(), Rare> {
        let merged: Vec<&Map> = match (stands, value) {
            (Stands::Alias | Stands::Mapping, Value::Map(map)) => vec![map],
            (Stands::Sequence, Value::Array(items)) => {
                items.iter().rev().map(|item| item.as_map().ok_or(Rare)).collect::<Result<_, _>>()?
            }
            _ => return Err(Rare),
        };
        let mut all = Pairs::default();
        for (key, value) in merged.into_iter().flat_map(Map::iter) {
            all.insert(key.clone(), value.clone());
        }
        all.pairs.into_iter().for_each(|(key, value)| self.insert(key, value));
        Ok(())
    }
}
