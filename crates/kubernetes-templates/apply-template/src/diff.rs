//! What would change, as a unified diff.

use std::collections::HashMap;

use cluster::{Object, name};
use object_basics::to_yaml;
use similar::algorithms::{Capture, Compact, Replace, myers};
use similar::group_diff_ops;
use similar::udiff::UnifiedHunkHeader;

use crate::members::Member;
use crate::plan::Plan;
use crate::secrets::Secrets;

/// Metadata that is the API server's.
const HIDDEN: [&str; 5] = ["managedFields", "resourceVersion", "generation", "uid", "creationTimestamp"];
/// It contains the whole object, secrets included.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The differences between the objects that are and those that would be; empty if there are none.
pub(crate) fn of(plan: &Plan, secrets: &Secrets) -> String {
    let mut text = String::new();
    for step in &plan.steps {
        let present = step.present.clone().unwrap_or_default();
        // What cannot be tried yet is shown as the template has it.
        let tried = step.tried.as_ref().unwrap_or(&step.member.object).clone();
        text.push_str(&one(&step.member, present, tried, secrets));
    }
    for member in &plan.unwanted {
        text.push_str(&one(member, member.object.clone(), Object::Null, secrets));
    }
    text
}

fn one(member: &Member, mut before: Object, mut after: Object, secrets: &Secrets) -> String {
    secrets.hide(&mut before, &mut after);
    let (before, after) = (lines(before), lines(after));
    if before == after {
        return String::new();
    }
    let path = [member.namespace.as_str(), &member.resource.group_kind(), name(&member.object)];
    let path = path.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/");
    format!("--- present/{path}\n+++ new/{path}\n{}", hunks(&before, &after))
}

/// The hunks of a unified diff, with three lines of context. `similar::TextDiff` writes the same, but comes with all algorithms of
/// similar, each compiled for several types: 200 KB of code.
fn hunks(before: &str, after: &str) -> String {
    let (old, new) = (split(before), split(after));
    // Equal lines have equal numbers.
    let mut numbers = HashMap::new();
    let mut numbered = |lines: &[&'_ str]| -> Vec<usize> {
        let mut number = |line: &&str| {
            let next = numbers.len();
            *numbers.entry((*line).to_owned()).or_insert(next)
        };
        lines.iter().map(&mut number).collect()
    };
    let (old_numbers, new_numbers) = (numbered(&old), numbered(&new));
    let mut hook = Compact::new(Replace::new(Capture::new()), &old_numbers, &new_numbers);
    let Ok(()) = myers::diff(&mut hook, &old_numbers, 0..old.len(), &new_numbers, 0..new.len());
    let mut text = String::new();
    for hunk in group_diff_ops(hook.into_inner().into_inner().into_ops(), 3) {
        if hunk.is_empty() {
            continue;
        }
        text.push_str(&format!("{}\n", UnifiedHunkHeader::new(&hunk)));
        for change in hunk {
            let (tag, of_old, of_new) = change.as_tag_tuple();
            if tag == similar::DiffTag::Equal {
                push(&mut text, ' ', &old[of_old]);
            } else {
                push(&mut text, '-', &old[of_old]);
                push(&mut text, '+', &new[of_new]);
            }
        }
    }
    text
}

fn split(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn push(text: &mut String, sign: char, lines: &[&str]) {
    for line in lines {
        text.push(sign);
        text.push_str(line);
    }
}

/// An object as YAML, without what is not the user's.
fn lines(mut object: Object) -> String {
    if object.is_null() {
        return String::new();
    }
    if let Some(object) = object.as_object_mut() {
        object.remove("status");
    }
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.retain(|key, _| !HIDDEN.contains(&key.as_str()));
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Object::as_object_mut) {
            annotations.remove(LAST_APPLIED);
        }
    }
    to_yaml(&[object]).trim_start_matches("---\n").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines that often repeat, from a linear congruential generator.
    fn generated(seed: &mut u64, lines: u64) -> String {
        let mut next = || {
            *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *seed >> 33
        };
        let kinds = 2 + next() % 60;
        (0..lines).map(|_| format!("line {}\n", next() % kinds)).collect()
    }

    #[test]
    fn hunks_are_those_of_similar() {
        let mut seed = 1;
        for round in 0..600_u64 {
            let size = [0, 1, 7, 30, 90, 140, 700][usize::try_from(round % 7).unwrap()];
            let before = generated(&mut seed, size);
            // Some texts have little in common, most differ in a few lines.
            let after = match round % 5 {
                0 => generated(&mut seed, size),
                _ => {
                    let mut after: Vec<String> = split(&before).into_iter().map(str::to_owned).collect();
                    for n in 0..round % 9 {
                        let at = usize::try_from((seed >> n) % 1000).unwrap() % (after.len() + 1);
                        after.insert(at, generated(&mut seed, 1));
                        after.remove(usize::try_from((seed >> 7) % 1000).unwrap() % after.len());
                    }
                    after.concat()
                }
            };
            let expected = similar::TextDiff::from_lines(&before, &after).unified_diff().to_string();
            assert_eq!(hunks(&before, &after), expected, "{before}\n{after}");
        }
    }
}
