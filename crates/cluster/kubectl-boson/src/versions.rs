//! `kubectl boson versions`: the runs of a deployment.

use clap::Args;
use problem::Result;
use startup::Common;
use table::{Table, TableOptions};

use crate::target::Target;

/// One line for `--help`.
pub const ABOUT: &str = "Show the runs of a deployment and their versions";

/// The arguments of the verb.
#[derive(Debug, Args)]
#[command(
    long_about = "Show the present run of a deployment and the runs that `rollback` can return to, with the versions of their \
        documents: ig-resolved.GROUP-vN, bpm.GROUP-vN, deployment-vN.",
    after_long_help = "Example:\n\x20\x20kubectl boson versions nats"
)]
pub struct Options {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    table: TableOptions,
}

/// Runs the verb; returns the exit code.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    let (versions, _) = options.target.find()?.versions()?;
    let mut table = Table::new("versions", &["Run", "Deployment", "Groups"]);
    for run in &versions.runs {
        let groups: Vec<String> = run.groups.iter().map(|(group, version)| format!("{group} v{version}")).collect();
        table.push([run.run.to_string(), format!("v{}", run.deployment), groups.join(", ")]);
    }
    table.print(&options.table)?;
    Ok(0)
}
