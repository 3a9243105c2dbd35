//! Templates as objects of the API: what a stored one has, and processing.

mod checks;

use std::cell::Cell;

use dialect_kubernetes_templates::{Document, Map, Node, Options, Outcome, Syntax, UserValues, Value, process};
use problem::{Place, Step};

use crate::node::{metadata, metadata_text, text};
use crate::status::{Cause, DUPLICATE, Failure, INVALID, NOT_SUPPORTED, PARAMETERS, REQUIRED};
pub(crate) use checks::is_name;
use checks::{MOST_NODES, check_types, metadata_causes, nodes, without_servers_fields};

use dialect_kubernetes_templates::{OPENSHIFT_API_VERSION as OPENSHIFT, SYNTAX_ANNOTATION as SYNTAX};

pub(crate) const KIND: &str = "Template";

/// So much of `generateName` is used, as in Kubernetes.
const LONGEST_PREFIX: usize = 58;

/// What is done with templates.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    /// The group of the API.
    pub(crate) group: String,
    /// How templates are processed; the syntax is decided for each.
    pub(crate) options: Options,
    /// The syntax of templates that do not name one; else their apiVersion decides.
    pub(crate) syntax: Option<Syntax>,
    /// Whether labels go to selectors too; else the syntax decides.
    pub(crate) label_selectors: Option<bool>,
}

/// The form of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Template,
    List,
}

/// A processed template in the form of the request, with messages that the client shows.
#[derive(Debug)]
pub(crate) struct Processed {
    pub(crate) node: Node,
    pub(crate) warnings: Vec<String>,
}

/// What the server knows of a new object.
pub(crate) struct NewIdentity {
    /// A UUID.
    pub(crate) uid: String,
    /// The time, as RFC 3339 writes it.
    pub(crate) time: String,
    /// What is added to `generateName`.
    pub(crate) suffix: String,
}

impl Rules {
    /// `GROUP/v1`
    pub(crate) fn api_version(&self) -> String {
        format!("{}/v1", self.group)
    }

    /// A document as a Template of this API, its metadata a map.
    ///
    /// # Errors
    /// 400 for another kind or apiVersion, and for metadata of the wrong type.
    pub(crate) fn template(&self, mut node: Node) -> Result<Node, Failure> {
        let version = self.api_version();
        let Some(template) = node.as_map_mut() else {
            return Err(Failure::bad_request(format!("expected a Template, not {}", node.kind())));
        };
        self.check_kind(template, KIND, &[&version, OPENSHIFT, "v1"])?;
        let syntax = self.syntax_of_version(template.str("apiVersion").unwrap_or_default());
        let is_lost = syntax != self.syntax_of_version(&version);
        template.set("apiVersion", text(version));
        if nodes(template) > MOST_NODES {
            return Err(Failure::too_long(format!("the Template has more than {MOST_NODES} values")));
        }
        if template.map_mut("metadata").is_none() {
            return Err(Failure::bad_request("metadata: must be a map"));
        }
        check_types(template)?;
        // The apiVersion that named the syntax is replaced by the server's: the annotation keeps the syntax.
        if is_lost
            && let Some(annotations) = template.map_mut("metadata").and_then(|metadata| metadata.map_mut("annotations"))
            && annotations.get(SYNTAX).is_none()
        {
            annotations.set(SYNTAX, text(syntax.name()));
        }
        Ok(node)
    }

    /// The syntax of templates with this apiVersion that do not name one.
    fn syntax_of_version(&self, version: &str) -> Syntax {
        self.syntax.unwrap_or_else(|| Syntax::of_api_version(version))
    }

    fn check_kind(&self, map: &Map, kind: &str, versions: &[&str]) -> Result<(), Failure> {
        let mut versions = versions.to_vec();
        // The group of the server may be OpenShift's.
        versions.dedup();
        let found = |key: &str| map.str(key).unwrap_or_default().escape_debug().to_string();
        if map.str("kind") != Some(kind) || !map.str("apiVersion").is_some_and(|version| versions.contains(&version)) {
            let (version, found_kind) = (found("apiVersion"), found("kind"));
            let message = format!(
                "the object provided is unrecognized: expected kind {kind} of {}, not \"{found_kind}\" of \"{version}\"",
                versions.join(" or ")
            );
            return Err(Failure::bad_request(message));
        }
        Ok(())
    }

    /// The name of a Template, empty if it has none.
    pub(crate) fn name(template: &Node) -> &str {
        metadata_text(template, "name").unwrap_or_default()
    }

    /// A Template that is to be created: with its name, namespace and what the server sets.
    pub(crate) fn created(&self, mut template: Node, namespace: &str, birth: NewIdentity) -> Result<Node, Failure> {
        if metadata_text(&template, "resourceVersion").is_some_and(|version| !version.is_empty()) {
            return Err(Failure::bad_request("resourceVersion should not be set on objects to be created"));
        }
        self.check_namespace(&template, namespace)?;
        let prefix = metadata_text(&template, "generateName").unwrap_or_default().to_owned();
        let Some(metadata) = template.as_map_mut().and_then(|template| template.map_mut("metadata")) else {
            return Ok(template);
        };
        if metadata.str("name").is_none_or(str::is_empty)
            && metadata.present("name").is_none_or(|n| n.as_str().is_some())
            && !prefix.is_empty()
        {
            let end = prefix.char_indices().map(|(at, _)| at).nth(LONGEST_PREFIX).unwrap_or(prefix.len());
            metadata.set("name", text(format!("{}{}", &prefix[..end], birth.suffix)));
        }
        metadata.set("namespace", text(namespace));
        metadata.set("uid", text(birth.uid));
        metadata.set("creationTimestamp", text(birth.time));
        without_servers_fields(metadata);
        Ok(template)
    }

    /// A Template in the place of the one that is stored: with what the server set when it was created.
    pub(crate) fn updated(&self, mut template: Node, namespace: &str, stored: &Node) -> Result<Node, Failure> {
        self.check_namespace(&template, namespace)?;
        let (name, old) = (Rules::name(stored), metadata(stored).cloned().unwrap_or_default());
        if Rules::name(&template) != name {
            let message = "the name of the object does not match the name on the URL";
            return Err(Failure::bad_request(message));
        }
        let given = metadata_text(&template, "uid").filter(|uid| !uid.is_empty());
        if let (Some(given), Some(uid)) = (given, old.str("uid"))
            && given != uid
        {
            let why = format!(
                "Precondition failed: UID in precondition: {}, UID in object meta: {uid}",
                given.escape_debug()
            );
            return Err(Failure::conflict(&self.group, name, &why));
        }
        let Some(metadata) = template.as_map_mut().and_then(|template| template.map_mut("metadata")) else {
            return Ok(template);
        };
        metadata.set("namespace", text(namespace));
        for key in ["uid", "creationTimestamp"] {
            if let Some(value) = old.get(key) {
                metadata.set(key, value.clone());
            }
        }
        without_servers_fields(metadata);
        Ok(template)
    }

    fn check_namespace(&self, template: &Node, namespace: &str) -> Result<(), Failure> {
        match metadata_text(template, "namespace") {
            Some(found) if !found.is_empty() && found != namespace => Err(Failure::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            )),
            _ => Ok(()),
        }
    }

    /// Checks a Template that is to be stored: its metadata, and everything that processing checks but required values.
    pub(crate) fn check(&self, template: Node) -> Result<(), Failure> {
        let mut causes = metadata_causes(&template);
        let name = Rules::name(&template).to_owned();
        let failure = |causes| Failure::invalid(&self.group, KIND, &name, causes);
        match self.options_of(&template) {
            Ok(options) => {
                let options = Options { check_only: true, ..options };
                match self.outcome(template, &UserValues::default(), &options)? {
                    Outcome { result: Err(problems), .. } => {
                        let mut found = Failure::of_problems(&self.group, KIND, &name, &problems);
                        if found.code != 422 {
                            return Err(found);
                        }
                        causes.append(found.causes_mut());
                    }
                    Outcome { result: Ok(_), .. } => {}
                }
            }
            Err(cause) => causes.push(cause),
        }
        if causes.is_empty() { Ok(()) } else { Err(failure(causes)) }
    }

    /// How a Template is processed.
    fn options_of(&self, template: &Node) -> Result<Options, Cause> {
        let annotations = metadata(template).and_then(|metadata| metadata.get("annotations")).and_then(Node::as_map);
        let syntax = match annotations.and_then(|annotations| annotations.str(SYNTAX)) {
            None => self.syntax_of_version(&self.api_version()),
            Some("kubernetes") => Syntax::Kubernetes,
            Some("openshift") => Syntax::Openshift,
            Some(_) => {
                let field = format!("metadata.annotations[\"{SYNTAX}\"]");
                return Err(Cause::new(NOT_SUPPORTED, field, "must be kubernetes or openshift"));
            }
        };
        let label_selectors = self.label_selectors.unwrap_or(syntax == Syntax::Kubernetes);
        Ok(Options { syntax, label_selectors, ..self.options.clone() })
    }

    fn outcome(&self, mut template: Node, given: &UserValues, options: &Options) -> Result<Outcome, Failure> {
        if let Some(template) = template.as_map_mut() {
            template.set("apiVersion", text(OPENSHIFT));
        }
        let failed = Cell::new(false);
        let outcome = process(Document::of(template, ""), given, options, &|bytes| {
            if getrandom::fill(bytes).is_err() {
                failed.set(true);
            }
        });
        if failed.get() {
            tracing::error!("cannot read random bytes");
            return Err(Failure::internal());
        }
        Ok(outcome)
    }

    /// The processed Template, or a List of its objects.
    ///
    /// # Errors
    /// 422 with everything that is wrong with the Template and the values.
    pub(crate) fn processed(&self, template: Node, given: &UserValues, form: Form) -> Result<Processed, Failure> {
        let name = Rules::name(&template).to_owned();
        let options =
            self.options_of(&template).map_err(|cause| Failure::invalid(&self.group, KIND, &name, vec![cause]))?;
        let Outcome { result, warnings } = self.outcome(template, given, &options)?;
        let warnings = warnings.into_iter().map(|warning| warning.message).collect();
        let done = result.map_err(|problems| Failure::of_problems(&self.group, KIND, &name, &problems))?;
        let node = match form {
            Form::List => done.into_list(),
            Form::Template => {
                let mut template = done.into_template();
                if let Some(template) = template.as_map_mut() {
                    template.set("apiVersion", text(self.api_version()));
                }
                template
            }
        };
        Ok(Processed { node, warnings })
    }

    /// The values of a Parameters object.
    ///
    /// # Errors
    /// 400 for another kind, 422 for values that are not strings and names that are repeated.
    pub(crate) fn parameters(&self, node: &Node) -> Result<UserValues, Failure> {
        let version = self.api_version();
        let Some(map) = node.as_map() else {
            return Err(Failure::bad_request(format!("expected Parameters, not {}", node.kind())));
        };
        self.check_kind(map, PARAMETERS, &[&version, OPENSHIFT, "v1"])?;
        let (mut given, mut causes) = (UserValues::default(), Vec::new());
        match map.present("parameters").map(|node| &node.value) {
            None => {}
            Some(Value::List(items)) => {
                items.iter().enumerate().for_each(|(index, item)| parameter(index, item, &mut given, &mut causes));
            }
            Some(other) => {
                causes.push(Cause::new(INVALID, "parameters", format!("must be a list, not {}", other.kind())));
            }
        }
        if causes.is_empty() { Ok(given) } else { Err(Failure::invalid(&self.group, PARAMETERS, "", causes)) }
    }
}

/// One `{name, value}` of a Parameters object.
fn parameter(index: usize, item: &Node, given: &mut UserValues, causes: &mut Vec<Cause>) {
    let field = |key: &str| format!("parameters[{index}].{key}");
    let Some(map) = item.as_map() else {
        let message = format!("must be a map, not {}", item.kind());
        causes.push(Cause::new(INVALID, format!("parameters[{index}]"), message));
        return;
    };
    let Some(name) = map.str("name") else {
        causes.push(Cause::new(REQUIRED, field("name"), "must be a string"));
        return;
    };
    if given.get(name).is_some() {
        let message = format!("another value is given for the parameter '{}'", name.escape_debug());
        causes.push(Cause::new(DUPLICATE, field("name"), message));
        return;
    }
    match map.get("value").map(|node| &node.value) {
        Some(Value::String(value)) => {
            let path = vec![Step::from("parameters"), Step::from(index)];
            given.set(name, value.as_str(), Place::node(PARAMETERS, path));
        }
        other => {
            let found = other.map_or("absent", Value::kind);
            causes.push(Cause::new(
                INVALID,
                field("value"),
                format!("the value of '{}' must be a string, but is {found}", name.escape_debug()),
            ));
        }
    }
}

#[cfg(test)]
mod tests;
