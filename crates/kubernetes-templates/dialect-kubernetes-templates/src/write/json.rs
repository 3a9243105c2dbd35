//! JSON with two spaces for each level, or without any.

use super::out::Out;
use crate::node::{Node, Value};

pub(super) fn write(out: &mut Out, node: &Node, depth: usize) {
    write_in(out, node, Some(depth));
}

pub(super) fn compact(out: &mut Out, node: &Node) {
    write_in(out, node, None);
}

/// `depth` is `None` for JSON without spaces.
fn write_in(out: &mut Out, node: &Node, depth: Option<usize>) {
    let inner = depth.map(|depth| depth + 1);
    match &node.value {
        Value::Null => out.push_str("null"),
        Value::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        Value::Number(text) => out.push_str(text),
        Value::String(text) => string(out, text),
        Value::List(items) if items.is_empty() => out.push_str("[]"),
        Value::Map(map) if map.is_empty() => out.push_str("{}"),
        Value::List(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                separate(out, at, inner);
                write_in(out, item, inner);
            }
            line(out, depth);
            out.push(']');
        }
        Value::Map(map) => {
            out.push('{');
            for (at, entry) in map.iter().enumerate() {
                separate(out, at, inner);
                string(out, &entry.key);
                out.push_str(if depth.is_some() { ": " } else { ":" });
                write_in(out, &entry.node, inner);
            }
            line(out, depth);
            out.push('}');
        }
    }
}

fn separate(out: &mut Out, at: usize, depth: Option<usize>) {
    if at > 0 {
        out.push(',');
    }
    line(out, depth);
}

fn line(out: &mut Out, depth: Option<usize>) {
    if let Some(depth) = depth {
        out.push('\n');
        indent(out, depth);
    }
}

pub(super) fn indent(out: &mut Out, depth: usize) {
    for _ in 0..depth {
        out.push_str("  ");
    }
}

/// A string in double quotes, as JSON and YAML both read it.
pub(super) fn string(out: &mut Out, text: &str) {
    out.push('"');
    let mut start = 0;
    for (at, c) in text.char_indices() {
        let short = match c {
            '"' => "\\\"",
            '\\' => "\\\\",
            '\n' => "\\n",
            '\r' => "\\r",
            '\t' => "\\t",
            // What YAML's parsers do not take as it is.
            '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => {
                ""
            }
            _ => continue,
        };
        out.push_str(&text[start..at]);
        start = at + c.len_utf8();
        out.push_str(short);
        if short.is_empty() {
            if out.is_over() {
                return;
            }
            out.push_str("\\u");
            let digits = [12, 8, 4, 0].map(|shift| (u32::from(c) >> shift) & 15);
            digits.iter().filter_map(|digit| char::from_digit(*digit, 16)).for_each(|digit| out.push(digit));
        }
    }
    out.push_str(&text[start..]);
    out.push('"');
}
