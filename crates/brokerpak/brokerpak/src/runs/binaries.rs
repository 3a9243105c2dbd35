//! terraform and the providers of a pak, as files.
//!
//! A `.brokerpak` is extracted once into the state directory; of a directory, links lead to its files.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use brokerpak_model::manifest::Manifest;
use brokerpak_model::version::Version;
use nix::fcntl::{Flock, FlockArg};
use problem::{IoContext, Problem, Problems, Result};
use sha2::{Digest, Sha256};
use tempfile::TempDir;
use terraform_runner::{Command, Interruption, Limits, Masks};

use super::store::{Store, make};
use crate::extract;
use crate::paks::Packed;

/// The registries whose addresses stand for each other: a template without a host means that of the executable.
pub(crate) const REGISTRIES: [&str; 2] = ["registry.terraform.io", "registry.opentofu.org"];

/// An executable of the command line instead of the pak's: `[VERSION=]FILE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Override {
    version: Option<String>,
    file: PathBuf,
}

impl FromStr for Override {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> std::result::Result<Override, Self::Err> {
        let version =
            text.split_once('=').and_then(|(version, file)| Some((Version::parse(version)?.to_string(), file)));
        Ok(match version {
            Some((version, file)) => Override { version: Some(version), file: file.into() },
            None => Override { version: None, file: text.into() },
        })
    }
}

/// The executables of a pak.
#[derive(Debug)]
pub(crate) struct Binaries {
    /// In terraform's layout.
    directory: PathBuf,
    /// `terraform` or `tofu`.
    name: String,
    default: Option<String>,
    /// Executables by version.
    versions: Vec<(String, PathBuf)>,
    /// Keeps others from removing the directory.
    _lock: Flock<File>,
    /// The links to a directory's files.
    _links: Option<TempDir>,
}

impl Binaries {
    /// Makes the executables of a pak available.
    ///
    /// # Errors
    /// A pak that lacks one; versions that the manifest does not have; failures of the machine.
    pub(crate) fn open(pak: &Path, manifest: &Manifest, store: &Store, overrides: &[Override]) -> Result<Binaries> {
        let default = manifest.default_terraform().map(|binary| binary.version.clone());
        let name = manifest.default_terraform().map_or("terraform", |binary| binary.name.as_str()).to_owned();
        let (directory, lock, links) = if pak.is_dir() {
            let links = linked(pak, manifest, store)?;
            let directory = links.path().to_path_buf();
            let lock = held(&directory)?;
            (directory, lock, Some(links))
        } else {
            let (directory, lock) = extracted(pak, manifest, store)?;
            (directory, lock, None)
        };
        let mut versions: Vec<(String, PathBuf)> = Vec::new();
        for given in overrides {
            let is_known = |version: &String| manifest.terraform.iter().any(|binary| binary.version == *version);
            if let Some(version) = given.version.as_ref().filter(|version| !is_known(version)) {
                return Err(
                    Problem::input(format!("the manifest has no {name} {version}, which --terraform names")).into()
                );
            }
            let version = given.version.clone().or_else(|| default.clone()).unwrap_or_default();
            let file = std::path::absolute(&given.file).io("find", &given.file)?;
            if let Some(own) = own_version(&file, &lock, &directory)? {
                check_version(manifest, &given.file, &own, &version)?;
            }
            versions.push((version, file));
        }
        for binary in &manifest.terraform {
            let path = directory.join("versions").join(&binary.version).join(&binary.name);
            if path.exists() {
                versions.push((binary.version.clone(), path));
            }
        }
        Ok(Binaries { directory, name, default, versions, _lock: lock, _links: links })
    }

    /// The directory of providers and other executables.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The name and the path of terraform in a version, by default in the default one.
    ///
    /// # Errors
    /// A version that neither the pak nor the command line has.
    pub(crate) fn terraform(&self, version: Option<&str>) -> Result<(&str, PathBuf)> {
        let version = version.or(self.default.as_deref()).unwrap_or_default();
        if let Some((_, path)) = self.versions.iter().find(|entry| entry.0 == version) {
            return Ok((&self.name, path.clone()));
        }
        let message = match version {
            "" => "the pak has neither terraform nor tofu".to_owned(),
            version => format!("could not find {} version {version} in brokerpak", self.name),
        };
        Err(Problem::input(message).hint("--terraform names an executable").into())
    }
}

/// The version that an executable says it is; `None` if it does not say one. What cannot be started is reported when it is needed.
fn own_version(executable: &Path, lock: &File, executables: &Path) -> Result<Option<Version>> {
    const LONGEST: u64 = 1 << 16;
    let limits = Limits { timeout: Some(Duration::from_secs(60)), grace: Duration::from_secs(1) };
    let work = tempfile::tempdir().map_err(|error| Problem::internal("cannot create a directory").because(error))?;
    let own: BTreeMap<String, String> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let environment = terraform_runner::environment(&own, work.path(), executables, &BTreeMap::new());
    let masks = Masks::new(std::iter::empty());
    let command = Command {
        executable,
        arguments: &["version".to_owned()],
        directory: work.path(),
        environment: &environment,
        keep_stdout: Some(LONGEST),
        lock,
        masks: &masks,
    };
    let Ok(outcome) = command.run(limits, &Interruption::default(), &mut || ()) else { return Ok(None) };
    let mut text = String::new();
    let printed = outcome.stdout.map(|mut stdout| stdout.read_to_string(&mut text));
    Ok(printed.and_then(std::result::Result::ok).and_then(|_| version_in(&text)))
}

/// The version in what `terraform version` prints: `Terraform v1.5.7`, `OpenTofu v1.9.1-dev`. What follows its numbers does not
/// get into states.
fn version_in(text: &str) -> Option<Version> {
    let (name, version) = text.lines().next()?.split_once(' ')?;
    let numbers = version.split([' ', '-', '+']).next()?;
    if matches!(name, "Terraform" | "OpenTofu") { Version::parse(numbers) } else { None }
}

/// An executable has the version that it stands for: a state of another one is refused by every later operation.
fn check_version(manifest: &Manifest, file: &Path, own: &Version, version: &str) -> Result<()> {
    let Some(expected) = Version::parse(version) else { return Ok(()) };
    let order = match own.compare(&expected) {
        Ordering::Equal => return Ok(()),
        Ordering::Less => "older",
        Ordering::Greater => "newer",
    };
    let name = manifest.default_terraform().map_or("terraform", |binary| binary.name.as_str());
    let file = file.display();
    let hint = if manifest.terraform.iter().any(|binary| binary.version == own.to_string()) {
        format!("--terraform {own}={file} uses it as that version of the manifest")
    } else if order == "newer" {
        format!(
            "to use it, add `- {{name: {name}, version: {own}, default: true}}` to terraform_binaries in the manifest, and for the \
             instances that exist `- {{version: {own}}}` to terraform_upgrade_path"
        )
    } else {
        format!("it must be {name} {expected}")
    };
    let message = format!("--terraform: {file} has the version {own}, which is {order} than the {expected} of the pak");
    Err(Problem::input(message).hint(hint).into())
}

/// Locks a directory against removal.
fn held(directory: &Path) -> Result<Flock<File>> {
    let file = File::open(directory).io("open", directory)?;
    Flock::lock(file, FlockArg::LockShared).map_err(|(_, error)| std::io::Error::from(error)).io("lock", directory)
}

/// Links to the executables that a directory has. Those that it lacks are reported when they are needed.
fn linked(pak: &Path, manifest: &Manifest, store: &Store) -> Result<TempDir> {
    let paks = store.paks()?;
    remove_unused(&paks, "links-");
    let links = tempfile::Builder::new().prefix("links-").tempdir_in(&paks).io("create a directory in", &paks)?;
    let platform = extract::current();
    let root = std::path::absolute(pak).io("find", pak)?;
    let mut names = Vec::new();
    list(&root, &format!("bin/{platform}"), 0, &mut names);
    if names.is_empty() || !manifest.platforms.contains(&platform) {
        return Ok(links);
    }
    let (copies, _) = extract::plan(manifest, &platform, &names)?;
    for (from, to) in copies {
        let to = links.path().join(to);
        let parent = to.parent().unwrap_or(links.path());
        make(parent)?;
        symlink(root.join(from), &to).io("create", &to)?;
    }
    link_registries(links.path(), manifest, &platform)?;
    Ok(links)
}

/// The files of a directory, two levels deep.
fn list(root: &Path, directory: &str, depth: usize, names: &mut Vec<String>) {
    for entry in fs::read_dir(root.join(directory)).into_iter().flatten().flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = format!("{directory}/{name}");
        match fs::metadata(entry.path()) {
            Ok(found) if found.is_dir() && depth == 0 => list(root, &path, 1, names),
            Ok(found) if found.is_file() => names.push(path),
            _ => {}
        }
    }
}

/// The directory that an archive is extracted into; the same file is extracted once.
fn extracted(pak: &Path, manifest: &Manifest, store: &Store) -> Result<(PathBuf, Flock<File>)> {
    let paks = store.paks()?;
    let path = fs::canonicalize(pak).io("read", pak)?;
    let found = fs::metadata(&path).io("read", &path)?;
    let own = hex(Sha256::digest(path.as_os_str().as_encoded_bytes()));
    let content = format!("{} {} {} {} {}", found.dev(), found.ino(), found.size(), found.mtime(), found.mtime_nsec());
    let directory = paks.join(format!("{own}-{}", hex(Sha256::digest(content))));
    let platform = extract::current();
    loop {
        if !directory.exists() {
            remove_unused(&paks, &own);
            let mut archive = Packed::open(pak)?.into_archive();
            let (copies, problems) = extract::plan(manifest, &platform, &extract::files(&archive))?;
            Problems::check(problems)?;
            let names = copies.iter().map(|(from, _)| from.as_str());
            extract::check_size(&archive, names, extract::default_limit(pak)?)?;
            let new = tempfile::Builder::new().prefix("new-").tempdir_in(&paks).io("create a directory in", &paks)?;
            for (from, to) in &copies {
                extract::write(&mut archive, from, new.path(), to, 0o755)?;
            }
            link_registries(new.path(), manifest, &platform)?;
            // Another run may have been faster.
            if fs::rename(new.path(), &directory).is_ok() {
                let _ = new.keep();
            }
        }
        match held(&directory) {
            Ok(lock) if directory.exists() => return Ok((directory, lock)),
            // Removed in between.
            Ok(_) => {}
            Err(_) if !directory.exists() => {}
            Err(problems) => return Err(problems),
        }
    }
}

/// The beginning of a digest.
fn hex(digest: impl AsRef<[u8]>) -> String {
    digest.as_ref()[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Removes unused directories.
fn remove_unused(paks: &Path, prefix: &str) {
    for entry in fs::read_dir(paks).into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(prefix) {
            continue;
        }
        let lock =
            File::open(entry.path()).ok().and_then(|file| Flock::lock(file, FlockArg::LockExclusiveNonblock).ok());
        if lock.is_some() {
            // Best effort: it takes space and does no harm.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Makes each provider of one registry available at the address that it has in the other.
fn link_registries(directory: &Path, manifest: &Manifest, platform: &str) -> Result<()> {
    let platform = platform.replace('/', "_");
    for provider in &manifest.providers {
        let address = provider.provider.as_deref().unwrap_or_default();
        for (own, other) in [(REGISTRIES[0], REGISTRIES[1]), (REGISTRIES[1], REGISTRIES[0])] {
            let Some(rest) = address.strip_prefix(own) else { continue };
            let place = format!("{rest}/{}", provider.version);
            let (from, to) = (format!("{own}{place}/{platform}"), directory.join(format!("{other}{place}")));
            if !directory.join(&from).exists() || to.join(&platform).exists() {
                continue;
            }
            make(&to)?;
            let link = to.join(&platform);
            symlink(Path::new("../../../..").join(from), &link).io("create", &link)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executables_say_their_versions() {
        let version = |text: &str| version_in(text).map(|version| version.to_string());
        assert_eq!(version("Terraform v1.11.4\non linux_amd64\n").as_deref(), Some("1.11.4"));
        assert_eq!(version("OpenTofu v1.9.1-dev\n").as_deref(), Some("1.9.1"));
        for other in ["", "x", "Terraform", "busybox v1.2.3"] {
            assert_eq!(version(other), None, "{other:?}");
        }
    }

    #[test]
    fn an_executable_may_have_a_version() {
        let parsed = |text: &str| text.parse::<Override>().unwrap();
        assert_eq!(parsed("1.5=/x=y"), Override { version: Some("1.5.0".to_owned()), file: "/x=y".into() });
        assert_eq!(parsed("a=b"), Override { version: None, file: "a=b".into() });
        assert_eq!(parsed("./tofu"), Override { version: None, file: "./tofu".into() });
    }
}
