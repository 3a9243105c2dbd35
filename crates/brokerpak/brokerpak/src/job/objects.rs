//! The Job of an operation on a brokerpak's instance, and what it needs.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use object_basics::{MANAGED_BY, MANAGER, Object, digest, dns_label, token};
use serde_json::{Value as Json, json};

/// An operation that a Job carries out.
#[derive(Debug, Clone)]
pub(super) struct BrokerpakJob<'a> {
    /// `provision`, `update`, `upgrade`, `deprovision`, `bind` or `unbind`.
    pub(super) operation: &'a str,
    /// The id of the instance.
    pub(super) instance: &'a str,
    /// The request and the configurations: names of files and contents.
    pub(super) files: Vec<(&'a str, Vec<u8>)>,
    /// The image with the unpacked pak.
    pub(super) image: &'a str,
    /// The image with `boson-cluster`.
    pub(super) boson_image: &'a str,
    /// The namespace of all objects; where `kubectl` has it if absent.
    pub(super) namespace: Option<&'a str>,
    /// An account that exists already; else one is made, with a role.
    pub(super) service_account: Option<&'a str>,
    /// Secrets whose keys are environment variables of terraform.
    pub(super) environment: &'a [String],
    /// The Secret of a binding, and its type behind `servicebinding.io/`.
    pub(super) secret: Option<(&'a str, &'a str)>,
}

/// The longest first part of a name.
const NAME: usize = 30;
const STATE: &str = "/state";
const REQUEST: &str = "/request";
const TOKEN: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// Another try may succeed only where the environment failed.
const RETRIES: u32 = 3;
/// How long terraform may take to finish what it has begun when the pod is to end, and its state to be stored.
const GRACE: u32 = 900;
/// How long another Job may use the instance until this one gives up: the time of the probe.
const PATIENCE: u32 = 3600;

/// All objects, in the order in which they are applied. The Job's name ends in a digest of its content: another content is another
/// run, the same content none.
pub(super) fn brokerpak_objects(job: &BrokerpakJob<'_>) -> Vec<Object> {
    let prefix = format!("brokerpak-{}", dns_label(job.instance, NAME));
    let account = job.service_account.unwrap_or("brokerpak");
    let request = job.request(&prefix);
    let mut objects = if job.service_account.is_none() { account_objects(account).to_vec() } else { Vec::new() };
    let template = job.template(account, request["metadata"]["name"].as_str().unwrap_or_default());
    let name = format!("{prefix}-{}-{}", job.operation, digest(template.to_string().as_bytes()));
    objects.push(request);
    objects.push(json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": name, "labels": labels()},
        "spec": {
            "backoffLimit": RETRIES,
            "podFailurePolicy": {"rules": [
                {"action": "FailJob", "onExitCodes": {"containerName": "finish", "operator": "In", "values": [2, 65, 66]}},
            ]},
            "template": template,
        },
    }));
    if let Some(namespace) = job.namespace {
        for object in &mut objects {
            object["metadata"]["namespace"] = namespace.into();
            if let Some(subject) = object.pointer_mut("/subjects/0") {
                subject["namespace"] = namespace.into();
            }
        }
    }
    objects
}

fn labels() -> Json {
    json!({MANAGED_BY: MANAGER, "app.kubernetes.io/component": "brokerpak"})
}

/// The account of the containers that keep the state: Leases and Secrets of one namespace.
fn account_objects(account: &str) -> [Object; 3] {
    let metadata = json!({"name": account, "labels": labels()});
    [
        json!({
            "apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata,
            "automountServiceAccountToken": false,
        }),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": metadata,
            "rules": [
                {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"],
                    "verbs": ["get", "create", "patch", "delete"]},
                {"apiGroups": [""], "resources": ["secrets"],
                    "verbs": ["get", "list", "create", "patch", "delete"]},
            ],
        }),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": metadata,
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": account},
            "subjects": [{"kind": "ServiceAccount", "name": account}],
        }),
    ]
}

impl BrokerpakJob<'_> {
    /// The Secret of the request; its name changes with its content.
    fn request(&self, prefix: &str) -> Object {
        let data: serde_json::Map<String, Json> = self
            .files
            .iter()
            .map(|(name, content)| ((*name).to_owned(), Json::String(BASE64.encode(content))))
            .collect();
        let digest = digest(Json::Object(data.clone()).to_string().as_bytes());
        json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": format!("{prefix}-request-{digest}"), "labels": labels()},
            "immutable": true,
            "data": data,
        })
    }

    fn template(&self, account: &str, request: &str) -> Object {
        let volume = |name: &str| json!({"name": name, "emptyDir": {"medium": "Memory"}});
        let keep = {
            let mut keep = self.state("state", "keep");
            keep["restartPolicy"] = "Always".into();
            keep["startupProbe"] = json!({
                "exec": {"command": self.state_command("ready")},
                "periodSeconds": 1, "timeoutSeconds": 10, "failureThreshold": PATIENCE,
            });
            keep
        };
        json!({
            "metadata": {"labels": labels()},
            "spec": {
                "serviceAccountName": account,
                "automountServiceAccountToken": false,
                "enableServiceLinks": false,
                "restartPolicy": "Never",
                "terminationGracePeriodSeconds": GRACE,
                "securityContext": {
                    "runAsNonRoot": true, "runAsUser": 1000, "runAsGroup": 1000, "fsGroup": 1000,
                    "seccompProfile": {"type": "RuntimeDefault"},
                },
                "initContainers": [keep, self.run()],
                "containers": [self.state("finish", "finish")],
                "volumes": [
                    volume("state"),
                    volume("tmp"),
                    {"name": "request", "secret": {"secretName": request, "defaultMode": 0o440}},
                    {"name": "token", "projected": token()},
                ],
            },
        })
    }

    /// The container with terraform, which has no token.
    fn run(&self) -> Object {
        let file = |name: &str| format!("{REQUEST}/{name}");
        let mut command: Vec<String> =
            ["/bin/brokerpak", "leased-run", "--dir", STATE, "--", self.operation, "/pak"].map(str::to_owned).to_vec();
        for (flag, name) in
            [("--request", "request.json"), ("--config", "config.yml"), ("--pak-config", "pak-config.yml")]
        {
            if self.files.iter().any(|(own, _)| *own == name) {
                command.extend([flag.to_owned(), file(name)]);
            }
        }
        let from: Vec<Json> = self.environment.iter().map(|name| json!({"secretRef": {"name": name}})).collect();
        json!({
            "name": "run",
            "image": self.image,
            "imagePullPolicy": "IfNotPresent",
            "command": command,
            "env": [{"name": "HOME", "value": "/tmp"}],
            "envFrom": from,
            "resources": requests("64Mi"),
            "securityContext": security(),
            "volumeMounts": [
                {"name": "state", "mountPath": STATE},
                {"name": "tmp", "mountPath": "/tmp"},
                {"name": "request", "mountPath": REQUEST, "readOnly": true},
            ],
        })
    }

    fn state_command(&self, step: &str) -> Vec<String> {
        let mut command: Vec<String> =
            ["/bin/boson-cluster", "brokerpak-state", step, "--instance", self.instance, "--dir", STATE]
                .map(str::to_owned)
                .to_vec();
        if let Some((name, kind)) = self.secret.filter(|_| step == "finish") {
            command.extend(["--secret", name, "--secret-type", kind].map(str::to_owned));
        }
        command
    }

    /// A container that stores the state.
    fn state(&self, name: &str, step: &str) -> Object {
        json!({
            "name": name,
            "image": self.boson_image,
            "imagePullPolicy": "IfNotPresent",
            "command": self.state_command(step),
            "env": [{"name": "POD_UID", "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}}],
            "resources": requests("16Mi"),
            "securityContext": security(),
            "volumeMounts": [
                {"name": "state", "mountPath": STATE},
                {"name": "token", "mountPath": TOKEN, "readOnly": true},
            ],
        })
    }
}

/// Without limits: what lies in the volumes in memory counts, and only the pak's author knows what terraform and its providers need.
fn requests(memory: &str) -> Json {
    json!({"requests": {"cpu": "10m", "memory": memory}})
}

fn security() -> Json {
    json!({
        "allowPrivilegeEscalation": false,
        "readOnlyRootFilesystem": true,
        "capabilities": {"drop": ["ALL"]},
    })
}
