//! Links whose addresses become names of certificates: `consumes` of a definition, as the director reads it.

use std::collections::BTreeMap;

use go_yaml::{Key, Map, Node, Origin, Value};
use interpolation::{Definition, Failure, Sources, replaced};
use problem::did_you_mean;

/// The type of link that a definition consumes if it names none.
const ADDRESS: &str = "address";

/// The type of variables that consume links.
const KIND: &str = "certificate";

/// What the address of a link becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LinkedName {
    /// One more alternative name.
    AlternativeName,
    /// The common name, unless the options have one.
    CommonName,
}

impl LinkedName {
    const WORDS: [&str; 2] = ["alternative_name", "common_name"];

    /// Its key in `consumes`.
    pub fn as_str(self) -> &'static str {
        match self {
            LinkedName::AlternativeName => LinkedName::WORDS[0],
            LinkedName::CommonName => LinkedName::WORDS[1],
        }
    }

    fn of(word: &str) -> Option<LinkedName> {
        [LinkedName::AlternativeName, LinkedName::CommonName].into_iter().find(|name| name.as_str() == word)
    }
}

/// A link that a definition consumes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsumedLink {
    /// The variable.
    pub variable: String,
    /// What the address becomes.
    pub name: LinkedName,
    /// The name by which the provider is found.
    pub from: String,
    /// The link's type.
    pub link_type: String,
    /// Whether `*` replaces the first label of the address.
    pub wildcard: bool,
    /// Where the entry stands.
    pub origin: Origin,
}

impl ConsumedLink {
    /// The links that definitions consume, and what has no effect in their entries. A definition whose variable has a value from
    /// a flag, a file or the environment consumes none.
    ///
    /// # Errors
    /// All entries that the director refuses, with its messages.
    pub fn all_of(
        definitions: &[Definition],
        sources: &Sources,
    ) -> Result<(Vec<ConsumedLink>, Vec<Failure>), Vec<Failure>> {
        let mut reader = Reader::default();
        for definition in definitions.iter().filter(|definition| sources.given(&definition.name).is_none()) {
            let (Some(kind), Some(consumes)) = (&definition.kind, &definition.consumes) else { continue };
            reader.variable.clone_from(&definition.name);
            reader.definition(kind, consumes, sources);
        }
        if reader.failures.is_empty() { Ok((reader.links, reader.warnings)) } else { Err(reader.failures) }
    }

    /// The name that an address becomes.
    fn host(&self, address: &str) -> String {
        match address.split_once('.') {
            Some((_, rest)) if self.wildcard => format!("*.{rest}"),
            None if self.wildcard => "*".to_owned(),
            _ => address.to_owned(),
        }
    }
}

/// Names from links, by variable.
#[derive(Debug, Clone, Default)]
pub struct LinkNames(Option<BTreeMap<String, Vec<(LinkedName, String)>>>);

impl LinkNames {
    /// For runs that have a manifest only, and know no links.
    pub fn unknown() -> LinkNames {
        LinkNames(None)
    }

    /// The names that links become; `addresses` are theirs, in their order.
    pub fn of(links: &[ConsumedLink], addresses: &[String]) -> LinkNames {
        let mut names: BTreeMap<String, Vec<(LinkedName, String)>> = BTreeMap::new();
        for (link, address) in links.iter().zip(addresses) {
            names.entry(link.variable.clone()).or_default().push((link.name, link.host(address)));
        }
        LinkNames(Some(names))
    }

    /// The names of a variable's certificate.
    pub(crate) fn of_variable(&self, name: &str) -> &[(LinkedName, String)] {
        self.0.as_ref().and_then(|names| names.get(name)).map_or(&[], Vec::as_slice)
    }

    /// Whether a definition consumes links that this run does not know.
    pub(crate) fn lacks(&self, definition: &Definition) -> bool {
        let consumes = |definition: &Definition| definition.consumes.as_ref().is_some_and(|node| !is_empty(node));
        self.0.is_none() && definition.kind.as_deref() == Some(KIND) && consumes(definition)
    }
}

/// Reads the definitions of a run.
#[derive(Default)]
struct Reader {
    variable: String,
    links: Vec<ConsumedLink>,
    warnings: Vec<Failure>,
    failures: Vec<Failure>,
}

impl Reader {
    fn definition(&mut self, kind: &str, consumes: &Node, sources: &Sources) {
        let variable = &self.variable;
        let Value::Map(entries) = &consumes.value else {
            return self.fail(format!("Consumes for variable '{variable}' must be a Hash or nil"), consumes.origin);
        };
        if kind != KIND && !entries.is_empty() {
            let message = format!("Variable '{variable}' can not define 'consumes' key for type '{kind}'");
            return self.fail(message, consumes.origin);
        }
        for (key, entry) in entries.iter() {
            let word = key.as_str().unwrap_or_default();
            match LinkedName::of(word) {
                Some(name) => self.entry(name, entry, sources),
                None => {
                    let message = format!(
                        "Consumer name '{word}' is not a valid consumer for variable '{}'. Acceptable consumer types are: {}",
                        self.variable,
                        LinkedName::WORDS.join(", ")
                    );
                    let mut failure = Failure::new(message, entry.origin);
                    failure.hint =
                        did_you_mean(word, LinkedName::WORDS).map(|similar| format!("did you mean '{similar}'?"));
                    self.failures.push(failure);
                }
            }
        }
    }

    fn entry(&mut self, name: LinkedName, entry: &Node, sources: &Sources) {
        let entry = match replaced(entry.clone(), sources) {
            Ok((entry, missing)) if missing.is_empty() => entry,
            Ok((_, missing)) => {
                let names: Vec<String> = missing.into_iter().map(|name| format!("(({name}))")).collect();
                let message = format!(
                    "'consumes' of variable '{}' refers to variables without a value: {}",
                    self.variable,
                    names.join(", ")
                );
                return self.fail(message, entry.origin);
            }
            Err(failures) => return self.failures.extend(failures),
        };
        let empty = Map::default();
        let Some(fields) = self.map(&entry, name.as_str(), &empty) else { return };
        self.warn_of_unknown(fields, &["from", "link_type", "properties"]);
        let from = self.text(fields, "from").unwrap_or_else(|| name.as_str().to_owned());
        let link_type = self.text(fields, "link_type").unwrap_or_else(|| ADDRESS.to_owned());
        let wildcard = field(fields, "properties").is_some_and(|properties| {
            let Some(properties) = self.map(properties, "properties", &empty) else { return false };
            self.warn_of_unknown(properties, &["wildcard"]);
            field(properties, "wildcard").is_some_and(|wildcard| self.is_true(wildcard))
        });
        // The part behind the last dot, as in `consumes` of a job.
        let from = from.rsplit('.').next().unwrap_or_default().to_owned();
        let variable = self.variable.clone();
        self.links.push(ConsumedLink { variable, name, from, link_type, wildcard, origin: entry.origin });
    }

    /// The fields of a map; those of nothing if it is null.
    fn map<'n>(&mut self, node: &'n Node, what: &str, empty: &'n Map) -> Option<&'n Map> {
        match &node.value {
            Value::Map(fields) => Some(fields),
            Value::Null => Some(empty),
            other => {
                self.expected(what, "a map", other, node.origin);
                None
            }
        }
    }

    fn text(&mut self, fields: &Map, name: &str) -> Option<String> {
        let node = field(fields, name)?;
        let text = node.as_str().map(str::to_owned);
        if text.is_none() {
            self.expected(name, "a string", &node.value, node.origin);
        }
        text
    }

    fn is_true(&mut self, node: &Node) -> bool {
        match node.value {
            Value::Bool(value) => value,
            ref other => {
                self.expected("wildcard", "a boolean", other, node.origin);
                false
            }
        }
    }

    fn expected(&mut self, name: &str, what: &str, found: &Value, origin: Origin) {
        let variable = &self.variable;
        let message = format!(
            "Expected '{name}' in 'consumes' of variable '{variable}' to be {what} but found '{}'",
            found.go_type()
        );
        self.fail(message, origin);
    }

    /// The director reads the known keys only.
    fn warn_of_unknown(&mut self, fields: &Map, known: &[&str]) {
        for (key, node) in fields.iter() {
            let name = key.as_str().unwrap_or_default();
            if !known.contains(&name) {
                let message = format!("'{name}' in 'consumes' of variable '{}' has no effect", self.variable);
                let mut warning = Failure::new(message, node.origin);
                warning.hint =
                    did_you_mean(name, known.iter().copied()).map(|similar| format!("did you mean '{similar}'?"));
                self.warnings.push(warning);
            }
        }
    }

    fn fail(&mut self, message: String, origin: Origin) {
        self.failures.push(Failure::new(message, origin));
    }
}

fn is_empty(node: &Node) -> bool {
    matches!(&node.value, Value::Map(entries) if entries.is_empty())
}

/// A field that is not null.
fn field<'m>(fields: &'m Map, name: &str) -> Option<&'m Node> {
    fields.get(&Key::String(name.to_owned())).filter(|node| node.value != Value::Null)
}

#[cfg(test)]
mod tests {
    use go_yaml::{Source, read};

    use super::*;

    fn read_all(definition: &str) -> Result<(Vec<ConsumedLink>, Vec<Failure>), Vec<Failure>> {
        let text = format!("variables: [{{name: c, type: certificate, {definition}}}]");
        let document = read(text.as_bytes(), Source::default()).unwrap();
        ConsumedLink::all_of(&Definition::of(&document).unwrap(), &Sources::default())
    }

    #[test]
    fn entries_have_the_director_s_defaults() {
        let text =
            "consumes: {alternative_name: {from: x.web, link_type: http, properties: {wildcard: true}}, common_name: }";
        let (links, warnings) = read_all(text).unwrap();
        let found: Vec<_> = links.iter().map(|l| (l.name, l.from.as_str(), l.link_type.as_str(), l.wildcard)).collect();
        let expected = [
            (LinkedName::AlternativeName, "web", "http", true),
            (LinkedName::CommonName, "common_name", "address", false),
        ];
        assert_eq!((found.as_slice(), warnings.len()), (expected.as_slice(), 0));
        let names = LinkNames::of(&links, &["d-web.ns.svc".to_owned(), "d-db.ns.svc".to_owned()]);
        let expected =
            [(LinkedName::AlternativeName, "*.ns.svc".to_owned()), (LinkedName::CommonName, "d-db.ns.svc".to_owned())];
        assert_eq!(names.of_variable("c"), expected);
        assert!(names.of_variable("d").is_empty());
    }

    #[test]
    fn null_and_an_empty_map_consume_nothing() {
        for text in ["consumes: ", "consumes: {}"] {
            assert!(read_all(text).unwrap().0.is_empty(), "{text}");
        }
    }

    #[test]
    fn what_the_director_refuses_is_refused() {
        for (text, expected) in [
            ("consumes: [a]", "Consumes for variable 'c' must be a Hash or nil"),
            (
                "consumes: {alternative_names: {from: a}}",
                "Consumer name 'alternative_names' is not a valid consumer for variable 'c'. Acceptable consumer types are: \
                 alternative_name, common_name",
            ),
            (
                "consumes: {common_name: a}",
                "Expected 'common_name' in 'consumes' of variable 'c' to be a map but found 'string'",
            ),
            (
                "consumes: {common_name: {from: [a]}}",
                "Expected 'from' in 'consumes' of variable 'c' to be a string but found '[]interface {}'",
            ),
            (
                "consumes: {common_name: {properties: {wildcard: 1}}}",
                "Expected 'wildcard' in 'consumes' of variable 'c' to be a boolean but found 'int'",
            ),
            (
                "consumes: {common_name: {from: ((x))}}",
                "'consumes' of variable 'c' refers to variables without a value: ((x))",
            ),
        ] {
            let failures = read_all(text).unwrap_err();
            assert_eq!(failures.iter().map(|f| f.message.as_str()).collect::<Vec<_>>(), [expected], "{text}");
        }
        let document = read(b"variables: [{name: p, type: password, consumes: {common_name: {}}}]", Source::default());
        let definitions = Definition::of(&document.unwrap()).unwrap();
        let failures = ConsumedLink::all_of(&definitions, &Sources::default()).unwrap_err();
        assert_eq!(failures[0].message, "Variable 'p' can not define 'consumes' key for type 'password'");
    }

    #[test]
    fn keys_without_effect_are_warned_of() {
        let (links, warnings) = read_all("consumes: {common_name: {form: a, properties: {wildcards: true}}}").unwrap();
        assert_eq!((links.len(), warnings.len()), (1, 2));
        assert_eq!(warnings[0].message, "'form' in 'consumes' of variable 'c' has no effect");
        assert_eq!(warnings[0].hint.as_deref(), Some("did you mean 'from'?"));
    }
}
