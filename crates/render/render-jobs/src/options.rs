//! The command line of `render-jobs`.

use std::path::PathBuf;

use clap::Args;
use dialect_erb::Settings;
use job_templates::RenderingOptions;
use problem::{Problem, Problems, Result};
use startup::Common;

/// The command line of `render-jobs`.
#[derive(Debug, Args)]
#[command(
    long_about = "Render the templates of every job of an instance group into /var/vcap/jobs, for the pod in which this runs. In a \
        pod, the environment sets all of its options.\n\n\
        Nothing is written unless every template was rendered; then the new tree replaces the old one at once. The tree \
        includes /var/vcap/jobs/bpm/bin/bpm, a link to boson's own `bpm`.",
    after_long_help = "Example: instance (2-1)*2+0 = 2 of the group\n\
        \x20\x20render-jobs -g nats -m properties.yaml -j all-releases -d jobs \\\n\
        \x20\x20    --az-index 2 --replicas 2 --pod-ordinal 0 --pod-ip 10.0.0.7\n\n\
        Exit codes: 0 done; 2 usage; 65 the input is wrong; 66 a template failed; 70 the environment \
        failed."
)]
pub struct Options {
    /// The instance group
    #[arg(short = 'g', long, env = "INSTANCE_GROUP_NAME", value_name = "NAME")]
    pub instance_group_name: Option<String>,
    /// The resolved group, properties.yaml [default: /var/run/secrets/resolved-properties/<group>/properties.yaml]
    #[arg(short = 'm', long, env = "BOSH_MANIFEST_PATH", value_name = "FILE")]
    pub bosh_manifest_path: Option<PathBuf>,
    /// Directory with jobs-src/<release>/<job>/ [default: /var/vcap/all-releases]
    #[arg(short = 'j', long, env = "JOBS_DIR", value_name = "DIR")]
    pub jobs_dir: Option<PathBuf>,
    /// Where the jobs are rendered to [default: /var/vcap/jobs]
    #[arg(short = 'd', long, env = "OUTPUT_DIR", value_name = "DIR")]
    pub output_dir: Option<PathBuf>,
    /// Number of the pod's AZ, from 1 (needed where the group has several AZs)
    #[arg(long, env = "AZ_INDEX", value_name = "N", allow_hyphen_values = true)]
    pub az_index: Option<String>,
    /// Pods in each AZ [default: the resolved group's]
    #[arg(long, env = "REPLICAS", value_name = "N", allow_hyphen_values = true)]
    pub replicas: Option<String>,
    /// Number of the pod in its AZ, from 0 [default: the number at the end of the host's name]
    #[arg(long, env = "POD_ORDINAL", value_name = "N", allow_hyphen_values = true)]
    pub pod_ordinal: Option<String>,
    /// Address of the pod; without it spec.ip is nil
    #[arg(long, env = "POD_IP", value_name = "IP")]
    pub pod_ip: Option<String>,
    /// How templates are rendered
    #[command(flatten)]
    pub rendering: RenderingOptions,
}

/// The options, checked and completed.
pub(crate) struct Request {
    pub(crate) group: String,
    pub(crate) resolved: PathBuf,
    pub(crate) jobs_dir: PathBuf,
    pub(crate) output: PathBuf,
    pub(crate) root: PathBuf,
    pub(crate) az_index: Option<u32>,
    pub(crate) replicas: Option<u32>,
    pub(crate) pod_ordinal: Option<u32>,
    pub(crate) pod_ip: Option<String>,
    pub(crate) rendering: Settings,
}

impl Options {
    /// Completes the options; empty values count as absent, as pod specs give them.
    pub(crate) fn check(self, common: &Common) -> Result<Request> {
        let mut problems = Vec::new();
        let mut number = |text: Option<String>, name: &str| {
            let text = text.filter(|t| !t.is_empty())?;
            let parsed = text.parse::<u32>().ok();
            if parsed.is_none() {
                problems.push(Problem::usage(format!("{name} must be a number from 0 on, not '{text}'")));
            }
            parsed
        };
        let az_index = number(self.az_index, "AZ_INDEX");
        let replicas = number(self.replicas, "REPLICAS");
        let pod_ordinal = number(self.pod_ordinal, "POD_ORDINAL");
        let pod_ip = self.pod_ip.filter(|ip| !ip.is_empty());
        if let Some(ip) = pod_ip.as_deref().filter(|ip| ip.parse::<std::net::IpAddr>().is_err()) {
            problems.push(Problem::usage(format!("POD_IP must be an IP address, not '{ip}'")));
        }
        let group = self.instance_group_name.filter(|name| !name.is_empty());
        if group.is_none() {
            problems.push(
                Problem::usage("render-jobs needs an instance group")
                    .hint("give --instance-group-name or INSTANCE_GROUP_NAME"),
            );
        }
        let rendering = self.rendering.check(&mut problems);
        Problems::check(problems)?;
        let group = group.unwrap_or_default();
        let path = |path: Option<PathBuf>| path.filter(|p| !p.as_os_str().is_empty());
        let default = format!("/var/run/secrets/resolved-properties/{group}/properties.yaml");
        Ok(Request {
            resolved: common.path(path(self.bosh_manifest_path).as_deref(), &default),
            jobs_dir: common.path(path(self.jobs_dir).as_deref(), "/var/vcap/all-releases"),
            output: common.path(path(self.output_dir).as_deref(), "/var/vcap/jobs"),
            root: common.root.clone(),
            group,
            az_index,
            replicas,
            pod_ordinal,
            pod_ip,
            rendering,
        })
    }
}
