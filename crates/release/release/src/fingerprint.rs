//! The fingerprint of a compiled package: everything that could change the result.

use std::collections::{BTreeMap, HashMap};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use problem::Result;
use sha2::{Digest, Sha256};

use crate::checksum::hex;
use crate::digests::FileDigest;
use crate::package::{Content, PACKAGING, PRE_PACKAGING, Package};
use crate::package_file::{FileKind, PackageFile};

/// Changes with the way packages are compiled, so that packages of older versions are not used.
const FORMAT: &[u8] = b"boson package 1";

/// The fingerprint of a package with these files, whose contents have these digests, these fingerprints of its
/// dependencies, compiled on this base.
///
/// Only the executable bit of a file's mode counts: the rest depends on the umask of the checkout.
pub(crate) fn fingerprint(
    package: &Package,
    files: &BTreeMap<PathBuf, PackageFile>,
    digests: &HashMap<PathBuf, FileDigest>,
    dependencies: &BTreeMap<&str, &str>,
    base: Option<&str>,
) -> Result<String> {
    let mut all = Sha256::new();
    add(&mut all, FORMAT);
    add(&mut all, package.name.as_bytes());
    if let Some(base) = base {
        add(&mut all, b"base");
        add(&mut all, base.as_bytes());
    }
    if let Content::Compiled(archive) = &package.content {
        add(&mut all, b"compiled");
        add(&mut all, archive.as_bytes());
    }
    for (path, file) in files {
        add(&mut all, path.as_os_str().as_bytes());
        match &file.kind {
            FileKind::Link(target) => {
                add(&mut all, b"link");
                add(&mut all, target.as_os_str().as_bytes());
            }
            FileKind::File { executable } => {
                add(&mut all, if *executable { b"executable" } else { b"file" });
                all.update(digests[&file.source]);
            }
        }
    }
    for script in [PACKAGING, PRE_PACKAGING] {
        if let Some(content) = package.script(script)? {
            add(&mut all, script.as_bytes());
            add(&mut all, &content);
        }
    }
    for (name, fingerprint) in dependencies {
        add(&mut all, b"dependency");
        add(&mut all, name.as_bytes());
        add(&mut all, fingerprint.as_bytes());
    }
    Ok(hex(&all.finalize()))
}

/// Adds a part with its length, so that no two lists of parts look alike.
fn add(all: &mut Sha256, part: &[u8]) {
    all.update((part.len() as u64).to_be_bytes());
    all.update(part);
}
