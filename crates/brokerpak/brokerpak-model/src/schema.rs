//! Rules of variables as JSON Schema, with the messages of gojsonschema.

use std::cmp::Ordering;

use go_regexp::Regexp;
use serde_json::{Map, Value as Json};

use crate::configuration::go_json;
use crate::definition::Variable;

/// The mistakes of values: each with the name of its variable.
pub fn check(variables: &[Variable], values: &Map<String, Json>) -> Vec<String> {
    let name = |variable: &Variable| variable.field_name.value.clone();
    let missing = variables.iter().filter(|variable| variable.required && !values.contains_key(&name(variable)));
    let mut errors: Vec<String> = missing.map(|variable| format!("(root): {} is required", name(variable))).collect();
    for variable in variables {
        if let Some(value) = values.get(&name(variable)) {
            let name = name(variable);
            errors.extend(check_one(variable, value).into_iter().map(|error| format!("{name}: {error}")));
        }
    }
    errors
}

/// The mistakes of a value.
pub fn check_one(variable: &Variable, value: &Json) -> Vec<String> {
    let kind = variable.kind.value.as_str();
    let null_is_valid = variable.nullable && value.is_null();
    if !kind.is_empty() && !null_is_valid && !has_type(value, kind) {
        let expected = if variable.nullable { format!("[{kind},null]") } else { kind.to_owned() };
        return vec![format!("Invalid type. Expected: {expected}, given: {}", type_of(value))];
    }
    let mut errors = Vec::new();
    let name = &variable.field_name.value;
    if !variable.values.is_empty() && !null_is_valid && variable.values.iter().all(|(valid, _)| !equal(valid, value)) {
        errors.push(format!("{name} must be one of the following: {}", enumeration(variable)));
    }
    constraints(name, &variable.constraints, value, &mut errors);
    errors
}

fn enumeration(variable: &Variable) -> String {
    let plain = |json: &Json| json.as_str().map_or_else(|| json.to_string(), str::to_owned);
    let mut values: Vec<&Json> = variable.values.iter().map(|(value, _)| value).collect();
    if variable.nullable {
        values.push(&Json::Null);
    }
    values.sort_by_key(|value| plain(value));
    values.into_iter().map(go_json).collect::<Vec<_>>().join(", ")
}

fn type_of(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Number(_) if has_type(value, "integer") => "integer",
        Json::Number(_) => "number",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    }
}

/// Whether a value has a type; every value has one that is empty.
pub(crate) fn has_type(value: &Json, kind: &str) -> bool {
    match kind {
        "integer" => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => true,
    }
}

/// Numbers are equal by value: 1 and 1.0.
fn equal(one: &Json, other: &Json) -> bool {
    match (one, other) {
        (Json::Number(_), Json::Number(_)) => compare(one, other) == Some(Ordering::Equal),
        (Json::Array(one), Json::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| equal(one, other))
        }
        (Json::Object(one), Json::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, value)| other.get(key).is_some_and(|other| equal(value, other)))
        }
        _ => one == other,
    }
}

fn compare(one: &Json, other: &Json) -> Option<Ordering> {
    match (decimal(one), decimal(other)) {
        (Some((one, scale)), Some((other, other_scale))) => {
            let (one, other) = aligned((one, scale), (other, other_scale))?;
            Some(one.cmp(&other))
        }
        _ => one.as_f64()?.partial_cmp(&other.as_f64()?),
    }
}

/// A number as digits and the count of those behind the point, so that 0.3 is a multiple of 0.1; `None` for huge ones.
fn decimal(value: &Json) -> Option<(i128, u32)> {
    let text = hil::decimal(value.as_number()?);
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    Some((format!("{whole}{fraction}").parse().ok()?, fraction.len() as u32))
}

fn aligned((one, scale): (i128, u32), (other, other_scale): (i128, u32)) -> Option<(i128, i128)> {
    let most = scale.max(other_scale);
    let power = |digits: u32| 10i128.checked_pow(digits);
    Some((one.checked_mul(power(most - scale)?)?, other.checked_mul(power(most - other_scale)?)?))
}

fn is_multiple(value: &Json, of: &Json) -> bool {
    let exact = || {
        let (value, of) = aligned(decimal(value)?, decimal(of)?)?;
        value.checked_rem(of).map(|rest| rest == 0)
    };
    exact().or_else(|| Some(value.as_f64()? % of.as_f64()? == 0.0)).unwrap_or(true)
}

fn constraints(name: &str, rules: &Map<String, Json>, value: &Json, errors: &mut Vec<String>) {
    if let Some(constant) = rules.get("const")
        && !equal(constant, value)
    {
        errors.push(format!("{name} does not match: {}", go_json(constant)));
    }
    match value {
        Json::String(text) => text_rules(rules, text, errors),
        Json::Number(_) => number_rules(rules, value, errors),
        Json::Array(items) => {
            let what = ["Array must have at least {} items", "Array must have at most {} items"];
            size(rules, ["minItems", "maxItems"], items.len(), what, errors);
        }
        Json::Object(map) => {
            let what = ["Must have at least {} properties", "Must have at most {} properties"];
            size(rules, ["minProperties", "maxProperties"], map.len(), what, errors);
            if let Some(Json::Object(names)) = rules.get("propertyNames") {
                for key in map.keys() {
                    let mut wrong = Vec::new();
                    constraints(key, names, &key.as_str().into(), &mut wrong);
                    let listed = names.get("enum").and_then(Json::as_array);
                    let is_listed = listed.is_none_or(|list| list.iter().any(|item| item == key));
                    if !wrong.is_empty() || !is_listed {
                        errors.push(format!("Property name of \"{key}\" does not match"));
                    }
                }
            }
        }
        Json::Null | Json::Bool(_) => {}
    }
}

/// Checks a count; `{}` in the messages is the limit.
fn size(rules: &Map<String, Json>, keys: [&str; 2], count: usize, what: [&str; 2], errors: &mut Vec<String>) {
    let limit = |key: &str| rules.get(key).and_then(Json::as_f64);
    let count = count as f64;
    for (key, what, is_wrong) in [
        (keys[0], what[0], limit(keys[0]).is_some_and(|least| count < least)),
        (keys[1], what[1], limit(keys[1]).is_some_and(|most| count > most)),
    ] {
        if is_wrong {
            errors.push(what.replace("{}", &rules[key].to_string()));
        }
    }
}

fn text_rules(rules: &Map<String, Json>, text: &str, errors: &mut Vec<String>) {
    let what = ["String length must be greater than or equal to {}", "String length must be less than or equal to {}"];
    size(rules, ["minLength", "maxLength"], text.chars().count(), what, errors);
    if let Some(Json::String(pattern)) = rules.get("pattern") {
        match Regexp::new(pattern) {
            Ok(compiled) if compiled.is_match(text) => {}
            Ok(_) => errors.push(format!("Does not match pattern '{pattern}'")),
            Err(error) => errors.push(error.to_string()),
        }
    }
}

fn number_rules(rules: &Map<String, Json>, value: &Json, errors: &mut Vec<String>) {
    if let Some(of) = rules.get("multipleOf")
        && !is_multiple(value, of)
    {
        errors.push(format!("Must be a multiple of {of}"));
    }
    for (limit, exclusive, over, words) in [
        ("maximum", "exclusiveMaximum", Ordering::Greater, "less than"),
        ("minimum", "exclusiveMinimum", Ordering::Less, "greater than"),
    ] {
        // In older drafts the exclusive one is a boolean, which says that the limit itself is not valid either.
        let is_exclusive = rules.get(exclusive) == Some(&Json::Bool(true));
        if let Some(bound) = rules.get(limit) {
            let order = compare(value, bound);
            if is_exclusive && (order == Some(over) || order == Some(Ordering::Equal)) {
                errors.push(format!("Must be {words} {bound}"));
            } else if !is_exclusive && order == Some(over) {
                errors.push(format!("Must be {words} or equal to {bound}"));
            }
        }
        if let Some(bound) = rules.get(exclusive).filter(|bound| bound.is_number()) {
            let order = compare(value, bound);
            if order == Some(over) || order == Some(Ordering::Equal) {
                errors.push(format!("Must be {words} {bound}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::object::Placed;

    fn errors(kind: &str, rules: Json, value: Json) -> Vec<String> {
        let text = |text: &str| Placed { value: text.to_owned(), ..Placed::default() };
        let constraints = rules.as_object().cloned().unwrap_or_default();
        let variable = Variable { field_name: text("x"), kind: text(kind), constraints, ..Variable::default() };
        check(&[variable], &Map::from_iter([("x".to_owned(), value)]))
    }

    #[test]
    fn every_key_of_the_specification() {
        for (kind, rules, value, message) in [
            ("integer", json!({}), json!("a"), "Invalid type. Expected: integer, given: string"),
            ("integer", json!({}), json!(1.5), "Invalid type. Expected: integer, given: number"),
            ("", json!({ "const": "a" }), json!("b"), "x does not match: \"a\""),
            ("number", json!({ "multipleOf": 0.1 }), json!(0.35), "Must be a multiple of 0.1"),
            ("number", json!({ "minimum": 10 }), json!(9.5), "Must be greater than or equal to 10"),
            ("number", json!({ "maximum": 10 }), json!(11), "Must be less than or equal to 10"),
            ("number", json!({ "exclusiveMinimum": 10 }), json!(10), "Must be greater than 10"),
            ("number", json!({ "exclusiveMaximum": 10 }), json!(10.0), "Must be less than 10"),
            ("number", json!({ "minimum": 10, "exclusiveMinimum": true }), json!(10), "Must be greater than 10"),
            ("string", json!({ "maxLength": 2 }), json!("日本語"), "String length must be less than or equal to 2"),
            ("string", json!({ "minLength": 2 }), json!("a"), "String length must be greater than or equal to 2"),
            ("string", json!({ "pattern": "^[a-z]+$" }), json!("A"), "Does not match pattern '^[a-z]+$'"),
            ("array", json!({ "maxItems": 1 }), json!([1, 2]), "Array must have at most 1 items"),
            ("array", json!({ "minItems": 1 }), json!([]), "Array must have at least 1 items"),
            ("object", json!({ "maxProperties": 0 }), json!({ "a": 1 }), "Must have at most 0 properties"),
            ("object", json!({ "minProperties": 1 }), json!({}), "Must have at least 1 properties"),
            (
                "object",
                json!({ "propertyNames": { "pattern": "^a" } }),
                json!({ "b": 1 }),
                "Property name of \"b\" does not match",
            ),
        ] {
            assert_eq!(errors(kind, rules.clone(), value.clone()), [format!("x: {message}")], "{rules} {value}");
        }
        for (kind, rules, value) in [
            ("number", json!({ "multipleOf": 0.1 }), json!(0.3)),
            ("integer", json!({ "minimum": 1, "examples": [3] }), json!(1.0)),
            ("string", json!({ "maxLength": 3, "minLength": 3 }), json!("日本語")),
            ("", json!({ "const": 1 }), json!(1.0)),
        ] {
            assert_eq!(errors(kind, rules, value), [] as [String; 0]);
        }
    }
}
