//! The documents that a verb works on: the manifest, and configs beside it.

use std::fmt;

use go_yaml::{Node, Source, Value};
use problem::Problems;
use serde::{Deserialize, Serialize};

use crate::origins::Origins;

/// A YAML text, and where its nodes come from. Never shows the text: it has secrets.
#[derive(Clone, Serialize, Deserialize)]
pub struct Document {
    /// What messages call it.
    pub file: String,
    text: Text,
    origins: Option<Origins>,
}

/// The manifest and the configs of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Documents {
    /// The deployment manifest.
    pub manifest: Document,
    /// Runtime configs, in order.
    pub runtime_configs: Vec<Document>,
    /// Cloud configs, in order.
    pub cloud_configs: Vec<Document>,
    /// The texts among the values of the variables that the documents use.
    #[serde(default)]
    pub variables: VariableTexts,
}

/// Texts of variables, secrets among them: for masking. Never shows them.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct VariableTexts(Vec<String>);

impl VariableTexts {
    pub(crate) fn of<'n>(values: impl Iterator<Item = &'n Node>) -> VariableTexts {
        let mut texts = Vec::new();
        values.for_each(|node| collect(node, &mut texts));
        VariableTexts(texts)
    }

    /// Every text.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl fmt::Debug for VariableTexts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VariableTexts").field("count", &self.0.len()).finish_non_exhaustive()
    }
}

fn collect(node: &Node, texts: &mut Vec<String>) {
    match &node.value {
        Value::String(text) => texts.push(text.clone()),
        Value::List(items) => items.iter().for_each(|item| collect(item, texts)),
        Value::Map(map) => map.iter().for_each(|(_, value)| collect(value, texts)),
        _ => {}
    }
}

/// A text is rarely anything but UTF-8, which is stored as it is.
#[derive(Clone, Serialize, Deserialize)]
#[serde(untagged)]
enum Text {
    Utf8(String),
    Bytes(Vec<u8>),
}

impl Documents {
    /// Every document.
    pub fn iter(&self) -> impl Iterator<Item = &Document> {
        std::iter::once(&self.manifest).chain(&self.runtime_configs).chain(&self.cloud_configs)
    }
}

impl Documents {
    /// The name of the deployment in the manifest, as far as the manifest is valid YAML.
    pub fn deployment_name(&self) -> Option<String> {
        let document = go_yaml::read(self.manifest.text(), Source::default()).ok()?;
        Some(document.get("name")?.as_str()?.to_owned())
    }
}

impl Document {
    /// A file as it is.
    pub fn of_file(file: impl Into<String>, text: Vec<u8>) -> Document {
        let text = String::from_utf8(text).map_or_else(|e| Text::Bytes(e.into_bytes()), Text::Utf8);
        Document { file: file.into(), text, origins: None }
    }

    /// The result of operations and variables.
    pub(crate) fn interpolated(file: String, text: String, origins: Origins) -> Document {
        Document { file, text: Text::Utf8(text), origins: Some(origins) }
    }

    /// The text.
    pub fn text(&self) -> &[u8] {
        match &self.text {
            Text::Utf8(text) => text.as_bytes(),
            Text::Bytes(bytes) => bytes,
        }
    }

    /// Completes the places of problems that lie in this document with the files and lines that its nodes come from. Does
    /// nothing if the text is that of the file: then the reader of the text knows the lines.
    pub fn locate(&self, problems: &mut Problems) {
        let Some(origins) = &self.origins else { return };
        let places =
            problems.iter_mut().flat_map(|p| p.place.iter_mut().chain(p.notes.iter_mut().map(|n| &mut n.place)));
        for place in places.filter(|place| place.line.is_none() && place.file == self.file) {
            origins.locate(place);
        }
    }

    /// Whether the text is that of the file, which nothing has changed.
    pub fn is_file(&self) -> bool {
        self.origins.is_none()
    }
}

impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Document").field("file", &self.file).finish_non_exhaustive()
    }
}
