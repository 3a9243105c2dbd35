//! References in strings: `\(\( ?(!?[-/.\w\pL]+) ?\)\)`.

use std::collections::BTreeSet;
use std::ops::Range;

use go_yaml::{Node, Value};

/// A reference in a string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reference {
    /// The bytes that it takes, parentheses included.
    pub(crate) range: Range<usize>,
    /// The name, without `!` and blanks.
    pub(crate) name: String,
}

/// The names of a string's references, in order.
pub fn references(text: &str) -> impl Iterator<Item = String> {
    find(text).into_iter().map(|reference| reference.name)
}

/// Adds the variables that a part of a document refers to, up to their first dots.
pub fn referred(node: &Node, names: &mut BTreeSet<String>) {
    let mut add = |text: &str| names.extend(references(text).map(|name| split(&name).0.to_owned()));
    match &node.value {
        Value::String(text) => add(text),
        Value::List(items) => items.iter().for_each(|item| referred(item, names)),
        Value::Map(map) => {
            map.iter().filter_map(|(key, _)| key.as_str()).for_each(add);
            map.iter().for_each(|(_, node)| referred(node, names));
        }
        _ => {}
    }
}

/// The references of a string, in order.
pub(crate) fn find(text: &str) -> Vec<Reference> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find("((").map(|at| from + at) {
        match reference(text, at) {
            Some(reference) => {
                from = reference.range.end;
                found.push(reference);
            }
            None => from = at + 1,
        }
    }
    found
}

/// The reference that begins at a byte.
fn reference(text: &str, at: usize) -> Option<Reference> {
    let inner = &text[at + 2..];
    let trimmed = inner.strip_prefix(' ').unwrap_or(inner);
    let name = trimmed.strip_prefix('!').unwrap_or(trimmed);
    let length = name.find(|c: char| !is_name(c)).unwrap_or(name.len());
    let (name, rest) = name.split_at(length);
    let closing = rest.strip_prefix(' ').unwrap_or(rest);
    let end = closing.strip_prefix("))").map(|after| text.len() - after.len())?;
    (!name.is_empty()).then(|| Reference { range: at..end, name: name.to_owned() })
}

/// The name in the first `{{name}}` of a text. Other tools, and early releases of the CLI, write references so.
pub fn in_braces(text: &str) -> Option<&str> {
    text.match_indices("{{").find_map(|(at, braces)| {
        let name = text[at + braces.len()..].split_once("}}")?.0.trim();
        (!name.is_empty() && name.chars().all(is_name)).then_some(name)
    })
}

fn is_name(c: char) -> bool {
    matches!(c, '-' | '/' | '.' | '_' | '0'..='9') || c.is_alphabetic()
}

/// The name of the variable, and the path behind the first dot.
pub(crate) fn split(name: &str) -> (&str, Option<&str>) {
    name.split_once('.').map_or((name, None), |(variable, path)| (variable, Some(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found() {
        for (text, names) in [
            ("((a))", vec!["a"]),
            ("(( a ))", vec!["a"]),
            ("((!a))", vec!["a"]),
            ("x((a))-((b.c))y", vec!["a", "b.c"]),
            ("(((a)))", vec!["a"]),
            ("((/dir/dep/a))", vec!["/dir/dep/a"]),
            ("((é))", vec!["é"]),
            ("((a b)) ((  a)) ((a:b)) ((!!a)) ((! a)) (()) ((a)", vec![]),
            ("((((a))", vec!["a"]),
        ] {
            assert_eq!(references(text).collect::<Vec<_>>(), names, "{text}");
        }
    }

    #[test]
    fn names_in_braces_are_found() {
        assert_eq!(in_braces("port: {{port}}"), Some("port"));
        assert_eq!(in_braces("{a: {{ /dir/port.x }}}"), Some("/dir/port.x"));
        assert_eq!(in_braces("a: {{}}, b: {{ .x y }}, c: {{d}}"), Some("d"));
        assert_eq!(in_braces("a: {b: {c: 1}}, {{d"), None);
    }
}
