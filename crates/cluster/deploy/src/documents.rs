//! The documents that the record names.

use std::path::Path;

use cluster::{Cluster, Kind, Object};
use handoff::bpm_info::BpmInfo;
use handoff::deployment::{Deployment, InstanceGroup, Lifecycle, VmStrategy};
use handoff::output::{BPM_YAML, DEPLOYMENT_YAML, PROPERTIES_YAML};
use handoff::versions::{Run, VERSIONS_YAML, Versions};
use kubernetes_objects as objects;
use manifest_model::replaced::is_spec_unneeded;
use objects::{GroupWorkload, ReleaseRef, Settings, Workloads};
use pod_flags::UpdateFlags;
use problem::{Problem, Result, code};
use workload::Pod;

/// What is deployed.
pub(crate) struct Documents {
    /// The object that owns everything.
    pub(crate) anchor: Object,
    /// The run that has made them valid, if they are.
    pub(crate) run: Option<u32>,
    deployment: Deployment,
    /// The groups, in the manifest's order.
    groups: Vec<Group>,
}

/// The documents of a group.
struct Group {
    info: BpmInfo,
    version: u32,
    /// The number of Secrets that have the resolved group, which pods read.
    parts: usize,
}

impl Documents {
    /// What `plan` has written, before it has versions.
    pub(crate) fn planned(cluster: &Cluster, name: &str, directory: &Path) -> Result<Documents> {
        let documents = Documents::of_plan(deployment_of(directory, name)?, directory)?;
        Ok(Documents { anchor: anchor(cluster, name)?, ..documents })
    }

    /// What `plan` has written, with the versions that it gets beside the documents of the present run; the deployment may not exist yet.
    pub(crate) fn planned_after(
        cluster: &Cluster,
        name: &str,
        directory: &Path,
        present: Option<&Run>,
    ) -> Result<Documents> {
        let mut documents = Documents::of_plan(deployment_of(directory, name)?, directory)?;
        documents.anchor = find_anchor(cluster, name)?.unwrap_or_default();
        let Some(present) = present else { return Ok(documents) };
        for (group, own) in documents.deployment.instance_groups.iter().zip(&mut documents.groups) {
            let resolved = plan_output::text(directory, &format!("{}/ig-resolved", group.name), PROPERTIES_YAML)?;
            let bpm = plan_output::text(directory, &format!("{}/bpm", group.name), BPM_YAML)?;
            own.parts = objects::divided("", PROPERTIES_YAML, &resolved).len();
            let Some(&version) = present.groups.get(&group.name) else { continue };
            // One that was deleted by hand gets another version.
            let is_same = |kind: &str, key: &str, text: &str| -> Result<bool> {
                let name = objects::versioned(kind, Some(&group.name), version);
                Ok(unless_missing(document(cluster, &name, key))?.is_some_and(|known| known == text))
            };
            let is_same = is_same("ig-resolved", PROPERTIES_YAML, &resolved)? && is_same("bpm", BPM_YAML, &bpm)?;
            own.version = if is_same { version } else { version + 1 };
        }
        Ok(documents)
    }

    /// The document of the deployment.
    pub(crate) fn deployment(&self) -> &Deployment {
        &self.deployment
    }

    /// What `plan` has written, without an anchor. Each resolved group is taken to fit into one Secret.
    pub(crate) fn of_plan(deployment: Deployment, directory: &Path) -> Result<Documents> {
        let infos = plan_output::groups(directory, &deployment)?;
        workload::check_platform(&infos)?;
        let groups = infos.into_iter().map(|info| Group { info, version: 1, parts: 1 }).collect();
        Ok(Documents { anchor: Object::Null, run: None, deployment, groups })
    }

    /// The Secrets with the resolved groups that `plan` has written: name, key and content. Their numbers are known from then on.
    pub(crate) fn resolved_secrets(&mut self, directory: &Path) -> Result<Vec<(String, String, Vec<u8>)>> {
        let mut secrets = Vec::new();
        for (group, own) in self.deployment.instance_groups.iter().zip(&mut self.groups) {
            let text = plan_output::text(directory, &format!("{}/ig-resolved", group.name), PROPERTIES_YAML)?;
            let first = objects::versioned("ig-resolved", Some(&group.name), own.version);
            let of_group = objects::divided(&first, PROPERTIES_YAML, &text);
            own.parts = of_group.len();
            secrets.extend(of_group);
        }
        Ok(secrets)
    }

    /// Those of the present run.
    pub(crate) fn read(cluster: &Cluster, name: &str) -> Result<Documents> {
        let run = present_run(cluster, name)?.ok_or_else(|| {
            let message = format!("ConfigMap {} does not exist", objects::record(name));
            let problem = Problem::input(message).code(code::DOCUMENT_MISSING);
            problem.hint("`write-secrets` writes it; is this the right namespace?")
        })?;
        Documents::of_run(cluster, name, &run)
    }

    /// Those of a run.
    pub(crate) fn of_run(cluster: &Cluster, name: &str, run: &Run) -> Result<Documents> {
        let record = objects::record(name);
        let anchor = anchor(cluster, name)?;
        let deployment = deployment_of_run(cluster, run)?;
        let mut groups = Vec::new();
        for group in &deployment.instance_groups {
            let version = run.groups.get(&group.name).copied().ok_or_else(|| {
                Problem::internal(format!("ConfigMap {record} has no version of group '{}'", group.name))
            })?;
            let secret = objects::versioned("bpm", Some(&group.name), version);
            let info = BpmInfo::decode(&document(cluster, &secret, BPM_YAML)?, &secret)?;
            let resolved = objects::versioned("ig-resolved", Some(&group.name), version);
            let parts = objects::parts(&get(cluster, &resolved)?);
            groups.push(Group { info, version, parts });
        }
        Ok(Documents { anchor, run: Some(run.run), deployment, groups })
    }

    /// These with the update of all groups that the flags give.
    pub(crate) fn updated_as(mut self, flags: UpdateFlags) -> Documents {
        self.deployment.instance_groups.iter_mut().for_each(|group| flags.apply_to(&mut group.update));
        self
    }

    /// Warns of jobs whose scripts write settings of the kernel, which only privileged containers may. A script may do without: it is no
    /// error.
    pub(crate) fn warn_of_sysctls(&self) {
        for (group, documents) in self.deployment.instance_groups.iter().zip(&self.groups) {
            let jobs = documents.info.group().jobs.iter();
            let is_privileged = |job: &handoff::bpm_info::Job| {
                job.properties
                    .quarks
                    .bpm
                    .iter()
                    .flat_map(|bpm| &bpm.processes)
                    .any(|process| process.unsafe_.privileged)
            };
            let privileged: Vec<&String> = jobs.filter(|job| is_privileged(job)).map(|job| &job.name).collect();
            for job in group.jobs.iter().filter(|job| !job.sysctls.is_empty() && !privileged.contains(&&job.name)) {
                if job.quarks.run["security_context"]["privileged"] != true {
                    tracing::warn!(
                        "job {} of instance group {} writes {}: needs properties.quarks.run.security_context.privileged",
                        job.name,
                        group.name,
                        job.sysctls.join(", ")
                    );
                }
            }
        }
    }

    /// Warns of groups whose instances are to exist twice while they are updated: of a StatefulSet, no two pods have one name and one disk.
    pub(crate) fn warn_of_vm_strategy(&self) {
        let is_swapped = |group: &&InstanceGroup| {
            group.update.vm_strategy == VmStrategy::CreateSwapDelete && group.lifecycle == Lifecycle::Service
        };
        let groups = self.deployment.instance_groups.iter().filter(is_swapped);
        let names: Vec<&str> = groups.map(|group| group.name.as_str()).collect();
        if !names.is_empty() {
            tracing::warn!(
                "vm_strategy create-swap-delete of {} has no effect: pods are deleted before their successors are made",
                names.join(", ")
            );
        }
    }

    /// Warns of DNS aliases of groups that the deployment does not have.
    pub(crate) fn warn_of_ignored_aliases(&self) {
        const SHOWN: usize = 5;
        let ignored = objects::ignored_dns_aliases(&self.deployment);
        if ignored.is_empty() {
            return;
        }
        let shown = ignored.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
        let more = if ignored.len() > SHOWN { ", ..." } else { "" };
        tracing::warn!(
            "{} DNS aliases are ignored, because no instance group of the deployment answers them: {shown}{more}; \
            --strict-aliases makes them errors",
            ignored.len()
        );
    }

    /// The releases, for their images.
    pub(crate) fn releases(&self) -> Vec<ReleaseRef> {
        let stemcell = match self.deployment.stemcells.as_slice() {
            [only] => Some((only.os.clone(), only.version.clone())),
            _ => None,
        };
        let jobs = || self.deployment.instance_groups.iter().flat_map(|group| &group.jobs);
        let is_needed =
            |name: &str| jobs().any(|job| job.release == name && !is_spec_unneeded(&job.release, &job.name));
        let release = |release: &handoff::deployment::Release| ReleaseRef {
            is_needed: is_needed(&release.name),
            name: release.name.clone(),
            version: release.version.clone(),
            url: release.url.clone(),
            stemcell: stemcell.clone(),
        };
        self.deployment.releases.iter().map(release).collect()
    }

    pub(crate) fn workloads<'a>(&'a self, settings: &'a Settings) -> Workloads<'a> {
        let of_pods = |group: &InstanceGroup| workload::Settings {
            grace: settings.grace_of(group),
            template_settings: Vec::new(),
        };
        let groups = self.deployment.instance_groups.iter().zip(&self.groups);
        let groups = groups.map(|(group, documents)| GroupWorkload {
            group,
            pod: Pod::new(&documents.info, group, &of_pods(group)),
            version: documents.version,
            parts: documents.parts,
        });
        Workloads { deployment: &self.deployment, groups: groups.collect(), settings }
    }
}

/// The document of the deployment of a run.
///
/// # Errors
/// The Secret does not exist or cannot be read, or the document is not valid.
pub fn deployment_of_run(cluster: &Cluster, run: &Run) -> Result<Deployment> {
    let secret = objects::versioned("deployment", None, run.deployment);
    Deployment::decode(&document(cluster, &secret, DEPLOYMENT_YAML)?, &secret)
}

/// The document of a deployment of this name that `plan` has written.
fn deployment_of(directory: &Path, name: &str) -> Result<Deployment> {
    let deployment = plan_output::deployment(directory)?;
    if deployment.name == name {
        return Ok(deployment);
    }
    let message = format!("{} has the deployment '{}', not '{name}'", directory.display(), deployment.name);
    Err(Problem::input(message).code(code::DOCUMENT_INVALID).into())
}

/// What was read; nothing if the document was deleted by hand.
pub(crate) fn unless_missing<T>(read: Result<T>) -> Result<Option<T>> {
    match read {
        Ok(found) => Ok(Some(found)),
        Err(problems) if problems.iter().all(|problem| problem.code == code::DOCUMENT_MISSING) => Ok(None),
        Err(problems) => Err(problems),
    }
}

/// The record of a deployment's runs, and the ConfigMap that holds it; nothing before the first run has written its documents.
///
/// # Errors
/// A record of others, or one that cannot be read; failures of the cluster.
pub fn record(cluster: &Cluster, deployment: &str) -> Result<Option<(Versions, Object)>> {
    let name = objects::record(deployment);
    let Some(record) = cluster.get(Kind::CONFIG_MAP, &name)? else { return Ok(None) };
    objects::check_record(&record, deployment)?;
    let text = record["data"][VERSIONS_YAML].as_str().unwrap_or_default();
    Ok(Some((Versions::decode(text, &format!("ConfigMap {name}"))?, record)))
}

/// The run whose documents are valid; nothing before the first one.
///
/// # Errors
/// As [`record`].
pub fn present_run(cluster: &Cluster, deployment: &str) -> Result<Option<Run>> {
    Ok(record(cluster, deployment)?.and_then(|(versions, _)| versions.runs.into_iter().next()))
}

/// A digest of all documents that `plan` has written for a deployment.
pub(crate) fn digest_of_planned(deployment: &Deployment, directory: &Path) -> Result<String> {
    let mut texts = vec![plan_output::text(directory, "deployment", DEPLOYMENT_YAML)?];
    for group in &deployment.instance_groups {
        for (kind, key) in [("ig-resolved", PROPERTIES_YAML), ("bpm", BPM_YAML)] {
            texts.push(plan_output::text(directory, &format!("{}/{kind}", group.name), key)?);
        }
    }
    Ok(objects::digest(serde_json::to_string(&texts).unwrap_or_default().as_bytes()))
}

/// The texts of the documents of a run, by the directory in which `plan` would have written them, and their keys.
///
/// # Errors
/// Documents that are missing or broken, failures of the cluster.
pub fn of_run(cluster: &Cluster, run: &Run) -> Result<Vec<(String, &'static str, String)>> {
    let secret = objects::versioned("deployment", None, run.deployment);
    let mut texts = vec![("deployment".to_owned(), DEPLOYMENT_YAML, document(cluster, &secret, DEPLOYMENT_YAML)?)];
    for (group, version) in &run.groups {
        for (kind, key) in [("ig-resolved", PROPERTIES_YAML), ("bpm", BPM_YAML)] {
            let secret = objects::versioned(kind, Some(group), *version);
            texts.push((format!("{group}/{kind}"), key, document(cluster, &secret, key)?));
        }
    }
    Ok(texts)
}

/// The object that owns everything of a deployment.
pub(crate) fn anchor(cluster: &Cluster, deployment: &str) -> Result<Object> {
    let problem = || {
        let message = format!("ConfigMap {} does not exist", objects::anchor(deployment));
        let problem = Problem::input(message).code(code::DOCUMENT_MISSING);
        problem.hint("what `boson gather` prints has it; is this the right namespace?")
    };
    Ok(find_anchor(cluster, deployment)?.ok_or_else(problem)?)
}

/// The object that owns everything of a deployment, if the deployment exists.
fn find_anchor(cluster: &Cluster, deployment: &str) -> Result<Option<Object>> {
    let anchor = cluster.get(Kind::CONFIG_MAP, &objects::anchor(deployment))?;
    anchor.iter().try_for_each(|anchor| objects::check_anchor(anchor, deployment))?;
    Ok(anchor)
}

fn problem(secret: &str, what: &str) -> Problem {
    Problem::internal(format!("Secret {secret} {what}")).code(code::DOCUMENT_MISSING)
}

fn get(cluster: &Cluster, secret: &str) -> Result<Object> {
    Ok(cluster.get(Kind::SECRET, secret)?.ok_or_else(|| problem(secret, "does not exist"))?)
}

/// The document in a Secret, or in this one and its other parts.
fn document(cluster: &Cluster, secret: &str, key: &str) -> Result<String> {
    let mut secrets = vec![get(cluster, secret)?];
    for number in 2..=objects::parts(&secrets[0]) {
        secrets.push(get(cluster, &objects::part(secret, number))?);
    }
    let found =
        objects::document(&secrets, secret, key).map_err(|error| problem(secret, "is broken").because(error))?;
    Ok(found.ok_or_else(|| problem(secret, &format!("has no document '{key}'")))?)
}
