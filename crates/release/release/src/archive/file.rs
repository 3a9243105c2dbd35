//! The file of an archive: recognised, decompressed, and abandoned when the user interrupts.

use std::fs::File;
use std::io::{self, Read, Seek};

use flate2::read::MultiGzDecoder;

use crate::cache::Stop;

/// Offset and bytes of a tar archive's magic number.
const MARK: (usize, &[u8]) = (257, b"ustar");
const GZIP: &[u8] = &[0x1f, 0x8b];
/// BOSH: `tar -xf`, which knows these too. Its own tools make none.
const OTHERS: [(&[u8], &str); 3] =
    [(b"BZh", "bzip2"), (&[0xfd, b'7', b'z', b'X', b'Z', 0], "xz"), (&[0x28, 0xb5, 0x2f, 0xfd], "zstd")];

/// What can take its time: a large file, or little that becomes much when it is decompressed.
pub(crate) struct Stoppable<'a, R> {
    pub(crate) read: R,
    pub(crate) stop: Stop<'a>,
}

impl<R: Read> Read for Stoppable<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if (self.stop)() {
            // Not the kind that is called so, upon which a read is tried again.
            return Err(io::Error::other("interrupted"));
        }
        self.read.read(buffer)
    }
}

/// Content that is not longer than this many bytes.
struct Limited<R> {
    read: R,
    left: u64,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.read.read(buffer)?;
        self.left = self.left.checked_sub(length as u64).ok_or_else(|| {
            io::Error::other(format!(
                "it unpacks to more than {MAX_RATIO} times its size, as an archive does that is to fill disks"
            ))
        })?;
        Ok(length)
    }
}

/// How many times its size an archive may unpack to; source code and programs unpack to less than ten times theirs.
const MAX_RATIO: u64 = 100;
/// What any archive may unpack to.
const SMALL: u64 = 64 << 20;

/// The maximum number of bytes that an archive of this length may unpack to.
fn max_unpacked(length: u64) -> u64 {
    length.saturating_mul(MAX_RATIO).saturating_add(SMALL)
}

pub(crate) type ArchiveFile<'a> = Stoppable<'a, File>;

/// What an archive holds, one after the other.
pub(crate) type Content<'a> = Stoppable<'a, Box<dyn Read>>;

impl<'a> ArchiveFile<'a> {
    /// Its uncompressed content. BOSH: packages that compress badly are not compressed.
    pub(crate) fn content(self) -> io::Result<tar::Archive<Content<'a>>> {
        let (mut file, mut start) = (self.read, Vec::new());
        let length = file.metadata()?.len();
        file.rewind()?;
        file.by_ref().take(512).read_to_end(&mut start)?;
        file.rewind()?;
        let content: Box<dyn Read> = if start.starts_with(GZIP) {
            Box::new(Limited { read: MultiGzDecoder::new(file), left: max_unpacked(length) })
        } else if start.get(MARK.0..).is_some_and(|rest| rest.starts_with(MARK.1)) {
            Box::new(file)
        } else {
            let known = OTHERS.iter().find(|(mark, _)| start.starts_with(mark));
            return Err(io::Error::other(match known {
                Some((_, name)) => {
                    format!("it is compressed with {name}; only gzip is read, and what is not compressed")
                }
                None => "it is not a tar archive, neither plain nor compressed with gzip".to_owned(),
            }));
        };
        Ok(tar::Archive::new(Stoppable { read: content, stop: self.stop }))
    }
}
