//! Labels of all objects, and of their selectors and pod templates.

use problem::{Class, code};

use crate::node::{Entry, Map, Node, Position, Value};
use crate::path::Path;
use crate::report::{Positions, Report};
use crate::substitute::Added;

/// A part of a label's key, and a label's value.
const LONGEST: usize = 63;
/// The domain before a label's key.
const LONGEST_PREFIX: usize = 253;

/// Labels that are valid, with the paths and positions of nothing: they are added to objects.
pub(crate) type Labels = Vec<(String, String)>;

/// Why a text is not the key of a label.
pub fn key_error(key: &str) -> Option<&'static str> {
    let (prefix, name) = key.split_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
    if name.is_empty() || name.len() > LONGEST || !is_label(name) {
        return Some(
            "the key of a label has 1 to 63 letters, digits, '-', '_' and '.', and begins and ends with a letter or digit",
        );
    }
    let is_domain = |prefix: &str| {
        prefix.len() <= LONGEST_PREFIX
            && prefix.split('.').all(|part| {
                let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
                !part.is_empty() && part.chars().all(is_part) && !part.starts_with('-') && !part.ends_with('-')
            })
    };
    (!prefix.is_none_or(is_domain)).then_some("the part of a label's key before '/' is a DNS name")
}

/// Why a text is not the value of a label.
pub fn value_error(value: &str) -> Option<&'static str> {
    let is_valid = value.is_empty() || (value.len() <= LONGEST && is_label(value));
    (!is_valid).then_some(
        "the value of a label has up to 63 letters, digits, '-', '_' and '.', and begins and ends with a letter or digit",
    )
}

fn is_label(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let outer = |c: char| c.is_ascii_alphanumeric();
    text.chars().all(inner) && text.starts_with(outer) && text.ends_with(outer)
}

/// Adds the labels to an object, or to each item of a list.
pub(crate) struct Labelling<'l> {
    pub(crate) labels: &'l Labels,
    /// Whether selectors and pod templates get them too.
    pub(crate) selectors: bool,
    /// The index of the object, if messages are those of OpenShift.
    pub(crate) item: Option<usize>,
    /// Counts what is added.
    pub(crate) added: &'l mut Added,
    pub(crate) report: &'l mut Report,
    /// Where values are that the user gave.
    pub(crate) given: Positions<'l>,
}

impl Labelling<'_> {
    /// Reports what is not an object; `reason` is for OpenShift's message.
    pub(crate) fn unusable(&mut self, path: &Path, position: Position, message: String, reason: &str) {
        let class = self.given.class(position);
        match self.item {
            Some(index) => {
                let message = format!("item[{index}].objects: Invalid value: unable to handle object: {reason}");
                self.report.add_as_is(class, code::OBJECT_INVALID, path, position, message);
            }
            None => {
                self.report.add(class, code::OBJECT_INVALID, path, position, message);
            }
        }
    }

    /// An object that is not a List.
    pub(crate) fn object(&mut self, object: &mut Map, api_version: &str, kind: &str, path: &Path) {
        if self.labels.is_empty() {
            return;
        }
        self.metadata(object, path);
        let Some(shape) = selector_place(group(api_version), kind).filter(|_| self.selectors) else { return };
        let Some(spec) = self.map(object, "spec", path) else { return };
        let path = path.key("spec");
        match shape {
            SelectorPlace::Workload(selector) => {
                if self.pod_template(spec, &path) {
                    self.selector(spec, "selector", selector, &path);
                }
            }
            SelectorPlace::Selector(key, selector) => self.selector(spec, key, selector, &path),
            SelectorPlace::Job => self.job(spec, &path),
            SelectorPlace::CronJob => {
                let Some(job) = self.map(spec, "jobTemplate", &path) else { return };
                let path = path.key("jobTemplate");
                let Some(spec) = self.map(job, "spec", &path) else { return };
                self.job(spec, &path.key("spec"));
            }
        }
    }

    fn job(&mut self, spec: &mut Map, path: &Path) {
        let is_manual = matches!(spec.get("manualSelector").map(|node| &node.value), Some(Value::Bool(true)));
        if self.pod_template(spec, path) && is_manual {
            self.selector(spec, "selector", Selector::Expressions, path);
        }
    }

    /// Whether the spec has a pod template.
    fn pod_template(&mut self, spec: &mut Map, path: &Path) -> bool {
        let Some(template) = self.map(spec, "template", path) else { return false };
        self.metadata(template, &path.key("template"));
        true
    }

    fn metadata(&mut self, object: &mut Map, path: &Path) {
        let is_map = self.is_map(object, "metadata", path);
        let Some(metadata) = object.map_mut("metadata").filter(|_| is_map) else { return };
        let path = path.key("metadata");
        if self.is_map(metadata, "labels", &path)
            && let Some(labels) = metadata.map_mut("labels")
        {
            self.put(labels, &path);
        }
    }

    fn put(&mut self, labels: &mut Map, path: &Path) {
        // An entry takes more memory than its text.
        let bytes = self.labels.iter().map(|(key, value)| key.len() + value.len() + size_of::<Entry>()).sum();
        if self.added.allows(bytes, Class::Template, path, Position::default(), self.report) {
            labels.set_all(self.labels.iter().map(|(key, value)| (key.as_str(), Node::string(value.as_str()))));
        }
    }

    /// A selector; one that is absent or empty stays.
    fn selector(&mut self, spec: &mut Map, key: &str, selector: Selector, path: &Path) {
        let Some(map) = self.map(spec, key, path).filter(|map| !map.is_empty()) else { return };
        let path = path.key(key);
        if selector == Selector::Labels {
            self.put(map, &path);
            return;
        }
        let is_empty = map.iter().all(|entry| match &entry.node.value {
            Value::Null => true,
            Value::Map(labels) => labels.is_empty(),
            Value::List(expressions) => expressions.is_empty(),
            _ => false,
        });
        if !is_empty
            && self.is_map(map, "matchLabels", &path)
            && let Some(labels) = map.map_mut("matchLabels")
        {
            self.put(labels, &path);
        }
    }

    /// The map below a key; a problem if it is something else.
    fn map<'m>(&mut self, map: &'m mut Map, key: &str, path: &Path) -> Option<&'m mut Map> {
        if !self.is_map(map, key, path) {
            return None;
        }
        map.get_mut(key).and_then(Node::as_map_mut)
    }

    /// Whether a key is a map, `null` or absent; a problem if not.
    fn is_map(&mut self, map: &Map, key: &str, path: &Path) -> bool {
        match map.present(key) {
            Some(node) if node.as_map().is_none() => {
                let path = path.key(key);
                let message = format!("{path}: must be a map, not {}", node.kind());
                let message = match self.item {
                    Some(index) => {
                        format!("item[{index}].labels: Invalid value: label could not be applied: {message}")
                    }
                    None => message,
                };
                let class = self.given.class(node.position);
                self.report.add_as_is(class, code::OBJECT_INVALID, &path, node.position, message);
                false
            }
            _ => true,
        }
    }
}

/// How a selector selects.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Selector {
    /// A map of labels.
    Labels,
    /// `matchLabels` and `matchExpressions`.
    Expressions,
}

/// Where an object has selectors and pod templates.
#[derive(Clone, Copy)]
enum SelectorPlace {
    /// `spec.selector` and `spec.template`, which belong together.
    Workload(Selector),
    /// A selector of pods in this field of `spec`.
    Selector(&'static str, Selector),
    /// `spec.template`, and `spec.selector` where it is manual.
    Job,
    /// A Job in `spec.jobTemplate`.
    CronJob,
}

fn selector_place(group: &str, kind: &str) -> Option<SelectorPlace> {
    Some(match (group, kind) {
        ("apps" | "extensions", "Deployment" | "ReplicaSet" | "DaemonSet" | "StatefulSet") => {
            SelectorPlace::Workload(Selector::Expressions)
        }
        ("", "ReplicationController") | ("" | "apps.openshift.io", "DeploymentConfig") => {
            SelectorPlace::Workload(Selector::Labels)
        }
        ("", "Service") => SelectorPlace::Selector("selector", Selector::Labels),
        ("policy", "PodDisruptionBudget") => SelectorPlace::Selector("selector", Selector::Expressions),
        ("networking.k8s.io" | "extensions", "NetworkPolicy") => {
            SelectorPlace::Selector("podSelector", Selector::Expressions)
        }
        ("batch", "Job") => SelectorPlace::Job,
        ("batch", "CronJob") => SelectorPlace::CronJob,
        _ => return None,
    })
}

/// The group of an `apiVersion`; empty for that of `v1`.
fn group(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// The labels that the user gives, which are valid.
pub(crate) fn check_given(labels: &Labels, report: &mut Report) {
    for (key, value) in labels {
        let path = Path::Root.key("--label");
        let shown = key.escape_debug();
        for error in [key_error(key), value_error(value)].into_iter().flatten() {
            let problem =
                report.add(Class::Input, code::LABEL_INVALID, &path, Default::default(), format!("'{shown}': {error}"));
            problem.place = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_values_of_labels() {
        for key in ["a", "app.kubernetes.io/name", "A_b-c.1", "x".repeat(63).as_str()] {
            assert_eq!(key_error(key), None, "{key}");
        }
        for key in
            ["", "/a", "a/", "a/b/c", "-a", "a-", "a b", "A.io/x", "a..b/x", "-a/x", "\u{e9}", "x".repeat(64).as_str()]
        {
            assert!(key_error(key).is_some(), "{key}");
        }
        for value in ["", "a", "1.0_x-y", "x".repeat(63).as_str()] {
            assert_eq!(value_error(value), None, "{value}");
        }
        for value in ["-", "a b", "a/b", ".a", "x".repeat(64).as_str()] {
            assert!(value_error(value).is_some(), "{value}");
        }
    }
}
