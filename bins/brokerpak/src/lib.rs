//! Checks brokerpaks and resolves requests to their services.

mod catalog;
mod check;
mod docs;
mod documents;
pub mod eval;
mod extract;
mod init;
mod machine;
mod paks;
mod resolve;

use clap::{Args, Subcommand};
use problem::Result;
use startup::Common;

/// The verb's line in `--help`.
pub const ABOUT: &str = "Check brokerpaks and resolve requests to their services";

/// The arguments of `brokerpak`.
#[derive(Debug, Args)]
#[command(
    long_about = "Work with brokerpaks (Brokerpak specification V1): services that Terraform templates describe.",
    after_long_help = "Examples:\n\
        \x20\x20brokerpak init my-pak\n\
        \x20\x20brokerpak validate my-pak --strict\n\
        \x20\x20brokerpak extract my-pak-1.0.0.brokerpak bin --platform linux/amd64\n\
        \x20\x20brokerpak resolve my-pak --request request.json\n\
        \x20\x20brokerpak eval '${json.marshal(labels)}' --variables variables.json\n\n\
        Exit codes: 0 done; 2 usage; 65 a document is wrong; 66 an expression is wrong or failed; 70 the environment failed."
)]
pub struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    #[command(about = init::ABOUT)]
    Init(init::Options),
    #[command(about = check::ABOUT_VALIDATE)]
    Validate(check::ValidateOptions),
    #[command(about = check::ABOUT_INFO)]
    Info(check::InfoOptions),
    #[command(about = docs::ABOUT)]
    Docs(docs::Options),
    #[command(about = catalog::ABOUT)]
    Catalog(catalog::Options),
    #[command(about = extract::ABOUT)]
    Extract(extract::Options),
    #[command(about = resolve::ABOUT)]
    Resolve(resolve::Options),
    #[command(about = eval::ABOUT)]
    Eval(eval::Options),
}

/// Runs the verb; gives the exit code.
///
/// # Errors
/// All that is wrong with the documents, expressions that fail, and failures of the machine.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    match options.command {
        Command::Init(options) => init::run(&options),
        Command::Docs(options) => docs::run(&options),
        Command::Catalog(options) => catalog::run(&options),
        Command::Validate(options) => check::validate(options),
        Command::Info(options) => check::info(&options),
        Command::Extract(options) => extract::run(&options),
        Command::Resolve(options) => resolve::run(&options),
        Command::Eval(options) => eval::run(&options),
    }
}

/// Writes a result to stdout.
fn print(text: &str) -> Result<()> {
    use std::io::Write;
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    Ok(written.map_err(|error| problem::Problem::internal("cannot write to stdout").because(error))?)
}
