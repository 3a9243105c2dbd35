//! Lists of templates. They stay text as long as possible: as nodes, documents take up to fifty times as much memory.

use dialect_kubernetes_templates::{Node, compact};

use crate::node::{number, object, text};
use crate::store::Stored;

/// Templates of a list.
#[derive(Debug)]
pub(crate) struct TemplateList {
    pub(crate) items: Vec<Stored>,
    /// The version of the list.
    pub(crate) version: u64,
    /// Where the next part begins; nothing if this is the last one.
    pub(crate) rest: Option<String>,
    /// How many the next parts have, if that is known.
    pub(crate) remaining: Option<u64>,
}

impl TemplateList {
    /// The templates, one after the other.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = Node> {
        self.items.iter().map(Stored::node)
    }

    /// The bytes of all templates.
    pub(crate) fn bytes(&self) -> usize {
        self.items.iter().map(|item| item.json.len()).sum()
    }

    /// The metadata of the list.
    pub(crate) fn metadata(&self) -> Vec<(&'static str, Node)> {
        let mut entries = vec![("resourceVersion", text(self.version.to_string()))];
        entries.extend(self.rest.as_ref().map(|rest| ("continue", text(rest))));
        entries.extend(self.remaining.map(|remaining| ("remainingItemCount", number(remaining))));
        entries
    }

    /// A TemplateList as JSON.
    pub(crate) fn json(&self, api_version: &str) -> String {
        let metadata = object(self.metadata());
        let head = object([("kind", text("TemplateList")), ("apiVersion", text(api_version)), ("metadata", metadata)]);
        let mut json = compact(&head);
        json.pop();
        json.push_str(",\"items\":[");
        for (index, item) in self.items.iter().enumerate() {
            json.push_str(if index > 0 { "," } else { "" });
            json.push_str(&item.json);
        }
        json.push_str("]}");
        json
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::representation::Representation;

    #[test]
    fn a_list_is_the_same_as_text() {
        let item = |name: &str| Stored {
            namespace: "n".into(),
            name: name.into(),
            version: 1,
            json: format!(r#"{{"metadata":{{"name":"{name}"}}}}"#).into(),
            seen: "".into(),
        };
        for (items, rest) in
            [(vec![], None), (vec![item("a")], Some("x".to_owned())), (vec![item("a"), item("b")], None)]
        {
            let listed = TemplateList { items, version: 7, rest, remaining: Some(3) };
            let node = Representation::Whole.all(listed.nodes(), listed.metadata(), "example.com/v1");
            assert_eq!(listed.json("example.com/v1"), compact(&node));
        }
    }
}
