//! The sandbox of an instance: what it sees of this machine, and the environment of its commands.

use std::path::Path;

use sandbox::{Bind, InstanceSpec};
use vcap::Vcap;

use super::deployment::{Group, Member};
use super::host::Host;
use crate::executable::{INSTANCE_VERBS, SANDBOX_PATH};
use crate::state::InstanceDir;
use crate::time_limits::GRACE;

/// The user's settings for templates, which a sandbox does not inherit.
const TEMPLATE_SETTINGS: [&str; 2] = ["TEMPLATE_ISOLATION", "TEMPLATE_TIMEOUT"];

/// The longest host name that the kernel accepts.
const HOSTNAME_LIMIT: usize = 64;

/// What the sandbox is made of.
pub(crate) fn specification(host: &Host, group: &Group, member: &Member, dir: &InstanceDir) -> InstanceSpec {
    let vcap = Vcap::under(Path::new("/"));
    let mut binds = vec![Bind { source: host.dir.all_releases(), target: vcap.all_releases(), read_only: true }];
    binds.extend(host.packages.of(group).into_iter().map(|(name, source)| Bind {
        source,
        target: vcap.packages().join(name),
        read_only: true,
    }));
    let hostname = member.instance.address.split('.').next().unwrap_or_default();
    InstanceSpec {
        name: member.name.clone(),
        hostname: hostname.chars().take(HOSTNAME_LIMIT).collect(),
        address: Some(member.ip),
        mount_point: dir.root(),
        vcap: dir.vcap(),
        hosts: Some(host.dir.hosts()),
        memory: vec![vcap.jobs()],
        binds,
        executable_names: INSTANCE_VERBS.map(str::to_owned).into(),
    }
}

/// Where `render-jobs` finds the resolved properties of a group.
pub(crate) fn properties_path(group: &Group) -> String {
    format!("/var/run/secrets/resolved-properties/{}/properties.yaml", group.name())
}

/// The variables that a pod's containers have.
pub(crate) fn environment(group: &Group, member: &Member) -> Vec<(String, String)> {
    let settings = TEMPLATE_SETTINGS.into_iter().filter_map(|name| Some((name.to_owned(), std::env::var(name).ok()?)));
    let of_pod = [
        ("PATH", SANDBOX_PATH.to_owned()),
        ("INSTANCE_GROUP_NAME", group.name().to_owned()),
        ("AZ_INDEX", member.instance.az_index.to_string()),
        ("REPLICAS", group.info().properties.quarks.replicas.to_string()),
        ("POD_ORDINAL", member.instance.ordinal.to_string()),
        ("POD_IP", member.ip.to_string()),
        ("BOSH_MANIFEST_PATH", properties_path(group)),
        ("BOSON_GRACE", format!("{}s", GRACE.as_secs())),
    ]
    .map(|(name, value)| (name.to_owned(), value));
    of_pod.into_iter().chain(settings).collect()
}
