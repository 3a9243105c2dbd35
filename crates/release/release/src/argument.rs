//! The arguments of `--release`.

use std::path::Path;

/// The variable of the flag.
const VARIABLE: &str = "BOSON_RELEASE";

/// The values of `--release`, one for each release: a flag has one, whose path may contain colons; the variable BOSON_RELEASE, which clap
/// gives as one value, separates several by colons.
pub fn release_arguments(values: &[String]) -> Vec<String> {
    split(values, &std::env::var(VARIABLE).unwrap_or_default())
}

fn split(values: &[String], variable: &str) -> Vec<String> {
    match values {
        [one] if one == variable => one.split(':').filter(|value| !value.is_empty()).map(str::to_owned).collect(),
        several => several.to_vec(),
    }
}

/// Name and path of `[NAME=]PATH`. What exists is a path, whatever characters it has.
pub fn parse_release_argument(argument: &str) -> (Option<&str>, &Path) {
    match argument.split_once('=') {
        Some((name, path)) if !name.is_empty() && !name.contains('/') && !Path::new(argument).exists() => {
            (Some(name), Path::new(path))
        }
        _ => (None, Path::new(argument)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colons_separate_releases_in_the_variable_only() {
        let values = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
        assert_eq!(split(&values(&["a:b"]), ""), ["a:b"]);
        assert_eq!(split(&values(&["a:b"]), "c:d"), ["a:b"]);
        assert_eq!(split(&values(&["c:n=d:"]), "c:n=d:"), ["c", "n=d"]);
        assert_eq!(split(&values(&["a:b", "c"]), "c"), ["a:b", "c"]);
        assert!(split(&[], "").is_empty());
    }

    #[test]
    fn a_name_precedes_the_path() {
        assert_eq!(parse_release_argument("nats=dir/nats"), (Some("nats"), Path::new("dir/nats")));
        assert_eq!(parse_release_argument("dir/a=b"), (None, Path::new("dir/a=b")));
        assert_eq!(parse_release_argument("=b"), (None, Path::new("=b")));
    }
}
