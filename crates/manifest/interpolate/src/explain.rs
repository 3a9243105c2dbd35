//! Shows where the values of a manifest come from.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use manifest_inputs::{Configs, Inputs};
use problem::Result;
use startup::Common;

/// One line for `--help`.
pub const ABOUT: &str = "Show the file and line that each value comes from";

/// The arguments of `explain`.
#[derive(Debug, Args)]
#[command(
    long_about = "Show the file and line that each value of a manifest comes from, after ops files and variables: the manifest, an \
        ops file, a variables file, or the variables store. A value of --var or --vars-env has no file; for it, the \
        place of the reference is shown. Nothing is generated. Each line has a path, as ops files name it, and a place; \
        no value is shown.\n\n\
        The values of runtime and cloud configs, in which variables are replaced too, follow those of the manifest; \
        their paths begin with the name of the config's file.",
    after_long_help = "Examples:\n\
        \x20\x20boson explain nats.yml -o scale.yml -l vars.yml\n\
        \x20\x20boson explain nats.yml -o scale.yml --path /instance_groups/name=nats/instances\n\
        \x20\x20boson explain nats.yml --runtime-config addons.yml --path /addons\n\n\
        Exit codes: 0 done; 2 usage; 65 the manifest, an ops file or a variable is wrong; 70 the environment failed."
)]
pub struct Options {
    /// The manifest; `-` is standard input
    #[arg(value_name = "MANIFEST")]
    manifest: PathBuf,
    /// Show only the value at this path and those below it
    #[arg(long, value_name = "PATH", default_value = "", hide_default_value = true)]
    path: String,
    #[command(flatten)]
    inputs: Inputs,
    #[command(flatten)]
    configs: Configs,
}

/// Runs the verb; gives the exit code.
///
/// # Errors
/// As [`Inputs::apply`], and if standard output cannot be written.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    let manifest = options.inputs.apply_without_generation(&options.configs, &options.manifest)?;
    let places = manifest.places(&options.path)?;
    let width = places.iter().map(|(path, _)| path.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for (path, place) in places {
        let place = place.map_or_else(|| "-".to_owned(), |place| place.to_string());
        // Writing to a String does not fail.
        let _ = writeln!(text, "{path:width$}  {place}");
    }
    crate::print(&text)
}
