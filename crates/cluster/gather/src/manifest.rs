//! What is needed of a manifest before it is planned: its name, its releases, and that no variable is left.

use std::io::ErrorKind;
use std::path::Path;

use go_yaml::{Node, Source, Value};
use kubernetes_objects::{LinkRef, ReleaseRef};
use manifest_inputs::{Document, Documents};
use problem::{Note, Place, Problem, Problems, Result, code};

use crate::links;
use crate::nodes::{list, scalar};
use crate::options::Options;
use crate::releases;

/// Places of variables that one message lists.
const SHOWN: usize = 20;

/// A manifest and its configs, with their operations and variables.
pub(crate) struct Manifest {
    pub(crate) name: String,
    /// What is planned.
    pub(crate) documents: Documents,
    /// The instance groups.
    pub(crate) groups: Vec<String>,
    /// The links of other deployments that its jobs consume.
    pub(crate) links: Vec<LinkRef>,
    /// The releases, of runtime configs too.
    pub(crate) releases: Vec<ReleaseRef>,
}

impl Manifest {
    /// Reads the manifest; `name` replaces the one in it.
    pub(crate) fn read(options: &Options, name: Option<String>) -> Result<Manifest> {
        let (file, text) = manifest_inputs::read(&options.manifest);
        let text = text.map_err(|error| missing(&options.manifest, &file, error).into());
        // Without any flag the files as they are: a director's Psych and a CLI's go-yaml read some scalars differently.
        let draft = options.inputs.read(&options.configs, &file, text, None)?;
        let documents = draft.finish_without_links(&|preview| Manifest::of(preview, &file, name.clone()).map(drop))?;
        Manifest::of(documents, &file, name)
    }

    /// What is needed of these documents; messages call the manifest `file`.
    fn of(documents: Documents, file: &str, name: Option<String>) -> Result<Manifest> {
        let mut problems = Vec::new();
        let mut read = |documents: &[Document]| -> Vec<Node> {
            documents.iter().filter_map(|document| nodes(document, &mut problems)).collect()
        };
        let manifest = read(std::slice::from_ref(&documents.manifest)).pop();
        let (runtime_configs, cloud_configs) = (read(&documents.runtime_configs), read(&documents.cloud_configs));
        Problems::check(problems)?;
        let manifest = manifest.ok_or_else(|| Problem::internal("no manifest was read"))?;

        let mut problems = Vec::new();
        let all = std::iter::once(&manifest).chain(&runtime_configs).chain(&cloud_configs);
        problems.extend(unresolved(all.zip(documents.iter().map(|document| document.file.as_str()))));
        let name = name.or_else(|| scalar(manifest.get("name"))).unwrap_or_default();
        if name.is_empty() {
            let problem = Problem::input("the manifest has no name").code(code::MANIFEST_INVALID);
            problems.push(problem.at(Place::file(file)).hint("give --deployment-name"));
        }
        let all = std::iter::once(&manifest).chain(&runtime_configs);
        let files = documents.iter().map(|document| document.file.as_str());
        let links = links::external(all.zip(files), &name, &mut problems).into_iter().collect();
        let has_releases = manifest.get("releases").is_some() || manifest.get("release").is_some();
        if !has_releases {
            let problem = Problem::input("the manifest has no releases").code(code::MANIFEST_INVALID);
            problems.push(problem.at(Place::file(file)));
        }
        Problems::check(problems)?;
        let releases = releases::of(&manifest, &runtime_configs);
        let groups = list(manifest.get("instance_groups")).iter();
        let groups = groups.filter_map(|group| scalar(group.get("name"))).collect();
        Ok(Manifest { name, documents, groups, links, releases })
    }
}

fn missing(path: &Path, file: &str, error: std::io::Error) -> Problem {
    let code = if error.kind() == ErrorKind::NotFound { code::MANIFEST_MISSING } else { code::INPUT_FILE };
    let problem = Problem::input(format!("cannot read the manifest {file}")).code(code).because(error);
    if path == Path::new("-") { problem.code(code::INPUT_FILE) } else { problem }
}

/// A document's nodes; nothing after a problem.
fn nodes(document: &Document, problems: &mut Vec<Problem>) -> Option<Node> {
    let read = go_yaml::read(document.text(), Source::default());
    let invalid = |error: go_yaml::Error| {
        let problem = Problem::input("the document is not valid YAML").because(&error).code(code::YAML_INVALID);
        problems.push(problem.at(Place::line(&document.file, error.origin.line)));
    };
    read.map_err(invalid).ok()
}

/// The variables of these documents that nothing has replaced.
fn unresolved<'a>(documents: impl Iterator<Item = (&'a Node, &'a str)>) -> Option<Problem> {
    let mut found: Vec<(String, &str, u32)> = Vec::new();
    for (document, file) in documents {
        let mut of_document = Vec::new();
        collect(document, &mut of_document);
        let is_new = |name: &String| found.iter().all(|(known, ..)| known != name);
        let new: Vec<_> = of_document.into_iter().filter(|(name, _)| is_new(name)).collect();
        found.extend(new.into_iter().map(|(name, line)| (name, file, line)));
    }
    if found.is_empty() {
        return None;
    }
    let message = match found.len() {
        1 => "the manifest has a variable without a value".to_owned(),
        number => format!("the manifest has {number} variables without a value"),
    };
    let mut problem = Problem::input(message).code(code::VARIABLE_UNRESOLVED);
    problem.notes = found
        .into_iter()
        .take(SHOWN)
        .map(|(name, file, line)| Note {
            place: Place::line(file, line),
            what: Some(format!("(({name}))")),
            hint: None,
        })
        .collect();
    Some(problem.hint("give values with --var, --vars-file or --vars-env, or generate them with --vars-store"))
}

/// Each variable once, with the line of its first use.
fn collect(node: &Node, found: &mut Vec<(String, u32)>) {
    let mut text = |text: &str| {
        for name in interpolation::references(text) {
            if found.iter().all(|(known, _)| *known != name) {
                found.push((name, node.origin.line));
            }
        }
    };
    match &node.value {
        Value::String(value) => text(value),
        Value::List(items) => items.iter().for_each(|item| collect(item, found)),
        Value::Map(map) => {
            map.iter().filter_map(|(key, _)| key.as_str()).for_each(&mut text);
            map.iter().for_each(|(_, value)| collect(value, found));
        }
        _ => {}
    }
}
