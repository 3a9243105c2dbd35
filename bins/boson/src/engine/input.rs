//! What `up` is given, as far as it is looked at before `plan` reads it.

use std::path::{Path, PathBuf};

use problem::{Place, Problem, Problems, Result};
use startup::Secret;

use super::Publish;
use crate::state::StateDir;
use crate::up::Options;

/// The input of a run.
#[derive(Debug)]
pub(super) struct Input {
    /// The manifest as the user named it.
    pub(super) manifest: PathBuf,
    /// What is in it; read once, for it may be a pipe.
    pub(super) text: Secret<Vec<u8>>,
    pub(super) releases: Vec<PathBuf>,
    /// The deployment's name as given, or as far as it can be seen in the manifest.
    pub(super) name: String,
    /// The name given, which overrides the manifest's.
    pub(super) given_name: Option<String>,
    /// The instance groups' names in order, as far as they can be seen in the manifest.
    pub(super) groups: Vec<String>,
    pub(super) dir: StateDir,
    pub(super) publish: Vec<Publish>,
}

impl Input {
    /// Checks that the files are there; what is in them is `plan`'s business.
    pub(super) fn read(options: &Options) -> Result<Input> {
        let mut problems = Vec::new();
        let text = options.text.clone().unwrap_or_else(|| {
            read_manifest(&options.manifest).unwrap_or_else(|found| {
                problems.extend(found.into_vec());
                Secret::new(Vec::new())
            })
        });
        for release in &options.releases {
            if !release.is_file() && !release.join("jobs").is_dir() {
                let message = format!("{} is not a release's source directory: it has no jobs/", release.display());
                problems.push(Problem::input(message).hint(
                    "--release names the directory that holds jobs/, packages/ and src/, or an archive made by bosh",
                ));
            }
        }
        Problems::check(problems)?;
        let outline = Outline::of(&String::from_utf8_lossy(text.expose()));
        let stem = || options.manifest.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let given_name = options.name.clone().filter(|name| !name.is_empty());
        let name = given_name.clone().or(outline.name).unwrap_or_else(stem);
        Ok(Input {
            manifest: options.manifest.clone(),
            text,
            releases: options.releases.clone(),
            dir: StateDir::of(options.state_dir.as_deref().filter(|path| !path.as_os_str().is_empty()), &name)?,
            name,
            given_name,
            groups: outline.groups,
            publish: options.publish.clone(),
        })
    }
}

/// The manifest's text.
pub(crate) fn read_manifest(path: &Path) -> Result<Secret<Vec<u8>>> {
    let refused = |e| Problem::input("cannot read the manifest").at(Place::file(path.display().to_string())).because(e);
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
