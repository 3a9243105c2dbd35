//! How far a log file was read, and whether a file is still the one that was read.

use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

/// The number of bytes before the offset that tell whether a log is still the same.
pub(crate) const MARKED: usize = 256;

/// A file wherever it is, whatever it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileId {
    pub(crate) dev: u64,
    pub(crate) ino: u64,
}

/// How far a log has been read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Position {
    /// Everything before was forwarded.
    pub(crate) offset: u64,
    /// Tells whether what comes before is still the same.
    pub(crate) mark: u64,
    /// When the file was made, in nanoseconds since 1970, where the file system knows: another one may get its number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) born: Option<u64>,
    /// The path that its lines are said to be from, below the directory of logs: its first one.
    #[serde(with = "bytes_as_text")]
    pub(crate) path: Vec<u8>,
    /// So many bytes are about to be cut from its beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cut: Option<u64>,
    /// It was cut or truncated: a writer that does not append has left zeros where it went on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) has_holes: bool,
}

impl Position {
    /// The beginning of a file whose lines are said to be from this path.
    pub(crate) fn start(file: &File, path: &Path) -> Position {
        let path = path.as_os_str().as_bytes().to_vec();
        Position { offset: 0, mark: mark(&[]), born: born(file), path, cut: None, has_holes: false }
    }

    /// The same file from its beginning on: it was truncated.
    pub(crate) fn restarted(self) -> Position {
        Position { offset: 0, mark: mark(&[]), cut: None, has_holes: true, ..self }
    }

    /// Whether this may be the file.
    pub(crate) fn is_of(&self, file: &File) -> bool {
        !matches!((self.born, born(file)), (Some(then), Some(now)) if then != now)
    }

    /// What a predecessor's position means in this file, which has the same number; nothing if it is another one.
    pub(crate) fn found_in(self, file: &File) -> Option<Position> {
        if !self.is_of(file) {
            return None;
        }
        let as_it_was = Position { cut: None, ..self.clone() };
        if as_it_was.is_continued_by(file).is_ok_and(|is| is) {
            return Some(as_it_was);
        }
        // It was about to be cut when the predecessor ended.
        if let Some(offset) = self.cut.and_then(|cut| self.offset.checked_sub(cut)) {
            let moved = Position { offset, has_holes: true, ..as_it_was };
            if moved.is_continued_by(file).is_ok_and(|is| is) {
                return Some(moved);
            }
        }
        // It was truncated; if that cannot be told from another file with the same number, it is one.
        (self.born.is_some() && born(file).is_some()).then(|| self.restarted())
    }

    /// Whether what comes before in this file is what was read.
    pub(crate) fn is_continued_by(&self, file: &File) -> io::Result<bool> {
        let before = self.offset.min(MARKED as u64) as usize;
        let mut bytes = [0; MARKED];
        let n = read_at(file, &mut bytes[..before], self.offset - before as u64)?;
        Ok(n == before && mark(&bytes[..before]) == self.mark)
    }
}

fn born(file: &File) -> Option<u64> {
    let born = file.metadata().ok()?.created().ok()?.duration_since(UNIX_EPOCH).ok()?;
    u64::try_from(born.as_nanos()).ok()
}

/// Reads until the buffer is full or the file ends.
pub(crate) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut n = 0;
    while n < buffer.len() {
        match file.read_at(&mut buffer[n..], offset + n as u64) {
            Ok(0) => break,
            Ok(more) => n += more,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(n)
}

/// A number for some bytes that is most likely another one for others (FNV-1a), the same in every version of this program.
pub(crate) fn mark(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Names need not be UTF-8: each byte is the character with its number.
mod bytes_as_text {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&bytes.iter().map(|byte| char::from(*byte)).collect::<String>())
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.chars().map(u8::try_from).collect::<Result<_, _>>().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// The position at the end of a file.
    fn at_end(file: &File) -> Position {
        let mut bytes = vec![0; MARKED];
        let size = file.metadata().unwrap().len();
        let n = read_at(file, &mut bytes, size - MARKED as u64).unwrap();
        Position { offset: size, mark: mark(&bytes[..n]), ..Position::start(file, Path::new("x")) }
    }

    #[test]
    fn the_same_file_is_recognised() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[b'x'; 500]).unwrap();
        file.write_all(b"\nend\n").unwrap();
        let position = at_end(&file);
        assert_eq!(position.clone().found_in(&file), Some(position.clone()));
        // Cut by a predecessor that did not live to note it.
        let announced = Position { cut: Some(5), ..position.clone() };
        assert_eq!(announced.clone().found_in(&file), Some(position.clone()));
        let mut cut = tempfile::tempfile().unwrap();
        cut.write_all(&[&[b'x'; 495][..], b"\nend\nmore\n"].concat()).unwrap();
        let announced = Position { born: born(&cut), ..announced };
        assert_eq!(announced.found_in(&cut).unwrap().offset, 500);
        let unborn = Position { born: None, ..position.clone() };
        assert_eq!(unborn.clone().found_in(&file), Some(unborn.clone()));
        // Truncated and written anew, or another file with the same number: only its birth tells.
        file.write_all_at(b"END\n", 501).unwrap();
        assert_eq!(unborn.found_in(&file), None);
        if position.born.is_some() {
            assert_eq!(position.clone().found_in(&file).unwrap().offset, 0);
            assert_eq!(Position { born: Some(1), ..position }.found_in(&file), None);
        }
    }
}
