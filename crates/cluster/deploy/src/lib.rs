//! Applies the workloads of a deployment: StatefulSets, Services, Jobs.

mod admission;
mod apply;
mod differences;
mod documents;
pub mod errands;
mod events;
pub mod health;
mod interrupt;
pub mod lease;
mod name_server;
mod offline;
mod options;
mod output;
mod plan;
mod preview;
mod prune;
mod replace;
pub mod report;
pub mod requests;
mod session;
pub mod standby;
mod storage;
pub mod tasks;
mod update;
mod wait;
mod watch;

use cluster::Cluster;
use handoff::requests::What;
use handoff::versions::Run;
use kubernetes_objects as objects;
use objects::{GroupObjects, UpdatedBy};
use problem::{IoContext, Problem, Problems, Result};
use startup::Common;

pub use crate::differences::Difference;
use crate::documents::Documents;
pub use crate::documents::{deployment_of_run, of_run as documents_of_run, present_run, record};
pub use crate::interrupt::Interrupt;
pub use crate::offline::{Offline, offline};
pub use crate::options::Options;
use crate::options::Request;
use crate::output::say;
use crate::plan::Plan;
pub use crate::preview::{Preview, preview};
pub use crate::session::{Runner, Session, person};

/// One line for `--help`.
pub const ABOUT: &str = "Apply the workloads of a deployment";

/// Runs the verb; gives the exit code.
///
/// # Errors
/// Before anything is applied: what is wrong with flags and documents, objects that are not the deployment's, pods that the
/// namespace does not admit. Then: failures of the cluster, groups that do not become ready.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    let interrupt = Interrupt::handle()?;
    let mut request = options.check()?;
    let cluster = Cluster::connect(&request.connection)?;
    cluster.check_version()?;
    if request.only_looks() {
        return carry_out(&cluster, &request);
    }
    let runner = Runner::of_job(&cluster, request.gather_job.as_deref())?;
    let session = Session::begin(&request.connection, &request.deployment, &runner, &interrupt)?;
    request.session = Some(session.clone());
    let result = carry_out(&cluster, &request);
    session.end(&result, &interrupt);
    result
}

/// Applies the workloads of the present run, as a part of a run that a person has begun.
///
/// # Errors
/// As [`run`].
pub fn run_in(options: Options, session: &Session) -> Result<u8> {
    let request = Request { session: Some(session.clone()), ..options.check()? };
    let cluster = Cluster::connect(&request.connection)?;
    cluster.check_version()?;
    carry_out(&cluster, &request)
}

fn carry_out(cluster: &Cluster, request: &Request) -> Result<u8> {
    let documents = match &request.check {
        Some(directory) => Documents::planned(cluster, &request.deployment, directory)?,
        None => Documents::read(cluster, &request.deployment)?,
    };
    request.note(|task| task.run = documents.run);
    let documents = documents.updated_as(request.update);
    documents.warn_of_ignored_aliases();
    documents.warn_of_sysctls();
    documents.warn_of_vm_strategy();
    // All checks come before the first change: with an address that the server of DNS aliases may not have in the end.
    let tried = settings(cluster, request, &documents, false)?;
    let plan = Plan::new(cluster, &documents.workloads(&tried), &documents.anchor)?;
    if let Some(directory) = &request.output_dir {
        plan.check_owners(request.force_conflicts)?;
        return write_files(directory, &plan).map(|()| 0);
    }
    check(cluster, request, &plan)?;
    if let Some(directory) = &request.check {
        return look(cluster, request, directory).map(|()| 0);
    }
    let settings = settings(cluster, request, &documents, !request.dry_run)?;
    if settings == tried {
        deploy(cluster, request, &plan)?;
    } else {
        deploy(cluster, request, &Plan::new(cluster, &documents.workloads(&settings), &documents.anchor)?)?;
    }
    Ok(0)
}

/// Prints what the run would do, or compares it with what it is expected to do, if that is wanted.
fn look(cluster: &Cluster, request: &Request, planned: &std::path::Path) -> Result<()> {
    if let Some(expected) = &request.expect {
        return preview::check_expectation(cluster, request, planned, expected);
    }
    if request.diff {
        let preview = preview::of_record(cluster, request, planned)?;
        let text = serde_json::to_string(&preview);
        let text = text.map_err(|error| Problem::internal("cannot write the differences as JSON").because(error))?;
        say(format_args!("{text}"));
    }
    Ok(())
}

/// Checks whether the cluster takes the objects of an earlier run; changes nothing.
///
/// # Errors
/// As [`run`] before anything is applied.
pub fn check_run(options: Options, run: &Run) -> Result<()> {
    let request = options.check()?;
    let cluster = Cluster::connect(&request.connection)?;
    check(&cluster, &request, &plan_of_run(&cluster, &request, run)?)
}

/// The objects of a run that are missing or differ in the cluster; changes nothing.
///
/// # Errors
/// Flags and documents that cannot be used, failures of the cluster.
pub fn differences(options: Options, run: &Run) -> Result<Vec<Difference>> {
    let request = options.check()?;
    let cluster = Cluster::connect(&request.connection)?;
    differences::of_plan(&cluster, &plan_of_run(&cluster, &request, run)?)
}

/// What a run is to have in the cluster; changes nothing.
fn plan_of_run(cluster: &Cluster, request: &Request, run: &Run) -> Result<Plan> {
    let documents = Documents::of_run(cluster, &request.deployment, run)?.updated_as(request.update);
    let settings = settings(cluster, request, &documents, false)?;
    Plan::new(cluster, &documents.workloads(&settings), &documents.anchor)
}

/// The settings of all pods, with the address of the server of DNS aliases, for which `apply` makes a Service.
fn settings(cluster: &Cluster, request: &Request, documents: &Documents, apply: bool) -> Result<objects::Settings> {
    let settings = request.pods.settings(&documents.releases())?;
    // A run that does not wait for pods, or only writes files, cannot replace them.
    let is_unable = request.output_dir.is_some() || request.ready_timeout.is_some_and(|time| time.is_zero());
    let updated_by = if is_unable { UpdatedBy::Kubernetes } else { UpdatedBy::Deploy };
    let settings = objects::Settings { patches: request.patches.clone(), updated_by, ..settings };
    let workloads = documents.workloads(&settings);
    workloads.check()?;
    let name_server = name_server::address(cluster, request, &workloads, &documents.anchor, apply)?;
    Ok(objects::Settings { name_server, ..settings })
}

/// The checks before the first change.
fn check(cluster: &Cluster, request: &Request, plan: &Plan) -> Result<()> {
    plan.check_owners(request.force_conflicts)?;
    errands::check(plan, request)?;
    storage::check(cluster, plan)?;
    admission::check(cluster, plan)
}

fn deploy(cluster: &Cluster, request: &Request, plan: &Plan) -> Result<()> {
    let apply = apply::Applier::new(cluster, request, plan);
    // Before the first change: what is reported from now on is about this run.
    let reporter = report::Reporter::of_deployment(cluster, &plan.deployment)?;
    replace::mark(cluster, request, &plan.deployment)?;
    let mut set_aside = Vec::new();
    plan.shared.iter().try_for_each(|object| apply.object(object))?;
    if let Some(server) = plan.shared.iter().find(|object| object["kind"] == cluster::Kind::DEPLOYMENT.kind) {
        name_server::until_ready(cluster, request, &reporter, cluster::name(server))?;
    }
    let mut unfinished = Vec::new();
    for group in &plan.groups {
        group.objects.iter().try_for_each(|object| apply.object(object))?;
        unfinished.push(group);
        // BOSH: the groups behind a serial one wait for it. But none waits for a group that is behind it.
        if plan.is_serial(&group.group) && !waits_for_later(&unfinished, plan) {
            set_aside.extend(wait::until_ready(cluster, request, &reporter, &unfinished, &apply.edited())?);
            unfinished.clear();
        }
    }
    set_aside.extend(wait::until_ready(cluster, request, &reporter, &unfinished, &apply.edited())?);
    Problems::check(set_aside)?;
    prune::prune(cluster, request, plan)?;
    post_deploy(cluster, request, plan)?;
    errands::run(cluster, request, &reporter, plan)
}

/// Runs the post-deploy scripts of all instances, in each once for what is deployed.
fn post_deploy(cluster: &Cluster, request: &Request, plan: &Plan) -> Result<()> {
    if request.dry_run || plan.objects().flat_map(requests::servers).all(|server| !server.serves(&What::PostDeploy)) {
        return Ok(());
    }
    let servers = requests::of_deployment(cluster, &plan.deployment, &What::PostDeploy, None)?;
    if requests::carry_out(
        cluster,
        &servers,
        &What::PostDeploy,
        &plan.digest(),
        request.run_timeout(),
        !request.is_unattended(),
    )? {
        say(format_args!("post-deploy scripts have succeeded"));
    }
    Ok(())
}

/// Whether a group that is not ready yet waits for one that is not applied yet.
fn waits_for_later(unfinished: &[&GroupObjects], plan: &Plan) -> bool {
    let Some(last) = unfinished.last().map(|group| &group.group) else { return false };
    let later = plan.groups.iter().skip_while(|group| group.group != *last).skip(1).map(|group| &group.group);
    let later: Vec<&String> = later.collect();
    unfinished.iter().flat_map(|group| &group.waits_for).any(|name| later.contains(&name))
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
