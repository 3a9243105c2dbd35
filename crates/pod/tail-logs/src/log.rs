//! One log: how far it has been read, and what comes next in it.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::unistd::{Whence, lseek};

use crate::batch::Batch;
use crate::line::{Form, Format, division};
use crate::position::{MARKED, Position, mark, read_at};

/// So much is read from one log before the others get their turn.
const CHUNK: usize = 64 * 1024;

/// How lines are to be forwarded.
#[derive(Debug, Clone)]
pub(crate) struct Style {
    pub(crate) format: Format,
    /// A line that has more bytes is forwarded in parts.
    pub(crate) longest_line: usize,
}

impl Style {
    /// Memory that is enough for a piece of a log.
    pub(crate) fn buffer(&self) -> Vec<u8> {
        vec![0; MARKED + CHUNK.max(2 * self.longest_line)]
    }
}

/// A log.
#[derive(Debug)]
pub(crate) struct Log {
    pub(crate) position: Position,
    /// Lines come out in this form; nothing is forwarded of a log without one.
    form: Option<Form>,
    /// Nothing but zeros has been read: those with which a file starts that was truncated while its writer went on behind.
    is_leading: bool,
    /// The beginning of a line that has no end yet, by the file's size, and since when.
    pub(crate) unfinished: Option<(u64, Instant)>,
}

/// What reading has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// There may be more.
    More,
    /// This is all, for now.
    End,
}

/// What becomes of the beginning of a line that has no end yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rest {
    /// It is forwarded if nothing has been added to it for so long.
    TakeOld(Duration),
    /// It is forwarded.
    Take,
}

impl Log {
    /// The log at this position, which is forwarded unless it `is_silent`.
    pub(crate) fn new(position: Position, style: &Style, is_silent: bool) -> Log {
        let named = Path::new(OsStr::from_bytes(&position.path));
        let form = (!is_silent).then(|| Form::new(style.format, named));
        Log { is_leading: position.offset == 0, position, form, unfinished: None }
    }

    /// Reads on once, and adds the lines to the batch.
    pub(crate) fn read(
        &mut self,
        file: &File,
        style: &Style,
        rest: Rest,
        buffer: &mut [u8],
        batch: &mut Batch,
    ) -> io::Result<Found> {
        let before = self.position.offset.min(MARKED as u64) as usize;
        let n = read_at(file, buffer, self.position.offset - before as u64)?;
        if n < before || mark(&buffer[..before]) != self.position.mark {
            // It was cut, or written anew: what is in it now is new.
            self.restart();
            return Ok(Found::More);
        }
        let new = &buffer[before..n];
        if new.is_empty() {
            self.unfinished = None;
            return Ok(Found::End);
        }
        if self.is_hole(new) {
            let end = skip_zeros(file, new, self.position.offset)?;
            let mut marked = [0; MARKED];
            let marked = &mut marked[..end.min(MARKED as u64) as usize];
            let n = read_at(file, marked, end - marked.len() as u64)?;
            self.position = Position { mark: mark(&marked[..n]), offset: end, ..self.position.clone() };
            return Ok(Found::More);
        }
        let is_full = n == buffer.len();
        self.is_leading = false;
        let size = self.position.offset + new.len() as u64;
        let is_taken = match rest {
            Rest::Take => !is_full,
            Rest::TakeOld(age) => self.unfinished.is_some_and(|(known, since)| known == size && since.elapsed() >= age),
        };
        let used = self.lines(new, style, is_taken, batch);
        let rest = new.len() - used;
        if used > 0 {
            self.position.offset += used as u64;
            let end = before + used;
            self.position.mark = mark(&buffer[end - end.min(MARKED)..end]);
        }
        let is_more = is_full || (rest < new.len() && self.is_hole(&new[used..]));
        if rest == 0 || is_more {
            self.unfinished = None;
        } else {
            if self.unfinished.is_none_or(|(before, _)| before != size) {
                self.unfinished = Some((size, Instant::now()));
            }
        }
        Ok(if is_more { Found::More } else { Found::End })
    }

    /// Whether what begins here is no line but what is left of one that was cut away.
    fn is_hole(&self, new: &[u8]) -> bool {
        new.first() == Some(&0) && (self.is_leading || self.position.has_holes)
    }

    /// Adds the lines in `new`; gives how many of its bytes they are.
    fn lines(&self, new: &[u8], style: &Style, all: bool, batch: &mut Batch) -> usize {
        let mut used = 0;
        loop {
            let rest = &new[used..];
            if self.is_hole(rest) {
                return used;
            }
            let is_end = |byte: &u8| *byte == b'\n' || (*byte == 0 && self.position.has_holes);
            let end = rest.iter().position(is_end);
            let length = end.unwrap_or(rest.len());
            let (line, taken, is_part) = if let Some(end) = end.filter(|end| rest[*end] == 0) {
                // The rest of the line is behind a hole.
                (&rest[..end], end, true)
            } else if length > style.longest_line {
                let length = division(rest, style.longest_line);
                (&rest[..length], length, true)
            } else if let Some(end) = end {
                (&rest[..end], end + 1, false)
            } else if all && !rest.is_empty() {
                (rest, rest.len(), true)
            } else {
                return used;
            };
            if let Some(form) = &self.form {
                batch.line(|into| form.write(line, is_part, into));
            }
            used += taken;
        }
    }

    fn restart(&mut self) {
        self.position = self.position.clone().restarted();
        self.unfinished = None;
    }

    /// So many bytes were cut from the file's beginning.
    pub(crate) fn move_back(&mut self, cut: u64) {
        self.position.offset -= cut;
        self.position.has_holes = true;
        self.unfinished = None;
    }
}

/// The end of the zeros at which `new` begins. A hole is stepped over, however large.
fn skip_zeros(file: &File, new: &[u8], offset: u64) -> io::Result<u64> {
    if let Some(zeros) = new.iter().position(|byte| *byte != 0) {
        return Ok(offset + zeros as u64);
    }
    let end = offset + new.len() as u64;
    let Ok(from) = i64::try_from(end) else { return Ok(end) };
    match lseek(file, from, Whence::SeekData) {
        Ok(data) => Ok(u64::try_from(data).unwrap_or(end).max(end)),
        // Nothing but a hole up to the end, or a file system that knows of none.
        Err(Errno::ENXIO) => Ok(file.metadata()?.len().max(end)),
        Err(_) => Ok(end),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::FileExt;

    use super::*;

    struct Case {
        file: File,
        log: Log,
        style: Style,
    }

    impl Case {
        fn new(longest_line: usize) -> Case {
            let style = Style { format: Format::Text, longest_line };
            let file = tempfile::tempfile().unwrap();
            let log = Log::new(Position::start(&file, Path::new("x")), &style, false);
            Case { file, log, style }
        }

        fn append(&mut self, text: &[u8]) {
            self.file.write_all(text).unwrap();
        }

        /// What comes out, without the log's name.
        fn read(&mut self, all: bool) -> String {
            let mut buffer = self.style.buffer();
            let mut batch = Batch::default();
            let rest = if all { Rest::Take } else { Rest::TakeOld(Duration::MAX) };
            while self.log.read(&self.file, &self.style, rest, &mut buffer, &mut batch).unwrap() == Found::More {}
            batch.text().replace("[x] ", "")
        }
    }

    #[test]
    fn a_line_is_passed_on_when_it_has_its_end() {
        let mut case = Case::new(1000);
        case.append(b"one\ntw");
        assert_eq!(case.read(false), "one\n");
        assert_eq!(case.log.unfinished.unwrap().0, 6);
        case.append(b"o\n\n");
        assert_eq!(case.read(false), "two\n\n");
        assert_eq!((case.log.position.offset, case.log.unfinished), (9, None));
        case.append(b"rest");
        assert_eq!(case.read(true), "rest\n");
        case.append(b" of it\n");
        assert_eq!(case.read(false), " of it\n");
    }

    #[test]
    fn long_lines_come_in_parts_with_every_byte() {
        let mut case = Case::new(1000);
        let text = [&[b'a'; 1000][..], b"\n", &[b'b'; 300_500], b"\n", &[b'c'; 2_500]].concat();
        case.append(&text);
        let read = case.read(false);
        assert!(read.lines().all(|line| line.len() <= 1000));
        assert_eq!(read.lines().filter(|l| l.starts_with('b')).map(str::len).sum::<usize>(), 300_500);
        assert_eq!(read.matches('c').count(), 2000);
        assert_eq!(read.lines().next().unwrap().len(), 1000);
        assert_eq!(case.read(true).len(), 501);
    }

    #[test]
    fn a_file_that_was_cut_or_written_anew_is_read_from_its_start() {
        let mut case = Case::new(1000);
        case.append(b"one\ntwo\n");
        assert_eq!(case.read(false), "one\ntwo\n");
        case.file.set_len(0).unwrap();
        case.file = case.file.try_clone().unwrap();
        std::io::Seek::rewind(&mut case.file).unwrap();
        case.append(b"three\n");
        assert_eq!(case.read(false), "three\n");
        // As long as before, and more.
        case.file.set_len(0).unwrap();
        std::io::Seek::rewind(&mut case.file).unwrap();
        case.append(b"other\nand more\n");
        assert_eq!(case.read(false), "other\nand more\n");
        assert_eq!(case.read(false), "");
    }

    #[test]
    fn a_hole_at_the_start_is_stepped_over() {
        let mut case = Case::new(1000);
        case.file.write_all_at(b"late\n\0zero\n", 1 << 40).unwrap();
        assert_eq!(case.read(false), "late\n\0zero\n");
        let mut case = Case::new(1000);
        case.append(b"a\n\0\0b\n");
        assert_eq!(case.read(false), "a\n\0\0b\n");
        // Cut while a writer without O_APPEND goes on where it was, more than once.
        case.file.set_len(0).unwrap();
        case.append(b"later\n");
        case.file.write_all_at(b"between\n", 5_000).unwrap();
        case.file.write_all_at(b"after\nhal", 300_000).unwrap();
        case.file.write_all_at(b"f\n", 3_000_000).unwrap();
        assert_eq!(case.read(false), "later\nbetween\nafter\nhal\nf\n");
    }
}
