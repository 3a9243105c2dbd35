//! One program of an instance, and what it needs around it.

use handoff::bpm_info::Instance;
use handoff::deployment::{Script, Tree};
use serde::ser::{Serialize, SerializeSeq, Serializer};

use crate::volume::Mount;

/// A program of an instance. In Kubernetes a container; in a sandbox a process.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Container {
    /// Unique in its instance. Made of the names of jobs and processes as they are, so not always a name in Kubernetes.
    pub name: String,
    /// The image.
    pub image: Image,
    /// The program and its arguments.
    pub command: Command,
    /// The environment. A sandbox gives each of its commands the variables of all containers, as on one machine.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<EnvVar>,
    /// The volumes that it sees.
    pub mounts: Vec<Mount>,
    /// Packages of other releases that it has at their paths in `/var/vcap/packages`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub foreign_packages: Vec<String>,
    /// Packages that it shares with all other containers, and can write to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shared_packages: Vec<String>,
    /// The user that it must be able to act as.
    pub user: User,
    /// What it may do beyond what its user may.
    #[serde(skip_serializing_if = "Privileges::is_none")]
    pub privileges: Privileges,
    /// The most memory that it may use, in bytes: `limits.memory` of `bpm.yml`. `run-process` applies its other limits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_limit: Option<u64>,
    /// Exits with 0 when the container is ready, for a readiness probe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub readiness: Option<Command>,
    /// Exits with 0 when the container has come so far that the next one may be created. Kubernetes: `lifecycle.postStart`,
    /// which the kubelet waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started: Option<Command>,
}

impl Container {
    /// Whether it only waits: for requests, or for operators who run something in it.
    pub fn is_idle(&self) -> bool {
        let has_no_script = self.user == User::Vcap && self.command.args.iter().any(|arg| arg == "--scripts");
        match self.command.program {
            Program::RunRequests => true,
            Program::RunProcess => has_no_script,
            _ => false,
        }
    }
}

/// Where the rest of a container's file system comes from.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Image {
    /// boson's own.
    Boson,
    /// That of the release: its job sources, its packages and what its jobs need around them.
    Release(String),
}

/// A program of boson's and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The program.
    pub program: Program,
    /// Its arguments.
    pub args: Vec<String>,
}

impl Command {
    pub(crate) fn new(program: Program, args: &[&str]) -> Command {
        Command { program, args: args.iter().map(|&arg| arg.to_owned()).collect() }
    }

    /// `--job` for each job.
    pub(crate) fn for_jobs<'a>(program: Program, jobs: impl IntoIterator<Item = &'a str>) -> Command {
        Command { program, args: jobs.into_iter().flat_map(|job| ["--job".to_owned(), job.to_owned()]).collect() }
    }

    /// The program's name and its arguments. Where boson's executables are not in `PATH`, their directory comes before the
    /// name: `/var/vcap/all-releases/.boson/bin` in the image of a release.
    pub fn argv(&self) -> Vec<&str> {
        std::iter::once(self.program.name()).chain(self.args.iter().map(String::as_str)).collect()
    }
}

impl Serialize for Command {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let argv = self.argv();
        let mut list = serializer.serialize_seq(Some(argv.len()))?;
        for arg in argv {
            list.serialize_element(arg)?;
        }
        list.end()
    }
}

/// boson's programs that run in instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// Puts boson's executables into the volume.
    Install,
    /// Puts a release's job sources into the volume.
    CopyJobs,
    /// Puts packages of a release into the volume.
    CopyPackages,
    /// Renders the templates of the instance.
    RenderJobs,
    /// Makes the jobs' directories.
    CreateDirs,
    /// Forwards the jobs' logs to stdout.
    TailLogs,
    /// Runs pre-start scripts.
    PreStart,
    /// Runs a process, an errand, or the scripts of a job without processes.
    RunProcess,
    /// Tells whether a process is ready.
    Ready,
    /// Runs post-start scripts.
    PostStart,
    /// Runs post-deploy scripts.
    PostDeploy,
    /// Runs a job's post-deploy script and errand on request.
    RunRequests,
    /// Waits for a file.
    WaitFor,
}

impl Program {
    /// The name under which it is installed.
    pub fn name(self) -> &'static str {
        match self {
            Program::Install => "install",
            Program::CopyJobs => "copy-jobs",
            Program::CopyPackages => "copy-packages",
            Program::RenderJobs => "render-jobs",
            Program::CreateDirs => "create-dirs",
            Program::TailLogs => "tail-logs",
            Program::PreStart => "pre-start",
            Program::RunProcess => "run-process",
            Program::Ready => "ready",
            Program::PostStart => "post-start",
            Program::PostDeploy => "post-deploy",
            Program::RunRequests => "run-requests",
            Program::WaitFor => "wait-for",
        }
    }
}

/// An environment variable.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct EnvVar {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: EnvValue,
}

impl EnvVar {
    pub(crate) fn new(name: &str, value: EnvValue) -> EnvVar {
        EnvVar { name: name.to_owned(), value }
    }
}

/// The value of an environment variable. All but the text are known only when the instance is, or change without a change of
/// the instance.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EnvValue {
    /// The text.
    Text(String),
    /// The number of the instance's AZ, from 1. Kubernetes: a text, as each AZ has a StatefulSet of its own.
    AzIndex,
    /// The share of the largest AZ ([`Pod::replicas`](crate::Pod::replicas)). Kubernetes: a key of a ConfigMap, so that scaling
    /// restarts no pod.
    Replicas,
    /// The instance's number in its AZ, from 0. Kubernetes: the label `apps.kubernetes.io/pod-index`.
    PodOrdinal,
    /// The instance's own address. Kubernetes: `status.podIP`.
    PodIp,
    /// What the manifest's `valueFrom` refers to, which only Kubernetes has.
    Reference(Tree),
}

impl EnvValue {
    /// The text for one instance with this IP address; nothing outside of Kubernetes for a reference.
    pub fn resolve(&self, replicas: u32, instance: &Instance, ip: &str) -> Option<String> {
        match self {
            EnvValue::Text(text) => Some(text.clone()),
            EnvValue::AzIndex => Some(instance.az_index.to_string()),
            EnvValue::Replicas => Some(replicas.to_string()),
            EnvValue::PodOrdinal => Some(instance.ordinal.to_string()),
            EnvValue::PodIp => Some(ip.to_owned()),
            EnvValue::Reference(_) => None,
        }
    }
}

/// The user that a container must be able to act as. boson's programs work as either; as root, `run-process` runs a process as vcap
/// unless it is privileged.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum User {
    /// vcap is enough.
    Vcap,
    /// Root, for these reasons.
    Root(Vec<RootUse>),
}

/// What BOSH and BPM run as root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RootUse {
    /// `bin/run` of an errand.
    Errand,
    /// A start or stop program of `monit`.
    MonitProgram,
    /// `unsafe.privileged` of `bpm.yml`.
    PrivilegedProcess,
    /// `hooks.pre_start` of `bpm.yml`.
    PreStartHook,
    /// A lifecycle script.
    Script(Script),
    /// Another container of the job runs as root: they keep their states in one directory, which is root's then.
    SharedState,
}

/// What `bpm.yml` asks for beyond what a process may by itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct Privileges {
    /// Capabilities, without `CAP_`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<String>,
    /// `unsafe.privileged`: nearly everything is allowed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub privileged: bool,
    /// `unsafe.host_pid_namespace`: sees the processes of the machine.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub host_pid_namespace: bool,
    /// `unsafe.unrestricted_volumes`: paths anywhere on the machine. Those of `additional_volumes` are in the container's
    /// volumes anyway.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unrestricted_volumes: Vec<bpm::Volume>,
}

impl Privileges {
    /// Whether it asks for nothing.
    pub fn is_none(&self) -> bool {
        *self == Privileges::default()
    }
}
