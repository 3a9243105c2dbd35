//! Reading a sandbox's files on the host.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{OFlag, openat, readlinkat};
use nix::sys::stat::Mode;

/// As many links as the kernel follows in one path.
const MOST_LINKS: usize = 40;

/// Opens a file or directory below `base` for reading.
///
/// A process of the sandbox may have written anything there, so a link is followed only where it leads further down, as
/// BOSH's `sys` does: any other would lead to the host's files (ELOOP). A pipe does not block.
pub fn open_beneath(base: &Path, path: &Path) -> io::Result<File> {
    let mut rest = Vec::new();
    let mut links = 0;
    go_down(&mut rest, path)?;
    let mut dir = OwnedFd::from(File::open(base)?);
    let open = |dir: &OwnedFd, name: &OsStr, flags| openat(dir, name, flags | OFlag::O_CLOEXEC, Mode::empty());
    let to_read = OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    while let Some(part) = rest.pop() {
        match readlinkat(&dir, part.as_os_str()) {
            Ok(_) if links == MOST_LINKS => return Err(Errno::ELOOP.into()),
            Ok(target) => {
                links += 1;
                go_down(&mut rest, Path::new(&target))?;
            }
            // Not a link; if it becomes one before it is opened, it is refused.
            Err(Errno::EINVAL) if rest.is_empty() => {
                return Ok(File::from(open(&dir, &part, to_read | OFlag::O_NOFOLLOW)?));
            }
            Err(Errno::EINVAL) => {
                dir = open(&dir, &part, OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW)?;
            }
            Err(e) => return Err(e.into()),
        }
    }
    Ok(File::from(open(&dir, OsStr::new("."), to_read)?))
}

/// Pushes the components of a path onto the stack of remaining components.
fn go_down(rest: &mut Vec<OsString>, path: &Path) -> io::Result<()> {
    for part in path.components().rev() {
        match part {
            Component::Normal(name) => rest.push(name.to_owned()),
            Component::CurDir => {}
            _ => return Err(Errno::ELOOP.into()),
        }
    }
    Ok(())
}

/// The names in a directory below `base`, sorted; names that are not UTF-8 are omitted. See [`open_beneath`].
pub fn names_beneath(base: &Path, path: &Path) -> io::Result<Vec<String>> {
    let mut dir = Dir::from_fd(open_beneath(base, path)?.into())?;
    let mut names = Vec::new();
    for entry in dir.iter() {
        names.extend(entry?.file_name().to_str().ok().filter(|name| *name != "." && *name != "..").map(str::to_owned));
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_files_below_the_directory_are_read() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("base/data/sys")).unwrap();
        fs::create_dir(dir.path().join("outside")).unwrap();
        for file in ["base/data/sys/file", "outside/file"] {
            fs::write(dir.path().join(file), file).unwrap();
        }
        let base = dir.path().join("base");
        let outside = dir.path().join("outside");
        for (name, target) in [
            ("sys", Path::new("data/sys")),
            ("up", Path::new("../outside")),
            ("away", &outside),
            ("round", Path::new("round")),
            ("here", Path::new(".")),
        ] {
            symlink(target, base.join(name)).unwrap();
        }
        nix::unistd::mkfifo(&base.join("pipe"), Mode::S_IRWXU).unwrap();

        let open = |path: &str| open_beneath(&base, Path::new(path));
        for path in ["data/sys/file", "sys/file", "here/./here/sys/file"] {
            let mut text = String::new();
            open(path).unwrap().read_to_string(&mut text).unwrap();
            assert_eq!(text, "base/data/sys/file");
        }
        for path in ["up/file", "away/file", "up", "../outside/file", "/etc/passwd", "round", "data/../../outside"] {
            assert_eq!(open(path).unwrap_err().raw_os_error(), Some(Errno::ELOOP as i32), "{path}");
        }
        assert_eq!(open("missing").unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(!open("pipe").unwrap().metadata().unwrap().is_file());
        let names = |path: &str| names_beneath(&base, Path::new(path));
        assert_eq!(names("").unwrap(), ["away", "data", "here", "pipe", "round", "sys", "up"]);
        assert_eq!(names("sys").unwrap(), ["file"]);
        assert!(names("away").is_err());
    }
}
