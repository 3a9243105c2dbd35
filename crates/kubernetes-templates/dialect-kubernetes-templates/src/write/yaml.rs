//! YAML in block style.

use go_yaml::Scalar;

use super::json::{self, indent};
use super::out::Out;
use crate::node::{Map, Node, Value};

/// Parsers take no longer key without `?` before it (1,024 characters, escapes included).
const LONGEST_KEY: usize = 1000;

pub(super) fn write(out: &mut Out, node: &Node) {
    match &node.value {
        Value::Map(map) if !map.is_empty() => block_map(out, map, 0, true),
        Value::List(items) if !items.is_empty() => block_list(out, items, 0, true),
        // A scalar alone.
        _ => scalar(out, node, 1),
    }
}

/// The entries of a map, one below the other; `is_started` if the first line has its indentation.
fn block_map(out: &mut Out, map: &Map, depth: usize, is_started: bool) {
    for (at, entry) in map.iter().enumerate() {
        if at > 0 || !is_started {
            out.push('\n');
            indent(out, depth);
        }
        let start = out.len();
        string(out, &entry.key);
        if out.len() - start > LONGEST_KEY {
            out.insert_str(start, "? ");
            out.push('\n');
            indent(out, depth);
        }
        out.push(':');
        below(out, &entry.node, depth, depth);
    }
}

fn block_list(out: &mut Out, items: &[Node], depth: usize, is_started: bool) {
    for (at, item) in items.iter().enumerate() {
        if at > 0 || !is_started {
            out.push('\n');
            indent(out, depth);
        }
        out.push('-');
        match &item.value {
            Value::Map(map) if !map.is_empty() => {
                out.push(' ');
                block_map(out, map, depth + 1, true);
            }
            Value::List(items) if !items.is_empty() => {
                out.push(' ');
                block_list(out, items, depth + 1, true);
            }
            _ => below(out, item, depth, depth),
        }
    }
}

/// A value behind `key:` or `-`; a list of a map has the map's own indentation.
fn below(out: &mut Out, node: &Node, depth: usize, list: usize) {
    match &node.value {
        Value::Map(map) if !map.is_empty() => block_map(out, map, depth + 1, false),
        Value::List(items) if !items.is_empty() => block_list(out, items, list, false),
        _ => {
            out.push(' ');
            scalar(out, node, depth + 1);
        }
    }
}

fn scalar(out: &mut Out, node: &Node, depth: usize) {
    match &node.value {
        Value::Null => out.push_str("null"),
        Value::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        Value::Number(text) => out.push_str(text),
        Value::List(_) => out.push_str("[]"),
        Value::Map(_) => out.push_str("{}"),
        Value::String(text) if is_literal(text) => {
            out.push_str(if text.ends_with('\n') { "|" } else { "|-" });
            for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
                out.push('\n');
                if !line.is_empty() {
                    indent(out, depth);
                    out.push_str(line);
                }
            }
        }
        Value::String(text) => string(out, text),
    }
}

fn string(out: &mut Out, text: &str) {
    if is_plain(text) {
        out.push_str(text);
    } else {
        json::string(out, text);
    }
}

/// Whether a text without quotes is a string for every reader: it begins with a letter, `/` or `$`, has no character that may
/// begin something else, and is no word with a meaning.
fn is_plain(text: &str) -> bool {
    let bytes = text.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else { return false };
    let has_text_only = || {
        bytes.iter().enumerate().all(|(at, byte)| match byte {
            b'a'..=b'z'
            | b'A'..=b'Z'
            | b'0'..=b'9'
            | b'_'
            | b'-'
            | b'.'
            | b'/'
            | b'@'
            | b'+'
            | b'='
            | b'$'
            | b'('
            | b')' => true,
            b' ' => bytes.get(at + 1).is_some_and(|next| next.is_ascii_alphanumeric()),
            b':' => bytes.get(at + 1).is_some_and(|next| *next != b' '),
            _ => false,
        })
    };
    (first.is_ascii_alphabetic() || matches!(first, b'/' | b'$'))
        && !matches!(last, b':' | b' ')
        && has_text_only()
        && go_yaml::plain(text, true) == Scalar::String
}

/// Whether a text of several lines can be written line by line below `|`.
fn is_literal(text: &str) -> bool {
    let Some(first) = text.split('\n').next().filter(|first| first.len() < text.len()) else { return false };
    let is_printable = |c: char| match c {
        '\n' | '\t' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'.. => {
            !matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}')
        }
        _ => false,
    };
    !first.is_empty()
        && !first.starts_with([' ', '\t'])
        && !text.ends_with("\n\n")
        && text
            .split('\n')
            .all(|line| !line.starts_with('\t') && (line.is_empty() || !line.trim_end_matches(' ').is_empty()))
        && text.chars().all(is_printable)
}
