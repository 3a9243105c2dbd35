//! From a template and values to objects.

use std::collections::{BTreeSet, HashSet};

use problem::{Class, Problem, Problems, code, did_you_mean};

use crate::generate::Random;
use crate::labels::{self, Labelling, Labels};
use crate::node::{Map, Node, Position, Value};
use crate::parameter::{Declaration, Declarations};
use crate::path::Path;
use crate::read::{self, Format, KeyWarning};
use crate::report::{Positions, Report, Warning, place};
use crate::scan::{Piece, Syntax, pieces};
use crate::substitute::{Added, Substitution, Touched};
use crate::user_values::UserValues;
use crate::values::{self, Origin, Resolved};
use crate::{Mode, Options, openshift, schema, syntax};

/// The fields of a Template. `message` is OpenShift's.
const FIELDS: [&str; 7] = ["apiVersion", "kind", "metadata", "message", "labels", "objects", "parameters"];

const API_VERSIONS: [&str; 2] = ["v1", syntax::OPENSHIFT_API_VERSION];

/// A file that should contain a template.
#[derive(Debug, Clone)]
pub struct Document {
    file: String,
    root: Node,
    /// What is remarkable about how it was written.
    warnings: Vec<KeyWarning>,
}

/// A processed template.
#[derive(Debug, Clone)]
pub struct Processed {
    pub(crate) file: String,
    /// The template with an empty list of objects, the values used and the labels.
    template: Map,
    pub(crate) objects: Vec<Node>,
    pub(crate) touched: Touched,
}

/// The result of processing, with the warnings.
#[derive(Debug)]
pub struct Outcome {
    /// The objects, or everything that is wrong.
    pub result: problem::Result<Processed>,
    /// Remarks.
    pub warnings: Vec<Warning>,
}

impl Document {
    /// Reads a file: JSON if its name ends in `.json`, else YAML. `file` is its name in messages.
    ///
    /// # Errors
    /// As [`crate::read()`].
    pub fn read(text: &[u8], file: &str) -> problem::Result<Document> {
        let (root, warnings) = read::read_with_warnings(text, Format::of(file))
            .map_err(|e| Problem::template(e.message).code(code::TEMPLATE_SYNTAX).at(place(file, e.position)))?;
        Ok(Document { file: file.to_owned(), root, warnings })
    }

    /// A document that has been read already. `file` is its name in messages.
    pub fn of(root: Node, file: &str) -> Document {
        Document { file: file.to_owned(), root, warnings: Vec::new() }
    }

    /// The syntax of its references: the one that the annotation [`crate::SYNTAX_ANNOTATION`] names, else that of its apiVersion.
    ///
    /// # Errors
    /// The annotation names no syntax.
    pub fn syntax(&self) -> problem::Result<Syntax> {
        syntax::of_template(&self.root, &self.file)
    }

    /// The parameters that the template declares.
    ///
    /// # Errors
    /// The document is not a Template, or its parameters are wrong.
    pub fn parameters(&self, syntax: Syntax) -> problem::Result<Vec<Declaration>> {
        let mut report = Report::new(&self.file);
        let declarations = self
            .template(syntax, &mut report)
            .map(|template| Declarations::read(template.get("parameters"), syntax, &mut report));
        Problems::check(report.problems)?;
        Ok(declarations.map(|declarations| declarations.list).unwrap_or_default())
    }

    /// The names that objects of a kind refer to.
    pub fn references_of(&self, kind: &str, syntax: Syntax) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        if let Some(Value::List(objects)) =
            self.root.as_map().and_then(|root| root.get("objects")).map(|node| &node.value)
        {
            objects.iter().for_each(|object| references_in(object, kind, syntax, &mut names));
        }
        names
    }

    /// The JSON Schema of the parameters.
    ///
    /// # Errors
    /// As [`Document::parameters`].
    pub fn schema(&self, syntax: Syntax) -> problem::Result<Node> {
        let parameters = self.parameters(syntax)?;
        let metadata = self.root.as_map().and_then(|template| template.get("metadata")).and_then(Node::as_map);
        Ok(schema::schema(metadata, &parameters, syntax))
    }

    /// The document as a Template, as far as its kind is concerned.
    fn template(&self, syntax: Syntax, report: &mut Report) -> Option<&Map> {
        let Some(template) = self.root.as_map() else {
            let message = match self.root.value {
                Value::Null => "the file has no document: expected a Template".to_owned(),
                _ => format!("expected a Template, not {}", self.root.kind()),
            };
            report.wrong(code::TEMPLATE_INVALID, &Path::Root, self.root.position, message);
            return None;
        };
        for (key, expected) in [("kind", &["Template"][..]), ("apiVersion", &API_VERSIONS[..])] {
            let node = template.get(key);
            if node.and_then(Node::as_str).is_some_and(|value| expected.contains(&value)) {
                continue;
            }
            let position = node.map_or(self.root.position, |node| node.position);
            let found = match node.map(|node| (node, node.as_str())) {
                None => "it is absent".to_owned(),
                Some((_, Some(text))) => format!("not '{}'", text.escape_debug()),
                Some((node, None)) => format!("not {}", node.kind()),
            };
            let path = Path::Root.key(key);
            match (syntax, key, node.and_then(Node::as_str)) {
                (Syntax::Openshift, "kind", Some(kind)) => {
                    let kind = kind.escape_debug();
                    let message = format!("unable to parse \"{}\", not a valid Template but {kind}", self.file);
                    report.add_as_is(Class::Template, code::TEMPLATE_INVALID, &path, position, message);
                }
                _ => {
                    let message = format!("must be {}, {found}", expected.join(" or "));
                    report.wrong(code::TEMPLATE_INVALID, &path, position, message);
                }
            }
            if key == "kind" {
                return None;
            }
        }
        Some(template)
    }
}

/// Processes a template.
///
/// `random` is used for the values that OpenShift's syntax generates.
pub fn process(document: Document, given: &UserValues, options: &Options, random: Random<'_>) -> Outcome {
    let mut report = Report::new(&document.file);
    let processed = run(document, given, options, random, &mut report);
    let result = Problems::check(report.problems)
        .and_then(|()| processed.ok_or_else(|| Problem::internal("a template without problems has no result").into()));
    Outcome { result, warnings: report.warnings }
}

fn run(
    document: Document,
    given: &UserValues,
    options: &Options,
    random: Random<'_>,
    report: &mut Report,
) -> Option<Processed> {
    for warning in &document.warnings {
        report.warn_as_is(warning.position, warning.message.clone());
    }
    document.template(options.syntax, report)?;
    let (position, Value::Map(mut template)) = (document.root.position, document.root.value) else { return None };
    check_fields(&template, options, report);
    let declarations = Declarations::read(template.get("parameters"), options.syntax, report);
    syntax::warn_of_other(&template, options.syntax, &declarations, report);
    let values = values::resolve(&declarations, given, options, random, report);
    let mut substitution = Substitution {
        declarations: &declarations,
        values: &values,
        options,
        report,
        added: Added::within(options.most_added),
        touched: Touched::default(),
    };
    if options.syntax == Syntax::Openshift
        && let Some(message) = template.get("message")
        && let Some(text) = message.as_str()
        && let Some(text) = substitution.text(text, &Path::Root.key("message"), message.position)
    {
        template.set("message", Node { value: Value::String(text.into()), position: message.position });
    }
    let labels = template_labels(&template, &mut substitution);
    if !labels.is_empty() {
        let labels = labels.iter().map(|(key, value)| (key.as_str(), Node::string(value.as_str())));
        template.set("labels", Node::new(Value::Map(labels.collect())));
    }
    let mut objects = take_objects(&mut template, position, substitution.report)?;
    for (index, object) in objects.iter_mut().enumerate() {
        object_of(object, index, &labels, &mut substitution);
    }
    let touched = substitution.touched;
    set_values(&mut template, &values);
    Some(Processed { file: document.file, template, objects, touched })
}

/// Fields that a Template does not have.
fn check_fields(template: &Map, options: &Options, report: &mut Report) {
    for entry in template.iter().filter(|entry| !FIELDS.contains(&entry.key.as_str())) {
        let hint = match entry.key.as_str() {
            "objectLabels" => Some("labels"),
            key => did_you_mean(key, FIELDS),
        };
        let message = format!("a Template has no field '{}'", entry.key.escape_debug());
        if options.mode == Mode::Compat {
            let nearest = hint.map(|name| format!(" (did you mean '{name}'?)")).unwrap_or_default();
            report.warn_as_is(entry.position, format!("{message}, which has no effect{nearest}"));
            continue;
        }
        let path = Path::Root.key(&entry.key);
        report.add_as_is(Class::Template, code::TEMPLATE_INVALID, &path, entry.position, message).hint =
            hint.map(|name| format!("did you mean '{name}'?"));
    }
}

/// The labels for all objects: the template's, with the user's over them.
fn template_labels(template: &Map, substitution: &mut Substitution<'_>) -> Labels {
    let mut labels = Labels::new();
    let path = Path::Root.key("labels");
    if let Some(node) = template.present("labels") {
        match node.as_map() {
            Some(map) => own_labels(map, &path, substitution, &mut labels),
            None => {
                substitution.report.wrong(
                    code::TEMPLATE_INVALID,
                    &path,
                    node.position,
                    format!("must be a map, not {}", node.kind()),
                );
            }
        }
    }
    labels::check_given(&substitution.options.labels, substitution.report);
    for (key, value) in &substitution.options.labels {
        put(&mut labels, key.clone(), value.clone());
    }
    labels
}

fn put(labels: &mut Labels, key: String, value: String) {
    match labels.iter_mut().find(|(known, _)| *known == key) {
        Some((_, old)) => *old = value,
        None => labels.push((key, value)),
    }
}

fn own_labels(map: &Map, path: &Path, substitution: &mut Substitution<'_>, labels: &mut Labels) {
    let mut keys = HashSet::new();
    for entry in map.iter() {
        let path = path.key(&entry.key);
        let is_missing = |text: &str, substitution: &Substitution<'_>| {
            pieces(text, substitution.options.syntax).any(|piece| match piece {
                Piece::Reference(reference) => match substitution.declarations.find(reference.name) {
                    Some(at) => substitution.values[at].origin == Origin::Missing,
                    // Else it stays, and the label is what it is.
                    None => substitution.options.mode == Mode::Strict,
                },
                Piece::Text(_) => false,
            })
        };
        let original = entry.node.as_str().unwrap_or_default();
        // What has been reported for a reference is not reported again for the label.
        let mut is_unknown = [entry.key.as_str(), original].iter().any(|text| is_missing(text, substitution));
        let key = substitution.text(&entry.key, &path, entry.position).unwrap_or_else(|| entry.key.to_string());
        let mut node = entry.node.clone();
        let before = substitution.report.problems.len();
        substitution.label(&mut node, &path);
        is_unknown |= substitution.report.problems.len() > before;
        if is_unknown {
            continue;
        }
        let class = class_of(&[&entry.key, original], substitution);
        let report = &mut *substitution.report;
        let Some(value) = node.as_str() else {
            let problem = report.add(
                class,
                code::LABEL_INVALID,
                &path,
                entry.node.position,
                format!("must be a string, not {}", node.kind()),
            );
            problem.hint =
                Some("put the value in quotes, and refer to parameters with one pair of parentheses".to_owned());
            continue;
        };
        let errors = [(labels::key_error(&key), entry.position), (labels::value_error(value), entry.node.position)];
        for (error, position) in errors {
            if let Some(error) = error {
                report.add(class, code::LABEL_INVALID, &path, position, error);
            }
        }
        if !keys.insert(key.clone()) {
            let message = "another label has the same key after substitution";
            report.add(class, code::LABEL_INVALID, &path, entry.position, message);
        }
        labels.push((key, value.to_owned()));
    }
}

/// Whose mistake an unsuitable result of these texts is.
fn class_of(texts: &[&str], substitution: &Substitution<'_>) -> Class {
    let is_given = |text: &&str| substitution.has_given(text);
    if texts.iter().any(is_given) { Class::Input } else { Class::Template }
}

/// Takes the objects out of the template, in which an empty list keeps their place.
fn take_objects(template: &mut Map, position: Position, report: &mut Report) -> Option<Vec<Node>> {
    let path = Path::Root.key("objects");
    match template.get_mut("objects").filter(|node| !node.is_null()) {
        Some(Node { value: Value::List(items), .. }) => Some(std::mem::take(items)),
        Some(node) => {
            report.wrong(code::TEMPLATE_INVALID, &path, node.position, format!("must be a list, not {}", node.kind()));
            None
        }
        None => {
            report.wrong(
                code::TEMPLATE_INVALID,
                &path,
                position,
                "Required value: a Template has a list of objects, which may be empty",
            );
            None
        }
    }
}

/// Substitutes and labels an object.
fn object_of(node: &mut Node, index: usize, labels: &Labels, substitution: &mut Substitution<'_>) {
    let objects = Path::Root.key("objects");
    let path = &objects.index(index);
    if let (Some(object), Syntax::Openshift) = (node.as_map_mut(), substitution.options.syntax) {
        each_object(object, &mut openshift::drop_namespace);
    }
    let before = substitution.touched.given.len();
    substitution.object(node, path);
    if let (Some(object), Syntax::Openshift) = (node.as_map_mut(), substitution.options.syntax) {
        each_object(object, &mut openshift::set_group);
    }
    let selectors = substitution.options.label_selectors;
    let item = (substitution.options.syntax == Syntax::Openshift).then_some(index);
    let (report, added) = (&mut *substitution.report, &mut substitution.added);
    let given = Positions::of(&substitution.touched.given[before..]);
    let mut labelling = Labelling { labels, selectors, item, report, added, given };
    finish(node, None, path, &mut labelling);
}

/// Adds the names that an object of a kind, or the items of a List, refer to.
fn references_in(node: &Node, kind: &str, syntax: Syntax, names: &mut BTreeSet<String>) {
    let Some(object) = node.as_map() else { return };
    match items(object) {
        Some(items) => items.iter().for_each(|item| references_in(item, kind, syntax, names)),
        None if object.str("kind") == Some(kind) => texts(node, &mut |text| {
            names.extend(pieces(text, syntax).filter_map(|piece| match piece {
                Piece::Reference(reference) => Some(reference.name.to_owned()),
                Piece::Text(_) => None,
            }));
        }),
        None => {}
    }
}

/// Calls a function with every string, keys included.
fn texts(node: &Node, each: &mut dyn FnMut(&str)) {
    match &node.value {
        Value::String(text) => each(text),
        Value::List(items) => items.iter().for_each(|item| texts(item, each)),
        Value::Map(map) => map.iter().for_each(|entry| {
            each(&entry.key);
            texts(&entry.node, each);
        }),
        _ => {}
    }
}

/// Calls a function with an object, and with the items of a List.
fn each_object(object: &mut Map, change: &mut dyn FnMut(&mut Map)) {
    let is_list = object.str("kind").is_some_and(|kind| kind.ends_with("List"));
    match object.get_mut("items").map(|items| &mut items.value) {
        Some(Value::List(items)) if is_list => {
            items.iter_mut().filter_map(Node::as_map_mut).for_each(|item| each_object(item, change));
        }
        _ => change(object),
    }
}

/// The items, if an object has a list of them.
pub(crate) fn items(object: &Map) -> Option<&[Node]> {
    match object.get("items").map(|node| &node.value) {
        Some(Value::List(items)) => Some(items),
        _ => None,
    }
}

/// Checks that a node is an object and labels it. The items of a List such as ServiceList may leave out what its kind says.
fn finish(node: &mut Node, inherited: Option<(&str, &str)>, path: &Path, labelling: &mut Labelling<'_>) {
    let (position, what) = (node.position, node.kind());
    let Some(object) = node.as_map_mut() else {
        labelling.unusable(path, position, format!("must be an object, not {what}"), "it is not an object");
        return;
    };
    let mut names = [String::new(), String::new()];
    let mut is_complete = true;
    for (at, key) in ["apiVersion", "kind"].into_iter().enumerate() {
        let inherited = inherited.map(|names| [names.0, names.1][at]);
        match object.present(key) {
            None if inherited.is_some() => names[at] = inherited.unwrap_or_default().to_owned(),
            None => {
                // Its value may be null.
                let position = object.get(key).map_or(position, |node| node.position);
                let title = if key == "kind" { "Kind" } else { key };
                let message = format!("Required value: the object has no {key}");
                labelling.unusable(path, position, message, &format!("Object '{title}' is missing"));
                is_complete = false;
            }
            Some(node) => match node.as_str() {
                Some(text) if !text.is_empty() => names[at] = text.to_owned(),
                text => {
                    let found = if text.is_some() { "empty" } else { node.kind() };
                    let message = format!("must be a string that is not empty, but is {found}");
                    let path = path.key(key);
                    labelling.unusable(&path, node.position, message, &format!("'{key}' is {found}"));
                    is_complete = false;
                }
            },
        }
    }
    let [api_version, kind] = &names;
    let items = object.get_mut("items").map(|items| (items.position, &mut items.value));
    match (kind.strip_suffix("List"), items) {
        (Some(item), Some((_, Value::List(items)))) => {
            let inherited = Some((api_version.as_str(), item)).filter(|_| !item.is_empty() && is_complete);
            let path = path.key("items");
            for (index, item) in items.iter_mut().enumerate() {
                finish(item, inherited, &path.index(index), labelling);
            }
        }
        // A List has no labels itself, even if it has no items.
        (Some(""), None | Some((_, Value::Null))) => {}
        (Some(""), Some((position, items))) => {
            let message = format!("must be a list, not {}", items.kind());
            labelling.unusable(&path.key("items"), position, message, "its items are not a list");
        }
        _ if is_complete => labelling.object(object, api_version, kind, path),
        _ => {}
    }
}

/// Sets the values that were used in the template's parameters.
fn set_values(template: &mut Map, values: &[Resolved<'_>]) {
    let Some(Value::List(items)) = template.get_mut("parameters").map(|node| &mut node.value) else { return };
    for resolved in values.iter().filter(|resolved| !matches!(resolved.origin, Origin::Absent | Origin::Missing)) {
        if let Some(parameter) = items.get_mut(resolved.declaration.index).and_then(Node::as_map_mut) {
            parameter.set("value", Node::string(resolved.value.as_str()));
        }
    }
}

impl Processed {
    /// The objects, in the order of the template.
    pub fn objects(&self) -> &[Node] {
        &self.objects
    }

    /// A List of the objects.
    pub fn into_list(self) -> Node {
        let items = Node::new(Value::List(self.objects));
        let list = [("apiVersion", Node::string("v1")), ("kind", Node::string("List")), ("items", items)];
        Node::new(Value::Map(list.into_iter().collect()))
    }

    /// The Template with the values used, the labels and the objects.
    pub fn into_template(self) -> Node {
        let mut template = self.template;
        template.set("objects", Node::new(Value::List(self.objects)));
        Node::new(Value::Map(template))
    }
}
