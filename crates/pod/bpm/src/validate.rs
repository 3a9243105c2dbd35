//! What BPM refuses, with its messages.

use std::path::{Component, Path, PathBuf};

use crate::bytes::{INVALID_BYTE_QUANTITY, to_bytes};
use crate::config::ProcessConfig;
use crate::decode::{Decoder, Fields};
use crate::yaml::{Content, Node};

/// Checks one process; `node` and `fields` are where its problems lie.
pub(crate) fn process(d: &mut Decoder<'_>, node: &Node, fields: &Fields, p: &ProcessConfig, job: Option<&str>) {
    // A field of the wrong type has been reported as such.
    let wrong_type = |key| fields.get(key).is_some_and(|n| n.text().is_none());
    if !matches!(node.content, Content::Mapping(_)) && !node.is_null() {
        return;
    }
    if p.name.is_empty() && !wrong_type("name") {
        d.wrong(fields.get("name").unwrap_or(node), "invalid config: name");
    } else if p.name.contains(['/', '\0']) || p.name == "." || p.name == ".." {
        // Log, pid and lock files carry the name.
        d.wrong(fields.get("name").unwrap_or(node), "invalid config: name must not be a path");
    }
    if p.executable.is_empty() && !wrong_type("executable") {
        d.wrong(fields.get("executable").unwrap_or(node), "invalid config: executable");
    }
    if let Some(signal) = fields.get("shutdown_signal") {
        match signal.text() {
            Some(_) if signal.is_null() => {}
            Some("" | "TERM" | "INT") | None => {}
            Some(other) => d.wrong(
                signal,
                format!("shutdown signal should either be 'TERM' or 'INT' (or left unspecified), but got '{other}'"),
            ),
        }
    }
    if let Some(memory) = &p.limits.memory
        && to_bytes(memory).is_none()
    {
        d.wrong(fields.get("limits").unwrap_or(node), format!("limits.memory: {INVALID_BYTE_QUANTITY}"));
    }
    volumes(d, fields, p, job);
}

fn volumes(d: &mut Decoder<'_>, fields: &Fields, p: &ProcessConfig, job: Option<&str>) {
    let Some(node) = fields.get("additional_volumes") else { return };
    let Content::Sequence(items) = &node.content else { return };
    let items = items.iter().filter(|i| !i.is_null());
    for (item, volume) in items.zip(&p.additional_volumes) {
        if !matches!(item.content, Content::Mapping(_)) {
            continue;
        }
        if let Some(fault) = volume_fault(&volume.path, job) {
            d.wrong(item, fault);
        }
    }
}

/// What is wrong with the path of an additional volume.
pub(crate) fn volume_fault(path: &str, job: Option<&str>) -> Option<String> {
    let clean = clean(path);
    let default = |dir: &str| job.is_some_and(|job| *path == format!("/var/vcap/{dir}/{job}"));
    if clean != *path {
        Some(format!("volume path must be canonical, expected {clean} but got {path}"))
    } else if default("data") || default("store") {
        Some(format!("invalid volume path: {path} cannot conflict with default job data or store directories"))
    } else if !path.starts_with("/var/vcap/") {
        Some(format!("invalid volume path: {path} must be within /var/vcap"))
    } else {
        None
    }
}

/// The shortest path that means the same, as Go's `filepath.Clean` finds it without looking at the disk.
fn clean(path: &str) -> String {
    let mut out = PathBuf::new();
    for component in Path::new(path).components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => match out.components().next_back() {
                Some(Component::Normal(_)) => {
                    out.pop();
                }
                Some(Component::RootDir) => {}
                _ => out.push(".."),
            },
            other => out.push(other),
        }
    }
    if out.as_os_str().is_empty() { ".".to_owned() } else { out.to_string_lossy().into_owned() }
}

#[cfg(test)]
mod tests {
    use super::clean;

    #[test]
    fn paths_are_cleaned_as_go_does() {
        let cases = [
            ("/var/vcap/data/x", "/var/vcap/data/x"),
            ("/var/vcap/data/x/", "/var/vcap/data/x"),
            ("/var//vcap/./x", "/var/vcap/x"),
            ("/var/vcap/../x", "/var/x"),
            ("/../x", "/x"),
            ("a/../../b", "../b"),
            ("", "."),
            ("/", "/"),
        ];
        for (path, cleaned) in cases {
            assert_eq!(clean(path), cleaned, "{path:?}");
        }
    }
}
