//! Computes a [`Pod`] from the documents of `plan`.

mod errands;

use std::path::Path;

use bpm::ProcessConfig;
use handoff::bpm_info::{self, BpmInfo, ErrandKind, Run, Service};
use handoff::deployment::{InstanceGroup, Lifecycle, PersistentDisk, Script, Tree};
use handoff::output::PROPERTIES_YAML;
use manifest_model::replaced::is_replaced;

use crate::container::{Command, Container, EnvValue, EnvVar, Image, Privileges, Program, RootUse, User};
use crate::foreign_packages;
use crate::pod::{Job, JobScripts, Pod, Process, Scripts, Settings};
use crate::privileges;
use crate::volume::{Mount, Source, Volume, VolumeName};

/// Where `tail-logs` creates the socket for `/dev/log`: in the volume [`VolumeName::Sys`], in a directory that only it can write
/// to.
const SOCKET: &str = "run/.tail-logs/log";
/// How long the socket may take to appear.
const SOCKET_TIMEOUT: &str = "1m";

/// The volumes whose mounts can be shared between the containers of an instance: those in which jobs write.
const MAY_BE_SHARED: [VolumeName; 3] = [VolumeName::Data, VolumeName::Sys, VolumeName::Store];

/// The scripts that run beside a job's processes, or without them in a container of their own.
const BESIDE_PROCESSES: [Script; 4] = [Script::PostStart, Script::PreStop, Script::Drain, Script::PostStop];

impl Pod {
    /// What runs in the instances of a group.
    ///
    /// `info` is the group's `bpm.yaml`; `group` is the group in `deployment.yaml`, which has the lifecycle scripts of each job
    /// and the persistent disk.
    pub fn new(info: &BpmInfo, group: &InstanceGroup, settings: &Settings) -> Pod {
        Builder { info, group, settings }.pod()
    }
}

struct Builder<'a> {
    info: &'a BpmInfo,
    group: &'a InstanceGroup,
    settings: &'a Settings,
}

impl Builder<'_> {
    fn pod(&self) -> Pod {
        let group = self.info.group();
        Pod {
            deployment: self.info.name.clone(),
            group: group.name.clone(),
            lifecycle: self.group.lifecycle,
            replicas: group.properties.quarks.replicas,
            instances: group.properties.quarks.instances.clone(),
            jobs: self.jobs().map(|job| Job { name: job.name.clone(), release: job.release.clone() }).collect(),
            grace: self.settings.grace,
            volumes: self.volumes(),
            supply: self.supply(),
            prepare: vec![self.render_jobs(), self.create_dirs()],
            tail_logs: self.tail_logs(),
            pre_start: self.scripts(Script::PreStart, Program::PreStart),
            processes: self.jobs().flat_map(|job| self.processes(job)).collect(),
            scripts_only: self.jobs().filter_map(|job| self.scripts_only(job)).collect(),
            post_deploy: self.scripts(Script::PostDeploy, Program::PostDeploy),
            errands: self.jobs().flat_map(|job| self.errands(job)).collect(),
            requests: self.jobs().filter_map(|job| self.requests(job)).collect(),
        }
    }

    /// The jobs without those whose place boson takes: nothing of these is needed.
    fn jobs(&self) -> impl Iterator<Item = &bpm_info::Job> {
        self.info.group().jobs.iter().filter(|job| !is_replaced(&job.name))
    }

    fn volumes(&self) -> Vec<Volume> {
        let volume = |name, path: &str, source| Volume { name, path: path.to_owned(), source, shared: false };
        let mut volumes = vec![
            volume(VolumeName::AllReleases, "/var/vcap/all-releases", Source::Supplied),
            volume(VolumeName::ResolvedProperties, &self.properties_dir(), Source::ResolvedProperties),
            volume(VolumeName::Jobs, "/var/vcap/jobs", Source::Memory),
            volume(VolumeName::Data, "/var/vcap/data", Source::Scratch),
            volume(VolumeName::Sys, "/var/vcap/sys", Source::Scratch),
            volume(VolumeName::Packages, "/var/vcap/packages", Source::Image),
            volume(VolumeName::Tmp, "/tmp", Source::Scratch),
            volume(VolumeName::Instance, "/var/vcap/instance", Source::Scratch),
            volume(VolumeName::Bosh, "/var/vcap/bosh", Source::Scratch),
            volume(VolumeName::DevLog, "/dev/log", Source::Socket { volume: VolumeName::Sys, path: SOCKET }),
        ];
        if !foreign_packages::of_group(self.group).is_empty() {
            volumes.push(volume(VolumeName::ForeignPackages, foreign_packages::PATH, Source::ForeignPackages));
        }
        if let Some(disk) = self.disk() {
            let source = Source::Disk { size: disk.size, disk_type: disk.disk_type.clone() };
            volumes.push(volume(VolumeName::Store, "/var/vcap/store", source));
        }
        let shared = self.shared_paths();
        for volume in &mut volumes {
            let is_below = |path: &&str| Path::new(path).starts_with(&volume.path);
            volume.shared = MAY_BE_SHARED.contains(&volume.name) && shared.iter().any(is_below);
        }
        volumes
    }

    /// The volumes of all processes of the group that share their mounts.
    fn shared_paths(&self) -> Vec<&str> {
        let configs = self.jobs().flat_map(configs);
        let volumes =
            configs.flat_map(|config| config.additional_volumes.iter().chain(&config.unsafe_.unrestricted_volumes));
        volumes.filter(|volume| volume.shared).map(|volume| volume.path.as_str()).collect()
    }

    /// Where `render-jobs` looks for the resolved group.
    fn properties_dir(&self) -> String {
        format!("/var/run/secrets/resolved-properties/{}", self.info.group().name)
    }

    fn supply(&self) -> Vec<Container> {
        let all_releases = vec![Mount::writable(VolumeName::AllReleases)];
        let install = self.boson("install", Program::Install, all_releases.clone());
        let copy = self.releases().into_iter().map(|release| Container {
            name: format!("copy-jobs/{release}"),
            image: Image::Release(release.to_owned()),
            command: Command::new(Program::CopyJobs, &["--release", release]),
            ..self.boson("", Program::CopyJobs, all_releases.clone())
        });
        std::iter::once(install).chain(copy).chain(self.copy_packages()).collect()
    }

    /// Copies the packages that jobs of other releases use, each out of the image that has it.
    fn copy_packages(&self) -> impl Iterator<Item = Container> {
        let mounts = [Mount::read_only(VolumeName::AllReleases), Mount::writable(VolumeName::ForeignPackages)];
        foreign_packages::of_group(self.group).into_iter().map(move |(release, packages)| Container {
            name: format!("copy-packages/{release}"),
            image: Image::Release(release.to_owned()),
            command: foreign_packages::command(&packages),
            ..self.boson("", Program::CopyPackages, mounts.to_vec())
        })
    }

    fn render_jobs(&self) -> Container {
        let mounts = vec![
            Mount::read_only(VolumeName::AllReleases),
            Mount::read_only(VolumeName::ResolvedProperties),
            Mount::writable(VolumeName::Jobs),
            Mount::writable(VolumeName::Tmp),
            Mount::writable(VolumeName::Instance),
            Mount::writable(VolumeName::Bosh),
        ];
        let document = format!("{}/{PROPERTIES_YAML}", self.properties_dir());
        let group = &self.info.group().name;
        let mut env = vec![
            EnvVar::new("INSTANCE_GROUP_NAME", EnvValue::Text(group.clone())),
            EnvVar::new("AZ_INDEX", EnvValue::AzIndex),
            EnvVar::new("REPLICAS", EnvValue::Replicas),
            EnvVar::new("POD_ORDINAL", EnvValue::PodOrdinal),
            EnvVar::new("POD_IP", EnvValue::PodIp),
            EnvVar::new("BOSH_MANIFEST_PATH", EnvValue::Text(document)),
        ];
        let settings = &self.settings.template_settings;
        env.extend(settings.iter().map(|(name, value)| EnvVar::new(name, EnvValue::Text(value.clone()))));
        Container { env, ..self.boson("render-jobs", Program::RenderJobs, mounts) }
    }

    fn create_dirs(&self) -> Container {
        let mut mounts = vec![Mount::read_only(VolumeName::Jobs)];
        mounts.extend(self.of_jobs());
        self.boson("create-dirs", Program::CreateDirs, mounts)
    }

    fn tail_logs(&self) -> Container {
        let socket = format!("/var/vcap/sys/{SOCKET}");
        Container {
            command: Command::new(Program::TailLogs, &["--logs-syslog", &socket]),
            started: Some(Command::new(Program::WaitFor, &["--wait-timeout", SOCKET_TIMEOUT, &socket])),
            ..self.boson("tail-logs", Program::TailLogs, vec![Mount::writable(VolumeName::Sys)])
        }
    }

    /// The scripts of all jobs that have one of this name.
    fn scripts(&self, script: Script, program: Program) -> Scripts {
        let containers = self.releases().into_iter().filter_map(|release| {
            let jobs = self.jobs().filter(|job| job.release == release && self.has(job, script));
            let jobs: Vec<&str> = jobs.map(|job| job.name.as_str()).collect();
            (!jobs.is_empty()).then(|| Container {
                name: format!("{}/{release}", program.name()),
                command: Command::for_jobs(program, jobs),
                user: User::Root(vec![RootUse::Script(script)]),
                ..self.of_release(release)
            })
        });
        Scripts { script, containers: containers.collect() }
    }

    /// What of a job runs all the time. All of it runs as root if any of it has to.
    fn processes(&self, job: &bpm_info::Job) -> Vec<Process> {
        let services = job.properties.quarks.services.iter().enumerate();
        let process = |(number, service): (usize, &Service)| {
            // post-start runs beside the first process; any of them runs those of the stop.
            let scripts = self.scripts_beside(job).into_iter();
            let scripts = scripts.filter(|script| number == 0 || *script != Script::PostStart);
            let container = self.service(job, service, scripts.map(RootUse::Script).collect());
            Process {
                job: job.name.clone(),
                process: service.process.clone(),
                instances: service.instances.clone(),
                container,
            }
        };
        let mut processes: Vec<Process> = services.map(process).collect();
        let has_errand = job.properties.quarks.errand == Some(ErrandKind::Script);
        let has_post_deploy = self.group.lifecycle == Lifecycle::Service && self.has(job, Script::PostDeploy);
        if has_errand || has_post_deploy || processes.iter().any(|process| process.container.user != User::Vcap) {
            let vcap = processes.iter_mut().filter(|process| process.container.user == User::Vcap);
            vcap.for_each(|process| process.container.user = User::Root(vec![RootUse::SharedState]));
        }
        processes
    }

    /// The scripts of a job that run beside its processes. An errand's instance is deleted without them, as in BOSH.
    fn scripts_beside(&self, job: &bpm_info::Job) -> Vec<Script> {
        let is_errand = self.group.lifecycle == Lifecycle::Errand;
        let stops = |script: &Script| *script != Script::PostStart;
        BESIDE_PROCESSES.into_iter().filter(|script| self.has(job, *script) && !(is_errand && stops(script))).collect()
    }

    fn service(&self, job: &bpm_info::Job, service: &Service, mut root_uses: Vec<RootUse>) -> Container {
        let (name, process) = (&job.name, &service.process);
        let monit = service.monit.as_deref().unwrap_or(process);
        let config = configs(job).iter().find(|config| service.run == Run::Bpm && config.name == service.process);
        match config {
            // Where an instance may not start the process, its monit decides. If it does not, the container is idle, and reports
            // the state of the process.
            Some(config) if service.instances.is_some() => Container {
                command: self.run_process(job, &["--job", name, "--process", process, "--monit", monit], None),
                ..self.process(job, config, None, root_uses)
            },
            Some(config) => self.process(job, config, None, root_uses),
            None => {
                root_uses.insert(0, RootUse::MonitProgram);
                let ready = ["--job", name, "--process", process];
                Container {
                    name: format!("{name}/{process}"),
                    command: self.run_process(job, &["--job", name, "--monit", monit], None),
                    user: User::Root(root_uses),
                    readiness: Some(Command::new(Program::Ready, &ready)),
                    ..self.supervised(job)
                }
            }
        }
    }

    /// A job of a service has a container even if nothing of it runs: a pod needs one, and operators use the job's packages in it.
    fn scripts_only(&self, job: &bpm_info::Job) -> Option<JobScripts> {
        if !job.properties.quarks.services.is_empty() {
            return None;
        }
        let scripts = self.scripts_beside(job);
        let needs_none = self.group.lifecycle == Lifecycle::Errand || self.requests(job).is_some();
        if scripts.is_empty() && needs_none {
            return None;
        }
        let root_uses: Vec<RootUse> = scripts.iter().map(|script| RootUse::Script(*script)).collect();
        let container = Container {
            name: format!("{}/scripts", job.name),
            command: self.run_process(job, &["--scripts", "--job", &job.name], None),
            user: if root_uses.is_empty() { User::Vcap } else { User::Root(root_uses) },
            readiness: Some(Command::for_jobs(Program::Ready, [job.name.as_str()])),
            ..self.supervised(job)
        };
        Some(JobScripts { job: job.name.clone(), scripts, container })
    }

    fn process(
        &self,
        job: &bpm_info::Job,
        config: &ProcessConfig,
        errand: Option<ErrandKind>,
        mut root_uses: Vec<RootUse>,
    ) -> Container {
        if config.hooks.is_some() {
            root_uses.insert(0, RootUse::PreStartHook);
        }
        if config.unsafe_.privileged {
            root_uses.insert(0, RootUse::PrivilegedProcess);
        }
        let of_process = ["--job", &job.name, "--process", &config.name];
        Container {
            name: format!("{}/{}", job.name, config.name),
            command: self.run_process(job, &of_process, errand),
            user: if root_uses.is_empty() { User::Vcap } else { User::Root(root_uses) },
            privileges: privileges::of_process(config),
            memory_limit: config.limits.memory.as_deref().and_then(bpm::to_bytes),
            readiness: Some(Command::new(Program::Ready, &of_process)),
            ..self.supervised(job)
        }
    }

    /// `run-process`; as an errand, if it is one.
    ///
    /// In an instance that exists only for an errand, the errand begins when everything else there runs, and BOSH deletes the
    /// instance without the scripts of a stop.
    fn run_process(&self, job: &bpm_info::Job, args: &[&str], errand: Option<ErrandKind>) -> Command {
        let mut args = args.to_vec();
        if !args.contains(&"--scripts") {
            args.extend(self.passed(&job.name));
        }
        if self.group.lifecycle == Lifecycle::Errand {
            if errand != Some(ErrandKind::Script) {
                args.push("--skip-stop-scripts");
            }
            if errand.is_some() && self.has_services() {
                args.push("--after-processes");
            }
        }
        Command::new(Program::RunProcess, &args)
    }

    /// Whether anything runs all the time, or once at the start.
    fn has_services(&self) -> bool {
        let is_one =
            |job: &bpm_info::Job| !job.properties.quarks.services.is_empty() || self.has(job, Script::PostStart);
        self.jobs().any(is_one)
    }

    /// A container whose program is `run-process`. It has the variables that the manifest takes from Kubernetes.
    fn supervised(&self, job: &bpm_info::Job) -> Container {
        let grace = format!("{}s", self.settings.grace.as_secs());
        let mut env = vec![EnvVar::new("BOSON_GRACE", EnvValue::Text(grace))];
        let references = self.references(&job.name);
        env.extend(references.map(|(name, source)| EnvVar::new(name, EnvValue::Reference(source.clone()))));
        Container { env, ..self.of_release(&job.release) }
    }

    /// The variables of a job's processes that the manifest takes from Kubernetes.
    fn references(&self, job: &str) -> impl Iterator<Item = (&str, &Tree)> {
        let of_job = self
            .group
            .jobs
            .iter()
            .filter(move |candidate| candidate.name == job)
            .flat_map(|candidate| &candidate.quarks.envs);
        of_job.filter_map(|variable| Some((variable.name.as_str(), variable.value_from.as_ref()?)))
    }

    /// `--pass-env` for each variable that `run-process` gives to the process: it gets no others of its container.
    fn passed(&self, job: &str) -> Vec<&str> {
        self.references(job).flat_map(|(name, _)| ["--pass-env", name]).collect()
    }

    /// A container that runs what a release has.
    fn of_release(&self, release: &str) -> Container {
        let mut mounts = vec![
            Mount::read_only(VolumeName::AllReleases),
            Mount::writable(VolumeName::Jobs),
            Mount::read_only(VolumeName::Packages),
            Mount::writable(VolumeName::Tmp),
            Mount::read_only(VolumeName::Instance),
            Mount::writable(VolumeName::Bosh),
            Mount::writable(VolumeName::DevLog),
        ];
        mounts.extend(self.of_jobs());
        Container {
            image: Image::Release(release.to_owned()),
            foreign_packages: foreign_packages::of_release(self.group, release),
            shared_packages: foreign_packages::shared_of_group(self.group),
            ..self.boson("", Program::RunProcess, mounts)
        }
    }

    /// A container that runs only what boson has.
    fn boson(&self, name: &str, program: Program, mounts: Vec<Mount>) -> Container {
        Container {
            name: name.to_owned(),
            image: Image::Boson,
            command: Command::new(program, &[]),
            env: Vec::new(),
            mounts,
            foreign_packages: Vec::new(),
            shared_packages: Vec::new(),
            user: User::Vcap,
            privileges: Privileges::default(),
            memory_limit: None,
            readiness: None,
            started: None,
        }
    }

    /// Where jobs write.
    fn of_jobs(&self) -> Vec<Mount> {
        let store = self.disk().map(|_| VolumeName::Store);
        [VolumeName::Data, VolumeName::Sys].into_iter().chain(store).map(Mount::writable).collect()
    }

    /// The releases of the group's jobs, each once, in the order of jobs.
    fn releases(&self) -> Vec<&str> {
        let mut releases = Vec::new();
        for job in self.jobs() {
            if !releases.contains(&job.release.as_str()) {
                releases.push(job.release.as_str());
            }
        }
        releases
    }

    fn disk(&self) -> Option<&PersistentDisk> {
        self.group.persistent_disk.as_ref()
    }

    fn has(&self, job: &bpm_info::Job, script: Script) -> bool {
        let mut jobs = self.group.jobs.iter();
        jobs.any(|j| j.name == job.name && j.scripts.contains(&script))
    }
}

/// The processes of a job's `bpm.yml`.
fn configs(job: &bpm_info::Job) -> &[ProcessConfig] {
    job.properties.quarks.bpm.as_ref().map_or(&[], |bpm| bpm.processes.as_slice())
}
