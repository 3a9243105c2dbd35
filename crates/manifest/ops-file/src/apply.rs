//! Changing a document (go-patch, replace_op.go and remove_op.go).

use go_yaml::{Key, Map, Node, Origin, Value};

use crate::failure::Failure;
use crate::list::{Child, List, Position, child_mut, created, locate};
use crate::path::{Path, Token};

/// Puts a value at a path. What the path creates on its way stands at `origin`.
pub(crate) fn replace(document: &mut Node, path: &Path, value: Node, origin: Origin) -> Result<(), Failure> {
    let Some((last, parents)) = path.tokens().split_last() else {
        *document = value;
        return Ok(());
    };
    let mut node = document;
    for at in 0..parents.len() {
        let child = match locate(node, path, at)? {
            Some(child) => child,
            None => create(node, path, at, origin)?,
        };
        node = child_mut(node, &child).ok_or_else(|| unreachable_path(path))?;
    }
    let position = match last {
        Token::Index { index, modifiers } => Some(List::of(node, path)?.position(*index, modifiers)?),
        Token::End => {
            List::of(node, path)?;
            None
        }
        Token::Match { key, value: wanted, optional, modifiers } => {
            let list = List::of(node, path)?;
            let index = list.matching(key, wanted, *optional)?;
            index.map(|index| list.position(index, modifiers)).transpose()?
        }
        Token::Key { key, .. } => {
            locate(node, path, parents.len())?;
            if let Value::Map(map) = &mut node.value {
                map.insert(Key::String(key.clone()), value);
            }
            return Ok(());
        }
    };
    if let Value::List(items) = &mut node.value {
        match position {
            Some(Position::At(index)) => items[index] = value,
            Some(Position::Insert(index)) => items.insert(index, value),
            None => items.push(value),
        }
    }
    Ok(())
}

/// Removes the node at a path; nothing happens if an optional part is missing.
pub(crate) fn remove(document: &mut Node, path: &Path) -> Result<(), Failure> {
    let Some(last) = path.tokens().len().checked_sub(1) else {
        return Err(Failure::other("Cannot remove entire document"));
    };
    let mut node = document;
    for at in 0..last {
        let Some(child) = locate(node, path, at)? else { return Ok(()) };
        node = child_mut(node, &child).ok_or_else(|| unreachable_path(path))?;
    }
    match (locate(node, path, last)?, &mut node.value) {
        (Some(Child::Item(index)), Value::List(items)) => {
            items.remove(index);
        }
        (Some(Child::Entry(key)), Value::Map(map)) => {
            map.remove(&key);
        }
        _ => {}
    }
    Ok(())
}

/// Creates an optional part that is missing: what the next token needs.
fn create(node: &mut Node, path: &Path, at: usize, origin: Origin) -> Result<Child, Failure> {
    let tokens = path.tokens();
    match (&tokens[at], &mut node.value) {
        (Token::Match { key, value, .. }, Value::List(items)) => {
            items.push(created(key, value, origin));
            Ok(Child::Item(items.len() - 1))
        }
        (Token::Key { key, .. }, Value::Map(map)) => {
            let value = match tokens.get(at + 1) {
                Some(Token::End | Token::Match { .. }) => Value::List(Vec::new()),
                Some(Token::Key { .. }) => Value::Map(Map::default()),
                Some(Token::Index { .. }) | None => {
                    let next = path.start(at + 2);
                    return Err(Failure::other(format!(
                        "Expected to find key, matching index or after last index token at path '{next}'"
                    )));
                }
            };
            let name = Key::String(key.clone());
            map.insert(name.clone(), Node { value, origin });
            Ok(Child::Entry(name))
        }
        _ => Err(unreachable_path(path)),
    }
}

/// A child that was located does not exist: no document leads here.
fn unreachable_path(path: &Path) -> Failure {
    Failure::other(format!("Expected to find '{path}'"))
}
