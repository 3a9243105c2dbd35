//! A schema as a whole.

use serde_json::Value as Json;
use value::Value;

use crate::error::SchemaError;
use crate::facts::Facts;
use crate::keyword;
use crate::outcome::Place;
use crate::reference::Resources;
use crate::violation::Violation;
use crate::walk::Walk;

/// The only dialect that BOSH accepts.
pub const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

/// A job's schema.
#[derive(Debug)]
pub struct Schema(Json);

impl Schema {
    /// Reads the document.
    ///
    /// # Errors
    /// BOSH's message for a schema that does not declare 2020-12, and whatever makes the document no schema.
    pub fn new(document: Json) -> Result<Schema, SchemaError> {
        let Json::Object(object) = &document else {
            return Err(SchemaError("the schema must be a JSON object".into()));
        };
        match object.get("$schema") {
            Some(Json::String(draft)) if draft == DRAFT => {}
            None | Some(Json::Null | Json::Bool(false)) => return Err(undeclared()),
            Some(Json::String(draft)) if draft.trim().is_empty() => return Err(undeclared()),
            Some(_) => return Err(SchemaError(format!("Only {DRAFT} schema is currently supported"))),
        }
        keyword::check(&document)?;
        Ok(Schema(document))
    }

    /// The violations of these properties; empty if they are valid.
    ///
    /// # Errors
    /// A schema whose references lead nowhere, or with a pattern that is not valid.
    pub fn validate(&self, properties: &Value, facts: &dyn Facts) -> Result<Vec<Violation>, SchemaError> {
        let mut walk = Walk { resources: Resources::of(&self.0, facts)?, facts, scope: Vec::new() };
        let root = walk.resources.root();
        Ok(walk.schema(&root, None, properties, Place::Root)?.violations)
    }
}

fn undeclared() -> SchemaError {
    SchemaError("You must declare your $schema draft version".into())
}
