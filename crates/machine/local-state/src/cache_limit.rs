//! The size of the cache: compiled packages, and unpacked releases and stemcells.

use std::time::{Duration, SystemTime};

use clap::Args;
use problem::Result;
use release::CacheEntry;

use crate::state_dir::any_is_up;
use crate::user_dirs;

/// Entries that were used so recently stay: another boson may be about to use them.
const RECENT: Duration = Duration::from_secs(600);

/// The limit of the cache.
#[derive(Debug, Clone, Copy, Args)]
pub struct CacheLimit {
    /// Size of the cache above which the least recently used entries are removed, with K, M, G or T; 0 means no limit
    #[arg(long, env = "BOSON_CACHE_LIMIT", value_name = "SIZE", default_value = "20G", value_parser = startup::parse_size)]
    pub cache_limit: u64,
}

impl CacheLimit {
    /// Removes what is above the limit, as far as no deployment is up that may use it. Best effort: a cache that is too large
    /// does no harm. What has been used since `started` stays.
    pub fn apply(self, started: SystemTime) {
        if self.cache_limit > 0 && !any_is_up() {
            let _ = prune_cache(self.cache_limit, started);
        }
    }
}

/// Removes the least recently used entries above `limit` bytes, except those that were used since `started` or a short time ago;
/// returns what was removed.
///
/// # Errors
/// The cache cannot be read, or an entry cannot be removed.
pub fn prune_cache(limit: u64, started: SystemTime) -> Result<Vec<CacheEntry>> {
    let recent = SystemTime::now().checked_sub(RECENT).unwrap_or(SystemTime::UNIX_EPOCH);
    let since = recent.min(started);
    release::prune_cache(&user_dirs::cache()?, limit, since, &sandbox::remove_tree)
}
