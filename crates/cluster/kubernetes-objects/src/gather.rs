//! The gather Job of a deployment, and what it needs.

use std::collections::BTreeMap;

use handoff::identities::IDENTITIES_JSON;
use k8s_openapi::ByteString;
use k8s_openapi::api::batch::v1::{
    Job, JobSpec, PodFailurePolicy, PodFailurePolicyOnExitCodesRequirement, PodFailurePolicyRule,
};
use k8s_openapi::api::core::v1::{
    Capabilities, ConfigMap, ConfigMapVolumeSource, Container, EmptyDirVolumeSource, EnvVar, EnvVarSource, KeyToPath,
    ObjectFieldSelector, PodSpec, PodTemplateSpec, ProjectedVolumeSource, Secret, SecretProjection, SecretVolumeSource,
    SecurityContext, ServiceAccount, Volume, VolumeMount, VolumeProjection,
};
use k8s_openapi::api::rbac::v1::{PolicyRule, Role, RoleBinding, RoleRef, Subject};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use object_basics::{NAMESPACE, Object, digest, distributed, part, token};

use crate::look::CHECK;
use crate::metadata::{KIND, of_deployment};
use crate::{LinkRef, Patches, Settings, links, names, network, object, ownership, patches, pod, resources, typed};

/// The content of a gather run.
#[derive(Debug, Clone)]
pub struct Gather<'a> {
    /// The deployment's name.
    pub deployment: &'a str,
    /// The manifest, with all variables replaced.
    pub manifest: &'a [u8],
    /// Runtime configs, in order, with all variables replaced.
    pub runtime_configs: &'a [&'a [u8]],
    /// Cloud configs, in order, with all variables replaced.
    pub cloud_configs: &'a [&'a [u8]],
    /// The namespace of all objects; where `kubectl` has it if absent.
    pub namespace: Option<&'a str>,
    /// `KUBE_SERVICE_DOMAIN`.
    pub service_domain: &'a str,
    /// The releases, in the manifest's order.
    pub releases: &'a [String],
    /// The links of other deployments that the manifest consumes.
    pub links: &'a [LinkRef],
    /// The patches of releases, each release once.
    pub patches: &'a [Patches],
    /// An account that exists already; else one is made, with a role.
    pub service_account: Option<&'a str>,
    /// Images and the like.
    pub settings: &'a Settings,
    /// The groups of which each document is written by a container of its own; if there are none, one container writes all.
    pub planned_groups: &'a [String],
    /// Addresses of API servers (CIDR), for network policies; any if empty.
    pub api_servers: &'a [String],
    /// The flags of `deploy`, which the record of the run keeps, too.
    pub deploy: Vec<String>,
    /// The flags of `deploy` that are for this run alone.
    pub deploy_once: Vec<&'a str>,
    /// Whether `deploy` takes over objects of others.
    pub force_conflicts: bool,
}

const TOKEN: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
const OUTPUT: &str = "/mnt/quarks";
const SOURCES: &str = "/var/vcap/all-releases";
/// Where `plan` finds the manifest by itself.
const MANIFEST: &str = "/var/run/secrets/deployment";
/// Where `plan` finds the identities of the version before by itself.
const PREVIOUS: &str = "/var/run/secrets/previous";
/// What `plan` may need for the largest deployments, in MiB.
const PLANNING: u32 = 1024;
const SMALL: u32 = 128;
/// Another try may succeed only where the API server failed, or the pod itself was lost.
const RETRIES: i32 = 3;
/// Exit codes that another try cannot change: usage, the operator's input, templates, an update that failed; an error of boson or of the
/// machine, if the container does not use the API server.
const FINAL_CODES: [i32; 5] = [2, 65, 66, 69, FAILED];
/// An error of the API server, of boson or of the machine.
const FAILED: i32 = 70;
/// The containers that use the API server.
const WITH_TOKEN: [&str; 3] = [CHECK, "write-secrets", "deploy"];

/// All objects, in the order in which they are applied. The Job's name ends in a digest of its content: another content is another
/// run, the same content none.
pub fn gather_objects(gather: &Gather) -> Vec<Object> {
    let name = gather.deployment;
    let account = gather.service_account.map_or_else(|| names::gather_prefix(name), str::to_owned);
    let manifest = gather.manifest_secrets();
    let secrets: Vec<String> = manifest.iter().filter_map(|secret| secret.metadata.name.clone()).collect();
    let mut objects = vec![anchor_object(name)];
    if gather.service_account.is_none() {
        objects.extend(account_objects(gather.deployment, &account, gather.settings.network_policies));
    }
    if gather.settings.network_policies {
        objects.push(object(&network::of_gather(names::gather_prefix(name), name, gather.api_servers)));
    }
    objects.extend(gather.patches.iter().map(|patches| object(&patches.config_map(name))));
    objects.extend(manifest.iter().map(object));
    objects.push(object(&gather.job(&account, &secrets)));
    if let Some(namespace) = gather.namespace {
        for object in &mut objects {
            object["metadata"]["namespace"] = namespace.into();
        }
    }
    objects
}

/// The anchor of a deployment: the ConfigMap that owns everything, and by which it is found.
pub fn anchor_object(deployment: &str) -> Object {
    object(&ConfigMap {
        metadata: of_deployment(names::anchor(deployment), deployment, &[(KIND, "anchor")]),
        data: Some([(ownership::NAME.to_owned(), deployment.to_owned())].into()),
        ..ConfigMap::default()
    })
}

/// The account of write-secrets and deploy: what they need, in one namespace.
fn account_objects(deployment: &str, account: &str, network_policies: bool) -> [Object; 3] {
    let metadata = || of_deployment(account.to_owned(), deployment, &[(KIND, "gather")]);
    let strings = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    let rule = |group: &str, kinds: &[&str], verbs: &[&str]| PolicyRule {
        api_groups: Some(strings(&[group])),
        resources: Some(strings(kinds)),
        verbs: strings(verbs),
        ..PolicyRule::default()
    };
    let all = ["get", "list", "create", "patch", "delete"];
    let mut rules = vec![
        rule("", &["configmaps", "secrets", "services"], &all),
        rule("apps", &["deployments", "statefulsets"], &all),
        rule("batch", &["jobs"], &all),
        rule("policy", &["poddisruptionbudgets"], &all),
        // Persistent disks of errands; they outlive the deployment.
        rule("", &["persistentvolumeclaims"], &["get", "list", "create", "patch"]),
        // Old revisions of pods name versions of documents that are still needed.
        rule("apps", &["controllerrevisions"], &["list"]),
        // `create` only as a trial (dry run): whether the namespace admits the pods. `patch` requests post-deploy scripts and errands
        // of instances, whose logs have the answers.
        rule("", &["pods"], &["get", "list", "create", "patch", "delete"]),
        // An update replaces pods, and heeds disruption budgets.
        rule("", &["pods/eviction"], &["create"]),
        rule("", &["pods/log"], &["get"]),
        // `create` reports what Kubernetes does not: a post-start script that failed.
        rule("", &["events"], &["list", "create"]),
    ];
    // One run at a time.
    rules.push(rule("coordination.k8s.io", &["leases"], &["get", "create", "patch"]));
    if network_policies {
        rules.push(rule("networking.k8s.io", &["networkpolicies"], &all));
    }
    let token = ServiceAccount {
        metadata: metadata(),
        automount_service_account_token: Some(false),
        ..ServiceAccount::default()
    };
    let role = Role { metadata: metadata(), rules: Some(rules) };
    let subject = Subject { kind: "ServiceAccount".to_owned(), name: account.to_owned(), ..Subject::default() };
    let role_ref = RoleRef {
        api_group: "rbac.authorization.k8s.io".to_owned(),
        kind: "Role".to_owned(),
        name: account.to_owned(),
    };
    let binding = RoleBinding { metadata: metadata(), role_ref, subjects: Some(vec![subject]) };
    [object(&token), object(&role), object(&binding)]
}

impl Gather<'_> {
    /// The flag of `plan`, the file and the content of each config.
    fn configs(&self) -> Vec<(&'static str, String, &[u8])> {
        let mut configs = Vec::new();
        for (flag, texts) in [("--runtime-config", self.runtime_configs), ("--cloud-config", self.cloud_configs)] {
            let kind = flag.trim_start_matches('-');
            let files = texts.iter().enumerate();
            configs.extend(files.map(|(number, text)| (flag, format!("{kind}-{}.yaml", number + 1), *text)));
        }
        configs
    }

    /// The manifest and the configs, in as many Secrets as they need; their names change with the content of all of them.
    fn manifest_secrets(&self) -> Vec<Secret> {
        let mut documents = vec![("manifest.yaml".to_owned(), self.manifest)];
        documents.extend(self.configs().into_iter().map(|(_, file, text)| (file, text)));
        let bytes = |files: BTreeMap<String, Vec<u8>>| {
            crate::map(files.into_iter().map(|(name, content)| (name, ByteString(content))))
        };
        let files: Vec<BTreeMap<String, ByteString>> = distributed(documents).into_iter().map(bytes).collect();
        let all: BTreeMap<&String, &ByteString> = files.iter().flatten().collect();
        let digest = digest(object(&all).to_string().as_bytes());
        let name = format!("{}-manifest-{digest}", names::gather_prefix(self.deployment));
        let secret = |(number, data): (usize, BTreeMap<String, ByteString>)| Secret {
            metadata: of_deployment(part(&name, number), self.deployment, &[(KIND, "manifest")]),
            data: Some(data),
            immutable: Some(true),
            ..Secret::default()
        };
        (1..).zip(files).map(secret).collect()
    }

    fn job(&self, account: &str, manifest: &[String]) -> Job {
        let labels = of_deployment(String::new(), self.deployment, &[(KIND, "gather")]).labels;
        let template = PodTemplateSpec {
            metadata: Some(ObjectMeta { labels, ..ObjectMeta::default() }),
            spec: Some(self.pod(account, manifest)),
        };
        let digest = digest(object(&template).to_string().as_bytes());
        let name = format!("{}-{digest}", names::gather_prefix(self.deployment));
        let rule = |action: &str, container: Option<&str>, codes: &[i32]| PodFailurePolicyRule {
            action: action.to_owned(),
            on_exit_codes: Some(PodFailurePolicyOnExitCodesRequirement {
                operator: "In".to_owned(),
                values: codes.to_vec(),
                container_name: container.map(str::to_owned),
            }),
            ..PodFailurePolicyRule::default()
        };
        // The first rule that matches counts.
        let mut rules: Vec<_> = WITH_TOKEN.iter().map(|name| rule("Count", Some(name), &[FAILED])).collect();
        rules.push(rule("FailJob", None, &FINAL_CODES));
        let spec = JobSpec {
            backoff_limit: Some(RETRIES),
            pod_failure_policy: Some(PodFailurePolicy { rules }),
            template,
            ..JobSpec::default()
        };
        Job { metadata: of_deployment(name, self.deployment, &[(KIND, "gather")]), spec: Some(spec), status: None }
    }

    fn pod(&self, account: &str, manifest: &[String]) -> PodSpec {
        let mut init = vec![self.boson("install", &["install"], SMALL, vec![writable("all-releases", SOURCES)])];
        let copy = self.releases.iter().map(|release| format!("copy-jobs/{release}")).collect::<Vec<_>>();
        let copy = names::containers(copy.iter().map(String::as_str));
        for (name, release) in copy.into_iter().zip(self.releases) {
            init.push(self.copy_jobs(name, release));
        }
        init.push(self.plan());
        init.extend(self.plans_of_groups());
        let more = self.deploy.iter().map(String::as_str);
        let patches = self.patches.iter().map(|patch| (&patch.release, patch.config_map_name(self.deployment)));
        let patches: Vec<String> = patches.map(|(release, name)| format!("--patches={release}={name}")).collect();
        let flags: Vec<&str> = more.chain(patches.iter().map(String::as_str)).collect();
        let mut deploy = [&["deploy", "--deployment-name", self.deployment][..], &flags].concat();
        deploy.extend(&self.deploy_once);
        deploy.extend(self.force_conflicts.then_some("--force-conflicts"));
        // What the cluster would refuse is reported before anything is written.
        let check: Vec<&str> = deploy.iter().copied().chain(["--check", OUTPUT]).collect();
        let mounts = || vec![read_only("output", OUTPUT), read_only("token", TOKEN)];
        let job = || vec![field("GATHER_JOB", "metadata.labels['batch.kubernetes.io/job-name']")];
        init.push(Container { env: Some(job()), ..self.boson(CHECK, &check, SMALL, mounts()) });
        let mut write = vec!["write-secrets", "--from", OUTPUT];
        write.extend(self.force_conflicts.then_some("--force-conflicts"));
        // The record keeps what `rollback` and `status` need to compute the same objects.
        write.extend(["--"].into_iter().chain(flags));
        init.push(Container { env: Some(job()), ..self.boson("write-secrets", &write, SMALL, mounts()) });
        let token = vec![read_only("token", TOKEN)];
        let deploy = Container { env: Some(job()), ..self.boson("deploy", &deploy, SMALL, token) };
        PodSpec {
            automount_service_account_token: Some(false),
            enable_service_links: Some(false),
            containers: vec![deploy],
            image_pull_secrets: pod::pull_secrets(self.settings),
            init_containers: Some(init),
            priority_class_name: self.settings.priority_class.clone(),
            restart_policy: Some("Never".to_owned()),
            security_context: Some(pod::security(true, false)),
            service_account_name: Some(account.to_owned()),
            volumes: Some(self.volumes(manifest)),
            ..PodSpec::default()
        }
    }

    /// The containers of the specification: two for each group, one document each.
    fn plans_of_groups(&self) -> Vec<Container> {
        let kinds = ["ig-resolved", "bpm"];
        let copies = self.planned_groups.iter().flat_map(|group| kinds.map(|kind| (group, kind)));
        let copies: Vec<_> = copies.map(|(group, kind)| (group, kind, format!("{kind}/{group}"))).collect();
        let names = names::containers(copies.iter().map(|(.., name)| name.as_str()));
        let container = |(name, (group, kind, _)): (String, &(&String, &str, String))| {
            let plan = self.plan();
            let mut command = plan.command.unwrap_or_default();
            // plan KIND instead of plan --output-dir DIR.
            command.splice(1..3, [(*kind).to_owned()]);
            let mut env = plan.env.unwrap_or_default();
            env.push(text("INSTANCE_GROUP_NAME", group));
            let mut mounts = plan.volume_mounts.unwrap_or_default();
            for mount in mounts.iter_mut().filter(|mount| mount.mount_path == OUTPUT) {
                mount.sub_path = Some(format!("{group}/{kind}"));
            }
            Container { name, command: Some(command), env: Some(env), volume_mounts: Some(mounts), ..self.plan() }
        };
        names.into_iter().zip(&copies).map(container).collect()
    }

    fn plan(&self) -> Container {
        let namespace = field("KUBE_NAMESPACE", NAMESPACE);
        let mut mounts = vec![
            read_only("all-releases", SOURCES),
            read_only("manifest", MANIFEST),
            writable("output", OUTPUT),
            writable("tmp", "/tmp"),
            read_only("previous", PREVIOUS),
        ];
        mounts.extend(self.links.iter().map(links::mount));
        let env =
            vec![text("DEPLOYMENT_NAME", self.deployment), namespace, text("KUBE_SERVICE_DOMAIN", self.service_domain)];
        let configs =
            self.configs().into_iter().flat_map(|(flag, file, _)| [flag.to_owned(), format!("{MANIFEST}/{file}")]);
        let command: Vec<String> =
            ["plan", "--output-dir", OUTPUT].into_iter().map(str::to_owned).chain(configs).collect();
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        Container { env: Some(env), ..self.boson("plan", &command, PLANNING, mounts) }
    }

    fn volumes(&self, manifest: &[String]) -> Vec<Volume> {
        let patches = self.patches.iter();
        let patches = patches.map(|patch| {
            patches::volume(&patches::volume_name(&patch.release), &patch.config_map_name(self.deployment))
        });
        volumes(manifest)
            .into_iter()
            .chain([previous(self.deployment)])
            .chain(patches)
            .chain(self.links.iter().map(links::volume))
            .collect()
    }

    fn copy_jobs(&self, name: String, release: &str) -> Container {
        let program = format!("{SOURCES}/.boson/bin/copy-jobs");
        let mut mounts = vec![writable("all-releases", SOURCES)];
        let image = self.settings.release_images.get(release).cloned();
        let mut command = vec![program.as_str(), "--release", release];
        let directory = patches::directory(release);
        if self.patches.iter().any(|patch| patch.release == release) {
            command.extend(["--patch", &directory]);
            mounts.push(patches::mount(release));
        }
        Container { image, ..self.boson(&name, &command, SMALL, mounts) }
    }

    fn boson(&self, name: &str, command: &[&str], memory: u32, mounts: Vec<VolumeMount>) -> Container {
        Container {
            name: name.to_owned(),
            image: Some(self.settings.boson_image.clone()),
            image_pull_policy: Some("IfNotPresent".to_owned()),
            command: Some(command.iter().map(|&word| word.to_owned()).collect()),
            resources: Some(resources::of_boson(memory)),
            security_context: Some(SecurityContext {
                allow_privilege_escalation: Some(false),
                read_only_root_filesystem: Some(true),
                capabilities: Some(Capabilities { drop: Some(vec!["ALL".to_owned()]), add: None }),
                ..SecurityContext::default()
            }),
            volume_mounts: Some(mounts),
            ..Container::default()
        }
    }
}

fn writable(volume: &str, path: &str) -> VolumeMount {
    VolumeMount { name: volume.to_owned(), mount_path: path.to_owned(), ..VolumeMount::default() }
}

fn read_only(volume: &str, path: &str) -> VolumeMount {
    VolumeMount { read_only: Some(true), ..writable(volume, path) }
}

/// A variable with a text.
fn text(name: &str, value: &str) -> EnvVar {
    EnvVar { name: name.to_owned(), value: Some(value.to_owned()), value_from: None }
}

/// A variable with a field of the pod.
fn field(name: &str, path: &str) -> EnvVar {
    let field_ref = Some(ObjectFieldSelector { api_version: None, field_path: path.to_owned() });
    EnvVar {
        name: name.to_owned(),
        value: None,
        value_from: Some(EnvVarSource { field_ref, ..EnvVarSource::default() }),
    }
}

/// The volumes of all gather Jobs; `manifest` are the Secrets with the manifest, which `plan` sees in one directory.
/// The identities in the record of the versions before, which does not exist before the first one.
fn previous(deployment: &str) -> Volume {
    let item = KeyToPath { key: IDENTITIES_JSON.to_owned(), path: IDENTITIES_JSON.to_owned(), mode: None };
    let source = ConfigMapVolumeSource {
        name: names::record(deployment),
        items: Some(vec![item]),
        optional: Some(true),
        ..ConfigMapVolumeSource::default()
    };
    Volume { name: "previous".to_owned(), config_map: Some(source), ..Volume::default() }
}

fn volumes(manifest: &[String]) -> Vec<Volume> {
    let named = |name: &str| Volume { name: name.to_owned(), ..Volume::default() };
    let empty = |name: &str, medium: Option<&str>| Volume {
        empty_dir: Some(EmptyDirVolumeSource { medium: medium.map(str::to_owned), size_limit: None }),
        ..named(name)
    };
    let manifest = match manifest {
        [only] => {
            let secret_name = Some(only.clone());
            let secret = SecretVolumeSource { secret_name, default_mode: Some(0o440), ..SecretVolumeSource::default() };
            Volume { secret: Some(secret), ..named("manifest") }
        }
        several => {
            let source = |name: &String| VolumeProjection {
                secret: Some(SecretProjection { name: name.clone(), ..SecretProjection::default() }),
                ..VolumeProjection::default()
            };
            let sources = Some(several.iter().map(source).collect());
            let projected = ProjectedVolumeSource { default_mode: Some(0o440), sources };
            Volume { projected: Some(projected), ..named("manifest") }
        }
    };
    vec![
        empty("all-releases", None),
        manifest,
        // Secrets are in the documents: they never reach a disk.
        empty("output", Some("Memory")),
        empty("tmp", Some("Memory")),
        Volume { projected: typed(&token()), ..named("token") },
    ]
}
