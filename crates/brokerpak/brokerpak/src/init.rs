//! `init`.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::PathBuf;

use clap::Args;
use problem::{IoContext, Problem, Result};

/// One line for `--help`.
pub(crate) const ABOUT: &str = "Write a manifest and a definition to begin with";

const MANIFEST: &str = include_str!("init/manifest.yml");
const DEFINITION: &str = include_str!("init/example-service.yml");

/// The arguments of `init`.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n\
        \x20\x20brokerpak init my-pak\n\
        \x20\x20brokerpak validate my-pak --strict\n\n\
        Exit codes: 0 done; 2 usage; 65 a file exists already, nothing is written; 70 a file could not be written.")]
pub(crate) struct Options {
    /// The directory of the pak; it is created
    #[arg(value_name = "DIR", default_value = ".")]
    directory: PathBuf,
}

/// Runs `init`; gives the exit code.
///
/// # Errors
/// Files that exist, and failures of the machine.
pub(crate) fn run(options: &Options) -> Result<u8> {
    let directory = &options.directory;
    fs::create_dir_all(directory).io("create", directory)?;
    let definition = DEFINITION.replace("SERVICE_ID", &uuid()?).replace("PLAN_ID", &uuid()?);
    let files =
        [(directory.join("example-service.yml"), definition), (directory.join("manifest.yml"), MANIFEST.to_owned())];
    if let Some((path, _)) = files.iter().find(|(path, _)| path.symlink_metadata().is_ok()) {
        return Err(Problem::input(format!("{} exists already; nothing was written", path.display())).into());
    }
    for (path, text) in files {
        let mut file =
            OpenOptions::new().write(true).create_new(true).open(&path).map_err(|error| match error.kind() {
                ErrorKind::AlreadyExists => Problem::input(format!("{} exists already", path.display())),
                _ => Problem::internal(format!("cannot create {}", path.display())).because(error),
            })?;
        file.write_all(text.as_bytes()).io("write", &path)?;
    }
    Ok(0)
}

/// A random UUID (version 4).
fn uuid() -> Result<String> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| Problem::internal("the machine has no random numbers").because(error))?;
    bytes[6] = bytes[6] & 0x0F | 0x40;
    bytes[8] = bytes[8] & 0x3F | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]))
}
