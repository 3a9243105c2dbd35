//! Writing trees of files and comparing them.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Writes a file, with the directories above it.
///
/// # Panics
/// If that fails.
pub fn write(path: &Path, content: impl AsRef<[u8]>) {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).unwrap_or_else(|e| panic!("{}: {e}", parent.display()));
    }
    fs::write(path, content).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
}

/// Writes a file with this mode.
///
/// # Panics
/// If that fails.
pub fn write_with_mode(path: &Path, content: impl AsRef<[u8]>, mode: u32) {
    write(path, content);
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
}

/// Writes a program, with the directories above it.
///
/// In a process of its own: whatever another thread starts while this one writes has the file open for an instant, and what
/// is open for writing cannot be executed (`ETXTBSY`).
///
/// # Panics
/// If that fails.
pub fn write_program(path: &Path, content: impl AsRef<[u8]>, mode: u32) {
    let script = "mkdir -p \"${1%/*}\" && cat > \"$1\" && chmod \"$2\" \"$1\"";
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh"]).arg(path).arg(format!("{mode:o}")).stdin(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|e| panic!("sh: {e}"));
    let written = child.stdin.take().map(|mut stdin| stdin.write_all(content.as_ref()));
    let done = child.wait().is_ok_and(|status| status.success());
    assert!(done && matches!(written, Some(Ok(()))), "{}: {written:?}", path.display());
}

/// One file, directory or link of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its kind.
    pub kind: Kind,
    /// Its permission bits.
    pub mode: u32,
    /// Its user and group.
    pub owner: (u32, u32),
    /// When it was changed: seconds and nanoseconds.
    pub modified: (i64, i64),
}

/// What an entry of a tree is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A directory.
    Dir,
    /// A file with this content.
    File(Vec<u8>),
    /// A link to this target.
    Link(PathBuf),
    /// Something else.
    Special,
}

/// Everything below (and including, as the empty path) `root`; no link is followed.
///
/// # Panics
/// If it cannot be read.
pub fn tree(root: &Path) -> BTreeMap<PathBuf, Entry> {
    let mut found = BTreeMap::new();
    read(root, PathBuf::new(), &mut found).unwrap_or_else(|e| panic!("{}: {e}", root.display()));
    found
}

fn read(root: &Path, below: PathBuf, found: &mut BTreeMap<PathBuf, Entry>) -> std::io::Result<()> {
    let path = if below.as_os_str().is_empty() { root.to_path_buf() } else { root.join(&below) };
    let meta = fs::symlink_metadata(&path)?;
    let kind = if meta.is_dir() {
        for child in fs::read_dir(&path)? {
            read(root, below.join(child?.file_name()), found)?;
        }
        Kind::Dir
    } else if meta.is_symlink() {
        Kind::Link(fs::read_link(&path)?)
    } else if meta.is_file() {
        Kind::File(fs::read(&path)?)
    } else {
        Kind::Special
    };
    let entry = Entry {
        kind,
        mode: meta.mode() & 0o7777,
        owner: (meta.uid(), meta.gid()),
        modified: (meta.mtime(), meta.mtime_nsec()),
    };
    found.insert(below, entry);
    Ok(())
}

/// The names in a directory, hidden ones too, sorted.
///
/// # Panics
/// If it cannot be read.
pub fn names(dir: &Path) -> Vec<String> {
    let children = fs::read_dir(dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
    let mut names: Vec<_> = children.flatten().map(|c| c.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
