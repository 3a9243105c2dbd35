//! The server of the deployment's DNS aliases: its address, and whether it answers.

use std::time::{Duration, Instant};

use cluster::{Apply, Cluster, Kind, Object};
use diagnosis::{Evidence, Finding};
use handoff::deployment::Update;
use kubernetes_objects as objects;
use objects::Workloads;
use problem::{Problem, Result, code};

use crate::health;
use crate::options::Request;
use crate::output::say;
use crate::report::{self, Reporter};

const INTERVAL: Duration = Duration::from_millis(500);

/// The address of the server's Service; nothing if the deployment has no aliases. Pods name it, so it is needed before they are
/// made. `apply` makes the Service if it does not exist; else an address is tried that the API server would give.
///
/// # Errors
/// A Service of this name that belongs to something else; failures of the cluster.
pub(crate) fn address(
    cluster: &Cluster,
    request: &Request,
    workloads: &Workloads,
    anchor: &Object,
    apply: bool,
) -> Result<Option<String>> {
    let Some(mut service) = workloads.name_server_service() else { return Ok(None) };
    let name = cluster::name(&service).to_owned();
    let present = cluster.get(Kind::SERVICE, &name)?;
    if let Some(address) = present.as_ref().and_then(cluster_ip) {
        return Ok(Some(address));
    }
    objects::set_owner(&mut service, anchor);
    let how = Apply { manager: objects::MANAGER, force: request.force_conflicts, dry_run: !apply };
    let applied = cluster.apply(&service, how)?;
    if apply {
        say(format_args!("Service {name} created"));
    }
    let missing = || {
        let problem = Problem::internal(format!("Service {name} has no address")).code(code::CLUSTER_REFUSED);
        problem.hint("the server of DNS aliases needs a Service with a cluster IP").into()
    };
    cluster_ip(&applied).map(Some).ok_or_else(missing)
}

fn cluster_ip(service: &Object) -> Option<String> {
    service["spec"]["clusterIP"].as_str().filter(|ip| !ip.is_empty() && *ip != "None").map(str::to_owned)
}

/// Waits until the server answers: pods resolve names with it as soon as they start.
///
/// # Errors
/// A server that does not become ready in time.
pub(crate) fn until_ready(cluster: &Cluster, request: &Request, reporter: &Reporter, name: &str) -> Result<()> {
    if request.is_unattended() {
        return Ok(());
    }
    let start = Instant::now();
    // The manifest has no time for it: that of an instance without a time of its own.
    let limit = request.ready_timeout.unwrap_or(Duration::from_millis(Update::default().update_watch_time.to));
    while !cluster.get(Kind::DEPLOYMENT, name)?.is_some_and(|server| is_ready(&server)) {
        let findings = findings(cluster, reporter, name)?;
        reporter.print(&findings);
        let is_hopeless = findings.iter().any(|finding| !finding.may_pass);
        if is_hopeless || start.elapsed() > limit {
            let what = match is_hopeless {
                true => "cannot become ready".to_owned(),
                false => format!("is not ready after {}s", limit.as_secs()),
            };
            let message = format!("the server of DNS aliases, Deployment {name}, {what}");
            let problem = health::with_notes(Problem::update(message), report::lines(&findings));
            return Err(problem.hint(format!("kubectl describe deployment {name}")).into());
        }
        std::thread::sleep(INTERVAL);
    }
    Ok(())
}

/// Why the server is not ready: its pods are not the deployment's instances, so they have no label of a group.
fn findings(cluster: &Cluster, reporter: &Reporter, name: &str) -> Result<Vec<Finding>> {
    // ReplicaSets and pods begin with the Deployment's name.
    let prefix = format!("{name}-");
    let pods = cluster.list(Kind::POD, "")?;
    let pods: Vec<Object> = pods.into_iter().filter(|pod| cluster::name(pod).starts_with(&prefix)).collect();
    let mut evidence = reporter.evidence()?;
    evidence.pods = Evidence::new(&pods, &[], &[]).pods;
    let mut findings = evidence.of_creation(|name| name.starts_with(&prefix));
    findings.extend(evidence.pods.iter().flat_map(|pod| evidence.of_pod(pod)));
    Ok(findings)
}

/// One pod with the present configuration is enough.
fn is_ready(server: &Object) -> bool {
    let number = |value: &Object| value.as_u64().unwrap_or_default();
    let status = &server["status"];
    status["observedGeneration"] == server["metadata"]["generation"]
        && number(&status["availableReplicas"]) > 0
        && number(&status["updatedReplicas"]) > 0
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_server_is_ready_when_a_pod_has_its_present_configuration() {
        let server = |observed: u32, updated: u32, available: u32| {
            json!({"metadata": {"generation": 2}, "status":
                {"observedGeneration": observed, "updatedReplicas": updated, "availableReplicas": available}})
        };
        assert!(is_ready(&server(2, 1, 1)));
        for not in [server(1, 1, 1), server(2, 0, 2), server(2, 1, 0), json!({"metadata": {"generation": 1}})] {
            assert!(!is_ready(&not), "{not}");
        }
    }

    #[test]
    fn a_headless_service_has_no_address() {
        assert_eq!(cluster_ip(&json!({"spec": {"clusterIP": "10.0.0.3"}})).as_deref(), Some("10.0.0.3"));
        assert_eq!(cluster_ip(&json!({"spec": {"clusterIP": "None"}})), None);
        assert_eq!(cluster_ip(&json!({"spec": {}})), None);
    }
}
