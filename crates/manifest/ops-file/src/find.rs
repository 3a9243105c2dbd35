//! Reading the node at a path (go-patch, find_op.go).

use std::borrow::Cow;

use go_yaml::{Map, Node, Origin, Value};

use crate::failure::Failure;
use crate::list::{Child, created, locate};
use crate::path::{Path, Token};

/// The node at a path. An optional key that is missing is null; before others it counts as an empty map or list.
///
/// # Errors
/// With go-patch's messages, if the path leads nowhere.
pub fn find<'a>(document: &'a Node, path: &Path) -> Result<Cow<'a, Node>, Failure> {
    let mut node = Cow::Borrowed(document);
    for (at, token) in path.tokens().iter().enumerate() {
        if *token == Token::End {
            return Err(Failure::other(format!(
                "Expected not to find after last index token in path '{path}' (not supported in find operations)"
            )));
        }
        node = match (locate(&node, path, at)?, node) {
            (Some(child), Cow::Borrowed(node)) => child_of(node, &child).map(Cow::Borrowed),
            (Some(child), Cow::Owned(node)) => child_of(&node, &child).cloned().map(Cow::Owned),
            (None, _) => Some(Cow::Owned(missing(path, at)?)),
        }
        .unwrap_or_else(|| Cow::Owned(Node::new(Value::Null)));
    }
    Ok(node)
}

fn child_of<'a>(node: &'a Node, child: &Child) -> Option<&'a Node> {
    match (&node.value, child) {
        (Value::List(items), Child::Item(index)) => items.get(*index),
        (Value::Map(map), Child::Entry(key)) => map.get(key),
        _ => None,
    }
}

/// What stands for an optional part that is missing.
fn missing(path: &Path, at: usize) -> Result<Node, Failure> {
    let tokens = path.tokens();
    if let Token::Match { key, value, .. } = &tokens[at] {
        return Ok(created(key, value, Origin::default()));
    }
    match tokens.get(at + 1) {
        None => Ok(Node::new(Value::Null)),
        Some(Token::Match { .. }) => Ok(Node::new(Value::List(Vec::new()))),
        Some(Token::Key { .. }) => Ok(Node::new(Value::Map(Map::default()))),
        Some(Token::Index { .. } | Token::End) => {
            let next = path.start(at + 2);
            Err(Failure::other(format!("Expected to find key or matching index token at path '{next}'")))
        }
    }
}
