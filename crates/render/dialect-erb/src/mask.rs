//! Removes values from messages: an exception's message may quote a property.
//!
//! # What is promised
//!
//! A message does not show
//! * a value of the job's properties, or of the properties of its links, of four or more characters, where it stands by itself, nor
//! * a piece of one of [`PIECE`] or more characters, wherever it stands,
//!
//! whatever its letter case, and also where punctuation or white space was put in or left out, where it was escaped
//! with backslashes (`inspect`, `shellescape`, `Regexp.escape`, JSON), percent-encoded, or in Base64 (the value, also
//! together with other text, or what a value decodes to). Numbers count as the text that they print as.
//!
//! # What is not
//!
//! Other derivations cannot be recognised: a value that is reversed, encrypted, a digest of it, in hexadecimal, with
//! letters replaced, or shown in pieces of fewer than six characters with other letters between them.
//!
//! # What is shown
//!
//! Public texts are shown even where a value contains or overlaps them:
//! * Ruby's and BOSH's own texts ([`PUBLIC_TEXTS`]),
//! * names (keys, the deployment's jobs, groups, releases, networks and links, and what Ruby or BOSH quotes and the template's
//!   author wrote) and the defaults of the job's spec, where no letter, digit, `_` or `-` touches them,
//! * what the template's author wrote.
//!
//! A part of a message that is masked for more than such texts is masked with the names in it.

mod forms;
mod public_texts;
mod shown;

use std::collections::{BTreeSet, HashSet};
use std::ops::Range;
use std::rc::Rc;

use public_texts::PUBLIC_TEXTS;
use value::Value;

/// The shortest value that is taken for one: shorter ones are in every text.
const SHORTEST: usize = 4;
/// The shortest piece of a value that is taken for one.
const PIECE: usize = 6;
/// The part of a spec, and of a link, that may hold secrets.
const PROPERTIES: &str = "properties";
/// What stands in place of a value.
const MASKED: &str = "<redacted>";

type Piece = [char; PIECE];

/// The values of a job's properties, and of those of its links.
pub(crate) struct Secrets {
    /// Keys, names of the deployment's structure, and the defaults of the job's spec.
    names: BTreeSet<String>,
    /// Values too short for pieces.
    short: BTreeSet<String>,
    /// Strings that are too short to be hidden in messages.
    shortest: BTreeSet<String>,
    /// Pieces of values, in each way to look at a text.
    pieces: [HashSet<Piece>; VIEWS.len()],
}

/// What is kept of a text when it is compared: all of it; what escaping and wrapping leave alone; letters and digits
/// only, so that punctuation between them does not matter.
const VIEWS: [fn(char) -> bool; 3] = [|_| true, |c| !c.is_whitespace() && c != '\\', char::is_alphanumeric];

impl Secrets {
    /// Those of a spec, as templates see it; values of `defaults`, those of the job's spec, are public.
    pub(crate) fn of<'v>(spec: &Value, defaults: impl IntoIterator<Item = &'v Value>) -> Secrets {
        let mut secrets = Secrets {
            names: BTreeSet::new(),
            short: BTreeSet::new(),
            shortest: BTreeSet::new(),
            pieces: Default::default(),
        };
        defaults.into_iter().for_each(|default| secrets.name_all(default));
        let defaults = secrets.names.clone();
        secrets.collect_all(spec, &defaults);
        secrets
    }

    /// Adds the values of a spec, and the names in it.
    fn collect_all(&mut self, spec: &Value, defaults: &BTreeSet<String>) {
        if let Some(properties) = spec.get(PROPERTIES) {
            self.collect(properties, defaults);
        }
        for (_, link) in spec.get("links").and_then(Value::as_map).into_iter().flat_map(|links| links.iter()) {
            for (key, value) in link.as_map().into_iter().flat_map(|link| link.iter()) {
                if key.as_str() == Some(PROPERTIES) { self.collect(value, defaults) } else { self.name_all(value) }
            }
        }
        for key in ["deployment", "name", "job", "release"] {
            spec.get(key).into_iter().for_each(|value| self.name_all(value));
        }
        for (network, _) in
            spec.get("networks").and_then(Value::as_map).into_iter().flat_map(|networks| networks.iter())
        {
            self.name_all(network);
        }
    }

    /// Takes all texts of a part of the deployment's structure as names.
    fn name_all(&mut self, value: &Value) {
        match value {
            Value::Map(map) => map.iter().for_each(|(_, inner)| self.name_all(inner)),
            Value::Array(items) => items.iter().for_each(|item| self.name_all(item)),
            other => self.names.extend(other.scalar_to_s().filter(|text| !text.is_empty())),
        }
    }

    /// Specs that share these have the same secrets.
    pub(crate) fn identity(spec: &Value) -> Vec<usize> {
        let links = spec.get("links").and_then(Value::as_map);
        let values = spec.get(PROPERTIES).into_iter().chain(links.into_iter().flat_map(|l| l.iter().map(|(_, v)| v)));
        let address = |value: &Value| match value {
            Value::Map(map) => Rc::as_ptr(map) as usize,
            _ => 0,
        };
        values.map(address).collect()
    }

    fn collect(&mut self, value: &Value, defaults: &BTreeSet<String>) {
        match value {
            Value::Map(map) => {
                for (key, inner) in map.iter() {
                    self.names.extend(key.scalar_to_s());
                    self.collect(inner, defaults);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.collect(item, defaults)),
            scalar if scalar.scalar_to_s().is_some_and(|text| defaults.contains(&text)) => {}
            Value::Str(text) => {
                let text = String::from_utf8_lossy(&text.bytes);
                if (1..SHORTEST).contains(&text.trim().chars().count()) {
                    self.shortest.insert(fold(text.trim()));
                }
                for form in forms::of(&text) {
                    self.add(&form);
                }
                // A message may show one line of a value with several lines.
                text.lines().for_each(|line| self.add(line));
            }
            Value::Nil | Value::Bool(_) => {}
            other => other.scalar_to_s().iter().flat_map(|text| forms::of(text)).for_each(|form| self.add(&form)),
        }
    }

    fn add(&mut self, text: &str) {
        for (view, pieces) in VIEWS.iter().zip(&mut self.pieces) {
            let kept: Vec<char> = text.chars().filter(|c| view(*c)).map(folded).collect();
            pieces.extend(kept.windows(PIECE).filter_map(|piece| Piece::try_from(piece).ok()));
        }
        let text = text.trim();
        let length = text.chars().filter(|c| VIEWS[1](*c)).count();
        if length < PIECE && text.chars().count() >= SHORTEST {
            self.short.insert(fold(text));
        }
    }
}

/// Knows a job's secrets, and what the author of a template wrote.
pub struct Mask {
    secrets: Rc<Secrets>,
    /// Names that are shown as well.
    names: BTreeSet<String>,
    /// The template, and all names.
    written: String,
    /// Texts that are no secret, in each way to look at them.
    known: [String; VIEWS.len()],
}

impl Mask {
    /// For a spec, the defaults of the job's properties, and the template that was evaluated with it.
    pub fn new<'v>(spec: &Value, defaults: impl IntoIterator<Item = &'v Value>, template: &[u8]) -> Mask {
        Mask::with(Rc::new(Secrets::of(spec, defaults)), template)
    }

    pub(crate) fn with(secrets: Rc<Secrets>, template: &[u8]) -> Mask {
        let mut plain = fold(&String::from_utf8_lossy(template));
        for text in &secrets.names {
            plain.push('\n');
            plain.push_str(&fold(text));
        }
        let written = plain.clone();
        for text in PUBLIC_TEXTS {
            plain.push('\n');
            plain.push_str(&fold(text));
        }
        let known = VIEWS.map(|view| plain.chars().filter(|c| view(*c) || *c == '\n').collect());
        Mask { secrets, names: BTreeSet::new(), written, known }
    }

    /// Shows these names as well: those that the deployment's structure has in other documents.
    #[must_use]
    pub fn showing<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Mask {
        for name in names {
            let name = fold(name);
            for (known, view) in self.known.iter_mut().zip(VIEWS) {
                known.push('\n');
                known.extend(name.chars().filter(|c| view(*c)));
            }
            self.written.push('\n');
            self.written.push_str(&name);
            self.names.insert(name);
        }
        self
    }

    /// The message with every value, and every piece of one, replaced.
    pub fn apply(&self, message: &str) -> String {
        self.replaced(message, &BTreeSet::new())
    }

    /// As [`Mask::apply`], for a line of a rendered file: strings of any length are replaced, where they stand by themselves.
    pub fn apply_to_line(&self, line: &str) -> String {
        self.replaced(line, &self.secrets.shortest)
    }

    fn replaced(&self, message: &str, shortest: &BTreeSet<String>) -> String {
        let text: Vec<char> = message.chars().collect();
        let mut hidden = vec![false; text.len()];
        let short = self.secrets.short.union(shortest);
        for range in self.in_pieces(&text).into_iter().chain(self.alone(&text, short)) {
            hidden[range].fill(true);
        }
        self.show_public(&text, &mut hidden);
        let mut out = String::new();
        for (i, c) in text.iter().enumerate() {
            if !hidden[i] {
                out.push(*c);
            } else if i == 0 || !hidden[i - 1] {
                out.push_str(MASKED);
            }
        }
        out
    }

    /// Takes public texts out of what is hidden.
    fn show_public(&self, text: &[char], hidden: &mut [bool]) {
        let folded: Vec<char> = text.iter().map(|c| folded(*c)).collect();
        let names = self.secrets.names.iter().chain(&self.names);
        let shown = shown::find(&folded, names.map(|name| fold(name)), &self.written);
        shown.phrases.into_iter().for_each(|range| hidden[range].fill(false));
        let mut named = vec![false; text.len()];
        shown.names.into_iter().for_each(|range| named[range].fill(true));
        let mut start = 0;
        while start < text.len() {
            let length = hidden[start..].iter().take_while(|hidden| **hidden).count();
            // What has more than names in it is a value.
            if named[start..start + length].iter().all(|named| *named) {
                hidden[start..start + length].fill(false);
            }
            start += length.max(1);
        }
    }

    /// The name, unless it is, or holds, a value.
    pub(crate) fn harmless(&self, name: String) -> Option<String> {
        (self.apply(&name) == name).then_some(name)
    }

    fn in_pieces(&self, text: &[char]) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        for ((view, pieces), known) in VIEWS.iter().zip(&self.secrets.pieces).zip(&self.known) {
            let kept: Vec<usize> = (0..text.len()).filter(|i| view(text[*i])).collect();
            let seen: Vec<char> = kept.iter().map(|i| folded(text[*i])).collect();
            for run in runs(&seen, pieces) {
                // A text that the author or Ruby wrote as well is not secret.
                if !known.contains(&seen[run.clone()].iter().collect::<String>()) {
                    found.push(kept[run.start]..kept[run.end - 1] + 1);
                }
            }
        }
        found
    }

    /// Short values, where no letter or digit touches them.
    fn alone<'s>(&self, text: &[char], short: impl Iterator<Item = &'s String>) -> Vec<Range<usize>> {
        let text: Vec<char> = text.iter().map(|c| folded(*c)).collect();
        let mut found = Vec::new();
        for secret in short.filter(|s| !self.known[0].contains(s.as_str())) {
            let secret: Vec<char> = secret.chars().collect();
            for (start, window) in text.windows(secret.len()).enumerate() {
                let end = start + secret.len();
                let touches = |i: Option<usize>| i.and_then(|i| text.get(i)).is_some_and(|c| c.is_alphanumeric());
                if window == secret && !touches(start.checked_sub(1)) && !touches(Some(end)) {
                    found.push(start..end);
                }
            }
        }
        found
    }
}

/// The longest stretches of a text that are made of these pieces.
fn runs(text: &[char], pieces: &HashSet<Piece>) -> Vec<Range<usize>> {
    let is_piece = |i: usize| text.get(i..i + PIECE).is_some_and(|piece| pieces.contains(piece));
    let mut found = Vec::new();
    let mut i = 0;
    while i + PIECE <= text.len() {
        if !is_piece(i) {
            i += 1;
            continue;
        }
        let start = i;
        while is_piece(i + 1) {
            i += 1;
        }
        found.push(start..i + PIECE);
        i += 1;
    }
    found
}

fn fold(text: &str) -> String {
    text.chars().map(folded).collect()
}

fn folded(c: char) -> char {
    c.to_lowercase().next().unwrap_or(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_shows_no_string_however_short() {
        let m = mask("x7", "PASSWORD: <%= p('db.password') %>");
        assert_eq!(m.apply_to_line("PASSWORD: x7: x"), "PASSWORD: <redacted>: x");
        assert_eq!(m.apply("PASSWORD: x7: x"), "PASSWORD: x7: x");
    }

    fn mask(secret: &str, template: &str) -> Mask {
        let spec = Value::map([("properties", Value::map([("db", Value::map([("password", Value::str(secret))]))]))]);
        Mask::new(&spec, [], template.as_bytes())
    }

    #[test]
    fn whole_values_and_their_pieces_are_masked() {
        let m = mask("hunter2-and-more", "<%= Integer(p('db.password')) %>");
        for (said, shown) in [
            ("invalid value for Integer(): \"hunter2-and-more\"", "invalid value for Integer(): \"<redacted>\""),
            ("unexpected token at 'hunter2-an'", "unexpected token at '<redacted>'"),
            ("key=xhunter2-anx", "key=x<redacted>x"),
            ("HUNTER2_AND_MORE", "<redacted>"),
            ("h u n t e r 2", "<redacted>"),
            ("hunter2\\-and\\-more", "<redacted>"),
            ("got aHVudGVyMi1hbmQtbW9yZQ==", "got <redacted>=="),
            ("Basic YWRtaW46aHVudGVyMi1hbmQtbW9yZQ==", "Basic YWRtaW46<redacted>=="),
            ("Basic YWE6aHVudGVyMi1hbmQtbW9yZTp4", "Basic YWE6<redacted>Tp4"),
            ("Basic YTpodW50ZXIyLWFuZC1tb3Jl", "Basic YTp<redacted>"),
            ("hunt", "hunt"),
        ] {
            assert_eq!(m.apply(said), shown);
        }
    }

    #[test]
    fn escapes_do_not_hide_a_value() {
        let said = mask("ab1\nc\"d2\n#{e}", "").apply(&format!("got {:?}", "ab1\nc\"d2\n#{e}"));
        assert_eq!(said, "got \"<redacted>\"");
        let unicode = mask("aé😀b", "");
        for said in
            ["a\\xC3\\xA9\\xF0\\x9F\\x98\\x80b", "a\\u00e9\\ud83d\\ude00b", "a\\u00E9\\u{1F600}b", "aé\\U0001F600b"]
        {
            assert_eq!(unicode.apply(said), MASKED, "{said}");
        }
        assert_eq!(mask("!@#$%^&*()", "").apply("at '!\\@#\\$%^&"), "at '<redacted>");
        assert_eq!(mask("a/b?c&d=e f", "").apply("bad a%2Fb%3Fc%26d%3De+f"), "bad <redacted>");
        assert_eq!(mask("c2VjcmV0LW9mLWRi", "").apply("no 'secret-of-db'"), "no '<redacted>'");
    }

    #[test]
    fn short_values_are_masked_where_they_stand_alone() {
        let m = mask("test", "");
        assert_eq!(m.apply("invalid: \"test\", the latest"), "invalid: \"<redacted>\", the latest");
        let number = Value::map([("properties", Value::map([("port", Value::Int(48151623))]))]);
        assert_eq!(
            Mask::new(&number, [], b"").apply("comparison of 48_151_623 failed"),
            "comparison of <redacted> failed"
        );
        assert_eq!(Mask::new(&number, [], b"").apply("got NDgxNTE2MjM="), "got <redacted>=");
    }

    #[test]
    fn what_the_author_wrote_stays() {
        let m = mask("password-of-db", "<%= undefined_thing %>");
        for said in
            ["Can't find property '[\"db.password\"]'", "undefined local variable or method 'undefined_thing' for main"]
        {
            assert_eq!(m.apply(said), said);
        }
    }

    #[test]
    fn rubys_own_messages_stay() {
        let m = mask("no implicit conversion: an undefined method, an invalid value for everyone", "");
        for said in [
            "no implicit conversion of String into Integer",
            "undefined method 'x' for an instance of String",
            "invalid value for Integer(): \"a\"",
        ] {
            assert_eq!(m.apply(said), said);
        }
        assert_eq!(mask("true", "").apply("undefined method 'x' for true"), "undefined method 'x' for true");
    }

    #[test]
    fn names_of_the_deployment_stay_even_if_a_property_has_the_same_value() {
        let text = |s: &str| Value::str(s);
        let values =
            ["payments", "database", "gateway-service", "internal-net", "db.payments.svc", "from-link", "own-secret"];
        let link = Value::map([
            ("instance_group", text("database")),
            ("instances", Value::array([Value::map([("address", text("db.payments.svc"))])])),
            (PROPERTIES, Value::map([("password", text("from-link"))])),
        ]);
        let spec = Value::map([
            ("deployment", text("payments")),
            ("job", Value::map([("templates", Value::array([Value::map([("name", text("gateway-service"))])]))])),
            ("networks", Value::map([("internal-net", Value::map([]))])),
            (PROPERTIES, Value::map([("all", Value::array(values.map(text)))])),
            ("links", Value::map([("db", link)])),
        ]);
        let mask = Mask::new(&spec, [], b"");
        for name in &values[..5] {
            assert_eq!(mask.apply(&format!("no '{name}'")), format!("no '{name}'"));
        }
        for secret in ["from-link", "own-secret"] {
            assert_eq!(mask.apply(&format!("no '{secret}'")), "no '<redacted>'");
            assert_eq!(Mask::new(&spec, [], b"").showing([secret]).apply(secret), secret);
        }
    }

    #[test]
    fn names_that_are_values_are_not_harmless() {
        let m = mask("hunter2-and-more", "");
        assert_eq!(m.harmless("db.hunter2-and".into()), None);
        assert_eq!(m.harmless("db.other".into()), Some("db.other".into()));
    }

    #[test]
    fn a_value_that_overlaps_a_message_and_a_name_does_not_damage_them() {
        let value = Value::str("ruby '[\"tarzan");
        let spec = Value::map([(PROPERTIES, Value::map([("tarball_checksum", Value::Nil), ("command", value)]))]);
        let said = "Can't find property '[\"tarball_checksum\"]'";
        assert_eq!(Mask::new(&spec, [], b"").apply(said), said);
        assert_eq!(Mask::new(&spec, [], b"").apply("got ruby '[\"tarzan"), "got <redacted>");
        // A name that is made of a value is none.
        let made = "Can't find property '[\"tarball_checksum.y'[\"tarza\"]'";
        assert_eq!(Mask::new(&spec, [], b"").apply(made), "Can't find property '[\"tarball_checksum.<redacted>\"]'");
    }

    #[test]
    fn defaults_of_the_spec_are_shown() {
        let spec = |value: &str| Value::map([(PROPERTIES, Value::map([("url", Value::str(value))]))]);
        let defaults = [Value::str("nats://localhost:4222"), Value::map([("user", Value::str("admin"))])];
        let said = "cannot reach nats://localhost:4222 as admin";
        for value in ["nats://localhost:4222", "admin"] {
            assert_eq!(Mask::new(&spec(value), &defaults, b"").apply(said), said, "{value}");
        }
        let shown = Mask::new(&spec("xyz nats://localhost:4222 zyx"), &defaults, b"");
        assert_eq!(shown.apply("xyz nats://localhost:4222 zyx"), "<redacted>");
    }
}
