//! `boson cache`: compiled packages, and unpacked releases and stemcells.

use std::time::{Duration, SystemTime};

use clap::Args;
use problem::{Problem, Result, code};
use release::CacheEntry;
use startup::Common;

use crate::{output, state};

/// Entries that were used so recently stay: another boson may be about to use them.
const RECENT: Duration = Duration::from_secs(600);

/// The limit of the cache.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct CacheLimit {
    /// Size of the cache above which the least recently used entries are removed, with K, M, G or T; 0 means no limit
    #[arg(long, env = "BOSON_CACHE_LIMIT", value_name = "SIZE", default_value = "20G", value_parser = startup::parse_size)]
    pub(crate) cache_limit: u64,
}

impl CacheLimit {
    /// Removes what is above the limit, as far as no deployment is up that may use it. Best effort: a cache that is too large
    /// does no harm. What has been used since `started` stays.
    pub(crate) fn apply(self, started: SystemTime) {
        if self.cache_limit > 0 && !state::any_is_up() {
            let _ = prune(self.cache_limit, started);
        }
    }
}

/// The arguments of `cache`.
#[derive(Debug, Args)]
#[command(
    long_about = "Lists or removes what boson keeps to save time: compiled packages, and unpacked releases and stemcells. The least \
        recently used entries come first. `boson up` and `boson compile` keep the cache below --cache-limit.",
    after_long_help = "Examples:\n\
        \x20\x20boson cache list\n\
        \x20\x20boson cache prune --cache-limit 5G\n\
        \x20\x20boson cache prune --all"
)]
pub(crate) struct Options {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// What is done with the cache.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Verb {
    /// Lists the entries with their sizes
    List,
    /// Removes the least recently used entries above the limit, unless they were used in the last ten minutes
    Prune {
        #[command(flatten)]
        limit: CacheLimit,
        /// Remove all entries
        #[arg(long)]
        all: bool,
    },
}

/// One line for `--help`.
pub(crate) const ABOUT: &str = "List and remove compiled packages, unpacked archives";

/// Runs the verb; returns the exit code.
pub(crate) fn run(options: Options, _common: &Common) -> Result<u8> {
    match options.verb {
        Verb::List => {
            let entries = release::cache_entries(&state::cache()?)?;
            for entry in &entries {
                output::line(&describe(entry));
            }
            output::line(&total(&entries));
        }
        Verb::Prune { limit, all } => {
            if state::any_is_up() {
                let problem = Problem::input("a deployment is up, which may use the cache").code(code::ALREADY_RUNNING);
                return Err(problem.hint("boson down stops it").into());
            }
            let removed = match (all, limit.cache_limit) {
                (true, _) => release::prune_cache(&state::cache()?, 0, SystemTime::now(), &sandbox::remove_tree)?,
                (false, 0) => Vec::new(),
                (false, limit) => prune(limit, SystemTime::now())?,
            };
            for entry in &removed {
                output::line(&format!("removed {}", describe(entry)));
            }
            output::line(&total(&release::cache_entries(&state::cache()?)?));
        }
    }
    Ok(0)
}

fn prune(limit: u64, started: SystemTime) -> Result<Vec<CacheEntry>> {
    let recent = SystemTime::now().checked_sub(RECENT).unwrap_or(SystemTime::UNIX_EPOCH);
    let since = recent.min(started);
    release::prune_cache(&state::cache()?, limit, since, &sandbox::remove_tree)
}

fn describe(entry: &CacheEntry) -> String {
    format!("{:<8}  {:>8}  {}", entry.kind, output::size(entry.size), entry.key)
}

fn total(entries: &[CacheEntry]) -> String {
    format!("{} entries, {}", entries.len(), output::size(entries.iter().map(|entry| entry.size).sum()))
}
