//! The list of the packages in a release image, beside its job sources.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::os::fd::BorrowedFd;
use std::path::Path;

use handoff::packages::{FILE, Packages};
use problem::{IoContext, Result};

use crate::patched_tree::{File, PatchedTree};

/// Writes the list into the copy; nothing if there is no directory of packages, as outside of an image.
pub(crate) fn write(packages: &Path, copy: BorrowedFd) -> Result<()> {
    let entries = match packages.read_dir() {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(()),
        read => read.io("read", packages)?,
    };
    let mut names = BTreeSet::new();
    for entry in entries {
        let entry = entry.io("read", packages)?;
        // A package may be a link to where it is.
        if entry.path().is_dir() {
            names.extend(entry.file_name().into_string());
        }
    }
    let text = Packages { packages: names }.encode();
    let mut tree = PatchedTree::of(copy);
    let old = tree.file(FILE)?.ok().cloned();
    tree.set(FILE, Some(File::new(text.into_bytes(), old.as_ref(), None)));
    tree.write()
}
