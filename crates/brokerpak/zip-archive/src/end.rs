//! The end of an archive: how many entries it has, before a directory of any size is read into memory.

use std::io::{self, Read, Seek, SeekFrom};

/// The record at the end without its comment.
const RECORD: usize = 22;
/// The longest comment.
const COMMENT: u64 = 0xFFFF;

/// The number of entries that the end of the archive declares.
///
/// # Errors
/// A file that is not a zip archive, and one with more than 65,534 entries, which have another format.
pub(crate) fn count(file: &mut (impl Read + Seek)) -> io::Result<u64> {
    let length = file.seek(SeekFrom::End(0))?;
    let tail = length.min(COMMENT + RECORD as u64);
    file.seek(SeekFrom::Start(length - tail))?;
    let mut bytes = Vec::new();
    file.take(tail).read_to_end(&mut bytes)?;
    file.seek(SeekFrom::Start(0))?;
    let invalid = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what);
    let starts = (0..(bytes.len() + 1).saturating_sub(RECORD)).rev();
    let number = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
    // The record whose comment reaches exactly to the end.
    let record = starts.into_iter().find(|&at| {
        bytes[at..].starts_with(b"PK\x05\x06") && usize::from(number(at + 20)) == bytes.len() - at - RECORD
    });
    let at = record.ok_or_else(|| invalid("it is not a zip archive, or is truncated"))?;
    match number(at + 10) {
        0xFFFF => Err(invalid("it has more than 65,534 entries")),
        count => Ok(count.into()),
    }
}
