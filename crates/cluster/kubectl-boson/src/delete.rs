//! `kubectl boson delete`: deletes a deployment.

use clap::Args;
use cluster::{Kind, Object, label, name};
use kubernetes_objects as objects;
use problem::{Problem, Result};
use startup::Common;

use crate::output::line;
use crate::target::{Deployment, Target};

/// One line for `--help`.
pub const ABOUT: &str = "Delete a deployment";

/// The arguments of the verb.
#[derive(Debug, Args)]
#[command(
    long_about = "Delete all objects of a deployment except its persistent disks (PersistentVolumeClaims), which a deployment of \
        the same name uses again; with --with-disks, delete the disks too. Owners are deleted before the objects that \
        they would create again.",
    after_long_help = "Examples:\n\
        \x20\x20kubectl boson delete nats --yes\n\
        \x20\x20kubectl boson delete nats --with-disks --yes"
)]
pub struct Options {
    #[command(flatten)]
    target: Target,
    /// Delete the persistent disks, too, with all data on them
    #[arg(long)]
    with_disks: bool,
    /// Delete; without this flag only what would be deleted is shown
    #[arg(long, visible_alias = "non-interactive", env = "BOSH_NON_INTERACTIVE")]
    yes: bool,
}

/// Owners first; the anchor last, because a deployment is found by it.
const KINDS: [Kind; 11] = [
    Kind::JOB,
    Kind::LEASE,
    Kind::STATEFUL_SET,
    Kind::BUDGET,
    Kind::NETWORK_POLICY,
    Kind::SERVICE,
    Kind::SECRET,
    Kind::ROLE_BINDING,
    Kind::ROLE,
    Kind::SERVICE_ACCOUNT,
    Kind::CONFIG_MAP,
];

/// Runs the verb; returns the exit code.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    let deployment = options.target.find()?;
    let disks = disks(&deployment)?;
    let is_anchor = |object: &Object| label(object, objects::KIND) == Some("anchor");
    let mut count = 0;
    let mut delete = |kind: Kind, object: &Object| -> Result<()> {
        count += 1;
        if options.yes {
            deployment.cluster.delete_exactly(kind, object)?;
        }
        line(format_args!("{} {}{}", kind.kind, name(object), if options.yes { " deleted" } else { "" }));
        Ok(())
    };
    for kind in KINDS {
        let mut found = deployment.cluster.list(kind, &objects::selector(&deployment.name))?;
        found.sort_by_key(is_anchor);
        // A deployment whose disks could not be deleted is still found.
        if options.with_disks && kind == Kind::CONFIG_MAP {
            disks.iter().try_for_each(|disk| delete(Kind::CLAIM, disk))?;
        }
        found.iter().try_for_each(|object| delete(kind, object))?;
    }
    if !options.with_disks {
        keep(&deployment, &disks, options.yes);
    }
    if options.yes {
        return Ok(0);
    }
    let problem = Problem::usage(format!("these {count} objects of deployment {} would be deleted", deployment.name));
    Err(problem.hint("--yes deletes them").into())
}

/// The persistent disks. Claims that a pod owns are deleted with it.
fn disks(deployment: &Deployment) -> Result<Vec<Object>> {
    let mut disks = deployment.list(Kind::CLAIM)?;
    let is_of_pod =
        |disk: &Object| disk["metadata"]["ownerReferences"].as_array().is_some_and(|owners| !owners.is_empty());
    disks.retain(|disk| !is_of_pod(disk));
    Ok(disks)
}

/// Says which disks stay, and how to delete them.
fn keep(deployment: &Deployment, disks: &[Object], is_deleted: bool) {
    if disks.is_empty() {
        return;
    }
    for disk in disks {
        let size = disk["spec"]["resources"]["requests"]["storage"].as_str().unwrap_or("size unknown");
        line(format_args!("{} {} stays ({size})", Kind::CLAIM.kind, name(disk)));
    }
    let kept = disks.len();
    if is_deleted {
        let selector = format!("{}={}", objects::DEPLOYMENT, objects::deployment_label(&deployment.name));
        let namespace = deployment.cluster.namespace();
        line(format_args!("a deployment of the same name uses these {kept} disks again; this deletes them:"));
        line(format_args!("  kubectl delete persistentvolumeclaims --selector {selector} --namespace {namespace}"));
    } else {
        line(format_args!("--with-disks deletes these {kept} disks, too"));
    }
}
