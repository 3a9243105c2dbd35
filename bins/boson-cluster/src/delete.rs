//! `kubectl boson delete`: deletes a deployment.

use clap::Args;
use cluster::{Kind, Object, label, name};
use kubernetes_objects as objects;
use problem::{Problem, Result};
use startup::Common;

use crate::output::line;
use crate::target::Target;

/// One line for `--help`.
pub(crate) const ABOUT: &str = "Deletes a deployment";

/// The arguments of the verb.
#[derive(Debug, Args)]
#[command(
    long_about = "Deletes everything of a deployment except its persistent disks (PersistentVolumeClaims). The objects that \
        own others come first, so that nothing is made again.",
    after_long_help = "Example:\n\x20\x20kubectl boson delete nats --yes"
)]
pub(crate) struct Options {
    #[command(flatten)]
    target: Target,
    /// Delete; without this flag only what would be deleted is shown
    #[arg(long)]
    yes: bool,
}

/// Owners first; the anchor last, because a deployment is found by it.
const KINDS: [Kind; 10] = [
    Kind::JOB,
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
pub(crate) fn run(options: Options, _common: &Common) -> Result<u8> {
    let deployment = options.target.find()?;
    let is_anchor = |object: &Object| label(object, objects::KIND) == Some("anchor");
    let mut count = 0;
    for kind in KINDS {
        let mut found = deployment.cluster.list(kind, &objects::selector(&deployment.name))?;
        found.sort_by_key(is_anchor);
        for object in &found {
            count += 1;
            if options.yes {
                deployment.cluster.delete(kind, name(object))?;
            }
            line(format_args!("{} {}{}", kind.kind, name(object), if options.yes { " deleted" } else { "" }));
        }
    }
    if options.yes {
        return Ok(0);
    }
    let problem = Problem::usage(format!("these {count} objects of deployment {} would be deleted", deployment.name));
    Err(problem.hint("--yes deletes them").into())
}
