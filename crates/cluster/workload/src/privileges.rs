//! What `bpm.yml` asks for beyond what vcap may.

use bpm::ProcessConfig;

use crate::container::Privileges;

/// What a process needs.
pub(crate) fn of_process(config: &ProcessConfig) -> Privileges {
    Privileges {
        capabilities: config.capabilities.clone(),
        privileged: config.unsafe_.privileged,
        host_pid_namespace: config.unsafe_.host_pid_namespace,
        unrestricted_volumes: config.unsafe_.unrestricted_volumes.clone(),
    }
}

/// What a script needs that may call `bpm run` for any of these processes.
pub(crate) fn of_any(configs: &[ProcessConfig]) -> Privileges {
    let mut all = Privileges::default();
    for privileges in configs.iter().map(of_process) {
        let new = privileges.capabilities.into_iter().filter(|capability| !all.capabilities.contains(capability));
        all.capabilities.extend(new.collect::<Vec<_>>());
        all.privileged |= privileges.privileged;
        all.host_pid_namespace |= privileges.host_pid_namespace;
        let new =
            privileges.unrestricted_volumes.into_iter().filter(|volume| !all.unrestricted_volumes.contains(volume));
        all.unrestricted_volumes.extend(new.collect::<Vec<_>>());
    }
    all
}
