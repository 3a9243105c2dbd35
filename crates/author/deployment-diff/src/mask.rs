//! Secrets, and hiding them in lines of rendered files and in values.
//!
//! A text is secret if the caller names it (the values of variables), if a property has it whose name, or a name above it,
//! says so ([`is_secret_name`]), or if it is a private key.

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use instance_group::Resolved;
use value::Value;

use crate::Version;

/// What stands in the place of a secret.
pub const MASKED: &str = "<redacted>";

/// Shorter texts are not searched for in others: they are in every text.
const SHORTEST: usize = 4;
/// Shorter texts count only where no letter or digit touches them.
const SURE: usize = 8;
/// Shorter lines of a text with several lines are not secret alone.
const SHORTEST_LINE: usize = 16;

/// The last words of names whose values are secret.
const SECRET_WORDS: [&str; 20] = [
    "cred",
    "creds",
    "credential",
    "credentials",
    "key",
    "keys",
    "pass",
    "passphrase",
    "passphrases",
    "passwd",
    "password",
    "passwords",
    "private",
    "pw",
    "pwd",
    "salt",
    "secret",
    "secrets",
    "token",
    "tokens",
];

/// The secrets of a comparison.
#[derive(Debug, Clone, Default)]
pub struct Mask {
    /// The longest first.
    texts: Vec<String>,
    shows_everything: bool,
}

impl Mask {
    /// Hides the secrets of both versions, and these texts.
    pub fn new<'t>(old: &Version, new: &Version, texts: impl IntoIterator<Item = &'t str>) -> Mask {
        Mask::of_groups(old.groups.iter().chain(&new.groups), texts)
    }

    /// Hides the secrets of these groups, and these texts.
    pub fn of_groups<'g, 't>(
        groups: impl IntoIterator<Item = &'g Resolved>,
        texts: impl IntoIterator<Item = &'t str>,
    ) -> Mask {
        let mut secrets = BTreeSet::new();
        texts.into_iter().for_each(|text| add(text, &mut secrets));
        for job in groups.into_iter().flat_map(|group| &group.jobs) {
            collect(&job.properties, false, &mut secrets);
            job.links.iter().for_each(|link| collect(&link.content, false, &mut secrets));
        }
        let mut texts: Vec<String> = secrets.into_iter().collect();
        texts.sort_by(|a, b| b.len().cmp(&a.len()).then(a.cmp(b)));
        Mask { texts, shows_everything: false }
    }

    /// Hides nothing.
    pub fn none() -> Mask {
        Mask { texts: Vec::new(), shows_everything: true }
    }

    pub(crate) fn shows_everything(&self) -> bool {
        self.shows_everything
    }

    /// Each line of a text with its secrets replaced by [`MASKED`]; the lines of private keys are hidden whole.
    pub fn apply_to_lines(&self, text: &str) -> Vec<String> {
        let mut is_key = false;
        let masked = text.lines().map(|line| {
            let ends = line.contains("-----END ");
            is_key &= !ends;
            let shown = if is_key && !self.shows_everything { MASKED.to_owned() } else { self.apply(line) };
            is_key |= line.contains("-----BEGIN ") && line.contains("PRIVATE KEY-----") && !ends;
            shown
        });
        masked.collect()
    }

    /// The text with each secret replaced by [`MASKED`].
    pub fn apply(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.texts {
            if text.contains(secret.as_str()) {
                text = replaced(&text, secret);
            }
        }
        if self.shows_everything || !text.contains("://") { text } else { without_passwords_of_urls(&text) }
    }
}

/// Replaces each occurrence; a short one only if it stands alone.
fn replaced(text: &str, secret: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(secret) {
        let (before, after) = (&rest[..at], &rest[at + secret.len()..]);
        let touches = before.chars().next_back().or(out.chars().next_back()).is_some_and(char::is_alphanumeric)
            || after.chars().next().is_some_and(char::is_alphanumeric);
        out.push_str(before);
        out.push_str(if secret.len() < SURE && touches { secret } else { MASKED });
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Adds the secret texts of a value; all of them if a name above it says so.
fn collect(value: &Value, is_secret: bool, secrets: &mut BTreeSet<String>) {
    match value {
        Value::Map(map) => {
            for (key, inner) in map.iter() {
                let name = key.scalar_to_s().unwrap_or_default();
                collect(inner, is_secret || is_secret_name(&name), secrets);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, is_secret, secrets)),
        // Numbers of properties such as `max_keys` are in every file.
        Value::Str(_) => {
            let text = value.scalar_to_s().unwrap_or_default();
            if is_secret || text.contains("PRIVATE KEY-----") {
                add(&text, secrets);
            } else if let Some(password) = password_of_url(&text) {
                add(password, secrets);
            }
        }
        _ => {}
    }
}

/// Adds a text in each form in which a template writes it.
fn add(text: &str, secrets: &mut BTreeSet<String>) {
    let text = text.trim();
    if text.len() < SHORTEST {
        return;
    }
    let json = serde_json::Value::from(text).to_string();
    secrets.insert(json[1..json.len() - 1].to_owned());
    secrets.insert(STANDARD.encode(text));
    secrets.insert(STANDARD.encode(format!("{text}\n")));
    let of_urls = url_encoded(text);
    secrets.insert(of_urls.replace("%20", "+"));
    secrets.insert(of_urls);
    secrets.insert(shell_escaped(text));
    // In single quotes of YAML.
    secrets.insert(text.replace('\'', "''"));
    secrets.insert(text.to_owned());
    if text.contains('\n') {
        let lines =
            text.lines().map(str::trim).filter(|line| line.len() >= SHORTEST_LINE && !line.starts_with("-----"));
        secrets.extend(lines.map(str::to_owned));
    }
}

/// As Ruby's `ERB::Util.url_encode`; `CGI.escape` has `+` for `%20`.
fn url_encoded(text: &str) -> String {
    let encode = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(encode).collect()
}

/// As Ruby's `shellescape`.
fn shell_escaped(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.,:+/@\n".contains(c);
    text.chars().flat_map(|c| (!is_plain(c)).then_some('\\').into_iter().chain([c])).collect()
}

/// The password in `scheme://user:password@host`.
fn password_of_url(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let (user, _) = authority.rsplit_once('@')?;
    Some(user.split_once(':')?.1)
}

/// The text without the passwords of its URLs, whatever they are.
fn without_passwords_of_urls(text: &str) -> String {
    let mut parts = text.split("://");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str("://");
        let end = part.find(|c: char| c.is_whitespace() || "/?#\"'<>`".contains(c)).unwrap_or(part.len());
        match part[..end].rsplit_once('@').and_then(|(user, host)| Some((user.split_once(':')?, host))) {
            Some(((user, password), host)) if !password.is_empty() => {
                out.push_str(&format!("{user}:{MASKED}@{host}{}", &part[end..]));
            }
            _ => out.push_str(part),
        }
    }
    out
}

/// Whether the last word of a name says that its value is secret: `db_password`, `privateKey`, `tls.key`; not `public_key`.
pub(crate) fn is_secret_name(name: &str) -> bool {
    let words = words(name);
    let is_public = words.iter().any(|word| word == "public");
    words.last().is_some_and(|last| SECRET_WORDS.contains(&last.as_str())) && !is_public
}

/// The words of a name in lower case, at signs and at the capitals of `camelCase`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && was_lower) {
            words.push(String::new());
        }
        was_lower = c.is_lowercase();
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_secrets() {
        for name in ["password", "db_password", "apiKey", "tls.private_key", "client-secret", "token", "credentials"] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in ["port", "key_size", "public_key", "publicKey", "monkey", "tokens_per_second", "keyspace", ""] {
            assert!(!is_secret_name(name), "{name}");
        }
    }

    fn mask(value: &Value) -> Mask {
        let mut secrets = BTreeSet::new();
        collect(value, false, &mut secrets);
        let mut texts: Vec<String> = secrets.into_iter().collect();
        texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
        Mask { texts, shows_everything: false }
    }

    #[test]
    fn a_secret_is_hidden_in_each_form() {
        let key =
            "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEAx1\nMIIEowIBAAKCAQEAx2\n-----END RSA PRIVATE KEY-----\n";
        let mask = mask(&Value::map([
            ("password", Value::str("hunter2\"hunter2")),
            ("pw", Value::str("abcd")),
            ("pem", Value::str(key)),
            ("url", Value::str("postgres://me:geheim12@db/x")),
            ("port", Value::str("4222")),
            ("keys", Value::Int(4223)),
        ]));
        for (text, shown) in [
            ("a: hunter2\"hunter2", "a: <redacted>"),
            ("a: hunter2\\\"hunter2!", "a: <redacted>!"),
            ("a: aHVudGVyMiJodW50ZXIy", "a: <redacted>"),
            ("  MIIEowIBAAKCAQEAx2", "  <redacted>"),
            ("http://a:hunter2%22hunter2@b", "http://a:<redacted>@b"),
            ("other: nats://a:not%3A+known@b:1/x, c://d:e@f", "other: nats://a:<redacted>@b:1/x, c://d:<redacted>@f"),
            ("plain: http://a:80/b@c https://d/e:f@g 'h://@i'", "plain: http://a:80/b@c https://d/e:f@g 'h://@i'"),
            ("export A=hunter2\\\"hunter2", "export A=<redacted>"),
            ("abcd abcde xabcd (abcd)", "<redacted> abcde xabcd (<redacted>)"),
            ("url: postgres://me:geheim12@db/x port 4222 4223", "url: postgres://me:<redacted>@db/x port 4222 4223"),
        ] {
            assert_eq!(mask.apply(text), shown);
        }
        assert_eq!(Mask::none().apply("hunter2"), "hunter2");
        let lines = format!("key: |\n{key}\nport: abcd");
        let masked = mask.apply_to_lines(&lines);
        assert_eq!(masked.len(), lines.lines().count());
        assert_eq!(masked.iter().filter(|line| *line == MASKED).count(), 2, "{masked:?}");
        assert_eq!(masked.last().map(String::as_str), Some("port: <redacted>"));
        assert_eq!(Mask::none().apply_to_lines(key).join("\n"), key.trim_end());
    }

    #[test]
    fn the_last_short_line_of_a_key_is_hidden() {
        let key = "-----BEGIN PRIVATE KEY-----\nMIIEowIBAAKCAQEAx1\nQ==\n-----END PRIVATE KEY-----\nend\n";
        let masked = mask(&Value::map([("pem", Value::str(key))])).apply_to_lines(&key.replace('\n', "\n    "));
        assert!(!masked.join("\n").contains("Q=="), "{masked:?}");
        assert!(masked.join("\n").contains("    end"), "{masked:?}");
    }
}
