//! The lines of log files in the order of their times, and then those that are added.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use problem::{IoContext, Result};
use serde::{Deserialize, Serialize};

use super::line_time;

/// How much of a file is searched for the time of its first lines.
const MAX_HEAD: u64 = 64 * 1024;

/// A line of a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Line {
    /// Since 1970. A line that does not say when it was logged has the time of the line before it, the first ones of a file that of the
    /// line behind them. The lines of a file without any time have that of its last change.
    pub(super) time: Duration,
    /// The instance and the file.
    pub(super) label: String,
    /// Without its end.
    pub(super) text: String,
}

/// Which lines of the files that exist are shown.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Limits {
    /// Only those logged since then.
    pub(super) since: Option<Duration>,
    /// Only the last ones of each file.
    pub(super) count: Option<usize>,
}

/// A stream of lines: those of a file, or those that another process has merged.
pub(super) type Lines<'a> = Box<dyn Iterator<Item = Result<Line>> + 'a>;

/// Passes the lines of all streams on, by time, until `show` returns false, as this does then. Each stream keeps its own order.
pub(super) fn merge(mut streams: Vec<Lines>, mut show: impl FnMut(Line) -> Result<bool>) -> Result<bool> {
    let mut heads: Vec<Option<Line>> = Vec::new();
    let mut next = BinaryHeap::new();
    for (at, stream) in streams.iter_mut().enumerate() {
        let head = stream.next().transpose()?;
        next.extend(head.as_ref().map(|line| Reverse((line.time, at))));
        heads.push(head);
    }
    while let Some(Reverse((_, at))) = next.pop() {
        let following = streams[at].next().transpose()?;
        next.extend(following.as_ref().map(|line| Reverse((line.time, at))));
        if let Some(line) = std::mem::replace(&mut heads[at], following)
            && !show(line)?
        {
            return Ok(false);
        }
    }
    Ok(true)
}

/// How far a file has been read.
#[derive(Debug, Clone, Copy)]
struct Position {
    inode: u64,
    at: u64,
}

/// Remembers how far each file has been read.
#[derive(Debug, Default)]
pub(super) struct Reader {
    positions: HashMap<PathBuf, Position>,
}

impl Reader {
    /// The lines that a file has now, oldest first; they count as read. None if the path is not a file.
    pub(super) fn lines(&mut self, label: &str, vcap: &Path, path: &str, limits: Limits) -> Result<Lines<'static>> {
        let Some(file) = open(vcap, path)? else { return Ok(Box::new(std::iter::empty())) };
        let path = vcap.join(path);
        let meta = file.metadata().io("read", &path)?;
        let end = end_of_last_line(&file, meta.len()).io("read", &path)?;
        self.positions.insert(path.clone(), Position { inode: meta.ino(), at: end });
        let changed = meta.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
        let start = first_time(&file).io("read", &path)?.unwrap_or(changed);
        let lines = FileLines { label: label.to_owned(), path, time: start, lines: BufReader::new(file.take(end)) };
        let lines = lines
            .filter(move |line| line.as_ref().map_or(true, |line| limits.since.is_none_or(|since| line.time >= since)));
        let Some(count) = limits.count else { return Ok(Box::new(lines)) };
        let mut last = VecDeque::new();
        for line in lines {
            last.push_back(line?);
            if last.len() > count {
                last.pop_front();
            }
        }
        Ok(Box::new(last.into_iter().map(Ok)))
    }

    /// The lines that were added to a file; an incomplete line waits for its end.
    pub(super) fn added(&mut self, label: &str, vcap: &Path, path: &str) -> Result<Vec<Line>> {
        let Some(mut file) = open(vcap, path)? else { return Ok(Vec::new()) };
        let path = vcap.join(path);
        let meta = file.metadata().io("read", &path)?;
        let new = Position { inode: meta.ino(), at: 0 };
        let mut position = self.positions.get(&path).copied().unwrap_or(new);
        // Rotated by renaming or by truncating.
        if position.inode != meta.ino() || position.at > meta.len() {
            position = new;
        }
        let now = std::time::SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let end = end_of_last_line(&file, meta.len()).io("read", &path)?.max(position.at);
        file.seek(SeekFrom::Start(position.at)).io("read", &path)?;
        let lines = BufReader::new(file.take(end - position.at));
        position.at = end;
        self.positions.insert(path.clone(), position);
        FileLines { label: label.to_owned(), path, time: now, lines }.collect()
    }
}

/// The file, if there is one: jobs can create anything there, a link, a pipe, a socket.
pub(super) fn open(vcap: &Path, path: &str) -> Result<Option<File>> {
    let file = match sandbox::open_beneath(vcap, Path::new(path)) {
        Err(e) if is_nothing(&e) => return Ok(None),
        other => other.io("read", &vcap.join(path))?,
    };
    let is_file = file.metadata().io("read", &vcap.join(path))?.is_file();
    Ok(is_file.then_some(file))
}

/// Whether there is nothing to read.
pub(super) fn is_nothing(e: &io::Error) -> bool {
    use nix::libc::{ELOOP, ENOENT, ENOTDIR, ENXIO};
    matches!(e.raw_os_error(), Some(ENOENT | ENOTDIR | ELOOP | ENXIO))
}

/// Where the last complete line of the first `length` bytes ends. The file's own position is its start again.
fn end_of_last_line(mut file: &File, length: u64) -> io::Result<u64> {
    const BLOCK: u64 = 64 * 1024;
    let mut end = length;
    let mut block = Vec::new();
    while end > 0 {
        let start = end.saturating_sub(BLOCK);
        file.seek(SeekFrom::Start(start))?;
        block.clear();
        file.take(end - start).read_to_end(&mut block)?;
        if let Some(at) = block.iter().rposition(|byte| *byte == b'\n') {
            end = start + at as u64 + 1;
            break;
        }
        end = start;
    }
    file.rewind()?;
    Ok(end)
}

/// The first time of a file. The file's own position is its start again.
fn first_time(mut file: &File) -> io::Result<Option<Duration>> {
    let mut found = None;
    for line in BufReader::new(file.take(MAX_HEAD)).split(b'\n') {
        found = line_time::of_line(&String::from_utf8_lossy(&line?));
        if found.is_some() {
            break;
        }
    }
    file.rewind()?;
    Ok(found)
}

/// The lines of a file.
struct FileLines {
    label: String,
    path: PathBuf,
    /// That of the last line.
    time: Duration,
    lines: BufReader<io::Take<File>>,
}

impl Iterator for FileLines {
    type Item = Result<Line>;

    fn next(&mut self) -> Option<Result<Line>> {
        let mut line = Vec::new();
        match self.lines.read_until(b'\n', &mut line).io("read", &self.path) {
            Ok(0) => None,
            Ok(_) => {
                let text = String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']).to_owned();
                self.time = line_time::of_line(&text).unwrap_or(self.time);
                Some(Ok(Line { time: self.time, label: self.label.clone(), text }))
            }
            Err(problems) => Some(Err(problems)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn texts(reader: &mut Reader, directory: &Path, files: &[&str], limits: Limits) -> Vec<String> {
        let streams = files.iter().map(|file| reader.lines(file, directory, file, limits).unwrap()).collect();
        let mut texts = Vec::new();
        merge(streams, |line| {
            texts.push(line.text);
            Ok(true)
        })
        .unwrap();
        texts
    }

    #[test]
    fn lines_of_several_files_are_in_the_order_of_their_times() {
        let directory = tempfile::tempdir().unwrap();
        let d = directory.path();
        fs::write(d.join("a"), "first\n2026-01-01T00:00:01Z a1\n  more of a1\n2026-01-01T00:00:03Z a3\nincompl")
            .unwrap();
        fs::write(d.join("b"), "2026/01/01 00:00:02 b2\r\n2026/01/01 00:00:04 b4\n").unwrap();
        // The last change of this file is now.
        fs::write(d.join("c"), "without a time\n").unwrap();
        let mut reader = Reader::default();
        let files = ["a", "b", "c", "missing"];
        let all = texts(&mut reader, d, &files, Limits::default());
        let expected =
            ["first", "2026-01-01T00:00:01Z a1", "  more of a1", "2026/01/01 00:00:02 b2", "2026-01-01T00:00:03Z a3"];
        assert_eq!(all[..5], expected);
        assert_eq!(all[5..], ["2026/01/01 00:00:04 b4", "without a time"]);

        let count = Limits { count: Some(1), since: None };
        let last = ["2026-01-01T00:00:03Z a3", "2026/01/01 00:00:04 b4", "without a time"];
        assert_eq!(texts(&mut reader, d, &files, count), last);
        let since = Limits { count: None, since: line_time::parse_time("2026-01-01T00:00:04Z") };
        assert_eq!(texts(&mut reader, d, &files, since), last[1..]);
    }

    #[test]
    fn what_was_read_is_not_read_again() {
        let directory = tempfile::tempdir().unwrap();
        let d = directory.path();
        fs::write(d.join("a"), "one\ntw").unwrap();
        let mut reader = Reader::default();
        assert_eq!(texts(&mut reader, d, &["a"], Limits::default()), ["one"]);
        fs::write(d.join("a"), "one\ntwo\nthr").unwrap();
        let mut added = || reader.added("a", d, "a").unwrap().into_iter().map(|line| line.text).collect::<Vec<_>>();
        assert_eq!(added(), ["two"]);
        assert_eq!(added(), Vec::<String>::new());
        fs::write(d.join("a"), "new\n").unwrap();
        assert_eq!(added(), ["new"], "truncated");
    }
}
