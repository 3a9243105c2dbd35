//! The fields of a process, as BPM's documentation of its configuration lists them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

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
