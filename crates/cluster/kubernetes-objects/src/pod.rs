//! Pod templates.

use std::collections::BTreeMap;

use handoff::deployment::InstanceGroup;
use k8s_openapi::api::core::v1::{
    Container, LocalObjectReference, NodeSelectorRequirement, PodDNSConfig, PodSecurityContext, PodSpec,
    PodTemplateSpec, SeccompProfile, Sysctl, Volume,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use object_basics::MANAGER;
use pod_settings::is_reserved;

use crate::container::Around;
use crate::dns::PodDns;
use crate::manifest_settings::{ManifestSettings, in_zone, patched, spread};
use crate::metadata::{Labels, ORDINAL, of_group};
use crate::security::{binds_low_ports_alone, runs_as_root};
use crate::{Settings, names, patches, volumes};

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
    /// The ConfigMaps with patches, by the names of their volumes.
    pub(crate) patches: &'a BTreeMap<String, String>,
    pub(crate) group: &'a InstanceGroup,
    pub(crate) dns: &'a PodDns,
    /// The manifest's settings.
    pub(crate) given: &'a ManifestSettings,
    /// What the pods wait for before they run pre-start, as `wait-for` has it.
    pub(crate) wait_for: &'a [String],
}

impl Template<'_> {
    /// The pods of a StatefulSet.
    pub(crate) fn of_service(&self) -> PodTemplateSpec {
        let pod = self.pod;
        let main = pod.processes.iter().map(|process| &process.container);
        let main = main.chain(pod.scripts_only.iter().map(|job| &job.container));
        let mut main: Vec<_> = main.chain(pod.requests.iter().map(|requests| &requests.container)).collect();
        let wait = self.wait();
        let mut init = self.init(wait.as_ref());
        if main.is_empty() {
            // A group without jobs: a pod needs a container that is no sidecar.
            init.retain(|container| !is_log_sidecar(container));
            main.push(&pod.tail_logs);
        }
        self.template(init, &[], main, Labels::new(), None)
    }

    /// The pod of an errand. What is colocated with it runs beside it, as sidecars.
    pub(crate) fn of_errand(&self, errand: &workload::Container, ordinal: u32) -> PodTemplateSpec {
        let pod = self.pod;
        let sidecars = pod.processes.iter().map(|process| &process.container);
        let sidecars: Vec<_> = sidecars.chain(pod.scripts_only.iter().map(|job| &job.container)).collect();
        let wait = self.wait();
        let labels = [(ORDINAL.to_owned(), ordinal.to_string())].into();
        self.template(self.init(wait.as_ref()), &sidecars, vec![errand], labels, Some("Never"))
    }

    /// The init containers, in order. Pods wait when everything else is prepared: waiting takes no time that they need.
    fn init<'c>(&'c self, wait: Option<&'c workload::Container>) -> Vec<&'c workload::Container> {
        let pod = self.pod;
        let logs = Some(&pod.tail_logs).filter(|_| !self.given.group.disable_log_sidecar);
        let before = pod.supply.iter().chain(&pod.prepare).chain(logs);
        before.chain(wait).chain(&pod.pre_start.containers).collect()
    }

    fn wait(&self) -> Option<workload::Container> {
        let command = workload::Command { program: workload::Program::WaitFor, args: self.wait_for.to_vec() };
        let container = || workload::Container {
            name: "wait-for".to_owned(),
            image: workload::Image::Boson,
            command,
            env: Vec::new(),
            mounts: Vec::new(),
            user: workload::User::Vcap,
            privileges: workload::Privileges::default(),
            memory_limit: None,
            readiness: None,
            started: None,
            foreign_packages: Vec::new(),
            shared_packages: Vec::new(),
        };
        (!self.wait_for.is_empty()).then(container)
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
            patches: self.patches,
            az_index: self.az.0,
            group: self.group,
            // What only waits needs nothing of it.
            sharers: sidecars.len() + main.len() - main.iter().filter(|container| container.is_idle()).count(),
            given: self.given,
        };
        let mut containers = |list: &[&workload::Container]| -> Vec<Container> {
            list.iter().map(|from| around.container(names.next().unwrap_or_default(), from)).collect()
        };
        let mut init_containers = containers(&init);
        for (container, from) in init_containers.iter_mut().zip(&init) {
            if is_log_sidecar(from) {
                container.restart_policy = Some("Always".to_owned());
            }
        }
        init_containers.extend(containers(sidecars).into_iter().map(as_sidecar));
        let main_containers = containers(&main);
        let low_ports = all().any(binds_low_ports_alone);
        let selected = of_group(&self.pod.deployment, &self.pod.group);
        let given = &self.given.group;
        let spec = PodSpec {
            affinity: in_zone(given.affinity.clone(), self.zone()),
            automount_service_account_token: Some(given.automount_token.unwrap_or(false)),
            containers: main_containers,
            dns_policy: match self.dns.config {
                Some(_) => Some("None".to_owned()),
                None => given.dns_policy.clone(),
            },
            dns_config: self.dns_config(),
            enable_service_links: Some(false),
            host_pid: all().any(|container| container.privileges.host_pid_namespace).then_some(true),
            image_pull_secrets: self.pull_secrets(),
            init_containers: Some(init_containers),
            node_selector: Some(given.node_selector.clone()).filter(|selector| !selector.is_empty()),
            priority_class_name: given.priority_class.clone().or_else(|| self.settings.priority_class.clone()),
            restart_policy: restart.map(str::to_owned),
            security_context: Some(security(!has_root, low_ports)),
            service_account_name: given.service_account.clone(),
            termination_grace_period_seconds: i64::try_from(self.pod.grace.as_secs()).ok(),
            tolerations: Some(given.tolerations.clone()).filter(|tolerations| !tolerations.is_empty()),
            topology_spread_constraints: spread(&given.topology_spread_constraints, &selected),
            volumes: Some(self.volumes()),
            ..PodSpec::default()
        };
        labels.extend(selected);
        labels.extend(self.dns.labels.clone());
        let metadata = self.metadata(labels);
        patched(PodTemplateSpec { metadata: Some(metadata), spec: Some(spec) }, given)
    }

    /// Labels and annotations: those of the manifest, and the reserved ones.
    fn metadata(&self, mut labels: Labels) -> ObjectMeta {
        let free = |labels: &Labels| -> Labels {
            let free = labels.iter().filter(|(name, _)| !is_reserved(name));
            crate::map(free.map(|(name, value)| (name.clone(), value.clone())))
        };
        let annotations = free(&self.given.group.annotations);
        labels.extend(free(&self.given.group.labels));
        labels.insert("app.kubernetes.io/managed-by".to_owned(), MANAGER.to_owned());
        ObjectMeta {
            labels: Some(labels),
            annotations: Some(annotations).filter(|annotations| !annotations.is_empty()),
            ..ObjectMeta::default()
        }
    }

    fn pull_secrets(&self) -> Option<Vec<LocalObjectReference>> {
        let mut secrets = pull_secrets(self.settings).unwrap_or_default();
        let given = self.given.group.pull_secrets.iter().filter(|secret| !secrets.contains(secret));
        secrets.extend(given.cloned().collect::<Vec<_>>());
        (!secrets.is_empty()).then_some(secrets)
    }

    /// Where names are resolved: by the server of the deployment's aliases, with what the manifest adds; else as the manifest says.
    fn dns_config(&self) -> Option<PodDNSConfig> {
        let given = self.given.group.dns_config.clone();
        let (Some(own), Some(given)) = (&self.dns.config, &given) else { return self.dns.config.clone().or(given) };
        fn joined<T: Clone + PartialEq>(own: &Option<Vec<T>>, given: &Option<Vec<T>>) -> Option<Vec<T>> {
            let mut all = own.clone().unwrap_or_default();
            let new = given.iter().flatten().filter(|one| !own.iter().flatten().any(|other| other == *one));
            all.extend(new.cloned());
            Some(all).filter(|all| !all.is_empty())
        }
        Some(PodDNSConfig {
            // The server of the aliases asks the cluster's for all other names.
            nameservers: own.nameservers.clone(),
            options: joined(&own.options, &given.options),
            searches: joined(&own.searches, &given.searches),
        })
    }

    fn volumes(&self) -> Vec<Volume> {
        let patches = self.patches.iter().map(|(name, config_map)| patches::volume(name, config_map));
        let vm = self.settings.vm_resources(self.group);
        volumes::of_pod(self.pod, self.resolved, &self.given.group, vm.as_ref()).into_iter().chain(patches).collect()
    }

    /// Pods of an AZ run in its zone.
    fn zone(&self) -> Option<NodeSelectorRequirement> {
        let az = self.az.1?;
        let zone = self.settings.zones.get(az).map_or(az, String::as_str);
        Some(NodeSelectorRequirement {
            key: ZONE.to_owned(),
            operator: "In".to_owned(),
            values: Some(vec![zone.to_owned()]),
        })
    }
}

fn is_log_sidecar(container: &workload::Container) -> bool {
    container.command.program == workload::Program::TailLogs
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
