//! What template systems share: the source of a template, the error when it does not render, and the rendered file.
//!
//! A template system ("dialect") is a crate of its own: BOSH's ERB, Kubernetes Templates, Go's text/template, HIL. It
//! takes a [`Source`] and the values that its templates see, and returns text or a [`RenderError`]. A verb turns the
//! text into [`RenderedFile`]s, and an error into a [`Problem`](problem::Problem) that shows the line of the template.
//!
//! There is no trait for dialects: they take different values, and no program chooses a dialect at run time. Their
//! tests share a format, which `testkit::corpus` describes.
//!
//! ```
//! use template::{RenderError, Source};
//!
//! let source = Source { name: "motd".into(), file: "templates/motd.tmpl".into(), text: b"Hello,\n{{ .Nmae }}!\n".to_vec() };
//! let error = RenderError::new("no value for Nmae").at(source.span(10..15)).hint("did you mean 'Name'?");
//! assert_eq!(
//!     error.problem(&source).to_string(),
//!     "error: no value for Nmae
//!   --> templates/motd.tmpl:2:4
//!     |
//!   2 | {{ .Nmae }}!
//!     |    ^^^^^
//!   hint: did you mean 'Name'?"
//! );
//! ```

mod error;
mod file;
mod source;

pub use error::RenderError;
pub use file::{PathError, RenderedFile, relative_path};
pub use source::{Source, Span};
