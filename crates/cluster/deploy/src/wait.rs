//! Updating groups and waiting for them, as long as the manifest lets them, and reporting meanwhile why they are not ready.

mod group;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use cluster::{Cluster, Kind, Object, Seen};
use kubernetes_objects::GroupObjects;
use problem::{Problem, Problems, Result};

use self::group::Group;
use crate::options::Request;
use crate::output::say;
use crate::report::Reporter;

const INTERVAL: Duration = Duration::from_millis(500);
/// Evidence takes several requests: it is read at every n-th look only.
const LOOKS: u32 = 2;

/// Replaces the instances of the groups that run an earlier version, and waits until all instances are ready. Returns a problem for each
/// group of which only instances are missing whose nodes do not answer: the groups after it can still be updated. `edited` has the
/// revisions of StatefulSets whose templates somebody had edited by hand.
///
/// # Errors
/// Instances that are not ready in time, or cannot become ready; failures of the cluster.
pub(crate) fn until_ready(
    cluster: &Cluster,
    request: &Request,
    reporter: &Reporter,
    groups: &[&GroupObjects],
    edited: &BTreeMap<String, String>,
) -> Result<Vec<Problem>> {
    let mut set_aside = Vec::new();
    if request.is_unattended() {
        return Ok(set_aside);
    }
    let start = Instant::now();
    let with_sets = groups.iter().copied().filter(|group| !group.stateful_sets.is_empty());
    let mut waiting: Vec<Group> = with_sets.map(|group| Group::new(group, edited)).collect();
    for look in 0u32.. {
        request.check_session()?;
        for group in &mut waiting {
            group.sets = sets_of(cluster, group)?;
        }
        let is_thorough = look.is_multiple_of(LOOKS);
        if is_thorough && !waiting.is_empty() {
            let evidence = reporter.evidence()?;
            for group in &mut waiting {
                let next = group.look(start.elapsed(), &evidence);
                group.replace(&next, cluster, request, &evidence)?;
            }
        }
        waiting.retain(|group| {
            let is_ready = group.is_ready();
            if is_ready {
                say(format_args!("instance group {} is ready", group.name()));
            }
            !is_ready
        });
        if waiting.is_empty() {
            break;
        }
        if is_thorough {
            for group in &mut waiting {
                reporter.print(&group.findings);
                group.show_progress();
            }
            let is_hopeless = waiting.iter().any(|group| group.findings.iter().any(|finding| !finding.may_pass));
            let limit = request.ready_timeout.filter(|limit| start.elapsed() > *limit);
            set_aside.extend(end_of_late(&mut waiting, is_hopeless, request.ready_timeout.is_some(), limit)?);
        }
        std::thread::sleep(INTERVAL);
    }
    Ok(set_aside)
}

/// Ends the wait if a group cannot become ready or has had its time; removes those that only lack lost nodes, and returns their
/// problems. With `has_limit` the request has a time limit instead of the manifest's, which is `limit` if it is over.
fn end_of_late(
    left: &mut Vec<Group>,
    is_hopeless: bool,
    has_limit: bool,
    limit: Option<Duration>,
) -> Result<Vec<Problem>> {
    let is_late = |group: &Group| limit.is_some() || (!has_limit && group.is_late());
    let ends = |group: &Group| is_late(group) && !group.is_held();
    if is_hopeless || left.iter().any(ends) {
        let all = left.iter().map(|group| if group.is_held() { group.lost() } else { group.problem(limit) });
        return Problems::check(all.collect()).map(|()| Vec::new());
    }
    let (held, others): (Vec<_>, Vec<_>) = left.drain(..).partition(is_late);
    *left = others;
    Ok(held.iter().map(Group::lost).collect())
}

/// The StatefulSets of a group as they are.
fn sets_of(cluster: &Cluster, group: &Group) -> Result<Vec<Object>> {
    let mut sets = Vec::new();
    for set in group.set_names() {
        sets.push(cluster.get(Kind::STATEFUL_SET, set)?.ok_or_else(|| deleted(cluster, set))?);
    }
    Ok(sets)
}

/// A StatefulSet that this run has applied, and that is gone.
fn deleted(cluster: &Cluster, set: &str) -> Problem {
    let problem = Problem::update(format!("StatefulSet {set} was deleted during the update"));
    match cluster.get_of_cluster(Kind::NAMESPACE, cluster.namespace()) {
        Ok(Seen::Present(namespace)) if !namespace["metadata"]["deletionTimestamp"].is_null() => {
            problem.because(format!("the namespace {} is being deleted", cluster.namespace()))
        }
        _ => problem,
    }
}
