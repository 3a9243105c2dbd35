//! The entries of a cache, and its limit.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use problem::{IoContext, Result};
use walkdir::WalkDir;

use crate::cache::Cache;
use crate::download;

/// The directories of a cache that can become large, and what an entry of each is.
const KINDS: [(&str, &str); 4] =
    [("packages", "package"), ("releases", "release"), ("stemcells", "stemcell"), (download::DOWNLOADS, "download")];

/// A compiled package, an unpacked release or stemcell, or a downloaded archive in a cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheEntry {
    /// `package`, `release`, `stemcell` or `download`.
    pub kind: &'static str,
    /// A package's name and fingerprint, or the digest of an archive.
    pub key: String,
    /// Its directory.
    pub path: PathBuf,
    /// The bytes of its files.
    pub size: u64,
    /// When it was used last.
    pub used: SystemTime,
}

/// The entries of a cache, the least recently used first. A cache that does not exist has none.
pub fn cache_entries(dir: &Path) -> Result<Vec<CacheEntry>> {
    let cache = Cache::new(dir);
    let mut entries = Vec::new();
    for (directory, kind) in KINDS {
        let directory = dir.join(directory);
        let children = match fs::read_dir(&directory) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
            children => children.io("read", &directory)?,
        };
        for child in children {
            let path = child.io("read", &directory)?.path();
            let key = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            // A directory that is being unpacked is not an entry yet.
            let is_made = kind == "package" || !key.contains('.');
            if path.is_dir() && is_made && (kind != "download" || download::is_complete(&path)) {
                let used = cache.last_use(&key, &path);
                entries.push(CacheEntry { kind, key, size: size(&path), path, used });
            }
        }
    }
    entries.sort_by(|a, b| (a.used, &a.key).cmp(&(b.used, &b.key)));
    Ok(entries)
}

/// Removes the least recently used entries until the others have at most `limit` bytes; returns those removed.
///
/// Entries that were used at `keep_since` or later stay, and those that another process makes or uses right now. A deployment
/// uses its entries for as long as it is up: the caller must not prune while one is.
pub fn prune_cache(
    dir: &Path,
    limit: u64,
    keep_since: SystemTime,
    remove: &dyn Fn(&Path) -> io::Result<()>,
) -> Result<Vec<CacheEntry>> {
    let (cache, entries) = (Cache::new(dir), cache_entries(dir)?);
    let mut total: u64 = entries.iter().map(|entry| entry.size).sum();
    let mut removed = Vec::new();
    for entry in entries {
        if total <= limit {
            break;
        }
        if entry.used < keep_since && cache.discard(&entry.key, &entry.path, remove)? {
            total = total.saturating_sub(entry.size);
            removed.push(entry);
        }
    }
    Ok(removed)
}

fn size(dir: &Path) -> u64 {
    let files = WalkDir::new(dir).into_iter().flatten().filter_map(|entry| entry.metadata().ok());
    files.filter(fs::Metadata::is_file).map(|meta| meta.len()).sum()
}
