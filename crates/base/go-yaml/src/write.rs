//! Writing a document (`yaml.v2`, encode.go).

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use base64::Engine as _;
use libyaml::{Emitter, NotWritten, Style};

use crate::node::{Key, Map, Node, Value};
use crate::number;
use crate::resolve::{Scalar, plain};
use crate::sort;

const PRIVATE_USE: RangeInclusive<char> = '\u{e000}'..='\u{f8ff}';

/// Long base64 breaks into lines of this length.
const BASE64_LINE: usize = 70;

/// The document of a node: block style, keys sorted, a line feed at its end.
pub fn write(node: &Node) -> String {
    let backslash = unused_character(node);
    // Nothing fails but memory: the events are in order, and tags are valid.
    let written = Emitter::new().and_then(|emitter| {
        let mut writer = Writer { emitter, backslash };
        writer.value(&node.value)?;
        writer.emitter.finish()
    });
    debug_assert!(written.is_ok());
    written.unwrap_or_default().replace(backslash, "\\")
}

/// A character for private use that no string of the document has.
fn unused_character(node: &Node) -> char {
    fn collect(node: &Node, used: &mut BTreeSet<char>) {
        let mut add = |text: &str| used.extend(text.chars().filter(|c| PRIVATE_USE.contains(c)));
        match &node.value {
            Value::String(text) => add(text),
            Value::List(items) => items.iter().for_each(|item| collect(item, used)),
            Value::Map(map) => {
                map.iter().filter_map(|(key, _)| key.as_str()).for_each(&mut add);
                map.iter().for_each(|(_, value)| collect(value, used));
            }
            _ => {}
        }
    }
    let mut used = BTreeSet::new();
    collect(node, &mut used);
    PRIVATE_USE.into_iter().find(|c| !used.contains(c)).unwrap_or(*PRIVATE_USE.end())
}

type Result = std::result::Result<(), NotWritten>;

struct Writer {
    emitter: Emitter,
    /// Stands for the backslash of an escape that the emitter does not write itself.
    backslash: char,
}

impl Writer {
    fn value(&mut self, value: &Value) -> Result {
        match value {
            Value::Null => self.plain("null"),
            Value::Bool(b) => self.plain(if *b { "true" } else { "false" }),
            Value::Int(n) => self.plain(&n.to_string()),
            Value::Uint(n) => self.plain(&n.to_string()),
            Value::Float(f) => self.plain(&number::format(*f)),
            Value::String(text) => self.string(text),
            Value::Binary(bytes) => self.binary(bytes),
            Value::List(items) => {
                self.emitter.start_sequence()?;
                for item in items {
                    self.value(&item.value)?;
                }
                self.emitter.end_sequence()
            }
            Value::Map(map) => self.map(map),
        }
    }

    fn map(&mut self, map: &Map) -> Result {
        self.emitter.start_mapping()?;
        let mut entries: Vec<(&Key, &Node)> = map.iter().collect();
        sort::sort(&mut entries);
        for (key, node) in entries {
            self.value(&key.value())?;
            self.value(&node.value)?;
        }
        self.emitter.end_mapping()
    }

    fn plain(&mut self, text: &str) -> Result {
        self.emitter.scalar(text, None, Style::Plain)
    }

    fn string(&mut self, text: &str) -> Result {
        // yaml.v2 escapes what is beyond the basic plane, libyaml does not.
        if text.chars().any(|c| c > '\u{ffff}') {
            let escaped = |c: char| match c {
                '\u{10000}'.. => format!("{}U{:08X}", self.backslash, u32::from(c)),
                _ => c.to_string(),
            };
            let text: String = text.chars().map(escaped).collect();
            return self.emitter.scalar(&text, None, Style::DoubleQuoted);
        }
        let style = if text.contains('\n') {
            Style::Literal
        } else if plain(text, true) == Scalar::String && !is_base_60(text) && !is_other_elsewhere(text) {
            Style::Plain
        } else {
            Style::DoubleQuoted
        };
        self.emitter.scalar(text, None, style)
    }

    fn binary(&mut self, bytes: &[u8]) -> Result {
        let encoded = base64::engine::general_purpose::STANDARD.encode(bytes);
        let mut text = encoded.clone();
        let mut style = Style::DoubleQuoted;
        if encoded.len() >= BASE64_LINE {
            let lines: Vec<&str> = (0..encoded.len())
                .step_by(BASE64_LINE)
                .map(|from| &encoded[from..encoded.len().min(from + BASE64_LINE)])
                .collect();
            text = lines.join("\n") + "\n";
            style = Style::Literal;
        } else if !text.is_empty() {
            style = Style::Plain;
        }
        self.emitter.scalar(&text, Some(c"tag:yaml.org,2002:binary"), style)
    }
}

/// Whether a text that yaml.v2 writes and reads as a string without quotes is something else to other readers: `<<`, a merge to itself;
/// `:a`, `1,000` and `.iNf`, a symbol and numbers to Ruby's.
fn is_other_elsewhere(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let is_of =
        |text: &str, digit: fn(&u8) -> bool| text.bytes().all(|byte| digit(&byte) || matches!(byte, b',' | b'_'));
    let is_number = match unsigned.split_once(['x', 'b']) {
        Some(("0", digits)) => is_of(digits, u8::is_ascii_hexdigit),
        _ => {
            let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
            is_of(whole, u8::is_ascii_digit)
                && fraction.bytes().all(|byte| byte.is_ascii_digit() || b"eE+-".contains(&byte))
        }
    };
    text == "<<"
        || (text.starts_with(':') && text.len() > 1)
        || (is_number && unsigned.starts_with(|c: char| c.is_ascii_digit()) && unsigned.contains([',', '_']))
        || [".inf", ".nan"].iter().any(|word| unsigned.eq_ignore_ascii_case(word))
}

/// `^[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?$`: other readers take it for a number with the base 60.
fn is_base_60(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, fraction) = unsigned.split_once('.').map_or((unsigned, None), |(whole, rest)| (whole, Some(rest)));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    let mut parts = whole.split(':');
    let first = parts.next().unwrap_or_default();
    let rest: Vec<&[u8]> = parts.map(str::as_bytes).collect();
    first.starts_with(|c: char| c.is_ascii_digit())
        && is_number(first)
        && !rest.is_empty()
        && rest.iter().all(|part| matches!(part, [b'0'..=b'9'] | [b'0'..=b'5', b'0'..=b'9']))
        && fraction.is_none_or(is_number)
}
