//! The DNS aliases that jobs render, and what BOSH DNS itself has.

use std::collections::BTreeMap;

use handoff::deployment::{Deployment, DnsAlias};
use instance_group::{Resolved, ResolvedJob};
use manifest_model::replaced::BOSH_DNS;
use problem::{Place, Problem, Problems, Result, code};
use startup::Warnings;
use value::Value;

use crate::templates::{DNS_ALIASES, Rendered};

/// The aliases of all groups, each domain once: those of the property `aliases` of BOSH DNS come first, then those of jobs in
/// the order of their names, as BOSH DNS reads them.
///
/// # Errors
/// A `dns/aliases.json` that is not an object of lists of strings.
pub(crate) fn aliases(groups: &[Resolved], rendered: &[Rendered]) -> Result<Vec<DnsAlias>> {
    let mut problems = Vec::new();
    let mut found: Vec<DnsAlias> = Vec::new();
    let jobs = || groups.iter().flat_map(|group| &group.jobs);
    for job in jobs().filter(|job| job.name == BOSH_DNS) {
        let aliases = job.properties.get("aliases").and_then(Value::as_map);
        for (domain, targets) in aliases.into_iter().flat_map(|aliases| aliases.iter()) {
            let targets = targets.as_array().into_iter().flatten().filter_map(Value::as_str);
            found.extend(
                domain.as_str().map(|domain| DnsAlias {
                    domain: domain.to_owned(),
                    targets: targets.map(str::to_owned).collect(),
                }),
            );
        }
    }
    let mut files: Vec<(&ResolvedJob, &Rendered)> = rendered
        .iter()
        .filter(|file| file.of.template.destination == DNS_ALIASES)
        .map(|file| (file.of.job(groups), file))
        .collect();
    files.sort_by(|(a, _), (b, _)| a.name.cmp(&b.name));
    for (job, file) in files {
        for text in &file.texts {
            match read(text) {
                Some(aliases) => found.extend(aliases),
                None => {
                    let problem = invalid(groups, job, file);
                    if !problems.contains(&problem) {
                        problems.push(problem);
                    }
                }
            }
        }
    }
    Problems::check(problems)?;
    // Instances that render the same have the same; of others, the first counts.
    let mut first = BTreeMap::new();
    for (n, alias) in found.iter().enumerate() {
        first.entry(&alias.domain).or_insert(n);
    }
    Ok(found
        .iter()
        .enumerate()
        .filter(|(n, alias)| first[&alias.domain] == *n)
        .map(|(_, alias)| alias.clone())
        .collect())
}

/// An object of lists of strings, in the order of the file. An empty file has no aliases.
fn read(text: &[u8]) -> Option<Vec<DnsAlias>> {
    if text.trim_ascii().is_empty() {
        return Some(Vec::new());
    }
    let json: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(text).ok()?;
    let alias = |(domain, targets): (String, serde_json::Value)| {
        Some(DnsAlias { domain, targets: serde_json::from_value(targets).ok()? })
    };
    json.into_iter().map(alias).collect()
}

fn invalid(groups: &[Resolved], job: &ResolvedJob, file: &Rendered) -> Problem {
    let group = &groups[file.of.group].name;
    let message = format!(
        "job '{}' of instance group '{group}' renders a {DNS_ALIASES} that is not a JSON object of lists of names",
        job.name
    );
    Problem::template(message).code(code::DNS_ALIASES_INVALID).at(Place::file(&file.of.template.source.file))
}

/// Warns about aliases that never have an address, and that BOSH DNS itself does not run.
pub(crate) fn warn(warnings: &Warnings, groups: &[Resolved], deployment: &Deployment) {
    for warning in dns_aliases::Zone::new(deployment, |_, _| None).warnings() {
        warnings.warn(Problem::input(warning.to_string()));
    }
    if groups.iter().flat_map(|group| &group.jobs).any(|job| job.name == BOSH_DNS) {
        // Nothing that could be mended.
        tracing::warn!("the job '{BOSH_DNS}' is not run: boson answers the names of BOSH DNS in its place");
    }
}
