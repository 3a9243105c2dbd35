//! What `yaml.v2` reads without a word, although its author can hardly mean it.

use std::collections::HashSet;

use super::Parsed;
use super::tree::{Kind, Raw};
use crate::node::Origin;

impl Parsed {
    /// What the text has that is lost when it is read: keys that occur again in a map, versions that are numbers with a final zero
    /// (`1.10` is 1.1), and documents behind the first. Each has a message, without values, and its place.
    pub fn doubtful_input(&self) -> Vec<(String, Origin)> {
        let mut found = Vec::new();
        if let Some(root) = &self.root {
            collect(root, &mut found);
        }
        found.extend(self.next.map(|origin| ("only the first document of the file is read".to_owned(), origin)));
        found
    }
}

fn collect(node: &Raw, found: &mut Vec<(String, Origin)>) {
    match &node.kind {
        Kind::Sequence(items) => items.iter().for_each(|item| collect(item, found)),
        Kind::Mapping(entries) => {
            let mut keys = HashSet::new();
            for (key, value) in entries {
                if let Kind::Scalar { text: name, .. } = &key.kind {
                    if name != "<<" && !keys.insert(name) {
                        let name = name.escape_debug();
                        found.push((
                            format!("the key '{name}' occurs again in the same map, the last counts"),
                            key.origin,
                        ));
                    }
                    if name == "version" && is_number_with_final_zero(value) {
                        let message = "the version is a number, which loses its final zero: write it in quotes";
                        found.push((message.to_owned(), value.origin));
                    }
                }
                collect(value, found);
            }
        }
        Kind::Scalar { .. } | Kind::Alias(_) => {}
    }
}

/// Whether it is digits, a point, and digits of which the last is a zero, without quotes.
fn is_number_with_final_zero(node: &Raw) -> bool {
    let Kind::Scalar { text, is_plain: true, .. } = &node.kind else { return false };
    text.split_once('.').is_some_and(|(whole, fraction)| {
        [whole, fraction].iter().all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
            && fraction.ends_with('0')
    })
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use crate::Source;

    fn found(text: &str) -> Vec<(u32, u32)> {
        let all = parse(text.as_bytes(), Source::default()).unwrap().doubtful_input();
        all.into_iter().map(|(_, origin)| (origin.line, origin.column)).collect()
    }

    #[test]
    fn what_is_lost_has_its_place() {
        assert_eq!(found("a: {b: 1, c: 2, b: 3}\na: 1\n"), [(1, 17), (2, 1)]);
        assert_eq!(found("releases:\n- {name: a, version: 1.10}\n- {version: 2.0}\n"), [(2, 22), (3, 13)]);
        assert_eq!(found("a: 1\n---\nb: 2\n--- {\n"), [(2, 1)]);
    }

    #[test]
    fn ordinary_documents_have_none() {
        for text in [
            "",
            "a: &a {b: 1}\nc: {<<: *a, <<: *a, b: 2}\n",
            "version: '1.10'\n",
            "version: 1.1\nx: 1.10\n",
            "version: 1.10.0\n",
            "version: 10\n",
            "a: 1\n...\n",
        ] {
            assert_eq!(found(text), [], "{text}");
        }
    }
}
