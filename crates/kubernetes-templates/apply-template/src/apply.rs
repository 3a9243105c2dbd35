//! Applying the objects.

use std::time::{Duration, Instant};

use cluster::{Apply, Cluster, Object, name};
use dialect_kubernetes_templates::UserValues;
use problem::{Problem, Result, code};

use crate::instance::{Instance, MANAGER};
use crate::members::{Member, absent};
use crate::options::Request;
use crate::plan::{Plan, Step};
use crate::say;
use crate::secrets::Secrets;

const INTERVAL: Duration = Duration::from_millis(200);
/// What ends the lines of a trial.
const TRIAL: &str = " (dry run)";

/// Numbers of objects, for the last line.
#[derive(Default)]
struct Counts {
    created: usize,
    changed: usize,
    unchanged: usize,
    deleted: usize,
}

/// Applies a plan. The instance's Secret comes first: if the run is interrupted, it names all that may exist.
pub(crate) fn apply(
    cluster: &Cluster,
    request: &Request,
    instance: &Instance,
    plan: &Plan,
    values: &UserValues,
    secrets: &Secrets,
) -> Result<()> {
    let mut counts = Counts::default();
    if request.dry_run {
        plan.steps.iter().for_each(|step| shown(step, plan, &mut counts));
        plan.unwanted.iter().for_each(|member| deleted(member, plan, &mut counts, TRIAL));
        counts.print(&instance.name, TRIAL);
        return Ok(());
    }
    let instance = instance.extend(cluster, &plan.reach, values)?;
    for step in &plan.steps {
        secrets.mask(one(cluster, request, step, plan, &mut counts))?;
    }
    for member in &plan.unwanted {
        cluster.delete_this(&member.resource, &member.object)?;
        deleted(member, plan, &mut counts, "");
    }
    instance.narrow(cluster, &plan.reach)?;
    counts.print(&instance.name, "");
    Ok(())
}

/// Reports what would become of an object.
fn shown(step: &Step, plan: &Plan, counts: &mut Counts) {
    let what = step.member.shown(&plan.namespace);
    match (&step.present, step.would_change()) {
        (None, _) => counts.created(format_args!("{what} created{TRIAL}")),
        (Some(_), true) => counts.changed(format_args!("{what} changed{TRIAL}")),
        (Some(_), false) => counts.unchanged += 1,
    }
}

fn deleted(member: &Member, plan: &Plan, counts: &mut Counts, end: &str) {
    counts.deleted += 1;
    say(format_args!("{} deleted{end}", member.shown(&plan.namespace)));
}

fn one(cluster: &Cluster, request: &Request, step: &Step, plan: &Plan, counts: &mut Counts) -> Result<()> {
    let member = &step.member;
    let how = Apply { manager: MANAGER, force: request.force_conflicts, dry_run: false };
    let applied = cluster.apply_to(&member.resource, &member.namespace, &member.object, how)?;
    let applied = applied.ok_or_else(|| absent(member, cluster))?;
    let what = member.shown(&plan.namespace);
    let version = |object: &Object| object["metadata"]["resourceVersion"].clone();
    match &step.present {
        None => counts.created(format_args!("{what} created")),
        Some(present) if version(present) == version(&applied) => counts.unchanged += 1,
        // A controller may have written its status since.
        Some(_) if !step.would_change() => counts.unchanged += 1,
        Some(_) => counts.changed(format_args!("{what} changed")),
    }
    if member.resource.kind == "CustomResourceDefinition" {
        wait_until_served(cluster, request, member)
    } else {
        Ok(())
    }
}

/// Waits until the API server has the kind that an object defines.
fn wait_until_served(cluster: &Cluster, request: &Request, member: &Member) -> Result<()> {
    let start = Instant::now();
    let definition = name(&member.object);
    loop {
        let found = cluster.read(&member.resource, "", definition)?;
        let conditions = found.as_ref().and_then(|found| found["status"]["conditions"].as_array());
        let is_established = conditions
            .into_iter()
            .flatten()
            .any(|condition| condition["type"] == "Established" && condition["status"] == "True");
        if is_established && has_all_versions(cluster, &member.object)? {
            return Ok(());
        }
        if start.elapsed() > request.timeout {
            let message = format!("CustomResourceDefinition {definition} is not served after {:?}", request.timeout);
            return Err(Problem::internal(message).code(code::CLUSTER_REFUSED).into());
        }
        std::thread::sleep(INTERVAL);
    }
}

/// Whether the API server lists the kind in each version.
fn has_all_versions(cluster: &Cluster, definition: &Object) -> Result<bool> {
    let spec = &definition["spec"];
    let versions = spec["versions"].as_array().into_iter().flatten().filter(|version| version["served"] == true);
    for version in versions {
        let text = |value: &Object| value.as_str().unwrap_or_default().to_owned();
        let api_version = format!("{}/{}", text(&spec["group"]), text(&version["name"]));
        if !cluster.resources(&api_version)?.iter().any(|resource| spec["names"]["kind"] == resource.kind.as_str()) {
            return Ok(false);
        }
    }
    Ok(true)
}

impl Counts {
    fn created(&mut self, line: std::fmt::Arguments) {
        self.created += 1;
        say(line);
    }

    fn changed(&mut self, line: std::fmt::Arguments) {
        self.changed += 1;
        say(line);
    }

    fn print(&self, instance: &str, end: &str) {
        let Counts { created, changed, unchanged, deleted } = self;
        say(format_args!(
            "instance {instance}: {created} created, {changed} changed, {deleted} deleted, {unchanged} unchanged{end}"
        ));
    }
}
