//! OCI image layouts: the layers of an image as files that are named by their digests.

use std::fs::{self, File};
use std::io::Seek;
use std::path::{Path, PathBuf};

use problem::{IoContext, Place, Problem, Result, code};
use serde::Deserialize;

use super::unpack::Unpacker;
use super::{check_root, not_a_stemcell};
use crate::archive::ArchiveFile;
use crate::cache::Stop;
use crate::checksum;

/// The list of a layout's images.
pub(super) const INDEX: &str = "index.json";
/// An index may list other indexes; more than so many levels are an error.
const MOST_INDEXES: usize = 4;

/// An index or an image's manifest: what they have in common is that one of the lists is missing.
#[derive(Debug, Deserialize)]
struct Document {
    #[serde(default)]
    manifests: Vec<Descriptor>,
    #[serde(default)]
    layers: Vec<Descriptor>,
}

#[derive(Debug, Deserialize)]
struct Descriptor {
    digest: String,
    #[serde(default)]
    platform: Option<Platform>,
}

#[derive(Debug, Deserialize)]
struct Platform {
    #[serde(default)]
    os: String,
    #[serde(default)]
    architecture: String,
}

/// Unpacks the image of this machine's architecture, the first one where images name none, into `to`.
pub(super) fn unpack(layout: &Path, to: &Path, stop: Stop) -> Result<()> {
    let mut file = layout.join(INDEX);
    let mut document = read(&file)?;
    for _ in 0..MOST_INDEXES {
        if !document.layers.is_empty() {
            break;
        }
        let image = choose(&document.manifests)
            .ok_or_else(|| invalid(&file, format!("it lists no image for linux/{}", architecture())))?;
        file = blob(layout, &image.digest, &file)?;
        document = read(&file)?;
    }
    if document.layers.is_empty() {
        return Err(invalid(&file, "it lists no layers").into());
    }
    let mut unpacker = Unpacker::new(to);
    for layer in &document.layers {
        let path = blob(layout, &layer.digest, &file)?;
        let mut archive = ArchiveFile { read: File::open(&path).io("read", &path)?, stop };
        checksum::check(&mut archive, &layer.digest).map_err(|fault| invalid(&path, fault))?;
        archive.read.rewind().io("read", &path)?;
        let mut content = archive.content().map_err(|e| not_a_stemcell(&path, &e))?;
        unpacker.layer(&mut content).map_err(|e| not_a_stemcell(&path, &e))?;
    }
    unpacker.finish().io("write", to)?;
    check_root(to, layout)
}

fn read(file: &Path) -> Result<Document> {
    let text = fs::read(file).map_err(|e| invalid(file, e))?;
    // JSON is YAML.
    Ok(serde_yaml::from_slice(&text).map_err(|e| invalid(file, e))?)
}

fn choose(images: &[Descriptor]) -> Option<&Descriptor> {
    let is_own = |platform: &Platform| platform.os == "linux" && platform.architecture == architecture();
    let own = images.iter().find(|image| image.platform.as_ref().is_some_and(is_own));
    own.or_else(|| images.iter().find(|image| image.platform.is_none()))
}

/// What OCI calls this machine's architecture.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// The file of a digest, which must not lead out of the layout.
fn blob(layout: &Path, digest: &str, named_in: &Path) -> Result<PathBuf> {
    let file = digest.split_once(':').filter(|(algorithm, hex)| {
        let is_word = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
        is_word(algorithm) && is_word(hex)
    });
    let (algorithm, hex) = file.ok_or_else(|| invalid(named_in, "it names a blob by an invalid digest"))?;
    Ok(layout.join("blobs").join(algorithm).join(hex))
}

fn invalid(file: &Path, why: impl std::fmt::Display) -> Problem {
    Problem::input("the image is damaged")
        .code(code::STEMCELL_INVALID)
        .at(Place::file(file.display().to_string()))
        .because(why)
}
