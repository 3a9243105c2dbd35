//! Which instance this pod is, from its environment and its group's document.

use instance_group::{Instance, Resolved};
use problem::{Problem, Problems, Result, code};

use crate::options::Request;

/// The pod's identity: the document's instance with its AZ and ordinal, or that of the specification's formula in a deployment whose
/// instances all have the indexes of its first version.
///
/// # Errors
/// An AZ_INDEX, REPLICAS or ordinal that does not fit the group.
pub(crate) fn of_this_pod(group: &Resolved, request: &Request) -> Result<Instance> {
    let mut problems = Vec::new();
    let azs = u32::try_from(group.azs.len()).unwrap_or(u32::MAX);
    let az_index = match request.az_index {
        None if azs > 1 => {
            problems.push(
                Problem::usage(format!("instance group '{}' has {azs} AZs, so AZ_INDEX is needed", group.name))
                    .hint(format!("AZ_INDEX counts from 1: {}", numbered(&group.azs))),
            );
            1
        }
        given => given.unwrap_or(1).max(1),
    };
    if az_index > azs.max(1) {
        let az_count = if azs == 0 { "no AZs".to_owned() } else { format!("{azs} AZs: {}", numbered(&group.azs)) };
        problems.push(
            Problem::input(format!(
                "AZ_INDEX {az_index} is out of range: instance group '{}' has {az_count}",
                group.name
            ))
            .code(code::INSTANCE_OUT_OF_RANGE),
        );
    }
    let replicas = request.replicas.unwrap_or(group.replicas);
    if replicas == 0 {
        let message = format!("REPLICAS is 0, so instance group '{}' has no pod to render for", group.name);
        problems.push(
            Problem::input(message).code(code::INSTANCE_OUT_OF_RANGE).hint("REPLICAS is the number of pods in each AZ"),
        );
    }
    match ordinal(request) {
        Some(ordinal) if ordinal >= replicas && replicas > 0 => problems.push(
            Problem::input(format!("POD_ORDINAL {ordinal} is out of range: REPLICAS is {replicas}"))
                .code(code::INSTANCE_OUT_OF_RANGE)
                .hint("ordinals count from 0 in each AZ"),
        ),
        Some(ordinal) if problems.is_empty() => match group.index(az_index, replicas, ordinal) {
            Some(index) => {
                let az = group.azs.get(az_index as usize - 1).cloned();
                return Ok(group.instance("", index, az));
            }
            None if !group.follows_formula() => problems.push(
                Problem::input(format!("instance group '{}' has no instance {ordinal} in AZ {az_index}", group.name))
                    .code(code::INSTANCE_OUT_OF_RANGE)
                    .hint("a pod of an earlier version stays away until it is deleted"),
            ),
            None => problems.push(
                Problem::input("AZ_INDEX and REPLICAS give an index that is too large")
                    .code(code::INSTANCE_OUT_OF_RANGE),
            ),
        },
        Some(_) => {}
        None => problems.push(
            Problem::usage(
                "which pod of its AZ is this? POD_ORDINAL is not set and the host's name does not end in a number",
            )
            .hint("set POD_ORDINAL, for example from the label apps.kubernetes.io/pod-index"),
        ),
    }
    Err(Problems::check(problems).err().unwrap_or_else(|| Problem::internal("no identity").into()))
}

fn numbered(azs: &[String]) -> String {
    azs.iter().enumerate().map(|(i, az)| format!("{} is {az}", i + 1)).collect::<Vec<_>>().join(", ")
}

/// POD_ORDINAL, or the number behind the last dash of the host's name, as StatefulSets name their pods.
fn ordinal(request: &Request) -> Option<u32> {
    request.pod_ordinal.or_else(|| from_host_name(&nix::unistd::gethostname().ok()?.to_string_lossy()))
}

fn from_host_name(host: &str) -> Option<u32> {
    let (_, digits) = host.rsplit_once('-')?;
    if digits.bytes().all(|b| b.is_ascii_digit()) { digits.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ordinal_is_behind_the_last_dash() {
        assert_eq!(from_host_name("nats-z1-12"), Some(12));
        assert_eq!(from_host_name("foo-2-bar-0"), Some(0));
        for none in ["nats", "nats-", "nats-1a", "3"] {
            assert_eq!(from_host_name(none), None, "{none}");
        }
    }
}
