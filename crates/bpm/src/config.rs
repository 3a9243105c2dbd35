//! The fields of a process, as BPM's documentation of its configuration lists them.

use std::collections::BTreeMap;
use std::rc::Rc;

use serde::{Deserialize, Serialize};

use crate::decode::Decoder;
use crate::validate;
use crate::yaml::{Kind, Node};

/// One process of a job. Serialises with BPM's field names, without the fields that have their default. Deserialises what
/// was so serialised and nothing else; a `bpm.yml` is read by [`crate::parse`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessConfig {
    /// The process' name, unique in its job.
    pub name: String,
    /// Path of the program, or a name to be found in the process' `PATH`.
    pub executable: String,
    /// Its arguments, as raw text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Environment variables, values as raw text.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Working directory; the job's directory where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workdir: Option<String>,
    /// What runs before the process. Present as soon as the key holds a mapping, even an empty one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hooks: Option<Hooks>,
    /// Linux capabilities without `CAP_`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<String>,
    /// Resource limits.
    #[serde(default, skip_serializing_if = "Limits::is_empty")]
    pub limits: Limits,
    /// Whether `/var/vcap/data/<job>` is the process' to write.
    #[serde(default, skip_serializing_if = "is_false")]
    pub ephemeral_disk: bool,
    /// Whether `/var/vcap/store/<job>` is the process' to write.
    #[serde(default, skip_serializing_if = "is_false")]
    pub persistent_disk: bool,
    /// More directories below `/var/vcap`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub additional_volumes: Vec<Volume>,
    /// What gives up isolation.
    #[serde(default, rename = "unsafe", skip_serializing_if = "Unsafe::is_empty")]
    pub unsafe_: Unsafe,
    /// The signal that asks the process to stop.
    #[serde(default, skip_serializing_if = "ShutdownSignal::is_default")]
    pub shutdown_signal: ShutdownSignal,
}

/// What runs before the process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hooks {
    /// Path of a program that runs as root before the process; BPM executes it even where it is empty, and fails.
    pub pre_start: String,
}

/// Resource limits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Memory as written, for example `512M`; [`crate::to_bytes`] reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<String>,
    /// `RLIMIT_NOFILE`, soft and hard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_files: Option<u64>,
    /// The most processes at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes: Option<i64>,
    /// `RLIMIT_CORE`, soft and hard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core_file_size: Option<u64>,
}

impl Limits {
    fn is_empty(&self) -> bool {
        *self == Limits::default()
    }
}

/// A directory that a process may use.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Volume {
    /// Where it lies.
    pub path: String,
    /// Whether it may be written.
    #[serde(default, skip_serializing_if = "is_false")]
    pub writable: bool,
    /// Whether programs in it may be executed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub allow_executions: bool,
    /// Whether it must exist already: neither created nor given to vcap.
    #[serde(default, skip_serializing_if = "is_false")]
    pub mount_only: bool,
    /// Whether mounts below it are seen by others.
    #[serde(default, skip_serializing_if = "is_false")]
    pub shared: bool,
}

/// What gives up isolation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unsafe {
    /// Runs as root with nearly everything allowed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub privileged: bool,
    /// Volumes anywhere; not validated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unrestricted_volumes: Vec<Volume>,
    /// Sees the host's processes.
    #[serde(default, skip_serializing_if = "is_false")]
    pub host_pid_namespace: bool,
}

impl Unsafe {
    fn is_empty(&self) -> bool {
        *self == Unsafe::default()
    }
}

/// The signal that asks a process to stop.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum ShutdownSignal {
    /// SIGTERM.
    #[default]
    Term,
    /// SIGINT.
    Int,
}

impl ShutdownSignal {
    fn is_default(&self) -> bool {
        *self == ShutdownSignal::Term
    }
}

fn is_false(b: &bool) -> bool {
    !b
}

/// Reads the document: its `processes`.
pub(crate) fn processes(d: &mut Decoder<'_>, root: &Node, job: Option<&str>) -> Vec<ProcessConfig> {
    let mut out = Vec::new();
    for (key, value) in d.entries(root, "bpm.yml", "config.JobConfig") {
        if key != "processes" {
            continue;
        }
        // BPM crashes on a null process, so it is reported rather than dropped as a null argument is.
        let Kind::Sequence(items) = &value.kind else {
            d.items(&value, "processes", "[]config.ProcessConfig");
            continue;
        };
        for (index, item) in items.iter().enumerate() {
            out.extend(process(d, item, index, job));
        }
    }
    d.process = None;
    out
}

fn process(d: &mut Decoder<'_>, node: &Node, index: usize, job: Option<&str>) -> Option<ProcessConfig> {
    d.process = Some(own_name(node).map_or_else(|| format!("#{}", index + 1), str::to_owned));
    let fields = Fields(d.entries(node, "process", "config.ProcessConfig"));
    let mut p = ProcessConfig::default();
    for (key, value) in &fields.0 {
        field(d, &mut p, key, value);
    }
    validate::process(d, node, &fields, &p, job);
    Some(p)
}

/// What to call a process in messages.
fn own_name(node: &Node) -> Option<&str> {
    let Kind::Mapping(entries) = &node.kind else { return None };
    let name = entries.iter().find(|(key, _)| key.text() == Some("name"));
    name.and_then(|(_, value)| value.text()).filter(|name| !name.is_empty())
}

fn field(d: &mut Decoder<'_>, p: &mut ProcessConfig, key: &str, value: &Node) {
    match key {
        "name" => p.name = d.string(value, key).unwrap_or_default(),
        "executable" => p.executable = d.string(value, key).unwrap_or_default(),
        "args" => p.args = d.strings(value, key),
        "env" => p.env = env(d, value),
        "workdir" => p.workdir = d.string(value, key).filter(|dir| !dir.is_empty()),
        "hooks" if !value.is_null() => {
            let fields = Fields(d.entries(value, key, "config.Hooks"));
            let pre_start = fields.get("pre_start").and_then(|n| d.string(n, "hooks.pre_start"));
            p.hooks = Some(Hooks { pre_start: pre_start.unwrap_or_default() });
        }
        "capabilities" => p.capabilities = d.strings(value, key),
        "limits" => p.limits = limits(d, value),
        "ephemeral_disk" => p.ephemeral_disk = d.boolean(value, key),
        "persistent_disk" => p.persistent_disk = d.boolean(value, key),
        "additional_volumes" => p.additional_volumes = volumes(d, value, key),
        "unsafe" => p.unsafe_ = unsafe_(d, value),
        // Anything else is reported by the validation.
        "shutdown_signal" => {
            let interrupts = d.string(value, key).as_deref() == Some("INT");
            p.shutdown_signal = if interrupts { ShutdownSignal::Int } else { ShutdownSignal::Term };
        }
        _ => {}
    }
}

fn env(d: &mut Decoder<'_>, node: &Node) -> BTreeMap<String, String> {
    let entries = d.entries(node, "env", "map[string]string");
    for (name, value) in &entries {
        d.refuse_nul(name, value, "env: a variable's name");
    }
    entries.iter().map(|(k, v)| (k.clone(), d.string(v, &format!("env.{k}")).unwrap_or_default())).collect()
}

fn limits(d: &mut Decoder<'_>, node: &Node) -> Limits {
    let mut limits = Limits::default();
    for (key, value) in &d.entries(node, "limits", "config.Limits") {
        match key.as_str() {
            "memory" => limits.memory = d.string(value, "limits.memory"),
            "open_files" => limits.open_files = unsigned(d, value, "limits.open_files"),
            "core_file_size" => limits.core_file_size = unsigned(d, value, "limits.core_file_size"),
            "processes" => {
                let (min, max) = (i64::MIN.into(), i64::MAX.into());
                let number = d.integer(value, "limits.processes", "int64", min, max);
                limits.processes = number.and_then(|n| i64::try_from(n).ok());
            }
            _ => {}
        }
    }
    limits
}

fn unsigned(d: &mut Decoder<'_>, node: &Node, field: &str) -> Option<u64> {
    d.integer(node, field, "uint64", 0, u64::MAX.into()).and_then(|n| u64::try_from(n).ok())
}

fn unsafe_(d: &mut Decoder<'_>, node: &Node) -> Unsafe {
    let mut out = Unsafe::default();
    for (key, value) in &d.entries(node, "unsafe", "config.Unsafe") {
        match key.as_str() {
            "privileged" => out.privileged = d.boolean(value, "unsafe.privileged"),
            "host_pid_namespace" => out.host_pid_namespace = d.boolean(value, "unsafe.host_pid_namespace"),
            "unrestricted_volumes" => out.unrestricted_volumes = volumes(d, value, "unsafe.unrestricted_volumes"),
            _ => {}
        }
    }
    out
}

fn volumes(d: &mut Decoder<'_>, node: &Node, field: &str) -> Vec<Volume> {
    let items = d.items(node, field, "[]config.Volume");
    items.iter().map(|item| volume(d, item, field)).collect()
}

fn volume(d: &mut Decoder<'_>, node: &Node, field: &str) -> Volume {
    let mut volume = Volume::default();
    for (key, value) in &d.entries(node, field, "config.Volume") {
        let name = format!("{field}.{key}");
        match key.as_str() {
            "path" => volume.path = d.string(value, &name).unwrap_or_default(),
            "writable" => volume.writable = d.boolean(value, &name),
            "allow_executions" => volume.allow_executions = d.boolean(value, &name),
            "mount_only" => volume.mount_only = d.boolean(value, &name),
            "shared" => volume.shared = d.boolean(value, &name),
            _ => {}
        }
    }
    volume
}

/// The entries of a mapping by key.
pub(crate) struct Fields(pub(crate) Vec<(String, Rc<Node>)>);

impl Fields {
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_ref())
    }
}
