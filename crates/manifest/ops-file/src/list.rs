//! Children of nodes: items of lists by index or by the value of a key, entries of maps.

use go_yaml::{Key, Map, Node, Origin, Value};

use crate::failure::Failure;
use crate::path::{Modifier, Path, Token};

/// A child of a list or a map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Child {
    /// The item with this index.
    Item(usize),
    /// The value of this key.
    Entry(Key),
}

/// The child that the token at `at` names; `None` if it is optional and missing.
pub(crate) fn locate(node: &Node, path: &Path, at: usize) -> Result<Option<Child>, Failure> {
    let here = path.start(at + 1);
    match &path.tokens()[at] {
        Token::Index { index, modifiers } => {
            List::of(node, &here)?.index(*index, modifiers).map(|index| Some(Child::Item(index)))
        }
        Token::End => {
            Err(Failure::other(format!("Expected to not find token 'patch.AfterLastIndexToken' at path '{here}'")))
        }
        Token::Match { key, value, optional, modifiers } => {
            let list = List::of(node, &here)?;
            let index = list.matching(key, value, *optional)?;
            index.map(|index| list.index(index, modifiers).map(Child::Item)).transpose()
        }
        Token::Key { key, optional } => {
            let Value::Map(map) = &node.value else { return Err(Failure::wrong_type("a map", &here, node)) };
            let name = Key::String(key.clone());
            match map.get(&name) {
                Some(_) => Ok(Some(Child::Entry(name))),
                None if *optional => Ok(None),
                None => Err(Failure::missing_key(key, &here, map, node.origin)),
            }
        }
    }
}

/// A child that was located.
pub(crate) fn child_mut<'a>(node: &'a mut Node, child: &Child) -> Option<&'a mut Node> {
    match (&mut node.value, child) {
        (Value::List(items), Child::Item(index)) => items.get_mut(*index),
        (Value::Map(map), Child::Entry(key)) => map.get_mut(key),
        _ => None,
    }
}

/// Where a new or replaced item goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Position {
    /// In place of this item.
    At(usize),
    /// Before this item, or at the end.
    Insert(usize),
}

/// A list, the path to one of its items, and where the list stands.
#[derive(Clone, Copy)]
pub(crate) struct List<'a> {
    pub(crate) items: &'a [Node],
    pub(crate) path: &'a Path,
    pub(crate) origin: Origin,
}

impl<'a> List<'a> {
    /// The items of a node, of which `path` names one.
    pub(crate) fn of(node: &'a Node, path: &'a Path) -> Result<List<'a>, Failure> {
        match &node.value {
            Value::List(items) => Ok(List { items, path, origin: node.origin }),
            _ => Err(Failure::wrong_type("an array", path, node)),
        }
    }

    /// The index of an existing item.
    pub(crate) fn index(&self, index: i64, modifiers: &[Modifier]) -> Result<usize, Failure> {
        let mut sum = i128::from(index);
        for modifier in modifiers {
            sum += match modifier {
                Modifier::Prev => -1,
                Modifier::Next => 1,
                other => {
                    return Err(Failure::other(format!(
                        "Expected to find one of the following modifiers: 'prev', 'next', but found modifier '{}'",
                        other.go_type()
                    )));
                }
            };
        }
        let length = self.items.len();
        let from_start = if sum < 0 { sum + length as i128 } else { sum };
        usize::try_from(from_start).ok().filter(|index| *index < length).ok_or_else(|| Failure::MissingIndex {
            index: sum,
            length,
            path: self.path.to_string(),
            origin: self.origin,
        })
    }

    /// The position of a replacement: `:before` and `:after` insert, and must stand last.
    pub(crate) fn position(&self, index: i64, modifiers: &[Modifier]) -> Result<Position, Failure> {
        let is_insertion = |modifier: &Modifier| matches!(modifier, Modifier::Before | Modifier::After);
        let Some(at) = modifiers.iter().position(is_insertion) else {
            return self.index(index, modifiers).map(Position::At);
        };
        if let Some(extra) = modifiers.get(at + 1) {
            return Err(Failure::other(format!(
                "Expected to not find any modifiers after '{}' modifier, but found modifier '{}'",
                if modifiers[at] == Modifier::Before { "before" } else { "after" },
                extra.go_type()
            )));
        }
        let item = self.index(index, &modifiers[..at])?;
        Ok(Position::Insert(item + usize::from(modifiers[at] == Modifier::After)))
    }

    /// The only item that is a map with this value; `None` if there is none and it is optional.
    pub(crate) fn matching(&self, key: &str, value: &str, optional: bool) -> Result<Option<i64>, Failure> {
        let text = |item: &Node| item.get(key).and_then(Node::as_str).map(str::to_owned);
        let found: Vec<usize> =
            (0..self.items.len()).filter(|i| text(&self.items[*i]).as_deref() == Some(value)).collect();
        match found[..] {
            [index] => Ok(Some(index as i64)),
            [] if optional => Ok(None),
            _ => Err(Failure::Matches {
                count: found.len(),
                path: self.path.to_string(),
                value: value.to_owned(),
                siblings: self.items.iter().filter_map(text).collect(),
                origin: self.origin,
            }),
        }
    }
}

/// The item that an optional match creates: a map with the value.
pub(crate) fn created(key: &str, value: &str, origin: Origin) -> Node {
    let value = Node { value: Value::String(value.to_owned()), origin };
    Node { value: Value::Map(Map::from_iter([(Key::String(key.to_owned()), value)])), origin }
}
