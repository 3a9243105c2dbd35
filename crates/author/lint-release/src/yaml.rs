//! YAML as it is written, with places.

use std::rc::Rc;

use go_yaml::{Raw, RawKind, Source};

/// A key and its value.
pub(crate) type Entry = (Rc<Raw>, Rc<Raw>);

/// The first document of a text; `None` if there is none, or the text is not YAML.
pub(crate) fn read(text: &[u8]) -> Option<Rc<Raw>> {
    go_yaml::read_raw(text, Source(0)).ok().flatten()
}

/// The node itself, if this is an alias.
pub(crate) fn target(node: &Raw) -> &Raw {
    match &node.kind {
        RawKind::Alias(target) => target,
        _ => node,
    }
}

/// The text of a scalar.
pub(crate) fn text(node: &Raw) -> Option<&str> {
    match &target(node).kind {
        RawKind::Scalar { text, .. } => Some(text),
        _ => None,
    }
}

/// The text of a scalar without quotes and tags.
pub(crate) fn plain(node: &Raw) -> Option<&str> {
    match &target(node).kind {
        RawKind::Scalar { text, is_plain: true, .. } => Some(text),
        _ => None,
    }
}

/// Whether a node is null, as YAML writes it.
pub(crate) fn is_null(node: &Raw) -> bool {
    matches!(plain(node), Some("" | "~" | "null" | "Null" | "NULL"))
}

/// The entries of a mapping; none for other nodes.
pub(crate) fn entries(node: &Raw) -> &[Entry] {
    match &target(node).kind {
        RawKind::Mapping(entries) => entries,
        _ => &[],
    }
}

/// The items of a list; none for other nodes.
pub(crate) fn items(node: &Raw) -> &[Rc<Raw>] {
    match &target(node).kind {
        RawKind::Sequence(items) => items,
        _ => &[],
    }
}

/// The value of a key.
pub(crate) fn get<'n>(node: &'n Raw, key: &str) -> Option<&'n Raw> {
    entries(node).iter().rev().find(|(name, _)| text(name) == Some(key)).map(|(_, value)| &**value)
}

/// Does something with every mapping of a document, outermost first.
pub(crate) fn each_mapping<'n>(node: &'n Raw, visit: &mut dyn FnMut(&'n [Entry])) {
    match &node.kind {
        RawKind::Mapping(entries) => {
            visit(entries);
            entries.iter().for_each(|(_, value)| each_mapping(value, visit));
        }
        RawKind::Sequence(items) => items.iter().for_each(|item| each_mapping(item, visit)),
        // What it stands for is visited where it is.
        RawKind::Alias(_) | RawKind::Scalar { .. } => {}
    }
}
