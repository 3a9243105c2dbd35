//! The names of instances and groups in DNS.

use handoff::deployment::InstanceGroup;
use k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use workload::Pod;

use crate::metadata::{Labels, ORDINAL, of_group, of_workload};

/// The first label of an address.
pub(crate) fn host(address: &str) -> String {
    address.split('.').next().unwrap_or_default().to_owned()
}

/// The ports that the manifest names for the jobs of a group.
fn ports(group: &InstanceGroup) -> Option<Vec<ServicePort>> {
    let ports: Vec<ServicePort> = group
        .jobs
        .iter()
        .flat_map(|job| &job.ports)
        .map(|port| ServicePort {
            name: Some(object_basics::dns_label(&port.name, 15)),
            port: port.internal.into(),
            protocol: (port.protocol != "TCP").then(|| port.protocol.clone()),
            target_port: Some(IntOrString::Int(port.internal.into())),
            ..ServicePort::default()
        })
        .collect();
    (!ports.is_empty()).then_some(ports)
}

fn headless(pod: &Pod, group: &InstanceGroup, name: String, selector: Labels, not_ready: bool) -> Service {
    let spec = ServiceSpec {
        // The addresses are the pods' own: servers listen on them.
        cluster_ip: Some("None".to_owned()),
        ports: ports(group),
        publish_not_ready_addresses: not_ready.then_some(true),
        selector: Some(selector),
        ..ServiceSpec::default()
    };
    Service { metadata: of_workload(name, &pod.deployment, &pod.group), spec: Some(spec), status: None }
}

/// `<deployment>-<group>`: the instances that are ready.
pub(crate) fn of_all(pod: &Pod, group: &InstanceGroup) -> Option<Service> {
    let name = host(&pod.address()?);
    Some(headless(pod, group, name, of_group(&pod.deployment, &pod.group), false))
}

/// `<deployment>-<group>-<index>`: the pod of each instance, from its first moment on.
pub(crate) fn of_instances(pod: &Pod, group: &InstanceGroup, pod_name: impl Fn(u32, u32) -> String) -> Vec<Service> {
    let service = |instance: &handoff::deployment::Instance| {
        let selector = if pod.is_errand() {
            let mut labels = of_group(&pod.deployment, &pod.group);
            labels.insert(ORDINAL.to_owned(), instance.ordinal.to_string());
            labels
        } else {
            let name = pod_name(instance.az_index, instance.ordinal);
            [("statefulset.kubernetes.io/pod-name".to_owned(), name)].into()
        };
        headless(pod, group, host(&instance.address), selector, true)
    };
    group.instances.iter().map(service).collect()
}
