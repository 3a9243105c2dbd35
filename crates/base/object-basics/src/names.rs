//! Names that Kubernetes can hold: the one function that every stage uses.

use sha2::{Digest, Sha256};

/// The longest DNS label (RFC 1035).
pub const LABEL: usize = 63;
/// The field manager, and the value of [`MANAGED_BY`].
pub const MANAGER: &str = "boson";
/// Label of every object: who manages it.
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";

/// `name` as part of a DNS label of at most `max` bytes: itself where it already is one, else its letters, digits and
/// dashes with a hash of the whole name behind, so that two names never become one.
pub fn dns_label(name: &str, max: usize) -> String {
    let valid = !name.is_empty()
        && name.len() <= max
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && name.as_bytes()[0].is_ascii_alphabetic()
        && !name.ends_with('-');
    if valid {
        return name.to_owned();
    }
    let hash: String = Sha256::digest(name.as_bytes()).iter().take(4).map(|b| format!("{b:02x}")).collect();
    let mut label: String = name
        .to_lowercase()
        .chars()
        .map(|c| if c.is_ascii_lowercase() || c.is_ascii_digit() { c } else { '-' })
        .collect::<String>()
        .trim_start_matches(|c: char| !c.is_ascii_alphabetic())
        .to_owned();
    label.truncate(max.saturating_sub(hash.len() + 1));
    let label = label.trim_end_matches('-');
    if label.is_empty() { format!("x{hash}") } else { format!("{label}-{hash}") }
}

/// Returns ten digits of the SHA-256 digest of a content.
pub fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().take(5).map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the name of a Secret of a version that has several: `<version>`, `<version>-part2` and so on. `number` is from 1.
pub fn part(version: &str, number: usize) -> String {
    if number <= 1 { version.to_owned() } else { format!("{version}-part{number}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_no_label_gets_a_hash() {
        assert_eq!(dns_label("cf-nats", LABEL), "cf-nats");
        assert_eq!(dns_label("__", 20).len(), 9);
        assert_eq!(dns_label("cf-uaa_db", LABEL), "cf-uaa-db-8423c0d1", "docs/contract.md says so");
    }
}
