//! `--patch`: a patch of a release's job sources.

use std::path::PathBuf;
use std::str::FromStr;

use problem::{Problem, Problems, code, hint_for_unknown};
use release::Release;

/// A patch and its release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReleasePatch {
    pub(crate) release: String,
    pub(crate) file: PathBuf,
}

impl FromStr for ReleasePatch {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('=').filter(|(release, file)| !release.is_empty() && !file.is_empty()) {
            Some((release, file)) => Ok(ReleasePatch { release: release.to_owned(), file: file.into() }),
            None => Err("it is not RELEASE=FILE"),
        }
    }
}

/// Checks that the patches are of releases that exist.
pub(crate) fn check(patches: &[ReleasePatch], releases: &[Release]) -> Result<(), Problems> {
    let names = || releases.iter().map(|release| release.name.as_str());
    let unknown = patches.iter().filter(|patch| names().all(|name| name != patch.release));
    let problem = |patch: &ReleasePatch| {
        let message = format!("--patch: no --release holds the release '{}'", patch.release);
        let hint = hint_for_unknown(&patch.release, names(), || {
            format!("the releases are: {}", names().collect::<Vec<_>>().join(", "))
        });
        Problem::input(message).code(code::RELEASE_UNKNOWN).hint(hint)
    };
    Problems::check(unknown.map(problem).collect())
}
