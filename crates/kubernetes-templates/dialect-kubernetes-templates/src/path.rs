//! Where in a document a node is, as Kubernetes writes it: `objects[1].spec.a`.

use std::fmt;

use problem::{Place, Step};

/// The path of a node, as a list from the node to the root.
#[derive(Clone, Copy)]
pub(crate) enum Path<'p> {
    /// The document.
    Root,
    /// The value of a key.
    Key(&'p Path<'p>, &'p str),
    /// An element of a list.
    Index(&'p Path<'p>, usize),
}

impl<'p> Path<'p> {
    pub(crate) fn key(&'p self, key: &'p str) -> Path<'p> {
        Path::Key(self, key)
    }

    pub(crate) fn index(&'p self, index: usize) -> Path<'p> {
        Path::Index(self, index)
    }

    /// The path from the root on.
    pub(crate) fn steps(&self) -> Vec<Step> {
        match self {
            Path::Root => Vec::new(),
            Path::Key(parent, key) => [parent.steps(), vec![Step::from(*key)]].concat(),
            Path::Index(parent, index) => [parent.steps(), vec![Step::from(*index)]].concat(),
        }
    }
}

/// The field of a document that a problem is about, as Kubernetes writes it (`objects[1].spec.a`); `None` for the document itself.
pub fn field(place: &Place) -> Option<String> {
    fn shown(steps: &[Step], parent: &Path) -> String {
        match steps.split_first() {
            None => parent.to_string(),
            Some((Step::Key(key), rest)) => shown(rest, &parent.key(key)),
            Some((Step::Index(index), rest)) => shown(rest, &parent.index(*index)),
        }
    }
    Some(shown(&place.path, &Path::Root)).filter(|field| !field.is_empty())
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Path::Root => Ok(()),
            Path::Index(parent, index) => write!(f, "{parent}[{index}]"),
            Path::Key(parent, key) => {
                let is_plain =
                    |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '$' | '(' | ')' | '{' | '}');
                if key.is_empty() || !key.chars().all(is_plain) {
                    return write!(f, "{parent}[\"{}\"]", key.escape_debug());
                }
                match parent {
                    Path::Root => f.write_str(key),
                    _ => write!(f, "{parent}.{key}"),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_with_dots_are_quoted() {
        let objects = Path::Root.key("objects");
        let object = objects.index(1);
        assert_eq!(object.key("spec").key("a").to_string(), "objects[1].spec.a");
        assert_eq!(object.key("a.b/c").index(0).to_string(), "objects[1][\"a.b/c\"][0]");
        assert_eq!(Path::Root.to_string(), "");
        let place = Place { path: object.key("a.b/c").index(0).steps(), ..Place::default() };
        assert_eq!(field(&place).as_deref(), Some("objects[1][\"a.b/c\"][0]"));
        assert_eq!(field(&Place::file("t.yaml")), None);
    }
}
