//! The deployment as `plan` resolved it.

use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};

use dns_aliases::Zone;
use handoff::bpm_info::{BpmInfo, Instance};
use handoff::deployment::Update;
use handoff::identities::Identities;
use handoff::output;
use manifest_inputs::VariableTexts;
use problem::{IoContext, Problem, Result};
use startup::Secret;
use workload::{Pod, Settings, Source};

use crate::addresses::Addresses;
use crate::packages::Packages;
use crate::privileged::{GroupJobs, PrivilegeRequest, PrivilegedJobs};
use crate::stages::SourceNames;
use crate::time_limits::GRACE;
use local_state::control::Listing;

/// All instance groups, in the manifest's order.
#[derive(Debug)]
pub(crate) struct Deployment {
    pub(crate) name: String,
    pub(crate) groups: Vec<Group>,
    /// Who its instances are, and were in the versions before.
    pub(crate) identities: Identities,
    /// Its description, from which its names follow.
    document: handoff::deployment::Deployment,
    /// The aliases of the manifest's stemcells.
    pub(crate) stemcells: Vec<String>,
    /// The compiled packages of its jobs.
    pub(crate) packages: Packages,
    pub(crate) source_names: SourceNames,
    /// The jobs that are privileged.
    pub(crate) privileged: PrivilegedJobs,
    /// The job sources that its instances render.
    pub(crate) generation: Generation,
    /// The texts of the manifest's variables.
    pub(crate) variables: VariableTexts,
}

/// One instance group.
#[derive(Debug)]
pub(crate) struct Group {
    /// What runs in each instance.
    pub(crate) pod: Pod,
    /// In which order its instances are updated, and how long that may take.
    pub(crate) update: Update,
    /// The resolved properties, which hold the deployment's secrets.
    pub(crate) properties: Secret<String>,
    /// The document of what runs, whose processes may have secrets in their environment.
    bpm: Secret<String>,
    pub(crate) members: Vec<Member>,
    /// The alias of its stemcell.
    pub(crate) stemcell: Option<String>,
    /// The jobs that ask to be privileged.
    pub(crate) requests: Vec<PrivilegeRequest>,
}

/// One instance and its place in the network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    /// `group/index`.
    pub(crate) name: String,
    pub(crate) group: String,
    pub(crate) ip: Ipv4Addr,
    pub(crate) instance: Instance,
    /// Equal digests, equal rendered files.
    digest: String,
}

/// A directory with job sources, which is removed with the last deployment that uses it.
#[derive(Debug, Default)]
pub(crate) struct Generation(Option<PathBuf>);

impl Generation {
    pub(crate) fn new(path: PathBuf) -> Generation {
        Generation(Some(path))
    }

    /// What instances see as `/var/vcap/all-releases`.
    pub(crate) fn all_releases(&self) -> PathBuf {
        self.0.as_deref().unwrap_or(Path::new("")).join("all-releases")
    }
}

impl Drop for Generation {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // It disappears with the state directory at the latest.
            let _ = fs::remove_dir_all(path);
        }
    }
}

impl Member {
    /// The host name of its sandbox: the first label of its address, as far as the kernel accepts it.
    pub(crate) fn hostname(&self) -> String {
        const LIMIT: usize = 64;
        self.instance.address.split('.').next().unwrap_or_default().chars().take(LIMIT).collect()
    }
}

impl Group {
    pub(crate) fn name(&self) -> &str {
        &self.pod.group
    }

    /// Its jobs, and which of them ask to be privileged.
    pub(crate) fn jobs(&self) -> GroupJobs<'_> {
        let jobs = self.pod.jobs.iter().map(|job| job.name.as_str()).collect();
        GroupJobs { name: self.name(), jobs, requests: &self.requests }
    }

    /// Whether its instances have a persistent disk.
    pub(crate) fn has_disk(&self) -> bool {
        self.pod.volumes.iter().any(|volume| matches!(volume.source, Source::Disk { .. }))
    }
}

/// Writes a document into a directory of its own, as `plan` does.
fn write(directory: &Path, key: &str, text: &str) -> Result<()> {
    fs::create_dir_all(directory).io("make", directory)?;
    let path = directory.join("output.json");
    fs::write(&path, output::encode(key, text)).io("write", &path)
}

impl Deployment {
    /// Reads the documents that `plan --output-dir` wrote. Its instances have no addresses yet.
    ///
    /// # Errors
    /// Documents that are missing or were not written by this version.
    pub(crate) fn read(directory: &Path, settings: &Settings) -> Result<Deployment> {
        let read = |name: &str, key: &str| {
            let path = directory.join(name).join("output.json");
            let text = fs::read_to_string(&path).io("read", &path)?;
            output::decode(&text, key, &path.display().to_string())
        };
        let document = handoff::deployment::Deployment::decode(
            &read("deployment", output::DEPLOYMENT_YAML)?,
            output::DEPLOYMENT_YAML,
        )?;
        let text = |group: &handoff::deployment::InstanceGroup| read(&format!("{}/bpm", group.name), output::BPM_YAML);
        let texts = document.instance_groups.iter().map(text).collect::<Result<Vec<String>>>()?;
        let named = document.instance_groups.iter().zip(&texts);
        let infos = named.map(|(group, text)| BpmInfo::decode(text, &group.name)).collect::<Result<Vec<BpmInfo>>>()?;
        workload::check_platform(&infos)?;
        let mut groups = Vec::new();
        for ((group, info), bpm) in document.instance_groups.iter().zip(infos).zip(texts) {
            let name = &group.name;
            let properties = Secret::new(read(&format!("{name}/ig-resolved"), output::PROPERTIES_YAML)?);
            let pod = Pod::new(&info, group, settings);
            let digest = |index| group.instances.iter().find(|i| i.index == index).map(|i| i.digest.clone());
            let members = pod.instances.iter().map(|instance| Member {
                name: format!("{}/{}", pod.group, instance.index),
                group: pod.group.clone(),
                ip: Ipv4Addr::UNSPECIFIED,
                instance: instance.clone(),
                digest: digest(instance.index).unwrap_or_default(),
            });
            let (update, stemcell) = (group.update, group.stemcell.clone());
            let requests = PrivilegeRequest::of_group(&info, group, &pod);
            let bpm = Secret::new(bpm);
            groups.push(Group { members: members.collect(), pod, update, properties, bpm, stemcell, requests });
        }
        if groups.is_empty() {
            return Err(Problem::input("the deployment has no instance groups").into());
        }
        Ok(Deployment {
            name: document.name.clone(),
            groups,
            stemcells: document.stemcells.iter().map(|stemcell| stemcell.alias.clone()).collect(),
            identities: Identities::default().after(&document),
            document,
            packages: Packages::default(),
            source_names: SourceNames::default(),
            privileged: PrivilegedJobs::default(),
            generation: Generation::default(),
            variables: VariableTexts::default(),
        })
    }

    /// Adds the identities of the versions before.
    pub(crate) fn continue_from(&mut self, earlier: Identities) {
        self.identities = earlier.after(&self.document);
    }

    /// Writes its documents as `plan --output-dir` does; the directory is private.
    ///
    /// # Errors
    /// Only those of the machine.
    pub(crate) fn write(&self, directory: &Path) -> Result<()> {
        write(&directory.join("deployment"), output::DEPLOYMENT_YAML, &self.document.encode()?)?;
        for group in &self.groups {
            let directory = directory.join(group.name());
            write(&directory.join("bpm"), output::BPM_YAML, group.bpm.expose())?;
            write(&directory.join("ig-resolved"), output::PROPERTIES_YAML, group.properties.expose())?;
        }
        Ok(())
    }

    /// Writes the document of a deployment without any group: what there is before the first start.
    ///
    /// # Errors
    /// Only those of the machine.
    pub(crate) fn write_without_groups(&self, directory: &Path) -> Result<()> {
        let document = handoff::deployment::Deployment { instance_groups: Vec::new(), ..self.document.clone() };
        write(&directory.join("deployment"), output::DEPLOYMENT_YAML, &document.encode()?)
    }

    /// Gives all instances their addresses.
    ///
    /// # Errors
    /// Too many instances for one machine.
    pub(crate) fn assign(&mut self, addresses: &mut Addresses) -> Result<()> {
        addresses.assign(self.members().map(|member| member.name.as_str()))?;
        for member in self.groups.iter_mut().flat_map(|group| &mut group.members) {
            member.ip = addresses.of(&member.name).unwrap_or(member.ip);
        }
        Ok(())
    }

    /// The cells of each row of a list.
    pub(crate) fn list(&self, listing: Listing) -> Vec<Vec<String>> {
        match listing {
            Listing::Releases => {
                let releases = self.document.releases.iter();
                releases.map(|release| vec![release.name.clone(), release.version.clone()]).collect()
            }
            Listing::Stemcells => {
                let stemcells = self.document.stemcells.iter();
                stemcells.map(|one| vec![one.alias.clone(), one.os.clone(), one.version.clone()]).collect()
            }
            Listing::Errands => {
                let errands = self.groups.iter().flat_map(|group| &group.pod.errands);
                let names: BTreeSet<&String> = errands.map(|errand| &errand.job).collect();
                names.into_iter().map(|name| vec![name.clone()]).collect()
            }
        }
    }

    /// All instances, those of errands included.
    pub(crate) fn members(&self) -> impl Iterator<Item = &Member> {
        self.groups.iter().flat_map(|group| &group.members)
    }

    /// Every instance by its name.
    pub(crate) fn member(&self, name: &str) -> Option<&Member> {
        self.members().find(|m| m.name == name)
    }

    /// The group of one of its instances.
    ///
    /// # Panics
    /// If the instance belongs to another deployment.
    #[allow(clippy::expect_used, reason = "an instance comes from the deployment that is asked")]
    pub(crate) fn group_of(&self, member: &Member) -> &Group {
        self.groups.iter().find(|group| group.name() == member.group).expect("an instance of this deployment")
    }

    /// Everything by which an instance differs from another version of itself: as long as it stays the same, a new version
    /// of the deployment leaves the instance alone.
    pub(crate) fn fingerprint(&self, member: &Member) -> String {
        let group = self.group_of(member);
        // Scaling changes these, and restarts only instances that have it in a rendered file.
        let pod = Pod { replicas: 0, instances: Vec::new(), ..group.pod.clone() };
        let pod = serde_json::to_string(&pod).unwrap_or_default();
        let Member { name: _, group: _, ip, instance, digest } = member;
        let (packages, privileged) = (self.packages.of(group.name()), self.privileged.of(group.name()));
        format!("{digest} {ip} {instance:?} {packages:?} {privileged:?} {pod}")
    }

    /// What an instance runs: its name, its rendered files and its packages.
    pub(crate) fn content(&self, member: &Member) -> String {
        format!("{} {} {:?}", member.name, member.digest, self.packages.of(&member.group))
    }

    /// BOSH's names of its instances.
    pub(crate) fn zone(&self) -> Zone {
        Zone::new(&self.document, |group, index| {
            let of_group = self.groups.iter().find(|known| known.name() == group)?;
            let member = of_group.members.iter().find(|member| member.instance.index == index)?;
            Some(member.ip.into())
        })
    }

    /// The text of the hosts file of all instances: each one's address and host name, the group's address for all of them,
    /// and those of BOSH's names that a hosts file can have.
    pub(crate) fn hosts(&self) -> String {
        let mut entries = Vec::new();
        for group in &self.groups {
            for member in &group.members {
                entries.push((member.ip, format!("{} {}", member.instance.address, member.hostname())));
            }
            if let Some(address) = group.pod.address() {
                entries.extend(group.members.iter().map(|member| (member.ip, address.clone())));
            }
        }
        for (name, addresses) in self.zone().hosts() {
            let addresses = addresses.into_iter().filter_map(|address| match address {
                IpAddr::V4(address) => Some(address),
                IpAddr::V6(_) => None,
            });
            entries.extend(addresses.map(|address| (address, name.clone())));
        }
        sandbox::hosts_file(entries.iter().map(|(ip, name)| (*ip, name.as_str())))
    }
}

/// Variables by which the user sets how templates are evaluated. A sandbox does not inherit them.
const TEMPLATE_SETTINGS: [&str; 2] = ["TEMPLATE_ISOLATION", "TEMPLATE_TIMEOUT"];

/// The settings of this machine.
pub(crate) fn settings() -> Settings {
    let of_user = TEMPLATE_SETTINGS.into_iter().filter_map(|name| Some((name.to_owned(), std::env::var(name).ok()?)));
    Settings { grace: GRACE, template_settings: of_user.collect() }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const UPDATE: &str = "{canaries: 1, max_in_flight: 1, canary_watch_time: {from: 5s, to: 60s}, update_watch_time: \
                          {from: 5s, to: 60s}, serial: true, vm_strategy: delete-create, \
                          initial_deploy_az_update_strategy: serial}";

    fn written(groups: &[(&str, &str, u32)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let mut document =
            "version: 3\nname: d\nnamespace: ns\nservice_domain: svc\nreleases: []\nstemcells: []\ninstance_groups:\n"
                .to_owned();
        for (name, lifecycle, count) in groups {
            document.push_str(&format!(
                "- name: {name}\n  lifecycle: {lifecycle}\n  azs: [{{name: z1, instances: {count}}}]\n  replicas: {count}\n  \
                 instances: []\n  update: {UPDATE}\n  networks: []\n  jobs: []\n"
            ));
            let instances: String = (0..*count)
                .map(|n| {
                    format!("      - {{index: {n}, az: z1, az_index: 1, ordinal: {n}, address: d-{name}-{n}.ns.svc}}\n")
                })
                .collect();
            let bpm = format!(
                "version: 2\nname: d\ninstance_groups:\n- name: {name}\n  lifecycle: {lifecycle}\n  instances: {count}\n  azs: [z1]\n  \
                 jobs:\n  - name: j\n    release: r\n    properties:\n      quarks:\n        services: \
                 [{{process: j, run: bpm}}, {{process: w, run: bpm}}]\n        bpm:\n          \
                 processes: [{{name: j, executable: /x}}, {{name: w, executable: /y}}]\n  properties:\n    quarks:\n      \
                 replicas: {count}\n      instances:\n{instances}"
            );
            for (kind, key, text) in
                [("bpm", output::BPM_YAML, bpm.as_str()), ("ig-resolved", output::PROPERTIES_YAML, "name: d\n")]
            {
                let dir = dir.path().join(name).join(kind);
                fs::create_dir_all(&dir).unwrap();
                fs::write(dir.join("output.json"), output::encode(key, text)).unwrap();
            }
        }
        let path = dir.path().join("deployment");
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("output.json"), output::encode(output::DEPLOYMENT_YAML, &document)).unwrap();
        dir
    }

    #[test]
    fn groups_come_in_the_manifests_order_and_every_instance_has_an_address() {
        let settings = Settings { grace: Duration::from_secs(60), template_settings: Vec::new() };
        let dir = written(&[("beta", "service", 2), ("alpha", "errand", 1)]);
        let mut deployment = Deployment::read(dir.path(), &settings).unwrap();
        deployment.assign(&mut Addresses::default()).unwrap();
        let names: Vec<_> = deployment.groups.iter().map(|g| (g.name(), g.pod.is_errand())).collect();
        assert_eq!(names, [("beta", false), ("alpha", true)]);
        assert_eq!(deployment.member("beta/1").unwrap().ip, Ipv4Addr::new(10, 244, 0, 3));
        assert_eq!(
            deployment.hosts().lines().skip(2).collect::<Vec<_>>(),
            [
                "10.244.0.2 d-beta-0.ns.svc d-beta-0",
                "10.244.0.3 d-beta-1.ns.svc d-beta-1",
                "10.244.0.2 d-beta.ns.svc",
                "10.244.0.3 d-beta.ns.svc",
                "10.244.0.4 d-alpha-0.ns.svc d-alpha-0",
                "10.244.0.4 d-alpha.ns.svc",
            ]
        );
        assert!(!format!("{deployment:?}").contains("name: d\\n"), "resolved properties must not be printed");
    }
}
