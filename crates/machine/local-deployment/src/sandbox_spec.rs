//! The description of an instance, read for a sandbox: what it sees of this machine, and the environment of its commands.

use std::path::{Path, PathBuf};

use handoff::output::PROPERTIES_YAML;
use sandbox::{Access, Bind, InstanceSpec, Subnet};
use workload::Source;

use crate::deployment::{Deployment, Group, Member};
use crate::executable::{INSTANCE_VERBS, SANDBOX_PATH};
use crate::host::Host;
use local_state::InstanceDir;

/// What the sandbox is made of.
pub(crate) fn specification(
    host: &Host,
    deployment: &Deployment,
    group: &Group,
    member: &Member,
    dir: &InstanceDir,
    disk: Option<PathBuf>,
) -> InstanceSpec {
    let programs = deployment.packages.of(group.name());
    let (mut memory, mut binds) = (Vec::new(), Vec::new());
    for volume in &group.pod.volumes {
        let path = Path::new(&volume.path);
        match &volume.source {
            Source::Supplied => {
                let source = deployment.generation.all_releases();
                binds.push(Bind { source, target: path.to_path_buf(), access: Access::ReadOnly });
            }
            Source::Image => {
                binds.extend(programs.packages.iter().cloned().map(|(name, source)| Bind {
                    source,
                    target: path.join(name),
                    // Scripts give programs capabilities (`setcap`).
                    access: Access::Layer,
                }))
            }
            Source::Memory => memory.push(path.to_path_buf()),
            Source::Disk { .. } => {
                let target = path.to_path_buf();
                binds.extend(disk.clone().map(|source| Bind { source, target, access: Access::ReadWrite }));
            }
            // Directories and a socket of the sandbox's own file system, and a file that is written when the sandbox exists;
            // the packages of all releases are there.
            Source::Scratch | Source::Socket { .. } | Source::ResolvedProperties | Source::ForeignPackages => {}
        }
    }
    InstanceSpec {
        name: member.name.clone(),
        hostname: member.hostname(),
        address: Some(member.ip),
        base: programs.base,
        name_server: Some(Subnet::default().bridge()),
        mount_point: dir.root(),
        vcap: dir.vcap(),
        hosts: Some(host.dir.hosts()),
        memory,
        binds,
        executable_names: INSTANCE_VERBS.map(str::to_owned).into(),
        privileged: !deployment.privileged.of(group.name()).is_empty(),
    }
}

/// The files with the group's resolved properties.
pub(crate) fn properties_files(group: &Group) -> impl Iterator<Item = PathBuf> {
    let volumes = group.pod.volumes.iter().filter(|volume| volume.source == Source::ResolvedProperties);
    volumes.map(|volume| Path::new(&volume.path).join(PROPERTIES_YAML))
}

/// The environment of every command of the instance.
pub(crate) fn environment(group: &Group, member: &Member) -> Vec<(String, String)> {
    let (pod, ip) = (&group.pod, member.ip.to_string());
    let of_pod = pod.environment().into_iter();
    let resolved = of_pod.filter_map(|v| Some((v.name.clone(), v.value.resolve(pod.replicas, &member.instance, &ip)?)));
    std::iter::once(("PATH".to_owned(), SANDBOX_PATH.to_owned())).chain(resolved).collect()
}
