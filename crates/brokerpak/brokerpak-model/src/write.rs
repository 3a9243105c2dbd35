//! Writing documents: every scalar as it was read, keys in their order.

use go_yaml::{Scalar, plain};
use libyaml::{Emitter, NotWritten, Style};
use serde_json::Value as Json;

use crate::yaml::{Entry, Kind, Node};

/// The text of a document. Aliases and merges have been expanded by the reader.
pub(crate) fn write(node: &Node) -> String {
    // Nothing fails but memory: the events are in order, and there are no tags.
    let written = Emitter::new().and_then(|mut emitter| {
        emit(&mut emitter, node)?;
        emitter.finish()
    });
    debug_assert!(written.is_ok());
    written.unwrap_or_default()
}

fn emit(emitter: &mut Emitter, node: &Node) -> Result<(), NotWritten> {
    match &node.kind {
        Kind::Scalar(text, value) => scalar(emitter, text, value),
        Kind::List(items) => {
            emitter.start_sequence()?;
            items.iter().try_for_each(|item| emit(emitter, item))?;
            emitter.end_sequence()
        }
        Kind::Map(entries) => {
            emitter.start_mapping()?;
            for entry in entries {
                scalar(emitter, &entry.key.0, &entry.key.1)?;
                emit(emitter, &entry.value)?;
            }
            emitter.end_mapping()
        }
    }
}

fn scalar(emitter: &mut Emitter, text: &str, value: &Json) -> Result<(), NotWritten> {
    let Json::String(_) = value else {
        // An absent value is written as null: an empty plain scalar cannot be a key.
        return emitter.scalar(if text.is_empty() { "null" } else { text }, None, Style::Plain);
    };
    let style = match plain(text, true) {
        _ if text.contains('\n') => Style::Literal,
        // `yes` and `no` are texts, except where a boolean is expected: then only without quotes.
        Scalar::String | Scalar::Bool(_) if !is_boolean(text) && text != "<<" => Style::Plain,
        _ => Style::DoubleQuoted,
    };
    emitter.scalar(text, None, style)
}

fn is_boolean(text: &str) -> bool {
    text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false")
}

/// A text.
pub(crate) fn text(value: &str) -> Node {
    Node { kind: Kind::Scalar(value.to_owned(), value.into()), line: 0, column: 0 }
}

/// A list.
pub(crate) fn list(items: Vec<Node>) -> Node {
    Node { kind: Kind::List(items), line: 0, column: 0 }
}

/// A map.
pub(crate) fn map(entries: impl IntoIterator<Item = (String, Node)>) -> Node {
    let entry = |(key, value): (String, Node)| Entry { key: (key.clone(), key.into()), line: 0, column: 0, value };
    Node { kind: Kind::Map(entries.into_iter().map(entry).collect()), line: 0, column: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::read;

    #[test]
    fn what_is_written_is_read_again() {
        let document = "a: 1.10\nb: '1.10'\nc: yes\nd: \"true\"\ne: true\nf: ~\ng:\nh: ''\ni: 2001-01-01\n'1': x\n1: y\n\
            k: \"line\\nline \\n\\n\"\nl: \"tab\\t \\u0001 \\U0001F600\"\nm: [[], {}, ' x ', '# no', 'a: b', '<<', '*x', '!t']\n\
            n: |\n  output x {value = \"${var.y}\"}\n\no: 0x10\np: 0644\nq: .inf\nr: &x {z: 1}\ns: {<<: *x, y: 2}\nt: \"\\n  a\"\n";
        let values = |node: &Node| {
            let mut values = Vec::new();
            flatten(node, &mut values);
            values
        };
        let node = read(document.as_bytes()).unwrap_or_else(|(message, _)| panic!("{message}"));
        let written = write(&node);
        let again = read(written.as_bytes()).unwrap_or_else(|(message, _)| panic!("{message}:\n{written}"));
        assert_eq!(values(&again), values(&node), "{written}");
        assert_eq!(write(&again), written);
    }

    /// All scalars, with their texts except those of null.
    fn flatten(node: &Node, values: &mut Vec<(String, Json)>) {
        let shown = |text: &str, value: &Json| if value.is_null() { String::new() } else { text.to_owned() };
        match &node.kind {
            Kind::Scalar(text, value) => values.push((shown(text, value), value.clone())),
            Kind::List(items) => items.iter().for_each(|item| flatten(item, values)),
            Kind::Map(entries) => {
                for entry in entries {
                    values.push((shown(&entry.key.0, &entry.key.1), entry.key.1.clone()));
                    flatten(&entry.value, values);
                }
            }
        }
    }
}
