//! Names of instance groups: in addresses, and as BOSH compares them.

use object_basics::{LABEL, dns_label};

/// Room for `-<index>` behind an address' first label.
const INDEX: usize = 8;

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
        assert_eq!(group_label("cf", "uaa_db"), "cf-uaa-db-8423c0d1", "docs/contract.md says so");
    }
}
