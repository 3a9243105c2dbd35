//! Waiting for groups.

use std::time::{Duration, Instant};

use cluster::{Cluster, Kind, label};
use kubernetes_objects as objects;
use objects::GroupObjects;
use problem::{Problem, Problems, Result, code};

use crate::options::Request;
use crate::plan::Plan;
use crate::{health, say, standby};

const INTERVAL: Duration = Duration::from_millis(500);

/// Waits until all instances of the groups are ready.
pub(crate) fn until_ready(cluster: &Cluster, request: &Request, plan: &Plan, groups: &[&GroupObjects]) -> Result<()> {
    if request.ready_timeout.is_zero() {
        return Ok(());
    }
    let start = Instant::now();
    let mut waiting: Vec<&GroupObjects> = groups.iter().copied().filter(|of| !of.stateful_sets.is_empty()).collect();
    loop {
        let mut left = Vec::new();
        for group in waiting {
            if is_ready(cluster, group)? {
                say(format_args!("instance group {} is ready", group.group));
            } else {
                left.push(group);
            }
        }
        if left.is_empty() {
            return Ok(());
        }
        if start.elapsed() > request.ready_timeout {
            let problems = left.iter().map(|group| problem(cluster, request, plan, &group.group));
            return Problems::check(problems.collect::<Result<_>>()?);
        }
        waiting = left;
        std::thread::sleep(INTERVAL);
    }
}

fn is_ready(cluster: &Cluster, group: &GroupObjects) -> Result<bool> {
    for set in &group.stateful_sets {
        let Some(set) = cluster.get(Kind::STATEFUL_SET, set)? else { return Ok(false) };
        let is_ready =
            if standby::has_standbys(&set) { standby::advance(cluster, &set)? } else { health::is_ready(&set) };
        if !is_ready {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Why a group is not ready, as far as its pods and the events of its StatefulSets tell.
fn problem(cluster: &Cluster, request: &Request, plan: &Plan, group: &str) -> Result<Problem> {
    let message = format!("instance group '{group}' is not ready after {}s", request.ready_timeout.as_secs());
    let problem = Problem::internal(message).code(code::DEPLOYMENT_NOT_READY);
    let selector = format!("{}={}", objects::DEPLOYMENT, objects::deployment_label(&plan.deployment));
    let of_group = objects::deployment_label(group);
    let pods = cluster.list(Kind::POD, &selector)?;
    let pods = pods.iter().filter(|pod| label(pod, objects::GROUP) == Some(&of_group));
    let mut lines: Vec<String> = pods.flat_map(health::troubles).collect();
    let sets = plan.groups.iter().filter(|of| of.group == group).flat_map(|of| &of.stateful_sets);
    let sets: Vec<&String> = sets.collect();
    // The claim of a disk is named after its volume, its StatefulSet and the ordinal.
    let is_of = |name: &str, set: &str| name == set || name.contains(&format!("-{set}-"));
    lines.extend(health::warnings(cluster, |name| sets.iter().any(|set| is_of(name, set)))?);
    Ok(health::with_notes(problem, lines))
}
