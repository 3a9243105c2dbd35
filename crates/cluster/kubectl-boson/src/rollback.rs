//! `kubectl boson rollback`: returns to an earlier run.

use clap::Args;
use cluster::{Apply, Object};
use deploy::lease::{self, Beside};
use deploy::{Interrupt, Runner, Session};
use handoff::versions::{Run, VERSIONS_YAML, Versions};
use kubernetes_objects as objects;
use pod_flags::UpdateFlags;
use problem::{Problem, Result, code};
use serde_json::json;
use startup::Common;

use crate::output::line;
use crate::run;
use crate::target::{Deployment, Target};

/// One line for `--help`.
pub const ABOUT: &str = "Return to an earlier run";

/// The arguments of the verb.
#[derive(Debug, Args)]
#[command(
    long_about = "Make the documents of an earlier run valid again, as a new run, apply them with the images and other flags of \
        that run, and wait until all instances are ready. A run that is under way is stopped. Links that the \
        deployment shares stay those of the last run.",
    after_long_help = "Example:\n\x20\x20kubectl boson rollback nats --to 3\n\n\
        Exit codes: 0 done; 2 usage; 65 there is no such run, its flags are not known, or an object belongs to others; 69 the update \
        failed; 70 the API server failed or cannot be reached; 130 interrupted."
)]
pub struct Options {
    #[command(flatten)]
    target: Target,
    /// The run; the present one is applied again [default: the one before the present one]
    #[arg(long, value_name = "RUN")]
    to: Option<u32>,
    /// Take over objects that belong to others
    #[arg(long, env = "FORCE_CONFLICTS")]
    force_conflicts: bool,
    /// How long the instances of a group may take until they are ready, instead of the manifest's watch times; 0: do not wait [default:
    /// that of the run]
    #[arg(long, env = "READY_TIMEOUT", value_name = "DURATION")]
    ready_timeout: Option<String>,
    #[command(flatten)]
    update: UpdateFlags,
}

/// Runs the verb; returns the exit code.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    let interrupt = Interrupt::handle()?;
    let deployment = options.target.find()?;
    let (versions, record) = deployment.versions()?;
    let earlier = find(&versions, options.to)?;
    let mut deploy = deploy::Options::of_run(&deployment.name, earlier, deployment.connection.clone())?;
    deploy.force_conflicts = options.force_conflicts;
    deploy.ready_timeout = options.ready_timeout.filter(|text| !text.is_empty()).or(deploy.ready_timeout);
    deploy.update = options.update.or(deploy.update);
    // What the cluster refuses is reported before anything changes.
    deploy::check_run(deploy.clone(), earlier)?;
    let runner = Runner::of_person("rollback", Beside::Wait);
    lease::cancel(&deployment.cluster, &deployment.name, &runner.by)?;
    run::delete_all(&deployment.cluster, &deployment.name)?;
    let session = Session::begin(&deployment.connection, &deployment.name, &runner, &interrupt)?;
    let result = write(&deployment, &versions, &record, earlier).and_then(|present| {
        interrupt.explain(
            &format!("the documents of run {present} are valid, and are applied in part"),
            &format!("`kubectl boson rollback {} --to {present}` goes on", deployment.name),
        );
        deploy::run_in(deploy, &session)
    });
    session.end(&result, &interrupt);
    result
}

/// The run with this number, or the one before the present one.
fn find(versions: &Versions, number: Option<u32>) -> Result<&Run> {
    let known = versions.runs.iter();
    let found = match number {
        Some(number) => known.clone().find(|run| run.run == number),
        None => known.clone().nth(1),
    };
    Ok(found.ok_or_else(|| {
        let message = number.map_or("there is no earlier run".to_owned(), |number| format!("there is no run {number}"));
        let numbers: Vec<String> = known.map(|run| run.run.to_string()).collect();
        Problem::input(message).code(code::INPUT_INVALID).hint(format!("there are: {}", numbers.join(", ")))
    })?)
}

/// Makes the documents of a run valid; returns the number of the run that has them.
fn write(deployment: &Deployment, versions: &Versions, record: &Object, earlier: &Run) -> Result<u32> {
    let flags = earlier.flags.clone().unwrap_or_default();
    let Some(next) = versions.with(earlier.deployment, earlier.groups.clone(), flags) else {
        let present = versions.runs.first().map_or(earlier.run, |run| run.run);
        line(format_args!("run {present} is the present one"));
        return Ok(present);
    };
    let mut applied = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
        "name": objects::record(&deployment.name),
        "labels": record["metadata"]["labels"],
        "ownerReferences": record["metadata"]["ownerReferences"],
        "resourceVersion": record["metadata"]["resourceVersion"],
    }});
    // What else is in it belongs to all runs.
    applied["data"] = record["data"].clone();
    applied["data"][VERSIONS_YAML] = next.encode()?.into();
    deployment.cluster.apply(&applied, Apply { manager: objects::MANAGER, force: true, dry_run: false })?;
    let number = next.runs.first().map_or(earlier.run, |run| run.run);
    line(format_args!("run {number} has the documents and images of run {}", earlier.run));
    Ok(number)
}
