//! What expressions know of the request: `request.*` and `instance.*`.

use std::collections::BTreeMap;

use hil::Value;
use serde_json::{Map, Value as Json, json};

use crate::configuration::Configuration;
use crate::request::Request;

/// Names that expressions of an action may use.
pub(crate) const PROVISION: [&str; 9] = [
    "request.plan_id",
    "request.service_id",
    "request.instance_id",
    "request.default_labels",
    "request.default_labels.pcf-organization-guid",
    "request.default_labels.pcf-space-guid",
    "request.default_labels.pcf-instance-id",
    "request.context",
    "request.x_broker_api_originating_identity",
];

/// The same of a binding.
pub(crate) const BIND: [&str; 10] = [
    "request.plan_id",
    "request.service_id",
    "request.instance_id",
    "request.binding_id",
    "request.app_guid",
    "request.plan_properties",
    "request.context",
    "request.x_broker_api_originating_identity",
    "instance.name",
    "instance.details",
];

/// The constants of a request. They cannot be replaced by variables.
pub(crate) fn constants(request: &Request<'_>, configuration: &Configuration) -> BTreeMap<String, Value> {
    let definition = &request.service.definition;
    let context = request.object("context");
    let mut constants = json!({
        "request.plan_id": request.plan.id.value,
        "request.service_id": definition.id.value,
        "request.instance_id": request.text("instance_id"),
        "request.context": context,
        "request.x_broker_api_originating_identity": request.object("originating_identity"),
    });
    if request.operation.is_binding() {
        let instance = request.object("instance");
        let name = [instance.get("name"), context.get("instance_name")].into_iter().flatten().find_map(Json::as_str);
        constants["request.binding_id"] = request.text("binding_id").into();
        constants["request.app_guid"] = request.text("app_guid").into();
        constants["instance.name"] = name.unwrap_or_default().into();
        constants["instance.details"] = instance.get("outputs").cloned().unwrap_or_else(|| Map::new().into());
    } else {
        let labels = labels(request, &context, configuration);
        for (name, value) in labels.iter().filter(|(name, _)| name.starts_with("pcf-")) {
            constants[format!("request.default_labels.{name}")] = value.clone();
        }
        constants["request.default_labels"] = labels.into();
    }
    let mut constants = constants.as_object().map(crate::configuration::variables).unwrap_or_default();
    if request.operation.is_binding() {
        let properties = Value::from_yaml(&request.plan.properties.clone().into());
        constants.insert("request.plan_properties".to_owned(), properties);
    }
    constants
}

/// The labels of a request: the operator's, and where the instance belongs.
fn labels(request: &Request<'_>, context: &Map<String, Json>, configuration: &Configuration) -> Map<String, Json> {
    let mut labels = global_labels(configuration);
    let previous = request.object("previous_values");
    for (label, in_context, before) in [
        ("pcf-organization-guid", "organization_guid", "organization_id"),
        ("pcf-space-guid", "space_guid", "space_id"),
    ] {
        let sources = [context.get(in_context), request.document.get(in_context), previous.get(before)];
        let value = sources.into_iter().flatten().filter_map(Json::as_str).find(|value| !value.is_empty());
        labels.insert(label.to_owned(), sanitized(value.unwrap_or_default()).into());
    }
    labels.insert("pcf-instance-id".to_owned(), sanitized(request.text("instance_id")).into());
    labels
}

/// `global_labels` of `GSB_BROKERPAK_CONFIG`: a list of keys and values.
fn global_labels(configuration: &Configuration) -> Map<String, Json> {
    let parsed = match configuration.get("brokerpak.config") {
        Some(Json::String(text)) => serde_json::from_str(&text).unwrap_or(Json::Null),
        other => other.unwrap_or(Json::Null),
    };
    let mut labels = Map::new();
    for label in parsed["global_labels"].as_array().into_iter().flatten() {
        if let (Some(key), Some(value)) = (label["key"].as_str(), label["value"].as_str()) {
            labels.insert(key.to_owned(), value.into());
        }
    }
    labels
}

/// A label's value: one `_` for each run of characters that are not letters, digits, `_` or `-`.
fn sanitized(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    let mut in_run = false;
    for character in value.chars() {
        let is_valid = character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
        if is_valid {
            text.push(character);
        } else if !in_run {
            text.push('_');
        }
        in_run = !is_valid;
    }
    text
}
