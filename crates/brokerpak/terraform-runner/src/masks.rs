//! Secrets in terraform's output.

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

/// What stands for a secret.
const MASK: &str = "***";

/// Shorter values are not masked: they would hide parts of other words.
const SHORTEST: usize = 4;

/// A base64 text shorter than this may be a part of any word.
const SHORTEST_ENCODED: usize = 8;

/// Secrets to be replaced in messages and logs: as they are, as JSON and HCL quote them, percent-encoded, and in base64 at any
/// offset.
#[derive(Clone, Default)]
pub struct Masks {
    /// Longest first: a secret may be a part of another one.
    patterns: Vec<String>,
}

impl std::fmt::Debug for Masks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} masks", self.patterns.len())
    }
}

impl Masks {
    /// Masks of these secrets. Of several lines, each is masked.
    pub fn new<'s>(secrets: impl IntoIterator<Item = &'s str>) -> Masks {
        let mut masks = Masks::default();
        masks.extend(secrets);
        masks
    }

    /// Adds secrets.
    pub fn extend<'s>(&mut self, secrets: impl IntoIterator<Item = &'s str>) {
        let mut patterns: BTreeSet<String> = std::mem::take(&mut self.patterns).into_iter().collect();
        for secret in secrets {
            add(&mut patterns, secret.trim());
            if secret.trim().contains('\n') {
                secret.lines().for_each(|line| add(&mut patterns, line.trim()));
            }
        }
        self.patterns = patterns.into_iter().collect();
        self.patterns.sort_by_key(|pattern| std::cmp::Reverse(pattern.len()));
    }

    /// The text without secrets.
    pub fn hide(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for pattern in &self.patterns {
            if text.contains(pattern.as_str()) {
                text = text.replace(pattern.as_str(), MASK);
            }
        }
        text
    }
}

fn add(patterns: &mut BTreeSet<String>, secret: &str) {
    if secret.chars().count() < SHORTEST {
        return;
    }
    patterns.insert(secret.to_owned());
    // terraform's messages are joined lines, in which a blank stands for any white space.
    patterns.insert(secret.split_whitespace().collect::<Vec<_>>().join(" "));
    let quoted = secret.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\t', "\\t");
    patterns.insert(quoted.replace("${", "$${").replace("%{", "%%{"));
    patterns.insert(quoted.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026"));
    patterns.insert(quoted);
    patterns.insert(utf8_percent_encode(secret, NON_ALPHANUMERIC).to_string());
    for text in encoded(secret.as_bytes()) {
        if text.len() >= SHORTEST_ENCODED {
            patterns.insert(text);
        }
    }
}

/// What base64 has of a text wherever it starts: the characters that depend on the text alone.
fn encoded(secret: &[u8]) -> Vec<String> {
    let mut texts = vec![STANDARD_NO_PAD.encode(secret), URL_SAFE_NO_PAD.encode(secret)];
    for offset in 0..3 {
        let shifted = [&[0; 3][..offset], secret].concat();
        let first = (offset * 8).div_ceil(6);
        let last = shifted.len() * 8 / 6;
        for text in [STANDARD_NO_PAD.encode(&shifted), URL_SAFE_NO_PAD.encode(&shifted)] {
            texts.push(text[first.min(last)..last].to_owned());
        }
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked_however_they_are_written() {
        let secret = "p\"ss<wörd>&/+${x}\n2nd line";
        let masks = Masks::new([secret, "abc", "", "long-secret", "long-secret-2"]);
        let json = "p\\\"ss\\u003cwörd\\u003e\\u0026/+${x}\\n2nd line";
        let mut texts = vec![secret.to_owned(), json.to_owned(), "p\"ss<wörd>&/+${x} 2nd line".to_owned()];
        texts.push("p\\\"ss<wörd>&/+$${x}\\n2nd line".to_owned());
        texts.push(utf8_percent_encode(secret, NON_ALPHANUMERIC).to_string());
        texts.push("| 2nd line".to_owned());
        for before in ["", "a", "ab", "user:"] {
            texts.push(STANDARD_NO_PAD.encode(format!("{before}{secret}.")));
            texts.push(URL_SAFE_NO_PAD.encode(format!("{before}{secret}")));
        }
        for text in &texts {
            let hidden = masks.hide(text);
            assert!(hidden.contains(MASK) && hidden.len() < 16, "{text}: {hidden}");
        }
        assert_eq!(masks.hide("abc long-secret-2, long-secret"), "abc ***, ***");
        assert!(!format!("{masks:?}").contains("long"));
    }
}
