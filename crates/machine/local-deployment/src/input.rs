//! The input of `up`, as far as it is checked before `plan` reads it.

use std::path::PathBuf;

use manifest_inputs::{Configs, Documents, Inputs};
use problem::{Problem, Problems, Result, code};

use crate::identities;
use crate::privileged::AllowPrivileged;
use crate::publish::Publish;
use crate::release_patch::ReleasePatch;
use compile_release::StemcellOption;
use local_state::CacheLimit;
use local_state::StateDir;
use local_state::control::Replace;

/// The deployment that is to be brought up.
#[derive(Debug)]
pub struct Config {
    /// The manifest's file.
    pub manifest: PathBuf,
    /// Ops files and variables.
    pub inputs: Inputs,
    /// Runtime and cloud configs.
    pub configs: Configs,
    /// Source directories and archives of the releases.
    pub releases: Vec<PathBuf>,
    /// Whether releases of the manifest's URLs are taken from the cache only.
    pub offline: bool,
    /// Patches of their job sources.
    pub patches: Vec<ReleasePatch>,
    /// Root file systems of compiling and running.
    pub stemcells: Vec<StemcellOption>,
    /// How large the cache may become.
    pub cache_limit: CacheLimit,
    /// The deployment's name; the manifest's where absent.
    pub name: Option<String>,
    /// The name that the manifest must have, if `name` is absent.
    pub expected_name: Option<String>,
    /// Directory of the deployment's state; a default that depends on the name where absent.
    pub state_dir: Option<PathBuf>,
    /// Ports of instances that become ports of 127.0.0.1.
    pub publish: Vec<Publish>,
    /// Whether a failure gives the old state back.
    pub roll_back: bool,
    /// The jobs that may be privileged.
    pub allow_privileged: Vec<AllowPrivileged>,
    /// Whether certificates may have expired.
    pub allow_expired: bool,
    /// Whether instances that are replaced or removed stop without pre-stop and drain.
    pub skip_drain: bool,
    /// Which of the instances that exist are replaced.
    pub replace: Replace,
}

/// The input of a run.
#[derive(Debug)]
pub(crate) struct Input {
    /// The manifest with operations and variables; read once, for it may be a pipe.
    pub(crate) documents: Documents,
    pub(crate) releases: Vec<PathBuf>,
    pub(crate) patches: Vec<ReleasePatch>,
    pub(crate) stemcells: Vec<StemcellOption>,
    pub(crate) cache_limit: CacheLimit,
    /// Whether warnings of `plan` are errors.
    pub(crate) strict: bool,
    /// The name given, which overrides the manifest's.
    pub(crate) given_name: Option<String>,
    /// The state directory given.
    given_dir: Option<PathBuf>,
    pub(crate) publish: Vec<Publish>,
    pub(crate) roll_back: bool,
    pub(crate) allow_privileged: Vec<AllowPrivileged>,
    pub(crate) skip_drain: bool,
    pub(crate) replace: Replace,
}

impl Input {
    /// Checks that the releases exist; `plan` checks what is in them. `documents` are those of the config.
    pub(crate) fn read(config: Config, documents: Documents) -> Result<Input> {
        Problems::check(missing_releases(&config.releases))?;
        let is_given = |name: &String| !name.is_empty();
        let mut name = config.name.filter(is_given);
        if let (None, Some(expected)) = (&name, config.expected_name.filter(is_given)) {
            check_name(Some(&expected), documents.deployment_name().as_deref())?;
            name = Some(expected);
        }
        let input = Input {
            documents,
            releases: config.releases,
            patches: config.patches,
            stemcells: config.stemcells,
            cache_limit: config.cache_limit,
            strict: config.inputs.strict,
            given_name: name,
            given_dir: config.state_dir.filter(|path| !path.as_os_str().is_empty()),
            publish: config.publish,
            roll_back: config.roll_back,
            allow_privileged: config.allow_privileged,
            skip_drain: config.skip_drain,
            replace: config.replace,
        };
        // As far as it is known before `plan` has read the manifest.
        if let Some(name) = input.given_name.as_deref().or(input.given_dir.as_ref().map(|_| "")) {
            input.dir(name)?.check()?;
        }
        Ok(input)
    }

    /// The directory with the identities of the deployment's version before, if there is one.
    pub(crate) fn previous(&self) -> Option<PathBuf> {
        identities::directory(&self.documents, self.given_name.as_deref(), self.given_dir.as_deref())
    }

    /// The state directory of the deployment of this name.
    pub(crate) fn dir(&self, deployment: &str) -> Result<StateDir> {
        StateDir::of(self.given_dir.as_deref(), deployment)
    }
}

/// Refuses a manifest of another deployment, as the bosh CLI does. One without a name is that of any.
///
/// # Errors
/// Another name than the expected one.
pub fn check_name(expected: Option<&str>, name: Option<&str>) -> Result<()> {
    match (expected, name) {
        (Some(expected), Some(name)) if expected != name => {
            let message = format!("Expected manifest to specify deployment name '{expected}' but was '{name}'");
            let hint = format!("--name {expected} brings it up under another name than the manifest's");
            Err(Problem::input(message).code(code::INPUT_INVALID).hint(hint).into())
        }
        _ => Ok(()),
    }
}

/// A problem for every release that does not exist.
pub fn missing_releases(releases: &[PathBuf]) -> Vec<Problem> {
    let missing = releases.iter().filter(|release| !release.is_file() && !release.join("jobs").is_dir());
    let problem = |release: &PathBuf| {
        let message = format!("{} is not a release's source directory: it has no jobs/", release.display());
        Problem::input(message)
            .code(code::RELEASE_MISSING)
            .hint("--release names the directory that holds jobs/, packages/ and src/, or an archive made by bosh")
    };
    missing.map(problem).collect()
}

/// Problems of two checks.
pub fn join(first: Problems, second: Vec<Problem>) -> Problems {
    let mut all = first.into_vec();
    all.extend(second);
    Problems::check(all).err().unwrap_or_else(|| Problem::internal("nothing failed").into())
}
