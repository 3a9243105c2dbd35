//! Network policies, where they are asked for.

use handoff::deployment::InstanceGroup;
use k8s_openapi::api::networking::v1::{
    IPBlock, NetworkPolicy, NetworkPolicyEgressRule, NetworkPolicyIngressRule, NetworkPolicyPeer, NetworkPolicyPort,
    NetworkPolicySpec,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use workload::Pod;

use crate::metadata::{DEPLOYMENT, KIND, Labels, deployment_label, of_deployment, of_group, of_workload};
use crate::services;

/// Ports on which API servers listen.
const API_SERVER: [u16; 2] = [443, 6443];

fn selector(labels: Labels) -> LabelSelector {
    LabelSelector { match_labels: Some(labels), match_expressions: None }
}

fn port(number: u16, protocol: &str) -> NetworkPolicyPort {
    NetworkPolicyPort {
        port: Some(IntOrString::Int(number.into())),
        protocol: Some(protocol.to_owned()),
        ..NetworkPolicyPort::default()
    }
}

/// Lets pods of the deployment reach those of a group, and everybody the ports that the manifest names for its jobs.
pub(crate) fn of_instances(pod: &Pod, group: &InstanceGroup) -> Option<NetworkPolicy> {
    let deployment = [(DEPLOYMENT.to_owned(), deployment_label(&pod.deployment))].into();
    let own = NetworkPolicyPeer { pod_selector: Some(selector(deployment)), ..NetworkPolicyPeer::default() };
    let mut ingress = vec![NetworkPolicyIngressRule { from: Some(vec![own]), ports: None }];
    let ports = group.jobs.iter().flat_map(|job| &job.ports);
    let ports: Vec<_> = ports.map(|named| port(named.internal, &named.protocol)).collect();
    if !ports.is_empty() {
        ingress.push(NetworkPolicyIngressRule { from: None, ports: Some(ports) });
    }
    let spec = NetworkPolicySpec {
        ingress: Some(ingress),
        pod_selector: Some(selector(of_group(&pod.deployment, &pod.group))),
        policy_types: Some(vec!["Ingress".to_owned()]),
        ..NetworkPolicySpec::default()
    };
    let name = services::host(&pod.address()?);
    Some(NetworkPolicy { metadata: of_workload(name, &pod.deployment, &pod.group), spec: Some(spec) })
}

/// Lets the pod of a gather Job, in which templates of releases are evaluated, reach nothing but API servers: at these addresses, or
/// at any if none are given.
pub(crate) fn of_gather(name: String, deployment: &str, api_servers: &[String]) -> NetworkPolicy {
    let block = |cidr: &String| NetworkPolicyPeer {
        ip_block: Some(IPBlock { cidr: cidr.clone(), except: None }),
        ..NetworkPolicyPeer::default()
    };
    let to: Vec<_> = api_servers.iter().map(block).collect();
    let egress = NetworkPolicyEgressRule {
        ports: Some(API_SERVER.map(|number| port(number, "TCP")).into()),
        to: (!to.is_empty()).then_some(to),
    };
    let metadata = of_deployment(name, deployment, &[(KIND, "gather")]);
    let labels = metadata.labels.clone().unwrap_or_default();
    let spec = NetworkPolicySpec {
        egress: Some(vec![egress]),
        pod_selector: Some(selector(labels)),
        policy_types: Some(vec!["Ingress".to_owned(), "Egress".to_owned()]),
        ..NetworkPolicySpec::default()
    };
    NetworkPolicy { metadata, spec: Some(spec) }
}
