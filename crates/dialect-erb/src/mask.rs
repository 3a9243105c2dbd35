//! Values out of messages: what an exception says may quote a property.

use std::collections::BTreeSet;

use deployment::Value;

/// The shortest run of characters that is taken for a value: shorter ones are in every text.
const SHORTEST: usize = 4;
/// What stands in place of a value.
const MASKED: &str = "<redacted>";

/// Knows the values of a job's properties and links, and what the template's author wrote.
pub(crate) struct Mask {
    secrets: Vec<String>,
    author: String,
}

impl Mask {
    /// For a spec and the template that was evaluated with it.
    pub(crate) fn new(spec: &Value, template: &[u8]) -> Mask {
        let mut secrets = BTreeSet::new();
        let mut names = BTreeSet::new();
        for key in ["properties", "links"] {
            if let Some(value) = spec.get(key) {
                collect(value, &mut secrets, &mut names);
            }
        }
        let mut author = String::from_utf8_lossy(template).into_owned();
        for name in names {
            author.push('\n');
            author.push_str(&name);
        }
        let telling = |s: &String| s.chars().count() >= SHORTEST && !COMMON.contains(&s.as_str());
        let mut secrets: Vec<String> = secrets.into_iter().filter(telling).collect();
        secrets.sort_by_key(|s| std::cmp::Reverse(s.len()));
        Mask { secrets, author }
    }

    /// The message with every value, and every piece of one, replaced.
    pub(crate) fn apply(&self, message: &str) -> String {
        let mut text = message.to_owned();
        for secret in &self.secrets {
            for form in [secret.clone(), escaped(secret)] {
                if text.contains(&form) && !self.author.contains(&form) {
                    text = text.replace(&form, MASKED);
                }
            }
        }
        self.pieces(&text)
    }

    /// Exceptions cut long values short: a word that is part of a value goes as well, unless the author wrote it.
    fn pieces(&self, text: &str) -> String {
        let mut out = String::new();
        for word in text.split_inclusive(|c: char| c.is_whitespace() || "'\"`,;()[]{}<>".contains(c)) {
            let core = word.trim_matches(|c: char| !c.is_alphanumeric());
            let known = core.chars().count() < SHORTEST
                || COMMON.contains(&core)
                || self.author.contains(core)
                || !self.secrets.iter().any(|s| s.contains(core));
            out.push_str(&if known { word.to_owned() } else { word.replace(core, MASKED) });
        }
        out
    }
}

/// Words of Ruby's own messages, which tell nothing even where they are part of a value.
const COMMON: &[&str] = &[
    "Array",
    "Class",
    "FalseClass",
    "Float",
    "Hash",
    "Integer",
    "Link",
    "NilClass",
    "Object",
    "OpenStruct",
    "Property",
    "String",
    "Symbol",
    "TrueClass",
    "argument",
    "arguments",
    "been",
    "called",
    "char",
    "character",
    "class",
    "constant",
    "convert",
    "conversion",
    "does",
    "error",
    "exist",
    "expected",
    "expecting",
    "false",
    "file",
    "find",
    "from",
    "found",
    "from",
    "given",
    "implicit",
    "incompatible",
    "instance",
    "into",
    "invalid",
    "line",
    "literal",
    "local",
    "match",
    "method",
    "missing",
    "module",
    "name",
    "name",
    "none",
    "number",
    "object",
    "outside",
    "private",
    "range",
    "redacted",
    "string",
    "such",
    "syntax",
    "template",
    "that",
    "this",
    "token",
    "true",
    "type",
    "undefined",
    "unexpected",
    "uninitialized",
    "unknown",
    "unterminated",
    "value",
    "variable",
    "with",
    "wrong",
];

fn collect(value: &Value, secrets: &mut BTreeSet<String>, names: &mut BTreeSet<String>) {
    match value {
        Value::Map(map) => {
            for (key, inner) in map.iter() {
                names.extend(key.scalar_to_s());
                collect(inner, secrets, names);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, secrets, names)),
        Value::Str(text) => {
            let text = String::from_utf8_lossy(&text.bytes).into_owned();
            // Messages show single lines of a value (of a certificate, say) as well as the whole.
            secrets.extend(text.lines().map(str::to_owned));
            secrets.insert(text);
        }
        Value::Nil | Value::Bool(_) => {}
        other => secrets.extend(other.scalar_to_s()),
    }
}

/// The text as Ruby's `inspect` shows it, without the quotes.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\t', "\\t").replace('\r', "\\r")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mask(secret: &str, template: &str) -> Mask {
        let spec = Value::map([("properties", Value::map([("db", Value::map([("password", Value::str(secret))]))]))]);
        Mask::new(&spec, template.as_bytes())
    }

    #[test]
    fn whole_values_and_their_pieces_are_masked() {
        let m = mask("hunter2-and-more", "<%= Integer(p('db.password')) %>");
        assert_eq!(
            m.apply("invalid value for Integer(): \"hunter2-and-more\""),
            "invalid value for Integer(): \"<redacted>\""
        );
        assert_eq!(m.apply("unexpected token at 'hunter2-an'"), "unexpected token at '<redacted>'");
        assert_eq!(
            mask("line one\nline \"two\"", "").apply("got \"line one\\nline \\\"two\\\"\""),
            "got \"<redacted>\""
        );
    }

    #[test]
    fn what_the_author_wrote_stays() {
        let m = mask("password-of-db", "<%= undefined_thing %>");
        assert_eq!(m.apply("Can't find property '[\"db.password\"]'"), "Can't find property '[\"db.password\"]'");
        assert_eq!(
            m.apply("undefined local variable or method 'undefined_thing'"),
            "undefined local variable or method 'undefined_thing'"
        );
    }
}
