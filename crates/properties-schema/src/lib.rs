//! `properties_schema.json`: what a job says of its own properties, as a JSON Schema of 2020-12.
//!
//! BOSH validates with json_schemer; the keywords, the order in which their errors are told and the texts are the same.
//! What Ruby decides there (regular expressions, formats, certificates) is asked of whoever calls ([`Facts`]), so that
//! this crate has no engine of its own for any of it.
//!
//! No text holds a value of the properties: texts are made of places, names and what the schema's author wrote.

mod applicators;
mod assertions;
mod error;
mod facts;
mod message;
mod node;
mod number;
mod outcome;
mod reference;
mod ruby_text;
mod schema;
mod shape;
mod violation;
mod walk;

pub use error::SchemaError;
pub use facts::Facts;
pub use schema::{DRAFT, Schema};
pub use violation::{Violation, report};
