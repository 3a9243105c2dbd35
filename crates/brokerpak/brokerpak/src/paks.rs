//! Paks that the command line names: directories, manifests, definitions.

use std::cell::RefCell;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use brokerpak_model::configuration::Configuration;
use brokerpak_model::pak::{Files, MANIFEST, Pak};
use brokerpak_model::report::Report;
use clap::Args;
use problem::{IoContext, Problem, Problems, Result, code};
use serde_json::{Value as Json, json};
use zip_archive::{Archive, Entry, Limits};

use crate::documents;
use crate::machine::environment;

/// The pak's own files: those of a directory.
struct Directory {
    root: PathBuf,
}

impl Files for Directory {
    fn read(&self, path: &str) -> std::result::Result<Vec<u8>, String> {
        let file = self.root.join(path);
        documents::bounded(&file).map_err(|error| match error.kind() {
            ErrorKind::NotFound => format!("open {}: no such file or directory", file.display()),
            _ => format!("open {}: {error}", file.display()),
        })
    }

    fn shown(&self, path: &str) -> String {
        self.root.join(path).display().to_string()
    }
}

/// The files of a `.brokerpak`.
pub(crate) struct Packed {
    name: String,
    archive: RefCell<Archive>,
}

impl Packed {
    /// Opens a `.brokerpak`.
    ///
    /// # Errors
    /// A file that cannot be read; an archive that is invalid.
    pub(crate) fn open(path: &Path) -> Result<Packed> {
        let name = path.display().to_string();
        let archive = Archive::open(path, LIMITS).map_err(|error| match error.kind() {
            ErrorKind::InvalidData => {
                Problem::input(format!("the pak {name} is invalid: {error}")).at(problem::Place::file(name.clone()))
            }
            _ => Problem::internal(format!("cannot read {name}")).because(error).code(code::IO),
        })?;
        Ok(Packed { name, archive: RefCell::new(archive) })
    }

    /// The archive.
    pub(crate) fn into_archive(self) -> Archive {
        self.archive.into_inner()
    }
}

impl Files for Packed {
    fn read(&self, path: &str) -> std::result::Result<Vec<u8>, String> {
        let content = self.archive.borrow_mut().read(path, documents::LARGEST).map_err(|error| error.to_string())?;
        content.ok_or_else(|| format!("file {path:?} does not exist in the zip"))
    }

    fn shown(&self, path: &str) -> String {
        format!("{}/{path}", self.name)
    }
}

/// What a `.brokerpak` may have: providers have up to some hundred megabytes.
const LIMITS: Limits = Limits { entries: 10_000, total: 16 << 30 };

/// Which pak.
#[derive(Debug, Args)]
pub(crate) struct Source {
    /// The pak: a .brokerpak, or a directory with manifest.yml
    #[arg(value_name = "PAK", required_unless_present = "manifest", conflicts_with = "manifest")]
    pak: Option<PathBuf>,
    /// A manifest instead of PAK; its references are relative to it
    #[arg(long, value_name = "FILE")]
    manifest: Option<PathBuf>,
}

/// The directory of a file, and its name.
pub(crate) fn split(file: &Path) -> (PathBuf, String) {
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    (file.parent().map(Path::to_path_buf).unwrap_or_default(), name)
}

impl Source {
    /// A pak of a directory.
    pub(crate) fn directory(pak: PathBuf) -> Source {
        Source { pak: Some(pak), manifest: None }
    }

    /// A pak of a manifest.
    pub(crate) fn of_manifest(manifest: Option<PathBuf>) -> Source {
        Source { pak: None, manifest }
    }

    /// Reads the pak; gives the path of its manifest, too.
    ///
    /// # Errors
    /// A pak that is neither a directory nor a file.
    pub(crate) fn read(&self, report: &mut Report) -> Result<(Pak, String)> {
        let (root, manifest) = match (&self.pak, &self.manifest) {
            (_, Some(manifest)) => split(manifest),
            (Some(pak), None) => {
                let found = fs::metadata(pak).map_err(|error| match error.kind() {
                    ErrorKind::NotFound => Problem::input(format!("the pak {} does not exist", pak.display())),
                    _ => Problem::internal(format!("cannot read {}", pak.display())).because(error),
                })?;
                if !found.is_dir() {
                    let files = Packed::open(pak)?;
                    return Ok((Pak::read(&files, MANIFEST, report), files.shown(MANIFEST)));
                }
                (pak.clone(), MANIFEST.to_owned())
            }
            (None, None) => return Err(Problem::usage("the pak is missing").into()),
        };
        let files = Directory { root };
        let pak = Pak::read(&files, &manifest, report);
        Ok((pak, files.shown(&manifest)))
    }

    /// The files of the pak with their sizes, sorted by name.
    ///
    /// # Errors
    /// A directory that cannot be read.
    pub(crate) fn contents(&self) -> Result<Json> {
        if let Some(pak) = self.pak.as_deref().filter(|pak| pak.is_file()) {
            let archive = Packed::open(pak)?.into_archive();
            let entry = |entry: &Entry| {
                let mode = format!("{:04o}", entry.mode);
                let slash = if entry.is_directory { "/" } else { "" };
                json!({ "name": format!("{}{slash}", entry.name), "size": entry.size, "mode": mode })
            };
            return Ok(archive.entries().iter().map(entry).collect());
        }
        let root = self.pak.clone().unwrap_or_else(|| split(self.manifest.as_deref().unwrap_or(Path::new(""))).0);
        let root = if root.as_os_str().is_empty() { PathBuf::from(".") } else { root };
        let mut contents = Vec::new();
        let mut directories = vec![root.clone()];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(&directory).io("read", &directory)? {
                let entry = entry.io("read", &directory)?;
                let path = entry.path();
                let found = entry.metadata().io("read", &path)?;
                let name = path.strip_prefix(&root).unwrap_or(&path).display().to_string();
                if found.is_dir() {
                    directories.push(path);
                } else {
                    contents.push((name, found.len()));
                }
            }
        }
        contents.sort();
        Ok(contents.into_iter().map(|(name, size)| json!({ "name": name, "size": size })).collect())
    }

    /// Files of the pak's directory.
    pub(crate) fn files(root: PathBuf) -> impl Files {
        Directory { root }
    }
}

/// A document of the operator, YAML or JSON: a map, or nothing. `what` names it in messages.
///
/// # Errors
/// A document that is neither YAML nor JSON, or not a map.
pub(crate) fn document(file: &Path, what: &str) -> Result<Json> {
    let text = documents::read(file)?;
    let wrong = |message: String, place: Option<(u32, u32)>| {
        let mut problem = Problem::input(message).at(problem::Place::file(file.display().to_string()));
        if let (Some(at), Some((line, column))) = (problem.place.as_mut(), place) {
            (at.line, at.column) = (Some(line), Some(column));
        }
        Problems::from(problem)
    };
    let node = brokerpak_model::yaml::read(&text).map_err(|(message, place)| wrong(message, place))?;
    if node.entries().is_none() && !node.is_null() {
        return Err(wrong(format!("{what} is not a map"), Some((node.line, node.column))));
    }
    Ok(node.to_json())
}

/// The operator's configuration.
///
/// # Errors
/// As [`document`].
pub(crate) fn configuration(file: Option<&Path>, pak: &Pak) -> Result<Configuration> {
    let document = file.map_or(Ok(Json::Null), |file| document(file, "the configuration"))?;
    Ok(Configuration::new(document, environment(), &pak.manifest.env_config_mapping))
}

/// The errors of a report.
pub(crate) fn checked(report: &Report) -> Result<()> {
    Problems::check(report.problems())
}
