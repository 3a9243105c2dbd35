//! Links: consumed, provided, used.

use std::collections::HashSet;

use problem::{did_you_mean, hint_for_unknown};

use super::place_of;
use crate::finding::{Findings, at};
use crate::rules;
use crate::source::{JobSource, ReleaseSource};
use crate::spec::Link;
use crate::uses::{LinkUse, Need};

pub(crate) fn check(
    releases: &[ReleaseSource],
    job: &JobSource,
    methods_of_links: &HashSet<String>,
    findings: &mut Findings,
) {
    used(job, methods_of_links, findings);
    consumed(job, findings);
    provided(job, findings);
    types(releases, job, findings);
    properties(releases, job, findings);
}

/// The consumed link of this name.
fn consumed_link<'j>(job: &'j JobSource, name: &str) -> Option<&'j Link> {
    job.spec.consumes.iter().find(|link| link.name == name)
}

/// What templates do with links.
fn used(job: &JobSource, methods_of_links: &HashSet<String>, findings: &mut Findings) {
    for template in job.all_templates() {
        let Some(uses) = &template.uses else { continue };
        for LinkUse { name, is_required, is_conditional, at } in &uses.links {
            // A dot separates the parts of a path in BOSH.
            if name.contains('.') {
                continue;
            }
            let place = place_of(template, *at);
            match consumed_link(job, name) {
                None if *is_required => {
                    let message = format!("job '{}' does not consume a link '{name}'", job.name);
                    let names = job.spec.consumes.iter().map(|link| link.name.as_str());
                    let hint = hint_for_unknown(name, names, || format!("add it to `consumes` in {}", job.spec_file));
                    findings.add(rules::LINK_UNDECLARED, place, message).hint(hint);
                }
                None => {
                    let names = job.spec.consumes.iter().map(|link| link.name.as_str());
                    let message =
                        format!("job '{}' does not consume a link '{name}': this part is never rendered", job.name);
                    findings.add(rules::LINK_UNDECLARED, place, message).hint =
                        did_you_mean(name, names).map(|name| format!("did you mean '{name}'?"));
                }
                Some(link) if link.is_optional && *is_required && !is_conditional => {
                    let is_asked = uses.links.iter().any(|other| other.name == *name && !other.is_required);
                    if !is_asked {
                        let message = format!("link '{name}' is optional, and the template fails without it");
                        let hint = format!("use if_link('{name}'), or remove `optional` in {}", job.spec_file);
                        findings.add(rules::LINK_OPTIONAL, place, message).hint(hint);
                    }
                }
                Some(_) => {}
            }
        }
        for (method, at) in uses.link_calls.iter().filter(|(method, _)| !methods_of_links.contains(method)) {
            let message = format!("links have no method '{method}'");
            let names = ["instances", "properties", "p", "if_p", "address"];
            let hint = hint_for_unknown(method, names, || {
                format!("the methods are: {}; other facts are in spec.links", names.join(", "))
            });
            findings.add(rules::LINK_METHOD, place_of(template, *at), message).hint(hint);
        }
    }
}

/// Consumed links that no template uses.
fn consumed(job: &JobSource, findings: &mut Findings) {
    let Some(all) = job.all_uses() else { return };
    if all.iter().any(|uses| uses.has_dynamic_links) {
        return;
    }
    for link in &job.spec.consumes {
        let is_used = all.iter().any(|uses| {
            // The name may be used in a way that is not followed.
            uses.texts.contains(&link.name) || uses.links.iter().any(|used| used.name == link.name)
        });
        if !is_used {
            let message = format!("link '{}' is consumed and used by no template of job '{}'", link.name, job.name);
            findings.add(rules::LINK_UNUSED, at(&job.spec_file, link.at.line, link.at.column), message);
        }
    }
}

/// Properties of provided links that the job does not have.
fn provided(job: &JobSource, findings: &mut Findings) {
    for link in &job.spec.provides {
        for (name, origin) in link.properties.iter().filter(|(name, _)| job.spec.property(name).is_none()) {
            let message =
                format!("link '{}' provides property '{name}', which job '{}' does not declare", link.name, job.name);
            let finding =
                findings.add(rules::LINK_PROPERTY_UNDECLARED, at(&job.spec_file, origin.line, origin.column), message);
            finding.hint(hint_for_unknown(name, job.spec.property_names(), || {
                "BOSH refuses the link unless the manifest sets the property".to_owned()
            }));
        }
    }
}

/// All provided links.
fn all_provided(releases: &[ReleaseSource]) -> impl Iterator<Item = &Link> {
    releases.iter().flat_map(|release| &release.jobs).flat_map(|job| &job.spec.provides)
}

/// Types that are similar to one that exists. Others may be provided by releases that are not known.
fn types(releases: &[ReleaseSource], job: &JobSource, findings: &mut Findings) {
    for link in &job.spec.consumes {
        let types = || all_provided(releases).map(|link| link.link_type.as_str());
        let is_consumed_elsewhere = releases.iter().flat_map(|release| &release.jobs).any(|other| {
            other.name != job.name && other.spec.consumes.iter().any(|other| other.link_type == link.link_type)
        });
        if types().any(|known| known == link.link_type) || is_consumed_elsewhere {
            continue;
        }
        if let Some(similar) = did_you_mean(&link.link_type, types()) {
            let message = format!("no job provides a link of type '{}'", link.link_type);
            let finding = findings.add(rules::LINK_TYPE, at(&job.spec_file, link.at.line, link.at.column), message);
            finding.hint(format!("did you mean '{similar}'?"));
        }
    }
}

/// Properties of links that no provider lists.
fn properties(releases: &[ReleaseSource], job: &JobSource, findings: &mut Findings) {
    for template in job.all_templates() {
        for used in template.uses.iter().flat_map(|uses| &uses.link_reads) {
            let Some(link) = consumed_link(job, &used.link) else { continue };
            let providers: Vec<&Link> =
                all_provided(releases).filter(|provided| provided.link_type == link.link_type).collect();
            let [name] = used.read.names.as_slice() else { continue };
            let is_below = |long: &str, short: &str| long.strip_prefix(short).is_some_and(|rest| rest.starts_with('.'));
            let lists = |provided: &&Link| {
                let mut names = provided.properties.iter().map(|(name, _)| name.as_str());
                names.any(|other| other == name || is_below(other, name) || is_below(name, other))
            };
            let is_needed = used.read.need == Need::Required && !used.read.is_conditional;
            if is_needed && !providers.is_empty() && !providers.iter().any(lists) {
                let message =
                    format!("no job that provides a link of type '{}' lists property '{name}'", link.link_type);
                let known = providers.iter().flat_map(|link| &link.properties).map(|(name, _)| name.as_str());
                let hint = hint_for_unknown(name, known, || {
                    "add it to `properties` of the provided link, or read it with a default".to_owned()
                });
                findings.add(rules::LINK_PROPERTY_UNPROVIDED, place_of(template, used.read.at), message).hint(hint);
            }
        }
    }
}
