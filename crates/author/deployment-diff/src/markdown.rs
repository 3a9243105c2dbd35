//! The differences as Markdown, for comments of merge requests and for reports.

use std::fmt::Write;

use crate::text::{by_effect, file_name, suffix, summary};
use crate::{Change, Diff, FileDiff, GroupDiff, Presence};

/// The text: a summary, then what changes in the deployment, then group by group the instances, values and lines. A diff without
/// differences gives the one line `no changes`.
pub fn render(diff: &Diff) -> String {
    if diff.is_empty() {
        return "no changes\n".to_owned();
    }
    let mut text = format!("**{}**\n", summary(diff));
    if !diff.deployment.is_empty() {
        text += "\n### deployment\n\n";
        changes(&diff.deployment, &mut text);
    }
    diff.groups.iter().for_each(|group| render_group(group, &mut text));
    text
}

fn render_group(group: &GroupDiff, text: &mut String) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "\n### instance group {}{}\n", code(&group.name), suffix(group.presence));
    for (names, effect) in by_effect(&group.instances) {
        let names: Vec<String> = names.into_iter().map(code).collect();
        let _ = writeln!(text, "- {}: {}", names.join(", "), plain(&effect));
    }
    changes(&group.changes, text);
    if !group.files_unknown.is_empty() {
        let names: Vec<String> = group.files_unknown.iter().map(|name| code(name)).collect();
        let _ = writeln!(text, "- the lines of {} differ; with the releases (-r) they are shown", names.join(", "));
    }
    group.files.iter().for_each(|file| render_file(file, text));
}

fn changes(changes: &[Change], text: &mut String) {
    for Change { what, old, new } in changes {
        let value = |value: &Option<String>| value.as_deref().map_or_else(|| "none".to_owned(), code);
        let _ = match (old, new) {
            // The values are not to be shown.
            (None, None) => writeln!(text, "- {}", code(what)),
            _ => writeln!(text, "- {}: {} → {}", code(what), value(old), value(new)),
        };
    }
}

fn render_file(file: &FileDiff, text: &mut String) {
    let fence = "`".repeat(longest_run(&file.patch).max(2) + 1);
    let before = if file.presence == Presence::Added { "/dev/null" } else { &file_name(file) };
    let after = if file.presence == Presence::Removed { "/dev/null" } else { &file_name(file) };
    let _ = writeln!(text, "\n{fence}diff\n--- {before}\n+++ {after}\n{}\n{fence}", file.patch.trim_end_matches('\n'));
}

/// Text that Markdown shows as it is, in one line.
fn code(text: &str) -> String {
    let text = text.replace(['\n', '\r'], " ");
    let fence = "`".repeat(longest_run(&text) + 1);
    // A space on each side is not shown, and keeps a backtick at an end apart from the fence.
    let space = if text.starts_with('`') || text.ends_with('`') || text.is_empty() { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}

/// Text without the characters that mean something to Markdown.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    for letter in text.chars() {
        if "\\`*_[]<>|#".contains(letter) {
            plain.push('\\');
        }
        plain.push(letter);
    }
    plain
}

/// The length of the longest run of backticks.
fn longest_run(text: &str) -> usize {
    text.split(|letter| letter != '`').map(str::len).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Effect, InstanceDiff};

    #[test]
    fn a_diff_is_a_list_for_each_group_and_a_fence_for_each_file() {
        let change = |what: &str, old: Option<&str>, new: Option<&str>| Change {
            what: what.to_owned(),
            old: old.map(str::to_owned),
            new: new.map(str::to_owned),
        };
        let instance = |name: &str| InstanceDiff {
            name: name.to_owned(),
            effect: Effect::Replaced,
            reasons: vec!["packages a_b".to_owned()],
        };
        let file = FileDiff {
            path: "nats/run".to_owned(),
            instances: vec!["nats/0".to_owned()],
            presence: Presence::Changed,
            patch: "@@ -1 +1 @@\n-a\n+```\n".to_owned(),
        };
        let group = GroupDiff {
            name: "nats".to_owned(),
            presence: Presence::Changed,
            changes: vec![change("property x", Some("`a`"), None)],
            instances: vec![instance("nats/0"), instance("nats/1")],
            files: vec![file],
            files_unknown: Vec::new(),
        };
        let diff = Diff { deployment: vec![change("update.canaries", Some("1"), Some("2"))], groups: vec![group] };
        let expected = "**2 instances to replace**\n\n### deployment\n\n- `update.canaries`: `1` → `2`\n\n\
            ### instance group `nats`\n\n- `nats/0`, `nats/1`: replaced (packages a\\_b)\n- `property x`: `` `a` `` → none\n\n\
            ````diff\n--- nats/0 nats/run\n+++ nats/0 nats/run\n@@ -1 +1 @@\n-a\n+```\n````\n";
        assert_eq!(render(&diff), expected);
        assert_eq!(render(&Diff::default()), "no changes\n");
    }
}
