//! Paths in a directory that is a root file system: its links lead where they lead when it is the root.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

/// As many links as the kernel follows in one path.
const MOST_LINKS: usize = 40;

/// The directory below `root` that `path` names there, with its links followed; directories that are missing are made.
///
/// No path leads out of `root`: `..` at the root is the root, and an absolute link starts there.
pub(super) fn directory(root: &Path, path: &Path) -> io::Result<PathBuf> {
    let mut rest: VecDeque<Component> = VecDeque::new();
    let owned: PathBuf = path.to_path_buf();
    rest.extend(owned.components());
    let mut pending: VecDeque<OsString> = rest.into_iter().filter_map(name).collect();
    let (mut at, mut links) = (Vec::<OsString>::new(), 0);
    while let Some(part) = pending.pop_front() {
        if part == ".." {
            at.pop();
            continue;
        }
        let mut next = root.to_path_buf();
        next.extend(&at);
        next.push(&part);
        match next.symlink_metadata() {
            Ok(meta) if meta.is_symlink() => {
                links += 1;
                if links > MOST_LINKS {
                    return Err(io::Error::other(format!("too many links at {}", path.display())));
                }
                let target = fs::read_link(&next)?;
                if target.is_absolute() {
                    at.clear();
                }
                for part in target.components().rev().filter_map(name) {
                    pending.push_front(part);
                }
            }
            Ok(meta) if meta.is_dir() => at.push(part),
            Ok(_) => return Err(io::Error::other(format!("{} leads through a file", path.display()))),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                fs::create_dir(&next)?;
                at.push(part);
            }
            Err(e) => return Err(e),
        }
    }
    let mut found = root.to_path_buf();
    found.extend(at);
    Ok(found)
}

/// A component's name; none of those that change nothing.
fn name(part: Component) -> Option<OsString> {
    match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    }
}

/// Where an entry of an archive is to be written: in an existing directory, under a name that is not followed. `None` for
/// the root itself.
pub(super) fn place(root: &Path, path: &Path) -> io::Result<Option<PathBuf>> {
    match path.components().filter_map(name).next_back() {
        None => Ok(None),
        Some(last) if last == ".." => Err(io::Error::other(format!("'{}' is not the name of a file", path.display()))),
        Some(last) => {
            let parent = path.parent().unwrap_or(Path::new(""));
            Ok(Some(directory(root, parent)?.join(last)))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn no_path_leaves_the_root() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        fs::create_dir_all(root.join("usr/bin")).unwrap();
        symlink("usr/bin", root.join("bin")).unwrap();
        symlink("/usr", root.join("absolute")).unwrap();
        symlink("../../..", root.join("usr/up")).unwrap();
        symlink("round", root.join("round")).unwrap();
        for (path, expected) in [
            ("bin", "usr/bin"),
            ("absolute/bin", "usr/bin"),
            ("usr/up/usr", "usr"),
            ("../../usr/./bin/..", "usr"),
            ("/new/deep", "new/deep"),
        ] {
            assert_eq!(directory(&root, Path::new(path)).unwrap(), root.join(expected), "{path}");
        }
        assert!(directory(&root, Path::new("round/x")).is_err());
        assert_eq!(place(&root, Path::new("./")).unwrap(), None);
        assert_eq!(place(&root, Path::new("bin/sh")).unwrap(), Some(root.join("usr/bin/sh")));
        assert_eq!(place(&root, Path::new("bin")).unwrap(), Some(root.join("bin")));
        assert!(place(&root, Path::new("usr/..")).is_err());
        assert!(!dir.path().join("new").exists());
    }
}
