//! An instance of a group as a whole.

use std::time::Duration;

use handoff::bpm_info::Instance;
use handoff::deployment::{Lifecycle, Script};
use serde::{Serialize, Serializer};

use crate::container::{Command, Container, EnvVar, Program};
use crate::volume::Volume;

/// What the documents do not say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// How long an instance has to stop: lifecycle scripts and processes together.
    pub grace: Duration,
    /// Variables for `render-jobs`, such as `TEMPLATE_TIMEOUT`: name and value.
    pub template_settings: Vec<(String, String)>,
}

/// What runs in each instance of a group. All instances have the same; they differ in the values of
/// [`EnvValue`](crate::EnvValue). See the [crate's documentation](crate) for the order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Pod {
    /// The deployment's name.
    pub deployment: String,
    /// The group's name.
    pub group: String,
    /// Whether it runs all the time.
    pub lifecycle: Lifecycle,
    /// The share of the largest AZ.
    pub replicas: u32,
    /// The instances, by index.
    pub instances: Vec<Instance>,
    /// The jobs, in the manifest's order, then those of addons, without those whose place boson takes (`bpm`, `bosh-dns`).
    pub jobs: Vec<Job>,
    /// How long an instance has to stop; `terminationGracePeriodSeconds` in Kubernetes. `run-process` divides it among
    /// scripts and processes.
    #[serde(serialize_with = "seconds")]
    pub grace: Duration,
    /// Every volume that a container mounts.
    pub volumes: Vec<Volume>,
    /// Puts boson's executables and the job sources of the group's releases into [`VolumeName::AllReleases`]. Not run where that
    /// volume comes with its content.
    ///
    /// [`VolumeName::AllReleases`]: crate::VolumeName::AllReleases
    pub supply: Vec<Container>,
    /// Renders the jobs and makes their directories.
    pub prepare: Vec<Container>,
    /// Forwards logs.
    pub tail_logs: Container,
    /// What runs before the processes start.
    pub pre_start: Scripts,
    /// The processes, in the order of jobs and of their `monit`, or `bpm.yml` without one. They start at the same time and stop in reverse order.
    pub processes: Vec<Process>,
    /// Runs the scripts of jobs that have no process beside which they could run. Every job of a service that has neither a process nor
    /// requests has one, even without scripts: then it is idle ([`Container::is_idle`]).
    pub scripts_only: Vec<JobScripts>,
    /// What runs when the whole deployment runs.
    pub post_deploy: Scripts,
    /// What can be run to its end, in the order of jobs.
    pub errands: Vec<Errand>,
    /// Runs post-deploy scripts and errands in the instances of a service whose programs only the instance itself can start.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<JobRequests>,
}

/// A job of the group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Job {
    /// Its name.
    pub name: String,
    /// The release it is from.
    pub release: String,
}

/// The lifecycle scripts of one name. BOSH's agent runs those of all jobs at the same time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Scripts {
    /// Which ones.
    pub script: Script,
    /// Runs them where a container has one release's packages: one for each release whose jobs have the script, in the order
    /// of jobs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub containers: Vec<Container>,
}

impl Scripts {
    /// Runs them where one file system has the packages of all releases; nothing if no job has the script.
    pub fn command(&self) -> Option<Command> {
        let program = self.containers.first()?.command.program;
        Some(Command::new(program, &[]))
    }

    /// As [`Scripts::command`], for those of the jobs that are wanted.
    pub fn command_for(&self, is_wanted: impl Fn(&str) -> bool) -> Option<Command> {
        let program = self.containers.first()?.command.program;
        let args = self.containers.iter().flat_map(|container| &container.command.args);
        let jobs: Vec<&str> = args.map(String::as_str).filter(|arg| *arg != "--job" && is_wanted(arg)).collect();
        (!jobs.is_empty()).then(|| Command::for_jobs(program, jobs))
    }
}

/// A process of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Process {
    /// The job.
    pub job: String,
    /// The process in its `bpm.yml`, or the service in its `monit`.
    pub process: String,
    /// The instances that start it, by index; absent if all do. In the others its container only runs the job's scripts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instances: Option<Vec<u32>>,
    /// `run-process`, which supervises it.
    pub container: Container,
}

impl Process {
    /// Whether an instance starts it.
    pub fn runs_in(&self, index: u32) -> bool {
        self.instances.as_ref().is_none_or(|instances| instances.contains(&index))
    }
}

/// A job without a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JobScripts {
    /// The job.
    pub job: String,
    /// Its scripts that run while and after the processes of the instance run; possibly none.
    pub scripts: Vec<Script>,
    /// `run-process --scripts`, which waits and runs them.
    pub container: Container,
}

/// A job of a service that has a post-deploy script or an errand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JobRequests {
    /// The job.
    pub job: String,
    /// Whether it has a post-deploy script.
    pub post_deploy: bool,
    /// Whether it has an errand.
    pub errand: bool,
    /// `run-requests`, which waits for requests.
    pub container: Container,
}

/// Something that runs on request, to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Errand {
    /// The job.
    pub job: String,
    /// Its `bin/run`, or a process of its `bpm.yml` where it has none, under `run-process`.
    pub container: Container,
}

impl Pod {
    /// Whether its instances exist only while one of its errands runs.
    pub fn is_errand(&self) -> bool {
        self.lifecycle == Lifecycle::Errand
    }

    /// All containers, in the order of the steps.
    pub fn containers(&self) -> impl Iterator<Item = &Container> {
        self.supply
            .iter()
            .chain(&self.prepare)
            .chain([&self.tail_logs])
            .chain(&self.pre_start.containers)
            .chain(self.processes.iter().map(|process| &process.container))
            .chain(self.scripts_only.iter().map(|job| &job.container))
            .chain(&self.post_deploy.containers)
            .chain(self.errands.iter().map(|errand| &errand.container))
            .chain(self.requests.iter().map(|requests| &requests.container))
    }

    /// The variables of all containers, each once: the environment of an instance that is one machine. The containers of one
    /// instance never disagree about a value.
    pub fn environment(&self) -> Vec<&EnvVar> {
        let mut all: Vec<&EnvVar> = Vec::new();
        for variable in self.containers().flat_map(|container| &container.env) {
            if !all.contains(&variable) {
                all.push(variable);
            }
        }
        all
    }

    /// Runs post-start of the jobs without processes, where no container of [`Pod::scripts_only`] does so; nothing if none of
    /// them has the script.
    pub fn post_start_command(&self) -> Option<Command> {
        let jobs = self.scripts_only.iter().filter(|job| job.scripts.contains(&Script::PostStart));
        let command = Command::for_jobs(Program::PostStart, jobs.map(|job| job.job.as_str()));
        (!command.args.is_empty()).then_some(command)
    }

    /// The errands that a name means: those of the job of this name, or those of the first job that has any, if it is the name of
    /// the group and the group is an errand (BOSH: the first job's; the others are colocated).
    pub fn errands_named(&self, name: &str) -> Vec<&Errand> {
        let has_job = self.errands.iter().any(|errand| errand.job == name);
        let of_group = self.errands.first().filter(|_| !has_job && self.is_errand() && self.group == name);
        let job = of_group.map_or(name, |errand| errand.job.as_str());
        self.errands.iter().filter(|errand| errand.job == job).collect()
    }

    /// `<deployment>-<group>.<namespace>.<service domain>`, under which all instances can be reached; nothing for a group
    /// without instances.
    pub fn address(&self) -> Option<String> {
        let instance = self.instances.first()?;
        let (host, domain) = instance.address.split_once('.')?;
        let group = host.strip_suffix(&format!("-{}", instance.index))?;
        Some(format!("{group}.{domain}"))
    }
}

fn seconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{}s", duration.as_secs()))
}
