//! The root file systems on which packages are compiled and instances run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use problem::{Problem, Problems, Result};
use release::{Stemcell, Stop};

/// One `--stemcell`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StemcellOption {
    /// The alias in the manifest; all others where absent.
    pub alias: Option<String>,
    /// A directory, an archive, an OCI image layout or a stemcell.
    pub path: PathBuf,
}

impl FromStr for StemcellOption {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let (alias, path) = match text.split_once('=') {
            Some((alias, path)) if !alias.contains('/') => (Some(alias.to_owned()), path),
            _ => (None, text),
        };
        if path.is_empty() || alias.as_deref() == Some("") {
            return Err("expected PATH or ALIAS=PATH".to_owned());
        }
        Ok(StemcellOption { alias, path: path.into() })
    }
}

/// The stemcells of a deployment. Without one, the host's own programs are used.
#[derive(Debug, Default)]
pub struct Stemcells {
    default: Option<Stemcell>,
    by_alias: BTreeMap<String, Stemcell>,
}

impl Stemcells {
    /// Opens the stemcells that the user gave; reports all problems.
    pub fn open(options: &[StemcellOption], cache: &Path, stop: Stop) -> Result<Stemcells> {
        let (mut stemcells, mut problems) = (Stemcells::default(), Vec::new());
        for option in options {
            let twice = match &option.alias {
                Some(alias) => stemcells.by_alias.contains_key(alias),
                None => stemcells.default.is_some(),
            };
            if twice {
                let of = option.alias.as_ref().map_or_else(String::new, |alias| format!(" for alias '{alias}'"));
                problems.push(Problem::usage(format!("--stemcell: more than one{of}")));
                continue;
            }
            match (Stemcell::open(&option.path, cache, stop), &option.alias) {
                (Ok(stemcell), Some(alias)) => drop(stemcells.by_alias.insert(alias.clone(), stemcell)),
                (Ok(stemcell), None) => stemcells.default = Some(stemcell),
                (Err(found), _) => problems.extend(found.into_vec()),
            }
        }
        Problems::check(problems)?;
        Ok(stemcells)
    }

    /// Refuses aliases that the manifest does not have.
    pub fn check_aliases(&self, known: &[String]) -> Result<()> {
        let unknown = self.by_alias.keys().filter(|alias| !known.contains(alias));
        let problem = |alias: &String| {
            let hint = if known.is_empty() {
                "the manifest has no stemcells: give the path alone".to_owned()
            } else {
                format!("the manifest has: {}", known.join(", "))
            };
            Problem::usage(format!("--stemcell: unknown alias '{alias}'")).hint(hint)
        };
        Problems::check(unknown.map(problem).collect())
    }

    /// The base of a group with this stemcell; `None` is the host.
    pub fn of(&self, alias: Option<&str>) -> Option<&Stemcell> {
        alias.and_then(|alias| self.by_alias.get(alias)).or(self.default.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_a_path_or_an_alias_with_one() {
        let parse = |text: &str| text.parse::<StemcellOption>().map(|o| (o.alias, o.path.display().to_string()));
        assert_eq!(parse("a.tgz"), Ok((None, "a.tgz".into())));
        assert_eq!(parse("default=a=b.tgz"), Ok((Some("default".into()), "a=b.tgz".into())));
        assert_eq!(parse("./x=y/root"), Ok((None, "./x=y/root".into())));
        for wrong in ["", "=a", "default="] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
