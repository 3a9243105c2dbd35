//! Documents as Go's `yaml.v3` reads them, with the text and the place of every scalar.

use std::rc::Rc;

use go_yaml::{Expansion, Integer, Raw, RawKind, Scalar, Source};
use problem::Place;
use serde_json::{Map, Number, Value as Json};

/// A node of a document.
#[derive(Debug, Clone)]
pub struct Node {
    /// What it is.
    pub kind: Kind,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}

/// The kinds of nodes.
#[derive(Debug, Clone)]
pub enum Kind {
    /// A text as it is written, and its value.
    Scalar(String, Json),
    /// A list.
    List(Vec<Node>),
    /// The entries of a map, in their order.
    Map(Vec<Entry>),
}

/// An entry of a map.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The key: its text and its value.
    pub key: (String, Json),
    /// Line of the key, from 1.
    pub line: u32,
    /// Column of the key, from 1.
    pub column: u32,
    /// The value.
    pub value: Node,
}

/// Why a document is not YAML: the message and the place.
pub type Error = (String, Option<(u32, u32)>);

/// Reads the first document of a text; null if there is none.
///
/// # Errors
/// What is not YAML, keys that are doubled or not scalars, aliases that expand to far more than the text.
pub fn read(text: &[u8]) -> Result<Node, Error> {
    let failed = |error: go_yaml::Error| (error.to_string(), Some((error.origin.line, error.origin.column)));
    let raw = go_yaml::read_raw(text, Source::default()).map_err(failed)?;
    match raw {
        None => Ok(Node { kind: Kind::Scalar(String::new(), Json::Null), line: 1, column: 1 }),
        Some(raw) => Reader::default().node(&raw),
    }
}

#[derive(Default)]
struct Reader {
    expansion: Expansion,
    aliases: u32,
}

impl Reader {
    fn node(&mut self, raw: &Raw) -> Result<Node, Error> {
        let place = (raw.origin.line, raw.origin.column);
        if !self.expansion.allows(1, self.aliases > 0) {
            return Err(("yaml: document contains excessive aliasing".to_owned(), Some(place)));
        }
        let kind = match &raw.kind {
            RawKind::Scalar { text, tag, is_plain } => {
                Kind::Scalar(text.clone(), scalar(text, tag.as_deref(), *is_plain))
            }
            RawKind::Sequence(items) => Kind::List(items.iter().map(|item| self.node(item)).collect::<Result<_, _>>()?),
            RawKind::Mapping(entries) => Kind::Map(self.entries(entries)?),
            RawKind::Alias(target) => {
                self.aliases += 1;
                let node = self.node(target);
                self.aliases -= 1;
                return node;
            }
        };
        Ok(Node { kind, line: place.0, column: place.1 })
    }

    fn entries(&mut self, raw: &[(Rc<Raw>, Rc<Raw>)]) -> Result<Vec<Entry>, Error> {
        let mut entries: Vec<Entry> = Vec::with_capacity(raw.len());
        let mut merges = Vec::new();
        for (key, value) in raw {
            let (line, column) = (key.origin.line, key.origin.column);
            let key = match self.node(key)?.kind {
                Kind::Scalar(text, _)
                    if text == "<<" && matches!(&key.kind, RawKind::Scalar { is_plain: true, .. }) =>
                {
                    merges.push(value);
                    continue;
                }
                Kind::Scalar(text, value) => (text, value),
                _ => return Err((format!("yaml: line {line}: invalid map key"), Some((line, column)))),
            };
            if let Some(first) = entries.iter().find(|entry| entry.key == key) {
                let message = format!(
                    "yaml: unmarshal errors:\n  line {line}: mapping key {:?} already defined at line {}",
                    key.0, first.line
                );
                return Err((message, Some((line, column))));
            }
            entries.push(Entry { key, line, column, value: self.node(value)? });
        }
        // What the map has itself takes precedence over what it merges.
        for merge in merges {
            let place = Some((merge.origin.line, merge.origin.column));
            let wrong = || ("yaml: map merge requires map or sequence of maps as the value".to_owned(), place);
            let sources = match self.node(merge)?.kind {
                Kind::Map(map) => vec![map],
                Kind::List(items) => items
                    .into_iter()
                    .map(|item| if let Kind::Map(map) = item.kind { Ok(map) } else { Err(wrong()) })
                    .collect::<Result<_, _>>()?,
                Kind::Scalar(..) => return Err(wrong()),
            };
            for entry in sources.into_iter().flatten() {
                if entries.iter().all(|own| own.key != entry.key) {
                    entries.push(entry);
                }
            }
        }
        Ok(entries)
    }
}

/// The value of a scalar. `yes` and `on` are texts: YAML 1.1's words are booleans only where a boolean is expected.
fn scalar(text: &str, tag: Option<&str>, is_plain: bool) -> Json {
    if !is_plain && tag.is_none() {
        return text.into();
    }
    match tag {
        Some(tag) if tag.ends_with(":str") || tag == "!!str" || tag.ends_with(":binary") => return text.into(),
        Some(tag) if !tag.starts_with("tag:yaml.org,2002:") && !tag.starts_with("!!") => return text.into(),
        _ => {}
    }
    match go_yaml::plain(text, true) {
        Scalar::Null => Json::Null,
        Scalar::Bool(value) if text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false") => value.into(),
        Scalar::Integer(Integer::Int(number)) => number.into(),
        Scalar::Integer(Integer::Uint(number)) => number.into(),
        Scalar::Float(number) => Number::from_f64(number).map_or_else(|| text.into(), Json::Number),
        Scalar::Bool(_) | Scalar::Timestamp | Scalar::String => text.into(),
    }
}

impl Node {
    /// The place of the node in a file.
    pub fn place(&self, file: &str) -> Place {
        Place { line: Some(self.line), column: Some(self.column), ..Place::file(file) }
    }

    /// Whether it is null.
    pub fn is_null(&self) -> bool {
        matches!(&self.kind, Kind::Scalar(_, Json::Null))
    }

    /// What Go's `yaml.v3` makes of a scalar where it needs a text: what is written, nothing of null. `None` if it is something else.
    pub fn text(&self) -> Option<String> {
        match &self.kind {
            Kind::Scalar(_, Json::Null) => Some(String::new()),
            Kind::Scalar(text, _) => Some(text.clone()),
            Kind::List(_) | Kind::Map(_) => None,
        }
    }

    /// The entries of a map; `None` if it is something else.
    pub fn entries(&self) -> Option<&[Entry]> {
        if let Kind::Map(entries) = &self.kind { Some(entries) } else { None }
    }

    /// The value of a map's key.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries()?.iter().find(|entry| entry.key.0 == key).map(|entry| &entry.value)
    }

    /// The value as JSON; keys are texts.
    pub fn to_json(&self) -> Json {
        match &self.kind {
            Kind::Scalar(_, value) => value.clone(),
            Kind::List(items) => items.iter().map(Node::to_json).collect(),
            Kind::Map(entries) => Json::Object(
                entries.iter().map(|entry| (entry.key.0.clone(), entry.value.to_json())).collect::<Map<_, _>>(),
            ),
        }
    }

    /// YAML's name of the type, as messages show it.
    pub fn tag(&self) -> &'static str {
        match &self.kind {
            Kind::List(_) => "!!seq",
            Kind::Map(_) => "!!map",
            Kind::Scalar(_, Json::Null) => "!!null",
            Kind::Scalar(_, Json::Bool(_)) => "!!bool",
            Kind::Scalar(_, Json::Number(number)) if number.is_f64() => "!!float",
            Kind::Scalar(_, Json::Number(_)) => "!!int",
            Kind::Scalar(..) => "!!str",
        }
    }
}
