//! Archives of instruction sequences, as the crate `precompile` makes them, read where they lie in the executable.

use std::sync::{PoisonError, RwLock, RwLockReadGuard};

/// A file's bytes with an alignment at which Ruby reads instruction sequences without copying them. `archive!` makes it.
#[derive(Debug)]
#[repr(C, align(8))]
pub struct Aligned<T: ?Sized>(pub T);

/// The archive that the build script has made in `$OUT_DIR`, as `&'static [u8]`.
#[macro_export]
macro_rules! archive {
    () => {{
        static ARCHIVE: &$crate::Aligned<[u8]> =
            &$crate::Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/archive.bin")));
        &ARCHIVE.0
    }};
}

/// What an archive has: each table is by name.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Table {
    /// boson's own sources.
    Sources,
    /// Files of Ruby's library.
    Files,
    /// Libraries as they are required; each is the names of files, separated by NUL.
    Features,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Archive(&'static [u8]);

/// Two numbers of four bytes: a name's place, and that of what it stands for.
const ROW: usize = 16;
/// Where the header has the first table.
const TABLES: usize = 12;

/// Those that have been added. Any thread of Ruby's may look into them, one at a time.
static ADDED: RwLock<Vec<Archive>> = RwLock::new(Vec::new());

impl Archive {
    /// The archive in these bytes.
    pub(crate) fn new(bytes: &'static [u8]) -> Archive {
        Archive(bytes)
    }

    /// The description of the Ruby that made it, which alone can read it.
    pub(crate) fn ruby(self) -> &'static [u8] {
        self.slice(0).unwrap_or_default()
    }

    /// Whether Ruby's whole library is in it.
    pub(crate) fn has_library(self) -> bool {
        self.number(8) == Some(1)
    }

    /// What has a name in a table.
    pub(crate) fn get(self, table: Table, name: &[u8]) -> Option<&'static [u8]> {
        let header = TABLES + 8 * table as usize;
        let (start, mut count) = (self.number(header)?, self.number(header + 4)?);
        let mut first = 0;
        while count > 0 {
            let half = count / 2;
            let row = start + ROW * (first + half);
            match self.slice(row)?.cmp(name) {
                std::cmp::Ordering::Equal => return self.slice(row + 8),
                std::cmp::Ordering::Greater => count = half,
                std::cmp::Ordering::Less => {
                    first += half + 1;
                    count -= half + 1;
                }
            }
        }
        None
    }

    /// Puts it among those that are searched.
    pub(crate) fn add(self) {
        ADDED.write().unwrap_or_else(PoisonError::into_inner).push(self);
    }

    fn slice(self, at: usize) -> Option<&'static [u8]> {
        let (place, size) = (self.number(at)?, self.number(at + 4)?);
        self.0.get(place..)?.get(..size)
    }

    fn number(self, at: usize) -> Option<usize> {
        let bytes = self.0.get(at..)?.first_chunk::<4>()?;
        usize::try_from(u32::from_le_bytes(*bytes)).ok()
    }
}

/// What has a name in a table of one of the archives that have been added.
pub(crate) fn find(table: Table, name: &[u8]) -> Option<&'static [u8]> {
    added().iter().find_map(|archive| archive.get(table, name))
}

/// Whether Ruby's whole library is in one of them.
pub(crate) fn has_library() -> bool {
    added().iter().any(|archive| archive.has_library())
}

fn added() -> RwLockReadGuard<'static, Vec<Archive>> {
    ADDED.read().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_found_by_its_name_and_aligned() {
        let archive = Archive::new(archive!());
        assert!(archive.ruby().starts_with(b"ruby "));
        for (table, names) in [
            (Table::Sources, &["entry", "loader", "yaml"][..]),
            (Table::Features, &["base64", "etc", "openssl", "zlib"]),
        ] {
            for name in names {
                assert!(archive.get(table, name.as_bytes()).is_some(), "{name}");
            }
        }
        let paths = archive.get(Table::Features, b"json").unwrap();
        for path in paths.split(|&b| b == 0).filter(|path| path.ends_with(b".rb")) {
            let sequence = archive.get(Table::Files, path).unwrap();
            assert!(sequence.starts_with(b"YARB") && sequence.as_ptr().addr().is_multiple_of(8));
        }
        for name in ["", "a", "entr", "entry.", "zzz"] {
            assert!(archive.get(Table::Sources, name.as_bytes()).is_none(), "{name}");
        }
    }

    #[test]
    fn what_is_no_archive_has_nothing() {
        for bytes in [&b""[..], b"1234567", &[0xff; 64]] {
            let archive = Archive::new(bytes);
            assert!(archive.ruby().is_empty() && !archive.has_library());
            assert!(archive.get(Table::Files, b"x").is_none());
        }
    }
}
