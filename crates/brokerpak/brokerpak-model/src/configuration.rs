//! The operator's configuration: a document, and variables of the environment that beat it.

use std::collections::BTreeMap;

use hil::Value;
use serde_json::Value as Json;

/// Prefix of the variables that are keys of the configuration.
const PREFIX: &str = "GSB_";

/// Keys and values from `--config`, from `GSB_A_B` (key `a.b`) and from the variables that the manifest maps to keys. Keys are
/// compared without regard to case.
#[derive(Debug, Clone, Default)]
pub struct Configuration {
    document: Json,
    /// The document with its keys as they are written.
    written: Json,
    environment: BTreeMap<String, String>,
    /// Variables of the environment by the key that they set, in lower case.
    mapped: BTreeMap<String, Vec<String>>,
}

impl Configuration {
    /// A configuration of a document, an environment, and the manifest's `env_config_mapping` (variable to key).
    pub fn new(
        document: Json,
        environment: BTreeMap<String, String>,
        mapping: &BTreeMap<String, String>,
    ) -> Configuration {
        let mut mapped: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (variable, key) in mapping {
            mapped.entry(key.to_lowercase()).or_default().push(variable.clone());
        }
        Configuration { document: lower_case(document.clone()), written: document, environment, mapped }
    }

    /// A variable of the environment, even an empty one.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.environment.get(name).map(String::as_str)
    }

    /// The value of a key: a text if a variable sets it, else what the document has. Empty variables and null count as absent.
    pub fn get(&self, key: &str) -> Option<Json> {
        let key = key.to_lowercase();
        let own = format!("{PREFIX}{}", key.to_uppercase().replace(['.', '-'], "_"));
        let names = std::iter::once(&own).chain(self.mapped.get(&key).into_iter().flatten());
        let set = names.filter_map(|name| self.variable(name)).find(|value| !value.is_empty());
        if let Some(text) = set {
            return Some(Json::String(text.to_owned()));
        }
        find(&self.document, &key).filter(|value| !value.is_null()).cloned()
    }

    /// The value of a key as [`Configuration::get`], the keys within it as they are written.
    pub fn get_exact(&self, key: &str) -> Option<Json> {
        match self.get(key)? {
            Json::Object(_) | Json::Array(_) => find_exact(&self.written, &key.to_lowercase()).cloned(),
            scalar => Some(scalar),
        }
    }

    /// The value of a key as the function `config` gives it: texts trimmed, other scalars as text, maps and lists as JSON.
    pub fn text(&self, key: &str) -> Option<String> {
        Some(match self.get(key)? {
            Json::String(text) => text.trim().to_owned(),
            Json::Number(number) => hil::decimal(&number),
            Json::Bool(value) => value.to_string(),
            other => go_json(&other),
        })
    }
}

/// The value at a path of keys with dots; a key may contain dots itself.
fn find<'j>(document: &'j Json, path: &str) -> Option<&'j Json> {
    let map = document.as_object()?;
    if let Some(value) = map.get(path) {
        return Some(value);
    }
    path.match_indices('.').rev().find_map(|(dot, _)| find(map.get(&path[..dot])?, &path[dot + 1..]))
}

/// The same in a document whose keys are not in lower case.
fn find_exact<'j>(document: &'j Json, path: &str) -> Option<&'j Json> {
    let map = document.as_object()?;
    let get = |key: &str| map.iter().find(|(name, _)| name.to_lowercase() == key).map(|entry| entry.1);
    get(path)
        .or_else(|| path.match_indices('.').rev().find_map(|(dot, _)| find_exact(get(&path[..dot])?, &path[dot + 1..])))
}

fn lower_case(json: Json) -> Json {
    match json {
        Json::Object(map) => {
            Json::Object(map.into_iter().map(|(key, value)| (key.to_lowercase(), lower_case(value))).collect())
        }
        Json::Array(items) => items.into_iter().map(lower_case).collect(),
        scalar => scalar,
    }
}

/// JSON as Go writes it: keys sorted, markup escaped.
pub fn go_json(json: &Json) -> String {
    match json {
        Json::Object(map) => {
            let sorted: BTreeMap<&String, &Json> = map.iter().collect();
            let entries: Vec<String> =
                sorted.into_iter().map(|(key, value)| format!("{}:{}", go_string(key), go_json(value))).collect();
            format!("{{{}}}", entries.join(","))
        }
        Json::Array(items) => format!("[{}]", items.iter().map(go_json).collect::<Vec<_>>().join(",")),
        Json::String(text) => go_string(text),
        scalar => scalar.to_string(),
    }
}

fn go_string(text: &str) -> String {
    let mut out = String::new();
    hil::json_string(&mut out, text);
    out
}

/// What expressions need in addition to their variables: the configuration, a counter of the run, time and randomness.
pub struct Host<'c> {
    configuration: &'c Configuration,
    counter: i64,
    machine: &'c mut dyn Machine,
}

/// Time and randomness.
pub trait Machine {
    /// The nanoseconds since 1970.
    fn time_nano(&mut self) -> i128;
    /// Random bytes.
    ///
    /// # Errors
    /// Why there are none.
    fn random(&mut self, count: usize) -> Result<Vec<u8>, String>;
    /// The variable whose expression is evaluated next.
    fn variable(&mut self, _name: &str) {}
}

impl<'c> Host<'c> {
    /// A host whose counter starts at 1.
    pub fn new(configuration: &'c Configuration, machine: &'c mut dyn Machine) -> Host<'c> {
        Host { configuration, counter: 0, machine }
    }

    /// The variable whose expression is evaluated next.
    pub(crate) fn begin(&mut self, variable: &str) {
        self.machine.variable(variable);
    }
}

impl hil::Host for Host<'_> {
    fn time_nano(&mut self) -> i128 {
        self.machine.time_nano()
    }

    fn random(&mut self, count: usize) -> Result<Vec<u8>, String> {
        self.machine.random(count)
    }

    fn counter_next(&mut self) -> i64 {
        self.counter += 1;
        self.counter
    }

    fn env(&mut self, name: &str) -> Option<String> {
        self.configuration.variable(name).map(str::to_owned)
    }

    fn config(&mut self, key: &str) -> Option<String> {
        self.configuration.text(key)
    }
}

/// The variables of an expression from JSON.
pub fn variables(json: &serde_json::Map<String, Json>) -> BTreeMap<String, Value> {
    json.iter().map(|(name, value)| (name.clone(), Value::from_json(value))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn variables_beat_the_document_and_empty_ones_do_not_count() {
        let document = json!({ "A": { "B": 42, "flag": true, "Map": { "Key": "<x>" }, "blank": " x \n" }, "a.dotted.c": "d", "nil": null });
        let environment =
            [("GSB_X_Y_Z", "1"), ("GSB_A_BLANK", ""), ("MAPPED", "m"), ("GSB_OWN", "own"), ("OTHER", "other")];
        let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let mapping = [("MAPPED", "a.b"), ("OTHER", "own")].map(|(name, key)| (name.to_owned(), key.to_owned()));
        let config = Configuration::new(document, environment, &mapping.into());
        let text = |key: &str| config.text(key);
        assert_eq!(text("x.y-z").as_deref(), Some("1"));
        assert_eq!(text("a.B").as_deref(), Some("m"), "the mapped variable beats the document");
        assert_eq!(text("own").as_deref(), Some("own"), "the key's own variable beats the mapped one");
        assert_eq!(text("a.flag").as_deref(), Some("true"));
        assert_eq!(text("a.map").as_deref(), Some(r#"{"key":"\u003cx\u003e"}"#));
        assert_eq!(text("a.blank").as_deref(), Some("x"));
        assert_eq!(text("a.dotted.c").as_deref(), Some("d"));
        assert_eq!((text("nil"), text("a.none"), text("a.b.c")), (None, None, None));
    }
}
