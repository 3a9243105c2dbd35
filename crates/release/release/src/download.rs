//! Downloaded archives in the cache, each in a directory of its own.

use std::fs::{self, File};
use std::io::{ErrorKind, Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use nix::fcntl::{AT_FDCWD, AtFlags};
use nix::unistd::linkat;
use problem::{IoContext, Problem, Result, code};
use sha2::{Digest, Sha256};

use crate::checksum;

/// The directory of downloads in a cache.
pub(crate) const DOWNLOADS: &str = "downloads";

/// The archive in the directory of a download.
const ARCHIVE: &str = "release.tgz";

/// An archive at a URL, with its place in a cache.
#[derive(Debug, Clone)]
pub struct Download {
    path: PathBuf,
    /// The digest as a manifest writes it: SHA-1, or with the name of the algorithm and a colon before it.
    digest: Option<String>,
}

impl Download {
    /// What is at `url`; an archive with a digest is known by it, whatever the URL.
    pub fn new(cache_dir: &Path, url: &str, digest: Option<&str>) -> Download {
        let key = checksum::hex(&Sha256::digest(digest.unwrap_or(url)));
        let path = cache_dir.join(DOWNLOADS).join(key).join(ARCHIVE);
        Download { path, digest: digest.map(str::to_owned) }
    }

    /// The archive, if it has been downloaded.
    pub fn existing(&self) -> Option<&Path> {
        self.path.is_file().then_some(self.path.as_path())
    }

    /// Downloads it with `write`, checks its digest, and keeps it. A download that fails or is killed leaves nothing.
    ///
    /// # Errors
    /// Those of `write`; another digest; the cache cannot be written.
    pub fn make(&self, write: impl FnOnce(&mut File) -> Result<()>) -> Result<&Path> {
        let directory = self.path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(directory).io("make", directory)?;
        // Without a name until it is whole.
        let mut file = tempfile::tempfile_in(directory).io("write", directory)?;
        write(&mut file)?;
        if let Some(digest) = &self.digest {
            file.seek(SeekFrom::Start(0)).io("read", directory)?;
            checksum::check(&mut file, digest).map_err(|fault| {
                Problem::input("the downloaded archive is another one than the manifest's")
                    .code(code::RELEASE_INVALID)
                    .because(fault)
            })?;
        }
        let unnamed = format!("/proc/self/fd/{}", file.as_raw_fd());
        match linkat(AT_FDCWD, unnamed.as_str(), AT_FDCWD, &self.path, AtFlags::AT_SYMLINK_FOLLOW) {
            // Another process has downloaded it, too.
            Err(nix::Error::EEXIST) => {}
            linked => linked.map_err(|e| std::io::Error::from_raw_os_error(e as i32)).io("write", &self.path)?,
        }
        Ok(&self.path)
    }
}

/// The directories of downloads that have no archive, which a download that failed leaves, are no entries.
pub(crate) fn is_complete(directory: &Path) -> bool {
    match fs::metadata(directory.join(ARCHIVE)) {
        Err(e) => e.kind() != ErrorKind::NotFound,
        Ok(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_download_is_kept_whole_or_not_at_all() {
        let cache = tempfile::tempdir().unwrap();
        let abc = "a9993e364706816aba3e25717850c26c9cd0d89d";
        let download = Download::new(cache.path(), "https://x/r.tgz", Some(abc));
        let write =
            |text: &'static str| move |file: &mut File| file.write_all(text.as_bytes()).io("write", Path::new("x"));
        let problems = download.make(write("abd")).unwrap_err().to_string();
        assert!(problems.contains("expected a9993e"), "{problems}");
        assert!(download.make(|_| Err(Problem::internal("no network").into())).is_err());
        assert_eq!(download.existing(), None);
        assert!(crate::cache_entries(cache.path()).unwrap().is_empty());
        for _ in 0..2 {
            assert_eq!(fs::read(download.make(write("abc")).unwrap()).unwrap(), b"abc");
        }
        assert!(download.existing().is_some());
        let moved = Download::new(cache.path(), "https://y/r.tgz", Some(abc));
        assert_eq!(moved.existing(), download.existing());
        assert_eq!(crate::cache_entries(cache.path()).unwrap()[0].kind, "download");
    }
}
