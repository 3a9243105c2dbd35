//! What a run would do with the instances and objects of a deployment: found by comparing, and by trials of the API server.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use cluster::{Cluster, Kind, Object, label, name};
use deployment_diff::{Diff, Effect, GroupDiff, InstanceDiff, Presence};
use handoff::deployment::Deployment;
use handoff::versions::Run;
use kubernetes_objects as objects;
use objects::{GroupObjects, Outdated, outdated};
use problem::{Problem, Result, code};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::differences;
use crate::documents::{Documents, deployment_of_run, digest_of_planned, present_run, unless_missing};
use crate::options::{Options, Request};
use crate::plan::Plan;
use crate::prune::unwanted;
use crate::replace;
use crate::settings;

/// What a run would do. It holds no value of a property.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Preview {
    /// The run whose documents are valid; 0 before the first.
    pub run: u32,
    /// A digest of the documents that the run would make valid.
    pub documents: String,
    /// What would happen to the instances.
    #[serde(flatten)]
    pub instances: Diff,
    /// The objects that would be made, changed or deleted: `Service nats-nats-4: created`.
    pub objects: Vec<String>,
}

impl Preview {
    /// Whether nothing would change.
    pub fn is_empty(&self) -> bool {
        self.instances.is_empty() && self.objects.is_empty()
    }

    /// What `deploy --expect` compares: the run before, and digests of the documents, and of what happens to instances and objects.
    pub fn expectation(&self) -> String {
        let effects = json!([self.instances, self.objects]).to_string();
        format!("{}.{}.{}", self.run, self.documents, objects::digest(effects.as_bytes()))
    }
}

/// Compares what `plan` has written into a directory with the cluster; `present` is the run whose documents are valid.
///
/// # Errors
/// Documents, flags, names and settings that are wrong; objects that the API server refuses; failures of the cluster.
pub fn preview(options: Options, planned: &Path, present: Option<&Run>) -> Result<Preview> {
    let request = options.check()?;
    let cluster = Cluster::connect(&request.connection)?;
    of_request(&cluster, &request, planned, present)
}

/// As [`preview`], beside the documents of the record.
pub(crate) fn of_record(cluster: &Cluster, request: &Request, planned: &Path) -> Result<Preview> {
    let present = present_run(cluster, &request.deployment)?;
    of_request(cluster, request, planned, present.as_ref())
}

fn of_request(cluster: &Cluster, request: &Request, planned: &Path, present: Option<&Run>) -> Result<Preview> {
    let documents =
        Documents::planned_after(cluster, &request.deployment, planned, present)?.updated_as(request.update);
    let settings = settings(cluster, request, &documents, false)?;
    let plan = Plan::new(cluster, &documents.workloads(&settings), &documents.anchor)?;
    plan.check_owners(request.force_conflicts)?;
    let selector = format!("{}={}", objects::DEPLOYMENT, objects::deployment_label(&request.deployment));
    let pods = cluster.list(Kind::POD, &selector)?;
    let mut instances = instances(&plan, documents.deployment(), &pods, &replace::on_request(cluster, request, &pods)?);
    if let Some(present) = present
        && let Some(before) = unless_missing(deployment_of_run(cluster, present))?
    {
        name_settings(&mut instances, &before, documents.deployment());
    }
    Ok(Preview {
        run: present.map_or(0, |run| run.run),
        documents: digest_of_planned(documents.deployment(), planned)?,
        instances,
        objects: changed_objects(cluster, &plan)?,
    })
}

/// Adds what differs in the documents of the deployment: releases, sizes, disks, updates. A group in which only that differs is named, too.
fn name_settings(diff: &mut Diff, before: &Deployment, after: &Deployment) {
    let (of_deployment, mut of_groups) = deployment_diff::settings(before, after);
    diff.deployment = of_deployment;
    for group in &mut diff.groups {
        group.changes = of_groups.remove(&group.name).unwrap_or_default();
    }
    diff.groups.extend(of_groups.into_iter().map(|(name, changes)| GroupDiff {
        name,
        presence: Presence::Changed,
        changes,
        instances: Vec::new(),
        files: Vec::new(),
        files_unknown: Vec::new(),
    }));
}

/// The annotation of a gather Job that has once been about to do what it was expected to do.
const MET: &str = "quarks.cloudfoundry.org/expectation";

/// Refuses a run that would not do what was expected. A run that has been about to do so may have been interrupted since: its next try
/// goes on.
///
/// # Errors
/// What has changed since; as [`preview`].
pub(crate) fn check_expectation(cluster: &Cluster, request: &Request, planned: &Path, expected: &str) -> Result<()> {
    let job = match &request.gather_job {
        Some(name) => cluster.get(Kind::JOB, name)?,
        None => None,
    };
    if job.as_ref().is_some_and(|job| job["metadata"]["annotations"][MET] == expected) {
        return Ok(());
    }
    let found = of_record(cluster, request, planned)?.expectation();
    if found != expected {
        let parts = |text: &str| text.split('.').map(str::to_owned).collect::<Vec<_>>();
        let (found, expected) = (parts(&found), parts(expected));
        let what = match (found.first() == expected.first(), found.get(1) == expected.get(1)) {
            (false, _) => format!("another run has been made: run {}", found[0]),
            (true, false) => {
                "the same manifest renders something else: a release, an image or a link has changed".to_owned()
            }
            (true, true) => "instances or objects of the deployment have changed".to_owned(),
        };
        let message = format!("the run of deployment {} would not do what was shown", request.deployment);
        let problem = Problem::update(message).code(code::RUN_OUTDATED).because(what);
        return Err(problem.hint("nothing has changed; look again: kubectl boson apply MANIFEST").into());
    }
    if let Some(job) = job {
        let mark = json!({"metadata": {"annotations": {MET: expected}}});
        cluster.merge(Kind::JOB, name(&job), &mark)?;
    }
    Ok(())
}

/// The pods that are replaced on request, and why.
type Requested = BTreeMap<String, &'static str>;

/// What happens to the instances of all groups.
fn instances(plan: &Plan, deployment: &Deployment, pods: &[Object], on_request: &Requested) -> Diff {
    let group_of = |name: &str, presence: Presence, instances: Vec<InstanceDiff>| GroupDiff {
        name: name.to_owned(),
        presence,
        changes: Vec::new(),
        instances,
        files: Vec::new(),
        files_unknown: Vec::new(),
    };
    let sets: BTreeSet<&str> = plan.live().filter(|of| of["kind"] == Kind::STATEFUL_SET.kind).map(name).collect();
    let mut groups = Vec::new();
    for group in &plan.groups {
        let is_known = group.stateful_sets.iter().any(|set| sets.contains(set.as_str()));
        let presence = if is_known { Presence::Changed } else { Presence::Added };
        let of_pod = |pod| of_instance(group, pod, pods, on_request);
        let mut found: Vec<InstanceDiff> = group.pods.iter().filter_map(of_pod).collect();
        found.sort_by_key(|one| one.name.rsplit_once('/').and_then(|(_, index)| index.parse::<u32>().ok()));
        found.extend(removed(&group.group, &group.stateful_sets, &group.pods, pods));
        if !found.is_empty() {
            groups.push(group_of(&group.group, presence, found));
        }
    }
    let known: Vec<String> =
        deployment.instance_groups.iter().map(|group| objects::deployment_label(&group.name)).collect();
    let gone = plan.live().filter(|of| of["kind"] == Kind::STATEFUL_SET.kind && plan.is_own(of));
    let gone = gone.filter_map(|set| Some((label(set, objects::GROUP)?, name(set))));
    for (group, set) in gone.filter(|(group, _)| known.iter().all(|known| known != group)) {
        let found: Vec<InstanceDiff> = removed(group, &[set.to_owned()], &[], pods).collect();
        match groups.iter_mut().find(|known| known.name == group) {
            Some(known) => known.instances.extend(found),
            None => groups.push(group_of(group, Presence::Removed, found)),
        }
    }
    Diff { deployment: Vec::new(), groups }
}

/// What happens to an instance; nothing if its pod stays.
fn of_instance(
    group: &GroupObjects,
    pod: &objects::InstancePod,
    pods: &[Object],
    on_request: &Requested,
) -> Option<InstanceDiff> {
    let instance = format!("{}/{}", group.group, pod.index);
    let set = group.objects.iter().find(|of| of["kind"] == Kind::STATEFUL_SET.kind && name(of) == pod.set)?;
    let Some(present) = pods.iter().find(|present| name(present) == pod.name()) else {
        return Some(InstanceDiff { name: instance, effect: Effect::New, reasons: Vec::new() });
    };
    let annotation = |name: &str| present["metadata"]["annotations"][name].as_str();
    let reasons = outdated(annotation, None, set, pod.ordinal).into_iter().map(|reason| match reason {
        Outdated::Unknown => "an earlier boson made its pod",
        Outdated::Recreated => "to be made anew",
        Outdated::Template => "images, processes or settings of the pod",
        Outdated::Files => "rendered files",
    });
    let reasons = reasons.chain(on_request.get(&pod.name()).copied());
    let reasons: Vec<String> = reasons.map(str::to_owned).collect();
    if reasons.is_empty() {
        return None;
    }
    Some(InstanceDiff { name: instance, effect: Effect::Replaced, reasons })
}

/// The pods of these StatefulSets that no instance has any more.
fn removed<'a>(
    group: &'a str,
    sets: &'a [String],
    wanted: &'a [objects::InstancePod],
    pods: &'a [Object],
) -> impl Iterator<Item = InstanceDiff> + 'a {
    let is_of = |pod: &&Object| name(pod).rsplit_once('-').is_some_and(|(set, _)| sets.iter().any(|own| own == set));
    let is_left = |pod: &&Object| wanted.iter().all(|instance| instance.name() != name(pod));
    pods.iter().filter(is_of).filter(is_left).map(move |pod| InstanceDiff {
        name: format!("{group} (pod {})", name(pod)),
        effect: Effect::Removed,
        reasons: Vec::new(),
    })
}

/// The objects that would be made, changed or deleted.
fn changed_objects(cluster: &Cluster, plan: &Plan) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    for difference in differences::of_plan(cluster, plan)? {
        let what = if difference.is_missing() { "created" } else { "changed" };
        lines.push(format!("{}: {what}", difference.object()));
    }
    let own = plan.live().filter(|object| plan.is_own(object));
    let deleted = unwanted(plan.objects(), own).into_iter();
    lines.extend(
        deleted.map(|object| format!("{} {}: deleted", object["kind"].as_str().unwrap_or_default(), name(object))),
    );
    Ok(lines)
}
