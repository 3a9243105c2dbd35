//! Kubernetes Templates: objects with parameters, and the values that take their places.
//!
//! A Template is a document with `objects`, `parameters` and `labels`. [`Document::read`] reads one, JSON or YAML as kubectl
//! reads it; [`process()`] replaces `$(NAME)` and `$((NAME))` in its objects, adds the labels, and gives the objects or
//! everything that is wrong. It needs no cluster. The rules are in `docs/dialects/kubernetes-templates.md`.
//!
//! No message contains a value of a parameter: values are secrets, and messages are logged.
//!
//! ```
//! use dialect_kubernetes_templates::{Document, Format, UserValues, Options, process, write};
//!
//! let text = br#"{"kind": "Template", "apiVersion": "v1",
//!   "objects": [{"kind": "Scale", "apiVersion": "v1", "metadata": {"name": "web-$(ENV)"}, "replicas": "$((COUNT))"}],
//!   "parameters": [{"name": "ENV", "required": true}, {"name": "COUNT", "type": "int", "value": "3"}]}"#;
//! let document = Document::read(text, "web.json")?;
//! let mut given = UserValues::default();
//! given.set("ENV", "test", problem::Place::file("--param"));
//! let outcome = process(document, &given, &Options::default(), &|_| ());
//! let list = outcome.result?.into_list();
//! assert_eq!(write(&list, Format::Yaml), "apiVersion: v1\nkind: List\nitems:\n- kind: Scale\n  apiVersion: v1\n  \
//!     metadata:\n    name: web-test\n  replicas: 3\n");
//! # Ok::<(), problem::Problems>(())
//! ```

mod files;
mod generate;
mod labels;
mod node;
mod openshift;
mod parameter;
mod path;
mod process;
mod read;
mod report;
mod scan;
mod schema;
mod substitute;
mod syntax;
mod user_values;
mod values;
mod write;

pub use files::{File, files};
pub use generate::{Expression, Random, generated};
pub use labels::{key_error as label_key_error, value_error as label_value_error};
pub use node::{Entry, Map, Node, Position, Value};
pub use parameter::{Declaration, Type};
pub use path::field;
pub use process::{Document, Outcome, Processed, process};
pub use read::{DEEPEST, Format, KeyWarning, LARGEST, ReadError, read, read_with_warnings};
pub use report::Warning;
pub use scan::Syntax;
pub use smol_str::SmolStr;
pub use syntax::{OPENSHIFT_API_VERSION, SYNTAX_ANNOTATION};
pub use user_values::UserValues;
pub use write::{compact, compact_within, write, write_within};

/// What happens with what a template or its values leave open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Undeclared references, unknown fields, and empty values without quotes are errors.
    Strict,
    /// They stay as they are.
    Compat,
}

/// How a template is processed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// How references are written.
    pub syntax: Syntax,
    /// What is an error.
    pub mode: Mode,
    /// Whether labels go to selectors and pod templates too.
    pub label_selectors: bool,
    /// Labels of the user, which replace equal ones of the template.
    pub labels: Vec<(String, String)>,
    /// Whether values for names that no parameter has are ignored.
    pub ignore_unknown: bool,
    /// Whether only the template is checked: required parameters need no values.
    pub check_only: bool,
    /// How much memory, in bytes, values and labels may add to the template; by default twice the size of the largest document.
    pub most_added: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            syntax: Syntax::Kubernetes,
            mode: Mode::Strict,
            label_selectors: true,
            labels: Vec::new(),
            ignore_unknown: false,
            check_only: false,
            most_added: 2 * LARGEST,
        }
    }
}
