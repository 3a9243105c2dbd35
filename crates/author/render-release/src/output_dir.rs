//! The directory of `--output`.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use problem::{IoContext, Problem, Result, code};
use walkdir::WalkDir;

use crate::files::RenderedInstance;

/// The file that lists what the directory contains.
const LIST: &str = ".boson-render";
const HINT: &str =
    "the content is replaced: give a new directory, an empty one, or one that `boson render --output` wrote";

/// Refuses a directory that contains anything that this verb has not written.
pub(crate) fn check(directory: &Path) -> Result<()> {
    let conflict = |what: String| Problem::input(what).code(code::OUTPUT_CONFLICT).hint(HINT);
    match fs::read_dir(directory) {
        Err(e) if e.kind() == ErrorKind::NotFound && !directory.is_symlink() => return Ok(()),
        Err(e) if e.kind() == ErrorKind::NotADirectory => {
            return Err(conflict(format!("{} is not a directory", directory.display())).into());
        }
        read => read.io("read", directory)?,
    };
    let list = fs::read_to_string(directory.join(LIST)).unwrap_or_default();
    let written: BTreeSet<&Path> = list.lines().map(Path::new).chain([Path::new(LIST)]).collect();
    for entry in WalkDir::new(directory).min_depth(1).sort_by_file_name() {
        let entry = entry.map_err(|e| Problem::internal(format!("cannot read {}", directory.display())).because(e))?;
        let path = entry.path().strip_prefix(directory).unwrap_or(entry.path());
        let is_known = if entry.file_type().is_dir() {
            written.iter().any(|file| file.starts_with(path))
        } else {
            written.contains(path)
        };
        if !is_known {
            return Err(conflict(format!("{} contains something else: {}", directory.display(), path.display())).into());
        }
    }
    Ok(())
}

/// Writes the files beside the directory, and exchanges it with the old one.
pub(crate) fn write(directory: &Path, rendered: &[RenderedInstance]) -> Result<()> {
    let whole: PathBuf = std::path::absolute(directory).io("find", directory)?.components().collect();
    let whole = fs::canonicalize(&whole).unwrap_or(whole);
    let Some(parent) = whole.parent() else {
        return Err(Problem::input(format!("{} cannot be replaced", directory.display()))
            .code(code::OUTPUT_CONFLICT)
            .into());
    };
    fs::create_dir_all(parent).io("make", parent)?;
    let new = tempfile::Builder::new().prefix(".boson-render.").tempdir_in(parent).io("write", directory)?;
    fs::set_permissions(new.path(), fs::Permissions::from_mode(0o750)).io("write", directory)?;
    let mut list = String::new();
    for instance in rendered {
        for file in &instance.files {
            let path = format!("{}/{}", instance.name.replace('/', "-"), file.path);
            write_file(&new.path().join(&path), &file.content, file.mode).io("write", directory)?;
            list += &format!("{path}\n");
        }
    }
    write_file(&new.path().join(LIST), list.as_bytes(), 0o640).io("write", directory)?;
    // The old content goes with the temporary directory.
    vcap::atomic::replace_directory(new.path(), &whole).io("write", directory)
}

fn write_file(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o750).create(parent)?;
    }
    let mut file = File::options().write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(content)?;
    // Whatever the umask is.
    file.set_permissions(fs::Permissions::from_mode(mode))
}
