//! Ops files: what the bosh CLI applies to manifests (go-patch 0.2.0, with its messages).
//!
//! [`parse`] reads the operations of a document, [`Operation::apply`] carries one out, [`find()`] reads a path. Everything is
//! in memory; callers name files.

mod apply;
mod definition;
mod failure;
mod find;
mod list;
mod path;

pub use definition::{DefinitionError, FIELDS, Operation, parse, unknown_fields};
pub use failure::Failure;
pub use find::find;
pub use path::{Modifier, Path, PathError, Token};
