//! Walking the keywords of a schema over a value.

use std::rc::Rc;

use serde_json::Value as Json;
use value::Value;

use crate::error::SchemaError;
use crate::facts::Facts;
use crate::message::message;
use crate::node::{Here, Node};
use crate::outcome::{Outcome, Place, Verdict};
use crate::reference::Resources;
use crate::violation::Violation;

/// Schemas within schemas that one value may take; more are taken for a schema that refers to itself without end.
const DEEPEST: usize = 300;

/// Keywords in the order in which they are evaluated, which is the order of their errors. A keyword comes after those
/// whose results it needs.
const ORDER: &[&str] = &[
    "$ref",
    "$dynamicRef",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "dependentSchemas",
    "prefixItems",
    "items",
    "contains",
    "properties",
    "patternProperties",
    "additionalProperties",
    "propertyNames",
    "dependencies",
    "unevaluatedItems",
    "unevaluatedProperties",
    "type",
    "enum",
    "const",
    "multipleOf",
    "maximum",
    "exclusiveMaximum",
    "minimum",
    "exclusiveMinimum",
    "maxLength",
    "minLength",
    "pattern",
    "maxItems",
    "minItems",
    "uniqueItems",
    "maxContains",
    "minContains",
    "maxProperties",
    "minProperties",
    "required",
    "dependentRequired",
    "format",
];

/// A validation under way.
pub(crate) struct Walk<'s, 'f> {
    pub(crate) resources: Resources<'s>,
    pub(crate) facts: &'f dyn Facts,
    /// Addresses of the schemas on the way here, for `$dynamicRef`.
    pub(crate) scope: Vec<Rc<str>>,
}

impl<'s> Walk<'s, '_> {
    /// Holds a value to a schema; `keyword` is the one that it belongs to.
    pub(crate) fn schema(
        &mut self,
        node: &Node<'s>,
        keyword: Option<&str>,
        instance: &Value,
        place: Place,
    ) -> Result<Outcome, SchemaError> {
        let Json::Object(object) = node.json else {
            let valid = node.json != &Json::Bool(false);
            let violations = if valid { Vec::new() } else { vec![refused(keyword, place)] };
            return Ok(Outcome { valid, violations, ..Outcome::default() });
        };
        let base = self.resources.base_of(node);
        self.scope.push(base.clone());
        if self.scope.len() > DEEPEST {
            return Err(SchemaError("the schema refers to itself without end".into()));
        }
        let outcome = Outcome { valid: true, ..Outcome::default() };
        let mut here =
            Here { base, object, instance, place, outcome, named: Vec::new(), contained: None, condition: None };
        for keyword in ORDER {
            let Some(value) = object.get(*keyword) else { continue };
            let Some(verdict) = self.keyword(&mut here, keyword, value)? else { continue };
            if verdict.valid {
                here.outcome.evaluated.join(verdict.evaluated);
                continue;
            }
            here.outcome.valid = false;
            if verdict.below.is_empty() {
                let violation = Violation { path: place.steps(), text: message(&here, keyword, value) };
                here.outcome.violations.push(violation);
            } else {
                here.outcome.violations.extend(verdict.below);
            }
        }
        self.scope.pop();
        if !here.outcome.valid {
            here.outcome.evaluated = Default::default();
        }
        Ok(here.outcome)
    }

    fn keyword(
        &mut self,
        here: &mut Here<'s, '_>,
        keyword: &'static str,
        value: &'s Json,
    ) -> Result<Option<Verdict>, SchemaError> {
        if let Some(verdict) = self.applicator(here, keyword, value)? {
            return Ok(Some(verdict));
        }
        self.assertion(here, keyword, value)
    }
}

/// The schema `false`, which no value fits.
fn refused(keyword: Option<&str>, place: Place) -> Violation {
    let shown = place.shown();
    let text = if keyword == Some("additionalProperties") {
        format!("object property at {shown} is not defined and schema does not allow additional properties")
    } else {
        format!("value at {shown} does not match schema")
    };
    Violation { path: place.steps(), text }
}
