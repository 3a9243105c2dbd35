//! Reading the processes of a `bpm.yml`.

use std::collections::BTreeMap;

use crate::config::{Hooks, Limits, ProcessConfig, ShutdownSignal, Unsafe, Volume};
use crate::decode::{Decoder, Fields};
use crate::validate;
use crate::yaml::{Content, Node};

/// Reads the document: its `processes`.
pub(crate) fn processes(d: &mut Decoder<'_>, root: &Node, job: Option<&str>) -> Vec<ProcessConfig> {
    let mut out = Vec::new();
    for (key, value) in d.entries(root, "bpm.yml", "config.JobConfig") {
        if key != "processes" {
            continue;
        }
        // BPM crashes on a null process, so it is reported rather than dropped as a null argument is.
        let Content::Sequence(items) = &value.content else {
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
    let Content::Mapping(entries) = &node.content else { return None };
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
    let mut env = BTreeMap::new();
    env.extend(entries.iter().map(|(k, v)| (k.clone(), d.string(v, &format!("env.{k}")).unwrap_or_default())));
    env
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
