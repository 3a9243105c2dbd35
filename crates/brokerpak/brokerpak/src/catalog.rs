//! `catalog`.

use std::path::PathBuf;

use brokerpak_model::catalog::catalog;
use brokerpak_model::report::Report;
use clap::Args;
use problem::Result;

use crate::output::print;
use crate::paks::{self, Source};

/// One line for `--help`.
pub(crate) const ABOUT: &str = "Print the catalog of the Open Service Broker API";

/// The arguments of `catalog`.
#[derive(Debug, Args)]
#[command(
    long_about = "Print the catalog of the Open Service Broker API as JSON, with the operator's plans \
        (GSB_SERVICE_NAME_PLANS, --config).",
    after_long_help = "Examples:\n\
        \x20\x20brokerpak catalog my-pak --enable-catalog-schemas\n\n\
        Exit codes: 0 done; 2 usage; 65 the pak is wrong; 70 a file could not be read."
)]
pub(crate) struct Options {
    #[command(flatten)]
    source: Source,
    /// Add the JSON Schemas of parameters to the plans
    #[arg(long)]
    enable_catalog_schemas: bool,
    /// The operator's configuration, YAML or JSON
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Runs `catalog`; gives the exit code.
///
/// # Errors
/// All errors of the pak.
pub(crate) fn run(options: &Options) -> Result<u8> {
    let mut report = Report::default();
    let (mut pak, _) = options.source.read(&mut report)?;
    let configuration = paks::configuration(options.config.as_deref(), &pak)?;
    pak.add_plans(&configuration, &mut report);
    paks::checked(&report)?;
    print(&format!("{:#}\n", catalog(&pak, options.enable_catalog_schemas)))?;
    Ok(0)
}
