//! Pod templates.

use handoff::deployment::InstanceGroup;
use k8s_openapi::api::core::v1::{
    Affinity, Container, LocalObjectReference, NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm,
    PodSecurityContext, PodSpec, PodTemplateSpec, SeccompProfile, Sysctl,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::container::Around;
use crate::metadata::{Labels, MANAGER, ORDINAL, of_group};
use crate::security::{binds_low_ports_alone, runs_as_root};
use crate::{Settings, names, volumes};

const ZONE: &str = "topology.kubernetes.io/zone";
/// vcap, as in BOSH.
const VCAP: i64 = 1000;

/// What a pod template is made of.
pub(crate) struct Template<'a> {
    pub(crate) pod: &'a workload::Pod,
    pub(crate) settings: &'a Settings,
    /// The AZ's number from 1, and its name if the group has AZs.
    pub(crate) az: (u32, Option<&'a str>),
    /// The Secrets with the resolved group.
    pub(crate) resolved: &'a [String],
    pub(crate) group: &'a InstanceGroup,
}

impl Template<'_> {
    /// The pods of a StatefulSet.
    pub(crate) fn of_service(&self) -> PodTemplateSpec {
        let pod = self.pod;
        let main = pod.processes.iter().map(|process| &process.container);
        let main: Vec<_> = main.chain(pod.scripts_only.iter().map(|job| &job.container)).collect();
        let init = pod.supply.iter().chain(&pod.prepare).chain([&pod.tail_logs]).chain(&pod.pre_start.containers);
        self.template(init.collect(), &[], main, Labels::new(), None)
    }

    /// The pod of an errand. What is colocated with it runs beside it, as sidecars.
    pub(crate) fn of_errand(&self, errand: &workload::Container, ordinal: u32) -> PodTemplateSpec {
        let pod = self.pod;
        let sidecars = pod.processes.iter().map(|process| &process.container);
        let sidecars: Vec<_> = sidecars.chain(pod.scripts_only.iter().map(|job| &job.container)).collect();
        let init = pod.supply.iter().chain(&pod.prepare).chain([&pod.tail_logs]).chain(&pod.pre_start.containers);
        let labels = [(ORDINAL.to_owned(), ordinal.to_string())].into();
        self.template(init.collect(), &sidecars, vec![errand], labels, Some("Never"))
    }

    fn template(
        &self,
        init: Vec<&workload::Container>,
        sidecars: &[&workload::Container],
        main: Vec<&workload::Container>,
        mut labels: Labels,
        restart: Option<&str>,
    ) -> PodTemplateSpec {
        let all = || init.iter().chain(sidecars).chain(&main).copied();
        let pod = self.pod;
        let mut names = names::containers(all().map(|container| container.name.as_str())).into_iter();
        let has_root = all().any(|container| runs_as_root(pod, container, self.settings.scripts_as));
        let around = Around {
            pod,
            settings: self.settings,
            az_index: self.az.0,
            group: self.group,
            sharers: sidecars.len() + main.len(),
        };
        let mut containers = |list: &[&workload::Container]| -> Vec<Container> {
            list.iter().map(|from| around.container(names.next().unwrap_or_default(), from)).collect()
        };
        let mut init_containers = containers(&init);
        for (container, from) in init_containers.iter_mut().zip(&init) {
            if from.command.program == workload::Program::TailLogs {
                container.restart_policy = Some("Always".to_owned());
            }
        }
        init_containers.extend(containers(sidecars).into_iter().map(as_sidecar));
        let main_containers = containers(&main);
        let low_ports = all().any(binds_low_ports_alone);
        labels.extend(of_group(&self.pod.deployment, &self.pod.group));
        labels.insert("app.kubernetes.io/managed-by".to_owned(), MANAGER.to_owned());
        let spec = PodSpec {
            affinity: self.zone(),
            automount_service_account_token: Some(false),
            containers: main_containers,
            enable_service_links: Some(false),
            host_pid: all().any(|container| container.privileges.host_pid_namespace).then_some(true),
            image_pull_secrets: pull_secrets(self.settings),
            init_containers: Some(init_containers),
            priority_class_name: self.settings.priority_class.clone(),
            restart_policy: restart.map(str::to_owned),
            security_context: Some(security(!has_root, low_ports)),
            termination_grace_period_seconds: i64::try_from(self.pod.grace.as_secs()).ok(),
            volumes: Some(volumes::of_pod(self.pod, self.resolved)),
            ..PodSpec::default()
        };
        PodTemplateSpec {
            metadata: Some(ObjectMeta { labels: Some(labels), ..ObjectMeta::default() }),
            spec: Some(spec),
        }
    }

    /// Pods of an AZ run in its zone.
    fn zone(&self) -> Option<Affinity> {
        let az = self.az.1?;
        let zone = self.settings.zones.get(az).map_or(az, String::as_str);
        let in_zone = NodeSelectorRequirement {
            key: ZONE.to_owned(),
            operator: "In".to_owned(),
            values: Some(vec![zone.to_owned()]),
        };
        let term = NodeSelectorTerm { match_expressions: Some(vec![in_zone]), match_fields: None };
        Some(Affinity {
            node_affinity: Some(NodeAffinity {
                required_during_scheduling_ignored_during_execution: Some(NodeSelector {
                    node_selector_terms: vec![term],
                }),
                ..NodeAffinity::default()
            }),
            ..Affinity::default()
        })
    }
}

/// The Secrets with the credentials of registries.
pub(crate) fn pull_secrets(settings: &Settings) -> Option<Vec<LocalObjectReference>> {
    let secrets = settings.pull_secrets.iter().map(|name| LocalObjectReference { name: name.clone() });
    (!settings.pull_secrets.is_empty()).then(|| secrets.collect())
}

/// The security context of a pod whose containers are vcap unless they say otherwise.
pub(crate) fn security(never_root: bool, low_ports: bool) -> PodSecurityContext {
    let sysctl = || Sysctl { name: "net.ipv4.ip_unprivileged_port_start".to_owned(), value: "0".to_owned() };
    PodSecurityContext {
        fs_group: Some(VCAP),
        // A volume of many files would be changed at every start.
        fs_group_change_policy: Some("OnRootMismatch".to_owned()),
        run_as_group: Some(VCAP),
        run_as_non_root: never_root.then_some(true),
        run_as_user: Some(VCAP),
        seccomp_profile: Some(SeccompProfile { type_: "RuntimeDefault".to_owned(), localhost_profile: None }),
        sysctls: low_ports.then(|| vec![sysctl()]),
        ..PodSecurityContext::default()
    }
}

/// A container that runs as long as the errand does. Nothing waits for it: services depend on each other in any order, and the
/// errand's own program waits until they run.
fn as_sidecar(container: Container) -> Container {
    Container { restart_policy: Some("Always".to_owned()), ..container }
}
