//! Label selectors and field selectors of lists, watches and deletions.
//!
//! The selectors of the crate `kube-core` are made from objects only: it reads no text, and has neither `>` and `<` nor fields.

use dialect_kubernetes_templates::{Format, Node, label_key_error, label_value_error, read};

use crate::node::{metadata, metadata_text};

/// Which objects a request is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Selector {
    labels: Vec<Requirement>,
    fields: Vec<Requirement>,
}

/// A condition for one label or field.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Requirement {
    key: String,
    test: Test,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Test {
    Exists,
    Absent,
    In(Vec<String>),
    NotIn(Vec<String>),
    Greater(i64),
    Less(i64),
}

/// The fields that can be selected by.
const FIELDS: [&str; 2] = ["metadata.name", "metadata.namespace"];

impl Selector {
    /// The selector of the query parameters `labelSelector` and `fieldSelector`.
    ///
    /// # Errors
    /// A message for a text that is not a selector, or a field that cannot be selected by.
    pub(crate) fn parse(labels: Option<&str>, fields: Option<&str>) -> Result<Selector, String> {
        let wrong = |what: &str| format!("unable to parse the {what} selector");
        let labels = labels.map_or(Some(Vec::new()), requirements).filter(|labels| labels.iter().all(is_of_labels));
        let labels = labels.ok_or_else(|| wrong("label"))?;
        let fields = fields.map_or(Some(Vec::new()), requirements_of_fields).ok_or_else(|| wrong("field"))?;
        for field in &fields {
            if !FIELDS.contains(&field.key.as_str()) {
                return Err(format!("field label not supported: {}", field.key));
            }
        }
        Ok(Selector { labels, fields })
    }

    /// The only name that a field selector leaves.
    pub(crate) fn name(&self) -> Option<&str> {
        self.fields.iter().find_map(|one| match &one.test {
            Test::In(names) if one.key == "metadata.name" => match names.as_slice() {
                [name] => Some(name.as_str()),
                _ => None,
            },
            _ => None,
        })
    }

    /// Whether an object is selected of which this is what selectors see.
    pub(crate) fn selects_seen(&self, seen: &str) -> bool {
        *self == Selector::default() || read(seen.as_bytes(), Format::Json).is_ok_and(|object| self.selects(&object))
    }

    /// Whether an object is selected.
    pub(crate) fn selects(&self, object: &Node) -> bool {
        let labels = metadata(object).and_then(|metadata| metadata.get("labels")).and_then(Node::as_map);
        let label = |key: &str| labels.and_then(|labels| labels.str(key));
        let field = |key: &str| metadata_text(object, key.strip_prefix("metadata.").unwrap_or(key));
        self.labels.iter().all(|one| one.test.holds(label(&one.key)))
            && self.fields.iter().all(|one| one.test.holds(Some(field(&one.key).unwrap_or_default())))
    }
}

impl Test {
    fn holds(&self, value: Option<&str>) -> bool {
        let number = |value: Option<&str>| value?.parse::<i64>().ok();
        let is_one = |values: &[String]| value.is_some_and(|value| values.iter().any(|one| one == value));
        match self {
            Test::Exists => value.is_some(),
            Test::Absent => value.is_none(),
            Test::In(values) => is_one(values),
            Test::NotIn(values) => !is_one(values),
            Test::Greater(than) => number(value).is_some_and(|number| number > *than),
            Test::Less(than) => number(value).is_some_and(|number| number < *than),
        }
    }
}

/// `a=b,c!=d,e in (f,g),h notin (i),j,!k`
fn requirements(text: &str) -> Option<Vec<Requirement>> {
    let mut requirements = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let end = end(rest);
        requirements.push(requirement(rest[..end].trim())?);
        rest = match rest[end..].strip_prefix(',') {
            Some(behind) if !behind.trim().is_empty() => behind,
            Some(_) => return None,
            None => "",
        };
    }
    Some(requirements)
}

/// Whether the key and the values of a requirement are those of labels. A selector that selects nothing, or everything, because of a
/// slip of the pen would delete what it should not.
fn is_of_labels(requirement: &Requirement) -> bool {
    let values = match &requirement.test {
        Test::In(values) | Test::NotIn(values) => values.as_slice(),
        _ => &[],
    };
    label_key_error(&requirement.key).is_none() && values.iter().all(|value| label_value_error(value).is_none())
}

/// `a=b,c==d,e!=f`
fn requirements_of_fields(text: &str) -> Option<Vec<Requirement>> {
    let requirement = |text: &str| {
        let (key, test) = [("!=", false), ("==", true), ("=", true)].into_iter().find_map(|(operator, is_in)| {
            let (key, value) = text.split_once(operator)?;
            let values = vec![value.to_owned()];
            Some((key, if is_in { Test::In(values) } else { Test::NotIn(values) }))
        })?;
        (!key.is_empty()).then(|| Requirement { key: key.to_owned(), test })
    };
    text.split(',').filter(|part| !part.is_empty()).map(requirement).collect()
}

/// Where the first requirement ends: at a comma outside of parentheses.
fn end(text: &str) -> usize {
    let mut depth = 0;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            b',' if depth == 0 => return at,
            _ => {}
        }
    }
    text.len()
}

fn requirement(text: &str) -> Option<Requirement> {
    let made = |key: &str, test| {
        let key = key.trim();
        let is_key = !key.is_empty() && !key.contains(|c: char| c.is_whitespace() || "()=!,".contains(c));
        is_key.then(|| Requirement { key: key.to_owned(), test })
    };
    let value = |text: &str| {
        let text = text.trim();
        (!text.contains(|c: char| c.is_whitespace() || "()=!,".contains(c))).then(|| text.to_owned())
    };
    if let Some(key) = text.strip_prefix('!') {
        return made(key, Test::Absent);
    }
    for (operator, is_in) in [("!=", false), ("==", true), ("=", true)] {
        if let Some((key, one)) = text.split_once(operator) {
            let values = vec![value(one)?];
            return made(key, if is_in { Test::In(values) } else { Test::NotIn(values) });
        }
    }
    for (operator, test) in [(">", Test::Greater as fn(i64) -> Test), ("<", Test::Less)] {
        if let Some((key, than)) = text.split_once(operator) {
            return made(key, test(than.trim().parse().ok()?));
        }
    }
    let Some((head, values)) = text.strip_suffix(')').and_then(|text| text.split_once('(')) else {
        return made(text, Test::Exists);
    };
    let values = values.split(',').map(value).collect::<Option<Vec<String>>>()?;
    let (key, operator) = head.trim_end().rsplit_once(char::is_whitespace)?;
    match operator {
        "in" => made(key, Test::In(values)),
        "notin" => made(key, Test::NotIn(values)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use dialect_kubernetes_templates::{Format, read};

    use super::*;

    #[test]
    fn selectors_select() {
        let object = read(
            b"metadata: {name: web, namespace: shop, labels: {app: web, tier: front, empty: '', rank: '10'}}",
            Format::Yaml,
        )
        .unwrap();
        for (labels, is_selected) in [
            ("", true),
            ("app=web", true),
            ("app==web", true),
            ("app = web , tier=front", true),
            ("app=db", false),
            ("app!=db", true),
            ("other!=db", true),
            ("app!=web", false),
            ("empty=", true),
            ("app in (db, web)", true),
            ("app in (db)", false),
            ("app notin (db),tier in (front,back)", true),
            ("app notin (web)", false),
            ("app", true),
            ("!app", false),
            ("!other", true),
            ("other", false),
            ("rank>9", true),
            ("rank > 10", false),
            ("rank<11,app", true),
            ("app>1", false),
        ] {
            let selector = Selector::parse(Some(labels), None).unwrap();
            assert_eq!(selector.selects(&object), is_selected, "{labels}");
        }
        for (fields, is_selected) in [
            ("metadata.name=web", true),
            ("metadata.name!=web", false),
            ("metadata.name=web,metadata.namespace=shop", true),
            ("metadata.namespace=other", false),
        ] {
            let selector = Selector::parse(None, Some(fields)).unwrap();
            assert_eq!(selector.selects(&object), is_selected, "{fields}");
        }
    }

    #[test]
    fn malformed_selectors_are_refused() {
        for text in [
            "a b",
            "a in b",
            "a in (b",
            "=b",
            "a=b,",
            ",a",
            "a=(b)",
            "a of (b)",
            "()",
            "a!=-b",
            "-a",
            "a=b/c",
            "a>b",
            "a in (b c)",
        ] {
            assert!(Selector::parse(Some(text), None).is_err(), "{text}");
        }
        for text in ["metadata.name", "!metadata.name", "metadata.name in (a)", "=a"] {
            assert!(Selector::parse(None, Some(text)).is_err(), "{text}");
        }
        assert_eq!(Selector::parse(None, Some("spec.x=y")).unwrap_err(), "field label not supported: spec.x");
    }
}
