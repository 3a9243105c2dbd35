//! Which versions of terraform exist for which platforms.

use std::cmp::Ordering;

use crate::version::Version;

/// The first version of terraform that the specification allows.
pub(crate) const FIRST: &str = "0.12.0";

/// Whether HashiCorp (`terraform`) or OpenTofu (`tofu`) has released a version for a platform that manifests may have.
pub(crate) fn exists(name: &str, version: &Version, platform: &str) -> bool {
    let is_before = |other: &str| Version::parse(other).is_some_and(|other| version.compare(&other) == Ordering::Less);
    match (name, platform) {
        (_, "darwin/386") => false,
        ("terraform", "darwin/arm64") => !is_before("1.0.2"),
        // The patches of two lines began to have it at about the same time.
        ("terraform", "linux/arm64") => !is_before("0.12.30") && (is_before("0.13.0") || !is_before("0.13.5")),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn platforms_came_with_versions() {
        for (name, version, platform, expected) in [
            ("terraform", "0.12.21", "linux/386", true),
            ("terraform", "1.11.4", "darwin/386", false),
            ("tofu", "1.9.1", "darwin/386", false),
            ("tofu", "1.6.0", "darwin/arm64", true),
            ("terraform", "1.0.1", "darwin/arm64", false),
            ("terraform", "1.0.2", "darwin/arm64", true),
            ("terraform", "0.12.29", "linux/arm64", false),
            ("terraform", "0.12.31", "linux/arm64", true),
            ("terraform", "0.13.4", "linux/arm64", false),
            ("terraform", "0.13.5", "linux/arm64", true),
        ] {
            let parsed = Version::parse(version).unwrap();
            assert_eq!(exists(name, &parsed, platform), expected, "{name} {version} {platform}");
        }
    }
}
