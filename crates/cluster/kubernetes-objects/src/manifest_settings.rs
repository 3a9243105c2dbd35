//! What the manifest gives to the pods of a group: `env.bosh.agent.settings`, and `properties.quarks` of its jobs.

use std::collections::BTreeMap;

use handoff::deployment::InstanceGroup;
use k8s_openapi::api::core::v1::{
    Affinity, Capabilities, NodeSelectorRequirement, NodeSelectorTerm, PodTemplateSpec, Probe, ResourceRequirements,
    SecurityContext, TopologySpreadConstraint, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use pod_settings::{Disk, Fault, GroupSettings, JobSettings, merge};
use problem::{Problem, code};
use workload::Pod;

use crate::metadata::Labels;
use crate::{map, object, typed};

/// The settings of a group and of its jobs.
pub(crate) struct ManifestSettings {
    pub(crate) group: GroupSettings,
    jobs: BTreeMap<String, JobSettings>,
    resources: BTreeMap<(String, String), ResourceRequirements>,
    /// The probes that tell whether an instance is the active one, by job.
    active: BTreeMap<String, BTreeMap<String, Probe>>,
}

impl ManifestSettings {
    pub(crate) fn read(group: &InstanceGroup) -> ManifestSettings {
        let jobs = group.jobs.iter().map(|job| (job.name.clone(), JobSettings::read(&job.quarks.run).0));
        let resources = group.jobs.iter().flat_map(|job| {
            let processes = job.quarks.resources.as_object().into_iter().flatten();
            processes.filter_map(|(process, probe)| {
                let probe = pod_settings::read(probe, &[], &mut Vec::new())?;
                Some(((job.name.clone(), process.clone()), probe))
            })
        });
        ManifestSettings {
            group: GroupSettings::read(&group.env.settings).0,
            jobs: map(jobs),
            resources: map(resources),
            active: map(group.jobs.iter().map(|job| (job.name.clone(), active(job)))),
        }
    }

    /// What is wrong with the settings of a group, which `plan` reports with its places.
    pub(crate) fn problems(group: &InstanceGroup) -> Vec<Problem> {
        let problem = |what: &str, fault: Fault| {
            let message = format!("instance group '{}'{what}.{}: {}", group.name, fault.name(), fault.message);
            fault.hint.into_iter().fold(Problem::input(message).code(code::MANIFEST_INVALID), Problem::hint)
        };
        let of_group = GroupSettings::read(&group.env.settings).1;
        let of_group = of_group.into_iter().map(|fault| problem(": env.bosh.agent.settings", fault));
        let of_jobs = group.jobs.iter().flat_map(|job| {
            let what = format!(", job '{}': properties.quarks.run", job.name);
            JobSettings::read(&job.quarks.run).1.into_iter().map(move |fault| problem(&what, fault))
        });
        let of_active = group.jobs.iter().flat_map(|job| {
            let what = format!(", job '{}': properties.quarks.activePassiveProbes", job.name);
            let faults = JobSettings::read_active(&job.quarks.active_passive_probes).1;
            faults.into_iter().map(move |fault| problem(&what, fault))
        });
        of_group.chain(of_jobs).chain(of_active).collect()
    }

    /// Whether one instance is active and the others are ready to take its place.
    pub(crate) fn is_active_passive(&self) -> bool {
        self.active.values().any(|probes| !probes.is_empty())
    }

    /// The probe that tells whether an instance with this process is the active one. Quarks names it after the container.
    pub(crate) fn active(&self, owner: Owner) -> Option<&Probe> {
        let process = owner.process?;
        let probes = self.active.get(owner.job)?;
        probes.get(&format!("{}-{process}", owner.job)).or_else(|| probes.get(process))
    }

    pub(crate) fn job(&self, job: &str) -> Option<&JobSettings> {
        self.jobs.get(job)
    }

    /// The volumes that a container mounts; those of all jobs, if it runs scripts of several.
    pub(crate) fn mounts(&self, owner: Option<Owner>) -> Vec<VolumeMount> {
        let is_mounted = |disk: &&Disk| match owner {
            None => true,
            Some(Owner { job, process }) => {
                disk.job.as_deref().is_none_or(|wanted| wanted == job)
                    && disk.process.as_deref().is_none_or(|wanted| Some(wanted) == process)
            }
        };
        self.group.disks.iter().filter(is_mounted).filter_map(|disk| disk.mount.clone()).collect()
    }

    /// Adds the requests and limits that the manifest gives to a process.
    pub(crate) fn add_resources(&self, resources: &mut ResourceRequirements, owner: Owner) {
        let key = (owner.job.to_owned(), owner.process.unwrap_or_default().to_owned());
        let Some(given) = self.resources.get(&key) else { return };
        for (target, given) in [(&mut resources.requests, &given.requests), (&mut resources.limits, &given.limits)] {
            if let Some(given) = given {
                target.get_or_insert_default().extend(given.clone());
            }
        }
    }

    /// A security context with what the manifest gives for the job.
    pub(crate) fn security_context(&self, context: SecurityContext, job: &str) -> SecurityContext {
        let given = self.job(job).and_then(|job| job.security_context.as_ref());
        given.map_or(context.clone(), |given| with_context(context, given))
    }

    /// As [`ManifestSettings::security_context`] without the user: scripts run as the user that the scripts of all jobs have.
    pub(crate) fn security_context_of_scripts(&self, context: SecurityContext, job: &str) -> SecurityContext {
        let given = self.job(job).and_then(|job| job.security_context.clone());
        let without_user = |given: SecurityContext| SecurityContext {
            run_as_user: None,
            run_as_group: None,
            run_as_non_root: None,
            ..given
        };
        given.map(without_user).map_or(context.clone(), |given| with_context(context, &given))
    }
}

fn active(job: &handoff::deployment::Job) -> BTreeMap<String, Probe> {
    JobSettings::read_active(&job.quarks.active_passive_probes).0
}

/// The job, and the process if it is one, of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owner<'a> {
    pub(crate) job: &'a str,
    pub(crate) process: Option<&'a str>,
}

impl<'a> Owner<'a> {
    /// A container that runs a part of one job.
    pub(crate) fn of(pod: &'a Pod, container: &workload::Container) -> Option<Owner<'a>> {
        let processes = pod
            .processes
            .iter()
            .map(|process| (&process.container, process.job.as_str(), Some(process.process.as_str())));
        let scripts = pod.scripts_only.iter().map(|script| (&script.container, script.job.as_str(), None));
        let errands = pod.errands.iter().map(|errand| {
            let process = errand.container.name.strip_prefix(&errand.job).and_then(|rest| rest.strip_prefix('/'));
            (&errand.container, errand.job.as_str(), process)
        });
        let requests = pod.requests.iter().map(|request| (&request.container, request.job.as_str(), None));
        let mut all = processes.chain(scripts).chain(errands).chain(requests);
        all.find(|(other, ..)| other.name == container.name).map(|(_, job, process)| Owner { job, process })
    }
}

/// The fields that are given replace ours, but capabilities that are added come to those that are needed.
fn with_context(own: SecurityContext, given: &SecurityContext) -> SecurityContext {
    let needed = own.capabilities.clone().unwrap_or_default();
    let mut merged = object(&own);
    merge(&mut merged, &object(given));
    let mut merged: SecurityContext = typed(&merged).unwrap_or(own);
    let added = given.capabilities.as_ref().and_then(|capabilities| capabilities.add.clone()).unwrap_or_default();
    let mut add = needed.add.unwrap_or_default();
    add.extend(added.into_iter().filter(|name| !add.contains(name)).collect::<Vec<_>>());
    let drop = given.capabilities.as_ref().and_then(|capabilities| capabilities.drop.clone()).or(needed.drop);
    merged.capabilities = Some(Capabilities { add: Some(add).filter(|add| !add.is_empty()), drop });
    if merged.privileged == Some(true) {
        // The API server refuses both.
        merged.allow_privilege_escalation = None;
        merged.capabilities = given.capabilities.clone();
    }
    if merged.run_as_user == Some(0) && given.run_as_non_root.is_none() {
        merged.run_as_non_root = Some(false);
    }
    merged
}

/// An affinity in which every alternative requires the zone, too.
pub(crate) fn in_zone(given: Option<Affinity>, zone: Option<NodeSelectorRequirement>) -> Option<Affinity> {
    let Some(zone) = zone else { return given };
    let mut affinity = given.unwrap_or_default();
    let nodes = affinity.node_affinity.get_or_insert_default();
    let required = nodes.required_during_scheduling_ignored_during_execution.get_or_insert_default();
    if required.node_selector_terms.is_empty() {
        required.node_selector_terms.push(NodeSelectorTerm::default());
    }
    for term in &mut required.node_selector_terms {
        term.match_expressions.get_or_insert_default().push(zone.clone());
    }
    Some(affinity)
}

/// Constraints that count the pods of the group, unless they say which.
pub(crate) fn spread(given: &[TopologySpreadConstraint], group: &Labels) -> Option<Vec<TopologySpreadConstraint>> {
    let of_group = || LabelSelector { match_labels: Some(group.clone()), match_expressions: None };
    let counted = |constraint: &TopologySpreadConstraint| TopologySpreadConstraint {
        label_selector: constraint.label_selector.clone().or_else(|| Some(of_group())),
        ..constraint.clone()
    };
    (!given.is_empty()).then(|| given.iter().map(counted).collect())
}

/// The template with the manifest's patch.
pub(crate) fn patched(template: PodTemplateSpec, given: &GroupSettings) -> PodTemplateSpec {
    let Some(patch) = &given.pod_template else { return template };
    let mut patched = object(&template);
    merge(&mut patched, patch);
    typed(&patched).unwrap_or(template)
}
