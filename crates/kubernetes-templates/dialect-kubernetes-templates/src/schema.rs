//! The parameters of a template as a JSON Schema, for forms.

use crate::node::{Map, Node, Value};
use crate::parameter::{Declaration, Type};
use crate::{Syntax, read};

/// The schema of a map of parameters.
pub(crate) fn schema(metadata: Option<&Map>, parameters: &[Declaration], syntax: Syntax) -> Node {
    let name = metadata.and_then(|metadata| metadata.str("name"));
    let annotations = metadata.and_then(|metadata| metadata.get("annotations")).and_then(Node::as_map);
    let annotation = |key: &str| annotations.and_then(|annotations| annotations.str(key));
    let mut schema = Map::default();
    let mut text = |key: &str, text: Option<&str>| {
        if let Some(text) = text {
            schema.set(key, Node::string(text));
        }
    };
    text("$schema", Some("https://json-schema.org/draft/2020-12/schema"));
    text("title", annotation("openshift.io/display-name").or(name));
    text("description", annotation("description"));
    text("type", Some("object"));
    let properties = parameters.iter().map(|parameter| (parameter.name.as_str(), property(parameter)));
    schema.set("properties", Node::new(Value::Map(properties.collect())));
    let required = parameters.iter().filter(|parameter| parameter.needs_value(None, syntax));
    let required = required.map(|parameter| Node::string(parameter.name.as_str())).collect();
    schema.set("required", Node::new(Value::List(required)));
    schema.set("additionalProperties", Node::new(Value::Bool(false)));
    Node::new(Value::Map(schema))
}

fn property(parameter: &Declaration) -> Node {
    let mut property = Map::default();
    let mut text = |key: &str, text: Option<&str>| {
        if let Some(text) = text {
            property.set(key, Node::string(text));
        }
    };
    text("title", parameter.display_name.as_deref());
    text("description", parameter.description.as_deref());
    text(
        "type",
        Some(match parameter.kind {
            Some(Type::Int) => "integer",
            Some(Type::Bool) => "boolean",
            Some(Type::String | Type::Base64) | None => "string",
        }),
    );
    text("contentEncoding", (parameter.kind == Some(Type::Base64)).then_some("base64"));
    let default = parameter.default.as_deref().map(|default| match parameter.kind {
        Some(Type::Int | Type::Bool) => read::scalar(default).map_or_else(|| Node::string(default), Node::new),
        _ => Node::string(default),
    });
    if parameter.is_required && matches!(parameter.kind, None | Some(Type::String | Type::Base64)) {
        property.set("minLength", Node::new(Value::Number("1".into())));
    }
    if let Some(default) = default {
        property.set("default", default);
    }
    Node::new(Value::Map(property))
}
