//! What runs a deployment: StatefulSets, Jobs, Services, disruption budgets.

mod waits;

use std::collections::{BTreeMap, BTreeSet};

use handoff::deployment::{Deployment, InstanceGroup, Update};
use k8s_openapi::api::apps::v1::{StatefulSet, StatefulSetSpec, StatefulSetUpdateStrategy};
use k8s_openapi::api::batch::v1::{Job, JobSpec};
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, PodTemplateSpec};
use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use manifest_model::names::group_label;
use problem::{Problem, Problems, Result, code};
use sha2::{Digest, Sha256};
use workload::Pod;

use self::waits::Wait;
use object_basics::{Object, part};

use crate::dns::{self, Dns, PodDns};
use crate::manifest_settings::ManifestSettings;
use crate::metadata::{ACTIVE_PASSIVE, DIGESTS, KIND, Labels, TEMPLATE_DIGEST, of_deployment, of_group, of_workload};
use crate::pod::Template;
use crate::settings::UpdatedBy;
use crate::{Settings, dns_server, names, network, object, patches, probes, services, volumes};

/// Enough to tell two digests apart, and short enough for an annotation of a thousand instances.
const DIGEST_LENGTH: usize = 16;

/// A group with the version of its documents.
#[derive(Debug, Clone)]
pub struct GroupWorkload<'a> {
    /// The group.
    pub group: &'a InstanceGroup,
    /// What its instances run.
    pub pod: Pod,
    /// The version of its documents.
    pub version: u32,
    /// The number of Secrets that have the resolved group.
    pub parts: usize,
}

/// A whole deployment.
#[derive(Debug, Clone)]
pub struct Workloads<'a> {
    /// Its document.
    pub deployment: &'a Deployment,
    /// Its groups, in the manifest's order.
    pub groups: Vec<GroupWorkload<'a>>,
    /// What the documents do not say.
    pub settings: &'a Settings,
}

/// What the objects of a group are made of, beside its documents.
struct Parts<'a> {
    settings: &'a Settings,
    given: &'a ManifestSettings,
    /// What its pods wait for.
    wait_for: &'a [String],
    dns: &'a PodDns,
}

/// The objects of a group.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupObjects {
    /// The group.
    pub group: String,
    /// The objects, in the order in which they are applied.
    pub objects: Vec<Object>,
    /// The names of its StatefulSets.
    pub stateful_sets: Vec<String>,
    /// The groups for which its pods wait.
    pub waits_for: Vec<String>,
    /// How it is updated.
    pub update: Update,
    /// The pods of its instances; none for an errand.
    pub pods: Vec<InstancePod>,
}

/// The pod of an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstancePod {
    /// Its StatefulSet.
    pub set: String,
    /// Its number in the StatefulSet.
    pub ordinal: u32,
    /// The index of the instance.
    pub index: u32,
    /// The number of its AZ, in the manifest's order.
    pub az: u32,
}

impl InstancePod {
    /// Its name.
    pub fn name(&self) -> String {
        format!("{}-{}", self.set, self.ordinal)
    }
}

impl Workloads<'_> {
    /// What all groups share, which exists before any pod: `REPLICAS` of the groups, and the Services of all groups and
    /// instances.
    pub fn shared(&self) -> Vec<Object> {
        let name = &self.deployment.name;
        let replicas =
            self.groups.iter().map(|workload| (names::key(&workload.group.name), workload.group.replicas.to_string()));
        let replicas = ConfigMap {
            metadata: of_deployment(names::replicas(name), name, &[]),
            data: Some(crate::map(replicas)),
            ..ConfigMap::default()
        };
        let services = self.groups.iter().flat_map(GroupWorkload::services);
        let server = Dns::of(self.deployment).map(|dns| dns.objects(&self.settings.dns_image)).unwrap_or_default();
        std::iter::once(object(&replicas)).chain(services).chain(server).collect()
    }

    /// The Service of the server that answers DNS aliases; nothing if the deployment has none. Its address is
    /// [`Settings::name_server`].
    pub fn name_server_service(&self) -> Option<Object> {
        Dns::of(self.deployment).map(|_| object(&dns_server::service(&self.deployment.name)))
    }

    /// The objects of each group, in the manifest's order.
    pub fn groups(&self) -> Vec<GroupObjects> {
        let dns = dns::of_groups(self.deployment, self.settings.name_server.as_deref());
        let none = PodDns::default();
        self.groups
            .iter()
            .map(|workload| {
                let dns = dns.get(&workload.group.name).unwrap_or(&none);
                let given = ManifestSettings::read(workload.group);
                let waits = self.waits(workload, &given.group);
                let targets: Vec<String> = waits.iter().map(Wait::target).collect();
                let parts = Parts { settings: self.settings, given: &given, wait_for: &targets, dns };
                let sets = workload.stateful_sets(&parts);
                let stateful_sets = sets.iter().filter_map(|set| set.metadata.name.clone()).collect();
                let mut objects: Vec<Object> = workload.claims(&given).iter().map(object).collect();
                objects.extend(sets.iter().map(object));
                objects.extend(workload.errands(&parts).iter().map(object));
                objects.extend(workload.budget(&given).iter().map(object));
                let policy =
                    network::of_instances(&workload.pod, workload.group).filter(|_| self.settings.network_policies);
                objects.extend(policy.iter().map(object));
                let waits_for = waits.into_iter().filter_map(Wait::group).collect();
                let (update, pods) = (workload.group.update, workload.instance_pods());
                GroupObjects { group: workload.group.name.clone(), objects, stateful_sets, waits_for, update, pods }
            })
            .collect()
    }

    /// Checks that no two objects have the same kind and name, that the manifest's settings of pods are valid, and that all DNS aliases
    /// can be answered.
    ///
    /// # Errors
    /// All names that two objects would have, all settings that are not valid, all aliases that cannot be answered, groups that would
    /// wait for ever.
    pub fn check(&self) -> Result<()> {
        let groups = self.groups();
        let all = self.shared().into_iter().chain(groups.into_iter().flat_map(|group| group.objects));
        let mut seen = BTreeSet::new();
        let mut problems: Vec<Problem> =
            self.groups.iter().flat_map(|workload| probes::problems(&workload.pod, workload.group)).collect();
        problems.extend(Dns::new(self.deployment).err().into_iter().flatten());
        if self.settings.strict_aliases {
            problems.extend(dns::problems_of_ignored(self.deployment));
        }
        problems.extend(self.groups.iter().flat_map(|workload| ManifestSettings::problems(workload.group)));
        problems.extend(self.problems_of_waits());
        for object in all {
            let text = |value: &Object| value.as_str().unwrap_or_default().to_owned();
            let id = (text(&object["kind"]), text(&object["metadata"]["name"]));
            if seen.contains(&id) {
                let message = format!("two {}s would have the name '{}'", id.0, id.1);
                let hint = "rename an instance group";
                problems.push(Problem::input(message).code(code::NAME_CONFLICT).hint(hint));
            }
            seen.insert(id);
        }
        Problems::check(problems)
    }
}

impl GroupWorkload<'_> {
    fn services(&self) -> Vec<Object> {
        let has_azs = !self.group.azs.is_empty();
        let pod_name = |az_index: u32, ordinal: u32| {
            let az_index = has_azs.then_some(az_index);
            format!("{}-{ordinal}", names::stateful_set(&self.pod.deployment, &self.pod.group, az_index))
        };
        let all = services::of_all(&self.pod, self.group);
        let instances = services::of_instances(&self.pod, self.group, pod_name);
        all.iter().chain(&instances).map(object).collect()
    }

    /// The pods of the instances of a group that runs all the time.
    fn instance_pods(&self) -> Vec<InstancePod> {
        let has_azs = !self.group.azs.is_empty();
        let of_instance = |instance: &handoff::deployment::Instance| InstancePod {
            set: names::stateful_set(&self.pod.deployment, &self.pod.group, has_azs.then_some(instance.az_index)),
            ordinal: instance.ordinal,
            index: instance.index,
            az: instance.az_index,
        };
        let instances = self.group.instances.iter().filter(|_| !self.pod.is_errand());
        instances.map(of_instance).collect()
    }

    /// How many seconds a pod has to be ready before it counts: the minimum of the watch time.
    /// Standbys are never ready.
    fn min_ready_seconds(&self, given: &ManifestSettings) -> Option<i32> {
        let seconds = self.group.update.update_watch_time.from.div_ceil(1000);
        i32::try_from(seconds).ok().filter(|seconds| *seconds > 0 && !given.is_active_passive())
    }

    /// The Secrets with the resolved group.
    fn resolved(&self) -> Vec<String> {
        let version = names::versioned("ig-resolved", Some(&self.group.name), self.version);
        (1..=self.parts.max(1)).map(|number| part(&version, number)).collect()
    }

    /// One StatefulSet for each AZ that has instances, or one if the group has no AZs.
    fn stateful_sets(&self, parts: &Parts) -> Vec<StatefulSet> {
        if self.pod.is_errand() {
            return Vec::new();
        }
        let azs: Vec<(Option<u32>, Option<&str>)> = match self.group.azs.as_slice() {
            [] => vec![(None, None)],
            azs => (1..).zip(azs).map(|(number, az)| (Some(number), Some(az.name.as_str()))).collect(),
        };
        azs.into_iter().map(|(number, name)| self.stateful_set(parts, number, name)).collect()
    }

    fn stateful_set(&self, parts: &Parts, az_index: Option<u32>, az: Option<&str>) -> StatefulSet {
        let instances = self.group.instances.iter();
        let mut instances: Vec<_> =
            instances.filter(|instance| az_index.is_none_or(|index| instance.az_index == index)).collect();
        // As the pods are numbered, which is not always the order of the indexes.
        instances.sort_by_key(|instance| instance.ordinal);
        let digests: Vec<String> =
            instances.iter().map(|instance| instance.digest.chars().take(DIGEST_LENGTH).collect()).collect();
        let template = |resolved: &[String], patches: &BTreeMap<String, String>| {
            self.template(parts, (az_index.unwrap_or(1), az), resolved, patches).of_service()
        };
        // What patches change of an instance is in its digest.
        let template_digest = digest(&template(&[String::new()], &BTreeMap::new()));
        let annotations = [(TEMPLATE_DIGEST, template_digest), (DIGESTS, digests.join(" "))];
        let mut annotations: Labels = annotations.map(|(name, value)| (name.to_owned(), value)).into();
        let template = template(&self.resolved(), &patches::of_pod(&self.pod, &parts.settings.patches));
        let template = with_metadata(template, az_index, &annotations);
        if parts.given.is_active_passive() {
            annotations.insert(ACTIVE_PASSIVE.to_owned(), "true".to_owned());
        }
        let name = names::stateful_set(&self.pod.deployment, &self.pod.group, az_index);
        let mut metadata = of_workload(name, &self.pod.deployment, &self.pod.group);
        metadata.annotations = Some(annotations);
        let strategy = match parts.settings.updated_by {
            UpdatedBy::Deploy => "OnDelete",
            UpdatedBy::Kubernetes => "RollingUpdate",
        };
        let spec = StatefulSetSpec {
            // All start at once: nodes of a cluster wait for each other.
            pod_management_policy: Some("Parallel".to_owned()),
            min_ready_seconds: self.min_ready_seconds(parts.given),
            replicas: i32::try_from(digests.len()).ok(),
            selector: selector(&self.pod, az_index),
            service_name: Some(self.service_name()),
            template,
            update_strategy: Some(StatefulSetUpdateStrategy { type_: Some(strategy.to_owned()), rolling_update: None }),
            volume_claim_templates: Some(volumes::claims(&self.pod, &parts.given.group))
                .filter(|claims| !claims.is_empty()),
            ..StatefulSetSpec::default()
        };
        StatefulSet { metadata, spec: Some(spec), status: None }
    }

    /// A suspended Job for each errand of a group that is one.
    fn errands(&self, parts: &Parts) -> Vec<Job> {
        let Some(instance) = self.group.instances.first().filter(|_| self.pod.is_errand()) else { return Vec::new() };
        let resolved = self.resolved();
        let az = (instance.az_index, instance.az.as_deref());
        let patches = patches::of_pod(&self.pod, &parts.settings.patches);
        let template = self.template(parts, az, &resolved, &patches);
        let job = |(number, errand): (usize, &workload::Errand)| {
            // BOSH: the group's name runs the first job's errand.
            let name = if number == 0 { self.pod.group.clone() } else { format!("{}-{}", self.pod.group, errand.job) };
            let name = names::errand(&self.pod.deployment, &name);
            let template = template.of_errand(&errand.container, instance.ordinal);
            let mut metadata = of_workload(name, &self.pod.deployment, &self.pod.group);
            let labels = metadata.labels.get_or_insert_default();
            labels.insert(KIND.to_owned(), "errand".to_owned());
            metadata.annotations = Some([(TEMPLATE_DIGEST.to_owned(), digest(&template))].into());
            let backoff_limit = Some(parts.given.group.job_backoff_limit.unwrap_or(0));
            let spec = JobSpec { backoff_limit, suspend: Some(true), template, ..JobSpec::default() };
            Job { metadata, spec: Some(spec), status: None }
        };
        self.pod.errands.iter().enumerate().map(job).collect()
    }

    /// The Service of the group, whether it has instances or not: the field of a StatefulSet cannot be changed.
    fn service_name(&self) -> String {
        let of_address = self.pod.address().map(|address| services::host(&address));
        of_address.unwrap_or_else(|| group_label(&self.pod.deployment, &self.pod.group))
    }

    fn template<'a>(
        &'a self,
        parts: &'a Parts,
        az: (u32, Option<&'a str>),
        resolved: &'a [String],
        patches: &'a BTreeMap<String, String>,
    ) -> Template<'a> {
        Template {
            pod: &self.pod,
            settings: parts.settings,
            az,
            resolved,
            patches,
            dns: parts.dns,
            group: self.group,
            given: parts.given,
            wait_for: parts.wait_for,
        }
    }

    /// The claims for the disks of a group whose pods are no StatefulSet's.
    fn claims(&self, given: &ManifestSettings) -> Vec<PersistentVolumeClaim> {
        let store = names::claim(&self.pod.deployment, &self.pod.group);
        let named = |claim: PersistentVolumeClaim| {
            let disk = claim.metadata.name.clone().unwrap_or_default();
            let is_further = given.group.disks.iter().any(|disk| disk.claim.as_ref() == Some(&claim));
            let of_disk = || names::claim_of_disk(&self.pod.deployment, &self.pod.group, &disk);
            let name = if is_further { of_disk() } else { store.clone() };
            PersistentVolumeClaim { metadata: of_workload(name, &self.pod.deployment, &self.pod.group), ..claim }
        };
        let claims = || volumes::claims(&self.pod, &given.group).into_iter().map(named).collect();
        if self.pod.is_errand() { claims() } else { Vec::new() }
    }

    /// How many instances may be missing. A budget counts pods that are not ready: it would keep the active pod of a group with
    /// standbys on its node for ever.
    fn budget(&self, given: &ManifestSettings) -> Option<PodDisruptionBudget> {
        let has_budget = !self.pod.is_errand() && !given.is_active_passive();
        let size = u32::try_from(self.group.instances.len()).ok().filter(|size| *size > 0 && has_budget)?;
        let most = self.group.update.max_in_flight_of(size);
        let spec = PodDisruptionBudgetSpec {
            max_unavailable: Some(IntOrString::Int(i32::try_from(most).ok()?)),
            selector: Some(selector(&self.pod, None)),
            ..PodDisruptionBudgetSpec::default()
        };
        let name = services::host(&self.pod.address()?);
        Some(PodDisruptionBudget {
            metadata: of_workload(name, &self.pod.deployment, &self.pod.group),
            spec: Some(spec),
            status: None,
        })
    }
}

/// Label of the pods of an AZ.
const AZ_INDEX: &str = "quarks.cloudfoundry.org/az-index";

fn selector(pod: &Pod, az_index: Option<u32>) -> LabelSelector {
    let mut labels = of_group(&pod.deployment, &pod.group);
    labels.extend(az_index.map(|index| (AZ_INDEX.to_owned(), index.to_string())));
    LabelSelector { match_labels: Some(labels), match_expressions: None }
}

/// The template with the AZ's label, and with the annotations that tell what its pods run.
fn with_metadata(mut template: PodTemplateSpec, az_index: Option<u32>, annotations: &Labels) -> PodTemplateSpec {
    let metadata = template.metadata.get_or_insert_with(ObjectMeta::default);
    let labels = metadata.labels.get_or_insert_default();
    labels.extend(az_index.map(|index| (AZ_INDEX.to_owned(), index.to_string())));
    metadata.annotations.get_or_insert_default().extend(annotations.clone());
    template
}

fn digest(template: &PodTemplateSpec) -> String {
    hexadecimal(&object(template).to_string())
}

fn hexadecimal(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().take(DIGEST_LENGTH / 2).map(|byte| format!("{byte:02x}")).collect()
}

/// A digest of StatefulSets: of their pods and of what these render.
pub fn digest_of<'a>(objects: impl Iterator<Item = &'a Object>) -> String {
    let annotations = objects.filter(|set| set["kind"] == "StatefulSet").map(|set| {
        let annotations = &set["metadata"]["annotations"];
        format!("{} {} {}", set["metadata"]["name"], annotations[TEMPLATE_DIGEST], annotations[DIGESTS])
    });
    hexadecimal(&annotations.collect::<Vec<_>>().join("\n"))
}
