//! One generation: a directory that holds a whole tree.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::Path;
use std::thread;

use nix::unistd::{Gid, Uid, geteuid};
use problem::{IoContext, Problem, Result};

use super::paths::Tree;
use super::{LINK, RenderedEntry};
use crate::owner::{fchown_where_possible, lchown_where_possible};

/// BOSH's agent gives every directory of a job this mode, regardless of the mode in the release.
const DIR_MODE: u32 = 0o750;
/// Flushing many small files one after the other costs a journal commit each; in parallel they share them.
const FLUSHERS: usize = 8;
/// In memory it is the processors that do the work.
const WRITERS: usize = 4;

/// Writes the tree into the new directory `base`; `durable` says whether it has to be flushed to a disk.
pub(super) fn write(base: &Path, tree: &Tree, owner: (Uid, Gid), durable: bool, after: &mut dyn FnMut()) -> Result<()> {
    make_dir(base, owner)?;
    after();
    for dir in &tree.dirs {
        make_dir(&base.join(dir), owner)?;
        after();
    }
    let files: Vec<&RenderedEntry> = tree.files.values().copied().collect();
    write_files(base, &files, owner, durable)?;
    after();
    if durable {
        for dir in tree.dirs.iter().copied().chain([""]) {
            let dir = base.join(dir);
            File::open(&dir).and_then(|d| d.sync_all()).io("flush", &dir)?;
        }
    }
    Ok(())
}

fn make_dir(path: &Path, owner: (Uid, Gid)) -> Result<()> {
    let make = || {
        fs::DirBuilder::new().mode(0o700).create(path)?;
        let dir = File::open(path)?;
        fchown_where_possible(&dir, owner)?;
        dir.set_permissions(Permissions::from_mode(DIR_MODE))
    };
    make().io("create", path)
}

fn write_files(base: &Path, files: &[&RenderedEntry], owner: (Uid, Gid), durable: bool) -> Result<()> {
    let some = |files: &[&RenderedEntry]| -> Vec<Problem> {
        let failed = |entry: &&RenderedEntry| {
            let path = base.join(&entry.path);
            write_file(&path, entry, owner, durable).io("write", &path).err()
        };
        // A full disk fails every file; one of them is reported.
        files.iter().find_map(failed).map(problem::Problems::into_vec).unwrap_or_default()
    };
    let writers = if durable { FLUSHERS } else { thread::available_parallelism().map_or(1, usize::from).min(WRITERS) };
    if files.len() <= FLUSHERS || writers == 1 {
        return problem::Problems::check(some(files));
    }
    let problems = thread::scope(|scope| {
        let workers: Vec<_> =
            files.chunks(files.len().div_ceil(writers)).map(|chunk| scope.spawn(move || some(chunk))).collect();
        let died = |_| vec![Problem::internal("a thread writing files died")];
        workers.into_iter().flat_map(|worker| worker.join().unwrap_or_else(died)).take(1).collect()
    });
    problem::Problems::check(problems)
}

fn write_file(path: &Path, entry: &RenderedEntry, owner: (Uid, Gid), durable: bool) -> io::Result<()> {
    if entry.mode == LINK {
        symlink(OsStr::from_bytes(&entry.content), path)?;
        return lchown_where_possible(path, owner);
    }
    // 0600 until it has its owner: the content may be secret.
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(&entry.content)?;
    fchown_where_possible(&file, owner)?;
    file.set_permissions(Permissions::from_mode(entry.mode))?;
    if durable { file.sync_all() } else { Ok(()) }
}

/// Whether `base` holds exactly this tree: paths, contents, modes, and owners where they can be given.
pub(super) fn holds(base: &Path, tree: &Tree, owner: (Uid, Gid)) -> bool {
    let mut dirs = BTreeSet::new();
    let mut files = 0;
    let looked = compare(base, "", tree, owner, &mut |found| match found {
        Found::Dir(path) => {
            dirs.insert(path);
        }
        Found::File => files += 1,
    });
    looked.unwrap_or(false)
        && files == tree.files.len()
        && dirs.iter().map(String::as_str).eq(tree.dirs.iter().copied())
}

enum Found {
    Dir(String),
    File,
}

/// Compares what lies in `base/below` with the tree; returns everything found in it.
fn compare(base: &Path, below: &str, tree: &Tree, owner: (Uid, Gid), found: &mut dyn FnMut(Found)) -> io::Result<bool> {
    let owned =
        |meta: &fs::Metadata| !geteuid().is_root() || (meta.uid(), meta.gid()) == (owner.0.as_raw(), owner.1.as_raw());
    for child in fs::read_dir(base.join(below))? {
        let child = child?;
        let Ok(name) = child.file_name().into_string() else { return Ok(false) };
        let path = if below.is_empty() { name } else { format!("{below}/{name}") };
        let meta = child.metadata()?;
        let mode = meta.mode() & 0o7777;
        if meta.is_dir() {
            if mode != DIR_MODE || !owned(&meta) || !compare(base, &path, tree, owner, found)? {
                return Ok(false);
            }
            found(Found::Dir(path));
        } else {
            let Some(entry) = tree.files.get(path.as_str()) else { return Ok(false) };
            let same = owned(&meta)
                && meta.len() == entry.content.len() as u64
                && if entry.mode == LINK {
                    meta.is_symlink() && fs::read_link(child.path())?.as_os_str().as_bytes() == entry.content
                } else {
                    meta.is_file() && mode == entry.mode && fs::read(child.path())? == entry.content
                };
            if !same {
                return Ok(false);
            }
            found(Found::File);
        }
    }
    Ok(true)
}
