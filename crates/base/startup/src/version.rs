//! What `--version` prints.

use std::sync::LazyLock;

/// The version of boson and, in executables that were built with `BOSON_COMMIT`, the commit: `0.1.0 (0123456789ab)`.
///
/// Only what ships is built with it (`images/build`, `make build`): a build of the tests is not repeated for each commit.
pub fn version() -> &'static str {
    static VERSION: LazyLock<String> =
        LazyLock::new(|| text(env!("CARGO_PKG_VERSION"), option_env!("BOSON_COMMIT").unwrap_or_default()));
    &VERSION
}

fn text(version: &str, commit: &str) -> String {
    if commit.is_empty() { version.to_owned() } else { format!("{version} ({commit})") }
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn a_known_commit_follows_the_version() {
        assert_eq!(text("1.2.3", "0123456789ab-dirty"), "1.2.3 (0123456789ab-dirty)");
        assert_eq!(text("1.2.3", ""), "1.2.3");
    }
}
