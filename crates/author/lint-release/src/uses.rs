//! What the code of a template does, read from its syntax tree. What is not understood is said to be unknown, never guessed.

mod calls;
mod walker;

use std::collections::HashSet;

use dialect_erb::syntax::{Node, Position};

/// What a template does.
#[derive(Debug, Default)]
pub(crate) struct Uses {
    /// `p` and `if_p`.
    pub(crate) reads: Vec<Read>,
    /// `properties.a.b`, `raw_properties['a']`, `spec.properties`: the names on the way, the last of which may be methods.
    pub(crate) paths: Vec<(Vec<String>, Position)>,
    /// Names with interpolations, `a.#{x}.b`: the texts around these.
    pub(crate) patterns: Vec<Vec<String>>,
    /// It may read any property.
    pub(crate) is_dynamic: bool,
    /// Every text in the code.
    pub(crate) texts: HashSet<String>,
    /// `link`, `if_link` and `spec.links`.
    pub(crate) links: Vec<LinkUse>,
    /// It may use any link.
    pub(crate) has_dynamic_links: bool,
    /// `link('x').p`.
    pub(crate) link_reads: Vec<LinkRead>,
    /// Methods that are called on a link.
    pub(crate) link_calls: Vec<(String, Position)>,
    /// Methods that are called without a receiver.
    pub(crate) calls: Vec<(String, Position)>,
    /// Methods that the template defines.
    pub(crate) definitions: HashSet<String>,
    /// It defines methods in ways that are not followed.
    pub(crate) is_reflective: bool,
    /// `spec.x`.
    pub(crate) spec_reads: Vec<(String, Position)>,
    /// What makes its output depend on more than its context.
    pub(crate) oddities: Vec<(Oddity, String, Position)>,
    /// `<%= p('x') %>`: the property and its place.
    pub(crate) outputs: Vec<(String, Position)>,
    /// `p('x').each`: the property and the method.
    pub(crate) receivers: Vec<(String, String, Position)>,
    /// `if p('x')`.
    pub(crate) conditions: Vec<(String, Position)>,
    /// It asks for the class of values.
    pub(crate) asks_for_kinds: bool,
}

/// A read of properties.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Read {
    /// The names; the first that has a value counts.
    pub(crate) names: Vec<String>,
    pub(crate) need: Need,
    /// Whether it depends on something else whether it is read.
    pub(crate) is_conditional: bool,
    pub(crate) at: Position,
}

/// What happens without a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// The template fails.
    Required,
    /// The template gives a default.
    Default,
    /// A part is left out.
    Optional,
}

/// A use of a link.
#[derive(Debug)]
pub(crate) struct LinkUse {
    pub(crate) name: String,
    pub(crate) is_required: bool,
    pub(crate) is_conditional: bool,
    pub(crate) at: Position,
}

/// A read of a link's properties.
#[derive(Debug)]
pub(crate) struct LinkRead {
    pub(crate) link: String,
    pub(crate) read: Read,
}

/// What a template should not do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Oddity {
    Unstable,
    Environment,
    Io,
}

impl Uses {
    /// Reads the tree of a template.
    pub(crate) fn of(tree: &Node) -> Uses {
        walker::uses(tree)
    }

    /// Whether the template may use a property.
    pub(crate) fn may_use(&self, name: &str, is_declared: &dyn Fn(&str) -> bool) -> bool {
        let is_below = |long: &str, short: &str| long.strip_prefix(short).is_some_and(|rest| rest.starts_with('.'));
        let is_related = |other: &str| other == name || is_below(name, other) || is_below(other, name);
        self.is_dynamic
            || self.texts.iter().any(|text| is_related(text))
            || self.patterns.iter().any(|pieces| fits(name, pieces))
            || self.paths.iter().any(|(path, _)| path_reaches(path, name, is_declared))
    }
}

/// Whether a name can be what a text with interpolations makes, or a mapping above or a part below it.
fn fits(name: &str, pieces: &[String]) -> bool {
    let Some((first, rest)) = pieces.split_first() else { return true };
    // What an interpolation stands for is unknown: it may be empty, or hold dots.
    let Some(mut left) = name.strip_prefix(first.as_str()) else { return first.starts_with(name) };
    for piece in rest {
        match left.find(piece.as_str()) {
            Some(at) => left = &left[at + piece.len()..],
            None => return false,
        }
    }
    true
}

/// Whether a path through structs reads a property: both are on one line from the root, or the path ends in a method of what
/// holds the property.
fn path_reaches(path: &[String], name: &str, is_declared: &dyn Fn(&str) -> bool) -> bool {
    let parts: Vec<&str> = name.split('.').collect();
    let common = path.iter().zip(&parts).take_while(|(a, b)| a == b).count();
    if common == parts.len() || common == path.len() {
        return true;
    }
    !is_declared(&path[..=common].join("."))
}
