//! What the bosh CLI does to a manifest before a director sees it: ops files and variables, from flags with the CLI's names
//! and short forms.
//!
//! [`Inputs`] are the flags, for any verb that takes a manifest; [`Inputs::apply`] reads all files, reports all that is wrong
//! with them together, applies the operations and replaces the variables.

mod files;
mod flags;
mod places;

use std::path::Path;

pub use flags::Inputs;
use go_yaml::Node;
use ops_file::Operation;
use problem::{Problem, Problems, Result, code};

use crate::files::Files;
use crate::places::Sources;

/// A manifest after ops files and variables.
pub struct Manifest {
    /// The document.
    pub document: Node,
    sources: Sources,
}

impl Manifest {
    /// The document as the CLI prints it.
    pub fn text(&self) -> String {
        go_yaml::write(&self.document)
    }

    /// The node at a path of ops files, as the CLI prints it: a string as it is, else YAML.
    ///
    /// # Errors
    /// If the text is not a path, or leads nowhere.
    pub fn at(&self, path: &str) -> Result<String> {
        let path: ops_file::Path =
            path.parse().map_err(|e| Problem::usage(format!("invalid value for --path: {e}")))?;
        let node = ops_file::find(&self.document, &path).map_err(|failure| {
            let mut problem = Problem::input(failure.to_string()).code(code::OPS_FAILED);
            problem.place = self.sources.place(failure.origin());
            problem.hint = failure.hint();
            problem
        })?;
        Ok(match node.as_str() {
            Some(text) => format!("{text}\n"),
            None => go_yaml::write(&node),
        })
    }
}

impl Inputs {
    /// Whether a flag is given. Without any, a manifest is taken as it is.
    pub fn is_empty(&self) -> bool {
        self.ops_files.is_empty()
            && self.vars.is_empty()
            && self.var_files.is_empty()
            && self.vars_files.is_empty()
            && self.vars_env.is_empty()
            && !self.var_errs
            && !self.var_errs_unused
    }

    /// The manifest with its operations and variables; `-` is standard input.
    ///
    /// # Errors
    /// Everything that is wrong with the flags and their files; then the first operation that fails; then every reference that
    /// cannot be replaced; then, if asked for, variables that are missing or unused. No message shows a value.
    pub fn apply(&self, manifest: &Path) -> Result<Manifest> {
        let Files { mut document, operations, values, sources } = Files::read(self, manifest)?;
        for (number, file, operation) in &operations {
            apply(operation, &mut document)
                .map_err(|problem| problem.in_operation(*number, file, operation, &sources))?;
        }
        let found = interpolation::interpolate(document, &values).map_err(|failures| sources.problems(failures))?;
        self.check_use(&found, &sources)?;
        Ok(Manifest { document: found.document, sources })
    }

    fn check_use(&self, found: &interpolation::Interpolated, sources: &Sources) -> Result<()> {
        let list = |names: Vec<&str>| names.iter().map(|name| format!("\n  - {name}")).collect::<String>();
        let mut problems = Vec::new();
        if self.var_errs && !found.missing.is_empty() {
            let names = found.missing.iter().map(|missing| missing.name.as_str()).collect();
            let mut problem = Problem::input(format!("Expected to find variables:{}", list(names)));
            problem.notes = found.missing.iter().map(|missing| sources.note(missing)).collect();
            problems.push(problem.code(code::VARIABLE_UNRESOLVED));
        }
        if self.var_errs_unused && !found.unused.is_empty() {
            let names = found.unused.iter().map(String::as_str).collect();
            let problem = Problem::input(format!("Expected to use variables:{}", list(names)));
            problems.push(problem.code(code::VARIABLE_UNRESOLVED));
        }
        Problems::check(problems)
    }
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
