//! The pods of a deployment as Kubernetes objects, made of what `plan` writes and of `workload`'s description.

use handoff::bpm_info::BpmInfo;
use handoff::deployment::Deployment;
use handoff::output;
use serde_json::{Value, json};
use workload::{Container, EnvValue, Image, Mount, Pod, Settings, Source, User, VolumeName};

/// `terminationGracePeriodSeconds`.
const GRACE: std::time::Duration = std::time::Duration::from_secs(45);

/// What `plan --output-dir` wrote about a group.
pub(crate) struct Group {
    pub(crate) pod: Pod,
    /// `properties.yaml`.
    pub(crate) properties: String,
}

/// The groups of a deployment, by the outputs of `plan` in a directory.
pub(crate) fn groups(directory: &std::path::Path) -> Vec<Group> {
    let read = |path: &str, name: &str| {
        let text = std::fs::read_to_string(directory.join(path)).unwrap();
        output::decode(&text, name, path).unwrap()
    };
    let deployment = read("deployment/output.json", output::DEPLOYMENT_YAML);
    let deployment = Deployment::decode(&deployment, "deployment.yaml").unwrap();
    let settings = Settings { grace: GRACE, template_settings: Vec::new() };
    let group = |group: &handoff::deployment::InstanceGroup| {
        let bpm = read(&format!("{}/bpm/output.json", group.name), output::BPM_YAML);
        let info = BpmInfo::decode(&bpm, "bpm.yaml").unwrap();
        Group {
            pod: Pod::new(&info, group, &settings),
            properties: read(&format!("{}/ig-resolved/output.json", group.name), output::PROPERTIES_YAML),
        }
    };
    deployment.instance_groups.iter().map(group).collect()
}

/// The objects of a group: what its name resolves to, its properties, and a StatefulSet, or a Job of its first errand.
pub(crate) fn objects(group: &Group, shares_pids: bool) -> Value {
    let pod = &group.pod;
    let name = &pod.group;
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": secret(pod)},
        "stringData": {"properties.yaml": group.properties},
    });
    let template = json!({"metadata": {"labels": labels(pod)}, "spec": spec(pod, shares_pids)});
    let workload = if pod.is_errand() {
        json!({
            "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
            "spec": {"backoffLimit": 0, "template": template},
        })
    } else {
        json!({
            "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": name},
            "spec": {
                "serviceName": name, "replicas": pod.replicas, "podManagementPolicy": "Parallel",
                "selector": {"matchLabels": labels(pod)}, "template": template, "volumeClaimTemplates": claims(pod),
            },
        })
    };
    let services = pod.instances.iter().filter(|_| !pod.is_errand()).map(|instance| service(pod, &instance.address));
    let items: Vec<Value> = services.chain([secret, workload]).collect();
    json!({"apiVersion": "v1", "kind": "List", "items": items})
}

fn labels(pod: &Pod) -> Value {
    json!({"app.kubernetes.io/name": pod.group})
}

fn secret(pod: &Pod) -> String {
    format!("{}.ig-resolved-v1", pod.group)
}

/// The address of one instance, without the namespace, is the name of its Service.
fn service(pod: &Pod, address: &str) -> Value {
    let name = address.split('.').next().unwrap();
    let ordinal = name.rsplit('-').next().unwrap();
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
        "spec": {
            "clusterIP": "None", "publishNotReadyAddresses": true,
            "selector": {"statefulset.kubernetes.io/pod-name": format!("{}-{ordinal}", pod.group)},
        },
    })
}

fn spec(pod: &Pod, shares_pids: bool) -> Value {
    let containers =
        |all: &mut dyn Iterator<Item = &Container>| -> Vec<Value> { all.map(|c| container(pod, c)).collect() };
    let sidecar = |value: Value| with(value, "restartPolicy", json!("Always"));
    let mut init = containers(&mut pod.supply.iter().chain(&pod.prepare));
    init.push(sidecar(container(pod, &pod.tail_logs)));
    init.extend(containers(&mut pod.pre_start.containers.iter()));
    let mut running = containers(&mut pod.processes.iter().map(|process| &process.container));
    running.extend(containers(&mut pod.scripts_only.iter().map(|job| &job.container)));
    if pod.is_errand() {
        init.extend(running.into_iter().map(sidecar));
        running = containers(&mut pod.errands.iter().take(1).map(|errand| &errand.container));
    }
    json!({
        "automountServiceAccountToken": false,
        "restartPolicy": if pod.is_errand() { "Never" } else { "Always" },
        "shareProcessNamespace": shares_pids,
        "terminationGracePeriodSeconds": pod.grace.as_secs(),
        "securityContext": {"runAsUser": 1000, "runAsGroup": 1000, "fsGroup": 1000, "seccompProfile": {"type": "RuntimeDefault"}},
        "initContainers": init, "containers": running, "volumes": volumes(pod),
    })
}

fn with(mut object: Value, key: &str, value: Value) -> Value {
    object[key] = value;
    object
}

fn container(pod: &Pod, container: &Container) -> Value {
    let (image, directory) = match &container.image {
        Image::Boson => ("boson/boson:latest".to_owned(), ""),
        Image::Release(release) => (format!("boson-e2e/{release}:latest"), "/var/vcap/all-releases/.boson/bin/"),
    };
    let argv = |command: &workload::Command| -> Vec<String> {
        let argv = command.argv();
        std::iter::once(format!("{directory}{}", argv[0])).chain(argv[1..].iter().map(|&arg| arg.to_owned())).collect()
    };
    // Only what the description says that it needs root for gets more than "restricted" allows.
    let security = match container.user {
        User::Vcap => json!({
            "runAsNonRoot": true, "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
            "capabilities": {"drop": ["ALL"]},
        }),
        User::Root(_) => json!({"runAsUser": 0, "runAsGroup": 0}),
    };
    let mut value = json!({
        "name": container.name.replace('/', "-"), "image": image, "imagePullPolicy": "IfNotPresent",
        "command": argv(&container.command), "env": env(pod, container), "securityContext": security,
        "volumeMounts": container.mounts.iter().filter_map(|mount| volume_mount(pod, mount)).collect::<Vec<_>>(),
        "terminationMessagePolicy": "File",
    });
    if let Some(ready) = &container.readiness {
        value["readinessProbe"] = json!({"exec": {"command": argv(ready)}, "periodSeconds": 1, "timeoutSeconds": 10});
    }
    if let Some(started) = &container.started {
        value["lifecycle"] = json!({"postStart": {"exec": {"command": argv(started)}}});
    }
    value
}

fn env(pod: &Pod, container: &Container) -> Vec<Value> {
    let field = |path: &str| json!({"fieldRef": {"fieldPath": path}});
    let ordinal = |name: &str| match pod.is_errand() {
        true => json!({"name": name, "value": "0"}),
        false => json!({"name": name, "valueFrom": field("metadata.labels['apps.kubernetes.io/pod-index']")}),
    };
    let variable = |variable: &workload::EnvVar| match &variable.value {
        EnvValue::Text(text) => json!({"name": variable.name, "value": text}),
        EnvValue::AzIndex => json!({"name": variable.name, "value": "1"}),
        EnvValue::Replicas => json!({"name": variable.name, "value": pod.replicas.to_string()}),
        EnvValue::PodOrdinal => ordinal(&variable.name),
        EnvValue::PodIp => json!({"name": variable.name, "valueFrom": field("status.podIP")}),
        EnvValue::Reference(source) => json!({"name": variable.name, "valueFrom": source}),
    };
    container.env.iter().map(variable).collect()
}

fn name(volume: VolumeName) -> Value {
    serde_json::to_value(volume).unwrap()
}

fn volume_mount(pod: &Pod, mount: &Mount) -> Option<Value> {
    let volume = pod.volumes.iter().find(|volume| volume.name == mount.volume).unwrap();
    match &volume.source {
        Source::Image => None,
        Source::Socket { volume: within, path } => {
            Some(json!({"name": name(*within), "mountPath": volume.path, "subPath": path}))
        }
        _ => Some(json!({"name": name(volume.name), "mountPath": volume.path, "readOnly": mount.read_only})),
    }
}

fn volumes(pod: &Pod) -> Vec<Value> {
    let volume = |volume: &workload::Volume| {
        let named = json!({"name": name(volume.name)});
        Some(match &volume.source {
            Source::Supplied | Source::Scratch | Source::ForeignPackages => with(named, "emptyDir", json!({})),
            Source::Memory => with(named, "emptyDir", json!({"medium": "Memory", "sizeLimit": "16Mi"})),
            Source::ResolvedProperties => with(named, "secret", json!({"secretName": secret(pod)})),
            Source::Image | Source::Socket { .. } | Source::Disk { .. } => return None,
        })
    };
    pod.volumes.iter().filter_map(volume).collect()
}

fn claims(pod: &Pod) -> Vec<Value> {
    let claim = |volume: &workload::Volume| {
        let Source::Disk { size, .. } = &volume.source else { return None };
        let storage = format!("{}Mi", size.unwrap_or(100));
        Some(json!({
            "metadata": {"name": name(volume.name)},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": storage}}},
        }))
    };
    pod.volumes.iter().filter_map(claim).collect()
}
