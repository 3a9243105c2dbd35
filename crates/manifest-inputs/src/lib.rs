//! What the bosh CLI does to a manifest before a director sees it: ops files and variables, from flags with the CLI's names
//! and short forms.
//!
//! [`Inputs`] are the flags, for any verb that takes a manifest; [`Inputs::apply`] reads all files, reports all that is wrong
//! with them together, applies the operations and replaces the variables.

mod documents;
mod files;
mod flags;
mod leaves;
mod origins;
mod places;
mod store;
mod usage;

use std::borrow::Cow;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use documents::{Document, Documents};
pub use flags::{Configs, Inputs};
use go_yaml::Node;
use ops_file::Operation;
use problem::{Place, Problem, Problems, Result, code};

pub use store::StoreFile;
use variables::Generation;

use crate::files::Files;
use crate::origins::Origins;
use crate::places::Sources;
use crate::usage::Usage;

/// A manifest after ops files and variables.
pub struct Manifest {
    /// The document.
    pub document: Node,
    sources: Sources,
    store: Option<StoreFile>,
}

impl Manifest {
    /// Writes what was generated into the variables store.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn save_store(&self) -> Result<()> {
        self.store.as_ref().map_or(Ok(()), StoreFile::save)
    }

    /// The document as the CLI prints it.
    pub fn text(&self) -> String {
        go_yaml::write(&self.document)
    }

    /// The node at a path of ops files, as the CLI prints it: a string as it is, else YAML.
    ///
    /// # Errors
    /// If the text is not a path, or leads nowhere.
    pub fn at(&self, path: &str) -> Result<String> {
        let node = self.find(&parsed(path)?)?;
        Ok(match node.as_str() {
            Some(text) => format!("{text}\n"),
            None => go_yaml::write(&node),
        })
    }

    /// The paths of all scalars and empty collections at a path and below, and where they stand: in the manifest, an ops file
    /// or a variables file. A value that no file contains stands where the variable is referred to. Shows no value.
    ///
    /// # Errors
    /// As [`Manifest::at`].
    pub fn places(&self, path: &str) -> Result<Vec<(String, Option<Place>)>> {
        let path = parsed(path)?;
        let node = self.find(&path)?;
        let leaves = leaves::of(&node, path);
        Ok(leaves.into_iter().map(|(path, origin)| (path.to_string(), self.sources.place(origin))).collect())
    }

    fn find(&self, path: &ops_file::Path) -> Result<Cow<'_, Node>> {
        ops_file::find(&self.document, path).map_err(|failure| {
            let mut problem = Problem::input(failure.to_string()).code(code::OPS_FAILED);
            problem.place = self.sources.place(failure.origin());
            problem.hint = failure.hint();
            problem.into()
        })
    }
}

/// A path that the user has given.
fn parsed(path: &str) -> Result<ops_file::Path> {
    path.parse().map_err(|e| Problem::usage(format!("invalid path '{path}': {e}")).into())
}

impl Inputs {
    /// Whether a flag is given. Without any, a manifest is taken as it is.
    pub fn is_empty(&self) -> bool {
        self.ops_files.is_empty()
            && self.vars.is_empty()
            && self.var_files.is_empty()
            && self.vars_files.is_empty()
            && self.vars_env.is_empty()
            && self.vars_store.is_none()
            && !self.var_errs
            && !self.var_errs_unused
    }

    /// The files that the flags name, which a verb must not write over.
    pub fn files(&self) -> impl Iterator<Item = PathBuf> {
        let var_files =
            self.var_files.iter().filter_map(|text| Some(files::expanded(Path::new(text.split_once('=')?.1))));
        self.ops_files.iter().chain(&self.vars_files).cloned().chain(var_files).chain(self.vars_store.clone())
    }

    /// The manifest with its operations and variables; `-` is standard input. With a variables store, `generation` generates
    /// the values that it lacks; [`Manifest::save_store`] writes them.
    ///
    /// # Errors
    /// Everything that is wrong with the flags and their files; then the first operation that fails; then every definition that
    /// cannot be generated; then every reference that cannot be replaced; then, if asked for, variables that are missing or
    /// unused. No message shows a value.
    pub fn apply(&self, manifest: &Path, generation: &dyn Generation) -> Result<Manifest> {
        self.apply_with(manifest, Some(generation))
    }

    /// As [`Inputs::apply`], but nothing is generated: of the variables store, only what it has counts.
    ///
    /// # Errors
    /// As [`Inputs::apply`].
    pub fn apply_without_generation(&self, manifest: &Path) -> Result<Manifest> {
        self.apply_with(manifest, None)
    }

    fn apply_with(&self, manifest: &Path, generation: Option<&dyn Generation>) -> Result<Manifest> {
        let (name, text) = read(manifest);
        let text = text.map_err(|e| {
            Problem::input(format!("cannot read the manifest {name}")).because(e).code(code::INPUT_FILE).into()
        });
        let applied = self.apply_to(&Configs::default(), &name, text, generation, None)?;
        Ok(Manifest { document: applied.manifest, sources: applied.sources, store: applied.store })
    }

    /// The documents that a verb works on which plans a deployment. With any flag of this group, the manifest with its
    /// operations and variables, and the configs with their variables; without any, the files as they are. `name` is what
    /// messages call the manifest, `text` its content or why it cannot be read. If no variables store is given and a definition
    /// has a type, `default_store` gives the store's place, from the name that the manifest has.
    ///
    /// # Errors
    /// As [`Inputs::apply`].
    pub fn documents(
        &self,
        configs: &Configs,
        name: &str,
        text: Result<Vec<u8>>,
        generation: &dyn Generation,
        default_store: Option<&DefaultStore>,
    ) -> Result<Documents> {
        let defines = || text.as_ref().is_ok_and(|text| store::defines(text));
        if self.is_empty() && !(default_store.is_some() && defines()) {
            return files::unchanged(configs, name, text);
        }
        let applied = self.apply_to(configs, name, text, Some(generation), default_store)?;
        let document = |name: String, node: &Node| {
            let origins = Origins::of(node, applied.sources.names());
            Document::interpolated(name, go_yaml::write(node), origins)
        };
        let manifest = document(name.to_owned(), &applied.manifest);
        let mut runtime_configs: Vec<Document> =
            applied.configs.iter().map(|(name, node)| document(name.clone(), node)).collect();
        let cloud_configs = runtime_configs.split_off(configs.runtime_configs.len());
        Ok(Documents { manifest, runtime_configs, cloud_configs, store: applied.store.map(Arc::new) })
    }

    fn apply_to(
        &self,
        configs: &Configs,
        name: &str,
        text: Result<Vec<u8>>,
        generation: Option<&dyn Generation>,
        default_store: Option<&DefaultStore>,
    ) -> Result<Applied> {
        let Files { mut manifest, configs, operations, mut values, mut store, sources } =
            Files::read(self, configs, name, text)?;
        for (number, file, operation) in &operations {
            apply(operation, &mut manifest)
                .map_err(|problem| problem.in_operation(*number, file, operation, &sources))?;
        }
        let documents: Vec<&Node> = std::iter::once(&manifest).chain(configs.iter().map(|(_, node)| node)).collect();
        let has_types = || documents.iter().any(|node| store::has_types(node));
        if let Some(place) = default_store.filter(|_| store.is_none() && has_types()) {
            let path = place(manifest.get("name").and_then(Node::as_str))?;
            store = Some(StoreFile::read(&path)?);
        }
        let store = match (store, generation) {
            (Some(store), Some(generation)) => Some(store.complete(&documents, &mut values, generation, &sources)?),
            (Some(store), None) => {
                values.set_store(store.store.values().clone());
                Some(store)
            }
            (None, _) => None,
        };
        let mut usage = Usage::default();
        let mut problems = Vec::new();
        let mut interpolate = |node| match interpolation::interpolate(node, &values) {
            Ok(found) => Some(usage.add(found)),
            Err(failures) => {
                problems.extend(sources.problems(failures).into_vec());
                None
            }
        };
        let manifest = interpolate(manifest);
        let configs = configs.into_iter().filter_map(|(name, node)| Some((name, interpolate(node)?))).collect();
        Problems::check(problems)?;
        Problems::check(usage.problems(self, &sources))?;
        let manifest = manifest.ok_or_else(|| Problem::internal("no manifest was interpolated"))?;
        Ok(Applied { manifest, configs, sources, store })
    }
}

/// The place of a store that no flag names, from the name of the deployment in the manifest.
pub type DefaultStore<'a> = dyn Fn(Option<&str>) -> Result<PathBuf> + 'a;

/// All documents after operations and variables.
struct Applied {
    manifest: Node,
    configs: Vec<(String, Node)>,
    sources: Sources,
    store: Option<StoreFile>,
}

/// What messages call a manifest, and its content; `-` is standard input.
pub fn read(path: &Path) -> (String, std::io::Result<Vec<u8>>) {
    if path == Path::new("-") {
        let mut text = Vec::new();
        return ("<stdin>".to_owned(), std::io::stdin().read_to_end(&mut text).map(|_| text));
    }
    (path.display().to_string(), vcap::input::read(path))
}

/// A failure of an operation.
struct Failed(ops_file::Failure);

fn apply(operation: &Operation, document: &mut Node) -> std::result::Result<(), Failed> {
    operation.apply(document).map_err(Failed)
}

impl Failed {
    fn in_operation(self, number: usize, file: &str, operation: &Operation, sources: &Sources) -> Problem {
        let Failed(failure) = self;
        let mut problem =
            Problem::input(format!("Error 'operation [{number}] in {file} failed': {failure}")).code(code::OPS_FAILED);
        problem.place = sources.place(operation.origin);
        problem.hint = failure.hint();
        if let Some(place) = sources.place(failure.origin()) {
            let what = Some("the path leads to here".to_owned());
            problem.notes.push(problem::Note { place, what, hint: None });
        }
        problem
    }
}
