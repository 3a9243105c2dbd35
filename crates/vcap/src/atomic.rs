//! Writing one file so that a reader sees the old content or the new one, never a part.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;

use problem::{IoContext, Problem, Result};

use crate::dirs::make_dirs;

/// Writes `bytes` to `path` with exactly these permission bits; the directory must exist.
///
/// The content is written to a hidden file beside, flushed to the disk and renamed. A failure is one problem and leaves
/// everything as it was. A link to a file stays a link: what it points to is replaced. A pipe or a device (`/dev/stdout`)
/// is written to as it is.
pub fn write_file(path: &Path, bytes: &[u8], mode: u32) -> Result<()> {
    match fs::metadata(path) {
        Ok(meta) if meta.is_dir() => {
            Err(Problem::internal(format!("cannot write {}", path.display())).because("it is a directory").into())
        }
        Ok(meta) if meta.file_type().is_fifo() || meta.file_type().is_char_device() => {
            File::options().write(true).open(path).and_then(|mut f| f.write_all(bytes)).io("write", path)
        }
        Ok(_) => replace(&fs::canonicalize(path).io("write", path)?, bytes, mode).io("write", path),
        Err(_) => replace(path, bytes, mode).map_err(|e| refused(path, &e).into()),
    }
}

/// As [`write_file`], creating the directories above; those are removed again if the write fails.
pub fn write_file_with_parents(path: &Path, bytes: &[u8], mode: u32) -> Result<()> {
    let made = make_dirs(parent(path))?;
    write_file(path, bytes, mode)?;
    made.keep();
    Ok(())
}

fn replace(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let parent = parent(path);
    let name = path.file_name().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    let prefix = format!(".{}.", name.to_string_lossy());
    // Created 0600: nobody else reads a secret before the owner of the path decided its mode.
    let mut file = tempfile::Builder::new().prefix(&prefix).suffix(".tmp").tempfile_in(parent)?;
    file.write_all(bytes)?;
    file.as_file().set_permissions(Permissions::from_mode(mode))?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|e| e.error)?;
    File::open(parent)?.sync_all()
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn refused(path: &Path, e: &io::Error) -> Problem {
    let problem = Problem::internal(format!("cannot write {}", path.display())).because(e);
    if e.kind() == io::ErrorKind::NotFound && !parent(path).exists() {
        return problem.hint(format!("the directory {} does not exist", parent(path).display()));
    }
    problem
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn content_and_mode_are_replaced_and_nothing_else_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        write_file(&path, b"one", 0o600).unwrap();
        write_file(&path, b"two", 0o644).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o644);
        assert_eq!(names(dir.path()), ["f"]);
    }

    #[test]
    fn a_link_stays_a_link() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("real"), "old").unwrap();
        std::os::unix::fs::symlink("real", dir.path().join("link")).unwrap();
        write_file(&dir.path().join("link"), b"new", 0o600).unwrap();
        assert_eq!(fs::read_to_string(dir.path().join("real")).unwrap(), "new");
        assert!(dir.path().join("link").is_symlink());
    }

    #[test]
    fn a_device_is_written_to() {
        write_file(Path::new("/dev/null"), b"x", 0o600).unwrap();
        assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    }

    #[test]
    fn an_unwritable_path_is_one_problem_and_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let missing = dir.path().join("no/such/f");
        let problem = write_file(&missing, b"x", 0o600).unwrap_err();
        assert_eq!(problem.exit_code(), 70);
        assert!(problem.to_string().contains("hint: the directory"), "{problem}");
        fs::write(dir.path().join("file"), "").unwrap();
        assert_eq!(write_file_with_parents(&dir.path().join("file/sub/f"), b"x", 0o600).unwrap_err().exit_code(), 70);
        fs::create_dir_all(dir.path().join("d")).unwrap();
        assert!(write_file(&dir.path().join("d"), b"x", 0o600).unwrap_err().to_string().contains("directory"));
        assert_eq!(names(dir.path()), ["d", "file"]);
        assert!(names(&dir.path().join("d")).is_empty());
    }

    #[test]
    fn parents_are_made_and_removed_again_on_failure() {
        let dir = tempfile::tempdir().unwrap();
        write_file_with_parents(&dir.path().join("a/b/f"), b"x", 0o600).unwrap();
        assert_eq!(fs::read(dir.path().join("a/b/f")).unwrap(), b"x");
        let long = "n".repeat(300);
        assert!(write_file_with_parents(&dir.path().join("c/d").join(long), b"x", 0o600).is_err());
        assert_eq!(names(dir.path()), ["a"]);
    }
}
