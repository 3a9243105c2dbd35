//! The input of `up`, as far as it is checked before `plan` reads it.

use std::path::{Path, PathBuf};

use problem::{Place, Problem, Problems, Result, code};
use startup::Secret;

use super::publish::Publish;
use crate::state::StateDir;

/// The deployment that is to be brought up.
#[derive(Debug)]
pub(crate) struct Config {
    /// The manifest's file.
    pub(crate) manifest: PathBuf,
    /// What is in it, where the caller has read it already.
    pub(crate) manifest_text: Option<Secret<Vec<u8>>>,
    /// Source directories and archives of the releases.
    pub(crate) releases: Vec<PathBuf>,
    /// The deployment's name; the manifest's where absent.
    pub(crate) name: Option<String>,
    /// Directory of the deployment's state; a default that depends on the name where absent.
    pub(crate) state_dir: Option<PathBuf>,
    /// Ports of instances that become ports of 127.0.0.1.
    pub(crate) publish: Vec<Publish>,
}

/// The input of a run.
#[derive(Debug)]
pub(crate) struct Input {
    /// The manifest as the user named it.
    pub(crate) manifest: PathBuf,
    /// What is in it; read once, for it may be a pipe.
    pub(crate) text: Secret<Vec<u8>>,
    pub(crate) releases: Vec<PathBuf>,
    /// The deployment's name as given, or as far as it can be seen in the manifest.
    pub(crate) name: String,
    /// The name given, which overrides the manifest's.
    pub(crate) given_name: Option<String>,
    pub(crate) dir: StateDir,
    pub(crate) publish: Vec<Publish>,
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
        let stem = || config.manifest.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let given_name = config.name.filter(|name| !name.is_empty());
        let name = given_name.clone().or_else(|| name_in(&String::from_utf8_lossy(text.expose()))).unwrap_or_else(stem);
        Ok(Input {
            manifest: config.manifest,
            text,
            releases: config.releases,
            dir: StateDir::of(config.state_dir.as_deref().filter(|path| !path.as_os_str().is_empty()), &name)?,
            name,
            given_name,
            publish: config.publish,
        })
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

/// The deployment's name, as far as it can be read without Ruby: the default state directory depends on it, before `plan`
/// reads the manifest. `None` where the manifest is not plain YAML or has no name; `plan` reports what is wrong with it.
fn name_in(manifest: &str) -> Option<String> {
    let manifest: serde_yaml::Value = serde_yaml::from_str(manifest).ok()?;
    manifest.get("name")?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_read_where_the_manifest_is_yaml() {
        assert_eq!(name_in("name: d\ninstance_groups: []\n"), Some("d".into()));
        assert_eq!(name_in("name: 3\n"), None);
        assert_eq!(name_in("a: [\n"), None);
    }
}
