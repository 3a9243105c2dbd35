//! `kubectl boson rollback`: returns to the documents of an earlier run.

use clap::Args;
use cluster::Apply;
use handoff::versions::VERSIONS_YAML;
use kubernetes_objects as objects;
use problem::{Problem, Result, code};
use serde_json::json;
use startup::Common;

use crate::output::line;
use crate::target::Target;

/// One line for `--help`.
pub(crate) const ABOUT: &str = "Returns to the documents of an earlier run";

/// The arguments of the verb.
#[derive(Debug, Args)]
#[command(
    long_about = "Makes the documents of an earlier run valid again, as a new run, and prints the command that deploys them: \
        images are not part of the documents.",
    after_long_help = "Example:\n\x20\x20kubectl boson rollback nats --to 3"
)]
pub(crate) struct Options {
    #[command(flatten)]
    target: Target,
    /// The run [default: the one before the present one]
    #[arg(long, value_name = "RUN")]
    to: Option<u32>,
}

/// Runs the verb; returns the exit code.
pub(crate) fn run(options: Options, _common: &Common) -> Result<u8> {
    let deployment = options.target.find()?;
    let (versions, record) = deployment.versions()?;
    let earlier = versions.runs.iter().skip(1);
    let found = earlier.clone().find(|run| options.to.is_none_or(|number| run.run == number)).ok_or_else(|| {
        let known: Vec<String> = earlier.map(|run| run.run.to_string()).collect();
        let message =
            options.to.map_or("there is no earlier run".to_owned(), |to| format!("there is no earlier run {to}"));
        let problem = Problem::input(message).code(code::INPUT_INVALID);
        if known.is_empty() { problem } else { problem.hint(format!("there are: {}", known.join(", "))) }
    })?;
    let Some(next) = versions.with(found.deployment, found.groups.clone()) else {
        line(format_args!("run {} has the documents of the present run", found.run));
        return Ok(0);
    };
    let mut applied = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
        "name": objects::record(&deployment.name),
        "labels": record["metadata"]["labels"],
        "ownerReferences": record["metadata"]["ownerReferences"],
        "resourceVersion": record["metadata"]["resourceVersion"],
    }});
    applied["data"][VERSIONS_YAML] = next.encode()?.into();
    deployment.cluster.apply(&applied, Apply { manager: objects::MANAGER, force: true, dry_run: false })?;
    line(format_args!("run {} has the documents of run {}", next.runs[0].run, found.run));
    line(format_args!("now: kubectl boson deploy --deployment-name {} with the images of that run", deployment.name));
    Ok(0)
}
