//! Secret values, which are not shown.

use std::collections::BTreeSet;

use cluster::Object;
use dialect_kubernetes_templates::{Declaration, Document, Node, Syntax, Type, Value};
use problem::{Problems, Result};
use template_flags::is_generated;

/// Parts of the names of parameters whose values are secret.
const NAMES: [&str; 7] = ["PASSWORD", "PASSWD", "PASSPHRASE", "SECRET", "TOKEN", "CREDENTIAL", "PRIVATE"];
/// A shorter value is hidden only where it is a whole text: it would be found everywhere.
const SHORTEST: usize = 4;
const HIDDEN: &str = "***";

/// The secret values of a template.
#[derive(Default)]
pub(crate) struct Secrets {
    values: BTreeSet<String>,
}

impl Secrets {
    /// The values of generated parameters, of those that Secrets refer to, that are base64, or whose names say so.
    pub(crate) fn of(document: &Document, syntax: Syntax, declarations: &[Declaration], processed: &Node) -> Secrets {
        let referred = document.references_of("Secret", syntax);
        let is_secret = |declaration: &&Declaration| {
            let name = declaration.name.to_uppercase();
            is_generated(declaration)
                || declaration.kind == Some(Type::Base64)
                || referred.contains(&declaration.name)
                || NAMES.iter().any(|part| name.contains(part))
                || name.split('_').any(|word| matches!(word, "KEY" | "PASS" | "PW" | "PWD"))
        };
        let names: BTreeSet<&str> = declarations.iter().filter(is_secret).map(|one| one.name.as_str()).collect();
        let parameters = match processed.as_map().and_then(|map| map.get("parameters")).map(|node| &node.value) {
            Some(Value::List(parameters)) => parameters.as_slice(),
            _ => &[],
        };
        let parameters = parameters.iter().filter_map(Node::as_map);
        let secret = parameters.filter(|parameter| parameter.str("name").is_some_and(|name| names.contains(name)));
        let values = secret.filter_map(|parameter| parameter.str("value").map(str::to_owned));
        Secrets { values: values.filter(|value| !value.is_empty()).collect() }
    }

    /// Whether a text is or contains a secret value.
    fn are_in(&self, text: &str) -> bool {
        self.values.iter().any(|value| text == value || (value.len() >= SHORTEST && text.contains(value.as_str())))
    }

    /// A message of the API server without secret values.
    fn masked(&self, text: &str) -> String {
        let long = self.values.iter().filter(|value| value.len() >= SHORTEST);
        long.fold(text.to_owned(), |text, value| text.replace(value.as_str(), HIDDEN))
    }

    /// Problems whose causes have no secret values.
    pub(crate) fn mask<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|mut problems: Problems| {
            for problem in problems.iter_mut() {
                problem.causes.iter_mut().for_each(|cause| *cause = self.masked(cause));
            }
            problems
        })
    }

    /// Replaces secret values of an object before and after a change, so that it can be seen that they change, but not how.
    pub(crate) fn hide(&self, before: &mut Object, after: &mut Object) {
        let is_secret = |object: &Object| object["kind"] == "Secret" && object["apiVersion"] == "v1";
        if is_secret(before) || is_secret(after) {
            for key in ["data", "stringData"] {
                let (mut old, mut new) = (Object::Null, Object::Null);
                self.walk(before.get_mut(key).unwrap_or(&mut old), after.get_mut(key).unwrap_or(&mut new), true);
            }
        }
        self.walk(before, after, false);
    }

    /// Walks through both at the same time: what is secret on one side is hidden on the other one, too.
    fn walk(&self, before: &mut Object, after: &mut Object, is_secret: bool) {
        let mut none = Object::Null;
        match (before, after) {
            (Object::Object(before), Object::Object(after)) => {
                for (key, value) in before.iter_mut() {
                    self.walk(value, after.get_mut(key).unwrap_or(&mut none), is_secret);
                }
                let new = after.iter_mut().filter(|(key, _)| !before.contains_key(*key));
                new.for_each(|(_, value)| self.walk(&mut none, value, is_secret));
            }
            (Object::Array(before), Object::Array(after)) => {
                for (index, value) in before.iter_mut().enumerate() {
                    match partner(value, index, after) {
                        Some(at) => self.walk(value, &mut after[at], is_secret),
                        None => self.walk(value, &mut none, is_secret),
                    }
                }
                for (index, value) in after.iter_mut().enumerate() {
                    if partner(value, index, before).is_none() {
                        self.walk(&mut none, value, is_secret);
                    }
                }
            }
            (before, after) if is_container(before) || is_container(after) => {
                self.alone(before, is_secret, true);
                self.alone(after, is_secret, false);
            }
            (before, after) => self.leaf(before, after, is_secret),
        }
    }

    /// Walks through what is on one side only.
    fn alone(&self, value: &mut Object, is_secret: bool, is_before: bool) {
        let each = |value: &mut Object| match is_before {
            true => self.walk(value, &mut Object::Null, is_secret),
            false => self.walk(&mut Object::Null, value, is_secret),
        };
        match value {
            Object::Object(map) => map.values_mut().for_each(each),
            Object::Array(items) => items.iter_mut().for_each(each),
            scalar => each(scalar),
        }
    }

    fn leaf(&self, before: &mut Object, after: &mut Object, is_secret: bool) {
        let is_hidden = |value: &Object| match value {
            Object::Null => false,
            Object::String(text) => is_secret || self.are_in(text),
            other => is_secret || self.are_in(&other.to_string()),
        };
        if !is_hidden(before) && !is_hidden(after) {
            return;
        }
        let (old, new) = if before == after { ("", "") } else { (" (before)", " (after)") };
        for (value, when) in [(before, old), (after, new)] {
            if !value.is_null() {
                *value = format!("{HIDDEN}{when}").into();
            }
        }
    }
}

fn is_container(value: &Object) -> bool {
    value.is_object() || value.is_array()
}

/// The element of a list that stands for the same: the one of this name, or else at this place.
fn partner(value: &Object, index: usize, list: &[Object]) -> Option<usize> {
    match value["name"].as_str() {
        Some(name) => list.iter().position(|other| other["name"] == name),
        None => (index < list.len()).then_some(index),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secret_values_are_hidden_on_both_sides() {
        let secrets = Secrets { values: ["hunter22".to_owned(), "ab".to_owned()].into() };
        let env = |password: &str| json!([{"name": "A", "value": "plain about"}, {"name": "P", "value": password}]);
        let mut before = json!({"kind": "X", "env": env("old"), "url": "u:hunter22@h", "short": "ab"});
        let mut after =
            json!({"kind": "X", "env": [{"name": "P", "value": "hunter22"}], "url": "u:hunter22@h", "new": {"x": 1}});
        secrets.hide(&mut before, &mut after);
        assert_eq!(
            before["env"],
            json!([{"name": "A", "value": "plain about"}, {"name": "P", "value": "*** (before)"}])
        );
        assert_eq!(after["env"], json!([{"name": "P", "value": "*** (after)"}]));
        assert_eq!((&before["url"], &after["url"]), (&json!("***"), &json!("***")));
        assert_eq!((&before["short"], &after["new"]), (&json!("*** (before)"), &json!({"x": 1})));
    }

    #[test]
    fn data_of_secrets_is_hidden_whatever_it_is() {
        let secret = |data| json!({"kind": "Secret", "apiVersion": "v1", "data": data});
        let (mut before, mut after) =
            (secret(json!({"a": "b2xk", "same": "eA=="})), secret(json!({"a": "bmV3", "same": "eA=="})));
        Secrets::default().hide(&mut before, &mut after);
        assert_eq!(before["data"], json!({"a": "*** (before)", "same": "***"}));
        assert_eq!(after["data"], json!({"a": "*** (after)", "same": "***"}));
        let (mut text, mut list) = (json!({"kind": "X", "a": "hunter22"}), json!({"kind": "X", "a": ["hunter22"]}));
        let secrets = Secrets { values: ["hunter22".to_owned()].into() };
        secrets.hide(&mut text, &mut list);
        assert_eq!((&text["a"], &list["a"]), (&json!("*** (before)"), &json!(["*** (after)"])));
        let mut new = secret(json!({"a": "bmV3"}));
        Secrets::default().hide(&mut Object::Null, &mut new);
        assert_eq!(new["data"]["a"], "*** (after)");
    }
}
