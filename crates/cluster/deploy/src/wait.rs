//! Waiting for groups, as long as the manifest lets them, and reporting meanwhile why they are not ready.

mod group;

use std::time::{Duration, Instant};

use cluster::{Cluster, Kind, Object, Seen};
use kubernetes_objects::GroupObjects;
use problem::{Problem, Problems, Result};

use self::group::Group;
use crate::options::Request;
use crate::output::say;
use crate::report::Reporter;
use crate::{health, standby};

const INTERVAL: Duration = Duration::from_millis(500);
/// Evidence takes several requests: it is read at every n-th look only.
const LOOKS: u32 = 2;

/// Waits until all instances of the groups are ready. Returns a problem for each group of which only instances are missing whose nodes
/// do not answer: the groups after it can still be updated.
///
/// # Errors
/// Instances that are not ready in time, or cannot become ready; failures of the cluster.
pub(crate) fn until_ready(
    cluster: &Cluster,
    request: &Request,
    reporter: &Reporter,
    groups: &[&GroupObjects],
) -> Result<Vec<Problem>> {
    let mut set_aside = Vec::new();
    if request.is_unattended() {
        return Ok(set_aside);
    }
    let start = Instant::now();
    let with_sets = groups.iter().copied().filter(|group| !group.stateful_sets.is_empty());
    let mut waiting: Vec<Group> = with_sets.map(Group::new).collect();
    for look in 0u32.. {
        let mut left = Vec::new();
        for group in waiting {
            let sets = sets_of(cluster, &group)?;
            if are_ready(cluster, &sets)? && group.is_settled() {
                say(format_args!("instance group {} is ready", group.name()));
            } else {
                left.push((group, sets));
            }
        }
        if left.is_empty() {
            break;
        }
        if look.is_multiple_of(LOOKS) {
            let evidence = reporter.evidence()?;
            for (group, sets) in &mut left {
                group.look(start.elapsed(), sets, &evidence);
                reporter.print(&group.findings);
                group.show_progress();
            }
            let is_hopeless = left.iter().any(|(group, _)| group.findings.iter().any(|finding| !finding.may_pass));
            let limit = request.ready_timeout.filter(|limit| start.elapsed() > *limit);
            set_aside.extend(end_of_late(&mut left, is_hopeless, request.ready_timeout.is_some(), limit)?);
        }
        waiting = left.into_iter().map(|(group, _)| group).collect();
        std::thread::sleep(INTERVAL);
    }
    Ok(set_aside)
}

/// Ends the wait if a group cannot become ready or has had its time; removes those that only lack lost nodes, and returns their
/// problems. With `has_limit` the request has a time limit instead of the manifest's, which is `limit` if it is over.
fn end_of_late(
    left: &mut Vec<(Group, Vec<Object>)>,
    is_hopeless: bool,
    has_limit: bool,
    limit: Option<Duration>,
) -> Result<Vec<Problem>> {
    let is_late = |group: &Group| limit.is_some() || (!has_limit && group.is_late());
    let ends = |group: &Group| is_late(group) && !group.is_held();
    if is_hopeless || left.iter().any(|(group, _)| ends(group)) {
        let all = left.iter().map(|(group, _)| if group.is_held() { group.lost() } else { group.problem(limit) });
        return Problems::check(all.collect()).map(|()| Vec::new());
    }
    let (held, others): (Vec<_>, Vec<_>) = left.drain(..).partition(|(group, _)| is_late(group));
    *left = others;
    Ok(held.iter().map(|(group, _)| group.lost()).collect())
}

/// The StatefulSets of a group as they are.
fn sets_of(cluster: &Cluster, group: &Group) -> Result<Vec<Object>> {
    let mut sets = Vec::new();
    for set in group.sets() {
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

fn are_ready(cluster: &Cluster, sets: &[Object]) -> Result<bool> {
    for set in sets {
        let is_ready = if standby::has_standbys(set) { standby::advance(cluster, set)? } else { health::is_ready(set) };
        if !is_ready {
            return Ok(false);
        }
    }
    Ok(true)
}
