//! Prints a manifest with ops files and variables applied, as `bosh interpolate` does.

pub mod explain;

use std::path::PathBuf;

use clap::Args;
use manifest_inputs::{Inputs, Manifest};
use problem::Result;
use startup::Common;

/// One line for `--help`.
pub const ABOUT: &str = "Print a manifest with ops files and variables applied";

/// The arguments of `interpolate`.
#[derive(Debug, Args)]
#[command(
    long_about = "Print a manifest with ops files and variables applied, as `bosh interpolate` prints it: the keys in its order, \
        values with its types. Print nothing if anything fails.\n\n\
        Variables without a value stay in the output; --var-errs makes them an error. If a variable has several values, \
        --var has precedence over --var-file, --vars-file and --vars-env, in this order; of one kind the last counts. \
        Values are merged by path: -v tls.ca=X sets one key of the map tls.\n\n\
        With --vars-store, the variables that the manifest defines (`variables:`) and nothing else sets are generated: \
        passwords, keys, certificates. Each value is written to that file as soon as it exists, and is the same in the \
        next run; `boson variables` lists them.",
    after_long_help = "Examples:\n\
        \x20\x20boson interpolate nats.yml -o scale.yml -l vars.yml -v instances=3\n\
        \x20\x20boson interpolate nats.yml --vars-store creds.yml > manifest.yml\n\
        \x20\x20boson interpolate nats.yml --path /instance_groups/name=nats/instances\n\n\
        Exit codes: 0 done; 2 usage; 65 the manifest, an ops file or a variable is wrong; 70 the environment failed."
)]
pub struct Options {
    /// The manifest; `-` is standard input
    #[arg(value_name = "MANIFEST")]
    manifest: PathBuf,
    /// Print only the value at this path: a string as it is, other values as YAML
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    #[command(flatten)]
    inputs: Inputs,
}

/// Runs the verb; gives the exit code.
///
/// # Errors
/// As [`Inputs::apply`], and if standard output cannot be written.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    let text = |manifest: &Manifest| match &options.path {
        Some(path) => manifest.at(path),
        None => Ok(manifest.text()),
    };
    let manifest = options.inputs.apply(&options.manifest, &|preview| text(preview).map(drop))?;
    print(&text(&manifest)?)
}

/// Prints the result; gives the exit code.
fn print(text: &str) -> Result<u8> {
    startup::write_stdout(|out| out.write_all(text.as_bytes()))?;
    Ok(0)
}
