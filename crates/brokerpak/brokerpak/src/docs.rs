//! `docs`.

use brokerpak_model::markdown::document;
use brokerpak_model::report::Report;
use clap::Args;
use problem::Result;

use crate::output::print;
use crate::paks::{self, Source};

/// One line for `--help`.
pub(crate) const ABOUT: &str = "Print the documentation of a pak's services, in Markdown";

/// The arguments of `docs`.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n\
        \x20\x20brokerpak docs my-pak > services.md\n\n\
        Exit codes: 0 done; 2 usage; 65 the pak is wrong; 70 a file could not be read.")]
pub(crate) struct Options {
    #[command(flatten)]
    source: Source,
}

/// Runs `docs`; gives the exit code.
///
/// # Errors
/// All errors of the pak.
pub(crate) fn run(options: &Options) -> Result<u8> {
    let mut report = Report::default();
    let (pak, _) = options.source.read(&mut report)?;
    paks::checked(&report)?;
    print(&document(&pak))?;
    Ok(0)
}
