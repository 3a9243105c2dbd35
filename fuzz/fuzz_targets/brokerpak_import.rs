//! The rewrite of imports: whatever resources and definitions say, an error or a template in HCL that does not evaluate their texts.
#![no_main]

use brokerpak_model::definition::{Action, Mapping};
use brokerpak_model::import::{Schemas, rewrite};
use brokerpak_model::pak::Template;
use brokerpak_model::state::State;
use brokerpak_model::workspace::destroyable;
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

/// The schema of whatever a value has: objects in lists are blocks.
fn schema(attributes: &Value) -> Value {
    let (mut plain, mut blocks) = (serde_json::Map::new(), serde_json::Map::new());
    for (name, value) in attributes.as_object().into_iter().flatten() {
        match value.as_array().and_then(|items| items.first()).filter(|first| first.is_object()) {
            Some(first) => drop(blocks.insert(name.clone(), json!({ "nesting_mode": "list", "block": schema(first) }))),
            None => drop(plain.insert(name.clone(), json!({ "type": "string", "optional": true }))),
        }
    }
    json!({ "attributes": plain, "block_types": blocks })
}

/// Names of attributes that a provider can have.
fn is_named(attributes: &Value) -> bool {
    let is_name = |name: &String| {
        name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    attributes.as_object().is_none_or(|map| {
        map.iter().all(|(name, value)| {
            is_name(name) && value.as_array().is_none_or(|items| items.iter().all(is_named))
        })
    })
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut parts = text.splitn(4, '\0');
    let mut next = || parts.next().unwrap_or_default().to_owned();
    let (attributes, variable, parameter, source) = (next(), next(), next(), next());
    let _ = State::parse(attributes.as_bytes());
    let Ok(attributes) = serde_json::from_str::<Value>(&attributes) else { return };
    if !attributes.is_object() || !is_named(&attributes) {
        return;
    }
    let instance = json!({ "attributes": attributes });
    let resource = json!({ "mode": "managed", "type": "t", "name": "n", "instances": [instance] });
    let state = json!({ "version": 4, "resources": [resource] });
    let state = State::parse(state.to_string().as_bytes()).expect("it is a state");
    let action = Action {
        import_parameter_mappings: vec![Mapping { tf_variable: variable.clone(), parameter_name: parameter }],
        import_parameters_to_delete: vec![format!("t.n.{variable}")],
        ..Action::default()
    };
    let schemas = Schemas::from([("t".to_owned(), schema(&attributes))]);
    let mut template = Template::default();
    template.sources.insert(String::new(), source);
    destroyable(&template);
    for template in [Template::default(), template] {
        if let Ok(rewritten) = rewrite(&action, &template, &state, &schemas) {
            assert!(rewritten.template.sources.contains_key("main"));
        }
    }
    // Without expressions, no text becomes one.
    let plain = rewrite(&Action::default(), &Template::default(), &state, &schemas).expect("the template is HCL");
    assert!(plain.template.names.used.is_empty(), "{}", plain.template.sources["main"]);
});
