//! Templates: names that do not exist, and code that does not belong there.

use std::collections::HashSet;

use problem::hint_for_unknown;

use super::{line_of, place_of};
use crate::finding::Findings;
use crate::rules;
use crate::source::{JobSource, TemplateSource};
use crate::uses::{Oddity, Uses};

/// What `spec` has in BOSH.
const SPEC: [&str; 16] = [
    "deployment",
    "job",
    "index",
    "bootstrap",
    "name",
    "id",
    "az",
    "networks",
    "properties_need_filtering",
    "dns_domain_name",
    "persistent_disk",
    "address",
    "ip",
    "properties",
    "links",
    "release",
];

/// Methods of structs.
const OF_STRUCTS: [&str; 11] = [
    "to_h",
    "each_pair",
    "dig",
    "marshal_dump",
    "respond_to?",
    "methods",
    "table",
    "delete_field",
    "key?",
    "instance_variable_get",
    "instance_variables",
];

/// Words that mark a property as a secret, and as one that may hold any character.
const SECRETS: [&str; 4] = ["password", "passphrase", "secret", "passwd"];

pub(crate) fn check(job: &JobSource, functions: &HashSet<String>, findings: &mut Findings) {
    for template in job.all_templates() {
        let Some(uses) = &template.uses else { continue };
        names(template, uses, functions, findings);
        oddities(template, uses, findings);
        outputs(template, uses, findings);
    }
}

fn names(template: &TemplateSource, uses: &Uses, functions: &HashSet<String>, findings: &mut Findings) {
    for (name, at) in &uses.spec_reads {
        let is_method = functions.contains(name) || OF_STRUCTS.contains(&name.as_str()) || name.ends_with(['?', '=']);
        if !SPEC.contains(&name.as_str()) && !is_method {
            let hint = hint_for_unknown(name, SPEC, || format!("spec has: {}", SPEC.join(", ")));
            let message = format!("spec has no '{name}': it is always nil");
            findings.add(rules::SPEC_ATTRIBUTE, place_of(template, *at), message).hint(hint);
        }
    }
    if uses.is_reflective {
        return;
    }
    for (name, at) in &uses.calls {
        if !functions.contains(name) && !uses.definitions.contains(name) {
            let known = ["p", "if_p", "link", "if_link", "spec", "properties", "name", "index", "raw_properties"];
            let known = known.into_iter().chain(uses.definitions.iter().map(String::as_str));
            let finding = findings.add(
                rules::METHOD_UNKNOWN,
                place_of(template, *at),
                format!("there is no method or variable '{name}'"),
            );
            finding.hint = problem::did_you_mean(name, known).map(|name| format!("did you mean '{name}'?"));
        }
    }
}

fn oddities(template: &TemplateSource, uses: &Uses, findings: &mut Findings) {
    let mut seen = HashSet::new();
    for (oddity, name, at) in
        uses.oddities.iter().filter(|(oddity, name, at)| seen.insert((*oddity as u8, name, at.line)))
    {
        let (rule, message) = match oddity {
            Oddity::Unstable => {
                (rules::TEMPLATE_UNSTABLE, format!("{name} is different each time the template is rendered"))
            }
            Oddity::Environment => (rules::TEMPLATE_ENVIRONMENT, format!("{name} is the environment of the director")),
            Oddity::Io => (rules::TEMPLATE_IO, format!("{name} acts on the director's machine, not on the instance")),
        };
        let finding = findings.add(rule, place_of(template, *at), message);
        if *oddity == Oddity::Unstable {
            finding.hint("instances restart with each deploy; take the value from a variable of the manifest");
        }
    }
}

/// Where a value goes that is written as it is.
fn outputs(template: &TemplateSource, uses: &Uses, findings: &mut Findings) {
    let text = template.text();
    for (name, at) in &uses.outputs {
        let last = name.rsplit('.').next().unwrap_or_default();
        if !SECRETS.iter().any(|word| last.contains(word)) {
            continue;
        }
        let Some(line) = line_of(&text, at.line) else { continue };
        let before: String = line.chars().take(at.column.saturating_sub(1) as usize).collect();
        let Some((before, code)) = before.rsplit_once("<%=") else { continue };
        let rest = &line[before.len() + "<%=".len() + code.len()..];
        let Some((_, after)) = rest.split_once("%>") else { continue };
        let place = place_of(template, *at);
        if is_argument(&template.destination, before) {
            let message = format!("property '{name}' is in a command line");
            let finding = findings.add(rules::SECRET_ARGUMENT, place, message);
            finding.hint("give it in an environment variable or a file");
        } else if let Some((kind, hint)) = unquoted(&template.destination, before, after) {
            let message = format!("property '{name}' is written without quoting into {kind}");
            findings.add(rules::VALUE_UNQUOTED, place, message).hint(hint);
        }
    }
}

/// Whether what follows is the value of a flag: `--password=`, `-p `, in a script or in `args` of a bpm.yml.
fn is_argument(destination: &str, before: &str) -> bool {
    if !(destination.starts_with("bin/") || destination == "config/bpm.yml") || before.trim_start().starts_with('#') {
        return false;
    }
    let before = before.trim_end_matches(['"', '\'']);
    let Some(word) = before.split([' ', '\t', '"', '\'']).rfind(|word| !word.is_empty()) else { return false };
    let is_flag = word.starts_with("--") && word.len() > 2 && !word.contains('$');
    is_flag && (word.ends_with('=') || before.ends_with(' '))
}

/// What a value breaks that holds special characters, and how it is quoted.
fn unquoted(destination: &str, before: &str, after: &str) -> Option<(&'static str, &'static str)> {
    let is_end = after.trim().is_empty();
    if before.trim_start().starts_with('#') {
        return None;
    }
    if destination.ends_with(".yml") || destination.ends_with(".yaml") {
        let key = before.trim_start().trim_start_matches("- ").strip_suffix(": ")?;
        let is_key = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || "_-.\"'".contains(c));
        return (is_key && is_end).then_some(("YAML", "write <%= p('...').to_json %>: a JSON string is one of YAML"));
    }
    if destination.ends_with(".json") {
        let is_text = before.ends_with('"') && after.starts_with('"');
        return is_text.then_some(("JSON", "write <%= p('...').to_json %> without the quotes around it"));
    }
    if destination.starts_with("bin/") {
        let assignment = before.trim_start();
        let assignment = assignment.strip_prefix("export ").unwrap_or(assignment).strip_suffix('=')?;
        let is_name = !assignment.is_empty() && assignment.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        return (is_name && is_end).then_some(("a script", "write <%= p('...').shellescape %>"));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_has_a_value() {
        assert!(is_argument("bin/run", "exec server --password="));
        assert!(is_argument("bin/run", "exec server --password \""));
        assert!(is_argument("config/bpm.yml", "  - --password="));
        for (destination, before) in [
            ("config/x", "--password="),
            ("bin/run", "# --password="),
            ("bin/run", "PASSWORD="),
            ("bin/run", "echo "),
            ("config/bpm.yml", "  PASSWORD: "),
        ] {
            assert!(!is_argument(destination, before), "{destination} {before}");
        }
    }

    #[test]
    fn quoting_depends_on_the_file() {
        assert!(unquoted("config/a.yml", "  password: ", "").is_some());
        assert!(unquoted("config/a.json", "\"password\": \"", "\",").is_some());
        assert!(unquoted("bin/run", "export PASSWORD=", "").is_some());
        for (destination, before, after) in [
            ("config/a.yml", "  password: \"", "\""),
            ("config/a.yml", "  url: http://", ""),
            ("config/a.json", "\"password\": ", ","),
            ("config/a.conf", "password: ", ""),
            ("bin/run", "export PASSWORD='", "'"),
            ("bin/run", "# PASSWORD=", ""),
        ] {
            assert!(unquoted(destination, before, after).is_none(), "{destination} {before}");
        }
    }
}
