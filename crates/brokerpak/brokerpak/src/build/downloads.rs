//! Downloads, kept in the cache or for as long as the build takes.

use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use fetch::{Fetcher, shown};
use problem::{IoContext, Problem, Result, code};
use tempfile::{NamedTempFile, TempDir};

use crate::build::address::{Address, Location};
use crate::build::checksum::{Checksum, Sum, sha256};

/// How long a download takes at most.
const TIME: Duration = Duration::from_secs(30 * 60);
/// How many bytes a download has at most.
const SIZE: u64 = 4 << 30;

/// What is downloaded.
pub(crate) struct Downloads {
    fetcher: Fetcher,
    base: PathBuf,
    directory: PathBuf,
    is_kept: bool,
    /// Removed with this.
    _temporary: Option<TempDir>,
}

/// A file, and where it comes from.
#[derive(Debug)]
pub(crate) struct Found {
    /// Its path.
    pub(crate) path: PathBuf,
    /// `downloaded`, `from cache`, `local file`.
    pub(crate) how: &'static str,
}

impl Downloads {
    /// Downloads into `cache`, else into a directory that is removed at the end. Relative paths start at `base`.
    ///
    /// # Errors
    /// A directory that cannot be made, certificates that cannot be read.
    pub(crate) fn new(
        base: &Path,
        cache: Option<&Path>,
        certificates: Option<&Path>,
        root: &Path,
    ) -> Result<Downloads> {
        let fetcher = Fetcher::anywhere(root, certificates, TIME, SIZE)?;
        let (directory, temporary) = match cache {
            Some(cache) => {
                fs::create_dir_all(cache).io("create", cache)?;
                (cache.to_owned(), None)
            }
            None => {
                let made = tempfile::Builder::new().prefix("brokerpak-").tempdir();
                let made = made.io("create a directory in", &std::env::temp_dir())?;
                (made.path().to_owned(), Some(made))
            }
        };
        Ok(Downloads { fetcher, base: base.to_owned(), directory, is_kept: cache.is_some(), _temporary: temporary })
    }

    /// The address that a text is.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn address(&self, text: &str) -> Result<Address> {
        Ok(Address::parse(text, &self.base).map_err(Problem::input)?)
    }

    /// The file at an address.
    ///
    /// # Errors
    /// A download that fails, a file that does not exist, another checksum.
    pub(crate) fn get(&self, address: &Address) -> Result<Found> {
        let sum = match &address.checksum {
            None => None,
            Some(Checksum::Known(sum)) => Some(sum.clone()),
            Some(Checksum::List(url)) => Some(self.listed(url, &address.file_name)?),
        };
        match &address.place {
            Location::File(path) => {
                let found = fs::metadata(path).map_err(|error| unreadable(path, &error))?;
                if !found.is_file() {
                    return Err(Problem::input(format!("{} is not a file", path.display())).into());
                }
                self.check(path, &address.place, sum.as_ref())?;
                Ok(Found { path: path.clone(), how: "local file" })
            }
            Location::Url(url) => self.download(url, address, sum.as_ref()),
        }
    }

    fn download(&self, url: &str, address: &Address, sum: Option<&Sum>) -> Result<Found> {
        let key = sha256(url.as_bytes()).io("read", Path::new(url))?;
        if let Some(path) = self.cached(&key)
            && self.check(&path, &address.place, sum).is_ok()
        {
            return Ok(Found { path, how: "from cache" });
        }
        let mut new = NamedTempFile::new_in(&self.directory).io("write in", &self.directory)?;
        let mut to = BufWriter::with_capacity(1 << 20, new.as_file_mut());
        let failed = |why: String| Problem::internal(format!("error getting {why}")).code(code::IO);
        self.fetcher.copy(url, &mut to).map_err(failed)?;
        to.flush().io("write in", &self.directory)?;
        drop(to);
        self.check(new.path(), &address.place, sum)?;
        let content = File::open(new.path()).and_then(sha256).io("read", new.path())?;
        let path = self.directory.join(format!("{key}-{content}"));
        if self.is_kept {
            new.as_file().sync_all().io("write", &path)?;
        }
        new.persist(&path).map_err(|error| error.error).io("write", &path)?;
        Ok(Found { path, how: "downloaded" })
    }

    /// What has been downloaded before, if it is still what it was.
    fn cached(&self, key: &str) -> Option<PathBuf> {
        let entries = fs::read_dir(&self.directory).ok()?;
        entries.filter_map(std::result::Result::ok).map(|entry| entry.path()).find(|path| {
            let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_prefix(key));
            let content = name.and_then(|name| name.strip_prefix('-'));
            content.is_some_and(|content| File::open(path).and_then(sha256).is_ok_and(|found| found == content))
        })
    }

    fn check(&self, path: &Path, place: &Location, sum: Option<&Sum>) -> Result<()> {
        let Some(sum) = sum else { return Ok(()) };
        let checked = File::open(path).and_then(|file| sum.check(file));
        Ok(checked.map_err(|error| match error.kind() {
            ErrorKind::InvalidData => Problem::input(format!("{}: {error}", place.shown())),
            _ => Problem::internal(format!("cannot read {}", path.display())).because(error).code(code::IO),
        })?)
    }

    /// The checksum of a file in a list.
    fn listed(&self, url: &str, file_name: &str) -> Result<Sum> {
        let separator = if url.contains('?') { '&' } else { '?' };
        let whole = if url.contains("://") { format!("{url}{separator}archive=false") } else { url.to_owned() };
        let list = Address::parse(&whole, &self.base).map_err(Problem::input)?;
        let list = match &list.place {
            Location::File(path) => fs::read_to_string(path).map_err(|error| unreadable(path, &error))?,
            Location::Url(url) => {
                // Never from the cache: it says what the cache has to contain.
                let mut content = Bounded(Vec::new());
                let failed = |why: String| Problem::internal(format!("error getting {why}")).code(code::IO);
                self.fetcher.copy(url, &mut content).map_err(failed)?;
                String::from_utf8_lossy(&content.0).into_owned()
            }
        };
        Ok(Sum::in_list(&list, file_name).map_err(|why| Problem::input(format!("{}: {why}", shown(url))))?)
    }
}

fn unreadable(path: &Path, error: &io::Error) -> Problem {
    match error.kind() {
        ErrorKind::NotFound => Problem::input(format!("the file {} does not exist", path.display())),
        _ => Problem::internal(format!("cannot read {}", path.display())).because(error).code(code::IO),
    }
}

/// A content that is kept in memory: a list of checksums has no more than a megabyte.
struct Bounded(Vec<u8>);

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > 1 << 20 {
            return Err(io::Error::other("a list of checksums has more than a megabyte"));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
