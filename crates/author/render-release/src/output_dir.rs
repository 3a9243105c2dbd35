//! The directory of `--output`.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use problem::{IoContext, Problem, Result, code};
use walkdir::WalkDir;

/// What a verb writes into the directory of its `--output`, which contains nothing else.
#[derive(Debug, Clone, Copy)]
pub struct OutputDir<'a> {
    /// The verb.
    pub verb: &'a str,
    /// The directory.
    pub directory: &'a Path,
}

/// A file of such a directory.
pub struct OutputFile<'a> {
    /// Its path below the directory.
    pub path: String,
    /// Its content.
    pub content: Cow<'a, [u8]>,
    /// Its permissions.
    pub mode: u32,
}

impl OutputDir<'_> {
    /// The file that lists what the directory contains.
    fn list(&self) -> String {
        format!(".boson-{}", self.verb)
    }

    /// Refuses a directory that contains anything that this verb has not written.
    ///
    /// # Errors
    /// The first file that the verb has not written; a directory that cannot be read.
    pub fn check(&self) -> Result<()> {
        let directory = self.directory;
        let conflict = |what: String| {
            let written = format!("one that `boson {} --output` wrote", self.verb);
            let hint = format!("the content is replaced: give a new directory, an empty one, or {written}");
            Problem::input(what).code(code::OUTPUT_CONFLICT).hint(hint)
        };
        match fs::read_dir(directory) {
            Err(e) if e.kind() == ErrorKind::NotFound && !directory.is_symlink() => return Ok(()),
            Err(e) if e.kind() == ErrorKind::NotADirectory => {
                return Err(conflict(format!("{} is not a directory", directory.display())).into());
            }
            read => read.io("read", directory)?,
        };
        let list_file = self.list();
        let list = fs::read_to_string(directory.join(&list_file)).unwrap_or_default();
        let written: BTreeSet<&Path> = list.lines().map(Path::new).chain([Path::new(&list_file)]).collect();
        for entry in WalkDir::new(directory).min_depth(1).sort_by_file_name() {
            let entry =
                entry.map_err(|e| Problem::internal(format!("cannot read {}", directory.display())).because(e))?;
            let path = entry.path().strip_prefix(directory).unwrap_or(entry.path());
            let is_known = if entry.file_type().is_dir() {
                written.iter().any(|file| file.starts_with(path))
            } else {
                written.contains(path)
            };
            if !is_known {
                let what = format!("{} contains something else: {}", directory.display(), path.display());
                return Err(conflict(what).into());
            }
        }
        Ok(())
    }

    /// Writes the files next to the directory, and exchanges it with the old one.
    ///
    /// # Errors
    /// What the machine refuses; the directory is then as it was.
    pub fn write<'f>(&self, files: impl IntoIterator<Item = OutputFile<'f>>) -> Result<()> {
        let directory = self.directory;
        let whole: PathBuf = std::path::absolute(directory).io("find", directory)?.components().collect();
        let whole = fs::canonicalize(&whole).unwrap_or(whole);
        let Some(parent) = whole.parent() else {
            return Err(Problem::input(format!("{} cannot be replaced", directory.display()))
                .code(code::OUTPUT_CONFLICT)
                .into());
        };
        fs::create_dir_all(parent).io("make", parent)?;
        let list_file = self.list();
        let prefix = format!("{list_file}.");
        let new = tempfile::Builder::new().prefix(&prefix).tempdir_in(parent).io("write", directory)?;
        fs::set_permissions(new.path(), fs::Permissions::from_mode(0o750)).io("write", directory)?;
        let mut list = String::new();
        for OutputFile { path, content, mode } in files {
            write_file(&new.path().join(&path), &content, mode).io("write", directory)?;
            list += &format!("{path}\n");
        }
        write_file(&new.path().join(&list_file), list.as_bytes(), 0o640).io("write", directory)?;
        // The old content goes with the temporary directory.
        vcap::atomic::replace_directory(new.path(), &whole).io("write", directory)
    }
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
