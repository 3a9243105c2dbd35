//! Log files that a program running as root opens in directories that belong to jobs.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::libc;
use nix::unistd::{Gid, Uid};
use problem::{IoContext, Problem, Result, code};

use crate::own_dir::refused;
use crate::owner::fchown_where_possible;

/// Opens a log file for appending, making it where it is missing, with this mode and owner.
///
/// No link is followed, no file taken that has a second name, no pipe waited for: a job could have put any of them there.
pub fn open_log(path: &Path, mode: u32, owner: (Uid, Gid)) -> Result<File> {
    let opened = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(mode)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path);
    let file = match opened {
        Err(e) if e.raw_os_error() == Some(libc::ELOOP) => return Err(refused(path, &e).into()),
        other => other.io("open", path)?,
    };
    let meta = file.metadata().io("open", path)?;
    let unfit = match (meta.is_file(), meta.nlink()) {
        (false, _) => Some("it is not a file"),
        (true, 2..) => Some("it is somewhere else, too"),
        _ => None,
    };
    if let Some(why) = unfit {
        return Err(Problem::internal(format!("cannot open {}", path.display())).code(code::IO).because(why).into());
    }
    fchown_where_possible(&file, owner).io("change the owner of", path)?;
    // Somebody else's file that may be written is good enough.
    let _ = file.set_permissions(Permissions::from_mode(mode));
    Ok(file)
}

/// How many of the last lines of stdout and of stderr are reported, and at most how many bytes of each line and of all.
const MAX_LINES: [usize; 2] = [5, 10];
const MAX_LINE: usize = 200;
const MAX_TAIL: usize = 1200;

/// The end of what a program writes into its log files: for the report about its failure.
#[derive(Debug, Clone, Default)]
pub struct OutputTail {
    /// The files of stdout and stderr, with their sizes before the program was started.
    files: Vec<(PathBuf, u64)>,
}

impl OutputTail {
    /// The output that these files get from now on.
    pub fn begin(stdout: PathBuf, stderr: PathBuf) -> OutputTail {
        let size = |path: &Path| path.symlink_metadata().map_or(0, |meta| meta.len());
        OutputTail { files: [stdout, stderr].into_iter().map(|path| (path.clone(), size(&path))).collect() }
    }

    /// The last lines of stdout, then those of stderr. A file that cannot be read has none.
    pub fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for ((path, from), count) in self.files.iter().zip(MAX_LINES) {
            let text = read_end(path, *from).unwrap_or_default();
            let all: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
            lines.extend(all[all.len().saturating_sub(count)..].iter().map(|line| printable(line)));
        }
        while lines.iter().map(|line| line.len() + 1).sum::<usize>() > MAX_TAIL {
            lines.remove(0);
        }
        lines
    }

    /// The lines as the end of a message; empty if there are none.
    pub fn message(&self) -> String {
        tail_message(&self.lines())
    }
}

/// The last lines of an output as the end of a message; empty if there are none.
pub fn tail_message(lines: &[String]) -> String {
    if lines.is_empty() { String::new() } else { format!("; the end of its output:\n{}", lines.join("\n")) }
}

/// The end of a file behind this place; of a file that has been rotated since, its end.
fn read_end(path: &Path, from: u64) -> std::io::Result<String> {
    const MOST: u64 = 16 * 1024;
    // A job could have put a link to a file of others in its place.
    let mut file = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Ok(String::new());
    }
    let from = if from > meta.len() { 0 } else { from };
    file.seek(SeekFrom::Start(from.max(meta.len().saturating_sub(MOST))))?;
    let mut bytes = Vec::new();
    file.take(MOST).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A line without control characters, and not too long.
fn printable(line: &str) -> String {
    let text: String = line.chars().map(|c| if c == '\t' || !c.is_control() { c } else { '\u{fffd}' }).collect();
    match (0..=MAX_LINE.min(text.len())).rev().find(|at| text.is_char_boundary(*at)) {
        Some(end) if end < text.len() => format!("{}...", &text[..end]),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_log_file_is_appended_to_and_gets_its_mode() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.log");
        fs::write(&path, "before\n").unwrap();
        let mut file = open_log(&path, 0o600, (Uid::effective(), Gid::effective())).unwrap();
        file.write_all(b"after\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "before\nafter\n");
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn the_end_of_an_output_is_what_was_written_since_and_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let [out, err] = ["out.log", "err.log"].map(|name| dir.path().join(name));
        fs::write(&out, "an earlier run\n").unwrap();
        let tail = OutputTail::begin(out.clone(), err.clone());
        assert_eq!((tail.lines(), tail.message().as_str()), (Vec::new(), ""));
        fs::write(&out, "an earlier run\none\n\n  two \n").unwrap();
        fs::write(&err, "\u{1b}[31mred\n").unwrap();
        assert_eq!(tail.lines(), ["one", "  two", "\u{fffd}[31mred"]);
        assert!(tail.message().starts_with("; the end of its output:\none\n"), "{}", tail.message());
        // Rotated since.
        fs::write(&out, "new\n").unwrap();
        assert_eq!(tail.lines()[0], "new");
        fs::write(&err, format!("{}\nlast\n", "\u{20ac}".repeat(400)).repeat(100)).unwrap();
        let lines = tail.lines();
        assert!(lines.iter().map(String::len).sum::<usize>() <= MAX_TAIL && lines.len() > 4, "{lines:?}");
        assert_eq!(lines.last().unwrap(), "last");
        fs::remove_file(&err).unwrap();
        symlink("/etc/passwd", &err).unwrap();
        assert_eq!(tail.lines(), ["new"]);
    }

    #[test]
    fn links_and_pipes_are_refused_whatever_their_target() {
        let dir = tempfile::tempdir().unwrap();
        let [link, pipe, file, twin] = ["link", "pipe", "file", "twin"].map(|name| dir.path().join(name));
        symlink(dir.path().join("target"), &link).unwrap();
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let open = |path| open_log(path, 0o600, (Uid::effective(), Gid::effective())).unwrap_err().to_string();
        assert!(open(&link).starts_with("error: refusing to open symlink at "));
        assert!(open(&pipe).starts_with("error: cannot open "));
        fs::write(&file, "somebody else's").unwrap();
        fs::hard_link(&file, &twin).unwrap();
        assert!(open(&twin).ends_with("it is somewhere else, too"));
        assert!(!dir.path().join("target").exists());
    }
}
