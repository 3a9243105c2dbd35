//! The flags for the parameters and labels of a Kubernetes Template, and the values that they give.

mod generation;
mod inputs;
mod options;
mod random;

use std::io::Write;

use dialect_kubernetes_templates::Warning;
use problem::{Problem, code};

pub use generation::{is_generated, with_generated};
pub use inputs::{ReadValues, file, is_document, paths, template};
pub use options::{Inputs, Mode, Syntax, TemplateFlags, syntax_of};
pub use random::Generator;

/// Prints warnings on stderr.
pub fn warn(warnings: &[Warning]) {
    warnings.iter().for_each(|warning| print_warning(&warning.to_string()));
}

/// Prints a warning on stderr.
pub fn print_warning(text: &str) {
    // A closed stderr does not make a run fail.
    let _ = writeln!(std::io::stderr(), "{}", startup::without_control(text));
}

/// A problem of reading an input file.
fn unreadable(what: &str, e: impl std::fmt::Display) -> Problem {
    Problem::input(format!("cannot read {what}")).code(code::INPUT_FILE).because(e)
}
