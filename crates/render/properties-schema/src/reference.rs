//! Where references lead: `$id`, `$anchor`, `$dynamicAnchor`, JSON Pointers. Nothing is fetched.

use std::collections::HashMap;
use std::rc::Rc;

use serde_json::Value as Json;
use value::Value;

use crate::error::SchemaError;
use crate::facts::Facts;
use crate::keyword;
use crate::node::Node;

/// The address of a schema that gives itself none.
const DEFAULT_BASE: &str = "json-schemer://schema";

/// The addresses in a schema.
pub(crate) struct Resources<'s> {
    /// Schemas by address, with `#` and the anchor where one is named.
    named: HashMap<String, Node<'s>>,
    /// Those of `$dynamicAnchor`, also in `named`.
    dynamic: HashMap<String, Node<'s>>,
    root: Node<'s>,
}

impl<'s> Resources<'s> {
    /// Collects them, and tries every pattern on the way.
    pub(crate) fn of(schema: &'s Json, facts: &dyn Facts) -> Result<Resources<'s>, SchemaError> {
        let root = Node { json: schema, base: DEFAULT_BASE.into() };
        let mut resources = Resources { named: HashMap::new(), dynamic: HashMap::new(), root };
        resources.named.insert(DEFAULT_BASE.to_owned(), resources.root.clone());
        resources.collect(&resources.root.clone(), facts)?;
        Ok(resources)
    }

    pub(crate) fn root(&self) -> Node<'s> {
        self.root.clone()
    }

    fn collect(&mut self, node: &Node<'s>, facts: &dyn Facts) -> Result<(), SchemaError> {
        let Json::Object(object) = node.json else { return Ok(()) };
        let base = self.base_of(node);
        if object.contains_key("$id") {
            self.named.insert(base.to_string(), node.clone());
        }
        for keyword in ["$anchor", "$dynamicAnchor"] {
            if let Some(anchor) = object.get(keyword).and_then(Json::as_str) {
                let address = format!("{base}#{anchor}");
                if keyword == "$dynamicAnchor" {
                    self.dynamic.insert(address.clone(), node.clone());
                }
                self.named.insert(address, node.clone());
            }
        }
        let own = object.get("pattern").and_then(Json::as_str).into_iter();
        let of_keys = object.get("patternProperties").and_then(Json::as_object).into_iter().flatten();
        for pattern in own.chain(of_keys.map(|(pattern, _)| pattern.as_str())) {
            facts.matches(pattern, &Value::str("")).map_err(SchemaError)?;
        }
        for (_, json) in keyword::below(node.json) {
            self.collect(&Node { json, base: base.clone() }, facts)?;
        }
        Ok(())
    }

    /// The address that a schema's references start from: its own `$id`, or that of the schema around it.
    pub(crate) fn base_of(&self, node: &Node<'s>) -> Rc<str> {
        match node.json.get("$id").and_then(Json::as_str) {
            Some(id) => join(&node.base, id).trim_end_matches('#').into(),
            None => node.base.clone(),
        }
    }

    /// Follows a `$ref`.
    pub(crate) fn resolve(&self, base: &str, reference: &str) -> Result<Node<'s>, SchemaError> {
        let address = join(base, reference);
        let unknown = || SchemaError(format!("the reference {reference} leads nowhere (nothing is fetched)"));
        let (resource, fragment) = address.split_once('#').unwrap_or((&address, ""));
        if !fragment.is_empty() && !fragment.starts_with('/') {
            return self.named.get(&address).cloned().ok_or_else(unknown);
        }
        let mut node = self.named.get(resource).cloned().ok_or_else(unknown)?;
        for step in fragment.split('/').skip(1) {
            let step = percent_decoded(step).replace("~1", "/").replace("~0", "~");
            let next = match node.json {
                Json::Array(items) => step.parse::<usize>().ok().and_then(|i| items.get(i)),
                other => other.get(&step),
            };
            node = Node { json: next.ok_or_else(unknown)?, base: self.base_of(&node) };
        }
        if !node.json.is_object() && !node.json.is_boolean() {
            return Err(SchemaError(format!("the reference {reference} leads to something that is not a schema")));
        }
        Ok(node)
    }

    /// Follows a `$dynamicRef`: to the outermost schema on the way here that has the anchor.
    pub(crate) fn resolve_dynamically(
        &self,
        base: &str,
        reference: &str,
        scope: &[Rc<str>],
    ) -> Result<Node<'s>, SchemaError> {
        let target = self.resolve(base, reference)?;
        let fragment = reference.split_once('#').map_or("", |(_, fragment)| fragment);
        if target.json.get("$dynamicAnchor").and_then(Json::as_str) != Some(fragment) {
            return Ok(target);
        }
        let outermost = scope.iter().find_map(|base| self.dynamic.get(&format!("{base}#{fragment}")));
        Ok(outermost.cloned().unwrap_or(target))
    }
}

/// A reference as an address (RFC 3986, 5.2).
fn join(base: &str, reference: &str) -> String {
    let base = base.split('#').next().unwrap_or_default();
    if reference.is_empty() || reference.starts_with('#') {
        return format!("{base}{reference}");
    }
    let scheme = reference.split_once(':').map(|(scheme, _)| scheme);
    let is_scheme = |s: &str| s.starts_with(|c: char| c.is_ascii_alphabetic()) && !s.contains(['/', '?', '#']);
    if scheme.is_some_and(is_scheme) {
        return reference.to_owned();
    }
    let (scheme, rest) = base.split_once(':').unwrap_or(("", base));
    if reference.starts_with("//") {
        return format!("{scheme}:{reference}");
    }
    let (authority, path) = match rest.strip_prefix("//") {
        Some(rest) => {
            let end = rest.find('/').unwrap_or(rest.len());
            (format!("//{}", &rest[..end]), &rest[end..])
        }
        None => (String::new(), rest),
    };
    let (wanted, fragment) = reference.split_at(reference.find('#').unwrap_or(reference.len()));
    let merged = if wanted.starts_with('/') {
        wanted.to_owned()
    } else {
        let directory = path.rfind('/').map_or("/", |end| &path[..=end]);
        format!("{directory}{wanted}")
    };
    format!("{scheme}:{authority}{}{fragment}", without_dots(&merged))
}

fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').peekable();
    while let Some(segment) = segments.next() {
        let last = segments.peek().is_none();
        match segment {
            "." | ".." => {
                if segment == ".." && kept.len() > 1 {
                    kept.pop();
                }
                if last {
                    kept.push("");
                }
            }
            other => kept.push(other),
        }
    }
    kept.join("/")
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(decoded) if byte == b'%' => {
                bytes.push(decoded);
                rest = &after[2..];
            }
            _ => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_joined_to_addresses() {
        for (base, reference, address) in [
            ("http://a/b/c", "d", "http://a/b/d"),
            ("http://a/b/c", "../d#x", "http://a/d#x"),
            ("http://a/b/c", "/d", "http://a/d"),
            ("http://a/b/c#y", "#x", "http://a/b/c#x"),
            ("http://a/b/c", "//d/e", "http://d/e"),
            ("http://a", "d.json", "http://a/d.json"),
            ("http://a/b", "urn:x:y", "urn:x:y"),
            (DEFAULT_BASE, "item.json", "json-schemer://schema/item.json"),
        ] {
            assert_eq!(join(base, reference), address, "{base} {reference}");
        }
    }

    #[test]
    fn pointers_are_decoded() {
        assert_eq!(percent_decoded("a%25b%zz%"), "a%b%zz%");
    }
}
