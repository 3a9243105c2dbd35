//! Patches of an object: JSON Merge Patch (RFC 7386), JSON Patch (RFC 6902), and Kubernetes' strategic merge patch.
//!
//! The crate `json-patch` has no limits: 24 operations of 1.2 KB that copy a list into itself take 3 GiB. It patches values of `serde_json`, which
//! do not keep how a number was written: 12345678901234567890123 becomes 1.2345678901234568e+22.

use std::collections::HashMap;

use dialect_kubernetes_templates::{DEEPEST, Map, Node, Value};

use crate::status::{Cause, Failure, INVALID};

/// How an object is changed.
#[derive(Debug)]
pub(crate) enum Patch {
    /// Maps are merged, `null` removes.
    Merge(Node),
    /// Operations, one after the other.
    Operations(Vec<Operation>),
}

/// The media types of patches.
pub(crate) const MERGE_PATCH: &str = "application/merge-patch+json";
pub(crate) const STRATEGIC_MERGE_PATCH: &str = "application/strategic-merge-patch+json";
pub(crate) const JSON_PATCH: &str = "application/json-patch+json";

/// So many operations, as in Kubernetes.
const MOST_OPERATIONS: usize = 10_000;

/// So many values the operations of a patch may move or visit, all together.
const MOST_VISITED: u64 = 100_000_000;

/// What the operations of a patch have taken.
#[derive(Debug, Default)]
struct Cost {
    /// Bytes that were copied.
    copied: u64,
    /// Values that were moved or visited.
    visited: u64,
}

/// One operation of a JSON Patch.
#[derive(Debug)]
pub(crate) struct Operation {
    kind: Kind,
    path: Vec<String>,
}

#[derive(Debug)]
enum Kind {
    Add(Node),
    Remove,
    Replace(Node),
    Test(Node),
    Move(Vec<String>),
    Copy(Vec<String>),
}

/// A patched object has no more bytes than its request could have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit(pub(crate) u64);

impl Patch {
    /// A strategic merge patch, which OpenShift's clients send: no list of a Template is merged, so it is a merge patch.
    ///
    /// # Errors
    /// 400 for what is not one: directives, and the lists of an object's metadata that are merged.
    pub(crate) fn strategic(node: Node) -> Result<Patch, Failure> {
        let metadata = node.as_map().and_then(|map| map.get("metadata")).and_then(Node::as_map);
        let merged = ["finalizers", "ownerReferences"];
        let merged = merged.into_iter().find(|key| metadata.is_some_and(|metadata| metadata.get(key).is_some()));
        match directive(&node).or(merged) {
            None => Ok(Patch::Merge(node)),
            Some(name) => {
                let name = name.escape_debug();
                Err(Failure::bad_request(format!(
                    "{name}: not supported in a strategic merge patch; send a merge patch"
                )))
            }
        }
    }

    /// The operations of a JSON Patch.
    ///
    /// # Errors
    /// 400 for what is not a list of operations.
    pub(crate) fn operations(node: Node) -> Result<Patch, Failure> {
        let Value::List(items) = node.value else {
            return Err(Failure::bad_request("error decoding patch: a JSON Patch is a list of operations"));
        };
        if items.len() > MOST_OPERATIONS {
            let message =
                format!("The allowed maximum operations in a JSON patch is {MOST_OPERATIONS}, got {}", items.len());
            return Err(Failure::too_long(message));
        }
        let operation = |(index, item): (usize, Node)| {
            operation(item).ok_or_else(|| {
                Failure::bad_request(format!("error decoding patch: [{index}] is not an operation of a JSON Patch"))
            })
        };
        Ok(Patch::Operations(items.into_iter().enumerate().map(operation).collect::<Result<_, _>>()?))
    }

    /// The patched object.
    ///
    /// # Errors
    /// 422 for an operation that does not fit the object, 413 for copies that make it too large.
    pub(crate) fn apply(
        &self,
        mut node: Node,
        limit: Limit,
        failed: impl Fn(Vec<Cause>) -> Failure,
    ) -> Result<Node, Failure> {
        match self {
            Patch::Merge(patch) => {
                merge(&mut node, patch);
                Ok(node)
            }
            Patch::Operations(operations) => {
                let mut cost = Cost::default();
                for (index, operation) in operations.iter().enumerate() {
                    let done = operation.apply(&mut node, &mut cost);
                    if cost.copied > limit.0 {
                        return Err(Failure::too_large(limit.0));
                    }
                    if cost.visited > MOST_VISITED {
                        return Err(Failure::too_long("the patch moves too much in too large lists and maps"));
                    }
                    if let Err(why) = done {
                        let path = pointer(&operation.path);
                        let message = format!("operation {index} of the patch: {why} at '{path}'");
                        return Err(failed(vec![Cause::new(INVALID, "", message)]));
                    }
                }
                Ok(node)
            }
        }
    }
}

/// The first directive of a strategic merge patch. Lists are replaced as they are.
fn directive(node: &Node) -> Option<&str> {
    let is_directive = |key: &str| {
        matches!(key, "$patch" | "$retainKeys")
            || ["$setElementOrder/", "$deleteFromPrimitiveList/"].iter().any(|prefix| key.starts_with(prefix))
    };
    node.as_map()?.iter().find_map(|entry| match is_directive(&entry.key) {
        true => Some(entry.key.as_str()),
        false => directive(&entry.node),
    })
}

fn merge(target: &mut Node, patch: &Node) {
    let Value::Map(patch) = &patch.value else {
        target.value = patch.value.clone();
        return;
    };
    if target.as_map().is_none() {
        target.value = Value::Map(Map::default());
    }
    let Some(target) = target.as_map_mut() else { return };
    for entry in patch.iter() {
        if entry.node.is_null() {
            target.remove(&entry.key);
            continue;
        }
        if target.get(&entry.key).is_none() {
            target.set(&entry.key, Node::new(Value::Null));
        }
        if let Some(node) = target.get_mut(&entry.key) {
            merge(node, &entry.node);
        }
    }
}

fn operation(node: Node) -> Option<Operation> {
    let map = node.as_map()?;
    let value = || map.get("value").cloned();
    let from = || tokens(map.str("from")?);
    let kind = match map.str("op")? {
        "add" => Kind::Add(value()?),
        "remove" => Kind::Remove,
        "replace" => Kind::Replace(value()?),
        "test" => Kind::Test(value()?),
        "move" => Kind::Move(from()?),
        "copy" => Kind::Copy(from()?),
        _ => return None,
    };
    Some(Operation { kind, path: tokens(map.str("path")?)? })
}

/// The parts of a JSON Pointer (RFC 6901).
fn tokens(pointer: &str) -> Option<Vec<String>> {
    match pointer.strip_prefix('/') {
        Some(rest) => Some(rest.split('/').map(|token| token.replace("~1", "/").replace("~0", "~")).collect()),
        None => pointer.is_empty().then(Vec::new),
    }
}

fn pointer(tokens: &[String]) -> String {
    tokens.iter().map(|token| format!("/{}", token.escape_debug())).collect()
}

const ABSENT: &str = "no value exists";

impl Operation {
    /// A patched object is a document that can be read again.
    fn check_depth(&self, value: &Node) -> Result<(), &'static str> {
        if self.path.len() + depth(value) <= DEEPEST {
            Ok(())
        } else {
            Err("the object would have more than 500 levels")
        }
    }

    fn apply(&self, root: &mut Node, cost: &mut Cost) -> Result<(), &'static str> {
        cost.visited += passed(root, &self.path);
        match &self.kind {
            Kind::Add(value) => {
                self.check_depth(value)?;
                add(root, &self.path, value.clone())
            }
            Kind::Remove => remove(root, &self.path).map(drop),
            Kind::Replace(value) => {
                self.check_depth(value)?;
                *find(root, &self.path).ok_or(ABSENT)? = value.clone();
                Ok(())
            }
            Kind::Test(value) => match find(root, &self.path) {
                Some(node) if is_equal(node, value) => Ok(()),
                _ => Err("the test failed"),
            },
            Kind::Move(from) => {
                if self.path.len() > from.len() && self.path.starts_with(from) {
                    return Err("a value cannot be moved into itself");
                }
                cost.visited += passed(root, from);
                let node = remove(root, from)?;
                cost.visited += size(&node);
                self.check_depth(&node)?;
                add(root, &self.path, node)
            }
            Kind::Copy(from) => {
                let node = find(root, from).ok_or(ABSENT)?.clone();
                cost.visited += passed(root, from);
                cost.copied += size(&node);
                self.check_depth(&node)?;
                add(root, &self.path, node)
            }
        }
    }
}

/// How many levels are below a node. It is of a document, or was checked, so that this does not exhaust the stack.
fn depth(node: &Node) -> usize {
    match &node.value {
        Value::List(items) => items.iter().map(|item| 1 + depth(item)).max().unwrap_or_default(),
        Value::Map(map) => map.iter().map(|entry| 1 + depth(&entry.node)).max().unwrap_or_default(),
        _ => 0,
    }
}

/// Whether two values are the same in JSON (RFC 6902, 4.6): the order of keys does not count, nor how a number is written.
fn is_equal(a: &Node, b: &Node) -> bool {
    match (&a.value, &b.value) {
        (Value::Map(a), Value::Map(b)) => {
            let of_b: HashMap<&str, &Node> = b.iter().map(|entry| (entry.key.as_str(), &entry.node)).collect();
            let has_equal = |key: &str, node| of_b.get(key).is_some_and(|other| is_equal(node, other));
            a.len() == b.len() && a.iter().all(|entry| has_equal(&entry.key, &entry.node))
        }
        (Value::List(a), Value::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_equal(a, b)),
        (Value::Number(one), Value::Number(other)) => {
            let is_integer = |text: &str| !text.contains(['.', 'e', 'E']);
            one == other
                || (!(is_integer(one) && is_integer(other)) && one.parse::<f64>().ok() == other.parse::<f64>().ok())
        }
        (a, b) => a == b,
    }
}

/// About how many bytes a node has.
fn size(node: &Node) -> u64 {
    8 + match &node.value {
        Value::String(text) => text.len() as u64,
        Value::List(items) => items.iter().map(size).sum(),
        Value::Map(map) => map.iter().map(|entry| entry.key.len() as u64 + size(&entry.node)).sum(),
        _ => 0,
    }
}

/// How many entries and items are beside those of a path: they are looked at, and the last ones may be moved.
fn passed(root: &Node, path: &[String]) -> u64 {
    let mut node = Some(root);
    let mut passed = 0;
    for token in path {
        node = match node.map(|node| &node.value) {
            Some(Value::Map(map)) => {
                passed += map.len() as u64;
                map.get(token)
            }
            Some(Value::List(items)) => {
                let at = index(token, items.len());
                passed += at.map_or(0, |at| items.len() - at) as u64;
                at.and_then(|at| items.get(at))
            }
            _ => return passed,
        };
    }
    passed
}

/// An index of a list with so many items.
fn index(token: &str, length: usize) -> Option<usize> {
    let is_number = token == "0" || (!token.starts_with('0') && token.bytes().all(|byte| byte.is_ascii_digit()));
    token.parse().ok().filter(|index| is_number && *index < length)
}

fn find<'n>(root: &'n mut Node, path: &[String]) -> Option<&'n mut Node> {
    path.iter().try_fold(root, |node, token| match &mut node.value {
        Value::Map(map) => map.get_mut(token),
        Value::List(items) => {
            let at = index(token, items.len())?;
            items.get_mut(at)
        }
        _ => None,
    })
}

fn add(root: &mut Node, path: &[String], value: Node) -> Result<(), &'static str> {
    let Some((last, above)) = path.split_last() else {
        *root = value;
        return Ok(());
    };
    match &mut find(root, above).ok_or(ABSENT)?.value {
        Value::Map(map) => map.set(last, value),
        Value::List(items) if last == "-" => items.push(value),
        Value::List(items) => {
            let at = index(last, items.len() + 1).ok_or("the index is not one of the list")?;
            items.insert(at, value);
        }
        _ => return Err("a scalar has no parts"),
    }
    Ok(())
}

fn remove(root: &mut Node, path: &[String]) -> Result<Node, &'static str> {
    let (last, above) = path.split_last().ok_or("the object itself cannot be removed")?;
    match &mut find(root, above).ok_or(ABSENT)?.value {
        Value::Map(map) => map.remove(last).ok_or(ABSENT),
        Value::List(items) => {
            let at = index(last, items.len()).ok_or(ABSENT)?;
            Ok(items.remove(at))
        }
        _ => Err(ABSENT),
    }
}

#[cfg(test)]
mod tests {
    use dialect_kubernetes_templates::{Format, compact, read};

    use super::*;

    fn json(text: &str) -> Node {
        read(text.as_bytes(), Format::Json).unwrap()
    }

    fn apply(object: &str, patch: &Patch) -> Result<String, String> {
        let failed = |causes: Vec<Cause>| Failure::invalid("g", "Template", "x", causes);
        patch.apply(json(object), Limit(1000), failed).map(|node| compact(&node)).map_err(|failure| failure.message)
    }

    #[test]
    fn merge_patches() {
        // The examples of RFC 7386, appendix A.
        for (object, patch, expected) in [
            (r#"{"a":"b"}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
            (r#"{"a":"b"}"#, r#"{"b":"c"}"#, r#"{"a":"b","b":"c"}"#),
            (r#"{"a":"b"}"#, r#"{"a":null}"#, "{}"),
            (r#"{"a":"b","b":"c"}"#, r#"{"a":null}"#, r#"{"b":"c"}"#),
            (r#"{"a":["b"]}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
            (r#"{"a":"c"}"#, r#"{"a":["b"]}"#, r#"{"a":["b"]}"#),
            (r#"{"a":{"b":"c"}}"#, r#"{"a":{"b":"d","c":null}}"#, r#"{"a":{"b":"d"}}"#),
            (r#"{"a":[{"b":"c"}]}"#, r#"{"a":[1]}"#, r#"{"a":[1]}"#),
            (r#"["a","b"]"#, r#"["c","d"]"#, r#"["c","d"]"#),
            (r#"{"a":"b"}"#, r#"["c"]"#, r#"["c"]"#),
            (r#"{"a":"foo"}"#, "null", "null"),
            (r#"{"e":null}"#, r#"{"a":1}"#, r#"{"e":null,"a":1}"#),
            ("[1,2]", r#"{"a":"b","c":null}"#, r#"{"a":"b"}"#),
            ("{}", r#"{"a":{"bb":{"ccc":null}}}"#, r#"{"a":{"bb":{}}}"#),
        ] {
            assert_eq!(apply(object, &Patch::Merge(json(patch))).unwrap(), expected, "{patch}");
        }
    }

    #[test]
    fn strategic_merge_patches_without_directives() {
        let patch = Patch::strategic(json(r#"{"objects":[{"$patch":"x"}],"message":null}"#)).unwrap();
        assert_eq!(apply(r#"{"objects":[1],"message":"m"}"#, &patch).unwrap(), r#"{"objects":[{"$patch":"x"}]}"#);
        for patch in [
            r#"{"$patch":"replace"}"#,
            r#"{"metadata":{"$setElementOrder/finalizers":["a"]}}"#,
            r#"{"metadata":{"finalizers":["a"]}}"#,
        ] {
            assert_eq!(Patch::strategic(json(patch)).unwrap_err().code, 400, "{patch}");
        }
    }

    #[test]
    fn json_patches() {
        let object = r#"{"a":{"b":[1,2]},"c/d":"x"}"#;
        for (operations, expected) in [
            (r#"[{"op":"add","path":"/a/b/1","value":9}]"#, r#"{"a":{"b":[1,9,2]},"c/d":"x"}"#),
            (r#"[{"op":"add","path":"/a/b/-","value":9}]"#, r#"{"a":{"b":[1,2,9]},"c/d":"x"}"#),
            (r#"[{"op":"add","path":"/e","value":null}]"#, r#"{"a":{"b":[1,2]},"c/d":"x","e":null}"#),
            (r#"[{"op":"remove","path":"/a/b/0"},{"op":"remove","path":"/c~1d"}]"#, r#"{"a":{"b":[2]}}"#),
            (r#"[{"op":"replace","path":"/a","value":1}]"#, r#"{"a":1,"c/d":"x"}"#),
            (
                r#"[{"op":"test","path":"/a/b","value":[1,2]},{"op":"move","from":"/a/b","path":"/b"}]"#,
                r#"{"a":{},"c/d":"x","b":[1,2]}"#,
            ),
            (r#"[{"op":"copy","from":"/a/b/1","path":"/a/b/0"}]"#, r#"{"a":{"b":[2,1,2]},"c/d":"x"}"#),
            (r#"[{"op":"add","path":"","value":{}}]"#, "{}"),
        ] {
            let patch = Patch::operations(json(operations)).unwrap();
            assert_eq!(apply(object, &patch).unwrap(), expected, "{operations}");
        }
        for operations in [
            r#"[{"op":"remove","path":"/x"}]"#,
            r#"[{"op":"replace","path":"/x","value":1}]"#,
            r#"[{"op":"add","path":"/x/y","value":1}]"#,
            r#"[{"op":"add","path":"/a/b/3","value":1}]"#,
            r#"[{"op":"add","path":"/a/b/01","value":1}]"#,
            r#"[{"op":"test","path":"/a","value":1}]"#,
            r#"[{"op":"move","from":"/a","path":"/a/b"}]"#,
            r#"[{"op":"remove","path":""}]"#,
        ] {
            let patch = Patch::operations(json(operations)).unwrap();
            assert!(apply(object, &patch).unwrap_err().contains("operation 0 of the patch: "), "{operations}");
        }
        for operations in [
            "{}",
            "[1]",
            r#"[{"op":"x","path":"/a"}]"#,
            r#"[{"op":"add","path":"/a"}]"#,
            r#"[{"op":"remove","path":"a"}]"#,
        ] {
            assert_eq!(Patch::operations(json(operations)).unwrap_err().code, 400, "{operations}");
        }
    }

    #[test]
    fn a_patched_object_is_not_deeper_than_a_document() {
        let deep = |levels: usize| format!("{}1{}", "{\"a\":".repeat(levels), "}".repeat(levels));
        let inner = "/a".repeat(400);
        let add = |path: &str, levels| format!(r#"{{"op":"add","path":"{path}","value":{}}}"#, deep(levels));
        let apply = |operations: &[String]| {
            apply("{}", &Patch::operations(json(&format!("[{}]", operations.join(",")))).unwrap())
        };
        assert!(apply(&[add("/y", 400), add(&format!("/y{inner}"), 99)]).is_ok());
        let moved = format!(r#"{{"op":"move","from":"/m","path":"/y{inner}"}}"#);
        let copied = moved.replace("move", "copy");
        for last in [add(&format!("/y{inner}"), 100), moved, copied] {
            let refused = apply(&[add("/y", 400), add("/m", 100), last]).unwrap_err();
            assert!(
                refused.contains("operation 2 of the patch: the object would have more than 500 levels"),
                "{refused}"
            );
        }
    }

    #[test]
    fn a_test_compares_values() {
        for (value, is_same) in [
            (r#"{"b":1.0,"a":[1,{"d":2,"c":"x"}]}"#, true),
            (r#"{"a":[1,{"c":"x","d":2}],"b":1}"#, true),
            (r#"{"a":[{"c":"x","d":2},1],"b":1}"#, false),
            (r#"{"a":[1,{"c":"x","d":2}]}"#, false),
            (r#"{"a":[1,{"c":"x","d":9007199254740993}],"b":1}"#, false),
        ] {
            let patch = Patch::operations(json(&format!(r#"[{{"op":"test","path":"","value":{value}}}]"#))).unwrap();
            assert_eq!(apply(r#"{"a":[1,{"c":"x","d":2}],"b":1}"#, &patch).is_ok(), is_same, "{value}");
        }
    }

    #[test]
    fn copies_have_a_limit() {
        let copies = vec![r#"{"op":"copy","from":"","path":"/x"}"#; 60].join(",");
        let patch = Patch::operations(json(&format!("[{copies}]"))).unwrap();
        assert!(apply("{}", &patch).unwrap_err().starts_with("Request entity is too large"));
    }
}
