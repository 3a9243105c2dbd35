//! Values of the nodes: scalars resolved, aliases expanded, maps merged.

use std::rc::Rc;

use super::Error;
use super::tree::{Kind, Raw};
use crate::node::{Key, Map, Node, Origin, Source, Value};
use crate::resolve;

/// Up to so many nodes, 99 in 100 may come from aliases, then fewer.
const FEW: f64 = 400_000.0;
/// From so many nodes on, one in ten may.
const MANY: f64 = 4_000_000.0;

const WANT_MAP: &str = "map merge requires map or sequence of maps as the value";

pub(super) struct Decoder {
    source: Source,
    expansion: Expansion,
    alias_depth: u32,
}

/// Counts the nodes of a document and how many of them come from aliases.
#[derive(Debug, Clone, Default)]
pub struct Expansion {
    decoded: u64,
    from_aliases: u64,
}

impl Expansion {
    /// Counts nodes; whether the document may have them: not if far more of it comes from aliases than from the text.
    pub fn allows(&mut self, nodes: u64, are_from_alias: bool) -> bool {
        self.decoded = self.decoded.saturating_add(nodes);
        if are_from_alias {
            self.from_aliases = self.from_aliases.saturating_add(nodes);
        }
        let decoded = self.decoded as f64;
        let allowed = 0.99 - 0.89 * ((decoded - FEW) / (MANY - FEW)).clamp(0.0, 1.0);
        self.from_aliases <= 100 || self.decoded <= 1000 || self.from_aliases as f64 / decoded <= allowed
    }
}

impl Decoder {
    pub(super) fn new(source: Source) -> Decoder {
        Decoder { source, expansion: Expansion::default(), alias_depth: 0 }
    }

    pub(super) fn node(&mut self, raw: &Raw) -> Result<Node, Error> {
        self.count(raw)?;
        let value = match &raw.kind {
            Kind::Scalar { text, tag, is_plain } => resolve::scalar(tag.as_deref(), text.clone(), *is_plain)
                .map_err(|message| error(raw.origin, message))?,
            Kind::Sequence(items) => Value::List(items.iter().map(|item| self.node(item)).collect::<Result<_, _>>()?),
            Kind::Mapping(entries) => {
                let mut map = Map::default();
                self.entries(entries, &mut map)?;
                Value::Map(map)
            }
            Kind::Alias(target) => {
                self.alias_depth += 1;
                let node = self.node(target)?;
                self.alias_depth -= 1;
                return Ok(node);
            }
        };
        Ok(Node { value, origin: Origin { source: self.source, ..raw.origin } })
    }

    /// Sets the entries of a map with their keys as they are written; whether it is a map.
    pub(super) fn names(&mut self, raw: &Raw, map: &mut Map) -> Result<bool, Error> {
        let entries = match &raw.kind {
            Kind::Mapping(entries) => entries,
            Kind::Alias(target) => return self.names(target, map),
            _ => return Ok(false),
        };
        for (key, value) in entries {
            let merged = match &value.kind {
                Kind::Sequence(items) => items.iter().rev().collect(),
                _ => vec![value],
            };
            match &key.kind {
                _ if is_merge(key) => {
                    for item in merged {
                        if !self.names(item, map)? {
                            return Err(error(value.origin, WANT_MAP));
                        }
                    }
                }
                Kind::Scalar { text, .. } => {
                    let value = self.node(value)?;
                    map.insert(super::name(text), value);
                }
                _ => return Err(error(key.origin, "cannot unmarshal a key that is not a scalar into string")),
            }
        }
        Ok(true)
    }

    /// Refuses documents most of which come from aliases.
    fn count(&mut self, raw: &Raw) -> Result<(), Error> {
        if !self.expansion.allows(1, self.alias_depth > 0) {
            return Err(error(raw.origin, "document contains excessive aliasing"));
        }
        Ok(())
    }

    /// Sets a map's entries in their order: of equal keys the last counts, a merge replaces what stands above it.
    fn entries(&mut self, entries: &[(Rc<Raw>, Rc<Raw>)], map: &mut Map) -> Result<(), Error> {
        for (key, value) in entries {
            if is_merge(key) {
                self.merge(value, map)?;
                continue;
            }
            let node = self.node(key)?;
            let Some(name) = Key::of(&node.value) else {
                return Err(error(node.origin, format!("invalid map key: {}", node.value.go_type())));
            };
            let value = self.node(value)?;
            map.insert(name, value);
        }
        Ok(())
    }

    fn merge(&mut self, raw: &Raw, map: &mut Map) -> Result<(), Error> {
        match &raw.kind {
            Kind::Sequence(items) => {
                // Earlier maps take precedence.
                for item in items.iter().rev() {
                    self.merge_map(item, map)?;
                }
                Ok(())
            }
            _ => self.merge_map(raw, map),
        }
    }

    fn merge_map(&mut self, raw: &Raw, map: &mut Map) -> Result<(), Error> {
        self.count(raw)?;
        match &raw.kind {
            Kind::Mapping(entries) => self.entries(entries, map),
            Kind::Alias(target) => match &target.kind {
                Kind::Mapping(entries) => {
                    self.alias_depth += 1;
                    self.count(target)?;
                    self.entries(entries, map)?;
                    self.alias_depth -= 1;
                    Ok(())
                }
                _ => Err(error(raw.origin, WANT_MAP)),
            },
            _ => Err(error(raw.origin, WANT_MAP)),
        }
    }
}

fn error(origin: Origin, message: impl Into<String>) -> Error {
    Error { message: message.into(), origin }
}

/// Whether a key is `<<`, not quoted.
fn is_merge(key: &Raw) -> bool {
    match &key.kind {
        Kind::Scalar { text, tag, is_plain } => {
            text == "<<" && (*is_plain || tag.as_deref().map(resolve::short).as_deref() == Some("!!merge"))
        }
        _ => false,
    }
}
