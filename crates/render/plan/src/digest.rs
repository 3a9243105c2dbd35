//! A digest of everything that an instance renders: equal digests, equal files.
//!
//! There is one for the whole instance and none for a single file, so that nobody can find a short secret by trying: the
//! digest is of all its secrets at once.

use std::collections::{BTreeMap, BTreeSet};

use instance_group::Resolved;
use job_templates::{LINKS_JSON, is_installed, links_json};
use problem::Problem;
use sha2::{Digest, Sha256};
use startup::Warnings;
use value::Value;

use crate::rendering::STAND_IN_IP;
use crate::templates::Rendered;

/// The digests of every group's instances, in order.
pub(crate) fn of_instances(groups: &[Resolved], rendered: &[Rendered]) -> Vec<Vec<String>> {
    let of_group = |(g, group): (usize, &Resolved)| {
        let count = group.jobs.first().map_or(0, |job| job.instances.len());
        let rendered: Vec<&Rendered> = rendered.iter().filter(|file| file.of.group == g).collect();
        (0..count).map(|instance| of_instance(group, instance, &rendered)).collect()
    };
    groups.iter().enumerate().map(of_group).collect()
}

fn of_instance(group: &Resolved, instance: usize, rendered: &[&Rendered]) -> String {
    let mut files: BTreeMap<String, [u8; 32]> = BTreeMap::new();
    for job in group.jobs.iter().filter(|job| is_installed(&job.name)) {
        files.insert(format!("{}/{LINKS_JSON}", job.name), Sha256::digest(links_json(&job.provides)).into());
        if let Some(overlay) = &job.bpm_overlay {
            // No file has this name: none is empty.
            files.insert(format!("{}/", job.name), Sha256::digest(overlay).into());
        }
    }
    for file in rendered {
        let job = &group.jobs[file.of.job];
        if !is_installed(&job.name) {
            continue;
        }
        let digest = if file.differs {
            let mut hasher = Sha256::new();
            hasher.update(&file.of.template.source.text);
            add(&mut hasher, &group.spec(job, &job.instances[instance], Some(STAND_IN_IP)));
            hasher.finalize().into()
        } else {
            file.digests[instance]
        };
        files.insert(format!("{}/{}", job.name, file.of.template.destination), digest);
    }
    let mut hasher = Sha256::new();
    for (path, digest) in files {
        add_bytes(&mut hasher, path.as_bytes());
        hasher.update(digest);
    }
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Warns about templates that do not render the same each time: their inputs count in their place.
pub(crate) fn warn(warnings: &Warnings, groups: &[Resolved], rendered: &[Rendered]) {
    let mut warned = BTreeSet::new();
    for file in rendered.iter().filter(|file| file.differs) {
        let job = file.of.job(groups);
        let name = &file.of.template.source.name;
        if warned.insert((&job.release.name, &job.name, name)) {
            warnings.warn(Problem::input(format!(
                "template '{name}' of job '{}' of release '{}' does not render the same each time: the digests of its \
                 instances change with its inputs, not with its content",
                job.name, job.release.name
            )));
        }
    }
}

/// Adds a value so that no other value adds the same bytes.
fn add(hasher: &mut Sha256, value: &Value) {
    match value {
        Value::Nil => hasher.update(b"n"),
        Value::Bool(b) => hasher.update(if *b { b"t" } else { b"f" }),
        Value::Array(items) => {
            add_length(hasher, b"a", items.len());
            items.iter().for_each(|item| add(hasher, item));
        }
        Value::Map(map) => {
            add_length(hasher, b"m", map.len());
            map.iter().for_each(|(key, value)| {
                add(hasher, key);
                add(hasher, value);
            });
        }
        Value::Str(text) => {
            hasher.update(b"s");
            add_bytes(hasher, &text.bytes);
        }
        Value::Int(_) | Value::BigInt(_) | Value::Float(_) | Value::Symbol(_) => {
            hasher.update(value.class_name());
            add_bytes(hasher, value.scalar_to_s().unwrap_or_default().as_bytes());
        }
    }
}

fn add_bytes(hasher: &mut Sha256, bytes: &[u8]) {
    add_length(hasher, b"b", bytes.len());
    hasher.update(bytes);
}

fn add_length(hasher: &mut Sha256, kind: &[u8], length: usize) {
    hasher.update(kind);
    hasher.update((length as u64).to_be_bytes());
}
