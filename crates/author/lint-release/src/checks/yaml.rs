//! What YAML reads differently than it looks.

use std::collections::HashMap;

use go_yaml::Raw;

use crate::finding::{Findings, at};
use crate::rules;
use crate::source::JobSource;
use crate::yaml;

/// The keys of a spec and of its parts.
const SPEC: [&str; 8] = ["name", "description", "templates", "packages", "properties", "provides", "consumes", "logs"];
const PROPERTY: [&str; 5] = ["description", "default", "example", "type", "env"];
const PROVIDES: [&str; 3] = ["name", "type", "properties"];
const CONSUMES: [&str; 3] = ["name", "type", "optional"];

pub(crate) fn check(job: &JobSource, findings: &mut Findings) {
    let Some(root) = &job.spec.root else { return };
    duplicates(root, &job.spec_file, findings);
    misspelt(root, &SPEC, &job.spec_file, findings);
    let section = |key: &str| yaml::get(root, key);
    for (_, property) in section("properties").map_or(&[][..], yaml::entries) {
        misspelt(property, &PROPERTY, &job.spec_file, findings);
    }
    for (section, keys) in [(section("provides"), PROVIDES), (section("consumes"), CONSUMES)] {
        section.map_or(&[][..], yaml::items).iter().for_each(|link| misspelt(link, &keys, &job.spec_file, findings));
    }
    for property in &job.spec.properties {
        if let Some(default) = &property.default {
            scalars(default, &property.name, true, &job.spec_file, findings);
        }
    }
}

/// Keys that occur twice in one mapping.
pub(crate) fn duplicates(root: &Raw, file: &str, findings: &mut Findings) {
    yaml::each_mapping(root, &mut |entries| {
        let mut lines = HashMap::new();
        for (key, _) in entries {
            let Some(name) = yaml::text(key).filter(|name| *name != "<<") else { continue };
            if let Some(first) = lines.insert(name, key.origin.line) {
                let message = format!("key '{}' is in line {first} too: the last counts", name.escape_debug());
                findings.add(rules::YAML_DUPLICATE_KEY, at(file, key.origin.line, key.origin.column), message);
            }
        }
    });
}

/// Keys that are similar to a known one. Others are the author's own.
fn misspelt(node: &Raw, known: &[&str], file: &str, findings: &mut Findings) {
    for (key, _) in yaml::entries(node) {
        let Some(name) = yaml::text(key) else { continue };
        if known.contains(&name) {
            continue;
        }
        let is_present = |similar: &str| yaml::get(node, similar).is_some();
        if let Some(similar) = problem::did_you_mean(name, known.iter().copied()).filter(|similar| !is_present(similar))
        {
            let message = format!("key '{}' has no effect", name.escape_debug());
            let finding = findings.add(rules::SPEC_KEY, at(file, key.origin.line, key.origin.column), message);
            finding.hint(format!("did you mean '{similar}'?"));
        }
    }
}

/// Plain scalars of a default.
fn scalars(node: &Raw, property: &str, is_whole: bool, file: &str, findings: &mut Findings) {
    for item in yaml::items(node) {
        scalars(item, property, false, file, findings);
    }
    for (key, value) in yaml::entries(node) {
        // BOSH and OpenStruct take only texts as keys.
        if yaml::plain(key).is_some_and(is_boolean_word) {
            let message = format!(
                "the key '{}' in the default of '{property}' is a boolean",
                yaml::text(key).unwrap_or_default()
            );
            let finding = findings.add(rules::YAML_BOOLEAN, at(file, key.origin.line, key.origin.column), message);
            finding.hint("write it in quotes");
        }
        scalars(value, property, false, file, findings);
    }
    let Some(text) = yaml::plain(node) else { return };
    let place = || at(file, node.origin.line, node.origin.column);
    if let Some(meaning) = other_number(text) {
        let message = format!("the default {text} of '{property}' is the number {meaning}");
        findings
            .add(rules::YAML_NUMBER, place(), message)
            .hint("write it in quotes, or write the number that is meant");
    } else if is_boolean_word(text) && !is_whole {
        let message = format!("'{text}' in the default of '{property}' is a boolean");
        findings.add(rules::YAML_BOOLEAN, place(), message).hint("write it in quotes, or write true or false");
    }
}

fn is_boolean_word(text: &str) -> bool {
    matches!(text.to_ascii_lowercase().as_str(), "yes" | "no" | "on" | "off")
}

/// The number that Psych reads, if it has other digits than the text.
fn other_number(text: &str) -> Option<String> {
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if text.len() > 1 && text.starts_with('0') && text.bytes().all(|b| matches!(b, b'0'..=b'7')) {
        let number = i64::from_str_radix(text, 8).ok()?;
        return (number > 7).then(|| number.to_string());
    }
    // Hours, minutes and seconds.
    let parts: Vec<&str> = text.split(':').collect();
    if let [first, rest @ ..] = parts.as_slice()
        && matches!(rest.len(), 1 | 2)
        && is_digits(first)
        && rest.iter().all(|part| is_digits(part) && part.len() <= 2 && part.parse().is_ok_and(|n: u32| n < 60))
    {
        let units = [3600, 60, 1];
        let number: Option<u64> =
            parts.iter().zip(units).map(|(part, unit)| Some(part.parse::<u64>().ok()? * unit)).sum();
        return number.map(|number| number.to_string());
    }
    // The final zero of a version.
    let (whole, fraction) = text.split_once('.')?;
    let loses_zero = is_digits(whole) && is_digits(fraction) && fraction.len() > 1 && fraction.ends_with('0');
    loses_zero
        .then(|| text.trim_end_matches('0').to_owned() + if fraction.bytes().all(|b| b == b'0') { "0" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_psych() {
        for (text, number) in [
            ("0755", "493"),
            ("1:30", "5400"),
            ("22:22", "80520"),
            ("12:30:45", "45045"),
            ("1.10", "1.1"),
            ("2.00", "2.0"),
        ] {
            assert_eq!(other_number(text).as_deref(), Some(number), "{text}");
        }
        for text in
            ["0", "00", "07", "08", "755", "1:60", "1:2:3:4", "a:10", "1.0", "1.5", "10.0.0.1", "", ":", "0.0.0.0:80"]
        {
            assert_eq!(other_number(text), None, "{text}");
        }
    }
}
