//! `env.bosh.agent.settings` of an instance group.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Affinity, LocalObjectReference, PersistentVolumeClaim, PodDNSConfig, PodTemplateSpec, Toleration,
    TopologySpreadConstraint, Volume, VolumeMount,
};
use problem::Step;
use serde::de::DeserializeOwned;

use crate::strict::{Fault, below, read};
use crate::{Tree, is_reserved};

/// The annotation with the names that pods wait for, a list as JSON.
pub const WAIT_FOR: &str = "quarks.cloudfoundry.org/wait-for";

const DNS_POLICIES: [&str; 4] = ["ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"];
/// What tells which containers get a disk.
const FILTERS: [&str; 2] = ["job_name", "process_name"];

/// What an instance group's pods have beside what runs in them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GroupSettings {
    /// Annotations of pods.
    pub annotations: BTreeMap<String, String>,
    /// Labels of pods.
    pub labels: BTreeMap<String, String>,
    /// Where pods run.
    pub affinity: Option<Affinity>,
    /// Taints of nodes that pods tolerate.
    pub tolerations: Vec<Toleration>,
    /// Labels of the nodes on which pods run.
    pub node_selector: BTreeMap<String, String>,
    /// How pods spread over nodes.
    pub topology_spread_constraints: Vec<TopologySpreadConstraint>,
    /// The priority class of pods.
    pub priority_class: Option<String>,
    /// The account of pods.
    pub service_account: Option<String>,
    /// Whether all containers get the account's token.
    pub automount_token: Option<bool>,
    /// Secrets with the credentials of registries.
    pub pull_secrets: Vec<LocalObjectReference>,
    /// Further volumes.
    pub disks: Vec<Disk>,
    /// Whether `/var/vcap/data` is a disk of its own, which is deleted with the pod.
    pub ephemeral_as_pvc: bool,
    /// How often the pod of an errand is tried again.
    pub job_backoff_limit: Option<i32>,
    /// How long an instance has to stop, in seconds.
    pub grace_seconds: Option<u32>,
    /// `dnsPolicy` of pods.
    pub dns_policy: Option<String>,
    /// `dnsConfig` of pods.
    pub dns_config: Option<PodDNSConfig>,
    /// Whether pods have no container that forwards logs.
    pub disable_log_sidecar: bool,
    /// Names that pods wait for before they run pre-start.
    pub wait_for: Vec<String>,
    /// Whether pods wait for the groups whose links they consume.
    pub wait_for_links: bool,
    /// A merge patch of the pod template, which is applied last.
    pub pod_template: Option<Tree>,
}

/// A further volume.
#[derive(Debug, Clone, PartialEq)]
pub struct Disk {
    /// The claim that each pod gets.
    pub claim: Option<PersistentVolumeClaim>,
    /// The volume.
    pub volume: Option<Volume>,
    /// Where it is mounted; nowhere if absent.
    pub mount: Option<VolumeMount>,
    /// The containers that mount it: those of this job, or all.
    pub job: Option<String>,
    /// Those of this process, or all.
    pub process: Option<String>,
}

impl GroupSettings {
    /// All keys that may be set.
    pub const KEYS: [&'static str; 23] = [
        "affinity",
        "annotations",
        "automountServiceAccountToken",
        "disable_log_sidecar",
        "disks",
        "dns",
        "dnsConfig",
        "dnsPolicy",
        "ephemeralAsPVC",
        "imagePullSecrets",
        "injectReplicasEnv",
        "jobBackoffLimit",
        "labels",
        "nodeSelector",
        "pod_template",
        "preRenderOps",
        "priorityClassName",
        "serviceAccountName",
        "terminationGracePeriodSeconds",
        "tolerations",
        "topologySpreadConstraints",
        "wait_for",
        "wait_for_links",
    ];

    /// Keys of Quarks that have no effect, each with the reason.
    pub const WITHOUT_EFFECT: [(&'static str, &'static str); 2] = [
        ("injectReplicasEnv", "REPLICAS never restarts a pod"),
        ("preRenderOps", "operations on rendered documents are not supported"),
    ];

    /// Reads the settings, and all that is wrong with them.
    pub fn read(tree: &Tree) -> (GroupSettings, Vec<Fault>) {
        let mut reader = Reader { tree, faults: Vec::new() };
        reader.check_keys();
        let mut annotations: BTreeMap<String, String> = reader.get("annotations");
        let mut wait_for: Vec<String> = reader.get("wait_for");
        wait_for.extend(reader.annotated(annotations.remove(WAIT_FOR)));
        let settings = GroupSettings {
            labels: reader.get("labels"),
            affinity: reader.get("affinity"),
            tolerations: reader.get("tolerations"),
            node_selector: reader.get("nodeSelector"),
            topology_spread_constraints: reader.get("topologySpreadConstraints"),
            priority_class: reader.get("priorityClassName"),
            service_account: reader.get("serviceAccountName"),
            automount_token: reader.get("automountServiceAccountToken"),
            pull_secrets: reader.get("imagePullSecrets"),
            disks: reader.disks(),
            ephemeral_as_pvc: reader.get::<Option<_>>("ephemeralAsPVC").unwrap_or_default(),
            job_backoff_limit: reader.get("jobBackoffLimit"),
            grace_seconds: reader.get("terminationGracePeriodSeconds"),
            dns_policy: reader.dns_policy(),
            dns_config: reader.dns_config(),
            disable_log_sidecar: reader.get::<Option<_>>("disable_log_sidecar").unwrap_or_default(),
            wait_for_links: reader.get::<Option<_>>("wait_for_links").unwrap_or_default(),
            pod_template: reader.pod_template(),
            annotations,
            wait_for,
        };
        reader.check(&settings);
        (settings, reader.faults)
    }
}

struct Reader<'a> {
    tree: &'a Tree,
    faults: Vec<Fault>,
}

impl Reader<'_> {
    fn check_keys(&mut self) {
        for key in self.tree.as_object().into_iter().flat_map(serde_json::Map::keys) {
            if !GroupSettings::KEYS.contains(&key.as_str()) {
                self.faults.push(Fault::unknown(&[key.as_str().into()], "setting", key, GroupSettings::KEYS));
            }
        }
    }

    fn get<T: DeserializeOwned + Default>(&mut self, key: &str) -> T {
        match self.tree.get(key) {
            None | Some(Tree::Null) => T::default(),
            Some(tree) => read(tree, &[key.into()], &mut self.faults).unwrap_or_default(),
        }
    }

    fn wrong(&mut self, path: &[Step], message: impl Into<String>) {
        self.faults.push(Fault::new(path, message));
    }

    /// The names in the annotation of Quarks.
    fn annotated(&mut self, list: Option<String>) -> Vec<String> {
        let Some(list) = list else { return Vec::new() };
        serde_json::from_str(&list).unwrap_or_else(|_| {
            let path = ["annotations".into(), WAIT_FOR.into()];
            self.wrong(&path, r#"must be a list of names as JSON: '["database"]'"#);
            Vec::new()
        })
    }

    /// Quarks' `dns` is a `dnsConfig` without the cluster's name server.
    fn dns_config(&mut self) -> Option<PodDNSConfig> {
        let own: Option<PodDNSConfig> = self.get("dns");
        let config: Option<PodDNSConfig> = self.get("dnsConfig");
        if own.is_some() && (config.is_some() || self.tree.get("dnsPolicy").is_some()) {
            self.wrong(&["dns".into()], "cannot be combined with 'dnsConfig' or 'dnsPolicy', whose place it takes");
        }
        own.or(config)
    }

    fn dns_policy(&mut self) -> Option<String> {
        if self.tree.get("dns").is_some_and(|dns| !dns.is_null()) {
            return Some("None".to_owned());
        }
        let policy: Option<String> = self.get("dnsPolicy");
        if policy.as_deref().is_some_and(|policy| !DNS_POLICIES.contains(&policy)) {
            self.wrong(&["dnsPolicy".into()], format!("must be one of {}", DNS_POLICIES.join(", ")));
        }
        policy
    }

    fn disks(&mut self) -> Vec<Disk> {
        const KEYS: [&str; 4] = ["filters", "pvc", "volume", "volumeMount"];
        let disks = match self.tree.get("disks") {
            None | Some(Tree::Null) => return Vec::new(),
            Some(Tree::Array(disks)) => disks,
            Some(_) => {
                self.wrong(&["disks".into()], "must be a list");
                return Vec::new();
            }
        };
        let mut read_all = Vec::new();
        for (number, disk) in disks.iter().enumerate() {
            let path = ["disks".into(), number.into()];
            let Some(map) = disk.as_object() else {
                self.wrong(&path, "must be a mapping");
                continue;
            };
            for key in map.keys().filter(|key| !KEYS.contains(&key.as_str())) {
                self.faults.push(Fault::unknown(&below(&path, key), "key", key, KEYS));
            }
            let mut filters: BTreeMap<String, String> = self.of_disk(disk, &path, "filters").unwrap_or_default();
            for key in filters.keys().filter(|key| !FILTERS.contains(&key.as_str())) {
                self.faults.push(Fault::unknown(&below(&below(&path, "filters"), key), "filter", key, FILTERS));
            }
            let disk = Disk {
                claim: self.of_disk(disk, &path, "pvc"),
                volume: self.of_disk(disk, &path, "volume"),
                mount: self.of_disk(disk, &path, "volumeMount"),
                job: filters.remove("job_name"),
                process: filters.remove("process_name"),
            };
            self.check_disk(&disk, &path);
            read_all.push(disk);
        }
        read_all
    }

    fn of_disk<T: DeserializeOwned>(&mut self, disk: &Tree, path: &[Step], key: &str) -> Option<T> {
        disk.get(key)
            .filter(|value| !value.is_null())
            .and_then(|value| read(value, &below(path, key), &mut self.faults))
    }

    fn check_disk(&mut self, disk: &Disk, path: &[Step]) {
        let claim = disk.claim.as_ref().map(|claim| claim.metadata.name.clone().unwrap_or_default());
        let names: Vec<&str> =
            claim.as_deref().into_iter().chain(disk.volume.as_ref().map(|volume| volume.name.as_str())).collect();
        if names.len() > 1 {
            self.wrong(path, "has both 'pvc' and 'volume': a claim is a volume of its own");
        }
        if names.contains(&"") {
            self.wrong(path, "needs a name: 'metadata.name' of its 'pvc', 'name' of its 'volume'");
        }
        if let Some(mount) = &disk.mount {
            if mount.mount_path.is_empty() {
                self.wrong(&below(path, "volumeMount"), "needs a 'mountPath'");
            }
            if !names.is_empty() && !names.contains(&mount.name.as_str()) {
                self.wrong(&below(path, "volumeMount"), format!("must have the name of its volume: '{}'", names[0]));
            }
        } else if names.is_empty() {
            self.wrong(path, "has neither 'pvc' nor 'volume' nor 'volumeMount'");
        }
    }

    /// The patch; its values have the types of a pod template.
    fn pod_template(&mut self) -> Option<Tree> {
        let patch = self.tree.get("pod_template").filter(|patch| !patch.is_null())?;
        let _: Option<PodTemplateSpec> = read(patch, &["pod_template".into()], &mut self.faults);
        for parts in [&["metadata"][..], &["metadata", "labels"], &["spec"]] {
            let is_deleted = parts.split_last().is_some_and(|(last, above)| {
                let above = above.iter().fold(patch, |tree, key| &tree[*key]);
                above.get(*last).is_some_and(Tree::is_null)
            });
            if is_deleted {
                let path: Vec<Step> = ["pod_template"].iter().chain(parts).map(|key| (*key).into()).collect();
                self.wrong(&path, "cannot be deleted");
            }
        }
        for key in ["labels", "annotations"] {
            let path = ["pod_template".into(), "metadata".into(), key.into()];
            let names = patch["metadata"][key].as_object().map(|map| map.keys().cloned().collect());
            self.check_reserved(&path, names.unwrap_or_default());
        }
        let metadata = patch["metadata"].as_object();
        for key in metadata.into_iter().flat_map(serde_json::Map::keys) {
            if !["labels", "annotations"].contains(&key.as_str()) {
                let path = ["pod_template".into(), "metadata".into(), key.as_str().into()];
                self.wrong(&path, "cannot be set: only 'labels' and 'annotations' of a pod can");
            }
        }
        Some(patch.clone())
    }

    fn check_reserved(&mut self, path: &[Step], names: Vec<String>) {
        for name in names.iter().filter(|name| is_reserved(name)) {
            self.wrong(&below(path, name), format!("'{name}' is reserved: pods are selected and found by it"));
        }
    }

    fn check(&mut self, settings: &GroupSettings) {
        self.check_reserved(&["labels".into()], settings.labels.keys().cloned().collect());
        self.check_reserved(&["annotations".into()], settings.annotations.keys().cloned().collect());
        if settings.job_backoff_limit.is_some_and(|limit| limit < 0) {
            self.wrong(&["jobBackoffLimit".into()], "must not be negative");
        }
        if settings.wait_for.iter().any(|name| name.is_empty() || name.contains(char::is_whitespace)) {
            self.wrong(&["wait_for".into()], "a name to wait for must not be empty or have spaces");
        }
    }
}
