//! Versions as HashiCorp's `go-version` has them.

use std::cmp::Ordering;
use std::fmt;

/// A version: numbers, three at least, a prerelease and metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    numbers: Vec<u64>,
    prerelease: String,
    metadata: String,
}

impl Version {
    /// Parses `1.6`, `v1.2.3-beta.1+build`; `None` for anything else.
    pub fn parse(text: &str) -> Option<Version> {
        let rest = text.strip_prefix('v').unwrap_or(text);
        let (rest, metadata) = rest.split_once('+').map_or((rest, ""), |(rest, metadata)| (rest, metadata));
        if text.contains('+') && !is_identifiers(metadata) {
            return None;
        }
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (digits, prerelease) = rest.split_at(end);
        let prerelease = match prerelease.strip_prefix('-') {
            Some(prerelease) => prerelease,
            // Letters may follow the numbers at once: `1.2beta`.
            None if prerelease.starts_with(|c: char| c.is_ascii_alphabetic() || c == '~') => prerelease,
            None if prerelease.is_empty() => "",
            None => return None,
        };
        if end < rest.len() && !is_identifiers(prerelease) {
            return None;
        }
        let mut numbers = digits.split('.').map(|part| part.parse().ok()).collect::<Option<Vec<u64>>>()?;
        numbers.resize(numbers.len().max(3), 0);
        Some(Version { numbers, prerelease: prerelease.to_owned(), metadata: metadata.to_owned() })
    }

    /// Whether the prerelease is empty.
    pub fn is_release(&self) -> bool {
        self.prerelease.is_empty()
    }
}

fn is_identifiers(text: &str) -> bool {
    let is_identifier =
        |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'~'));
    text.split('.').all(is_identifier)
}

impl fmt::Display for Version {
    /// The canonical form: three numbers at least.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<String> = self.numbers.iter().map(u64::to_string).collect();
        f.write_str(&numbers.join("."))?;
        if !self.prerelease.is_empty() {
            write!(f, "-{}", self.prerelease)?;
        }
        if !self.metadata.is_empty() {
            write!(f, "+{}", self.metadata)?;
        }
        Ok(())
    }
}

impl Version {
    /// Compares by numbers, then by prerelease; metadata does not count.
    pub fn compare(&self, other: &Version) -> Ordering {
        let length = self.numbers.len().max(other.numbers.len());
        let numbers = |version: &Version| {
            let mut numbers = version.numbers.clone();
            numbers.resize(length, 0);
            numbers
        };
        numbers(self).cmp(&numbers(other)).then_with(|| match (self.is_release(), other.is_release()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => compare_prereleases(&self.prerelease, &other.prerelease),
        })
    }
}

fn compare_prereleases(one: &str, other: &str) -> Ordering {
    let (mut ones, mut others) = (one.split('.'), other.split('.'));
    loop {
        let order = match (ones.next(), others.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some(a), Some(b)) => match (a.parse::<u64>(), b.parse::<u64>()) {
                (Ok(a), Ok(b)) => a.cmp(&b),
                (Ok(_), Err(_)) => Ordering::Less,
                (Err(_), Ok(_)) => Ordering::Greater,
                (Err(_), Err(_)) => a.cmp(b),
            },
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        for (text, canonical) in [
            ("1.6", Some("1.6.0")),
            ("v1.2.3", Some("1.2.3")),
            ("1.2.3.4", Some("1.2.3.4")),
            ("1.0.0-beta.1+x", Some("1.0.0-beta.1+x")),
            ("1.2beta", Some("1.2.0-beta")),
            ("", None),
            ("x", None),
            ("1..2", None),
            ("../1", None),
            ("1.2/3", None),
        ] {
            assert_eq!(Version::parse(text).map(|version| version.to_string()).as_deref(), canonical, "{text}");
        }
        let version = |text: &str| Version::parse(text).unwrap_or_else(|| panic!("{text}"));
        let sorted = ["0.12.21", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-beta", "1.0", "1.0.0.1", "1.10"];
        for pair in sorted.windows(2) {
            assert_eq!(version(pair[0]).compare(&version(pair[1])), Ordering::Less, "{pair:?}");
        }
    }
}
