//! The error of a schema.

/// A schema that cannot be used; the message is for the author of the job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaError(pub String);
