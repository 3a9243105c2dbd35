//! Writing files so that a reader sees the old content or the new one, never a part.

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread;

use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
use problem::{IoContext, Problem, Result, code};
use tempfile::NamedTempFile;

use crate::dirs::make_dirs;

/// Writes `bytes` to `path` with exactly these permission bits; the directory must exist.
///
/// The content is written to a hidden file beside, flushed to the disk and renamed. A failure is one problem and leaves
/// everything as it was. A link to a file stays a link: what it points to is replaced. A pipe or a device (`/dev/stdout`)
/// is written to as it is.
pub fn write_file(path: &Path, bytes: &[u8], mode: u32) -> Result<()> {
    Staged::new(path, bytes, mode)?.commit()
}

/// As [`write_file`] for what does not outlive the machine: not flushed to the disk, so it costs a rename and no more.
pub fn replace_file(path: &Path, bytes: &[u8], mode: u32) -> Result<()> {
    let content = unflushed(path, bytes, mode).map_err(|e| refused(path, &e))?;
    // Where there is a file, the two change places, and dropping the other one removes it: some file systems flush to the
    // disk what is renamed over a file, lest it be lost with its predecessor.
    let exchanged = renameat2(AT_FDCWD, content.path(), AT_FDCWD, path, RenameFlags::RENAME_EXCHANGE);
    if exchanged.is_ok() {
        return Ok(());
    }
    content.persist(path).map(drop).map_err(|e| e.error).io("write", path)
}

/// Puts the directory `new` in the place of `path`: at once, but for file systems that cannot exchange two names. What was at `path`
/// is at `new` afterwards; both are in one directory.
pub fn replace_directory(new: &Path, path: &Path) -> io::Result<()> {
    if !path.exists() {
        return fs::rename(new, path);
    }
    match renameat2(AT_FDCWD, new, AT_FDCWD, path, RenameFlags::RENAME_EXCHANGE) {
        Err(Errno::EINVAL | Errno::ENOSYS) => {
            let old = new.with_extension("old");
            fs::rename(path, &old)?;
            fs::rename(new, path)?;
            fs::rename(&old, new)
        }
        exchanged => Ok(exchanged?),
    }
}

/// Removes leftovers of killed writers of `path`. Must not run while another process writes it.
pub fn clear_leftovers(path: &Path) {
    let prefix = staged_prefix(path);
    let is_left = |name: &OsStr| name.as_bytes().starts_with(prefix.as_bytes()) && name.as_bytes().ends_with(b".tmp");
    for entry in fs::read_dir(parent(path)).into_iter().flatten().flatten() {
        if is_left(&entry.file_name()) {
            // Best effort: the file takes a little space and does no harm.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// As [`write_file`] for several files, creating the directories above. None is written unless there is room for all of
/// them; the directories are removed again if the write fails.
pub fn write_files_with_parents(files: &[(&Path, &[u8])], mode: u32) -> Result<()> {
    let mut made = Vec::new();
    for (path, _) in files {
        made.push(make_dirs(parent(path))?);
    }
    let staged = at_once(files.to_vec(), |(path, bytes)| Staged::new(path, bytes, mode))?;
    at_once(staged, Staged::commit)?;
    made.into_iter().for_each(crate::dirs::MadeDirs::keep);
    Ok(())
}

/// So many at a time: flushed one after the other, each file would cost the disk a journal commit of its own.
const AT_ONCE: usize = 8;

/// Does something with all items, some at a time; the first failure is the one that is reported.
fn at_once<T: Send, R: Send>(items: Vec<T>, work: impl Fn(T) -> Result<R> + Sync) -> Result<Vec<R>> {
    if items.len() < 2 {
        return items.into_iter().map(work).collect();
    }
    let mut rest = items.into_iter();
    let each = rest.len().div_ceil(AT_ONCE);
    let chunks = std::iter::from_fn(|| Some(rest.by_ref().take(each).collect::<Vec<T>>()).filter(|c| !c.is_empty()));
    let (chunks, work) = (chunks.collect::<Vec<_>>(), &work);
    thread::scope(|scope| {
        let some = |chunk: Vec<T>| scope.spawn(move || chunk.into_iter().map(work).collect::<Result<Vec<R>>>());
        let threads: Vec<_> = chunks.into_iter().map(some).collect();
        let died = |_| Err(Problem::internal("a thread writing files died").into());
        let done = threads.into_iter().map(|thread| thread.join().unwrap_or_else(died));
        done.collect::<Result<Vec<Vec<R>>>>().map(|done| done.into_iter().flatten().collect())
    })
}

/// As [`write_file`], creating the directories above; those are removed again if the write fails.
pub fn write_file_with_parents(path: &Path, bytes: &[u8], mode: u32) -> Result<()> {
    write_files_with_parents(&[(path, bytes)], mode)
}

/// A temporary file beside the path, or a pipe or device that is written directly.
enum Staged<'a> {
    File { named: &'a Path, target: PathBuf, content: NamedTempFile },
    Stream { named: &'a Path, bytes: &'a [u8] },
}

impl<'a> Staged<'a> {
    fn new(path: &'a Path, bytes: &'a [u8], mode: u32) -> Result<Self> {
        match fs::metadata(path) {
            Ok(meta) if meta.is_dir() => Err(Problem::internal(format!("cannot write {}", path.display()))
                .code(code::IO)
                .because("it is a directory")
                .into()),
            Ok(meta) if meta.file_type().is_fifo() || meta.file_type().is_char_device() => {
                Ok(Staged::Stream { named: path, bytes })
            }
            Ok(_) => {
                let target = fs::canonicalize(path).io("write", path)?;
                let content = beside(&target, bytes, mode).io("write", path)?;
                Ok(Staged::File { named: path, target, content })
            }
            Err(_) => {
                let content = beside(path, bytes, mode).map_err(|e| refused(path, &e))?;
                Ok(Staged::File { named: path, target: path.to_path_buf(), content })
            }
        }
    }

    fn commit(self) -> Result<()> {
        match self {
            Staged::File { named, target, content } => content
                .persist(&target)
                .map_err(|e| e.error)
                .and_then(|_| File::open(parent(&target))?.sync_all())
                .io("write", named),
            Staged::Stream { named, bytes } => {
                File::options().write(true).open(named).and_then(|mut f| f.write_all(bytes)).io("write", named)
            }
        }
    }
}

/// The content in a hidden file beside `path`, on the disk.
fn beside(path: &Path, bytes: &[u8], mode: u32) -> io::Result<NamedTempFile> {
    let file = unflushed(path, bytes, mode)?;
    file.as_file().sync_all()?;
    Ok(file)
}

fn unflushed(path: &Path, bytes: &[u8], mode: u32) -> io::Result<NamedTempFile> {
    if path.file_name().is_none() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let prefix = staged_prefix(path);
    // Created 0600: no other user reads a secret before the owner of the path decided its mode.
    let mut file = tempfile::Builder::new().prefix(&prefix).suffix(".tmp").tempfile_in(parent(path))?;
    file.write_all(bytes)?;
    file.as_file().set_permissions(Permissions::from_mode(mode))?;
    Ok(file)
}

/// The prefix of the temporary files beside `path`.
fn staged_prefix(path: &Path) -> String {
    format!(".{}.", path.file_name().unwrap_or_default().to_string_lossy())
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn refused(path: &Path, e: &io::Error) -> Problem {
    let problem = Problem::internal(format!("cannot write {}", path.display())).code(code::IO).because(e);
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
        replace_file(&path, b"three", 0o600).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"three");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
        assert_eq!(names(dir.path()), ["f"]);
    }

    #[test]
    fn a_directory_takes_the_place_of_another() {
        let dir = tempfile::tempdir().unwrap();
        let (new, path) = (dir.path().join("new"), dir.path().join("d"));
        for (content, left) in [("one", None), ("two", Some("one"))] {
            fs::create_dir(&new).unwrap();
            fs::write(new.join(content), "").unwrap();
            replace_directory(&new, &path).unwrap();
            assert_eq!(names(&path), [content]);
            assert_eq!(new.exists().then(|| names(&new)), left.map(|left| vec![left.to_owned()]));
            let _ = fs::remove_dir_all(&new);
        }
    }

    #[test]
    fn only_leftovers_of_killed_writers_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let staged = unflushed(&dir.path().join("f"), b"x", 0o600).unwrap().into_temp_path().keep().unwrap();
        for name in ["f", ".f.tmp", ".f2.abc.tmp", ".f.abc", "f.abc.tmp"] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        assert_eq!(names(dir.path()).len(), 6);
        clear_leftovers(&dir.path().join("f"));
        assert!(!staged.exists());
        assert_eq!(names(dir.path()), [".f.abc", ".f2.abc.tmp", "f", "f.abc.tmp"]);
        clear_leftovers(&dir.path().join("no/such"));
    }

    #[test]
    fn several_files_are_written_all_or_none() {
        let dir = tempfile::tempdir().unwrap();
        let texts: Vec<String> = (0..40).map(|i| format!("text {i}")).collect();
        let paths: Vec<PathBuf> = (0..40).map(|i| dir.path().join(format!("{}/{i}/f", i % 3))).collect();
        let files: Vec<_> = paths.iter().map(PathBuf::as_path).zip(texts.iter().map(String::as_bytes)).collect();
        write_files_with_parents(&files, 0o600).unwrap();
        assert!(files.iter().all(|(path, text)| fs::read(path).unwrap() == *text));
        write_files_with_parents(&[], 0o600).unwrap();
        let (new, wrong) = (dir.path().join("new/f"), dir.path().join("0/0"));
        let files = [(new.as_path(), b"x".as_slice()), (wrong.as_path(), b"x")];
        assert_eq!(write_files_with_parents(&files, 0o600).unwrap_err().exit_code(), 70);
        assert_eq!(names(dir.path()), ["0", "1", "2"]);
    }

    #[test]
    fn a_link_is_kept_and_its_target_replaced() {
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
    fn of_several_files_all_are_written_or_none() {
        let dir = tempfile::tempdir().unwrap();
        let (first, second) = (dir.path().join("a/f"), dir.path().join("b/f"));
        write_files_with_parents(&[(&first, b"1"), (&second, b"2")], 0o600).unwrap();
        fs::remove_file(&second).unwrap();
        fs::create_dir(&second).unwrap();
        let third = dir.path().join("c/f");
        write_files_with_parents(&[(&first, b"3"), (&third, b"3"), (&second, b"3")], 0o600).unwrap_err();
        assert_eq!(fs::read(&first).unwrap(), b"1");
        assert_eq!((names(dir.path()), names(&dir.path().join("a"))), (vec!["a".into(), "b".into()], vec!["f".into()]));
    }

    #[test]
    fn parents_are_created_and_removed_again_on_failure() {
        let dir = tempfile::tempdir().unwrap();
        write_file_with_parents(&dir.path().join("a/b/f"), b"x", 0o600).unwrap();
        assert_eq!(fs::read(dir.path().join("a/b/f")).unwrap(), b"x");
        let long = "n".repeat(300);
        assert!(write_file_with_parents(&dir.path().join("c/d").join(long), b"x", 0o600).is_err());
        assert_eq!(names(dir.path()), ["a"]);
    }
}
