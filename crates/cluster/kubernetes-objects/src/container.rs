//! Containers of Kubernetes from those of [`workload`].

use std::collections::BTreeMap;

use handoff::deployment::InstanceGroup;
use k8s_openapi::api::core::v1::{
    ConfigMapKeySelector, Container, EnvVar, EnvVarSource, ExecAction, Lifecycle, LifecycleHandler,
    ObjectFieldSelector, ResourceRequirements, SecurityContext, VolumeMount,
};
use workload::{EnvValue, Image, Program};

use crate::manifest_settings::{ManifestSettings, Owner};
use crate::metadata::ORDINAL;
use crate::security::{runs_as_root, security};
use crate::{Settings, names, patches, probes, resources, typed, volumes};

/// Where `install` puts the executables.
const INSTALLED: &str = "/var/vcap/all-releases/.boson/bin";
/// The memory of boson's own programs, in MiB: Ruby, or a supervisor.
const RENDERING: u32 = 512;
const SUPERVISING: u32 = 128;
/// The pod around a container.
pub(crate) struct Around<'a> {
    pub(crate) pod: &'a workload::Pod,
    pub(crate) settings: &'a Settings,
    /// The ConfigMaps with patches, by the names of their volumes.
    pub(crate) patches: &'a BTreeMap<String, String>,
    /// `AZ_INDEX`.
    pub(crate) az_index: u32,
    pub(crate) group: &'a InstanceGroup,
    /// The number of containers that share the group's resources.
    pub(crate) sharers: usize,
    /// The manifest's settings.
    pub(crate) given: &'a ManifestSettings,
}

impl Around<'_> {
    /// The container with this name.
    pub(crate) fn container(&self, name: String, from: &workload::Container) -> Container {
        let image = match &from.image {
            Image::Boson => Some(&self.settings.boson_image),
            Image::Release(release) => self.settings.release_images.get(release),
        };
        let argv = |command: &workload::Command| -> Vec<String> {
            let mut argv: Vec<String> = command.argv().into_iter().map(str::to_owned).collect();
            if let (Image::Release(_), Some(program)) = (&from.image, argv.first_mut()) {
                *program = format!("{INSTALLED}/{program}");
            }
            argv
        };
        let owner = Owner::of(self.pod, from);
        let env: Vec<EnvVar> = from.env.iter().map(|variable| self.variable(variable)).collect();
        let is_service = self.pod.processes.iter().any(|process| process.container.name == from.name);
        let mut container = Container {
            name,
            image: image.cloned(),
            image_pull_policy: Some("IfNotPresent".to_owned()),
            command: Some(argv(&from.command)),
            env: (!env.is_empty()).then_some(env),
            resources: Some(self.resources(from, owner)),
            lifecycle: from.started.as_ref().map(|command| Lifecycle {
                post_start: Some(LifecycleHandler {
                    exec: Some(ExecAction { command: Some(argv(command)) }),
                    ..LifecycleHandler::default()
                }),
                ..Lifecycle::default()
            }),
            security_context: Some(self.security_context(from, owner)),
            volume_mounts: Some(self.mounts(from, owner)),
            ..Container::default()
        };
        if let (Program::CopyJobs, Image::Release(release)) = (from.command.program, &from.image)
            && self.patches.contains_key(&patches::volume_name(release))
        {
            container.command.get_or_insert_default().extend(["--patch".to_owned(), patches::directory(release)]);
            container.volume_mounts.get_or_insert_default().push(patches::mount(release));
        }
        let probes = owner.and_then(|owner| self.given.job(owner.job)?.probes.get(owner.process?));
        let active = owner.filter(|_| is_service).and_then(|owner| self.given.active(owner));
        let ready = from.readiness.as_ref().map(argv);
        probes::add(&mut container, probes.filter(|_| is_service), active, ready);
        container
    }

    fn variable(&self, variable: &workload::EnvVar) -> EnvVar {
        let text = |text: String| EnvVar { name: variable.name.clone(), value: Some(text), value_from: None };
        let from = |source: EnvVarSource| EnvVar { name: variable.name.clone(), value: None, value_from: Some(source) };
        let field = |path: &str| EnvVarSource {
            field_ref: Some(ObjectFieldSelector { api_version: None, field_path: path.to_owned() }),
            ..EnvVarSource::default()
        };
        match &variable.value {
            EnvValue::Text(value) => text(value.clone()),
            EnvValue::AzIndex => text(self.az_index.to_string()),
            EnvValue::Replicas => from(EnvVarSource {
                config_map_key_ref: Some(ConfigMapKeySelector {
                    name: names::replicas(&self.pod.deployment),
                    key: names::key(&self.pod.group),
                    optional: None,
                }),
                ..EnvVarSource::default()
            }),
            // A Job's pod has no index of its own.
            EnvValue::PodOrdinal if self.pod.is_errand() => from(field(&format!("metadata.labels['{ORDINAL}']"))),
            EnvValue::PodOrdinal => from(field("metadata.labels['apps.kubernetes.io/pod-index']")),
            EnvValue::PodIp => from(field("status.podIP")),
            // It was checked with the settings.
            EnvValue::Reference(source) => from(typed(source).unwrap_or_default()),
        }
    }

    fn security_context(&self, from: &workload::Container, owner: Option<Owner>) -> SecurityContext {
        let own = security(from, runs_as_root(self.pod, from, self.settings.scripts_as));
        match (owner, &from.image) {
            (Some(owner), _) => self.given.security_context(own, owner.job),
            // Scripts of several jobs.
            (None, Image::Release(release)) if from.command.program == Program::PreStart => {
                let jobs = self.pod.jobs.iter().filter(|job| job.release == *release);
                jobs.fold(own, |context, job| self.given.security_context_of_scripts(context, &job.name))
            }
            _ => own,
        }
    }

    fn mounts(&self, from: &workload::Container, owner: Option<Owner>) -> Vec<VolumeMount> {
        let mut mounts = volumes::mounts(self.pod, from);
        if from.command.program == Program::RunRequests {
            mounts.push(volumes::requests_mount());
        }
        if self.given.group.disable_log_sidecar {
            // Only the sidecar makes the socket.
            mounts.retain(|mount| mount.sub_path.is_none());
        }
        if owner.is_some() || from.command.program == Program::PreStart {
            mounts.extend(self.given.mounts(owner));
        }
        mounts
    }

    fn resources(&self, from: &workload::Container, owner: Option<Owner>) -> ResourceRequirements {
        match from.command.program {
            // What operators run in it is not known.
            Program::RunProcess if from.is_idle() => resources::of_release(None, 1, from.memory_limit),
            Program::RunProcess => {
                let vm = self.settings.vm_resources(self.group);
                let mut resources = resources::of_release(vm.as_ref(), self.sharers, from.memory_limit);
                owner.into_iter().for_each(|owner| self.given.add_resources(&mut resources, owner));
                resources
            }
            Program::RenderJobs => resources::of_boson(RENDERING),
            // The scripts of a release, whose needs are not known.
            Program::PreStart | Program::PostStart | Program::PostDeploy | Program::RunRequests => {
                resources::of_release(None, 1, None)
            }
            _ => resources::of_boson(SUPERVISING),
        }
    }
}
