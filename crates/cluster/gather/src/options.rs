//! The flags for the objects.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use manifest_inputs::{Configs, Inputs};
use pod_flags::{ObjectFlags, ReplaceFlags, UpdateFlags};

/// What the objects are made of.
#[derive(Debug, Args)]
pub struct Options {
    /// The deployment manifest; `-` is standard input
    #[arg(value_name = "MANIFEST")]
    pub manifest: PathBuf,
    /// The deployment's name [default: the manifest's]
    #[arg(short = 'd', long, env = "DEPLOYMENT_NAME", value_name = "NAME")]
    pub deployment_name: Option<String>,
    /// The namespace that the objects name [default: none, kubectl's]
    #[arg(short = 'n', long, env = "KUBE_NAMESPACE", value_name = "NAME")]
    pub namespace: Option<String>,
    /// The cluster's domain of Services
    #[arg(long, env = "KUBE_SERVICE_DOMAIN", value_name = "DOMAIN", default_value = "svc.cluster.local")]
    pub kube_service_domain: String,
    /// Apply a unified diff (git diff, diff -u) to the job sources of a release; repeatable, in order
    #[arg(long = "patch", value_name = "RELEASE=FILE")]
    pub patches: Vec<String>,
    /// An account that exists already, instead of one with a role of its own
    #[arg(long, env = "SERVICE_ACCOUNT", value_name = "NAME")]
    pub service_account: Option<String>,
    /// Run an errand when all instances are ready, unless it has succeeded since it last changed; repeatable, in order
    #[arg(long = "run-errand", value_name = "NAME")]
    pub run_errands: Vec<String>,
    /// How long the instances of a group may take until they are ready, instead of the manifest's watch times; 0: do not wait
    /// [default: canary_watch_time and update_watch_time of `update`]
    #[arg(long, env = "READY_TIMEOUT", value_name = "DURATION", value_parser = duration)]
    pub ready_timeout: Option<String>,
    /// How instances are updated
    #[command(flatten)]
    pub update: UpdateFlags,
    /// Instances that are replaced although nothing of them changes
    #[command(flatten)]
    pub replace: ReplaceFlags,
    /// Take over objects that belong to others
    #[arg(long, env = "FORCE_CONFLICTS")]
    pub force_conflicts: bool,
    /// Addresses of the cluster's API servers, for --network-policies; repeatable [default: any address, ports 443 and 6443]
    #[arg(long = "api-server", value_name = "CIDR")]
    pub api_servers: Vec<String>,
    /// How the manifest is planned in the cluster
    #[arg(long, env = "PLAN_CONTAINERS", value_name = "FORM", default_value = "one")]
    pub plan_containers: PlanContainers,
    /// Images and placement
    #[command(flatten)]
    pub pods: ObjectFlags,
    /// Ops files and variables
    #[command(flatten)]
    pub inputs: Inputs,
    /// Runtime and cloud configs
    #[command(flatten)]
    pub configs: Configs,
}

/// A duration as written, for `deploy`.
fn duration(text: &str) -> Result<String, String> {
    startup::parse_duration(text).map(|_| text.to_owned())
}

/// Which containers plan a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PlanContainers {
    /// One container for the whole deployment
    One,
    /// Two more containers for each instance group, each with a /mnt/quarks/output.json of its own
    Group,
}
