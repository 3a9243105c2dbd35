//! A schema as a whole: reading it, and walking its keywords over a value.

use std::rc::Rc;

use serde_json::{Map, Value as Json};
use value::Value;

use crate::outcome::{Outcome, Place, Verdict};
use crate::reference::Resources;
use crate::words::text;
use crate::{DRAFT, Facts, Unusable, Violation, shape};

/// Schemas within schemas that one value may take; more are taken for a schema that refers to itself without end.
const DEEPEST: usize = 300;

/// Keywords in the order in which they are looked at, which is the order of their errors. A keyword comes after those
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

/// A job's schema.
#[derive(Debug)]
pub struct Schema(Json);

impl Schema {
    /// Reads the document.
    ///
    /// # Errors
    /// What BOSH says of a schema that does not declare 2020-12, or what is no schema.
    pub fn new(document: Json) -> Result<Schema, Unusable> {
        let Json::Object(object) = &document else {
            return Err(Unusable("the schema must be a JSON object".into()));
        };
        match object.get("$schema") {
            Some(Json::String(draft)) if draft == DRAFT => {}
            None | Some(Json::Null | Json::Bool(false)) => return Err(undeclared()),
            Some(Json::String(draft)) if draft.trim().is_empty() => return Err(undeclared()),
            Some(_) => return Err(Unusable(format!("Only {DRAFT} schema is currently supported"))),
        }
        shape::check(&document)?;
        Ok(Schema(document))
    }

    /// What is wrong with these properties; nothing, and they are as the schema says.
    ///
    /// # Errors
    /// A schema whose references lead nowhere, or with a pattern that is none.
    pub fn validate(&self, properties: &Value, facts: &dyn Facts) -> Result<Vec<Violation>, Unusable> {
        let mut walk = Walk { resources: Resources::of(&self.0, facts)?, facts, scope: Vec::new() };
        let root = walk.resources.root();
        Ok(walk.schema(&root, None, properties, Place::Root)?.violations)
    }
}

fn undeclared() -> Unusable {
    Unusable("You must declare your $schema draft version".into())
}

/// A schema and the address that its references start from.
#[derive(Clone)]
pub(crate) struct Node<'s> {
    pub(crate) json: &'s Json,
    pub(crate) base: Rc<str>,
}

/// What the keywords of one schema have found out for each other.
pub(crate) struct Here<'s, 'i> {
    pub(crate) base: Rc<str>,
    pub(crate) object: &'s Map<String, Json>,
    pub(crate) instance: &'i Value,
    pub(crate) place: Place<'i>,
    /// What valid keywords have looked at so far.
    pub(crate) outcome: Outcome,
    /// Keys that `properties` and `patternProperties` spoke of.
    pub(crate) named: Vec<String>,
    /// How many elements `contains` found.
    pub(crate) contained: Option<usize>,
    /// Whether `if` holds.
    pub(crate) condition: Option<bool>,
}

impl<'s> Here<'s, '_> {
    /// A schema below this one.
    pub(crate) fn node(&self, json: &'s Json) -> Node<'s> {
        Node { json, base: self.base.clone() }
    }
}

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
    ) -> Result<Outcome, Unusable> {
        let Json::Object(object) = node.json else {
            let valid = node.json != &Json::Bool(false);
            let violations = if valid { Vec::new() } else { vec![refused(keyword, place)] };
            return Ok(Outcome { valid, violations, ..Outcome::default() });
        };
        let base = self.resources.base_of(node);
        self.scope.push(base.clone());
        if self.scope.len() > DEEPEST {
            return Err(Unusable("the schema refers to itself without end".into()));
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
                let violation = Violation { path: place.steps(), text: text(&here, keyword, value) };
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
    ) -> Result<Option<Verdict>, Unusable> {
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
