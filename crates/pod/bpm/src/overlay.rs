//! What a manifest changes in the `bpm.yml` that a job renders: `properties.quarks.bpm` and variables of its processes.

use std::collections::BTreeMap;

use problem::{Class, Problem, Result, code};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{ProcessConfig, parse_for_job};

/// What is behind the path of a file in problems with the changes.
pub const OVERLAID: &str = ", with properties.quarks.bpm";

/// The changes. As JSON, a part of the resolved group, whose readers apply them to what they render.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overlay {
    /// Processes: each changes the rendered one of its name, or is added.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<Map<String, Value>>,
    /// Variables of all processes, which override those that they have.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Capabilities that all processes have in addition to their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<String>,
    /// Whether all processes are privileged.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub privileged: bool,
}

/// What became of a `bpm.yml`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlaid {
    /// The whole file.
    pub text: Vec<u8>,
    /// Whether a process was added. `monit` does not know it then, and `bpm.yml` alone decides what runs.
    pub has_added: bool,
}

impl Overlay {
    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        *self == Overlay::default()
    }

    /// As JSON.
    pub fn encode(&self) -> String {
        // Nothing in it fails to serialize: keys are strings, numbers are finite.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads what [`Overlay::encode`] wrote.
    ///
    /// # Errors
    /// Another text.
    pub fn decode(text: &str) -> Result<Overlay> {
        let invalid = || Problem::input("the changes of a bpm.yml are not valid").code(code::DOCUMENT_INVALID);
        serde_json::from_str(text).map_err(|_| invalid().into())
    }

    /// Applies the changes as Quarks does: a field that is not empty replaces the rendered one, mappings are merged key by key.
    /// Nothing becomes of a job that renders no `bpm.yml`, unless processes are added. `path` is named in problems.
    ///
    /// # Errors
    /// A `bpm.yml` that BPM refuses, as it was rendered or with the changes.
    pub fn apply(&self, rendered: Option<&[u8]>, path: &str, job: &str) -> Result<Option<Overlaid>> {
        let config = rendered.map(|text| parse_for_job(text, path, job)).transpose()?;
        if config.is_none() && self.processes.is_empty() {
            return Ok(None);
        }
        let config = config.map(|config| config.processes).unwrap_or_default();
        let mut processes: Vec<Value> = config.iter().map(of_process).collect();
        let mut has_added = false;
        for changes in &self.processes {
            match processes.iter_mut().find(|process| process["name"] == changes["name"]) {
                Some(process) => merge(process, &Value::Object(changes.clone())),
                None => {
                    has_added = true;
                    processes.push(Value::Object(changes.clone()));
                }
            }
        }
        processes.iter_mut().for_each(|process| self.change_all(process));
        let mut text = serde_json::to_vec_pretty(&json!({"processes": processes})).unwrap_or_default();
        text.push(b'\n');
        parse_for_job(&text, &format!("{path}{OVERLAID}"), job).map_err(|mut problems| {
            // The manifest made it invalid: it was valid as rendered.
            problems.iter_mut().for_each(|problem| problem.class = Class::Input);
            problems
        })?;
        Ok(Some(Overlaid { text, has_added }))
    }

    /// The changes of every process.
    fn change_all(&self, process: &mut Value) {
        if !self.env.is_empty() {
            merge(process, &json!({"env": self.env}));
        }
        if self.privileged {
            merge(process, &json!({"unsafe": {"privileged": true}}));
        }
        for capability in &self.capabilities {
            let has = process["capabilities"].as_array().is_some_and(|all| all.iter().any(|own| own == capability));
            match process["capabilities"].as_array_mut() {
                _ if has => {}
                Some(all) => all.push(capability.as_str().into()),
                None => process["capabilities"] = json!([capability]),
            }
        }
    }
}

fn of_process(process: &ProcessConfig) -> Value {
    // A struct of texts, numbers and lists always has JSON.
    serde_json::to_value(process).unwrap_or_default()
}

fn merge(target: &mut Value, changes: &Value) {
    let is_empty = match changes {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    };
    match (target, changes) {
        _ if is_empty => {}
        (Value::Object(target), Value::Object(changes)) => {
            for (key, value) in changes {
                merge(target.entry(key.clone()).or_insert(Value::Null), value);
            }
            target.retain(|_, value| !value.is_null());
        }
        (target, changes) => target.clone_from(changes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    const RENDERED: &[u8] =
        b"processes:\n- name: web\n  executable: /bin/web\n  args: [a, 0755]\n  env: {A: '1', B: 2}\n  \
        limits: {memory: 1G, open_files: 10}\n  ephemeral_disk: true\n- {name: side, executable: /bin/side}\n";

    fn apply(overlay: Value, rendered: Option<&[u8]>) -> Result<Option<(Vec<ProcessConfig>, bool)>> {
        let overlay = Overlay::decode(&overlay.to_string())?;
        assert_eq!(Overlay::decode(&overlay.encode())?, overlay);
        let overlaid = overlay.apply(rendered, "bpm.yml", "job")?;
        Ok(overlaid.map(|overlaid| (parse(&overlaid.text, "x").unwrap().processes, overlaid.has_added)))
    }

    #[test]
    fn what_is_not_empty_replaces_and_mappings_are_merged() {
        let changes = json!({"processes": [{"name": "web", "executable": "", "args": ["b"], "env": {"B": "3", "C": "yes"},
            "limits": {"open_files": 20}, "ephemeral_disk": false, "workdir": null}]});
        let (processes, has_added) = apply(changes, Some(RENDERED)).unwrap().unwrap();
        let web = &processes[0];
        assert_eq!((web.executable.as_str(), web.args.as_slice()), ("/bin/web", &["b".to_owned()][..]));
        let env: Vec<_> = web.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(env, ["A=1", "B=3", "C=yes"]);
        assert_eq!((web.limits.memory.as_deref(), web.limits.open_files), (Some("1G"), Some(20)));
        assert!(!web.ephemeral_disk && !has_added);
        assert_eq!(processes[1].name, "side");
    }

    #[test]
    fn processes_are_added_and_all_get_variables_and_capabilities() {
        let changes = json!({"processes": [{"name": "new", "executable": "/bin/new"}], "env": {"A": "9"},
            "capabilities": ["NET_RAW"], "privileged": true});
        let (processes, has_added) = apply(changes.clone(), Some(RENDERED)).unwrap().unwrap();
        assert!(has_added);
        assert_eq!(processes.iter().map(|process| process.name.as_str()).collect::<Vec<_>>(), ["web", "side", "new"]);
        assert!(processes.iter().all(|process| process.env["A"] == "9"
            && process.capabilities == ["NET_RAW"]
            && process.unsafe_.privileged));
        let (processes, has_added) = apply(changes, None).unwrap().unwrap();
        assert!(has_added && processes.len() == 1);
        assert_eq!(apply(json!({"env": {"A": "9"}}), None).unwrap(), None);
    }

    #[test]
    fn what_bpm_refuses_is_refused() {
        let problem = apply(json!({"processes": [{"name": "new"}]}), Some(RENDERED)).unwrap_err();
        assert_eq!(problem.iter().next().unwrap().class, Class::Input);
        assert!(problem.to_string().contains("executable"), "{problem}");
        assert!(apply(json!({}), Some(b"processes: 1\n")).is_err());
        assert!(apply(json!({"proceses": []}), None).is_err());
    }
}
