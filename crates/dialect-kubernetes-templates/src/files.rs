//! The entries of ConfigMaps and Secrets, as a volume mounts them.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use problem::{Problems, code};

use crate::Processed;
use crate::node::{Map, Node};
use crate::path::Path;
use crate::report::{Report, Warning};

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
    let mut files = BTreeMap::new();
    let objects = Path::Root.key("objects");
    for (index, object) in processed.objects.iter().enumerate() {
        collect(object, &objects.index(index), &mut files, &mut report);
    }
    Problems::check(report.problems)?;
    Ok((files.into_iter().map(|(name, content)| File { name, content }).collect(), report.warnings))
}

fn collect(node: &Node, path: &Path, files: &mut BTreeMap<String, Vec<u8>>, report: &mut Report) {
    let Some(object) = node.as_map() else { return };
    let kind = object.str("kind").unwrap_or_default();
    match (object.str("apiVersion").unwrap_or_default(), kind) {
        (_, kind) if crate::process::items(object).is_some_and(|_| kind.ends_with("List")) => {
            let path = path.key("items");
            for (index, item) in crate::process::items(object).unwrap_or_default().iter().enumerate() {
                collect(item, &path.index(index), files, report);
            }
        }
        ("v1", "ConfigMap") => {
            entries(object, "data", false, path, files, report);
            entries(object, "binaryData", true, path, files, report);
        }
        ("v1", "Secret") => {
            // stringData replaces equal keys of data.
            let mut merged = BTreeMap::new();
            entries(object, "data", true, path, &mut merged, report);
            let mut text = BTreeMap::new();
            entries(object, "stringData", false, path, &mut text, report);
            merged.extend(text);
            for (name, content) in merged {
                put(name, content, node, path, files, report);
            }
        }
        _ => report.warn(path, node.position, "has no files: it is neither a ConfigMap nor a Secret"),
    }
}

fn entries(
    object: &Map,
    field: &str,
    is_base64: bool,
    path: &Path,
    files: &mut BTreeMap<String, Vec<u8>>,
    report: &mut Report,
) {
    let Some(node) = object.present(field) else { return };
    let path = path.key(field);
    let Some(map) = node.as_map() else {
        report.wrong(code::OBJECT_INVALID, &path, node.position, format!("must be a map, not {}", node.kind()));
        return;
    };
    for entry in map.iter() {
        let path = path.key(&entry.key);
        let Some(text) = entry.node.as_str() else {
            report.wrong(
                code::OBJECT_INVALID,
                &path,
                entry.node.position,
                format!("must be a string, not {}", entry.node.kind()),
            );
            continue;
        };
        let is_inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let is_name = !entry.key.is_empty() && entry.key.len() <= LONGEST_NAME && entry.key.chars().all(is_inner);
        if !is_name || entry.key == "." || entry.key.starts_with("..") {
            report.wrong(code::OBJECT_INVALID, &path, entry.position, "the key is not the name of a file in a volume");
            continue;
        }
        let content = if is_base64 {
            let Ok(content) = base64::engine::general_purpose::STANDARD.decode(text) else {
                report.wrong(code::OBJECT_INVALID, &path, entry.node.position, "must be base64");
                continue;
            };
            content
        } else {
            text.as_bytes().to_vec()
        };
        put(entry.key.to_string(), content, &entry.node, &path, files, report);
    }
}

fn put(
    name: String,
    content: Vec<u8>,
    node: &Node,
    path: &Path,
    files: &mut BTreeMap<String, Vec<u8>>,
    report: &mut Report,
) {
    if files.contains_key(&name) {
        report.wrong(
            code::OBJECT_INVALID,
            path,
            node.position,
            format!("another entry has the file name '{name}' too"),
        );
        return;
    }
    files.insert(name, content);
}
