//! Checks brokerpaks, resolves requests to their services, and runs them with terraform.

mod build;
mod catalog;
mod check;
mod docs;
mod documents;
pub mod eval;
mod extract;
mod init;
mod job;
mod leased_run;
mod machine;
mod output;
mod paks;
mod resolve;
mod run;
mod runs;
mod serve;
mod signals;
mod test;

use clap::{Args, Subcommand};
use problem::Result;
use startup::Common;

/// The verb's line in `--help`.
pub const ABOUT: &str = "Check, resolve, run and serve brokerpaks";

/// The arguments of `brokerpak`.
#[derive(Debug, Args)]
#[command(
    long_about = "Work with brokerpaks (Brokerpak specification V1): services that Terraform templates describe.",
    after_long_help = "Examples:\n\
        \x20\x20brokerpak init my-pak\n\
        \x20\x20brokerpak validate my-pak --strict\n\
        \x20\x20brokerpak build my-pak\n\
        \x20\x20brokerpak extract my-pak-1.0.0.brokerpak bin --platform linux/amd64\n\
        \x20\x20brokerpak resolve my-pak --request request.json\n\
        \x20\x20brokerpak run provision my-pak-1.0.0.brokerpak --request request.json --output result.json\n\
        \x20\x20brokerpak serve my-pak-1.0.0.brokerpak --listen 127.0.0.1:8080\n\
        \x20\x20brokerpak eval '${json.marshal(labels)}' --variables variables.json\n\n\
        Exit codes: 0 done; 2 usage; 65 a document is wrong; 66 an expression or terraform failed; 70 the environment failed."
)]
pub struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    #[command(about = init::ABOUT)]
    Init(init::Options),
    #[command(about = build::ABOUT)]
    Build(build::Options),
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
    #[command(about = job::ABOUT)]
    Job(job::Options),
    #[command(about = leased_run::ABOUT, hide = true)]
    LeasedRun(leased_run::Options),
    #[command(about = resolve::ABOUT)]
    Resolve(resolve::Options),
    #[command(about = run::ABOUT)]
    Run(run::Options),
    #[command(about = test::ABOUT)]
    Test(test::Options),
    #[command(about = serve::ABOUT)]
    Serve(serve::Options),
    #[command(about = eval::ABOUT)]
    Eval(eval::Options),
}

/// Runs the verb; gives the exit code.
///
/// # Errors
/// All that is wrong with the documents, expressions that fail, and failures of the machine.
pub fn run(options: Options, common: &Common) -> Result<u8> {
    match options.command {
        Command::Init(options) => init::run(&options),
        Command::Build(options) => build::run(&options, common),
        Command::Docs(options) => docs::run(&options),
        Command::Catalog(options) => catalog::run(&options),
        Command::Validate(options) => check::validate(options),
        Command::Info(options) => check::info(&options),
        Command::Extract(options) => extract::run(&options),
        Command::Job(options) => job::run(&options),
        Command::LeasedRun(options) => leased_run::run(&options),
        Command::Resolve(options) => resolve::run(&options),
        Command::Run(options) => run::run(&options),
        Command::Test(options) => test::run(&options),
        Command::Serve(options) => serve::run(&options),
        Command::Eval(options) => eval::run(&options),
    }
}
