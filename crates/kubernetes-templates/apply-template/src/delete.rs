//! Deleting an instance.

use std::time::{Duration, Instant};

use cluster::{Cluster, Kind};
use problem::{Problem, Result, code};

use crate::instance::{Instance, secret};
use crate::kinds::Kinds;
use crate::live;
use crate::members::Member;
use crate::options::Request;
use crate::say;

const INTERVAL: Duration = Duration::from_millis(200);

/// Deletes the members, what they own, and at last the instance's Secret, by which they are found.
pub(crate) fn instance(cluster: &Cluster, request: &Request, instance: Instance, kinds: &mut Kinds) -> Result<()> {
    if !instance.exists {
        say(format_args!("the instance {} does not exist", instance.name));
        return Ok(());
    }
    let members = live::members(cluster, &instance, &instance.reach, kinds)?;
    let end = if request.dry_run { " (dry run)" } else { "" };
    for member in &members {
        if !request.dry_run {
            cluster.delete_this(&member.resource, &member.object)?;
        }
        say(format_args!("{} deleted{end}", member.shown(cluster.namespace())));
    }
    if !request.dry_run {
        wait_until_gone(cluster, request, members)?;
        cluster.delete(Kind::SECRET, &secret(&instance.name))?;
    }
    say(format_args!("instance {} deleted{end}", instance.name));
    Ok(())
}

fn wait_until_gone(cluster: &Cluster, request: &Request, mut members: Vec<Member>) -> Result<()> {
    let start = Instant::now();
    while !request.timeout.is_zero() {
        let mut left = Vec::new();
        for member in members {
            let found = cluster.read(&member.resource, &member.namespace, cluster::name(&member.object))?;
            if found.is_some_and(|found| found["metadata"]["uid"] == member.object["metadata"]["uid"]) {
                left.push(member);
            }
        }
        if left.is_empty() {
            return Ok(());
        }
        if start.elapsed() > request.timeout {
            let names: Vec<String> = left.iter().map(|member| member.shown(cluster.namespace())).collect();
            let message = format!("not deleted after {:?}: {}", request.timeout, names.join(", "));
            let hint = "their finalizers have not finished; --delete may be repeated";
            return Err(Problem::internal(message).code(code::CLUSTER_REFUSED).hint(hint).into());
        }
        members = left;
        std::thread::sleep(INTERVAL);
    }
    Ok(())
}
