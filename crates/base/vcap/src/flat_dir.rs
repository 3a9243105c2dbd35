//! A directory of files that is replaced as a whole.
//!
//! A new directory is written beside the old one and exchanged with it. A mount point cannot be exchanged: it gets the form that
//! the kubelet gives to volumes of ConfigMaps and Secrets, `<name> -> ..data/<name>` and `..data -> ..<generation>`, of which
//! the second link is replaced. A crash leaves the old files or the new ones. A file that does not change is the same one (inode,
//! time of change) in the new directory.

use std::collections::BTreeSet;
use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
use problem::{IoContext, Problem, Problems, Result, code};
use tempfile::TempDir;

use crate::dirs::make_dirs;

/// The link to the files that count.
const DATA: &str = "..data";
const NEXT: &str = "..data.new";

/// The mode of a directory that did not exist before.
const DIR_MODE: u32 = 0o750;

/// Makes `dir` hold exactly these files (names and contents), with this mode. Directories above it are created.
///
/// # Errors
/// The directory contains something that is not a file, so that it is not one that this function wrote; I/O errors. Then
/// nothing has changed.
pub fn replace(dir: &Path, files: &[(&str, &[u8])], mode: u32) -> Result<()> {
    let dir = fs::canonicalize(dir).unwrap_or_else(|_| dir.to_path_buf());
    let parent = dir.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !dir.exists() {
        let made = make_dirs(parent)?;
        let new = written(parent, files, mode, None).io("write", &dir)?;
        fs::set_permissions(new.path(), Permissions::from_mode(DIR_MODE)).io("write", &dir)?;
        fs::rename(new.path(), &dir).and_then(|()| sync(parent)).io("write", &dir)?;
        // It has another name now.
        let _ = new.keep();
        made.keep();
        return Ok(());
    }
    let present = Present::of(&dir)?;
    if present.is_volume || !exchanged(&dir, parent, files, mode).io("write", &dir)? {
        present.replace(files, mode).io("write", &dir)?;
    }
    Ok(())
}

/// Exchanges the directory with a new one; `false` if it can only be changed from within.
fn exchanged(dir: &Path, parent: &Path, files: &[(&str, &[u8])], mode: u32) -> io::Result<bool> {
    let Ok(new) = written(parent, files, mode, Some(dir)) else { return Ok(false) };
    fs::set_permissions(new.path(), fs::metadata(dir)?.permissions())?;
    if renameat2(AT_FDCWD, new.path(), AT_FDCWD, dir, RenameFlags::RENAME_EXCHANGE).is_err() {
        return Ok(false);
    }
    sync(parent)?;
    // `new` is the old directory now, and is removed.
    Ok(true)
}

/// A new directory in `parent` with the files. Those that `old` has already are linked.
fn written(parent: &Path, files: &[(&str, &[u8])], mode: u32, old: Option<&Path>) -> io::Result<TempDir> {
    let new = tempfile::Builder::new().prefix("..").tempdir_in(parent)?;
    for (name, content) in files {
        let path = new.path().join(name);
        if old.is_some_and(|old| linked(&old.join(name), content, mode, &path)) {
            continue;
        }
        // Only the owner reads it until it is complete.
        let mut file = File::options().write(true).create_new(true).mode(mode & 0o600).open(path)?;
        file.write_all(content)?;
        file.set_permissions(Permissions::from_mode(mode))?;
        file.sync_all()?;
    }
    sync(new.path())?;
    Ok(new)
}

/// Links a file that has this content and mode. One of another user is not taken over: it could change later.
fn linked(old: &Path, content: &[u8], mode: u32, new: &Path) -> bool {
    let Ok(old) = fs::canonicalize(old) else { return false };
    let is_same = fs::symlink_metadata(&old).is_ok_and(|found| {
        let is_own = found.is_file() && found.uid() == nix::unistd::geteuid().as_raw();
        is_own && found.permissions().mode() & 0o7777 == mode && found.len() == content.len() as u64
    });
    is_same && fs::read(&old).is_ok_and(|found| found == content) && fs::hard_link(&old, new).is_ok()
}

fn sync(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// What a directory contains.
struct Present<'d> {
    dir: &'d Path,
    /// Links of a volume, by name.
    links: BTreeSet<String>,
    /// Directories of a volume.
    generations: Vec<PathBuf>,
    files: Vec<PathBuf>,
    is_volume: bool,
}

impl<'d> Present<'d> {
    /// Everything that was not written here is a problem.
    fn of(dir: &'d Path) -> Result<Present<'d>> {
        let mut present =
            Present { dir, links: BTreeSet::new(), generations: Vec::new(), files: Vec::new(), is_volume: false };
        let mut problems = Vec::new();
        for child in fs::read_dir(dir).io("read", dir)? {
            let child = child.io("read", dir)?;
            let (path, name) = (child.path(), child.file_name().to_string_lossy().into_owned());
            let kind = child.file_type().io("read", &path)?;
            let target = fs::read_link(&path).ok();
            match name.as_str() {
                DATA | NEXT if kind.is_symlink() => present.is_volume = true,
                name if name.starts_with("..") && kind.is_dir() => present.generations.push(path),
                name if target.as_deref() == Some(&Path::new(DATA).join(name)) => {
                    present.links.insert(name.to_owned());
                }
                _ if kind.is_file() => present.files.push(path),
                _ => problems.push(
                    Problem::internal(format!("{} is in the way: it is not a file", path.display()))
                        .code(code::OUTPUT_CONFLICT)
                        .hint("the directory is replaced as a whole: write to another one"),
                ),
            }
        }
        Problems::check(problems)?;
        Ok(present)
    }

    /// Replaces the files from within.
    fn replace(&self, files: &[(&str, &[u8])], mode: u32) -> io::Result<()> {
        let new = written(self.dir, files, mode, Some(self.dir))?;
        fs::set_permissions(new.path(), fs::metadata(self.dir)?.permissions())?;
        let next = self.dir.join(NEXT);
        let _ = fs::remove_file(&next);
        symlink(new.path().file_name().unwrap_or_default(), &next)?;
        fs::rename(&next, self.dir.join(DATA))?;
        let _ = new.keep();
        for (name, _) in files.iter().filter(|(name, _)| !self.links.contains(*name)) {
            let (path, link) = (self.dir.join(name), self.dir.join(format!("..{name}.new")));
            symlink(Path::new(DATA).join(name), &link)?;
            fs::rename(&link, &path)?;
        }
        let mut names = BTreeSet::new();
        names.extend(files.iter().map(|(name, _)| self.dir.join(name)));
        let old = self.links.iter().map(|name| self.dir.join(name)).chain(self.files.iter().cloned());
        // The new files count already: what cannot be removed now is removed next time.
        old.filter(|path| !names.contains(path)).for_each(|path| drop(fs::remove_file(path)));
        self.generations.iter().for_each(|path| drop(fs::remove_dir_all(path)));
        sync(self.dir)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(dir: &Path) -> Vec<(String, String)> {
        let mut files: Vec<_> = fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap())
            .filter(|entry| !entry.file_name().to_string_lossy().starts_with(".."))
            .map(|entry| (entry.file_name().into_string().unwrap(), fs::read_to_string(entry.path()).unwrap()))
            .collect();
        files.sort();
        files
    }

    fn pair(name: &str, text: &str) -> (String, String) {
        (name.to_owned(), text.to_owned())
    }

    #[test]
    fn a_directory_is_replaced_as_a_whole() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("a/dir");
        replace(&dir, &[("x", b"1"), ("y", b"2")], 0o640).unwrap();
        assert_eq!(content(&dir), [pair("x", "1"), pair("y", "2")]);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        assert_eq!((mode(&dir), mode(&dir.join("x"))), (0o750, 0o640));
        replace(&dir, &[("y", b"3"), ("z", b"4")], 0o600).unwrap();
        assert_eq!(content(&dir), [pair("y", "3"), pair("z", "4")]);
        assert_eq!(mode(&dir.join("y")), 0o600);
        // Nothing is left beside it.
        assert_eq!(fs::read_dir(root.path().join("a")).unwrap().count(), 1);
        replace(&dir, &[], 0o600).unwrap();
        assert!(content(&dir).is_empty());
    }

    #[test]
    fn a_mount_point_is_replaced_from_within() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path();
        for (files, expected) in [
            (&[("x", b"1".as_slice()), ("y", b"2")][..], &[pair("x", "1"), pair("y", "2")][..]),
            (&[("y", b"3"), ("z", b"4")], &[pair("y", "3"), pair("z", "4")]),
            (&[], &[]),
        ] {
            Present::of(dir).unwrap().replace(files, 0o640).unwrap();
            assert_eq!(content(dir), expected);
            // The link, and one generation.
            assert_eq!(fs::read_dir(dir).unwrap().count(), expected.len() + 2);
        }
        // A volume stays one.
        replace(dir, &[("x", b"5")], 0o640).unwrap();
        assert!(dir.join("x").is_symlink());
        assert_eq!(content(dir), [pair("x", "5")]);
    }

    #[test]
    fn files_that_do_not_change_are_not_written() {
        let root = tempfile::tempdir().unwrap();
        let (plain, volume) = (root.path().join("plain"), root.path().join("volume"));
        fs::create_dir(&volume).unwrap();
        Present::of(&volume).unwrap().replace(&[("y", b"0")], 0o640).unwrap();
        for dir in [&plain, &volume] {
            replace(dir, &[("x", b"1"), ("y", b"2")], 0o640).unwrap();
            let inode = |name: &str| fs::metadata(dir.join(name)).unwrap().ino();
            let before = (inode("x"), inode("y"));
            replace(dir, &[("x", b"1"), ("y", b"3"), ("z", b"1")], 0o640).unwrap();
            assert_eq!(content(dir), [pair("x", "1"), pair("y", "3"), pair("z", "1")]);
            assert_eq!(inode("x"), before.0);
            assert_ne!(inode("y"), before.1);
            // Another mode makes another file.
            replace(dir, &[("x", b"1")], 0o600).unwrap();
            assert_ne!(inode("x"), before.0);
        }
    }

    #[test]
    fn files_become_links_where_they_cannot_be_exchanged() {
        let root = tempfile::tempdir().unwrap();
        for name in ["x", "old"] {
            fs::write(root.path().join(name), "0").unwrap();
        }
        Present::of(root.path()).unwrap().replace(&[("x", b"1")], 0o640).unwrap();
        assert_eq!(content(root.path()), [pair("x", "1")]);
    }

    #[test]
    fn a_directory_with_directories_is_refused() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("sub")).unwrap();
        let problem = replace(root.path(), &[("x", b"1")], 0o640).unwrap_err();
        assert!(problem.to_string().contains("sub is in the way"), "{problem}");
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
    }
}
