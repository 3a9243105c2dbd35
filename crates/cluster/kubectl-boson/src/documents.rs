//! `kubectl boson documents`: the documents of a run as files.

use std::path::PathBuf;

use clap::Args;
use handoff::output;
use problem::{Problem, Result, code};
use startup::Common;

use crate::objects::write_secret;
use crate::output::line;
use crate::target::Target;

/// One line for `--help`.
pub const ABOUT: &str = "Write the documents of a run into files";

/// The arguments of the verb.
#[derive(Debug, Args)]
#[command(
    long_about = "Write the documents of a run into files, as `boson plan --output-dir` writes them: for `boson diff`, `boson graph` and \
        `boson plan --previous`, with which instances keep their indexes. They hold passwords: only you can read the files.",
    after_long_help = "Examples:\n\
        \x20\x20kubectl boson documents --output now\n\
        \x20\x20boson diff now planned -r ./nats-release\n\n\
        Exit codes: 0 done; 2 usage; 65 the deployment or the run does not exist; 70 a file cannot be written, the API server failed or \
        cannot be reached."
)]
pub struct Options {
    #[command(flatten)]
    target: Target,
    /// The directory to write; files in it are replaced
    #[arg(long, value_name = "DIR")]
    output: PathBuf,
    /// The run, as `versions` lists it [default: the present one]
    #[arg(long, value_name = "RUN")]
    run: Option<u32>,
}

/// Runs the verb; returns the exit code.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    let deployment = options.target.find()?;
    let (versions, _) = deployment.versions()?;
    let is_wanted = |run: &&handoff::versions::Run| options.run.is_none_or(|number| run.run == number);
    let run = versions.runs.iter().find(is_wanted).ok_or_else(|| {
        let numbers: Vec<String> = versions.runs.iter().map(|run| run.run.to_string()).collect();
        let message = format!("there is no run {}", options.run.unwrap_or_default());
        Problem::input(message).code(code::INPUT_INVALID).hint(format!("there are: {}", numbers.join(", ")))
    })?;
    let documents = deploy::documents_of_run(&deployment.cluster, run)?;
    for (directory, key, text) in &documents {
        write_secret(&options.output.join(directory).join("output.json"), output::encode(key, text).as_bytes())?;
    }
    line(format_args!("{} documents of run {} of deployment {}", documents.len(), run.run, deployment.name));
    Ok(0)
}
