//! Vars: strings, or objects of them.

use go_template::{Map, Value};

use crate::document::{Data, Node, Object};
use crate::report::{Report, member};

/// Reports each var that is neither a string nor an object of vars.
pub(crate) fn check(vars: &Object, path: &str, report: &mut Report) {
    for (key, node) in vars {
        let path = member(path, key);
        match &node.data {
            Data::String(_) => {}
            Data::Object(members) => check(members, &path, report),
            _ => {
                report.error(&node.position, format!("{path} is {}, not a string", node.kind()));
            }
        }
    }
}

/// Vars as templates see them: a `map[string]string` if all are strings, else a `map[string]any`.
pub(crate) fn value(vars: &Object) -> Value {
    let key = |key: &String| Box::from(key.as_bytes());
    if vars.values().all(|node| node.as_str().is_some()) {
        let text = |node: &Node| Box::from(node.as_str().unwrap_or_default().as_bytes());
        return Value::Map(Map::of_strings(vars.iter().map(|(name, node)| (key(name), text(node)))));
    }
    let one = |node: &Node| match &node.data {
        Data::Object(members) => value(members),
        _ => Value::from(node.as_str().unwrap_or_default()),
    };
    Value::Map(Map::new(vars.iter().map(|(name, node)| (key(name), one(node)))))
}
