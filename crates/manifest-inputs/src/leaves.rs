//! The paths of a document's scalars.

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
            for (index, item) in items.iter().enumerate() {
                collect(item, path.child(item_token(items, index)), found);
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

/// `name=web` if exactly one item has this name, else its index.
fn item_token(items: &[Node], index: usize) -> Token {
    let name = |item: &Node| item.get(NAME).and_then(Node::as_str).map(str::to_owned);
    match name(&items[index]) {
        Some(value) if items.iter().filter(|item| name(item).as_ref() == Some(&value)).count() == 1 => {
            Token::Match { key: NAME.to_owned(), value, optional: false, modifiers: Vec::new() }
        }
        _ => Token::Index { index: i64::try_from(index).unwrap_or(i64::MAX), modifiers: Vec::new() },
    }
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
