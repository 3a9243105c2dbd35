//! Writing JSON: the order of keys and the texts of numbers stay, and nothing is escaped for HTML.

use crate::document::{Data, Node, Object};

/// An object with two spaces of indentation and a newline at its end.
pub fn pretty(members: &Object) -> Vec<u8> {
    let mut out = String::new();
    write_object(&mut out, members, Some(0));
    out.push('\n');
    out.into_bytes()
}

/// An object in one line, without spaces.
pub fn compact(members: &Object) -> String {
    let mut out = String::new();
    write_object(&mut out, members, None);
    out
}

/// Bytes as the text of a JSON string: a U+FFFD for each byte that is not UTF-8, as Go writes it.
pub fn lossy(text: &[u8]) -> String {
    let mut out = String::with_capacity(text.len());
    for chunk in text.utf8_chunks() {
        out.push_str(chunk.valid());
        out.extend(std::iter::repeat_n('\u{FFFD}', chunk.invalid().len()));
    }
    out
}

/// `depth` is the depth of the indentation; `None` is one line.
fn write_node(out: &mut String, node: &Node, depth: Option<usize>) {
    match &node.data {
        Data::Null => out.push_str("null"),
        Data::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Data::Number(text) => out.push_str(text),
        Data::String(text) => write_string(out, text),
        Data::List(items) => enclosed(out, ('[', ']'), items, depth, write_node),
        Data::Object(members) => write_object(out, members, depth),
    }
}

fn write_object(out: &mut String, members: &Object, depth: Option<usize>) {
    enclosed(out, ('{', '}'), members, depth, |out, (key, node), depth| {
        write_string(out, key);
        out.push_str(if depth.is_some() { ": " } else { ":" });
        write_node(out, node, depth);
    });
}

fn enclosed<T>(
    out: &mut String,
    (start, end): (char, char),
    items: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator>,
    depth: Option<usize>,
    mut write: impl FnMut(&mut String, T, Option<usize>),
) {
    let items = items.into_iter();
    let is_empty = items.len() == 0;
    let inner = depth.map(|depth| depth + 1);
    out.push(start);
    for (index, item) in items.enumerate() {
        if index > 0 {
            out.push(',');
        }
        indent(out, inner);
        write(out, item, inner);
    }
    if !is_empty {
        indent(out, depth);
    }
    out.push(end);
}

fn indent(out: &mut String, depth: Option<usize>) {
    if let Some(depth) = depth {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", depth));
    }
}

fn write_string(out: &mut String, text: &str) {
    // Serializing a string into memory cannot fail.
    out.push_str(&serde_json::to_string(text).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::parse;

    #[test]
    fn order_numbers_and_characters_stay() {
        let text =
            "{\"z\":1.50,\"a\":[1e400,-0,9007199254740993,true,null,[],{}],\"<&>\\u2028é\":\"\\\"\\\\\\n\\u0001/\"}";
        let node = parse("document", "d", text.as_bytes()).unwrap();
        let members = node.as_object().unwrap();
        assert_eq!(
            String::from_utf8(pretty(members)).unwrap(),
            "{\n  \"z\": 1.50,\n  \"a\": [\n    1e400,\n    -0,\n    9007199254740993,\n    true,\n    null,\n    [],\n    {}\n  ],\n  \"<&>\u{2028}é\": \"\\\"\\\\\\n\\u0001/\"\n}\n"
        );
        assert_eq!(pretty(&Object::new()), b"{}\n");
    }

    #[test]
    fn each_byte_that_is_not_utf8_is_replaced() {
        assert_eq!(lossy(b"a\xFF\xE2\x82b"), "a\u{FFFD}\u{FFFD}\u{FFFD}b");
    }
}
