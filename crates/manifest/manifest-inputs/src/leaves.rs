//! The paths of a document's scalars.

use std::collections::HashMap;

use go_yaml::{Key, Node, Origin, Value};
use ops_file::{Path, Token};

/// The key by which paths name the items of a list.
const NAME: &str = "name";

/// The scalars and empty collections in a node, with the paths of ops files that lead to them; `path` leads to the node.
pub(crate) fn of(node: &Node, path: Path) -> Vec<(Path, Origin)> {
    let mut found = Vec::new();
    collect(node, path, &mut found);
    found
}

fn collect(node: &Node, path: Path, found: &mut Vec<(Path, Origin)>) {
    match &node.value {
        Value::List(items) if !items.is_empty() => {
            let mut counts: HashMap<&str, usize> = HashMap::new();
            items.iter().filter_map(name).for_each(|name| *counts.entry(name).or_default() += 1);
            for (index, item) in items.iter().enumerate() {
                let is_only = |name: &&str| counts.get(name) == Some(&1);
                let token = match name(item).filter(is_only) {
                    Some(value) => Token::Match {
                        key: NAME.to_owned(),
                        value: value.to_owned(),
                        optional: false,
                        modifiers: Vec::new(),
                    },
                    None => Token::Index { index: i64::try_from(index).unwrap_or(i64::MAX), modifiers: Vec::new() },
                };
                collect(item, path.child(token), found);
            }
        }
        Value::Map(map) if !map.is_empty() => {
            for (key, value) in map.iter() {
                collect(value, path.child(key_token(key)), found);
            }
        }
        _ => found.push((path, node.origin)),
    }
}

/// The name of an item: `name=web` leads to it if no other item has the name.
fn name(item: &Node) -> Option<&str> {
    item.get(NAME).and_then(Node::as_str)
}

fn key_token(key: &Key) -> Token {
    let key = match key {
        Key::String(text) => text.clone(),
        other => go_yaml::write(&Node::new(other.value())).trim_end().to_owned(),
    };
    Token::Key { key, optional: false }
}

#[cfg(test)]
mod tests {
    use go_yaml::{Source, read};

    use super::*;

    #[test]
    fn paths_are_those_of_ops_files() {
        let text = "a: {b/c: 1, d: []}\nl: [{name: x, v: 1}, {name: y, v: 2}, {name: y}, [3]]\n1: {}\n";
        let document = read(text.as_bytes(), Source(0)).unwrap();
        let found = of(&document, Path::default());
        let paths: Vec<String> = found.iter().map(|(path, _)| path.to_string()).collect();
        let expected =
            ["/a/b~1c", "/a/d", "/l/name=x/name", "/l/name=x/v", "/l/1/name", "/l/1/v", "/l/2/name", "/l/3/0", "/1"];
        assert_eq!(paths, expected);
        assert_eq!((found[3].1.line, found[3].1.column), (2, 18));
    }
}
