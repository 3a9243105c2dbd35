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

pub(crate) type ArchiveFile<'a> = Stoppable<'a, File>;

/// What an archive holds, one after the other.
pub(crate) type Content<'a> = Stoppable<'a, Box<dyn Read>>;

impl<'a> ArchiveFile<'a> {
    /// Its uncompressed content. BOSH: packages that compress badly are not compressed.
    pub(crate) fn content(self) -> io::Result<tar::Archive<Content<'a>>> {
        let (mut file, mut start) = (self.read, Vec::new());
        file.rewind()?;
        file.by_ref().take(512).read_to_end(&mut start)?;
        file.rewind()?;
        let content: Box<dyn Read> = if start.starts_with(GZIP) {
            Box::new(MultiGzDecoder::new(file))
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
