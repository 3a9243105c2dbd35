//! Reading a document node by node, with messages that name the place.

use problem::{Place, Problem, Step, code};
use value::{Map, Value};

use super::FORMAT;

/// A node of the document, for messages that say where it is wrong.
pub(super) struct Node<'a> {
    pub(super) value: &'a Value,
    pub(super) path: Vec<Step>,
    pub(super) file: &'a str,
}

impl<'a> Node<'a> {
    /// A problem with this node.
    pub(super) fn problem(&self, what: &str) -> Problem {
        let name = match self.path.last() {
            Some(Step::Key(key)) => format!("'{key}'"),
            Some(Step::Index(index)) => format!("element {index}"),
            None => "the document".to_owned(),
        };
        Problem::input(format!("{}: {name} {what}", FORMAT.name))
            .code(code::DOCUMENT_INVALID)
            .at(Place::node(self.file, self.path.clone()))
    }

    pub(super) fn wrong<T>(&self, key: &str, what: &str) -> problem::Result<T> {
        let mut path = self.path.clone();
        path.push(key.into());
        Err(Node { value: self.value, path, file: self.file }.problem(what).into())
    }

    /// Refuses all other keys.
    pub(super) fn only(&self, known: &[&str]) -> problem::Result<()> {
        let Some(map) = self.value.as_map() else { return Err(self.problem("is not a mapping").into()) };
        let unknown = map.iter().find(|(key, _)| !key.as_str().is_some_and(|key| known.contains(&key)));
        match unknown {
            None => Ok(()),
            Some((key, _)) => self.wrong(&key.scalar_to_s().unwrap_or_default(), "is unknown"),
        }
    }

    pub(super) fn child(&self, key: &str) -> problem::Result<Node<'a>> {
        let Some(value) = self.value.get(key) else { return self.wrong(key, "is missing") };
        let mut path = self.path.clone();
        path.push(key.into());
        Ok(Node { value, path, file: self.file })
    }

    pub(super) fn text(&self, key: &str) -> problem::Result<String> {
        match self.child(key)?.value.as_str() {
            Some(text) => Ok(text.to_owned()),
            None => self.wrong(key, "is not a string"),
        }
    }

    pub(super) fn number(&self, key: &str) -> problem::Result<u32> {
        match self.child(key)?.value.as_int().and_then(|n| u32::try_from(n).ok()) {
            Some(number) => Ok(number),
            None => self.wrong(key, "is not a number"),
        }
    }

    pub(super) fn items(&self, key: &str) -> problem::Result<Vec<Node<'a>>> {
        let child = self.child(key)?;
        let Some(items) = child.value.as_array() else { return self.wrong(key, "is not a list") };
        Ok(items
            .iter()
            .enumerate()
            .map(|(i, value)| {
                let mut path = child.path.clone();
                path.push(i.into());
                Node { value, path, file: self.file }
            })
            .collect())
    }

    /// Keys and values of a Hash of Strings.
    pub(super) fn text_pairs(&self) -> problem::Result<Vec<(String, String)>> {
        let pairs = self.value.as_map().map(Map::iter).into_iter().flatten();
        pairs
            .map(|(key, _)| {
                let key = key.scalar_to_s().unwrap_or_default();
                Ok((key.clone(), self.text(&key)?))
            })
            .collect()
    }

    pub(super) fn texts(&self, key: &str) -> problem::Result<Vec<String>> {
        let items = self.items(key)?;
        let texts: Option<Vec<String>> = items.iter().map(|n| n.value.as_str().map(str::to_owned)).collect();
        texts.map_or_else(|| self.wrong(key, "is not a list of strings"), Ok)
    }
}
