//! The entries of ConfigMaps and Secrets, as a volume mounts them.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use base64::Engine as _;
use problem::{Problems, code};

use crate::Processed;
use crate::node::{Map, Node, Position};
use crate::path::Path;
use crate::report::{Positions, Report, Warning};

/// A file of a volume.
#[derive(Clone, PartialEq, Eq)]
pub struct File {
    /// Its name: the entry's key.
    pub name: String,
    /// Its content.
    pub content: Vec<u8>,
}

impl fmt::Debug for File {
    /// Shows everything but the content, which may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "File({:?}, {} bytes)", self.name, self.content.len())
    }
}

/// The longest name of an entry.
const LONGEST_NAME: usize = 253;

/// The files of all ConfigMaps and Secrets, sorted by name, with warnings for other objects.
///
/// # Errors
/// Entries that no volume has: a name that is no file name or that two objects have, a value that is not a string, or that is
/// not base64 where it must be.
pub fn files(processed: &Processed) -> problem::Result<(Vec<File>, Vec<Warning>)> {
    let mut report = Report::new(&processed.file);
    let mut volume = Volume {
        files: BTreeMap::new(),
        originals: processed.touched.keys.iter().map(|(position, key)| (*position, key.as_str())).collect(),
        given: Positions::of(&processed.touched.given),
        report: &mut report,
    };
    let objects = Path::Root.key("objects");
    for (index, object) in processed.objects.iter().enumerate() {
        volume.collect(object, &objects.index(index));
    }
    let files = volume.files;
    Problems::check(report.problems)?;
    Ok((files.into_iter().map(|(name, content)| File { name, content }).collect(), report.warnings))
}

/// An entry of an object.
struct Found<'p> {
    content: Vec<u8>,
    /// The field of the object.
    field: &'p str,
    /// Its key as it is in messages, and where it is.
    shown: &'p str,
    position: Position,
}

/// The files of a volume.
struct Volume<'p> {
    files: BTreeMap<String, Vec<u8>>,
    /// The keys that substitution has changed, as they were: the others may show values.
    originals: HashMap<Position, &'p str>,
    given: Positions<'p>,
    report: &'p mut Report,
}

impl<'p> Volume<'p> {
    fn wrong(&mut self, path: &Path, position: Position, message: impl fmt::Display) {
        let class = self.given.class(position);
        self.report.add(class, code::OBJECT_INVALID, path, position, message);
    }

    fn collect(&mut self, node: &'p Node, path: &Path) {
        let Some(object) = node.as_map() else { return };
        let kind = object.str("kind").unwrap_or_default();
        match (object.str("apiVersion").unwrap_or_default(), kind) {
            (_, kind) if crate::process::items(object).is_some_and(|_| kind.ends_with("List")) => {
                let path = path.key("items");
                for (index, item) in crate::process::items(object).unwrap_or_default().iter().enumerate() {
                    self.collect(item, &path.index(index));
                }
            }
            ("v1", "ConfigMap") => {
                for (field, is_base64) in [("data", false), ("binaryData", true)] {
                    for (name, found) in self.entries(object, field, is_base64, path) {
                        self.put(name, found, path);
                    }
                }
            }
            ("v1", "Secret") => {
                // stringData replaces equal keys of data.
                let mut merged: BTreeMap<_, _> = self.entries(object, "data", true, path).into_iter().collect();
                merged.extend(self.entries(object, "stringData", false, path));
                merged.into_iter().for_each(|(name, found)| self.put(name, found, path));
            }
            _ => self.report.warn(path, node.position, "has no files: it is neither a ConfigMap nor a Secret"),
        }
    }

    fn entries(&mut self, object: &'p Map, field: &'p str, is_base64: bool, path: &Path) -> Vec<(&'p str, Found<'p>)> {
        let Some(node) = object.present(field) else { return Vec::new() };
        let path = path.key(field);
        let Some(map) = node.as_map() else {
            self.wrong(&path, node.position, format!("must be a map, not {}", node.kind()));
            return Vec::new();
        };
        let mut entries = Vec::new();
        for entry in map.iter() {
            let shown = self.originals.get(&entry.position).copied().unwrap_or(&entry.key);
            let path = path.key(shown);
            let Some(text) = entry.node.as_str() else {
                self.wrong(&path, entry.node.position, format!("must be a string, not {}", entry.node.kind()));
                continue;
            };
            if !is_file_name(&entry.key) {
                self.wrong(&path, entry.position, "the key is not the name of a file in a volume");
                continue;
            }
            let content = if is_base64 {
                let Ok(content) = base64::engine::general_purpose::STANDARD.decode(text) else {
                    self.wrong(&path, entry.node.position, "must be base64");
                    continue;
                };
                content
            } else {
                text.as_bytes().to_vec()
            };
            entries.push((entry.key.as_str(), Found { content, field, shown, position: entry.position }));
        }
        entries
    }

    fn put(&mut self, name: &str, found: Found<'p>, path: &Path) {
        if self.files.contains_key(name) {
            let message = format!("another entry has the file name '{}' too", found.shown.escape_debug());
            return self.wrong(&path.key(found.field).key(found.shown), found.position, message);
        }
        self.files.insert(name.to_owned(), found.content);
    }
}

fn is_file_name(key: &str) -> bool {
    let is_inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !key.is_empty() && key.len() <= LONGEST_NAME && key.chars().all(is_inner) && key != "." && !key.starts_with("..")
}
