//! The state of terraform: what its file says about outputs and resources.

use serde_json::{Map, Value as Json};

use crate::version::Version;

/// A state.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct State {
    /// The id of the state: that of another one has another.
    pub lineage: String,
    /// The number of its revision.
    pub serial: u64,
    /// The version of terraform that has written it, if it says so.
    pub version: Option<Version>,
    /// Outputs by name.
    pub outputs: Map<String, Json>,
    /// Resources, each instance by itself; no data sources.
    pub resources: Vec<Resource>,
}

/// An instance of a resource.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Resource {
    /// Its address with its module.
    pub address: String,
    /// Its type.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// The address of its provider.
    pub provider: String,
    /// Whether it is to be replaced.
    pub is_tainted: bool,
    /// Its attributes.
    pub attributes: Json,
    /// Texts of attributes that are marked as sensitive, or have names of secrets.
    pub secrets: Vec<String>,
}

/// What names of attributes with secrets contain. States of older versions do not say which attributes are sensitive.
const SECRET_NAMES: [&str; 9] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "private_key",
    "access_key",
    "credential",
    "connection_string",
];

impl State {
    /// Reads a state of version 4.
    ///
    /// # Errors
    /// What is wrong with it; values are not named.
    pub fn parse(text: &[u8]) -> Result<State, String> {
        let json: Json = serde_json::from_slice(text)
            .map_err(|error| format!("it is not JSON (line {}, column {})", error.line(), error.column()))?;
        match json["version"].as_u64() {
            Some(4) => {}
            Some(other) => return Err(format!("unsupported tfstate version: {other}")),
            None => return Err("it has no version".to_owned()),
        }
        let mut state = State {
            lineage: json["lineage"].as_str().unwrap_or_default().to_owned(),
            serial: json["serial"].as_u64().unwrap_or_default(),
            version: json["terraform_version"].as_str().and_then(Version::parse),
            ..State::default()
        };
        let invalid = |what: &str| format!("its {what} are invalid");
        match &json["outputs"] {
            Json::Null => {}
            Json::Object(outputs) => {
                for (name, output) in outputs {
                    state.outputs.insert(name.clone(), output["value"].clone());
                }
            }
            _ => return Err(invalid("outputs")),
        }
        let resources = match &json["resources"] {
            Json::Null => &[][..],
            Json::Array(resources) => resources,
            _ => return Err(invalid("resources")),
        };
        for resource in resources {
            let instances = resource["instances"].as_array().ok_or_else(|| invalid("resources"))?;
            if resource["mode"].as_str() != Some("data") {
                state.resources.extend(instances.iter().map(|instance| self::resource(resource, instance)));
            }
        }
        Ok(state)
    }

    /// Texts that messages and logs must not have: outputs and secrets of resources.
    pub fn secrets(&self) -> Vec<String> {
        let mut found = Vec::new();
        self.outputs.values().for_each(|output| secrets(output, true, &mut found));
        found.extend(self.resources.iter().flat_map(|resource| resource.secrets.clone()));
        found
    }

    /// Addresses of the resources, each once, sorted.
    pub fn addresses(&self) -> Vec<String> {
        sorted(self.resources.iter())
    }

    /// Addresses of those that are to be replaced.
    pub fn tainted(&self) -> Vec<String> {
        sorted(self.resources.iter().filter(|resource| resource.is_tainted))
    }

    /// The value of an attribute by its path `type.name.attribute`; blocks and lists may have an index or not.
    pub fn attribute(&self, path: &str) -> Option<Json> {
        let mut parts = path.split('.');
        let (kind, name) = (parts.next()?, parts.next()?);
        let resource = self.resources.iter().find(|resource| resource.kind == kind && resource.name == name)?;
        let mut value = &resource.attributes;
        for part in parts {
            value = match value {
                Json::Object(map) => map.get(part)?,
                Json::Array(items) => match part.parse::<usize>() {
                    Ok(index) => items.get(index)?,
                    Err(_) => items.first()?.get(part)?,
                },
                _ => return None,
            };
        }
        let value = dynamic(value);
        (!value.is_null()).then(|| value.clone())
    }
}

fn sorted<'r>(resources: impl Iterator<Item = &'r Resource>) -> Vec<String> {
    let mut addresses: Vec<String> = resources.map(|resource| resource.address.clone()).collect();
    addresses.sort();
    addresses.dedup();
    addresses
}

/// The value of an attribute of no fixed type, which a state has with its type.
pub(crate) fn dynamic(value: &Json) -> &Json {
    match value.as_object() {
        Some(map) if map.len() == 2 && map.contains_key("type") => map.get("value").unwrap_or(value),
        _ => value,
    }
}

/// Texts in a value that are secret: all of them, or those below names of secrets.
fn secrets(value: &Json, is_secret: bool, found: &mut Vec<String>) {
    match value {
        Json::String(text) if is_secret => found.push(text.clone()),
        Json::Array(items) => items.iter().for_each(|item| secrets(item, is_secret, found)),
        Json::Object(map) => {
            for (name, value) in map {
                let name = name.to_lowercase();
                let is_named = SECRET_NAMES.iter().any(|secret| name.contains(secret));
                secrets(value, is_secret || is_named, found);
            }
        }
        _ => {}
    }
}

fn resource(resource: &Json, instance: &Json) -> Resource {
    let mut found = Vec::new();
    secrets(&instance["attributes"], false, &mut found);
    // Paths of steps, of which the first one names the attribute.
    for path in instance["sensitive_attributes"].as_array().into_iter().flatten() {
        if let Some(name) = path[0]["value"].as_str() {
            secrets(&instance["attributes"][name], true, &mut found);
        }
    }
    let text = |key: &str| resource[key].as_str().unwrap_or_default();
    let module = match text("module") {
        "" => String::new(),
        module => format!("{module}."),
    };
    let index = match &instance["index_key"] {
        Json::Null => String::new(),
        key => format!("[{key}]"),
    };
    let provider = text("provider");
    let provider =
        provider.split_once("provider[\"").and_then(|(_, rest)| rest.split_once('"')).map_or("", |parts| parts.0);
    Resource {
        address: format!("{module}{}.{}{index}", text("type"), text("name")),
        kind: text("type").to_owned(),
        name: text("name").to_owned(),
        provider: provider.to_owned(),
        is_tainted: instance["status"] == "tainted",
        attributes: instance["attributes"].clone(),
        secrets: found,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn outputs_resources_and_attributes() {
        let document = json!({
            "version": 4, "terraform_version": "1.9.1", "serial": 3, "lineage": "l",
            "outputs": { "a": { "value": [1], "type": ["list", "number"], "sensitive": true } },
            "resources": [
                { "module": "module.instance", "mode": "managed", "type": "t", "name": "n",
                  "provider": "provider[\"registry.terraform.io/hashicorp/t\"]",
                  "instances": [
                    { "index_key": "k", "attributes": { "b": [{ "c": "x" }], "d": { "value": "v", "type": "string" }, "e": null } },
                    { "index_key": 1, "status": "tainted", "attributes": {} },
                    { "index_key": 1, "deposed": "0123", "attributes": {} } ] },
                { "mode": "data", "type": "t", "name": "d", "instances": [{ "attributes": {} }] },
            ],
        });
        let state = State::parse(document.to_string().as_bytes()).unwrap();
        assert_eq!((state.lineage.as_str(), state.serial), ("l", 3));
        assert_eq!(state.version, Version::parse("1.9.1"));
        assert_eq!(state.outputs, json!({ "a": [1] }).as_object().cloned().unwrap());
        assert_eq!(state.addresses(), ["module.instance.t.n[\"k\"]", "module.instance.t.n[1]"]);
        assert_eq!(state.tainted(), ["module.instance.t.n[1]"]);
        assert_eq!(state.resources[0].provider, "registry.terraform.io/hashicorp/t");
        for (path, value) in [
            ("t.n.b.c", Some(json!("x"))),
            ("t.n.b.0.c", Some(json!("x"))),
            ("t.n.d", Some(json!("v"))),
            ("t.n.e", None),
            ("t.x.b", None),
            ("t", None),
        ] {
            assert_eq!(state.attribute(path), value, "{path}");
        }
    }

    #[test]
    fn secrets_are_those_of_names_and_of_marks() {
        let attributes =
            json!({ "id": "i", "admin_Password": "p", "nested": [{ "auth_token": ["t", 1] }], "plain": { "x": "m" } });
        let marked =
            json!([[{ "type": "get_attr", "value": "plain" }, { "type": "index", "value": { "value": "x" } }]]);
        let instance = json!({ "attributes": attributes, "sensitive_attributes": marked });
        let resource = json!({ "mode": "managed", "type": "t", "name": "n", "instances": [instance] });
        let state = json!({ "version": 4, "resources": [resource] });
        assert_eq!(State::parse(state.to_string().as_bytes()).unwrap().resources[0].secrets, ["p", "t", "m"]);
    }

    #[test]
    fn what_is_no_state_is_an_error() {
        for (text, message) in [
            ("", "it is not JSON (line 1, column 0)"),
            ("{\"version\": 4, \"outp", "it is not JSON (line 1, column 20)"),
            ("{}", "it has no version"),
            ("{\"version\": 3}", "unsupported tfstate version: 3"),
            ("{\"version\": 4, \"outputs\": []}", "its outputs are invalid"),
            ("{\"version\": 4, \"resources\": [{}]}", "its resources are invalid"),
        ] {
            assert_eq!(State::parse(text.as_bytes()), Err(message.to_owned()));
        }
        assert!(State::parse(b"{\"version\": 4}").unwrap().resources.is_empty());
    }
}
