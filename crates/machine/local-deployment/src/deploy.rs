//! Bringing a version of the deployment up: what is new is started, what differs is replaced, all else is left alone.
//!
//! As BOSH's director: groups that left are stopped first; then one group after the other, except consecutive ones with
//! `serial: false`; in a group canaries first, then `max_in_flight` instances at a time. A group without instances starts all of
//! them at once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::{fs, io};

use crate::changes::{Changes, Existing, GroupChanges, Target, waves};
use crate::deployment::{Deployment, Group, Member};
use crate::failure::Failure;
use crate::instance::Instance;
use crate::parallel::for_each;
use crate::publish::Publish;
use crate::running::RunningDeployment;
use crate::{report, start, status_table};
use handoff::deployment::WatchTime;
use local_state::control::{Health, Replace, State};
use manifest_model::update::batches;
use problem::IoContext;

/// Brings another version up. With `roll_back`, a failure brings the version before up again.
pub(crate) fn redeploy(
    running: &RunningDeployment,
    target: Deployment,
    publish: &[Publish],
    roll_back: bool,
    replace: Replace,
) -> Result<(), Failure> {
    let _changing = running.change()?;
    running.published.add(publish)?;
    let before = running.deployment();
    running.replace(target)?;
    let result = apply(running, replace);
    match &result {
        Err(Failure::Interrupted) | Ok(()) => result,
        Err(_) if roll_back => {
            running.host.progress.line("the update failed; restoring the version before");
            running.take_back(&before)?;
            // Both failures are reported: after the second one some instances have the old version, some none.
            match (result, apply(running, Replace::Changed)) {
                (Err(first), Err(second)) => Failure::all(vec![first, second]),
                (first, _) => first,
            }
        }
        Err(_) => result,
    }
}

/// Brings the running deployment to its version.
pub(crate) fn apply(running: &RunningDeployment, replace: Replace) -> Result<(), Failure> {
    let (host, deployment) = (&running.host, running.deployment());
    running.record()?;
    update_hosts(running, &deployment)?;
    let changes = changes(running, &deployment, replace);
    for instance in running.instances().iter().filter(|instance| passed(instance, &deployment).is_some()) {
        host.progress.line(&report::stays_stopped(instance.name()));
    }
    if changes.is_empty() {
        host.progress.line(&format!("{}: nothing has changed", deployment.name));
        return Ok(running.published.forward(host, &deployment)?);
    }
    remove(running, &changes.left);
    let updates = changes
        .groups
        .iter()
        .filter_map(|change| Some((deployment.groups.iter().find(|group| group.name() == change.group)?, change)));
    for batch in batches(updates.collect(), |(group, _)| group.update.serial) {
        for_each(&batch, batch.len(), |(group, change)| update(running, &deployment, group, change))?;
    }
    post_deploy(running, &deployment)?;
    Ok(running.published.forward(host, &deployment)?)
}

/// New instances copy the file, those that exist get its new names.
fn update_hosts(running: &RunningDeployment, deployment: &Deployment) -> problem::Result<()> {
    let (path, text) = (running.host.dir.hosts(), deployment.hosts());
    if fs::read_to_string(&path).is_ok_and(|before| before == text) {
        return Ok(());
    }
    fs::write(&path, &text).io("write", &path)?;
    for instance in running.instances().iter().filter(|instance| instance.is_alive()) {
        instance.update_hosts(&text)?;
    }
    Ok(())
}

/// What the version changes. Instances of errands exist by themselves; of those that were kept, the outdated ones leave.
pub(crate) fn changes(running: &RunningDeployment, deployment: &Deployment, replace: Replace) -> Changes {
    let targets = deployment.groups.iter().filter(|group| !group.pod.is_errand()).map(|group| Target {
        group: group.name().to_owned(),
        instances: group.members.iter().map(|m| (m.name.clone(), deployment.fingerprint(m))).collect(),
    });
    let is_current_errand = |instance: &Arc<Instance>| {
        let member = deployment.member(instance.name());
        member.is_some_and(|member| {
            deployment.group_of(member).pod.is_errand() && fingerprint(instance) == deployment.fingerprint(member)
        })
    };
    // One in which an errand runs goes when that has exited.
    let is_current_errand = |instance: &Arc<Instance>| instance.is_occupied() || is_current_errand(instance);
    let instances = running.instances().into_iter().filter(|instance| !is_current_errand(instance));
    let existing: BTreeMap<String, Existing> = instances
        .map(|instance| {
            let is_kept = match replace {
                Replace::Changed => true,
                Replace::Failing => status_table::health_of(&instance) != Health::Failing,
                Replace::All => false,
            };
            let existing = match deployment.member(instance.name()) {
                Some(member) if is_stopped(&instance) => {
                    Existing { fingerprint: deployment.fingerprint(member), complete: true }
                }
                _ => Existing { fingerprint: fingerprint(&instance), complete: is_kept && instance.is_complete() },
            };
            (instance.name().to_owned(), existing)
        })
        .collect();
    Changes::compute(&existing, &targets.collect::<Vec<_>>())
}

/// Whether it was stopped on request. As a director, an update leaves it so: it gets the version when it is started.
fn is_stopped(instance: &Instance) -> bool {
    instance.stage().0 == State::Stopped
}

/// What an instance is in the deployment, if it is stopped and the deployment has another version of it.
pub(crate) fn passed<'d>(instance: &Instance, deployment: &'d Deployment) -> Option<&'d Member> {
    let member = deployment.member(instance.name()).filter(|_| is_stopped(instance))?;
    (fingerprint(instance) != deployment.fingerprint(member)).then_some(member)
}

fn fingerprint(instance: &Instance) -> String {
    instance.deployment.fingerprint(&instance.member)
}

/// Stops instances and removes them, the last one first.
fn remove(running: &RunningDeployment, names: &[String]) {
    for instance in names.iter().rev().filter_map(|name| running.instance(name)) {
        let step = running.host.progress.step(format!("{}: stopping", instance.name()));
        start::remove(running, &instance);
        step.done(&format!("{}: removed", instance.name()));
    }
}

fn update(
    running: &RunningDeployment,
    deployment: &Arc<Deployment>,
    group: &Group,
    change: &GroupChanges,
) -> Result<(), Failure> {
    remove(running, &change.unneeded);
    let members = |names: &[String]| -> Vec<&Member> {
        group.members.iter().filter(|member| names.contains(&member.name)).collect()
    };
    let size = u32::try_from(group.members.len()).unwrap_or(u32::MAX);
    let update = &group.update;
    if change.is_first {
        let watch = longest(update.canary_watch_time, update.update_watch_time);
        return start_all(running, deployment, group, &members(&change.updated), watch);
    }
    let (canaries, rest, in_flight) = waves(&change.updated, update.canaries.of(size), update.max_in_flight.of(size));
    for (names, at_a_time, watch) in
        [(&canaries, canaries.len(), update.canary_watch_time), (&rest, in_flight, update.update_watch_time)]
    {
        for_each(&members(names), at_a_time, |member| {
            let step = running.host.progress.step(format!("{}: updating", member.name));
            let instances = start::replace(running, deployment, &[member], 1)?;
            start::wait_until_running(&running.host, &instances, watch)?;
            step.done(&format!("{}: updated", member.name));
            Ok(())
        })?;
    }
    Ok(())
}

/// Starts a group that has no instance yet.
fn start_all(
    running: &RunningDeployment,
    deployment: &Arc<Deployment>,
    group: &Group,
    members: &[&Member],
    watch: WatchTime,
) -> Result<(), Failure> {
    let host = &running.host;
    let step = host.progress.step(format!("{}: starting", group.name()));
    let processors = std::thread::available_parallelism().map_or(2, usize::from);
    let instances = start::replace(running, deployment, members, processors)?;
    step.done(&report::prepared(group.name(), instances.len()));
    start::wait_until_running(host, &instances, watch)?;
    for row in instances.iter().flat_map(crate::status_table::rows_of) {
        host.progress.line(&report::running(&row));
    }
    Ok(())
}

fn longest(a: WatchTime, b: WatchTime) -> WatchTime {
    if a.to > b.to { a } else { b }
}

/// BOSH: at the very end, and in all instances at the same time.
fn post_deploy(running: &RunningDeployment, deployment: &Deployment) -> Result<(), Failure> {
    let services = deployment.groups.iter().filter(|group| !group.pod.is_errand());
    let stages: Vec<_> = services
        .flat_map(|group| group.members.iter().map(move |member| (member, &group.pod.post_deploy)))
        .filter_map(|(member, scripts)| Some((running.instance(&member.name)?, scripts)))
        .filter(|(instance, _)| !is_stopped(instance))
        .collect();
    for_each(&stages, stages.len(), |(instance, scripts)| {
        let result = instance.run_scripts(&running.host, scripts);
        if result.is_err() {
            instance.set_complete(false);
        }
        result
    })
}

/// Copies the job sources to where instances see them for as long as they need them.
pub(crate) fn copy_tree(from: &std::path::Path, to: &std::path::Path) -> io::Result<()> {
    for entry in walkdir::WalkDir::new(from) {
        let entry = entry?;
        let target = to.join(entry.path().strip_prefix(from).map_err(io::Error::other)?);
        if entry.file_type().is_dir() {
            fs::create_dir_all(&target)?;
            fs::set_permissions(&target, entry.metadata()?.permissions())?;
        } else if entry.file_type().is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(entry.path())?, &target)?;
        } else {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}
