//! Comparing the version that is up with a planned one, in a sandbox of its own: files that differ are rendered.

use std::path::Path;

use sandbox::{Access, Bind, Exit};

use super::apart;
use super::sources::SourceNames;
use crate::failure::{FailedStage, Failure};
use local_state::Interrupt;

/// Where the sandbox has what `diff` reads.
const SUPPLEMENT: &str = "/mnt/supplement.json";
const OLD: &str = "/mnt/old";
const NEW: &str = "/mnt/new";
const OLD_RELEASES: &str = "/mnt/old-releases";
const NEW_RELEASES: &str = "/mnt/new-releases";

/// What is compared.
pub(crate) struct Comparison<'a> {
    /// The documents of the version that is up.
    pub(crate) old: &'a Path,
    /// Its job sources, if it has any.
    pub(crate) old_releases: Option<&'a Path>,
    /// The documents of the new version.
    pub(crate) new: &'a Path,
    /// Its job sources.
    pub(crate) new_releases: &'a Path,
    /// What the documents do not have.
    pub(crate) supplement: &'a Path,
    /// Whether the text is for a terminal with colours.
    pub(crate) is_colored: bool,
}

/// Compares, and gives the text of the differences, and whether there are any.
pub(crate) fn diff(
    workspace: &Path,
    comparison: &Comparison,
    sources: &SourceNames,
    interrupt: &Interrupt,
) -> Result<(String, bool), Failure> {
    let bind = |source: &Path, target: &str| Bind {
        source: source.to_path_buf(),
        target: target.into(),
        access: Access::ReadOnly,
    };
    let mut binds = vec![
        bind(comparison.supplement, SUPPLEMENT),
        bind(comparison.old, OLD),
        bind(comparison.new, NEW),
        bind(comparison.new_releases, NEW_RELEASES),
    ];
    let mut argv =
        ["diff", OLD, NEW, "--new-release", NEW_RELEASES, "--supplement", SUPPLEMENT].map(str::to_owned).to_vec();
    argv.extend(comparison.is_colored.then(|| "--colored".to_owned()));
    if let Some(releases) = comparison.old_releases {
        binds.push(bind(releases, OLD_RELEASES));
        argv.extend(["--old-release".to_owned(), OLD_RELEASES.to_owned()]);
    }
    let (exit, printed) = apart::run(workspace, argv, binds, interrupt)?;
    let output = sources.restore(&printed);
    match exit {
        Exit::Code(code @ (0 | 1)) => Ok((output, code == 1)),
        exit => Err(FailedStage { instance: None, verb: "diff".to_owned(), output, code: exit.code() }.into()),
    }
}
