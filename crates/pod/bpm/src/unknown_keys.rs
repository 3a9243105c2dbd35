//! Keys of a `bpm.yml` that BPM ignores, as it ignores every key that it does not know.

use problem::did_you_mean;

use crate::yaml::{self, Content, Node};

// Some keys are boson's or Quarks' own.
const ROOT: &[&str] = &["processes"];
const PROCESS: &[&str] = &[
    "name",
    "executable",
    "args",
    "env",
    "workdir",
    "hooks",
    "capabilities",
    "limits",
    "ephemeral_disk",
    "persistent_disk",
    "additional_volumes",
    "unsafe",
    "shutdown_signal",
    "run",
    "requests",
    "ports",
    "post_start",
];
const HOOKS: &[&str] = &["pre_start", "post_start"];
const LIMITS: &[&str] = &["memory", "open_files", "processes", "core_file_size", "cpu"];
const VOLUME: &[&str] = &["path", "writable", "allow_executions", "mount_only", "shared"];
const UNSAFE: &[&str] = &["privileged", "unrestricted_volumes", "host_pid_namespace"];

/// A key without a meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownKey {
    /// The key.
    pub name: String,
    /// Its line, from 1.
    pub line: u32,
    /// Its column, from 1.
    pub column: u32,
    /// The keys that this mapping may have.
    pub known: &'static [&'static str],
}

impl UnknownKey {
    /// The known key that it is similar to, as a hint.
    pub fn hint(&self) -> Option<String> {
        did_you_mean(&self.name, self.known.iter().copied()).map(|known| format!("did you mean '{known}'?"))
    }
}

/// The keys of a `bpm.yml` that BPM ignores, in the file's order; none of a file that is not valid YAML.
pub fn unknown_keys(text: &[u8]) -> Vec<UnknownKey> {
    let mut found = Vec::new();
    if let Ok(Some(root)) = yaml::read(text, "") {
        collect(&root, ROOT, &mut found);
        for process in root.get("processes").iter().flat_map(|node| node.items()) {
            of_process(process, &mut found);
        }
    }
    found.sort_by_key(|key| (key.line, key.column));
    // A mapping with several aliases has the keys once.
    found.dedup();
    found
}

fn of_process(process: &Node, found: &mut Vec<UnknownKey>) {
    collect(process, PROCESS, found);
    for (key, known) in [("hooks", HOOKS), ("limits", LIMITS), ("unsafe", UNSAFE)] {
        process.get(key).iter().for_each(|node| collect(node, known, found));
    }
    let unrestricted = process.get("unsafe").and_then(|node| node.get("unrestricted_volumes"));
    for volumes in [process.get("additional_volumes"), unrestricted].into_iter().flatten() {
        volumes.items().iter().for_each(|volume| collect(volume, VOLUME, found));
    }
}

fn collect(node: &Node, known: &'static [&'static str], found: &mut Vec<UnknownKey>) {
    let Content::Mapping(entries) = &node.content else { return };
    for (key, _) in entries {
        let Some(name) = key.text().filter(|name| *name != "<<" && !known.contains(name)) else { continue };
        found.push(UnknownKey { name: name.to_owned(), line: key.line(), column: key.column(), known });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(String, u32, u32)> {
        unknown_keys(text.as_bytes()).into_iter().map(|key| (key.name, key.line, key.column)).collect()
    }

    #[test]
    fn unknown_keys_have_their_places() {
        let text = "processes:\n- name: a\n  exectuable: /x\n  limits: {memmory: 1G}\n  unsafe:\n    unrestricted_volumes:\n    - {pth: /x}\n\
                    other: 1\n";
        let expected = [("exectuable", 3, 3), ("memmory", 4, 12), ("pth", 7, 8), ("other", 8, 1)];
        assert_eq!(found(text), expected.map(|(name, line, column)| (name.to_owned(), line, column)));
    }

    #[test]
    fn what_bpm_reads_is_known() {
        for text in [
            "",
            "- 1\n",
            "processes: 3\n",
            "processes: [{name: a, env: {X: y}, limits: &l {memory: 1G}}, {limits: *l}]\n",
            "a: [",
        ] {
            assert_eq!(found(text), [], "{text}");
        }
    }
}
