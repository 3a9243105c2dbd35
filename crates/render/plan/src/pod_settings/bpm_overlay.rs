//! `properties.quarks.bpm`: what the manifest changes in a job's rendered `bpm.yml`.

use ::pod_settings::Fault;
use bpm::{Overlay, ProcessConfig};
use handoff::deployment::Tree;
use k8s_openapi::api::core::v1::SecurityContext;
use problem::{Step, did_you_mean};
use serde_json::{Map, json};
use value::Value;

use super::{JobSettings, Reader};

const NAME: &str = "properties.quarks.bpm";

/// Reads the processes. What a container requests, and its limit of CPUs, which BPM does not have, are settings of pods.
pub(crate) fn read(reader: &mut Reader, value: &Value, path: &[Step], settings: &mut JobSettings) {
    let tree = reader.tree(value, path);
    let mut faults = Vec::new();
    let mut resources = Map::new();
    for key in tree.as_object().into_iter().flat_map(Map::keys).filter(|key| *key != "processes") {
        faults.push(fault(&[key.as_str().into()], format!("unknown key '{key}'"), did_you_mean(key, ["processes"])));
    }
    match tree.get("processes") {
        Some(Tree::Array(processes)) => {
            for (number, process) in processes.iter().enumerate() {
                let path = ["processes".into(), number.into()];
                let Some(process) = process.as_object() else {
                    faults.push(fault(&path, "must be a mapping", None));
                    continue;
                };
                settings.overlay.processes.extend(self::process(process.clone(), &path, &mut resources, &mut faults));
            }
        }
        _ => faults.push(fault(&[], "must be a mapping with a list of 'processes'", None)),
    }
    settings.quarks.resources = if resources.is_empty() { Tree::Null } else { Tree::Object(resources) };
    reader.faults(faults, path, NAME);
}

fn process(
    mut process: Map<String, Tree>,
    path: &[Step],
    resources: &mut Map<String, Tree>,
    faults: &mut Vec<Fault>,
) -> Option<Map<String, Tree>> {
    let name = process.get("name").and_then(Tree::as_str).filter(|name| !name.is_empty()).map(str::to_owned);
    let Some(name) = name else {
        faults.push(fault(path, "needs a name", None));
        return None;
    };
    let mut of_pod = Map::new();
    of_pod.extend(process.remove("requests").map(|requests| ("requests".to_owned(), requests)));
    let cpu = process.get_mut("limits").and_then(Tree::as_object_mut).and_then(|limits| limits.remove("cpu"));
    of_pod.extend(cpu.map(|cpu| ("limits".to_owned(), json!({"cpu": cpu}))));
    if !of_pod.is_empty() {
        let of_pod = Tree::Object(of_pod);
        let _: Option<k8s_openapi::api::core::v1::ResourceRequirements> = ::pod_settings::read(&of_pod, path, faults);
        resources.insert(name, of_pod);
    }
    // Both are needed only once the changes are applied.
    let mut whole = process.clone();
    whole.entry("executable").or_insert_with(|| "".into());
    whole.retain(|_, value| !value.is_null());
    let _: Option<ProcessConfig> = ::pod_settings::read(&Tree::Object(whole), path, faults);
    Some(process)
}

fn fault(path: &[Step], message: impl Into<String>, near: Option<&str>) -> Fault {
    Fault { path: path.to_vec(), message: message.into(), hint: near.map(|near| format!("did you mean '{near}'?")) }
}

/// What a security context asks for that BPM has, too: `run-process` gives it to the processes.
pub(crate) fn add_privileges(context: Option<&SecurityContext>, overlay: &mut Overlay) {
    let Some(context) = context else { return };
    overlay.privileged |= context.privileged == Some(true);
    let added = context.capabilities.iter().flat_map(|of| &of.add).flatten();
    overlay.capabilities.extend(added.map(|name| name.trim_start_matches("CAP_").to_owned()));
}
