//! What is to be in the cluster, and what is in it.

use std::collections::BTreeMap;

use cluster::{Cluster, Kind, Object, name};
use kubernetes_objects as objects;
use objects::{GroupObjects, Settings, Workloads};
use problem::{Problems, Result};

/// The kinds that are applied.
const KINDS: [Kind; 6] = [Kind::CONFIG_MAP, Kind::SERVICE, Kind::CLAIM, Kind::STATEFUL_SET, Kind::JOB, Kind::BUDGET];

/// The kinds of a deployment with these settings. The account may not read network policies where none are wanted.
fn kinds(settings: &Settings) -> impl Iterator<Item = Kind> {
    KINDS.into_iter().chain(settings.network_policies.then_some(Kind::NETWORK_POLICY))
}

/// The objects to be, and those that are.
pub(crate) struct Plan {
    pub(crate) deployment: String,
    /// What all groups share.
    pub(crate) shared: Vec<Object>,
    /// The objects of each group.
    pub(crate) groups: Vec<GroupObjects>,
    /// The objects of the namespace, by kind and name.
    live: BTreeMap<(&'static str, String), Object>,
    serial: BTreeMap<String, bool>,
    /// The groups that each deployment runs as errands.
    pub(crate) auto_errands: Vec<String>,
}

impl Plan {
    pub(crate) fn new(cluster: &Cluster, workloads: &Workloads, anchor: &Object) -> Result<Plan> {
        let mut live = BTreeMap::new();
        for kind in kinds(workloads.settings) {
            live.extend(
                cluster.list(kind, "")?.into_iter().map(|object| ((kind.kind, name(&object).to_owned()), object)),
            );
        }
        // An account of the user's may not read Deployments where none is needed.
        let name_server = (Kind::SERVICE.kind, objects::dns(&workloads.deployment.name));
        if workloads.name_server_service().is_some() || live.contains_key(&name_server) {
            let servers = cluster.list(Kind::DEPLOYMENT, "")?;
            live.extend(servers.into_iter().map(|object| ((Kind::DEPLOYMENT.kind, name(&object).to_owned()), object)));
        }
        // Disks outlive the deployment: nothing owns them.
        let own = |object: &mut Object| {
            if object["kind"] != Kind::CLAIM.kind {
                objects::set_owner(object, anchor);
            }
        };
        let mut shared = workloads.shared();
        shared.iter_mut().for_each(own);
        let mut groups = workloads.groups();
        groups.iter_mut().flat_map(|group| &mut group.objects).for_each(own);
        let mut serial = BTreeMap::new();
        serial.extend(
            workloads.groups.iter().map(|workload| (workload.group.name.clone(), workload.group.update.serial)),
        );
        let auto_errands = workloads.groups.iter().filter(|workload| workload.group.runs_at_deploy);
        let auto_errands = auto_errands.map(|workload| workload.group.name.clone()).collect();
        Ok(Plan { deployment: workloads.deployment.name.clone(), shared, groups, live, serial, auto_errands })
    }

    /// Whether the groups behind a group wait for it.
    pub(crate) fn is_serial(&self, group: &str) -> bool {
        self.serial.get(group).copied().unwrap_or(true)
    }

    /// Everything that is to be.
    pub(crate) fn objects(&self) -> impl Iterator<Item = &Object> {
        self.shared.iter().chain(self.groups.iter().flat_map(|group| &group.objects))
    }

    /// A digest of what is deployed: what instances render, and their pods.
    pub(crate) fn digest(&self) -> String {
        objects::digest_of(self.groups.iter().flat_map(|group| &group.objects))
    }

    /// Everything that is, by kind.
    pub(crate) fn live(&self) -> impl Iterator<Item = &Object> {
        self.live.values()
    }

    /// The object that has this one's kind and name.
    pub(crate) fn present(&self, object: &Object) -> Option<&Object> {
        let kind = Kind::of(object)?;
        self.live.get(&(kind.kind, name(object).to_owned()))
    }

    /// Whether an object is one of this deployment.
    pub(crate) fn is_own(&self, object: &Object) -> bool {
        objects::is_own(object, &self.deployment)
    }

    /// Refuses to change objects of others.
    pub(crate) fn check_owners(&self, force: bool) -> Result<()> {
        let present = self.objects().filter_map(|object| Some((object["kind"].as_str()?, self.present(object)?)));
        let checked = present.map(|(kind, present)| objects::check_owner(present, kind, &self.deployment));
        let problems = checked.filter_map(Result::err).flat_map(Problems::into_vec);
        Problems::check(if force { Vec::new() } else { problems.collect() })
    }
}
