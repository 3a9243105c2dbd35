//! The documents of a run before variables are generated and replaced.
//!
//! Certificates may take names from links. Links are found in the deployment that the documents describe, and do not depend on
//! generated values: what finds them reads [`Draft::preview`], in which placeholders take the place of these values.

use go_yaml::Node;
use interpolation::{Definition, Failure};
use problem::{Place, Problem, Problems, Result};
use variable_generator::Expiry;
use variables::{ConsumedLink, LinkNames};

use crate::documents::{Document, Documents, VariableTexts};
use crate::files::Files;
use crate::flags::{Configs, Inputs};
use crate::origins::Origins;
use crate::parts::Part;
use crate::places::Sources;
use crate::store::{self, StoreFile, StorePaths};
use crate::usage::Usage;
use crate::{DefaultStore, files};

/// The documents of a run before variables are generated and replaced.
pub struct Draft<'a>(Stage<'a>);

enum Stage<'a> {
    /// The files as they are: neither operations nor variables are given.
    Unchanged(Documents),
    Changed(Box<Work<'a>>, Documented),
}

/// A certificate among the values of variables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    /// The variable.
    pub name: String,
    /// When it expires.
    pub expiry: Expiry,
    /// Whether it is in the variables store, which generates it anew on request.
    pub is_generated: bool,
}

/// What is needed to make [`Documents`] of the result.
struct Documented {
    name: String,
    /// How many of the configs are runtime configs.
    runtime_configs: usize,
}

impl<'a> Draft<'a> {
    /// See [`Inputs::read`].
    pub(crate) fn read(
        inputs: &'a Inputs,
        configs: &Configs,
        name: &str,
        text: Result<Vec<u8>>,
        default_store: Option<&DefaultStore>,
    ) -> Result<Draft<'a>> {
        let needs_cli = || text.as_ref().is_ok_and(|text| store::needs_cli(text, default_store.is_some()));
        if inputs.is_empty() && !needs_cli() {
            return files::unchanged(configs, name, text, inputs.strict)
                .map(|documents| Draft(Stage::Unchanged(documents)));
        }
        Draft::of(Work::read(inputs, configs, name, (text, &[]), default_store)?, configs, name)
    }

    /// See [`Inputs::read_parts`].
    pub(crate) fn read_parts(
        inputs: &'a Inputs,
        configs: &Configs,
        name: &str,
        text: Vec<u8>,
        parts: &[Part],
    ) -> Result<Draft<'a>> {
        Draft::of(Work::read(inputs, configs, name, (Ok(text), parts), None)?, configs, name)
    }

    fn of(mut work: Work<'a>, configs: &Configs, name: &str) -> Result<Draft<'a>> {
        work.read_links()?;
        let documented = Documented { name: name.to_owned(), runtime_configs: configs.runtime_configs.len() };
        Ok(Draft(Stage::Changed(Box::new(work), documented)))
    }

    /// The links that certificates take names from, and where the entries stand. None if nothing is generated.
    pub fn links(&self) -> Vec<(ConsumedLink, Option<Place>)> {
        match &self.0 {
            Stage::Unchanged(_) => Vec::new(),
            Stage::Changed(work, _) => {
                work.links.iter().map(|link| (link.clone(), work.sources.place(link.origin))).collect()
            }
        }
    }

    /// The certificates among the values that the documents use or define, by name; without those that are generated anew.
    ///
    /// # Errors
    /// References that cannot be replaced.
    pub fn certificates(&self) -> Result<Vec<Certificate>> {
        match &self.0 {
            Stage::Unchanged(_) => Ok(Vec::new()),
            Stage::Changed(work, _) => work.certificates(),
        }
    }

    /// The documents with placeholders for what is not generated yet.
    ///
    /// # Errors
    /// References that cannot be replaced.
    pub fn preview(&self) -> Result<Documents> {
        match &self.0 {
            Stage::Unchanged(documents) => Ok(documents.clone()),
            Stage::Changed(work, documented) => Ok(documented.documents(work.preview()?)),
        }
    }

    /// Generates the variables that have no value, and replaces all; `addresses` are those of [`Draft::links`], in their order.
    ///
    /// # Errors
    /// Definitions that cannot be generated; then references that cannot be replaced; then, if asked for, variables that are
    /// missing or unused. No message shows a value.
    pub fn finish(self, addresses: &[String]) -> Result<Documents> {
        self.finish_with(|links| LinkNames::of(links, addresses), &|_| Ok(()))
    }

    /// As [`Draft::finish`], where the job specs are not at hand that links come from: certificates take no names from them, and a
    /// warning reports it. Before anything is generated, `check` gets the documents with placeholders, and may refuse them.
    ///
    /// # Errors
    /// As [`Draft::finish`]; those of `check`.
    pub fn finish_without_links(self, check: &dyn Fn(Documents) -> Result<()>) -> Result<Documents> {
        self.finish_with(|_| LinkNames::unknown(), check)
    }

    fn finish_with(
        self,
        names: impl FnOnce(&[ConsumedLink]) -> LinkNames,
        check: &dyn Fn(Documents) -> Result<()>,
    ) -> Result<Documents> {
        match self.0 {
            Stage::Unchanged(documents) => Ok(documents),
            Stage::Changed(mut work, documented) => {
                let links = names(&work.links);
                work.generate(&links, &|preview| check(documented.documents(preview)))?;
                Ok(documented.documents(work.finish()?))
            }
        }
    }
}

impl Documented {
    fn documents(&self, applied: Applied) -> Documents {
        let document = |name: String, node: &Node| {
            let origins = Origins::of(node, applied.sources.names());
            Document::interpolated(name, go_yaml::write(node), origins)
        };
        let manifest = document(self.name.clone(), &applied.manifest);
        let mut runtime_configs: Vec<Document> =
            applied.configs.iter().map(|(name, node)| document(name.clone(), node)).collect();
        let cloud_configs = runtime_configs.split_off(self.runtime_configs);
        Documents { manifest, runtime_configs, cloud_configs, variables: applied.variables }
    }
}

/// All documents after operations, and what their variables are made of.
pub(crate) struct Work<'a> {
    inputs: &'a Inputs,
    manifest: Node,
    /// Each config with its file's name.
    configs: Vec<(String, Node)>,
    values: interpolation::Sources,
    store: Option<StoreFile>,
    sources: Sources,
    /// What may be generated; nothing without a store.
    definitions: Vec<Definition>,
    links: Vec<ConsumedLink>,
}

/// All documents after operations and variables.
pub(crate) struct Applied {
    pub(crate) manifest: Node,
    pub(crate) configs: Vec<(String, Node)>,
    pub(crate) sources: Sources,
    /// Texts of the variables that are used; none of a preview.
    pub(crate) variables: VariableTexts,
}

impl<'a> Work<'a> {
    /// Reads all files, and applies the operations.
    pub(crate) fn read(
        inputs: &'a Inputs,
        configs: &Configs,
        name: &str,
        (text, parts): (Result<Vec<u8>>, &[Part]),
        default_store: Option<&DefaultStore>,
    ) -> Result<Work<'a>> {
        let Files { mut manifest, configs, operations, values, mut store, mut sources } =
            Files::read(inputs, configs, name, text, parts)?;
        for (number, file, operation) in &operations {
            crate::apply(operation, &mut manifest)
                .map_err(|problem| problem.in_operation(*number, file, operation, &sources))?;
        }
        let documents = || std::iter::once(&manifest).chain(configs.iter().map(|(_, node)| node));
        if let Some(place) = default_store.filter(|_| store.is_none() && documents().any(store::has_types)) {
            let paths: StorePaths = place(manifest.get("name").and_then(Node::as_str))?;
            store = Some(StoreFile::read_as(paths, &mut sources)?);
        }
        let definitions = match store {
            Some(_) => store::definitions(documents()).map_err(|failures| sources.problems(failures))?,
            None => Vec::new(),
        };
        Ok(Work { inputs, manifest, configs, values, store, sources, definitions, links: Vec::new() })
    }

    /// Finds the links that are consumed.
    fn read_links(&mut self) -> Result<()> {
        let invalid = |failures: Vec<Failure>| self.sources.invalid_definitions(failures);
        let (links, warnings) = ConsumedLink::all_of(&self.definitions, &self.values).map_err(invalid)?;
        self.sources.warn(warnings)?;
        self.links = links;
        Ok(())
    }

    /// Generates the variables that have no value, if there is a store for them. Before that, everything is replaced with
    /// placeholders for their values, so that no reference fails after minutes of work; `check` gets the result.
    pub(crate) fn generate(&mut self, links: &LinkNames, check: &dyn Fn(Applied) -> Result<()>) -> Result<()> {
        let Some(store) = self.store.take() else { return Ok(()) };
        let preview = self.preview_values(Some(&store));
        let shared: Vec<String> = store.shared_names().map(str::to_owned).collect();
        let Work { inputs, manifest, configs, values, sources, definitions, .. } = self;
        let check = || {
            let mut usage = Usage::default();
            let documents = (manifest.clone(), configs.clone());
            let (manifest, configs) = replaced(documents, &preview, sources, &mut usage)?;
            let shared = shared.iter().map(String::as_str).collect();
            Problems::check(usage.problems(inputs, &preview, sources, &shared))?;
            check(Applied { manifest, configs, sources: sources.clone(), variables: VariableTexts::default() })
        };
        self.store = Some(store.complete(definitions, values, links, sources, &check)?);
        Ok(())
    }

    /// Takes the values that the store has.
    pub(crate) fn use_store(&mut self) {
        if let Some(store) = &self.store {
            self.values.set_store(store.store.values().clone());
        }
    }

    /// The documents with placeholders for the values that the store lacks.
    fn preview(&self) -> Result<Applied> {
        let values = self.preview_values(self.store.as_ref());
        let documents = (self.manifest.clone(), self.configs.clone());
        let (manifest, configs) = replaced(documents, &values, &self.sources, &mut Usage::default())?;
        Ok(Applied { manifest, configs, sources: self.sources.clone(), variables: VariableTexts::default() })
    }

    fn certificates(&self) -> Result<Vec<Certificate>> {
        let store = self.store.as_ref().map(|file| &file.store);
        let values = self.preview_values(self.store.as_ref());
        let mut usage = Usage::default();
        replaced((self.manifest.clone(), self.configs.clone()), &values, &self.sources, &mut usage)?;
        let definition = |name: &str| self.definitions.iter().find(|definition| definition.name == name);
        let is_defined = |name: &str| definition(name).is_some();
        let is_replaced = |name: &str| {
            let mode = definition(name).and_then(|definition| definition.update_mode.as_ref()?.as_str());
            mode == Some("overwrite") || store.is_some_and(|store| store.is_marked(name))
        };
        let names = values.names().into_iter();
        let names = names.filter(|name| (usage.is_used(name) || is_defined(name)) && !is_replaced(name));
        let certificate = |name: String| {
            let value = values.get(&name)?;
            let text = value.get("certificate").unwrap_or(value).as_str()?;
            let is_generated = is_defined(&name) && store.is_some_and(|store| store.get(&name).is_some());
            Some(Certificate { expiry: variable_generator::expiry(text)?, name, is_generated })
        };
        Ok(names.filter_map(certificate).collect())
    }

    /// All values, with placeholders for those that the store lacks.
    fn preview_values(&self, store: Option<&StoreFile>) -> interpolation::Sources {
        let mut values = self.values.clone();
        if let Some(file) = store {
            values.set_store(file.store.values().clone());
        }
        for definition in &self.definitions {
            if let (Some(kind), None) = (&definition.kind, values.get(&definition.name)) {
                values.set_store_value(&definition.name, variables::placeholder(kind));
            }
        }
        values
    }

    /// Replaces the variables.
    pub(crate) fn finish(self) -> Result<Applied> {
        let Work { inputs, manifest, configs, values, store, sources, .. } = self;
        let mut usage = Usage::default();
        let (manifest, configs) = replaced((manifest, configs), &values, &sources, &mut usage)?;
        let used: Vec<String> = values.names().into_iter().filter(|name| usage.is_used(name)).collect();
        let variables = VariableTexts::of(used.iter().filter_map(|name| values.get(name)));
        let shared = store.iter().flat_map(StoreFile::shared_names).collect();
        Problems::check(usage.problems(inputs, &values, &sources, &shared))?;
        Ok(Applied { manifest, configs, sources, variables })
    }
}

/// The manifest, and the configs with their files' names.
type Nodes = (Node, Vec<(String, Node)>);

/// Replaces the variables of all documents.
fn replaced(
    (manifest, configs): Nodes,
    values: &interpolation::Sources,
    sources: &Sources,
    usage: &mut Usage,
) -> Result<Nodes> {
    let mut problems = Vec::new();
    let mut replaced = |node| match interpolation::interpolate(node, values) {
        Ok(found) => Some(usage.add(found)),
        Err(failures) => {
            problems.extend(sources.problems(failures).into_vec());
            None
        }
    };
    let manifest = replaced(manifest);
    let configs = configs.into_iter().filter_map(|(name, node)| Some((name, replaced(node)?))).collect();
    Problems::check(problems)?;
    Ok((manifest.ok_or_else(|| Problem::internal("no manifest was interpolated"))?, configs))
}
