//! `kubectl boson scp`: files into an instance and out of it.

use std::os::unix::process::CommandExt;

use clap::Args;
use cluster::{Connection, Kind, name};
use problem::{Problem, Result, code};
use startup::Common;

use crate::ssh::{container, find, kubectl};
use crate::target::DeploymentFlag;

/// One line for `--help`.
pub const ABOUT: &str = "Copy files into an instance and out of it";

/// The arguments of the verb.
#[derive(Debug, Args)]
#[command(
    long_about = "Copy a file or a directory into an instance or out of it. With a job, the path is in the job's container; without a \
        job, in the first container of the pod. Runs `kubectl cp`, which needs `tar` in the container.",
    after_long_help = "Examples:\n\
        \x20\x20kubectl boson scp database/0:/var/vcap/store/dump.sql .\n\
        \x20\x20kubectl boson scp ./fix.sh database/0/postgres:/tmp/fix.sh"
)]
pub struct Options {
    /// What is copied: PATH, or INSTANCE[/JOB]:PATH as `ssh` names instances
    #[arg(value_name = "SOURCE")]
    source: String,
    /// Where it is copied to, in the same form
    #[arg(value_name = "DESTINATION")]
    destination: String,
    /// Accepted as of scp: directories are always copied whole
    #[arg(long, short)]
    recursive: bool,
    #[command(flatten)]
    deployment: DeploymentFlag,
    /// The cluster
    #[command(flatten)]
    connection: Connection,
}

/// Runs the verb; returns only if nothing can be copied.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    let (instance, _) = remote(&options.source, &options.destination)?;
    let deployment = options.deployment.find(&options.connection)?;
    let (pods, services) = (deployment.pods()?, deployment.list(Kind::SERVICE)?);
    let (pod, job) = find(instance, &pods, &services)?;
    let mut kubectl = kubectl("cp", &deployment);
    if let Some(container) = job.map(|job| container(pod, job)).transpose()? {
        kubectl.arg("--container").arg(container);
    }
    for path in [&options.source, &options.destination] {
        match split(path) {
            Some((_, path)) => kubectl.arg(format!("{}:{path}", name(pod))),
            None => kubectl.arg(path),
        };
    }
    let problem = Problem::internal("cannot run kubectl").because(kubectl.exec());
    Err(problem.hint("kubectl boson scp needs kubectl in PATH").into())
}

/// The instance and the path of the one argument that names an instance.
fn remote<'a>(source: &'a str, destination: &'a str) -> Result<(&'a str, &'a str)> {
    match (split(source), split(destination)) {
        (Some(found), None) | (None, Some(found)) => Ok(found),
        (found, _) => {
            let what = if found.is_some() { "both paths are in an instance" } else { "neither path is in an instance" };
            let problem = Problem::usage(what).code(code::USAGE);
            Err(problem.hint("one of them is of the form GROUP/INDEX:PATH, such as database/0:/tmp").into())
        }
    }
}

/// The instance and the path of an argument; nothing of a path of this machine, which may contain colons behind a slash.
fn split(argument: &str) -> Option<(&str, &str)> {
    let (instance, path) = argument.split_once(':')?;
    let is_local = instance.is_empty() || instance.starts_with(['.', '/']);
    (!is_local && !path.is_empty()).then_some((instance, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_argument_names_an_instance() {
        assert_eq!(remote("db/0:/tmp", ".").unwrap(), ("db/0", "/tmp"));
        assert_eq!(remote("./a:b", "db/0/postgres:/tmp/x").unwrap(), ("db/0/postgres", "/tmp/x"));
        for (source, destination) in [("a", "b"), ("db/0:/a", "db/1:/b"), ("/a:b", "c")] {
            let message = remote(source, destination).unwrap_err().to_string();
            assert!(message.contains("GROUP/INDEX:PATH"), "{message}");
        }
    }
}
