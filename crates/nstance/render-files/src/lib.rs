//! Renders Nstance's args, vars, userdata and files, and Go templates by themselves.

mod downloads;
mod explain;
mod facts;
mod files;
mod generate;
mod image_flags;
mod inputs;
mod lookups;
mod stdout;
pub mod text_template;
mod watch;

use clap::{Args, Subcommand};
use problem::Result;
use startup::Common;

/// The verb's line in `--help`.
pub const ABOUT: &str = "Render Nstance's args, vars, userdata and files";

/// The arguments of `render-files`.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    long_about = "Render an instance's args.json, vars.json, userdata and files/NAME from an Nstance configuration, in Go's \
        template language. All of them are written, by one rename, or none; nothing is written if nothing has changed.\n\n\
        The configuration is JSON; comments and trailing commas are allowed. What is known about the instance comes from \
        the instance document and from variables, which have precedence. Levels are merged in the order global, \
        template, group, MachinePool, Machine, files of --vars-dir.",
    after_long_help = "Examples:\n\
        \x20\x20render-files --config-path config.json --group red --output-dir out\n\
        \x20\x20render-files --config-path config.json --group red --print args.json\n\
        \x20\x20render-files --config-path config.json --all-groups --check\n\
        \x20\x20render-files explain vars.EXAMPLE --config-path config.json --group red\n\
        \x20\x20render-files images --config-path config.json\n\
        \x20\x20render-files text-template --expression '{{ .name }}' --data data.json\n\n\
        Exit codes: 0 done; 2 usage; 65 the configuration or the instance is wrong; 66 a template is wrong or failed; \
        70 a download, a lookup or a file failed."
)]
pub struct Options {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    inputs: inputs::Inputs,
    #[command(flatten)]
    output: generate::Output,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print which level sets a var, an arg or an image, and what it shadows
    Explain(explain::Options),
    /// Look up all configured images once and print their ids as JSON
    Images(lookups::Options),
    #[command(about = text_template::ABOUT)]
    TextTemplate(text_template::Options),
}

/// Runs the verb; gives the exit code.
///
/// # Errors
/// All that is wrong with configuration, instance and templates, and failures of the machine.
pub fn run(options: Options, common: &Common) -> Result<u8> {
    match options.command {
        Some(Command::Explain(explain)) => explain::run(&explain, common),
        Some(Command::Images(images)) => lookups::run(&images, common),
        Some(Command::TextTemplate(template)) => text_template::run(template, common),
        None => generate::run(&options.inputs, &options.output, common),
    }
}
