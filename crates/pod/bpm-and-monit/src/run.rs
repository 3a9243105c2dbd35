//! `bpm run`: a process here and now, for errands and for scripts.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use clap::Args;
use problem::{IoContext, Result};
use startup::Common;

use crate::Named;

/// What is to be run.
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(flatten)]
    named: Named,
    /// A variable for the process, in addition to those of bpm.yml; may be given several times
    #[arg(short, long, value_name = "NAME=VALUE")]
    env: Vec<String>,
    /// A volume for the process, in addition to those of bpm.yml; may be given several times
    #[arg(short, long, value_name = "PATH[:OPTIONS]")]
    volume: Vec<String>,
}

/// Becomes `run-process`, which is the same executable under another name.
pub(crate) fn run(options: &Options, common: &Common) -> Result<u8> {
    let program = Path::new("/proc/self/exe");
    let mut arguments: Vec<OsString> =
        ["--once", "--job", &options.named.job, "--process", options.named.process()].map(OsString::from).into();
    let further = |flag: &str, values: &[String]| -> Vec<OsString> {
        values.iter().map(|value| format!("{flag}={value}").into()).collect()
    };
    arguments.extend(further("--env", &options.env));
    arguments.extend(further("--volume", &options.volume));
    arguments.extend(common.arguments());
    Err(Command::new(program).arg0("run-process").args(arguments).exec()).io("execute", program)
}
