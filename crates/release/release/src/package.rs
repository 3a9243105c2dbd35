//! A package of a release.

use std::fs;
use std::path::{Path, PathBuf};

use problem::{IoContext, Place, Problem, Problems, Result, code};

use crate::spec::{self, PackageSpec, is_name};

/// One package of a release: `packages/<package>/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its directory.
    pub dir: PathBuf,
    /// Where its dependencies are named: its spec, or an archive's manifest.
    pub spec: PathBuf,
    /// The packages that it needs while it is compiled.
    pub dependencies: Vec<String>,
    /// Where its files are.
    pub content: Content,
}

/// Where a package's files are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// In the release's source directory.
    Source {
        /// Patterns of the files that it is compiled from, below `src/` or `blobs/`.
        files: Vec<String>,
        /// Patterns of files that are left out.
        excluded_files: Vec<String>,
    },
    /// In its own directory, which `bosh create-release` filled.
    Packed,
    /// In its own directory, compiled (`bosh export-release`); from an archive with this digest.
    Compiled(String),
    /// In the blobstore of another release's authors (`bosh vendor-package`): the directory only has a `spec.lock`.
    Vendored,
}

/// The script that compiles a package.
pub(crate) const PACKAGING: &str = "packaging";
/// The script that prepares a package's files when a release is created.
pub(crate) const PRE_PACKAGING: &str = "pre_packaging";

impl Package {
    /// Reads the package in `dir`.
    pub(crate) fn read(dir: &Path) -> Result<Self> {
        let spec_file = dir.join("spec");
        let directory = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let lock = dir.join("spec.lock");
        let vendored = !spec_file.is_file() && lock.is_file();
        let spec_file = if vendored { lock } else { spec_file };
        let at = || Place::file(spec_file.display().to_string());
        if !spec_file.is_file() {
            return Err(Problem::input(format!("Package '{directory}' has no spec"))
                .code(code::RELEASE_INVALID)
                .at(at())
                .into());
        }
        let spec: PackageSpec = spec::read(&spec_file)?;
        let mut problems = Vec::new();
        // BOSH: the directory may have another name.
        let name = spec::text(&spec.name).filter(|name| is_name(name)).unwrap_or_else(|| {
            let what = if spec.name.is_null() { "no name" } else { "an invalid name" };
            problems.push(
                Problem::input(format!("Package '{directory}' has {what} in its spec"))
                    .code(code::RELEASE_INVALID)
                    .at(at()),
            );
            directory.clone()
        });
        let mut list = |what: &str, value| {
            spec::texts(value).unwrap_or_else(|| {
                problems.push(
                    Problem::input(format!("Package '{name}' has invalid {what} in its spec"))
                        .code(code::RELEASE_INVALID)
                        .at(at()),
                );
                Vec::new()
            })
        };
        let dependencies = list("dependencies", &spec.dependencies);
        let files = list("files", &spec.files);
        let excluded_files = list("excluded_files", &spec.excluded_files);
        if !vendored && !dir.join(PACKAGING).is_file() {
            let expected = dir.join(PACKAGING);
            problems.push(
                Problem::input(format!("Expected to find '{}' for package '{name}'", expected.display()))
                    .code(code::RELEASE_INVALID),
            );
        }
        Problems::check(problems)?;
        let content = if vendored { Content::Vendored } else { Content::Source { files, excluded_files } };
        let dir = dir.to_path_buf();
        Ok(Package { name, dir, spec: spec_file, dependencies, content })
    }

    /// Its script of this name, if it has one.
    pub(crate) fn script(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let file = self.dir.join(name);
        if file.is_file() { Ok(Some(fs::read(&file).io("read", &file)?)) } else { Ok(None) }
    }
}
