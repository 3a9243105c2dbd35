//! `kubectl boson versions`: the runs of a deployment.

use clap::Args;
use problem::Result;
use startup::Common;

use crate::output::{row, table};
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
}

/// Runs the verb; returns the exit code.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    let (versions, _) = options.target.find()?.versions()?;
    let mut rows = vec![row(["RUN", "DEPLOYMENT", "GROUPS"])];
    rows.extend(versions.runs.iter().map(|run| {
        let groups: Vec<String> = run.groups.iter().map(|(group, version)| format!("{group} v{version}")).collect();
        vec![run.run.to_string(), format!("v{}", run.deployment), groups.join(", ")]
    }));
    table(&rows);
    Ok(0)
}
