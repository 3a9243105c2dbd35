//! `boson cache`: compiled packages, and unpacked releases and stemcells.

use std::time::SystemTime;

use clap::Args;
use problem::{Problem, Result, code};
use release::CacheEntry;
use startup::Common;

use local_state::{CacheLimit, output, prune_cache};
use table::{Table, TableOptions};

/// The arguments of `cache`.
#[derive(Debug, Args)]
#[command(
    long_about = "List or remove what boson keeps to save time: compiled packages, and unpacked releases and stemcells. The least \
        recently used entries come first. `boson up` and `boson compile` keep the cache below --cache-limit.",
    after_long_help = "Examples:\n\
        \x20\x20boson cache list\n\
        \x20\x20boson cache prune --cache-limit 5G\n\
        \x20\x20boson cache prune --all"
)]
pub struct Options {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// What is done with the cache.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Verb {
    /// Lists the entries with their sizes
    List {
        #[command(flatten)]
        table: TableOptions,
    },
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
pub const ABOUT: &str = "List and remove compiled packages, unpacked archives";

/// Runs the verb; returns the exit code.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    match options.verb {
        Verb::List { table: options } => {
            let entries = release::cache_entries(&local_state::user_dirs::cache()?)?;
            let mut table = Table::new("cache", &["Kind", "Size", "Entry"]);
            for entry in &entries {
                table.push([entry.kind.to_string(), output::size(entry.size), entry.key.clone()]);
            }
            table.note(total(&entries));
            table.print(&options)?;
        }
        Verb::Prune { limit, all } => {
            if local_state::any_is_up() {
                let problem = Problem::input("a deployment is up, which may use the cache").code(code::ALREADY_RUNNING);
                return Err(problem.hint("boson down stops it").into());
            }
            let removed = match (all, limit.cache_limit) {
                (true, _) => release::prune_cache(
                    &local_state::user_dirs::cache()?,
                    0,
                    SystemTime::now(),
                    &sandbox::remove_tree,
                )?,
                (false, 0) => Vec::new(),
                (false, limit) => prune_cache(limit, SystemTime::now())?,
            };
            for entry in &removed {
                output::line(&format!("removed {}", describe(entry)));
            }
            output::line(&total(&release::cache_entries(&local_state::user_dirs::cache()?)?));
        }
    }
    Ok(0)
}

fn describe(entry: &CacheEntry) -> String {
    format!("{:<8}  {:>8}  {}", entry.kind, output::size(entry.size), entry.key)
}

fn total(entries: &[CacheEntry]) -> String {
    format!("{} entries, {}", entries.len(), output::size(entries.iter().map(|entry| entry.size).sum()))
}
