//! Names that Kubernetes can hold: the one function that every stage uses.

use sha2::{Digest, Sha256};

/// The longest DNS label (RFC 1035).
const LABEL: usize = 63;
/// Room for `-<index>` behind an address' first label.
const INDEX: usize = 8;

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

/// The first label of an instance group's addresses: `<deployment>-<ig>`.
pub fn group_label(deployment: &str, group: &str) -> String {
    dns_label(&format!("{deployment}-{group}"), LABEL - INDEX)
}

/// BOSH compares group names by their canonical form, in which `_` is `-`.
pub(crate) fn canonical(name: &str) -> String {
    name.to_lowercase().replace('_', "-").chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_valid_name_stays_itself() {
        assert_eq!(group_label("cf", "nats"), "cf-nats");
    }

    #[test]
    fn names_that_would_become_one_stay_two() {
        let (a, b, c) = (group_label("cf", "uaa_db"), group_label("cf", "uaa-db"), group_label("cf", "UAA-db"));
        assert!(a.starts_with("cf-uaa-db-") && c.starts_with("cf-uaa-db-"), "{a} {c}");
        assert!(a != b && b != c && a != c);
        assert!(group_label("d", &"x".repeat(200)).len() <= LABEL - INDEX);
        assert_eq!(dns_label("__", 20).len(), 9);
        assert_eq!(group_label("cf", "uaa_db"), "cf-uaa-db-8423c0d1", "docs/contract.md says so");
    }
}
