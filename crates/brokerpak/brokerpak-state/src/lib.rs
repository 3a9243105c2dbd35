//! Keeps what is known of a brokerpak's instance in Secrets while a Job runs terraform for it.
//!
//! `keep` is a native sidecar: it takes the instance's Lease, writes the state from the Secrets into a memory volume, stores every
//! change, and says in a file until when the Lease is held. `finish` runs after terraform: it stores the last change, writes the
//! Secret of a binding, and exits as terraform's run did. Only these containers have a token.

mod binding;
mod boot_time;
mod files;
mod keep;
mod lease;
mod tree;
mod versions;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use cluster::{Cluster, Connection};
use problem::{Problem, Result};
use startup::{Common, parse_duration};

use crate::files::Files;
use crate::lease::Lease;

/// One line for `--help`.
pub const ABOUT: &str = "Keep the state of a brokerpak's instance in Secrets";

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Step {
    /// Take the Lease, load the state, store its changes until the pod ends
    Keep,
    /// Exit with 0 if the state is loaded and the Lease held
    Ready,
    /// Store the last change, write the Secret of a binding, give the Lease back
    Finish,
}

/// The arguments of `brokerpak-state`.
#[derive(Debug, Args)]
#[command(
    // With the executable's name it would be wider than a terminal.
    override_usage = "brokerpak-state [OPTIONS] --instance <ID> --dir <DIR> <STEP>",
    long_about = "Keep the state of a brokerpak's instance in Secrets while a Job runs terraform for it. `brokerpak job` prints \
        such a Job; users do not call this verb.\n\n\
        A Lease for each instance lets one Job at a time use it. The state is compressed, and divided if a Secret cannot \
        hold it. The Lease names the valid version, so that a writer that has lost the Lease changes nothing.",
    after_long_help = "Example:\n\x20\x20brokerpak-state keep --instance i-1 --dir /state\n\n\
        Exit codes: 0 done; 2 usage; 65 a binding's Secret belongs to somebody else; 70 the cluster or the environment failed, \
        the Lease was lost; `finish` also with the code of the run."
)]
pub struct Options {
    /// What to do
    #[arg(value_name = "STEP")]
    pub step: Step,
    /// The id of the instance
    #[arg(long, value_name = "ID")]
    pub instance: String,
    /// The directory that the containers of the pod share; the state is in DIR/state
    #[arg(long, value_name = "DIR")]
    pub dir: PathBuf,
    /// Who holds the Lease: the id of the pod
    #[arg(long, env = "POD_UID", value_name = "ID", default_value = "")]
    pub holder: String,
    /// How long the Lease is valid without being renewed
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_duration)]
    pub lease_duration: Duration,
    /// The Secret of the binding: written after `bind`, deleted after `unbind`
    #[arg(long, value_name = "NAME")]
    pub secret: Option<String>,
    /// The type of that Secret behind servicebinding.io/
    #[arg(long, value_name = "TYPE", default_value = "brokerpak")]
    pub secret_type: String,
    /// The cluster
    #[command(flatten)]
    pub connection: Connection,
}

/// Runs the verb; gives the exit code.
///
/// # Errors
/// A Lease that is lost, Secrets that cannot be read or written, failures of the machine.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    let files = Files::new(&options.dir);
    if options.step == Step::Ready {
        return Ok(if files.is_loaded() && files.lease_is_held()? { 0 } else { 1 });
    }
    if options.holder.is_empty() {
        return Err(Problem::usage("--holder: the id of the pod is missing").into());
    }
    let cluster = Cluster::connect(&options.connection)?;
    let mut lease = Lease::new(&cluster, &options.instance, &options.holder, options.lease_duration);
    match options.step {
        Step::Keep => keep::keep(&cluster, &mut lease, &files),
        Step::Finish => {
            let binding = options.secret.as_deref().map(|name| (name, options.secret_type.as_str()));
            keep::finish(&cluster, &mut lease, &files, binding)
        }
        Step::Ready => Ok(0),
    }
}
