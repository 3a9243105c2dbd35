//! json_schemer's messages.

use serde_json::Value as Json;

use crate::node::Here;
use crate::outcome::{Place, missing};
use crate::ruby_text::to_s;

/// Replaces the value where the author's own message wants to show it.
const MASKED: &str = "<redacted>";

/// The message of a keyword that a value violates.
pub(crate) fn message(here: &Here, keyword: &str, value: &Json) -> String {
    own_message(here, keyword, here.place).unwrap_or_else(|| standard(here, keyword, value))
}

/// The message of `dependentRequired` about a key whose required keys are missing.
pub(crate) fn dependent_message(here: &Here, place: Place) -> String {
    own_message(here, "dependentRequired", place)
        .unwrap_or_else(|| format!("object at {} is missing required `dependentRequired` properties", place.shown()))
}

/// The message that the author gives under `x-error`: for all keywords of the schema, or by keyword.
fn own_message(here: &Here, keyword: &str, place: Place) -> Option<String> {
    let text = match here.object.get("x-error")? {
        Json::Object(by_keyword) => by_keyword.get(keyword).or_else(|| by_keyword.get("*"))?.as_str()?,
        other => other.as_str()?,
    };
    Some(text.replace("%{instance}", MASKED).replace("%{instanceLocation}", &place.pointer()))
}

fn standard(here: &Here, keyword: &str, value: &Json) -> String {
    let at = here.place.shown();
    let limit = to_s(value);
    match keyword {
        "type" => match value.as_str() {
            Some("null") => format!("value at {at} is not null"),
            Some(name @ ("boolean" | "number" | "string" | "certificate")) => {
                format!("value at {at} is not a {name}")
            }
            Some(name @ ("integer" | "array" | "object")) => format!("value at {at} is not an {name}"),
            _ => format!("value at {at} is not one of the types: {limit}"),
        },
        "enum" => format!("value at {at} is not one of: {limit}"),
        "const" => format!("value at {at} is not: {limit}"),
        "multipleOf" => format!("number at {at} is not a multiple of: {limit}"),
        "maximum" => format!("number at {at} is greater than: {limit}"),
        "exclusiveMaximum" => format!("number at {at} is greater than or equal to: {limit}"),
        "minimum" => format!("number at {at} is less than: {limit}"),
        "exclusiveMinimum" => format!("number at {at} is less than or equal to: {limit}"),
        "maxLength" => format!("string length at {at} is greater than: {limit}"),
        "minLength" => format!("string length at {at} is less than: {limit}"),
        "pattern" => format!("string at {at} does not match pattern: {limit}"),
        "format" => format!("value at {at} does not match format: {limit}"),
        "maxItems" => format!("array size at {at} is greater than: {limit}"),
        "minItems" => format!("array size at {at} is less than: {limit}"),
        "uniqueItems" => format!("array items at {at} are not unique"),
        "maxContains" => {
            format!("number of array items at {at} matching `contains` schema is greater than: {limit}")
        }
        "minContains" => format!("number of array items at {at} matching `contains` schema is less than: {limit}"),
        "maxProperties" => format!("object size at {at} is greater than: {limit}"),
        "minProperties" => format!("object size at {at} is less than: {limit}"),
        "required" => {
            format!("object at {at} is missing required properties: {}", missing(value, here.instance).join(", "))
        }
        "allOf" => format!("value at {at} does not match all `allOf` schemas"),
        "anyOf" => format!("value at {at} does not match any `anyOf` schemas"),
        "oneOf" => format!("value at {at} does not match exactly one `oneOf` schema"),
        "not" => format!("value at {at} matches `not` schema"),
        "then" | "else" => format!("value at {at} does not match conditional `{keyword}` schema"),
        "contains" => format!("array at {at} does not contain enough items that match `contains` schema"),
        "dependencies" => format!(
            "object at {at} either does not match applicable `dependencies` schemas or is missing required \
             `dependencies` properties"
        ),
        _ => format!("value at {at} does not match schema"),
    }
}
