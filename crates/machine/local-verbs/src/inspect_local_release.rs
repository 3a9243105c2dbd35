//! `boson inspect-local-release`: the jobs and packages of a release.

use std::path::PathBuf;

use clap::Args;
use local_state::output;
use problem::Result;
use release::{Content, Release};
use startup::Common;
use table::{Table, TableOptions};

/// The arguments of `inspect-local-release`.
#[derive(Debug, Args)]
#[command(
    long_about = "Show the jobs and packages of a release: of its source directory, or of an archive made by bosh, whose digests are \
        checked.",
    after_long_help = "Examples:\n\
        \x20\x20boson inspect-local-release ./nats-release\n\
        \x20\x20boson inspect-local-release nats-1.tgz --json"
)]
pub struct Options {
    /// The release
    #[arg(value_name = "PATH")]
    pub(crate) path: PathBuf,
    #[command(flatten)]
    pub(crate) table: TableOptions,
}

/// One line for `--help`.
pub const ABOUT: &str = "Show the jobs and packages of a release";

/// Runs the verb; returns the exit code.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    let release = Release::open_any(&options.path, &local_state::user_dirs::cache()?, &|| false)?;
    let is_for_people = !options.table.json && options.table.format.is_none();
    if is_for_people {
        output::line(&format!("{}/{}", release.name, release.version.as_deref().unwrap_or("latest")));
    }
    let mut table = Table::new("release", &["Kind", "Name", "Packages", "State"]);
    for job in &release.jobs {
        table.push(["job".to_owned(), job.name.clone(), job.packages.join(", "), String::new()]);
    }
    for package in &release.packages {
        let state = if matches!(package.content, Content::Compiled(_)) { "compiled" } else { "source" };
        table.push(["package".to_owned(), package.name.clone(), package.dependencies.join(", "), state.to_owned()]);
    }
    table.print(&options.table)?;
    Ok(0)
}
