//! The files that terraform writes its output into, read while it runs. They are in memory: a full disk is reported, too, and no
//! secret is on it.

use std::fs::File;
use std::io::{self, Seek};
use std::os::unix::fs::FileExt;

use nix::fcntl::{FallocateFlags, fallocate};
use nix::sys::memfd::{MFdFlags, memfd_create};

/// A line is at most this long; the rest of a longer one is another line.
const LONGEST_LINE: usize = 64 << 10;

/// So much of the beginning and of the end is kept.
const KEPT: usize = 32 << 10;

/// Space is given back in pieces of this size.
const PIECE: u64 = 1 << 20;

/// A stream that is being written.
#[derive(Debug)]
pub(crate) struct Stream {
    file: File,
    read: u64,
    freed: u64,
    line: Vec<u8>,
    /// The first and the last lines.
    head: Vec<u8>,
    tail: Vec<u8>,
    is_cut: bool,
}

impl Stream {
    /// Creates the file.
    pub(crate) fn create() -> io::Result<Stream> {
        let file = File::from(memfd_create(c"terraform-output", MFdFlags::MFD_CLOEXEC)?);
        Ok(Stream { file, read: 0, freed: 0, line: Vec::new(), head: Vec::new(), tail: Vec::new(), is_cut: false })
    }

    /// The whole file, to be read from its beginning.
    pub(crate) fn into_file(mut self) -> io::Result<File> {
        self.file.rewind()?;
        Ok(self.file)
    }

    /// The end that terraform writes to.
    pub(crate) fn writer(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Reads what has been written since the last call, and gives each complete line.
    pub(crate) fn follow(&mut self, each: &mut dyn FnMut(&str)) -> io::Result<()> {
        let mut buffer = vec![0; LONGEST_LINE];
        loop {
            let count = self.file.read_at(&mut buffer, self.read)?;
            if count == 0 {
                break;
            }
            self.read += count as u64;
            for byte in &buffer[..count] {
                if *byte == b'\n' || self.line.len() >= LONGEST_LINE {
                    self.end_line(each);
                }
                if *byte != b'\n' {
                    self.line.push(*byte);
                }
            }
            self.free();
        }
        Ok(())
    }

    /// The rest of the stream; then what is kept of it.
    pub(crate) fn finish(mut self, each: &mut dyn FnMut(&str)) -> io::Result<String> {
        self.follow(each)?;
        if !self.line.is_empty() {
            self.end_line(each);
        }
        let mut text = String::from_utf8_lossy(&self.head).into_owned();
        if self.is_cut {
            text.push_str("...\n");
        }
        text.push_str(&String::from_utf8_lossy(&self.tail));
        Ok(text)
    }

    fn end_line(&mut self, each: &mut dyn FnMut(&str)) {
        let mut line = without_colors(&std::mem::take(&mut self.line));
        each(&String::from_utf8_lossy(&line));
        line.push(b'\n');
        if self.tail.is_empty() && self.head.len() + line.len() <= KEPT {
            self.head.extend(line);
            return;
        }
        self.tail.extend(line);
        if self.tail.len() > KEPT {
            self.is_cut = true;
            let from = self.tail.len() - KEPT;
            let start = self.tail[from..].iter().position(|byte| *byte == b'\n').map_or(from, |at| from + at + 1);
            self.tail.drain(..start);
        }
    }

    /// Gives back the space of what has been read.
    fn free(&mut self) {
        let (from, pieces) = (self.freed, (self.read - self.freed) / PIECE);
        let flags = FallocateFlags::FALLOC_FL_PUNCH_HOLE | FallocateFlags::FALLOC_FL_KEEP_SIZE;
        if pieces > 0 {
            self.freed += pieces * PIECE;
            let _ = fallocate(&self.file, flags, from as i64, (pieces * PIECE) as i64);
        }
    }
}

/// A line without the sequences that set colors: some commands print them wherever they print to.
fn without_colors(line: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(line.len());
    let mut rest = line;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first == 0x1b && after.first() == Some(&b'[') {
            let end = after[1..].iter().position(|byte| (0x40..=0x7e).contains(byte));
            rest = end.map_or(&[], |end| &after[end + 2..]);
        } else {
            plain.push(*first);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn both_ends_of_a_long_output_are_kept() {
        let mut stream = Stream::create().unwrap();
        let mut writer = stream.writer().unwrap();
        let mut lines = 0;
        for number in 0..40_000 {
            writeln!(writer, "line {number} {}", "x".repeat(100)).unwrap();
            if number % 1000 == 0 {
                stream.follow(&mut |_| lines += 1).unwrap();
            }
        }
        write!(writer, "the end").unwrap();
        let blocks = writer.metadata().unwrap().blocks();
        let text = stream.finish(&mut |_| lines += 1).unwrap();
        assert_eq!(lines, 40_001);
        assert!(text.starts_with("line 0 x") && text.ends_with("\nthe end\n") && text.contains("\n...\nline "));
        assert!(text.len() < 2 * KEPT + 300, "{}", text.len());
        assert!(blocks * 512 < 4 << 20, "the space of what was read is free: {blocks} blocks");
    }

    #[test]
    fn colors_are_left_out() {
        assert_eq!(without_colors(b"\x1b[31m\x1b[1;4mError: \x1b[0mno[1]\x1b[0"), b"Error: no[1]");
    }

    #[test]
    fn a_line_without_an_end_is_bounded() {
        let stream = Stream::create().unwrap();
        stream.writer().unwrap().write_all(&vec![b'x'; 10 * LONGEST_LINE]).unwrap();
        let mut longest = 0;
        stream.finish(&mut |line| longest = longest.max(line.len())).unwrap();
        assert_eq!(longest, LONGEST_LINE);
    }
}
