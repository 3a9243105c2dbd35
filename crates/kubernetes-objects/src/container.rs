//! Containers of Kubernetes from those of [`workload`].

use handoff::deployment::InstanceGroup;
use k8s_openapi::api::core::v1::{
    ConfigMapKeySelector, Container, EnvVar, EnvVarSource, ExecAction, Lifecycle, LifecycleHandler, ObjectFieldSelector,
};
use workload::{EnvValue, Image, Program};

use crate::metadata::ORDINAL;
use crate::security::{runs_as_root, security};
use crate::{Settings, names, probes, resources, volumes};

/// Where `install` puts the executables.
const INSTALLED: &str = "/var/vcap/all-releases/.boson/bin";
/// The memory of boson's own programs, in MiB: Ruby, or a supervisor.
const RENDERING: u32 = 512;
const SUPERVISING: u32 = 128;
/// The pod around a container.
pub(crate) struct Around<'a> {
    pub(crate) pod: &'a workload::Pod,
    pub(crate) settings: &'a Settings,
    /// `AZ_INDEX`.
    pub(crate) az_index: u32,
    pub(crate) group: &'a InstanceGroup,
    /// The number of containers that share the group's resources.
    pub(crate) sharers: usize,
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
        let env: Vec<EnvVar> = from.env.iter().map(|variable| self.variable(variable)).collect();
        let mut container = Container {
            name,
            image: image.cloned(),
            image_pull_policy: Some("IfNotPresent".to_owned()),
            command: Some(argv(&from.command)),
            env: (!env.is_empty()).then_some(env),
            resources: Some(self.resources(from)),
            lifecycle: from.started.as_ref().map(|command| Lifecycle {
                post_start: Some(LifecycleHandler {
                    exec: Some(ExecAction { command: Some(argv(command)) }),
                    ..LifecycleHandler::default()
                }),
                ..Lifecycle::default()
            }),
            security_context: Some(security(from, runs_as_root(self.pod, from, self.settings.scripts_as))),
            volume_mounts: Some(volumes::mounts(self.pod, from)),
            ..Container::default()
        };
        probes::add(&mut container, self.pod, self.group, &from.name, from.readiness.as_ref().map(argv));
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
        }
    }

    fn resources(&self, from: &workload::Container) -> k8s_openapi::api::core::v1::ResourceRequirements {
        match from.command.program {
            Program::RunProcess => {
                resources::of_release(self.group.vm_resources.as_ref(), self.sharers, from.memory_limit)
            }
            Program::RenderJobs => resources::of_boson(RENDERING),
            // The scripts of a release, whose needs are not known.
            Program::PreStart | Program::PostStart | Program::PostDeploy => resources::of_release(None, 1, None),
            _ => resources::of_boson(SUPERVISING),
        }
    }
}
