//! The options of a definition, read one by one.

use go_yaml::{Key, Map, Node, Origin, Value};
use interpolation::Failure;
use problem::hint_for_unknown;

/// Reads options and collects what is wrong with them.
pub(crate) struct Options<'a> {
    variable: &'a str,
    kind: &'a str,
    origin: Origin,
    fields: Option<&'a Map>,
    failures: Vec<Failure>,
}

impl<'a> Options<'a> {
    /// The options of a variable of this type, whose references are replaced. An option whose name is not in `known` is a
    /// failure.
    pub(crate) fn new(
        variable: &'a str,
        kind: &'a str,
        node: Option<&'a Node>,
        origin: Origin,
        known: &[&str],
    ) -> Self {
        let mut options = Options { variable, kind, origin, fields: None, failures: Vec::new() };
        match node.map(|node| (&node.value, node.origin)) {
            None | Some((Value::Null, _)) => {}
            Some((Value::Map(fields), _)) => options.fields = Some(fields),
            Some((other, origin)) => {
                options.fail_at(origin, format!("Expected the options to be a map but found '{}'", other.go_type()));
            }
        }
        for (key, node) in options.fields.iter().flat_map(|fields| fields.iter()) {
            let name = key.as_str().unwrap_or_default();
            if !known.contains(&name) {
                let mut failure = options.failure(node.origin, format!("Unsupported parameter '{name}'"));
                let options_of_kind = || format!("the options of the type {kind} are: {}", known.join(", "));
                failure.hint = Some(hint_for_unknown(name, known.iter().copied(), options_of_kind));
                options.failures.push(failure);
            }
        }
        options
    }

    /// Where an option stands; where the definition stands if it is absent.
    pub(crate) fn origin(&self, name: &str) -> Origin {
        self.get(name).map_or(self.origin, |node| node.origin)
    }

    /// Whether an option is given and not null.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// A text; numbers count as the text that the CLI makes of them.
    pub(crate) fn text(&mut self, name: &str) -> Option<String> {
        let node = self.get(name)?;
        let text = text(node);
        if text.is_none() {
            self.expected(name, "a string", node);
        }
        text
    }

    /// A text that is not empty.
    pub(crate) fn name(&mut self, name: &str) -> Option<String> {
        self.text(name).filter(|text| !text.is_empty())
    }

    /// An integer; a float without a fraction is one.
    pub(crate) fn integer(&mut self, name: &str) -> Option<i64> {
        let node = self.get(name)?;
        match node.value {
            Value::Int(n) => Some(n),
            // Above any limit.
            Value::Uint(_) => Some(i64::MAX),
            Value::Float(f) if f.fract() == 0.0 => Some(f as i64),
            _ => {
                self.expected(name, "an integer", node);
                None
            }
        }
    }

    /// A boolean; false if absent.
    pub(crate) fn flag(&mut self, name: &str) -> bool {
        match self.get(name).map(|node| (node, &node.value)) {
            None => false,
            Some((_, Value::Bool(value))) => *value,
            Some((node, _)) => {
                self.expected(name, "a boolean", node);
                false
            }
        }
    }

    /// A list of texts with their places; empty if absent.
    pub(crate) fn texts(&mut self, name: &str) -> Vec<(String, Origin)> {
        let Some(node) = self.get(name) else { return Vec::new() };
        let Value::List(items) = &node.value else {
            self.expected(name, "an array", node);
            return Vec::new();
        };
        let mut texts = Vec::new();
        for item in items {
            match text(item) {
                Some(text) => texts.push((text, item.origin)),
                None => self.expected(name, "an array of strings", item),
            }
        }
        texts
    }

    /// The length of an RSA key in bits, with the CLI's message.
    pub(crate) fn key_length(&mut self, default: u32) -> u32 {
        match self.integer("key_length") {
            None | Some(0) => default,
            Some(length @ (2048 | 3072 | 4096)) => length as u32,
            Some(length) => {
                self.fail("key_length", format!("Invalid key_length: {length}.  Must be one of: [2048 3072 4096]"));
                default
            }
        }
    }

    /// Reports something about an option.
    pub(crate) fn fail(&mut self, name: &str, cause: impl Into<String>) {
        self.fail_at(self.origin(name), cause);
    }

    /// Reports something about an option, and what to do about it.
    pub(crate) fn fail_with_hint(&mut self, name: &str, cause: &str, hint: &str) {
        let failure = Failure { hint: Some(hint.to_owned()), ..self.failure(self.origin(name), cause) };
        self.failures.push(failure);
    }

    /// Reports something about a place.
    pub(crate) fn fail_at(&mut self, origin: Origin, cause: impl Into<String>) {
        let failure = self.failure(origin, cause);
        self.failures.push(failure);
    }

    /// Reports an unknown word, with the nearest of the known ones.
    pub(crate) fn unknown(&mut self, origin: Origin, cause: String, word: &str, known: &[&str]) {
        let mut failure = self.failure(origin, cause);
        let values = || format!("known values: {}", known.join(", "));
        failure.hint = Some(hint_for_unknown(word, known.iter().copied(), values));
        self.failures.push(failure);
    }

    /// The result, if nothing is wrong.
    pub(crate) fn finish<T>(self, result: T) -> Result<T, Vec<Failure>> {
        if self.failures.is_empty() { Ok(result) } else { Err(self.failures) }
    }

    fn get(&self, name: &str) -> Option<&'a Node> {
        self.fields?.get(&Key::String(name.to_owned())).filter(|node| node.value != Value::Null)
    }

    fn expected(&mut self, name: &str, what: &str, node: &Node) {
        let cause = format!("Expected '{name}' to be {what} but found '{}'", node.value.go_type());
        self.fail_at(node.origin, cause);
    }

    fn failure(&self, origin: Origin, cause: impl Into<String>) -> Failure {
        let message = format!(
            "Generating variable '{}': Failed to generate {}, parameters are invalid",
            self.variable, self.kind
        );
        Failure { cause: Some(cause.into()), ..Failure::new(message, origin) }
    }
}

/// A scalar that the CLI takes for a string.
fn text(node: &Node) -> Option<String> {
    match &node.value {
        Value::String(text) => Some(text.clone()),
        Value::Int(n) => Some(n.to_string()),
        Value::Uint(n) => Some(n.to_string()),
        _ => None,
    }
}
