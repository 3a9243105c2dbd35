//! Applies the workloads of a deployment: StatefulSets, Services, Jobs.

mod admission;
mod apply;
mod documents;
pub mod errands;
pub mod health;
mod options;
mod plan;
mod prune;
mod wait;

use std::io::Write;

use cluster::Cluster;
use kubernetes_objects as objects;
use problem::{IoContext, Result};
use startup::Common;

pub use crate::options::Options;
use crate::options::Request;
use crate::plan::Plan;

/// One line for `--help`.
pub const ABOUT: &str = "Applies the workloads of a deployment";

/// Runs the verb; gives the exit code.
///
/// # Errors
/// Before anything is applied: what is wrong with flags and documents, objects that are not the deployment's, pods that the
/// namespace does not admit. Then: failures of the cluster, groups that do not become ready.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    let request = options.check()?;
    let cluster = Cluster::connect(&request.connection)?;
    cluster.check_version()?;
    let documents = documents::Documents::read(&cluster, &request.deployment)?;
    let settings = request.pods.settings(&documents.releases())?;
    let workloads = documents.workloads(&settings);
    workloads.check()?;
    let plan = Plan::new(&cluster, &workloads, &documents.anchor)?;
    plan.check_owners(request.force_conflicts)?;
    if let Some(directory) = &request.output_dir {
        return write_files(directory, &plan).map(|()| 0);
    }
    errands::check(&plan, &request)?;
    admission::check(&cluster, &plan)?;
    deploy(&cluster, &request, &plan)?;
    Ok(0)
}

fn deploy(cluster: &Cluster, request: &Request, plan: &Plan) -> Result<()> {
    let apply = apply::Applier::new(cluster, request, plan);
    plan.shared.iter().try_for_each(|object| apply.object(object))?;
    let mut unfinished = Vec::new();
    for group in &plan.groups {
        group.objects.iter().try_for_each(|object| apply.object(object))?;
        unfinished.push(group);
        // BOSH: the groups behind a serial one wait for it.
        if plan.is_serial(&group.group) && !request.dry_run {
            wait::until_ready(cluster, request, plan, &unfinished)?;
            unfinished.clear();
        }
    }
    if !request.dry_run {
        wait::until_ready(cluster, request, plan, &unfinished)?;
    }
    prune::prune(cluster, request, plan)?;
    errands::run(cluster, request, plan)
}

/// The objects as files, one for each group.
fn write_files(directory: &std::path::Path, plan: &Plan) -> Result<()> {
    std::fs::create_dir_all(directory).io("create", directory)?;
    let write = |name: String, objects: &[objects::Object]| {
        let path = directory.join(format!("{name}.yaml"));
        std::fs::write(&path, objects::to_yaml(objects)).io("write", &path)
    };
    write("shared".to_owned(), &plan.shared)?;
    plan.groups
        .iter()
        .filter(|group| !group.objects.is_empty())
        .try_for_each(|group| write(format!("group-{}", objects::deployment_label(&group.group)), &group.objects))
}

/// Prints a line of progress.
pub(crate) fn say(line: std::fmt::Arguments) {
    // Nobody may be reading.
    let _ = writeln!(std::io::stdout(), "{line}");
}
