//! The large files of a release, which lie in a blobstore: `config/blobs.yml` lists them, `blobs/` has them.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use problem::{Place, Problem, Result, code};
use serde::Deserialize;
use serde_yaml::Value;

use crate::checksum::{self, Fault};
use crate::package_file::PackageFile;
use crate::spec;

/// The state of a source directory's blobs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Blobs {
    list: PathBuf,
    dir: PathBuf,
    known: BTreeMap<PathBuf, Blob>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Blob {
    size: Option<u64>,
    digest: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
struct Entry {
    #[serde(default)]
    size: Value,
    #[serde(default)]
    sha: Value,
}

impl Blobs {
    /// Reads the list, if it exists.
    pub(crate) fn read(release: &Path) -> Result<Self> {
        let list = release.join("config/blobs.yml");
        let entries: BTreeMap<String, Entry> = if list.is_file() { spec::read(&list)? } else { BTreeMap::new() };
        let known = entries.into_iter().map(|(path, entry)| {
            (PathBuf::from(path), Blob { size: entry.size.as_u64(), digest: spec::text(&entry.sha) })
        });
        Ok(Blobs { list, dir: release.join("blobs"), known: known.collect() })
    }

    /// The paths of all, below `blobs/`.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.known.keys().map(PathBuf::as_path)
    }

    /// What shows at once that a blob does not match config/blobs.yml: it is not there, or was not downloaded to its end.
    pub(crate) fn missing(&self, path: &Path) -> Option<Problem> {
        let expected = self.known.get(path)?.size;
        match fs::metadata(self.dir.join(path)) {
            Ok(meta) if expected.is_none_or(|size| size == meta.len()) => None,
            Ok(meta) => {
                let sizes = format!("it has {} bytes, expected {}", meta.len(), expected.unwrap_or_default());
                Some(self.problem(path, "does not match config/blobs.yml").because(sizes))
            }
            Err(_) => Some(self.problem(path, "is missing")),
        }
    }

    /// The errors in the blobs among a package's files. BOSH: they are checked whenever a release is made.
    pub(crate) fn damaged<'a>(&self, files: impl IntoIterator<Item = (&'a PathBuf, &'a PackageFile)>) -> Vec<Problem> {
        let own = files.into_iter().filter(|(path, file)| file.source == self.dir.join(path));
        own.filter_map(|(path, file)| self.damage(path, &file.source)).collect()
    }

    fn damage(&self, path: &Path, file: &Path) -> Option<Problem> {
        let digest = self.known.get(path)?.digest.as_deref()?;
        let checked =
            File::open(file).map_err(Fault::Unreadable).and_then(|mut file| checksum::check(&mut file, digest));
        match checked {
            // Without a known digest algorithm there is nothing to compare.
            Ok(()) | Err(Fault::Unknown(_)) => None,
            Err(Fault::Unreadable(e)) => {
                Some(Problem::internal(format!("cannot read {}", file.display())).code(code::IO).because(e))
            }
            Err(fault) => Some(self.problem(path, "does not match config/blobs.yml").because(fault)),
        }
    }

    fn problem(&self, path: &Path, what: &str) -> Problem {
        Problem::input(format!("blob '{}' {what}", path.display()))
            .code(code::RELEASE_DAMAGED)
            .at(Place::file(self.list.display().to_string()))
            .hint("`bosh sync-blobs` downloads the blobs of a release to blobs/")
    }
}
