//! The input of `up`, as far as it is checked before `plan` reads it.

use std::path::{Path, PathBuf};

use problem::{Place, Problem, Problems, Result, code};
use startup::Secret;

use super::publish::Publish;
use crate::cache::CacheLimit;
use crate::state::StateDir;
use crate::stemcells::StemcellOption;

/// The deployment that is to be brought up.
#[derive(Debug)]
pub(crate) struct Config {
    /// The manifest's file.
    pub(crate) manifest: PathBuf,
    /// What is in it, where the caller has read it already.
    pub(crate) manifest_text: Option<Secret<Vec<u8>>>,
    /// Source directories and archives of the releases.
    pub(crate) releases: Vec<PathBuf>,
    /// Root file systems of compiling and running.
    pub(crate) stemcells: Vec<StemcellOption>,
    /// How large the cache may become.
    pub(crate) cache_limit: CacheLimit,
    /// The deployment's name; the manifest's where absent.
    pub(crate) name: Option<String>,
    /// Directory of the deployment's state; a default that depends on the name where absent.
    pub(crate) state_dir: Option<PathBuf>,
    /// Ports of instances that become ports of 127.0.0.1.
    pub(crate) publish: Vec<Publish>,
    /// Whether a failure gives the old state back.
    pub(crate) roll_back: bool,
}

/// The input of a run.
#[derive(Debug)]
pub(crate) struct Input {
    /// The manifest as the user named it.
    pub(crate) manifest: PathBuf,
    /// What is in it; read once, for it may be a pipe.
    pub(crate) text: Secret<Vec<u8>>,
    pub(crate) releases: Vec<PathBuf>,
    pub(crate) stemcells: Vec<StemcellOption>,
    pub(crate) cache_limit: CacheLimit,
    /// The name given, which overrides the manifest's.
    pub(crate) given_name: Option<String>,
    /// The state directory given.
    given_dir: Option<PathBuf>,
    pub(crate) publish: Vec<Publish>,
    pub(crate) roll_back: bool,
}

impl Input {
    /// Checks that the files exist; `plan` checks what is in them.
    pub(crate) fn read(config: Config) -> Result<Input> {
        let mut problems = Vec::new();
        let text = config.manifest_text.unwrap_or_else(|| {
            read_manifest(&config.manifest).unwrap_or_else(|found| {
                problems.extend(found.into_vec());
                Secret::new(Vec::new())
            })
        });
        for release in &config.releases {
            if !release.is_file() && !release.join("jobs").is_dir() {
                let message = format!("{} is not a release's source directory: it has no jobs/", release.display());
                problems.push(Problem::input(message).code(code::RELEASE_MISSING).hint(
                    "--release names the directory that holds jobs/, packages/ and src/, or an archive made by bosh",
                ));
            }
        }
        Problems::check(problems)?;
        let input = Input {
            manifest: config.manifest,
            text,
            releases: config.releases,
            stemcells: config.stemcells,
            cache_limit: config.cache_limit,
            given_name: config.name.filter(|name| !name.is_empty()),
            given_dir: config.state_dir.filter(|path| !path.as_os_str().is_empty()),
            publish: config.publish,
            roll_back: config.roll_back,
        };
        // As far as it is known before `plan` has read the manifest.
        if let Some(name) = input.given_name.as_deref().or(input.given_dir.as_ref().map(|_| "")) {
            input.dir(name)?.check()?;
        }
        Ok(input)
    }

    /// The state directory of the deployment of this name.
    pub(crate) fn dir(&self, deployment: &str) -> Result<StateDir> {
        StateDir::of(self.given_dir.as_deref(), deployment)
    }
}

/// The manifest's text.
pub(crate) fn read_manifest(path: &Path) -> Result<Secret<Vec<u8>>> {
    let refused = |e| {
        Problem::input("cannot read the manifest")
            .code(code::MANIFEST_MISSING)
            .at(Place::file(path.display().to_string()))
            .because(e)
    };
    Ok(Secret::new(vcap::input::read(path).map_err(refused)?))
}
