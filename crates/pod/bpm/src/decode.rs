//! Typed values from raw nodes, by the rules of Go's yaml.v3, collecting every problem.

use std::rc::Rc;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use problem::{Problem, code};

use crate::yaml::{Content, Entry, Node};

/// Base64 as Go reads it: padded, and without a look at the bits behind the last byte.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical)
        .with_decode_allow_trailing_bits(true),
);

/// Merge keys may multiply a small document; yaml.v3 refuses "excessive aliasing", and so do we.
const MAX_MERGED_ENTRIES: usize = 100_000;

/// Decodes values and collects what is wrong with them.
pub(crate) struct Decoder<'a> {
    file: &'a str,
    /// The process that is being read, for messages.
    pub(crate) process: Option<String>,
    pub(crate) problems: Vec<Problem>,
    merged: usize,
}

impl<'a> Decoder<'a> {
    pub(crate) fn new(file: &'a str) -> Self {
        Decoder { file, process: None, problems: Vec::new(), merged: 0 }
    }

    /// Notes that `what` is wrong at `node`.
    pub(crate) fn wrong(&mut self, node: &Node, what: impl Into<String>) {
        let what = what.into();
        let message = match &self.process {
            Some(process) => format!("process \"{process}\": {what}"),
            None => what,
        };
        self.problems.push(Problem::input(message).code(code::BPM_INVALID).at(node.place(self.file)));
    }

    /// yaml.v3's type error, without the value, which may be a secret.
    fn mismatch(&mut self, node: &Node, field: &str, into: &str) {
        let tag = match node.text() {
            Some(text) if node.is_plain() && node.tag.is_none() => plain_tag(text),
            _ => node.short_tag(),
        };
        self.wrong(node, format!("{field}: cannot unmarshal {tag} into {into}"));
    }

    /// The entries of a mapping: keys as raw text, null keys skipped, merge keys applied below the mapping's own.
    pub(crate) fn entries(&mut self, node: &Node, field: &str, into: &str) -> Vec<(String, Rc<Node>)> {
        let mut out = Vec::new();
        match &node.content {
            Content::Mapping(entries) => self.collect(entries, &mut out, true),
            _ if self.refuse_tag(node, field) || node.is_null() => {}
            _ => self.mismatch(node, field, into),
        }
        out
    }

    fn collect(&mut self, entries: &[Entry], out: &mut Vec<(String, Rc<Node>)>, own: bool) {
        self.refuse_duplicates(entries);
        let mut merges = Vec::new();
        for (key, value) in entries {
            if key.short_tag() == "!!merge" {
                merges.push(value);
            } else if key.text().is_none() {
                self.mismatch(key, "key", "string");
            } else if let (Some(text), false) = (key.text(), key.is_null()) {
                // The mapping's own entries come first, so existing ones win.
                if own || !out.iter().any(|(k, _)| k == text) {
                    out.push((text.to_owned(), Rc::clone(value)));
                }
            }
        }
        self.merged += if own { 0 } else { entries.len() };
        for value in merges {
            self.merge(value, out);
        }
    }

    fn merge(&mut self, value: &Node, out: &mut Vec<(String, Rc<Node>)>) {
        if self.merged > MAX_MERGED_ENTRIES {
            return self.wrong(value, "document contains excessive aliasing");
        }
        match &value.content {
            Content::Mapping(entries) => self.collect(entries, out, false),
            Content::Sequence(items) if items.iter().all(|i| matches!(i.content, Content::Mapping(_))) => {
                for item in items {
                    self.merge(item, out);
                }
            }
            _ => self.wrong(value, "map merge requires map or sequence of maps as the value"),
        }
    }

    fn refuse_duplicates(&mut self, entries: &[Entry]) {
        let mut seen: std::collections::HashMap<&str, u32> = std::collections::HashMap::new();
        let mut found = Vec::new();
        for (key, _) in entries {
            let Some(text) = key.text() else { continue };
            match seen.get(text) {
                Some(line) => found.push((key, format!("mapping key \"{text}\" already defined at line {line}"))),
                None => {
                    seen.insert(text, key.line());
                }
            }
        }
        for (key, what) in found {
            self.wrong(key, what);
        }
    }

    /// The elements of a sequence without its nulls.
    pub(crate) fn items(&mut self, node: &Node, field: &str, into: &str) -> Vec<Rc<Node>> {
        match &node.content {
            Content::Sequence(items) => items.iter().filter(|i| !i.is_null()).map(Rc::clone).collect(),
            _ if self.refuse_tag(node, field) || node.is_null() => Vec::new(),
            _ => {
                self.mismatch(node, field, into);
                Vec::new()
            }
        }
    }

    /// A scalar's raw text, whatever it looks like; `None` where it is null.
    pub(crate) fn string(&mut self, node: &Node, field: &str) -> Option<String> {
        if self.refuse_tag(node, field) || node.is_null() {
            return None;
        }
        let Some(text) = node.text() else {
            self.mismatch(node, field, "string");
            return None;
        };
        let text = if node.short_tag() == "!!binary" { self.binary(text, node, field)? } else { text.to_owned() };
        self.refuse_nul(&text, node, field);
        Some(text)
    }

    /// What base64 stands for.
    fn binary(&mut self, text: &str, node: &Node, field: &str) -> Option<String> {
        let text: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
        let Ok(bytes) = BASE64.decode(text) else {
            self.wrong(node, format!("{field}: !!binary value contains invalid base64 data"));
            return None;
        };
        let text = String::from_utf8(bytes).ok();
        if text.is_none() {
            self.wrong(node, format!("{field}: the bytes of a !!binary value must be UTF-8"));
        }
        text
    }

    /// Whether a scalar has an explicit tag that its text contradicts (`!!int x`), which is then reported.
    fn refuse_tag(&mut self, node: &Node, field: &str) -> bool {
        let (Some(tag @ ("!!null" | "!!bool" | "!!int" | "!!float")), Some(text)) = (node.tag.as_deref(), node.text())
        else {
            return false;
        };
        let found = plain_tag(text);
        let agrees = found == tag || (found == "!!int" && tag == "!!float");
        if !agrees {
            self.wrong(node, format!("{field}: cannot decode {found} as a {tag}"));
        }
        !agrees
    }

    /// Everything that is text here becomes a path, an argument or a variable, where the kernel takes a NUL for the end.
    pub(crate) fn refuse_nul(&mut self, text: &str, node: &Node, field: &str) {
        if text.contains('\0') {
            self.wrong(node, format!("{field}: must not hold a NUL character"));
        }
    }

    /// Raw texts; null elements are dropped.
    pub(crate) fn strings(&mut self, node: &Node, field: &str) -> Vec<String> {
        let items = self.items(node, field, "[]string");
        items.iter().filter_map(|item| self.string(item, field)).collect()
    }

    /// yaml.v3 accepts YAML 1.1's booleans too where a bool is wanted, even quoted.
    pub(crate) fn boolean(&mut self, node: &Node, field: &str) -> bool {
        let plain = node.tag.as_deref().map_or(node.is_plain(), |tag| tag == "!!bool");
        match node.text() {
            _ if self.refuse_tag(node, field) || node.is_null() => false,
            Some("true" | "True" | "TRUE") if plain => true,
            Some("false" | "False" | "FALSE") if plain => false,
            Some("y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON") => true,
            Some("n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF") => false,
            _ => {
                self.mismatch(node, field, "bool");
                false
            }
        }
    }

    /// A plain number; `into` is Go's name of the type, whose range is `min..=max`.
    pub(crate) fn integer(&mut self, node: &Node, field: &str, into: &str, min: i128, max: i128) -> Option<i128> {
        if self.refuse_tag(node, field) || node.is_null() {
            return None;
        }
        let plain = node.tag.as_deref().map_or(node.is_plain(), |tag| matches!(tag, "!!int" | "!!float"));
        let number = node.text().filter(|_| plain).and_then(number);
        let number = number.filter(|n| (min..=max).contains(n));
        if number.is_none() {
            self.mismatch(node, field, into);
        }
        number
    }
}

/// The tag to which yaml.v3 resolves a plain scalar.
fn plain_tag(text: &str) -> &'static str {
    let is_whole = |n: i128| n.to_string() == text.trim_start_matches('+').replace('_', "");
    let is_prefixed = text.trim_start_matches(['-', '+']).starts_with('0') && !text.contains(['.', 'e', 'E']);
    match number(text) {
        Some(n) if is_whole(n) || is_prefixed => "!!int",
        Some(_) => "!!float",
        None => crate::yaml::word_tag(text),
    }
}

/// A number as yaml.v3 reads it into an integer: Go's literals (so `010` is octal) with underscores, or a float,
/// whose fraction is cut off.
fn number(text: &str) -> Option<i128> {
    let plain = text.replace('_', "");
    let (sign, digits) = match plain.as_bytes().first()? {
        b'-' => (-1, &plain[1..]),
        b'+' => (1, &plain[1..]),
        _ => (1, plain.as_str()),
    };
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    let (radix, rest) = match digits.get(..2).map(str::to_ascii_lowercase).as_deref() {
        Some("0x") => (16, &digits[2..]),
        Some("0o") => (8, &digits[2..]),
        Some("0b") => (2, &digits[2..]),
        _ if digits.len() > 1 && digits.starts_with('0') && digits.bytes().all(|b| b.is_ascii_digit()) => {
            (8, &digits[1..])
        }
        _ => (10, digits),
    };
    if let (false, Ok(n)) = (rest.starts_with(['+', '-']), i128::from_str_radix(rest, radix)) {
        return Some(sign * n);
    }
    let float: f64 = digits.parse().ok()?;
    float.is_finite().then_some(sign * float as i128)
}

/// The entries of a mapping by key.
pub(crate) struct Fields(pub(crate) Vec<(String, Rc<Node>)>);

impl Fields {
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn numbers_are_read_as_go_does() {
        let cases = [
            ("1024", Some(1024)),
            ("1_024", Some(1024)),
            ("0x10", Some(16)),
            ("0o17", Some(15)),
            ("010", Some(8)),
            ("0b11", Some(3)),
            ("1e3", Some(1000)),
            ("1.9", Some(1)),
            ("-5", Some(-5)),
            ("+5", Some(5)),
            ("0", Some(0)),
            ("08", Some(8)),
            ("inf", None),
            ("0x", None),
            ("--5", None),
            ("abc", None),
            ("", None),
        ];
        for (text, value) in cases {
            assert_eq!(number(text), value, "{text:?}");
        }
    }
}
