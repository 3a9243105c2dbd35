//! Where the nodes of a document come from, for problems that are found after it was written and read again.

use go_yaml::{Key, Node, Value};
use problem::{Place, Step};
use serde::{Deserialize, Serialize};

/// The origins of all nodes of a document.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Origins {
    /// The names of the files.
    files: Vec<String>,
    root: Branch,
}

/// The origin of a node and of the nodes in it.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Branch {
    /// Number of the file, line, column; the line is 0 if no file contains the node.
    at: (u32, u32, u32),
    #[serde(default, skip_serializing_if = "Children::is_none")]
    children: Children,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(untagged)]
enum Children {
    #[default]
    None,
    List(Vec<Branch>),
    Map(Vec<(String, Branch)>),
}

impl Children {
    fn is_none(&self) -> bool {
        matches!(self, Children::None)
    }
}

impl Origins {
    /// The origins of a document's nodes, which are in these files.
    pub(crate) fn of(document: &Node, files: &[String]) -> Origins {
        Origins { files: files.to_vec(), root: Branch::of(document) }
    }

    /// Completes a place from its path. Where the path leaves the document, the deepest node that a file contains is the
    /// place.
    pub(crate) fn locate(&self, place: &mut Place) {
        let mut branch = Some(&self.root);
        let mut steps = place.path.iter();
        let mut found = None;
        while let Some(current) = branch {
            if current.at.1 != 0 {
                found = Some(current.at);
            }
            branch = steps.next().and_then(|step| current.child(step));
        }
        // A problem of the whole document has no line.
        let Some((file, line, column)) = found.filter(|_| !place.path.is_empty()) else { return };
        if let Some(file) = self.files.get(file as usize) {
            place.file.clone_from(file);
            (place.line, place.column) = (Some(line), Some(column));
        }
    }
}

impl Branch {
    fn of(node: &Node) -> Branch {
        let children = match &node.value {
            Value::List(items) => Children::List(items.iter().map(Branch::of).collect()),
            Value::Map(map) => {
                let named = map.iter().filter_map(|(key, node)| Some((name(key)?, Branch::of(node))));
                Children::Map(named.collect())
            }
            _ => Children::None,
        };
        Branch { at: (node.origin.source.0, node.origin.line, node.origin.column), children }
    }

    fn child(&self, step: &Step) -> Option<&Branch> {
        match (&self.children, step) {
            (Children::List(items), Step::Index(index)) => items.get(*index),
            (Children::Map(entries), Step::Key(name)) => {
                entries.iter().find(|(key, _)| key == name).map(|(_, branch)| branch)
            }
            _ => None,
        }
    }
}

/// A key as paths name it.
fn name(key: &Key) -> Option<String> {
    match key {
        Key::String(text) => Some(text.clone()),
        Key::Bool(b) => Some(b.to_string()),
        Key::Int(n) => Some(n.to_string()),
        Key::Uint(n) => Some(n.to_string()),
        Key::Null | Key::Float(_) | Key::Binary(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use go_yaml::{Source, read};

    use super::*;

    fn place(path: Vec<Step>) -> String {
        let mut document = read(b"a:\n  b: 1\n1: [x, {k: 2}]\n", Source(0)).unwrap();
        if let Value::Map(map) = &mut document.value {
            map.insert(Key::String("c".to_owned()), read(b"\n\nd: {e: 1}\n", Source(1)).unwrap());
            map.insert(Key::String("f".to_owned()), Node::new(Value::Null));
        }
        let mut place = Place::node("m.yml", path);
        Origins::of(&document, &["m.yml".to_owned(), "o.yml".to_owned()]).locate(&mut place);
        place.to_string()
    }

    #[test]
    fn a_path_leads_to_the_file_that_has_the_node() {
        assert_eq!(place(vec!["a".into(), "b".into()]), "m.yml:2:6");
        assert_eq!(place(vec!["1".into(), 1.into(), "k".into()]), "m.yml:3:12");
        assert_eq!(place(vec!["c".into(), "d".into(), "e".into()]), "o.yml:3:8");
    }

    #[test]
    fn a_path_out_of_the_document_ends_at_its_deepest_node() {
        assert_eq!(place(vec!["c".into(), "x".into(), "e".into()]), "o.yml:3:1");
        assert_eq!(place(vec!["f".into()]), "m.yml:1:1");
        assert_eq!(place(vec![]), "m.yml");
    }
}
