//! The differences as a text for people.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::{Change, Diff, Effect, FileDiff, GroupDiff, InstanceDiff, Presence};

/// How the text looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Without colours.
    Plain,
    /// With the terminal's colours: removed lines red, added ones green.
    Colored,
}

impl Style {
    fn paint(self, code: &str, text: &str) -> String {
        match self {
            Style::Plain => text.to_owned(),
            Style::Colored => format!("\x1b[{code}m{text}\x1b[0m"),
        }
    }
}

const RED: &str = "31";
const GREEN: &str = "32";
const CYAN: &str = "36";
const BOLD: &str = "1";

/// The text: what changes in the deployment, then group by group the instances, values and lines, and a summary as the last
/// line. A diff without differences gives the one line `no changes`.
pub fn render(diff: &Diff, style: Style) -> String {
    if diff.is_empty() {
        return "no changes\n".to_owned();
    }
    let mut text = String::new();
    if !diff.deployment.is_empty() {
        text += &format!("{}\n", style.paint(BOLD, "deployment"));
        changes(&diff.deployment, style, &mut text);
    }
    for group in &diff.groups {
        if !text.is_empty() {
            text.push('\n');
        }
        render_group(group, style, &mut text);
    }
    // Writing to a string cannot fail.
    let _ = writeln!(text, "\n{}", summary(diff));
    text
}

fn render_group(group: &GroupDiff, style: Style, text: &mut String) {
    let title = style.paint(BOLD, &format!("instance group {}", group.name));
    *text += &format!("{title}{}\n", suffix(group.presence));
    for (names, effect) in by_effect(&group.instances) {
        *text += &format!("  {}: {effect}\n", names.join(", "));
    }
    changes(&group.changes, style, text);
    for file in &group.files {
        render_file(file, style, text);
    }
    if !group.files_unknown.is_empty() {
        *text += &format!(
            "  the lines of {} differ; with the releases (-r) they are shown\n",
            group.files_unknown.join(", ")
        );
    }
}

/// What follows the name of a group.
pub(crate) fn suffix(presence: Presence) -> &'static str {
    match presence {
        Presence::Added => " (new)",
        Presence::Removed => " (removed)",
        Presence::Changed => "",
    }
}

/// Instances to which the same happens for the same reason, in their order.
pub(crate) fn by_effect(instances: &[InstanceDiff]) -> Vec<(Vec<&str>, String)> {
    let mut found: Vec<(Vec<&str>, String)> = Vec::new();
    for one in instances {
        let effect = match one.effect {
            Effect::Replaced => "replaced",
            Effect::New => "new",
            Effect::Removed => "removed",
            Effect::NextRun => "changes with the next run of the errand",
        };
        let reasons = if one.reasons.is_empty() { String::new() } else { format!(" ({})", one.reasons.join("; ")) };
        let effect = format!("{effect}{reasons}");
        match found.iter_mut().find(|(_, known)| *known == effect) {
            Some((names, _)) => names.push(&one.name),
            None => found.push((vec![&one.name], effect)),
        }
    }
    found
}

fn changes(changes: &[Change], style: Style, text: &mut String) {
    for Change { what, old, new } in changes {
        let line = match (old, new) {
            (Some(old), Some(new)) => format!("~ {what}: {old} -> {new}"),
            (Some(old), None) => style.paint(RED, &format!("- {what}{}", of_value(old))),
            (None, Some(new)) => style.paint(GREEN, &format!("+ {what}{}", of_value(new))),
            // The values are not to be shown.
            (None, None) => format!("~ {what}"),
        };
        *text += &format!("  {line}\n");
    }
}

/// A mapping says no more than that it is one.
fn of_value(value: &str) -> String {
    if value == "{...}" { String::new() } else { format!(": {value}") }
}

/// A file of one or several instances.
pub(crate) fn file_name(file: &FileDiff) -> String {
    format!("{} {}", file.instances.join(","), file.path)
}

fn render_file(file: &FileDiff, style: Style, text: &mut String) {
    let name = file_name(file);
    let or_null = |is_there: bool| if is_there { name.as_str() } else { "/dev/null" };
    *text += &format!("{}\n", style.paint(BOLD, &format!("--- {}", or_null(file.presence != Presence::Added))));
    *text += &format!("{}\n", style.paint(BOLD, &format!("+++ {}", or_null(file.presence != Presence::Removed))));
    for line in file.patch.lines() {
        let line = match line.as_bytes().first() {
            Some(b'-') => style.paint(RED, line),
            Some(b'+') => style.paint(GREEN, line),
            Some(b'@') => style.paint(CYAN, line),
            _ => line.to_owned(),
        };
        *text += &format!("{line}\n");
    }
}

/// How many instances are affected, in one line.
pub fn summary(diff: &Diff) -> String {
    let mut counts: BTreeMap<Effect, usize> = BTreeMap::new();
    for one in diff.groups.iter().flat_map(|group| &group.instances) {
        *counts.entry(one.effect).or_default() += 1;
    }
    let parts: Vec<String> = counts
        .into_iter()
        .map(|(effect, count)| {
            let plural = if count == 1 { "" } else { "s" };
            match effect {
                Effect::Replaced => format!("{count} instance{plural} to replace"),
                Effect::New => format!("{count} to create"),
                Effect::Removed => format!("{count} to remove"),
                Effect::NextRun => format!("{count} of errands with the next run"),
            }
        })
        .collect();
    if parts.is_empty() { "no instance changes".to_owned() } else { parts.join(", ") }
}
