//! The few values that are read from a release's YAML files here; all of them are plain strings.
//!
//! The rest of a job spec is read elsewhere, with Psych, and skipped here.

use std::path::Path;

use problem::{IoContext, Place, Problem, Result, code};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_yaml::Value;

/// `jobs/<job>/spec`.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct JobSpec {
    #[serde(default)]
    pub(crate) name: Value,
    #[serde(default)]
    pub(crate) templates: Value,
    #[serde(default)]
    pub(crate) packages: Value,
}

/// `packages/<package>/spec`, or `spec.lock`, which has a fingerprint instead of files.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct PackageSpec {
    #[serde(default)]
    pub(crate) name: Value,
    #[serde(default)]
    pub(crate) dependencies: Value,
    #[serde(default)]
    pub(crate) files: Value,
    #[serde(default)]
    pub(crate) excluded_files: Value,
}

/// `config/final.yml`.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct FinalConfig {
    #[serde(default)]
    pub(crate) name: Value,
    #[serde(default)]
    pub(crate) final_name: Value,
}

/// `release.MF`, the manifest of an archive.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Manifest {
    #[serde(default)]
    pub(crate) name: Value,
    #[serde(default)]
    pub(crate) version: Value,
    #[serde(default)]
    pub(crate) jobs: Option<Vec<Part>>,
    #[serde(default)]
    pub(crate) packages: Option<Vec<Part>>,
    #[serde(default)]
    pub(crate) compiled_packages: Option<Vec<Part>>,
}

/// A job or package in it.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Part {
    #[serde(default)]
    pub(crate) name: Value,
    /// The digest of its own archive: SHA-1, or another with its name before a colon.
    #[serde(default)]
    pub(crate) sha1: Value,
    #[serde(default)]
    pub(crate) dependencies: Value,
}

/// Reads a YAML file; an empty one has nothing in it.
pub(crate) fn read<T: DeserializeOwned + Default>(file: &Path) -> Result<T> {
    let text = std::fs::read(file).io("read", file)?;
    let read = serde_yaml::from_slice::<Option<T>>(&text).map_err(|e| {
        let mut place = Place::file(file.display().to_string());
        if let Some(at) = e.location() {
            place.line = u32::try_from(at.line()).ok();
            place.column = u32::try_from(at.column()).ok();
        }
        Problem::input("cannot read the YAML").code(code::YAML_INVALID).at(place).because(e)
    })?;
    Ok(read.unwrap_or_default())
}

/// A scalar as text (a job may be called 1: BOSH compares names as text); `None` for anything else.
pub(crate) fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// A list of texts; null is an empty one, and so is an empty mapping (older specs write it for "none").
pub(crate) fn texts(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::Null => Some(Vec::new()),
        Value::Mapping(none) if none.is_empty() => Some(Vec::new()),
        Value::Sequence(items) => items.iter().map(text).collect(),
        _ => None,
    }
}

/// A mapping of texts; null is an empty one, and so is an empty list.
pub(crate) fn pairs(value: &Value) -> Option<Vec<(String, String)>> {
    match value {
        Value::Null => Some(Vec::new()),
        Value::Sequence(none) if none.is_empty() => Some(Vec::new()),
        Value::Mapping(items) => items.iter().map(|(key, value)| text(key).zip(text(value))).collect(),
        _ => None,
    }
}

/// Whether it can be a directory's name: that of a release on the shared volume, of a package or a job.
pub(crate) fn is_name(name: &str) -> bool {
    !(name.is_empty() || name.starts_with('.') || name.contains('/') || name.chars().any(char::is_control))
}
