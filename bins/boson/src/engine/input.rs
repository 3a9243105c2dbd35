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
    /// The instance groups' names in order, as far as they can be seen in the manifest.
    pub(crate) groups: Vec<String>,
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
        let outline = Outline::of(&String::from_utf8_lossy(text.expose()));
        let stem = || config.manifest.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let given_name = config.name.filter(|name| !name.is_empty());
        let name = given_name.clone().or(outline.name).unwrap_or_else(stem);
        Ok(Input {
            manifest: config.manifest,
            text,
            releases: config.releases,
            dir: StateDir::of(config.state_dir.as_deref().filter(|path| !path.as_os_str().is_empty()), &name)?,
            name,
            given_name,
            groups: outline.groups,
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

/// What decides where the state lies and in which order groups start. Not a reading of the manifest, which is Psych's:
/// whatever this does not understand it leaves to `plan` to read or refuse.
#[derive(Debug, Default, PartialEq, Eq)]
struct Outline {
    name: Option<String>,
    groups: Vec<String>,
}

impl Outline {
    fn of(text: &str) -> Outline {
        let Ok(manifest) = serde_yaml::from_str::<serde_yaml::Value>(text) else { return Outline::default() };
        let name_of = |value: &serde_yaml::Value| value.get("name").and_then(|n| n.as_str()).map(str::to_owned);
        let groups = manifest.get("instance_groups").and_then(|groups| groups.as_sequence());
        Outline {
            name: name_of(&manifest),
            groups: groups.map_or_else(Vec::new, |groups| groups.iter().filter_map(name_of).collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outline_is_what_can_be_seen() {
        let text = "name: d\ninstance_groups:\n- name: b\n- {name: a}\n- 3\n";
        assert_eq!(Outline::of(text), Outline { name: Some("d".into()), groups: vec!["b".into(), "a".into()] });
        assert_eq!(Outline::of("a: [\n"), Outline::default());
    }
}
