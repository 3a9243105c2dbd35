//! Manifests of which parts are in other files.

use std::path::Path;

use go_yaml::{Key, Node, Value};
use problem::Step;

/// A file whose document becomes a part of a manifest. Messages about the part name the file and its lines.
#[derive(Debug, Clone, Copy)]
pub struct Part<'a> {
    /// Where the manifest has it: the keys and indexes that lead to it, all but the last one present in the manifest.
    pub path: &'a [Step],
    /// The file.
    pub file: &'a Path,
    /// What messages call it, such as `the links file`.
    pub what: &'a str,
}

impl Part<'_> {
    /// Puts the document into the manifest. An empty document changes nothing, and so does a path that the manifest lacks.
    pub(crate) fn place(&self, manifest: &mut Node, document: Node) {
        let Some((last, parents)) = self.path.split_last().filter(|_| document.value != Value::Null) else { return };
        let mut node = Some(manifest);
        for step in parents {
            node = node.and_then(|node| child(node, step));
        }
        if let (Some(Node { value: Value::Map(map), .. }), Step::Key(key)) = (node, last)
            && let Some(key) = Key::of(&Value::String(key.clone()))
        {
            map.insert(key, document);
        }
    }
}

fn child<'n>(node: &'n mut Node, step: &Step) -> Option<&'n mut Node> {
    match (&mut node.value, step) {
        (Value::Map(map), Step::Key(key)) => map.get_mut(&Key::of(&Value::String(key.clone()))?),
        (Value::List(list), Step::Index(index)) => list.get_mut(*index),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use go_yaml::{Source, read, write};

    use super::*;

    fn placed(path: &[Step], document: &str) -> String {
        let mut manifest = read(b"jobs:\n- name: web\n", Source(0)).unwrap();
        let part = Part { path, file: Path::new("p"), what: "the file" };
        part.place(&mut manifest, read(document.as_bytes(), Source(1)).unwrap());
        write(&manifest)
    }

    #[test]
    fn a_document_becomes_a_part_of_the_manifest() {
        let path = ["jobs".into(), Step::Index(0), "properties".into()];
        assert_eq!(placed(&path, "a: {b: 1}"), "jobs:\n- name: web\n  properties:\n    a:\n      b: 1\n");
        assert_eq!(placed(&path, "# nothing\n"), "jobs:\n- name: web\n");
        for absent in [["jobs".into(), Step::Index(1), "x".into()], ["groups".into(), Step::Index(0), "x".into()]] {
            assert_eq!(placed(&absent, "a: 1"), "jobs:\n- name: web\n");
        }
    }
}
