//! The commands of the bosh CLI: verbs with another name here, and what to use instead of the others.
//! `docs/guides/from-bosh.md` lists them all; a test compares it with this file.

/// Commands of the bosh CLI that are other names of verbs: the executable, the command, the verb.
pub(super) const ALIASES: [(&str, &str, &str); 21] = [
    ("boson", "deploy", "up"),
    ("boson", "delete-deployment", "down"),
    ("boson", "instances", "status"),
    ("boson", "vms", "status"),
    ("boson", "ssh", "exec"),
    ("boson", "scp", "cp"),
    ("boson", "int", "interpolate"),
    ("boson", "vars", "variables"),
    ("boson", "is", "status"),
    ("boson", "d", "up"),
    ("boson", "deld", "down"),
    ("boson-cluster", "up", "apply"),
    ("boson-cluster", "delete-deployment", "delete"),
    ("boson-cluster", "down", "delete"),
    ("boson-cluster", "instances", "status"),
    ("boson-cluster", "vms", "status"),
    ("boson-cluster", "run-errand", "errand"),
    ("boson-cluster", "exec", "ssh"),
    ("boson-cluster", "cp", "scp"),
    ("boson-cluster", "restart", "recreate"),
    ("boson-cluster", "cancel-task", "cancel"),
];

/// Commands that boson has by the same name.
#[cfg(test)]
const SAME: [&str; 15] = [
    "interpolate",
    "logs",
    "run-errand",
    "start",
    "stop",
    "restart",
    "disks",
    "variables",
    "recreate",
    "help",
    "deployments",
    "errands",
    "releases",
    "stemcells",
    "inspect-local-release",
];

/// Commands without a verb, and what to use instead.
pub(super) const INSTEAD: &[(&str, &str)] = &[
    ("upload-release", UPLOADED),
    ("upload-stemcell", "nothing is uploaded: give a root file system with `--stemcell PATH`"),
    ("update-cloud-config", "give the cloud config with `--cloud-config FILE`"),
    ("update-runtime-config", "give the runtime config with `--runtime-config FILE`"),
    ("update-config", CONFIGS),
    ("update-cpi-config", INFRASTRUCTURE),
    ("update-resurrection", "processes and instances that end are always started again"),
    ("cloud-config", CONFIGS),
    ("runtime-config", CONFIGS),
    ("cpi-config", INFRASTRUCTURE),
    ("config", CONFIGS),
    ("configs", CONFIGS),
    ("delete-config", CONFIGS),
    ("diff-config", "`boson diff` compares manifests with configs"),
    ("cloud-check", "the same manifest, applied again, restores what is missing"),
    ("create-recovery-plan", "the same manifest, applied again, restores what is missing"),
    ("recover", "the same manifest, applied again, restores what is missing"),
    ("log-in", DIRECTOR),
    ("log-out", DIRECTOR),
    ("env", DIRECTOR),
    ("environment", DIRECTOR),
    ("environments", DIRECTOR),
    ("alias-env", DIRECTOR),
    ("unalias-env", DIRECTOR),
    ("create-env", DIRECTOR),
    ("delete-env", DIRECTOR),
    ("start-env", DIRECTOR),
    ("stop-env", DIRECTOR),
    ("curl", DIRECTOR),
    ("locks", DIRECTOR),
    ("clean-up", "`boson cache prune` and `boson disks delete --all` remove what no deployment uses"),
    ("tasks", TASKS),
    ("task", TASKS),
    ("cancel-task", CANCEL),
    ("cancel-tasks", CANCEL),
    ("events", "`boson logs` shows logs; `kubectl boson events` shows the events of a cluster"),
    ("event", "`boson logs` shows logs; `kubectl boson events` shows the events of a cluster"),
    ("deployment", "`boson status -d NAME` shows a deployment"),
    ("manifest", "`boson interpolate` prints the manifest with ops files and variables"),
    ("delete-release", UPLOADED),
    ("delete-stemcell", "`boson cache prune` removes unpacked stemcells"),
    ("inspect-release", "`boson render --list -r PATH` shows the files of a release's jobs"),
    ("inspect-local-stemcell", "`--stemcell PATH` checks a stemcell when it is used"),
    ("repack-stemcell", "stemcells are used unmodified"),
    ("export-release", "`boson compile --output DIR` writes the compiled packages of a release"),
    // Of `kubectl boson`.
    ("scp", "`kubectl cp` copies files into pods and out of them"),
    ("pcap", "run tcpdump with `boson exec INSTANCE tcpdump`"),
    ("attach-disk", "a disk belongs to the instance of its name"),
    ("orphan-disk", "`boson disks` shows orphaned disks, which stay until they are deleted"),
    ("delete-disk", "`boson disks delete INSTANCE`"),
    ("delete-vm", "`boson up --recreate` makes instances anew"),
    ("orphaned-vms", "no process of an instance survives it"),
    ("ignore", "all instances are updated"),
    ("unignore", "all instances are updated"),
    ("networks", INFRASTRUCTURE),
    ("delete-network", INFRASTRUCTURE),
    ("snapshots", SNAPSHOTS),
    ("take-snapshot", SNAPSHOTS),
    ("delete-snapshot", SNAPSHOTS),
    ("delete-snapshots", SNAPSHOTS),
    ("init-release", INIT),
    ("create-release", RELEASE),
    ("finalize-release", RELEASE),
    ("reset-release", RELEASE),
    ("generate-job", INIT),
    ("generate-package", RELEASE),
    ("vendor-package", RELEASE),
    ("blobs", RELEASE),
    ("add-blob", RELEASE),
    ("remove-blob", RELEASE),
    ("sync-blobs", RELEASE),
    ("upload-blobs", RELEASE),
    ("sha1ify-release", RELEASE),
    ("sha2ify-release", RELEASE),
];

const DIRECTOR: &str = "there is no director";
const UPLOADED: &str = "nothing is uploaded: give a release's directory or archive with `-r PATH`";
const CONFIGS: &str = "give configs with `--cloud-config FILE` and `--runtime-config FILE`";
const INFRASTRUCTURE: &str = "there is no infrastructure to configure";
const CANCEL: &str = "Ctrl-C ends the wait for an update, `boson down` stops everything; `kubectl boson cancel` stops a run in a cluster";
const TASKS: &str =
    "a verb shows its progress itself, and exits with the result; `kubectl boson tasks` shows the runs in a cluster";
const SNAPSHOTS: &str = "copy the directory that `boson disks` shows while its instance is stopped";
const INIT: &str = "`boson init release NAME` and `boson init job NAME` write a release and a job of it";
const RELEASE: &str = "the bosh CLI does this without a director; boson reads the directory that it writes";

/// The message about a command of the bosh CLI that has no verb.
pub(super) fn without_verb(command: &str) -> Option<String> {
    let (_, instead) = INSTEAD.iter().find(|(name, _)| *name == command)?;
    Some(format!("'{command}' is a command of the bosh CLI that boson does not have: {instead}"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The commands in the first column of the tables of the guide.
    fn documented() -> BTreeSet<&'static str> {
        let guide = include_str!("../../../../../docs/guides/from-bosh.md");
        let commands = guide.split("\n## Short flags").next().unwrap_or_default();
        let cells = commands.lines().filter_map(|line| line.strip_prefix("| `")?.split(" |").next());
        cells.flat_map(|cell| cell.split(", ").map(|command| command.trim_matches('`'))).collect()
    }

    #[test]
    fn the_guide_lists_every_command_of_the_bosh_cli() {
        let short = ["int", "vars", "is", "d", "deld"];
        let aliases = ALIASES.iter().filter(|(executable, alias, _)| *executable == "boson" && !short.contains(alias));
        let known: BTreeSet<&str> =
            aliases.map(|(_, alias, _)| *alias).chain(SAME).chain(INSTEAD.iter().map(|(name, _)| *name)).collect();
        let documented = documented();
        assert_eq!(known.difference(&documented).collect::<Vec<_>>(), Vec::<&&str>::new(), "not in the guide");
        assert_eq!(documented.difference(&known).collect::<Vec<_>>(), Vec::<&&str>::new(), "not in the code");
    }
}
