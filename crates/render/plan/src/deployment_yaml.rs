//! The document `deployment.yaml`.

use handoff::bpm_info::BpmInfo;
use handoff::deployment::{
    Alias, Az, ConsumedLink, Deployment, DnsAlias, ExternalLink, ForeignPackage, Instance, InstanceGroup, Job,
    Lifecycle, Network, PersistentDisk, ProvidedLink, Release, Script, Stemcell, VmResources,
};
use instance_group::{Resolved, ResolvedJob};
use job_templates::is_installed;
use manifest_model::identity::Domain;
use manifest_model::manifest::{self, Manifest};
use value::Value;

use crate::input::{Input, template_for};
use crate::pod_settings::{GroupSettings, JobSettings};

/// The document of a deployment; `groups` are its groups in the manifest's order: resolved, what runs in them, the
/// digests of their instances, and the packages of other releases that each job uses.
pub(crate) fn document<'a>(
    input: &Input,
    domain: &Domain,
    groups: impl Iterator<Item = ((&'a Resolved, &'a BpmInfo), (Vec<String>, Vec<Vec<ForeignPackage>>))>,
    dns_aliases: Vec<DnsAlias>,
) -> Deployment {
    let manifest = &input.manifest;
    let given = manifest.instance_groups.iter().zip(&input.settings);
    let groups = groups.zip(given).map(|(((resolved, info), (digests, foreign_packages)), (given, settings))| {
        Group { input, given, settings, resolved, info, foreign_packages }.entry(digests)
    });
    Deployment {
        name: domain.deployment.clone(),
        namespace: domain.namespace.clone(),
        service_domain: domain.service_domain.clone(),
        releases: manifest.releases.iter().map(release).collect(),
        stemcells: stemcells(manifest),
        instance_groups: groups.collect(),
        dns_aliases,
    }
}

fn release(release: &manifest::Release) -> Release {
    Release {
        name: release.name.clone(),
        version: release.version.clone(),
        url: release.url.as_deref().map(without_credentials),
        sha1: release.sha1.clone(),
    }
}

/// A URL without what may hold credentials: user info, query and fragment.
fn without_credentials(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}{path}")
}

fn stemcells(manifest: &Manifest) -> Vec<Stemcell> {
    let stemcells = manifest.stemcells.iter().map(|stemcell| Stemcell {
        alias: stemcell.alias.clone(),
        os: stemcell.os.clone(),
        version: stemcell.version.clone(),
    });
    stemcells.collect()
}

/// A group as the manifest has it, and resolved.
struct Group<'a> {
    input: &'a Input,
    given: &'a manifest::InstanceGroup,
    settings: &'a GroupSettings,
    resolved: &'a Resolved,
    info: &'a BpmInfo,
    /// By job.
    foreign_packages: Vec<Vec<ForeignPackage>>,
}

impl Group<'_> {
    fn entry(&self, digests: Vec<String>) -> InstanceGroup {
        let Group { given, settings, resolved, .. } = self;
        let jobs = resolved.jobs.iter().zip(&settings.jobs).enumerate();
        let networks = resolved.networks.iter();
        InstanceGroup {
            name: resolved.name.clone(),
            lifecycle: match given.lifecycle {
                manifest::Lifecycle::Service => Lifecycle::Service,
                manifest::Lifecycle::Errand => Lifecycle::Errand,
            },
            runs_at_deploy: given.runs_at_deploy,
            azs: self.azs(),
            replicas: resolved.replicas,
            instances: self.instances(digests),
            update: given.update,
            stemcell: Some(given.stemcell.clone()).filter(|alias| !alias.is_empty()),
            networks: networks.map(|n| Network { name: n.name.clone(), default: n.default.clone() }).collect(),
            persistent_disk: self.persistent_disk(),
            vm_type: given.vm_type.clone(),
            vm_resources: given.vm_resources.map(|vm| VmResources {
                cpu: vm.cpu,
                ram: vm.ram,
                ephemeral_disk_size: vm.ephemeral_disk_size,
            }),
            tags: self.input.manifest.tags_of(given),
            env: settings.env.clone(),
            jobs: jobs.map(|(j, (job, settings))| self.job(j, job, settings)).collect(),
        }
    }

    fn azs(&self) -> Vec<Az> {
        let instances = |az_index: u32| self.resolved.slots.iter().filter(|slot| slot.az_index == az_index).count();
        let azs = (1..).zip(&self.resolved.azs);
        let zone = |az: &str| self.input.cloud_config.as_ref()?.zone(az).map(str::to_owned);
        azs.map(|(az_index, name)| Az {
            name: name.clone(),
            instances: u32::try_from(instances(az_index)).unwrap_or(u32::MAX),
            zone: zone(name),
        })
        .collect()
    }

    fn instances(&self, digests: Vec<String>) -> Vec<Instance> {
        let instances = self.info.group().properties.quarks.instances.iter().zip(digests);
        let with_digest = instances.map(|(instance, digest)| Instance {
            index: instance.index,
            az: instance.az.clone(),
            az_index: instance.az_index,
            ordinal: instance.ordinal,
            address: instance.address.clone(),
            digest,
        });
        with_digest.collect()
    }

    fn persistent_disk(&self) -> Option<PersistentDisk> {
        let size = Some(self.given.persistent_disk).filter(|size| *size > 0);
        let disk_type = self.given.persistent_disk_type.clone();
        (size.is_some() || disk_type.is_some()).then_some(PersistentDisk { size, disk_type })
    }

    fn job(&self, j: usize, job: &ResolvedJob, settings: &JobSettings) -> Job {
        let has = |path: &str| self.input.spec(job).is_some_and(|spec| template_for(spec, path).is_some());
        let has_script = |script: &Script| has(&format!("bin/{}", script.file_name()));
        let quarks = &self.info.group().jobs[j].properties.quarks;
        Job {
            name: job.name.clone(),
            release: job.release.name.clone(),
            services: quarks.services.clone(),
            errand: quarks.errand,
            scripts: Script::ALL.into_iter().filter(|script| is_installed(&job.name) && has_script(script)).collect(),
            ports: settings.ports.clone(),
            provides: provided(job, &settings.aliases),
            consumes: job.links.iter().map(consumed).collect(),
            foreign_packages: self.foreign_packages.get(j).cloned().unwrap_or_default(),
            sysctls: Vec::new(),
            quarks: settings.quarks.clone(),
        }
    }
}

fn provided(job: &ResolvedJob, aliases: &[(String, Vec<Alias>)]) -> Vec<ProvidedLink> {
    let of = |name: &String| aliases.iter().find(|(link, _)| link == name).map(|(_, aliases)| aliases.clone());
    let links = job.provides.iter().map(|(name, link_type)| ProvidedLink {
        name: name.clone(),
        link_type: link_type.clone(),
        aliases: of(name).unwrap_or_default(),
    });
    links.collect()
}

fn consumed(link: &instance_group::Link) -> ConsumedLink {
    // A link that the manifest gives itself names no group, and that of another deployment none of this one.
    let group = link.content.get("instance_group").and_then(Value::as_str).map(str::to_owned);
    let external = link.external.as_ref().map(|key| ExternalLink {
        deployment: key.deployment.clone(),
        name: key.name.clone(),
        service: link.content.get("service").and_then(Value::as_str).map(str::to_owned),
    });
    let instance_group = group.filter(|_| external.is_none());
    ConsumedLink { name: link.name.clone(), link_type: link.link_type.clone(), instance_group, external }
}

#[cfg(test)]
mod tests {
    use super::without_credentials;

    #[test]
    fn urls_lose_what_may_hold_credentials() {
        let cases = [
            ("https://bosh.io/d/github.com/x/y-release?v=1.2", "https://bosh.io/d/github.com/x/y-release"),
            ("https://user:hunter2@host:8080/a@b/c.tgz#x", "https://host:8080/a@b/c.tgz"),
            ("https://user:hunter2@host?token=hunter2", "https://host"),
            ("docker.io/cfcontainerization", "docker.io/cfcontainerization"),
            ("file:///tmp/x.tgz", "file:///tmp/x.tgz"),
            ("", ""),
        ];
        for (url, shown) in cases {
            assert_eq!(without_credentials(url), shown, "{url}");
        }
    }
}
