//! The environment of terraform.

use std::collections::BTreeMap;
use std::path::Path;

/// Variables that terraform gets from the environment of the program, in upper and lower case where both are common.
const INHERITED: [&str; 16] = [
    "TMPDIR",
    "LANG",
    "LANGUAGE",
    "TZ",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CURL_CA_BUNDLE",
    "REQUESTS_CA_BUNDLE",
];

/// The variables of a run of terraform: `PATH` with `executables` before it, locale, proxies, certificates and the
/// directory for temporary files of `parent`, a home of its own, and `added`, which come from the pak and have precedence.
pub fn environment(
    parent: &BTreeMap<String, String>,
    home: &Path,
    executables: &Path,
    added: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let is_inherited = |name: &str| INHERITED.contains(&name) || name.starts_with("LC_");
    let inherited = parent.iter().filter(|(name, _)| is_inherited(name));
    let mut variables: BTreeMap<String, String> =
        inherited.map(|(name, value)| (name.clone(), value.clone())).collect();
    let rest = parent.get("PATH").map_or("/usr/local/bin:/usr/bin:/bin", String::as_str);
    variables.insert("PATH".to_owned(), format!("{}:{rest}", executables.display()));
    variables.insert("HOME".to_owned(), home.display().to_string());
    for (name, value) in [
        // The user's file could add mirrors, credentials and overrides of providers.
        ("TF_CLI_CONFIG_FILE", "/dev/null"),
        ("CHECKPOINT_DISABLE", "1"),
        ("TF_IN_AUTOMATION", "1"),
        ("TF_INPUT", "0"),
    ] {
        variables.insert(name.to_owned(), value.to_owned());
    }
    variables.extend(added.iter().map(|(name, value)| (name.clone(), value.clone())));
    variables
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn only_what_is_listed_reaches_terraform() {
        let parent = map(&[
            ("PATH", "/bin"),
            ("HOME", "/root"),
            ("LC_ALL", "C.UTF-8"),
            ("https_proxy", "http://p"),
            ("SSL_CERT_FILE", "/ca"),
            ("AWS_SECRET_ACCESS_KEY", "s"),
            ("TF_CLI_ARGS", "-lock=false"),
            ("TF_LOG", "trace"),
            ("KUBECONFIG", "/k"),
            ("GSB_X", "1"),
        ]);
        let added = map(&[("TF_VAR_x", "1"), ("TF_INPUT", "own")]);
        let found = environment(&parent, Path::new("/h"), Path::new("/pak"), &added);
        let expected = map(&[
            ("CHECKPOINT_DISABLE", "1"),
            ("HOME", "/h"),
            ("LC_ALL", "C.UTF-8"),
            ("PATH", "/pak:/bin"),
            ("SSL_CERT_FILE", "/ca"),
            ("TF_CLI_CONFIG_FILE", "/dev/null"),
            ("TF_INPUT", "own"),
            ("TF_IN_AUTOMATION", "1"),
            ("TF_VAR_x", "1"),
            ("https_proxy", "http://p"),
        ]);
        assert_eq!(found, expected);
    }
}
