//! What kind of value a keyword has, and where schemas are below a schema.

use serde_json::Value as Json;

use crate::error::SchemaError;

/// Kinds of values.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Schema,
    Schemas,
    SchemasByName,
    SchemasOrNamesByName,
    Names,
    NamesByName,
    TypeNames,
    List,
    Number,
    Text,
}

/// The kind of a keyword's value; `None` for keywords that are not evaluated.
pub(crate) fn shape(keyword: &str) -> Option<Shape> {
    Some(match keyword {
        "not"
        | "if"
        | "then"
        | "else"
        | "items"
        | "contains"
        | "additionalProperties"
        | "propertyNames"
        | "unevaluatedItems"
        | "unevaluatedProperties"
        | "contentSchema" => Shape::Schema,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => Shape::Schemas,
        "properties" | "patternProperties" | "dependentSchemas" | "$defs" | "definitions" => Shape::SchemasByName,
        "dependencies" => Shape::SchemasOrNamesByName,
        "required" => Shape::Names,
        "dependentRequired" => Shape::NamesByName,
        "type" => Shape::TypeNames,
        "enum" => Shape::List,
        "multipleOf" | "maximum" | "exclusiveMaximum" | "minimum" | "exclusiveMinimum" | "maxLength" | "minLength"
        | "maxItems" | "minItems" | "maxContains" | "minContains" | "maxProperties" | "minProperties" => Shape::Number,
        "pattern" | "format" | "$ref" | "$dynamicRef" | "$id" | "$anchor" | "$dynamicAnchor" => Shape::Text,
        _ => return None,
    })
}

/// The schemas directly below a schema, with the steps that lead to them.
pub(crate) fn below(schema: &Json) -> Vec<(String, &Json)> {
    let mut found = Vec::new();
    for (keyword, value) in schema.as_object().into_iter().flatten() {
        match shape(keyword) {
            Some(Shape::Schema) => found.push((keyword.clone(), value)),
            Some(Shape::Schemas) => {
                let schemas = value.as_array().into_iter().flatten().enumerate();
                found.extend(schemas.map(|(i, schema)| (format!("{keyword}/{i}"), schema)));
            }
            Some(Shape::SchemasByName | Shape::SchemasOrNamesByName) => {
                let schemas = value.as_object().into_iter().flatten().filter(|(_, schema)| !schema.is_array());
                found.extend(schemas.map(|(name, schema)| (format!("{keyword}/{name}"), schema)));
            }
            _ => {}
        }
    }
    found
}

/// Checks the kind of every keyword's value, of this schema and those below.
pub(crate) fn check(schema: &Json) -> Result<(), SchemaError> {
    check_at(schema, "")
}

fn check_at(schema: &Json, place: &str) -> Result<(), SchemaError> {
    let shown = if place.is_empty() { "the schema".to_owned() } else { format!("the schema at {place}") };
    if schema.is_boolean() {
        return Ok(());
    }
    let Json::Object(object) = schema else {
        return Err(SchemaError(format!("{shown} is neither an object nor a boolean")));
    };
    for (keyword, value) in object {
        if let Some(expected) = shape(keyword).and_then(|shape| violated(shape, value)) {
            return Err(SchemaError(format!("{shown} has a `{keyword}` that is not {expected}")));
        }
    }
    below(schema).into_iter().try_for_each(|(steps, schema)| check_at(schema, &format!("{place}/{steps}")))
}

/// What a value should have been, if it is not.
fn violated(shape: Shape, value: &Json) -> Option<&'static str> {
    let names = |value: &Json| value.as_array().is_some_and(|list| list.iter().all(Json::is_string));
    let (right, expected) = match shape {
        Shape::Schema => (value.is_object() || value.is_boolean(), "a schema"),
        Shape::Schemas => (value.is_array(), "a list of schemas"),
        Shape::SchemasByName => (value.is_object(), "an object of schemas"),
        Shape::SchemasOrNamesByName => (value.is_object(), "an object of schemas or lists of names"),
        Shape::Names => (names(value), "a list of names"),
        Shape::NamesByName => {
            (value.as_object().is_some_and(|object| object.values().all(names)), "an object of lists of names")
        }
        Shape::TypeNames => (value.is_string() || names(value), "a type or a list of types"),
        Shape::List => (value.is_array(), "a list"),
        Shape::Number => (value.is_number(), "a number"),
        Shape::Text => (value.is_string(), "a string"),
    };
    (!right).then_some(expected)
}
