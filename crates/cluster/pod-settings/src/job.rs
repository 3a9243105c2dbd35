//! `properties.quarks` of a job, as far as it is about pods.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{EnvVarSource, Probe, SecurityContext};
use problem::Step;

use crate::Tree;
use crate::strict::{Fault, below, read};

/// The key of `run` with the probes of processes.
pub const HEALTHCHECK: &str = "healthcheck";
/// The key of `run` with the security context of containers.
pub const SECURITY_CONTEXT: &str = "security_context";
/// The key of `run` with the packages that all containers share.
pub(crate) const SHARED_PACKAGES: &str = "shared_packages";
/// The probes of a process that may be given.
pub const PROBES: [&str; 3] = ["liveness", "readiness", "startup"];
/// The ways in which a probe may check a process.
const CHECKS: [&str; 4] = ["exec", "grpc", "httpGet", "tcpSocket"];

/// The probes of a process.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Probes {
    /// Whether it is to be restarted.
    pub liveness: Option<Probe>,
    /// Whether it can be used.
    pub readiness: Option<Probe>,
    /// Whether it has started.
    pub startup: Option<Probe>,
}

/// `properties.quarks.run`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JobSettings {
    /// The probes of each process.
    pub probes: BTreeMap<String, Probes>,
    /// The security context of the job's containers.
    pub security_context: Option<SecurityContext>,
    /// Packages of the job's release that lie on a volume, which all containers of the group share and can write to.
    pub shared_packages: Vec<String>,
}

impl JobSettings {
    /// Reads `properties.quarks.run`, and all that is wrong with it.
    pub fn read(run: &Tree) -> (JobSettings, Vec<Fault>) {
        let mut faults = Vec::new();
        let known = [HEALTHCHECK, SECURITY_CONTEXT, SHARED_PACKAGES];
        for key in run.as_object().into_iter().flat_map(serde_json::Map::keys) {
            if !known.contains(&key.as_str()) {
                faults.push(Fault::unknown(&[key.as_str().into()], "key", key, known));
            }
        }
        let mut probes = BTreeMap::new();
        match &run[HEALTHCHECK] {
            Tree::Null => {}
            Tree::Object(processes) => {
                for (process, given) in processes {
                    let path = [HEALTHCHECK.into(), process.as_str().into()];
                    probes.insert(process.clone(), probes_of(given, &path, &mut faults));
                }
            }
            _ => faults.push(Fault::new(&[HEALTHCHECK.into()], "must be a mapping of processes to probes")),
        }
        let context = Some(&run[SECURITY_CONTEXT]).filter(|context| !context.is_null());
        let security_context = context.and_then(|context| read(context, &[SECURITY_CONTEXT.into()], &mut faults));
        let packages = Some(&run[SHARED_PACKAGES]).filter(|packages| !packages.is_null());
        let shared_packages =
            packages.and_then(|packages| read(packages, &[SHARED_PACKAGES.into()], &mut faults)).unwrap_or_default();
        (JobSettings { probes, security_context, shared_packages }, faults)
    }

    /// Reads `properties.quarks.activePassiveProbes`, the probe of each container, and all that is wrong with it.
    pub fn read_active(probes: &Tree) -> (BTreeMap<String, Probe>, Vec<Fault>) {
        let (mut read, mut faults) = (BTreeMap::new(), Vec::new());
        match probes {
            Tree::Null => {}
            Tree::Object(containers) => {
                for (container, given) in containers {
                    let probe = probe(given, &[container.as_str().into()], &mut faults);
                    read.extend(probe.map(|probe| (container.clone(), probe)));
                }
            }
            _ => faults.push(Fault::new(&[], "must be a mapping of containers to probes")),
        }
        (read, faults)
    }
}

fn probes_of(given: &Tree, path: &[Step], faults: &mut Vec<Fault>) -> Probes {
    let Some(map) = given.as_object() else {
        faults.push(Fault::new(path, "must be a mapping of probes"));
        return Probes::default();
    };
    for key in map.keys().filter(|key| !PROBES.contains(&key.as_str())) {
        faults.push(Fault::unknown(&below(path, key), "probe", key, PROBES));
    }
    let mut probe = |kind: &str| probe(&given[kind], &below(path, kind), faults);
    Probes { liveness: probe("liveness"), readiness: probe("readiness"), startup: probe("startup") }
}

/// A probe, which checks in exactly one way.
pub(crate) fn probe(given: &Tree, path: &[Step], faults: &mut Vec<Fault>) -> Option<Probe> {
    if given.is_null() {
        return None;
    }
    let probe: Probe = read(given, path, faults)?;
    let kinds: Vec<&str> = CHECKS.into_iter().filter(|kind| !given[kind].is_null()).collect();
    match kinds.as_slice() {
        [_] => {}
        [] => faults.push(Fault::new(path, format!("checks nothing: it needs one of {}", CHECKS.join(", ")))),
        [..] => faults.push(Fault::new(path, format!("must have one of {}, not several", kinds.join(", ")))),
    }
    Some(probe)
}

/// What is wrong with `properties.quarks.envs`; a variable's value, which may be a secret, is not needed: `has_value` tells of
/// each whether it has one.
pub fn env_vars<'a>(variables: impl Iterator<Item = (&'a str, bool, Option<&'a Tree>)>) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut names: Vec<&str> = Vec::new();
    for (number, (name, has_value, source)) in variables.enumerate() {
        let path: [Step; 1] = [number.into()];
        if names.contains(&name) {
            faults.push(Fault::new(&below(&path, "name"), format!("the variable '{name}' is set twice")));
        }
        names.push(name);
        let is_start = |c: char| c.is_ascii_alphabetic() || c == '_';
        if !name.starts_with(is_start) || !name.chars().all(|c| is_start(c) || c.is_ascii_digit()) {
            faults.push(Fault::new(&below(&path, "name"), "a variable's name has letters, digits and '_' only"));
        } else if name.starts_with("BOSON_") {
            faults.push(Fault::new(&below(&path, "name"), "names that begin with BOSON_ are reserved"));
        }
        match (has_value, source) {
            (true, Some(_)) => faults.push(Fault::new(&path, format!("'{name}' has both 'value' and 'valueFrom'"))),
            (false, None) => faults.push(Fault::new(&path, format!("'{name}' has neither 'value' nor 'valueFrom'"))),
            (_, Some(source)) => check_source(source, &below(&path, "valueFrom"), &mut faults),
            (true, None) => {}
        }
    }
    faults
}

fn check_source(source: &Tree, path: &[Step], faults: &mut Vec<Fault>) {
    let before = faults.len();
    let _: Option<EnvVarSource> = read(source, path, faults);
    let count = source.as_object().map_or(0, |map| map.values().filter(|value| !value.is_null()).count());
    if faults.len() == before && count != 1 {
        faults.push(Fault::new(
            path,
            "must have exactly one of configMapKeyRef, fieldRef, resourceFieldRef, secretKeyRef",
        ));
    }
}
