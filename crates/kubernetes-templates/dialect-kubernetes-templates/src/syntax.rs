//! The syntax that a template's references have, and references that have the other one.

use problem::{Problem, code};

use crate::node::{Map, Node, Position, Value};
use crate::parameter::Declarations;
use crate::path::Path;
use crate::report::{Report, place};
use crate::scan::{Piece, Reference, Syntax, pieces};

/// The annotation of a template that names the syntax of its references: `kubernetes` or `openshift`.
pub const SYNTAX_ANNOTATION: &str = "boson.cloudfoundry.org/template-syntax";

/// The apiVersion of OpenShift's templates.
pub const OPENSHIFT_API_VERSION: &str = "template.openshift.io/v1";

impl Syntax {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Syntax::Kubernetes => "kubernetes",
            Syntax::Openshift => "openshift",
        }
    }

    /// The syntax of templates with this apiVersion.
    pub fn of_api_version(api_version: &str) -> Syntax {
        if api_version == OPENSHIFT_API_VERSION { Syntax::Openshift } else { Syntax::Kubernetes }
    }

    fn other(self) -> Syntax {
        match self {
            Syntax::Kubernetes => Syntax::Openshift,
            Syntax::Openshift => Syntax::Kubernetes,
        }
    }

    /// How a reference is written.
    fn example(self) -> &'static str {
        match self {
            Syntax::Kubernetes => "$(NAME)",
            Syntax::Openshift => "${NAME}",
        }
    }

    /// An apiVersion whose templates have this syntax.
    fn api_version(self) -> &'static str {
        match self {
            Syntax::Kubernetes => "v1",
            Syntax::Openshift => OPENSHIFT_API_VERSION,
        }
    }
}

/// The syntax that a template names in its annotation; else the one that its apiVersion has.
pub(crate) fn of_template(root: &Node, file: &str) -> problem::Result<Syntax> {
    let Some(template) = root.as_map() else { return Ok(Syntax::Kubernetes) };
    let metadata = template.get("metadata").and_then(Node::as_map);
    let annotation = metadata.and_then(|metadata| metadata.get("annotations")).and_then(Node::as_map);
    match annotation.and_then(|annotations| annotations.present(SYNTAX_ANNOTATION)) {
        None => Ok(Syntax::of_api_version(template.str("apiVersion").unwrap_or_default())),
        Some(node) => match node.as_str() {
            Some("kubernetes") => Ok(Syntax::Kubernetes),
            Some("openshift") => Ok(Syntax::Openshift),
            _ => {
                let message = format!("metadata.annotations[\"{SYNTAX_ANNOTATION}\"]: must be kubernetes or openshift");
                Err(Problem::template(message).code(code::TEMPLATE_INVALID).at(place(file, node.position)).into())
            }
        },
    }
}

/// Warns if a template refers to its parameters in the other syntax only: its references stay as they are.
pub(crate) fn warn_of_other(template: &Map, syntax: Syntax, declarations: &Declarations, report: &mut Report) {
    if declarations.list.is_empty() {
        return;
    }
    let mut search = Search { syntax, declarations, has_own: false, other: None };
    for key in ["labels", "message", "objects"] {
        if let Some(node) = template.get(key) {
            search.node(node, &Path::Root.key(key));
        }
    }
    let Search { has_own: false, other: Some((reference, path, position)), .. } = search else { return };
    let (own, other) = (syntax.example(), syntax.other());
    let message = format!(
        "{path}: {reference} stays as it is: references in this template are written {own}; for {}, set apiVersion {} or use \
         --syntax {}",
        other.example(),
        other.api_version(),
        other.name()
    );
    report.warn_as_is(position, message);
}

/// A search for references to parameters.
struct Search<'s> {
    syntax: Syntax,
    declarations: &'s Declarations,
    has_own: bool,
    /// The first reference in the other syntax: how it is written, its path and its position.
    other: Option<(String, String, Position)>,
}

impl Search<'_> {
    fn node(&mut self, node: &Node, path: &Path) {
        if self.has_own {
            return;
        }
        match &node.value {
            Value::String(text) => self.text(text, path, node.position),
            Value::List(items) => {
                items.iter().enumerate().for_each(|(index, item)| self.node(item, &path.index(index)));
            }
            Value::Map(map) => map.iter().for_each(|entry| {
                let path = path.key(&entry.key);
                self.text(&entry.key, &path, entry.position);
                self.node(&entry.node, &path);
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn text(&mut self, text: &str, path: &Path, position: Position) {
        if !text.contains('$') {
            return;
        }
        self.has_own |= self.reference(text, self.syntax).is_some();
        if self.other.is_none()
            && let Some(reference) = self.reference(text, self.syntax.other())
        {
            self.other = Some((reference.text.to_owned(), path.to_string(), position));
        }
    }

    /// The first reference to a parameter in a text.
    fn reference<'t>(&self, text: &'t str, syntax: Syntax) -> Option<Reference<'t>> {
        pieces(text, syntax).find_map(|piece| match piece {
            Piece::Reference(reference) => self.declarations.find(reference.name).map(|_| reference),
            Piece::Text(_) => None,
        })
    }
}
