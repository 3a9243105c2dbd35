//! Writing archives whose bytes depend on nothing but names, modes and contents.

use std::io::{self, Read, Seek, Write};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use crate::{invalid, zip_error};

/// From this size on, an entry needs the format for large files.
const LARGE: u64 = u32::MAX as u64;

/// Writes an archive; all times in it are 1980-01-01.
pub struct Writer<W: Write + Seek> {
    zip: ZipWriter<W>,
    method: CompressionMethod,
}

impl<W: Write + Seek> Writer<W> {
    /// An archive at the start of a file.
    pub fn new(to: W, is_compressed: bool) -> Writer<W> {
        let method = if is_compressed { CompressionMethod::Deflated } else { CompressionMethod::Stored };
        Writer { zip: ZipWriter::new(to), method }
    }

    /// Adds a directory with mode 0755; the name has no slash at its end.
    ///
    /// # Errors
    /// A failure of the file.
    pub fn directory(&mut self, name: &str) -> io::Result<()> {
        self.zip.add_directory(name, options(CompressionMethod::Stored, 0o755)).map_err(zip_error)
    }

    /// Starts a file, whose content is then written to what this gives. `size` is what it has at most.
    ///
    /// # Errors
    /// A failure of the file.
    pub fn file(&mut self, name: &str, mode: u32, size: u64) -> io::Result<&mut impl Write> {
        let options = options(self.method, mode).large_file(size >= LARGE);
        self.zip.start_file(name, options).map_err(zip_error)?;
        Ok(&mut self.zip)
    }

    /// Adds a file with the content of a reader, which has to have this size.
    ///
    /// # Errors
    /// A failure of the reader or the file; a content of another size.
    pub fn copy(&mut self, name: &str, mode: u32, size: u64, from: impl Read) -> io::Result<()> {
        let to = self.file(name, mode, size)?;
        // A byte more shows that the size is wrong.
        let copied = io::copy(&mut from.take(size.saturating_add(1)), to)?;
        if copied == size { Ok(()) } else { Err(invalid(format!("{name:?} changes while it is read"))) }
    }

    /// Writes the directory of the archive, and gives the file.
    ///
    /// # Errors
    /// A failure of the file.
    pub fn finish(self) -> io::Result<W> {
        self.zip.finish().map_err(zip_error)
    }
}

fn options(method: CompressionMethod, mode: u32) -> SimpleFileOptions {
    SimpleFileOptions::default()
        .compression_method(method)
        .last_modified_time(DateTime::default())
        .unix_permissions(mode)
}
