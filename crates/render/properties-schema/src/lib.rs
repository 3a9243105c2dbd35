//! `properties_schema.json`: a job's own rules for its properties, a JSON Schema of 2020-12.
//!
//! BOSH validates with json_schemer; the keywords, the order of their errors and the messages are the same. What Ruby
//! decides there (regular expressions, formats, certificates), the caller decides ([`Facts`]): this crate has no engine of
//! its own for any of it.
//!
//! No message contains a value of the properties: messages consist of places, names and what the schema's author wrote.

mod applicators;
mod assertions;
mod error;
mod facts;
mod keyword;
mod message;
mod node;
mod number;
mod outcome;
mod reference;
mod ruby_text;
mod schema;
mod violation;
mod walk;

pub use error::SchemaError;
pub use facts::Facts;
pub use schema::{DRAFT, Schema};
pub use violation::{Violation, report};
