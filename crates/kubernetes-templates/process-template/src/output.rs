//! Writing the result.

use std::fs;
use std::path::Path;

use dialect_kubernetes_templates::Node;
use problem::{Problem, Result};
use vcap::{atomic, flat_dir};

/// The mode of files: objects and entries may be secret.
pub(crate) const MODE: u32 = 0o640;

/// Where the result goes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Output<'o> {
    Stdout,
    File(&'o Path),
    Dir(&'o Path),
}

/// The result.
#[derive(PartialEq, Eq)]
pub(crate) enum Content {
    Text(String),
    /// Names and contents.
    Files(Vec<(String, Vec<u8>)>),
}

impl Output<'_> {
    /// Whether it has this content already.
    pub(crate) fn holds(self, content: &Content) -> bool {
        match (self, content) {
            (Output::File(file), Content::Text(text)) => fs::read(file).is_ok_and(|content| content == text.as_bytes()),
            (Output::Dir(dir), Content::Files(files)) => {
                let is_same =
                    |(name, content): &(String, Vec<u8>)| fs::read(dir.join(name)).is_ok_and(|c| c == *content);
                let names = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.file_name());
                let count = names.filter(|name| !name.as_encoded_bytes().starts_with(b"..")).count();
                count == files.len() && files.iter().all(is_same)
            }
            _ => false,
        }
    }

    /// Writes all of it or nothing.
    pub(crate) fn write(self, content: &Content) -> Result<()> {
        match (self, content) {
            (Output::Dir(dir), Content::Files(files)) => {
                let files: Vec<_> = files.iter().map(|(name, content)| (name.as_str(), content.as_slice())).collect();
                flat_dir::replace(dir, &files, MODE)
            }
            (Output::File(file), Content::Text(text)) => atomic::write_file(file, text.as_bytes(), MODE),
            (Output::Stdout, Content::Text(text)) => startup::write_stdout(|out| out.write_all(text.as_bytes())),
            _ => Err(Problem::internal("the form of the result does not fit its destination").into()),
        }
    }
}

/// The name of an object's file: its index, kind and name.
pub(crate) fn name(index: usize, object: &Node, extension: &str) -> String {
    let map = object.as_map();
    let kind = map.and_then(|map| map.str("kind")).unwrap_or_default().to_lowercase();
    let metadata = map.and_then(|map| map.get("metadata")).and_then(Node::as_map);
    let name = metadata.and_then(|metadata| metadata.str("name")).unwrap_or_default();
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    let plain = |text: &str| text.chars().filter(is_plain).take(100).collect::<String>();
    let parts: Vec<String> =
        [format!("{index:04}"), plain(&kind), plain(name)].into_iter().filter(|part| !part.is_empty()).collect();
    format!("{}.{extension}", parts.join("-"))
}
