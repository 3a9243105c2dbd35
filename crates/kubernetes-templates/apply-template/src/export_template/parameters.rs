//! The parameters of an exported template, and its references to them.

use std::collections::BTreeSet;

use cluster::{Object, name};
use serde_json::{Value, json};

/// The parameter for the namespace that subjects are in.
const NAMESPACE: &str = "NAMESPACE";

/// The parameters so far.
#[derive(Default)]
pub(crate) struct Parameters {
    list: Vec<Value>,
    names: BTreeSet<String>,
}

impl Parameters {
    /// An object in which `$` is escaped, values of Secrets are references, and so is the namespace of subjects.
    pub(crate) fn parameterized(&mut self, mut object: Object, namespace: &str) -> Object {
        escape(&mut object);
        if object["kind"] == "Secret" && object["apiVersion"] == "v1" {
            self.secret(&mut object);
        }
        if object["kind"] == "RoleBinding" {
            let subjects = object.get_mut("subjects").and_then(Value::as_array_mut);
            for subject in subjects.into_iter().flatten().filter(|subject| subject["namespace"] == namespace) {
                subject["namespace"] = format!("$({NAMESPACE})").into();
                self.namespace(namespace);
            }
        }
        object
    }

    pub(crate) fn into_list(self) -> Vec<Value> {
        self.list
    }

    fn namespace(&mut self, namespace: &str) {
        if self.list.iter().all(|parameter| parameter["name"] != NAMESPACE) {
            self.names.insert(NAMESPACE.to_owned());
            let description = "The namespace of accounts that roles are bound to";
            self.list
                .push(json!({"name": NAMESPACE, "description": description, "value": namespace, "required": true}));
        }
    }

    fn secret(&mut self, secret: &mut Object) {
        let of = name(secret).to_owned();
        for (key, value) in secret.get_mut("data").and_then(Value::as_object_mut).into_iter().flatten() {
            // A required value is not empty.
            if value.as_str().is_some_and(|text| !text.is_empty()) {
                let parameter = self.unused(&format!("{of}_{key}"));
                let description = format!("Secret {of}, entry {key}, in base64");
                self.list
                    .push(json!({"name": parameter, "description": description, "required": true, "type": "base64"}));
                *value = format!("$({parameter})").into();
            }
        }
    }

    /// A name for a parameter that no other one has.
    fn unused(&mut self, text: &str) -> String {
        let character = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
        let name: String = text.chars().map(character).collect();
        let numbered = (2..).map(|number| format!("{name}_{number}"));
        let mut candidates = std::iter::once(name.clone()).chain(numbered);
        let found =
            candidates.find(|candidate| candidate != NAMESPACE && !self.names.contains(candidate)).unwrap_or(name);
        self.names.insert(found.clone());
        found
    }
}

/// Escapes `$` in all strings, keys included.
fn escape(value: &mut Value) {
    match value {
        Value::String(text) => *text = escaped(text),
        Value::Array(items) => items.iter_mut().for_each(escape),
        Value::Object(map) => {
            *map = std::mem::take(map)
                .into_iter()
                .map(|(key, mut value)| {
                    escape(&mut value);
                    (escaped(&key), value)
                })
                .collect();
        }
        _ => {}
    }
}

/// `$$` for each `$` before `$` or `(`; others begin no reference.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        out.push(c);
        if c == '$' && matches!(characters.peek(), Some('$' | '(')) {
            out.push('$');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use dialect_kubernetes_templates::{Document, Node, Options, UserValues, process};

    use super::*;

    /// What processing makes of a text.
    fn processed(text: &str) -> String {
        let template = json!({"kind": "Template", "apiVersion": "v1", "parameters": [{"name": "X", "value": "secret"}],
            "objects": [{"kind": "A", "apiVersion": "v1", "text": text}]});
        let document = Document::read(template.to_string().as_bytes(), "t.json").unwrap();
        let processed = process(document, &UserValues::default(), &Options::default(), &|_| ()).result.unwrap();
        processed.objects()[0].as_map().unwrap().get("text").and_then(Node::as_str).unwrap().to_owned()
    }

    #[test]
    fn escaped_texts_stay_what_they_are() {
        for text in [
            "",
            "$",
            "$$",
            "$$$",
            "$(X)",
            "$((X))",
            "$$(X)",
            "$$$(X)",
            "a$b$(X)c$",
            "$X ${X} $(date)",
            "$$$$((X))$$",
            "\u{e9}$(X",
        ] {
            assert_eq!(processed(&escaped(text)), text, "{text} as {}", escaped(text));
        }
        assert_eq!(escaped("$X ${Y} a$"), "$X ${Y} a$");
    }

    #[test]
    fn values_of_secrets_become_parameters() {
        let mut parameters = Parameters::default();
        let secret = |name: &str| json!({"kind": "Secret", "apiVersion": "v1", "metadata": {"name": name}, "data": {"a.b": "eA==", "c": ""}});
        let first = parameters.parameterized(secret("db"), "shop");
        assert_eq!(first["data"], json!({"a.b": "$(DB_A_B)", "c": ""}));
        assert_eq!(parameters.parameterized(secret("DB"), "shop")["data"]["a.b"], "$(DB_A_B_2)");
        let binding = json!({"kind": "RoleBinding", "subjects": [{"name": "a", "namespace": "shop"}, {"name": "b", "namespace": "x"}]});
        let binding = parameters.parameterized(binding, "shop");
        assert_eq!(binding["subjects"][0]["namespace"], "$(NAMESPACE)");
        assert_eq!(binding["subjects"][1]["namespace"], "x");
        let names: Vec<Value> = parameters.into_list().iter().map(|parameter| parameter["name"].clone()).collect();
        assert_eq!(names, ["DB_A_B", "DB_A_B_2", "NAMESPACE"]);
    }
}
