//! zip files from strangers. The directory of the archive is checked before any content is read: names that lead elsewhere,
//! doubled names, links, special files, sizes and counts beyond the limits make the whole archive invalid. Set-uid bits are
//! dropped. What is read is bounded by what the directory declares. [`Writer`] writes archives.

mod end;
mod writer;

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;

// The zip crate decompresses with it; this selects its implementation in Rust.
use flate2 as _;
use zip::ZipArchive;

pub use crate::writer::Writer;

/// What an archive may have.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Number of entries.
    pub entries: u64,
    /// Bytes of all contents together.
    pub total: u64,
}

/// An entry of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name: parts separated by slashes, without a slash at the end.
    pub name: String,
    /// Size of the content in bytes.
    pub size: u64,
    /// Permissions, 0 to 0777; 0 if the archive does not have any.
    pub mode: u32,
    /// Whether it is a directory.
    pub is_directory: bool,
}

/// An archive whose directory has been checked.
pub struct Archive {
    zip: ZipArchive<BufReader<File>>,
    entries: Vec<Entry>,
}

/// Bytes that are read and written at once.
const BUFFER: usize = 1 << 17;

/// Types of files in a mode.
const TYPE: u32 = 0o170_000;
const DIRECTORY: u32 = 0o040_000;
const REGULAR: u32 = 0o100_000;

impl Archive {
    /// Opens an archive and checks its directory.
    ///
    /// # Errors
    /// Files that cannot be read; what is wrong with the archive (kind `InvalidData`).
    pub fn open(path: &Path, limits: Limits) -> io::Result<Archive> {
        let mut file = File::open(path)?;
        let count = end::count(&mut file)?;
        if count > limits.entries {
            return Err(invalid(format!("it has {count} entries, more than {}", limits.entries)));
        }
        let mut zip = ZipArchive::new(BufReader::with_capacity(BUFFER, file)).map_err(zip_error)?;
        if zip.len() as u64 != count {
            return Err(invalid("its directory has doubled names or a wrong count".to_owned()));
        }
        let mut entries = Vec::with_capacity(zip.len());
        let mut total = 0u64;
        for number in 0..zip.len() {
            let raw = zip.by_index_raw(number).map_err(zip_error)?;
            let name = std::str::from_utf8(raw.name_raw()).map_err(|_| invalid("a name is not UTF-8".to_owned()))?;
            let is_directory = name.ends_with('/');
            let name = name.strip_suffix('/').unwrap_or(name).to_owned();
            let mode = raw.unix_mode().unwrap_or(0);
            check(&name, mode, is_directory).map_err(|what| invalid(format!("entry {name:?} {what}")))?;
            if raw.encrypted() {
                return Err(invalid(format!("entry {name:?} is encrypted")));
            }
            total = total.saturating_add(raw.size());
            entries.push(Entry { name, size: raw.size(), mode: mode & 0o777, is_directory });
        }
        if total > limits.total {
            return Err(invalid(format!("its contents have {total} bytes, more than {}", limits.total)));
        }
        check_names(&entries).map_err(invalid)?;
        Ok(Archive { zip, entries })
    }

    /// The entries, in the archive's order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The content of a file; `None` if the archive does not have it.
    ///
    /// # Errors
    /// As [`Archive::copy`]; a content larger than `most` bytes.
    pub fn read(&mut self, name: &str, most: u64) -> io::Result<Option<Vec<u8>>> {
        let Some(entry) = self.entries.iter().find(|entry| entry.name == name && !entry.is_directory) else {
            return Ok(None);
        };
        if entry.size > most {
            return Err(invalid(format!("entry {name:?} has {} bytes, more than {most}", entry.size)));
        }
        let mut content = Vec::new();
        self.copy(name, &mut content)?;
        Ok(Some(content))
    }

    /// Writes the content of a file.
    ///
    /// # Errors
    /// A file that the archive does not have, damaged content, content of another size than declared.
    pub fn copy(&mut self, name: &str, to: &mut impl Write) -> io::Result<()> {
        let found = self.entries.iter().position(|entry| entry.name == name && !entry.is_directory);
        let Some(number) = found else { return Err(io::Error::from(io::ErrorKind::NotFound)) };
        let size = self.entries[number].size;
        let content = self.zip.by_index(number).map_err(zip_error)?;
        // A byte more than is declared shows that the declaration is wrong; the checksum is checked at the end.
        let written = copy(&mut content.take(size.saturating_add(1)), to)?;
        if written != size {
            return Err(invalid(format!("entry {name:?} does not have the size that the directory declares")));
        }
        Ok(())
    }
}

/// As `io::copy`, with a larger buffer.
fn copy(from: &mut impl Read, to: &mut impl Write) -> io::Result<u64> {
    let mut buffer = vec![0; BUFFER];
    let mut written = 0;
    loop {
        let read = match from.read(&mut buffer) {
            Ok(0) => return Ok(written),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        to.write_all(&buffer[..read])?;
        written += read as u64;
    }
}

fn check(name: &str, mode: u32, is_directory: bool) -> Result<(), &'static str> {
    let kind = mode & TYPE;
    if name.is_empty() || name.len() > 1024 {
        Err("has an empty or very long name")
    } else if name.starts_with('/') || name.contains(['\\', '\0', ':']) {
        Err("has a name that is absolute or has characters of other systems")
    } else if name.split('/').any(|part| matches!(part, "" | "." | "..")) {
        Err("has a name that leads elsewhere")
    } else if name.chars().any(char::is_control) {
        Err("has a name with control characters")
    } else if kind != 0 && kind != if is_directory { DIRECTORY } else { REGULAR } {
        Err("is a link or a special file")
    } else {
        Ok(())
    }
}

/// Names are unique, without regard to case, and no file is the directory of another one.
fn check_names(entries: &[Entry]) -> Result<(), String> {
    let mut seen = HashSet::new();
    for entry in entries {
        if !seen.insert(entry.name.to_lowercase()) {
            return Err(format!("the name {:?} is doubled", entry.name));
        }
    }
    let files: HashSet<&str> =
        entries.iter().filter(|entry| !entry.is_directory).map(|entry| entry.name.as_str()).collect();
    for entry in entries {
        let mut above = entry.name.match_indices('/').map(|(at, _)| &entry.name[..at]);
        if let Some(file) = above.find(|above| files.contains(above)) {
            return Err(format!("{file:?} is a file and a directory"));
        }
    }
    Ok(())
}

fn invalid(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

fn zip_error(error: zip::result::ZipError) -> io::Error {
    match error {
        zip::result::ZipError::Io(error) => error,
        other => invalid(other.to_string()),
    }
}

#[cfg(test)]
mod tests;
