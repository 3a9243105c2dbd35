//! The template, processed with the values of the user and of the instance.

use cluster::{Cluster, Object, Resource};
use dialect_kubernetes_templates::{
    Document, OPENSHIFT_API_VERSION, Outcome, Processed, Syntax, UserValues, compact, process,
};
use problem::{Place, Problem, Problems, Result, code};
use template_flags::{Generator, Inputs, syntax_of, with_generated};

use crate::instance;
use crate::options::{Action, Request, Source};
use crate::secrets::Secrets;

/// A processed template.
pub(crate) struct Template {
    pub(crate) objects: Vec<Object>,
    /// The generated values, those of the instance included.
    pub(crate) values: UserValues,
    pub(crate) secrets: Secrets,
}

/// Processes the template; `stored` are the values that the instance has.
pub(crate) fn processed(cluster: &Cluster, request: &Request, stored: &UserValues) -> Result<Template> {
    let found = document(cluster, request);
    let message_syntax = found.as_ref().map_or(Syntax::Kubernetes, |(_, syntax)| *syntax);
    let Inputs { labels, given: user, mut problems } = request.flags.inputs(message_syntax)?;
    let (document, syntax) = match found {
        Ok(found) => found,
        Err(error) => {
            problems.extend(error.into_vec());
            return Err(check(problems));
        }
    };
    // What is wrong with declarations is reported by processing.
    let declarations = document.parameters(syntax).unwrap_or_default();
    let values = with_generated(&declarations, stored, &file(request)).unwrap_or_else(|error| {
        problems.extend(error.into_vec());
        stored.clone()
    });
    let mut given = UserValues::default();
    for (name, value) in values.iter().filter(|(name, _)| declarations.iter().any(|one| one.name == *name)) {
        given.set(name, value, Place::file(format!("Secret {}", instance::secret(&request.name))));
    }
    given.replace_with(user);
    let mut options = request.flags.processing(syntax, labels);
    // A role needs no values.
    options.check_only |= request.action == Action::Rbac;
    let generator = Generator::default();
    let Outcome { result, warnings } = process(document.clone(), &given, &options, &|bytes| generator.fill(bytes));
    template_flags::warn(&warnings);
    let processed = match (result, problems.is_empty()) {
        (Ok(processed), true) => processed,
        (result, _) => {
            problems.extend(result.err().map(Problems::into_vec).unwrap_or_default());
            return Err(check(problems));
        }
    };
    generator.check()?;
    let objects = objects(&processed)?;
    let secrets = Secrets::of(&document, syntax, &declarations, &processed.into_template());
    Ok(Template { objects, values, secrets })
}

/// Collected problems, of which there is at least one.
fn check(problems: Vec<Problem>) -> Problems {
    Problems::check(problems).err().unwrap_or_else(|| Problem::internal("a failure without a problem").into())
}

/// The template's name in messages.
fn file(request: &Request) -> String {
    match &request.source {
        Source::File(path) => path.display().to_string(),
        Source::Stored(name) => format!("Template {name}"),
    }
}

fn document(cluster: &Cluster, request: &Request) -> Result<(Document, Syntax)> {
    let name = match &request.source {
        Source::File(path) => {
            let document = template_flags::template(path)?;
            let syntax = syntax_of(request.flags.syntax, &document)?;
            return Ok((document, syntax));
        }
        Source::Stored(name) => name,
    };
    let found = cluster.read(&resource(&request.group), cluster.namespace(), name)?.ok_or_else(|| {
        let message = format!("namespace {} has no template '{name}'", cluster.namespace());
        Problem::input(message).code(code::INPUT_FILE).hint("--group names the API group of templates")
    })?;
    let mut found = found;
    // As in a file: templates of another group have the syntax of the proposal.
    if found["apiVersion"] != OPENSHIFT_API_VERSION {
        found["apiVersion"] = "v1".into();
    }
    // JSON is YAML, too, but is read faster as what it is; the name of the file decides.
    let root =
        dialect_kubernetes_templates::read(found.to_string().as_bytes(), dialect_kubernetes_templates::Format::Json);
    let root =
        root.map_err(|e| Problem::template(e.message).code(code::TEMPLATE_SYNTAX).at(Place::file(file(request))))?;
    let document = Document::of(root, &file(request));
    let syntax = syntax_of(request.flags.syntax, &document)?;
    Ok((document, syntax))
}

/// The kind of stored templates.
pub(crate) fn resource(group: &str) -> Resource {
    Resource {
        api_version: format!("{group}/v1"),
        kind: "Template".to_owned(),
        plural: "templates".to_owned(),
        aliases: Vec::new(),
        is_namespaced: true,
        verbs: Vec::new(),
    }
}

fn objects(processed: &Processed) -> Result<Vec<Object>> {
    let object = |node| serde_json::from_str(&compact(node));
    let objects: std::result::Result<Vec<Object>, _> = processed.objects().iter().map(object).collect();
    // A number that no double can hold.
    objects.map_err(|e| Problem::template("an object cannot be sent").code(code::OBJECT_INVALID).because(e).into())
}
