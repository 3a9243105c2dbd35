//! What the bosh CLI does to a manifest before a director sees it: ops files and variables, from flags with the CLI's names
//! and short forms.
//!
//! [`Inputs`] are the flags, for any verb that takes a manifest; [`Inputs::apply`] and [`Inputs::read`] read all files, report
//! all that is wrong with them together, and apply the operations; then variables are generated and replaced.

mod braces;
mod documents;
mod draft;
mod files;
mod flags;
mod leaves;
mod origins;
mod packed;
mod parts;
mod places;
mod store;
mod usage;

use std::borrow::Cow;
use std::io::Read;
use std::path::{Path, PathBuf};

pub use documents::{Document, Documents, VariableTexts};
pub use draft::{Certificate, Draft};
pub use flags::{Configs, Inputs};
use go_yaml::Node;
use ops_file::Operation;
pub use parts::Part;
use problem::{Place, Problem, Result, code};
pub use store::{StoreFile, StorePaths};
pub use variable_generator::Expiry;
use variables::LinkNames;

use crate::draft::{Applied, Work};
use crate::places::Sources;

/// A manifest after ops files and variables.
pub struct Manifest {
    /// The document.
    pub document: Node,
    /// Each config with its file's name.
    configs: Vec<(String, Node)>,
    sources: Sources,
}

/// The path of a scalar or an empty collection, and where it stands.
pub type Leaf = (String, Option<Place>);

impl Manifest {
    /// The document as the CLI prints it.
    pub fn text(&self) -> String {
        go_yaml::write(&self.document)
    }

    /// Where a node of the document stands: in the manifest, an ops file or a variables file.
    pub fn place(&self, node: &Node) -> Option<Place> {
        self.sources.place(node.origin)
    }

    /// The node at a path of ops files, as the CLI prints it: a string as it is, else YAML.
    ///
    /// # Errors
    /// If the text is not a path, or leads nowhere.
    pub fn at(&self, path: &str) -> Result<String> {
        let node = self.find(&self.document, &parsed(path)?)?;
        Ok(match node.as_str() {
            Some(text) => format!("{text}\n"),
            None => go_yaml::write(&node),
        })
    }

    /// The paths of all scalars and empty collections at a path and below, and where they stand: in the manifest, an ops file
    /// or a variables file. A value that no file contains stands where the variable is referred to. Shows no value. The paths of
    /// configs follow, each behind the name of its file and a colon.
    ///
    /// # Errors
    /// As [`Manifest::at`], if no document has the path.
    pub fn places(&self, path: &str) -> Result<Vec<Leaf>> {
        let path = parsed(path)?;
        let configs = self.configs.iter().map(|(file, node)| (Some(file), node));
        let (mut found, mut first_error, mut is_found) = (Vec::new(), None, false);
        for (file, document) in std::iter::once((None, &self.document)).chain(configs) {
            match self.find(document, &path) {
                Ok(node) => {
                    is_found = true;
                    let shown = |path: String| file.map_or_else(|| path.clone(), |file| format!("{file}:{path}"));
                    let leaves = leaves::of(&node, path.clone());
                    found.extend(
                        leaves.into_iter().map(|(path, origin)| (shown(path.to_string()), self.sources.place(origin))),
                    );
                }
                Err(problems) => first_error = first_error.or(Some(problems)),
            }
        }
        first_error.filter(|_| !is_found).map_or(Ok(found), Err)
    }

    fn find<'n>(&self, document: &'n Node, path: &ops_file::Path) -> Result<Cow<'n, Node>> {
        ops_file::find(document, path).map_err(|failure| {
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

    /// The manifest with its operations and variables; `-` is standard input. The values that a variables store lacks are
    /// generated and written. Links are unknown, as they are to the CLI: certificates take no names from them. Before anything
    /// is generated, `check` gets the manifest with placeholders, and may refuse it.
    ///
    /// # Errors
    /// Everything that is wrong with the flags and their files; then the first operation that fails; then every definition that
    /// is wrong; then every reference that cannot be replaced; then, if asked for, variables that are missing or unused; then
    /// those of `check`; then every value that cannot be generated. No message shows a value.
    pub fn apply(&self, manifest: &Path, check: &dyn Fn(&Manifest) -> Result<()>) -> Result<Manifest> {
        let mut work = self.work(&Configs::default(), manifest)?;
        work.generate(&LinkNames::unknown(), &|preview| check(&Manifest::from(preview)))?;
        work.finish().map(Manifest::from)
    }

    /// As [`Inputs::apply`], with configs, but nothing is generated: of the variables store, only what it has counts.
    ///
    /// # Errors
    /// As [`Inputs::apply`].
    pub fn apply_without_generation(&self, configs: &Configs, manifest: &Path) -> Result<Manifest> {
        let mut work = self.work(configs, manifest)?;
        work.use_store();
        work.finish().map(Manifest::from)
    }

    fn work(&self, configs: &Configs, manifest: &Path) -> Result<Work<'_>> {
        let (name, text) = read(manifest);
        let text = text.map_err(|e| {
            Problem::input(format!("cannot read the manifest {name}")).because(e).code(code::INPUT_FILE).into()
        });
        Work::read(self, configs, &name, (text, &[]), None)
    }

    /// The documents that a verb works on which plans a deployment. With any flag of this group, the manifest with its
    /// operations and the configs, before variables are generated and replaced; without any, the files as they are. `name` is
    /// what messages call the manifest, `text` its content or why it cannot be read. If no variables store is given and a
    /// definition has a type, `default_store` gives the store's place, from the name that the manifest has.
    ///
    /// # Errors
    /// Everything that is wrong with the flags and their files; then the first operation that fails; then definitions.
    pub fn read(
        &self,
        configs: &Configs,
        name: &str,
        text: Result<Vec<u8>>,
        default_store: Option<&DefaultStore>,
    ) -> Result<Draft<'_>> {
        Draft::read(self, configs, name, text, default_store)
    }

    /// As [`Inputs::read`], of a manifest that a verb has written, and of which parts are in files.
    ///
    /// # Errors
    /// As [`Inputs::read`].
    pub fn read_parts(&self, configs: &Configs, name: &str, text: Vec<u8>, parts: &[Part]) -> Result<Draft<'_>> {
        Draft::read_parts(self, configs, name, text, parts)
    }
}

impl From<Applied> for Manifest {
    fn from(applied: Applied) -> Manifest {
        let Applied { manifest, configs, sources, .. } = applied;
        Manifest { document: manifest, configs, sources }
    }
}

/// The place of a store that no flag names, from the name of the deployment in the manifest.
pub type DefaultStore<'a> = dyn Fn(Option<&str>) -> Result<StorePaths> + 'a;

/// What messages call a manifest, and its content; `-` is standard input.
pub fn read(path: &Path) -> (String, std::io::Result<Vec<u8>>) {
    if path == Path::new("-") {
        let mut text = Vec::new();
        return ("<stdin>".to_owned(), std::io::stdin().read_to_end(&mut text).map(|_| text));
    }
    (path.display().to_string(), packed::read(path))
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
