//! `kubectl boson logs`: what the jobs of a deployment log.

use clap::Args;
use cluster::{Connection, Kind, label, name};
use kubernetes_objects as objects;
use problem::{Problem, Result, code};
use startup::Common;

use crate::output::line;
use crate::status;
use crate::target::DeploymentFlag;

/// One line for `--help`.
pub const ABOUT: &str = "Show the logs of a deployment's jobs";

/// The arguments of the verb.
#[derive(Debug, Args)]
#[command(
    long_about = "Show the last lines of the log files of all instances, or of one group or one pod, each line with its pod. To \
        follow one pod, use `kubectl logs --follow POD --container tail-logs`.",
    after_long_help = "Examples:\n\
        \x20\x20kubectl boson logs nats\n\
        \x20\x20kubectl boson logs nats/0 --num 100\n\
        \x20\x20kubectl boson logs nats --instance-group smoke-tests --lines 100"
)]
pub struct Options {
    /// The deployment, or with -d or a slash an instance group or instance [default: all of the deployment]
    #[arg(value_name = "DEPLOYMENT|GROUP[/INDEX]")]
    subject: Option<String>,
    #[command(flatten)]
    deployment: DeploymentFlag,
    /// The cluster
    #[command(flatten)]
    connection: Connection,
    /// Only this instance group
    #[arg(short = 'g', long, value_name = "GROUP")]
    instance_group: Option<String>,
    /// Only this pod
    #[arg(long, value_name = "POD")]
    pod: Option<String>,
    /// How many lines of each pod
    #[arg(long, visible_alias = "num", value_name = "NUMBER", default_value_t = 20)]
    lines: u32,
}

/// Runs the verb; returns the exit code.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    let is_instance = |subject: &String| options.deployment.is_given() || subject.contains('/');
    let (instance, name_of_deployment) = match options.subject {
        Some(subject) if is_instance(&subject) => (Some(subject), None),
        subject => (None, subject),
    };
    let deployment = options.deployment.or(name_of_deployment).find(&options.connection)?;
    let group = options.instance_group.as_deref().map(objects::deployment_label);
    let mut pods = deployment.pods()?;
    if let Some(wanted) = &instance {
        let services = deployment.list(Kind::SERVICE)?;
        if !pods.iter().any(|pod| status::is_of(wanted, pod, &services)) {
            return Err(status::unknown_instance(wanted, &pods, &services).into());
        }
        pods.retain(|pod| status::is_of(wanted, pod, &services));
    }
    pods.retain(|pod| group.as_deref().is_none_or(|group| label(pod, objects::GROUP) == Some(group)));
    pods.retain(|pod| options.pod.as_deref().is_none_or(|wanted| name(pod) == wanted));
    if pods.is_empty() {
        return Err(Problem::input("the deployment has no pod of this name or group")
            .code(code::INSTANCE_UNKNOWN)
            .into());
    }
    for pod in &pods {
        match deployment.cluster.log(name(pod), "tail-logs", Some(options.lines)) {
            Ok(log) => log.lines().for_each(|text| line(format_args!("[{}] {text}", name(pod)))),
            Err(found) => found.iter().for_each(|problem| line(format_args!("[{}] {}", name(pod), problem.message))),
        }
    }
    Ok(0)
}
