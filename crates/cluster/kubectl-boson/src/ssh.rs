//! `kubectl boson ssh`: a shell or a command in an instance, where a job has its container.
//!
//! The verb finds the container; `kubectl exec` does the rest. The plugin was started by a kubectl, which has the terminal's resizing,
//! the protocols that API servers speak and the user's ways to authenticate; a second implementation would double the client's size.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::os::unix::process::CommandExt;
use std::process::Command;

use clap::Args;
use cluster::{Connection, Kind, Object, name};
use kubernetes_objects as objects;
use problem::{Problem, Result, code};
use startup::Common;

use crate::status;
use crate::target::{Deployment, DeploymentFlag};

/// One line for `--help`.
pub const ABOUT: &str = "Open a shell in an instance, or run a command there";

/// The arguments of the verb.
#[derive(Debug, Args)]
#[command(
    long_about = "Open a shell in an instance, or run a command there and exit as it does. With a job, the shell is in the job's \
        container, which has the packages of the job's release, the rendered files and the disk; without a job, it is in \
        the first container of the pod. Runs `kubectl exec`.",
    after_long_help = "Examples:\n\
        \x20\x20kubectl boson ssh database/0/postgres\n\
        \x20\x20kubectl boson ssh database/0/backup -- /var/vcap/jobs/backup/bin/backup"
)]
pub struct Options {
    /// The instance, GROUP/INDEX as `status` shows it or the name of a pod, and the job
    #[arg(value_name = "INSTANCE[/JOB]")]
    instance: String,
    /// The command and its arguments [default: a shell]
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
    /// A command line for the container's shell, as `bosh ssh` has it
    #[arg(long = "command", short = 'c', value_name = "TEXT", conflicts_with = "command")]
    script: Option<OsString>,
    #[command(flatten)]
    deployment: DeploymentFlag,
    /// The cluster
    #[command(flatten)]
    connection: Connection,
}

/// bash as on a VM, or what the image has.
const SHELL: [&str; 3] = ["sh", "-c", "if command -v bash >/dev/null; then exec bash; else exec sh; fi"];

/// Runs the verb; returns only if the command cannot be started.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    let deployment = options.deployment.find(&options.connection)?;
    let (pods, services) = (deployment.pods()?, deployment.list(Kind::SERVICE)?);
    let (pod, job) = find(&options.instance, &pods, &services)?;
    let container = job.map(|job| container(pod, job)).transpose()?;
    let mut kubectl = kubectl("exec", &deployment);
    kubectl.arg("--stdin");
    if std::io::stdin().is_terminal() && std::io::stdout().is_terminal() {
        kubectl.arg("--tty");
    }
    container.iter().for_each(|container| {
        kubectl.arg("--container").arg(container);
    });
    kubectl.arg(name(pod)).arg("--");
    if let Some(script) = &options.script {
        kubectl.args(["sh", "-c"]).arg(script)
    } else if options.command.is_empty() {
        kubectl.args(SHELL)
    } else {
        kubectl.args(&options.command)
    };
    let problem = Problem::internal("cannot run kubectl").because(kubectl.exec());
    Err(problem.hint("kubectl boson ssh needs kubectl in PATH").into())
}

/// A command of kubectl for the deployment's namespace, in the same cluster.
pub(crate) fn kubectl(verb: &str, deployment: &Deployment) -> Command {
    let mut kubectl = Command::new("kubectl");
    kubectl.arg(verb).arg("--namespace").arg(deployment.cluster.namespace());
    let Connection { kubeconfig, context, .. } = &deployment.connection;
    kubeconfig.iter().for_each(|file| {
        kubectl.arg("--kubeconfig").arg(file);
    });
    context.iter().for_each(|context| {
        kubectl.arg("--context").arg(context);
    });
    kubectl
}

/// The pod that `GROUP/INDEX[/JOB]` or `POD[/JOB]` names, and the job.
pub(crate) fn find<'o, 'p>(
    wanted: &'o str,
    pods: &'p [Object],
    services: &[Object],
) -> Result<(&'p Object, Option<&'o str>)> {
    let (first, rest) = wanted.split_once('/').map_or((wanted, None), |(first, rest)| (first, Some(rest)));
    if let Some(pod) = pods.iter().find(|pod| name(pod) == first) {
        return Ok((pod, rest));
    }
    let (index, job) =
        rest.map_or(("", None), |rest| rest.split_once('/').map_or((rest, None), |(i, job)| (i, Some(job))));
    let group = objects::deployment_label(first);
    let instance = Some((group, index.to_owned()));
    let found = pods.iter().find(|pod| status::instance(pod, services) == instance);
    Ok((found.ok_or_else(|| status::unknown_instance(wanted, pods, services))?, job))
}

/// The container in which a job runs: that of its first process, or the one that waits for its requests.
pub(crate) fn container<'p>(pod: &'p Object, job: &str) -> Result<&'p str> {
    let list = |name: &str| pod["spec"][name].as_array().into_iter().flatten();
    // Beside an errand, services are init containers that go on.
    let sidecars = list("initContainers").filter(|container| container["restartPolicy"] == "Always");
    let all: Vec<(&str, &str)> = list("containers")
        .chain(sidecars)
        .filter_map(|container| Some((container["name"].as_str()?, job_of(container)?)))
        .collect();
    if let Some((container, _)) = all.iter().find(|(_, owner)| *owner == job) {
        return Ok(container);
    }
    let mut jobs: Vec<&str> = all.iter().map(|(_, job)| *job).collect();
    jobs.dedup();
    let problem = Problem::input(format!("pod {} has no container of the job '{job}'", name(pod)));
    Err(problem.code(code::JOB_UNKNOWN).hint(format!("its jobs are: {}", jobs.join(", "))).into())
}

/// The job of a container: boson's programs have it in their arguments.
fn job_of(container: &Object) -> Option<&str> {
    let mut words = container["command"].as_array()?.iter().filter_map(Object::as_str);
    words.find(|word| *word == "--job")?;
    words.next()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pods() -> (Vec<Object>, Vec<Object>) {
        let pod = |name: &str, group: &str| {
            let process = |name: &str, words: &[&str]| json!({"name": name, "command": words});
            json!({
                "metadata": {"name": name, "labels": {objects::GROUP: group}},
                "spec": {
                    "initContainers": [
                        process("pre-start-r", &["pre-start", "--job", "backup"]),
                        {"name": "tail-logs", "command": ["tail-logs"], "restartPolicy": "Always"},
                    ],
                    "containers": [
                        process("web-web", &["/bin/run-process", "--job", "web", "--process", "web"]),
                        process("web-worker", &["/bin/run-process", "--job", "web", "--process", "worker"]),
                        process("my-backup-0a1b2c3d", &["/bin/run-process", "--scripts", "--job", "my_backup"]),
                    ],
                },
            })
        };
        let service = |name: &str, pod: &str| {
            json!({"metadata": {"name": name},
                "spec": {"selector": {"statefulset.kubernetes.io/pod-name": pod}}})
        };
        (
            vec![pod("d-web-z1-0", "web"), pod("d-web-z2-0", "web")],
            vec![service("d-web-0", "d-web-z1-0"), service("d-web-3", "d-web-z2-0")],
        )
    }

    #[test]
    fn instances_are_found_by_index_and_by_pod() {
        let (pods, services) = pods();
        let found = |wanted: &str| {
            let (pod, job) = find(wanted, &pods, &services).map_err(|e| e.to_string())?;
            let container = job.map(|job| container(pod, job)).transpose().map_err(|e| e.to_string())?;
            Ok::<_, String>(format!("{} {}", name(pod), container.unwrap_or("-")))
        };
        for (wanted, expected) in [
            ("web/0", "d-web-z1-0 -"),
            ("web/3/web", "d-web-z2-0 web-web"),
            ("d-web-z2-0", "d-web-z2-0 -"),
            ("d-web-z2-0/my_backup", "d-web-z2-0 my-backup-0a1b2c3d"),
        ] {
            assert_eq!(found(wanted).as_deref(), Ok(expected), "{wanted}");
        }
        for (wanted, part) in [
            ("web/1", "its instances are: web/0, web/3"),
            ("api/0", "no instance 'api/0'"),
            ("web", "no instance 'web'"),
            // Its container has come to its end.
            ("web/0/backup", "its jobs are: web, my_backup"),
        ] {
            assert!(found(wanted).unwrap_err().contains(part), "{wanted}: {:?}", found(wanted));
        }
    }
}
