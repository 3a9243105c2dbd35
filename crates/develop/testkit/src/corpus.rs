//! The corpus format that template systems share: what templates render to, and with which message they fail.
//!
//! A corpus has a directory for each template system, in it one for each kind of case, and in that one for each feature:
//! `e2e/corpus/<system>/<kind>/<feature>/`. A feature's directory contains
//!
//! - `<name>.<extension>`: a template; the extension is the system's (`erb`),
//! - `<name>`: the bytes that it renders to, in the kinds whose templates render,
//! - `errors`: the message, in the kinds that fail,
//! - other files: what the templates see; each system says which.
//!
//! The kinds are the system's too; common ones are `render`, `fail` (a template is wrong) and `refuse` (its input is
//! wrong, so that nothing is rendered). Expected bytes come from the reference implementation. Where they depend on its
//! version, `<name>-since-<reference>-<version>` contains those of this version and later ones.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::UPDATE;

/// The directory of a feature.
#[derive(Debug, Clone)]
pub struct Feature {
    /// The directory's name.
    pub name: String,
    /// Where it is.
    pub directory: PathBuf,
    /// The names of its templates, without extension, sorted.
    pub templates: Vec<String>,
}

/// The program whose output is expected, and its version.
#[derive(Debug, Clone, Copy)]
pub struct Reference<'a> {
    /// Its name in file names: `ruby`.
    pub name: &'a str,
    /// Major and minor version.
    pub version: (u32, u32),
}

impl Feature {
    /// The features in a directory (`<corpus>/<system>/<kind>`), sorted by name; `extension` is that of templates.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn all(directory: &Path, extension: &str) -> io::Result<Vec<Feature>> {
        let mut features = Vec::new();
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            let mut templates = Vec::new();
            for file in fs::read_dir(entry.path())? {
                let file = file?.file_name().to_string_lossy().into_owned();
                templates
                    .extend(file.strip_suffix(extension).and_then(|name| name.strip_suffix('.')).map(str::to_owned));
            }
            templates.sort();
            let name = entry.file_name().to_string_lossy().into_owned();
            features.push(Feature { name, directory: entry.path(), templates });
        }
        features.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(features)
    }

    /// The content of a file; empty if the feature does not have it.
    pub fn file(&self, name: &str) -> Vec<u8> {
        fs::read(self.directory.join(name)).unwrap_or_default()
    }

    /// Compares with the file of the expectation; writes it instead if [`UPDATE`] is set.
    ///
    /// # Errors
    /// The difference, or why the file cannot be written.
    pub fn check(&self, file: &str, actual: &[u8], reference: Reference) -> Result<(), String> {
        let file = self.expected(file, reference);
        let expected = self.file(&file);
        if expected == actual {
            return Ok(());
        }
        if std::env::var_os(UPDATE).is_some() {
            return fs::write(self.directory.join(&file), actual).map_err(|e| format!("{file}: {e}"));
        }
        let show = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Err(format!("{file} ({UPDATE}=1 writes it)\n  expected {:?}\n  actual   {:?}", show(&expected), show(actual)))
    }

    /// The name of the file with the expectation for this version of the reference.
    fn expected(&self, name: &str, reference: Reference) -> String {
        let start = format!("{name}-since-{}-", reference.name);
        let versions = fs::read_dir(&self.directory).into_iter().flatten().flatten().filter_map(|file| {
            let file = file.file_name().into_string().ok()?;
            let (major, minor) = file.strip_prefix(&start)?.split_once('.')?;
            Some(((major.parse().ok()?, minor.parse().ok()?), file))
        });
        let fitting = versions.filter(|(since, _): &((u32, u32), String)| *since <= reference.version);
        fitting.max().map_or_else(|| name.to_owned(), |(_, file)| file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_expectation_up_to_the_reference_version_applies() {
        let directory = tempfile::tempdir().unwrap();
        let feature = directory.path().join("kind/feature");
        fs::create_dir_all(&feature).unwrap();
        for (file, text) in [
            ("b.erb", ""),
            ("a.erb", ""),
            ("spec.yml", ""),
            ("a", "old"),
            ("a-since-ruby-3.2", "3.2"),
            ("a-since-ruby-3.10", "3.10"),
        ] {
            fs::write(feature.join(file), text).unwrap();
        }
        let all = Feature::all(&directory.path().join("kind"), "erb").unwrap();
        let [feature] = all.as_slice() else { panic!("{all:?}") };
        assert_eq!((feature.name.as_str(), &feature.templates), ("feature", &vec!["a".to_owned(), "b".to_owned()]));
        for (version, text) in [((3, 1), "old"), ((3, 2), "3.2"), ((3, 9), "3.2"), ((3, 10), "3.10"), ((4, 0), "3.10")]
        {
            assert_eq!(feature.check("a", text.as_bytes(), Reference { name: "ruby", version }), Ok(()));
        }
        let wrong = feature.check("a", b"new", Reference { name: "ruby", version: (3, 1) }).unwrap_err();
        assert!(wrong.contains("expected \"old\"\n  actual   \"new\""), "{wrong}");
    }
}
