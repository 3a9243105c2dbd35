//! Properties: declared, used, described, with defaults that fit.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use problem::{did_you_mean, hint_for_unknown};

use super::place_of;
use crate::finding::{Findings, at};
use crate::rules;
use crate::source::{JobSource, ReleaseSource, TemplateSource};
use crate::uses::{Need, Read, Uses};
use crate::yaml;

/// Methods of structs and Hashes, which are no properties.
const STRUCT_METHODS: [&str; 12] = [
    "to_h",
    "each_pair",
    "dig",
    "marshal_dump",
    "respond_to?",
    "delete_field",
    "table",
    "each",
    "keys",
    "values",
    "key?",
    "[]=",
];

/// Methods of lists and mappings that neither texts, numbers nor booleans have.
const OF_COLLECTIONS: [&str; 18] = [
    "each",
    "map",
    "join",
    "each_with_index",
    "each_pair",
    "keys",
    "values",
    "flatten",
    "select",
    "reject",
    "collect",
    "any?",
    "all?",
    "to_h",
    "flat_map",
    "compact",
    "first",
    "last",
];

pub(crate) fn check(release: &ReleaseSource, job: &JobSource, functions: &HashSet<String>, findings: &mut Findings) {
    for template in job.all_templates() {
        let Some(uses) = &template.uses else { continue };
        let shared = names_of_sharing_jobs(release, job, &template.real);
        undeclared(job, template, uses, &shared, functions, findings);
        kinds(job, template, uses, findings);
    }
    if let Some(all) = job.all_uses() {
        unused(job, &all, findings);
        required(job, findings);
    }
    for property in job.spec.properties.iter().filter(|property| !property.has_description) {
        let place = at(&job.spec_file, property.at.line, property.at.column);
        findings.add(rules::PROPERTY_DESCRIPTION, place, format!("property '{}' has no description", property.name));
    }
}

/// The properties of other jobs with the same template: it may be written for all of them.
fn names_of_sharing_jobs<'r>(release: &'r ReleaseSource, job: &JobSource, real: &Path) -> BTreeSet<&'r str> {
    let others = release.jobs.iter().filter(|other| other.name != job.name);
    let sharing = others.filter(|other| other.all_templates().any(|template| template.real == real));
    sharing.flat_map(|other| other.spec.property_names()).collect()
}

fn undeclared(
    job: &JobSource,
    template: &TemplateSource,
    uses: &Uses,
    shared: &BTreeSet<&str>,
    functions: &HashSet<String>,
    findings: &mut Findings,
) {
    let is_known = |name: &str| {
        let is_below = |long: &str, short: &str| long.strip_prefix(short).is_some_and(|rest| rest.starts_with('.'));
        job.spec.can_be_set(name)
            || shared.iter().any(|other| *other == name || is_below(other, name) || is_below(name, other))
    };
    let hint = |name: &str| {
        hint_for_unknown(name, job.spec.property_names(), || {
            format!("declare '{name}' in {}: templates see only declared properties", job.spec_file)
        })
    };
    for Read { names, need, at, .. } in &uses.reads {
        for name in names.iter().filter(|name| !name.is_empty() && !is_known(name)) {
            let is_alone = names.len() == 1 || names.iter().all(|name| !is_known(name));
            let message = format!("property '{name}' is not declared by job '{}'", job.name);
            let (rule, message) = match need {
                Need::Required if is_alone => (rules::PROPERTY_UNDECLARED, message),
                Need::Required => (rules::PROPERTY_NEVER_SET, format!("{message}, the other names are used")),
                Need::Default => (rules::PROPERTY_NEVER_SET, format!("{message}: the default is always used")),
                Need::Optional => (rules::PROPERTY_NEVER_SET, format!("{message}: this part is never rendered")),
            };
            findings.add(rule, place_of(template, *at), message).hint(hint(name));
        }
    }
    for (path, at) in &uses.paths {
        let Some(first) = path.first() else { continue };
        if !is_known(first) && !STRUCT_METHODS.contains(&first.as_str()) && !functions.contains(first) {
            let message = format!("property '{first}' is not declared by job '{}': it is always nil", job.name);
            findings.add(rules::PROPERTY_NEVER_SET, place_of(template, *at), message).hint(hint(&path.join(".")));
        }
    }
}

fn unused(job: &JobSource, all: &[&Uses], findings: &mut Findings) {
    let is_declared = |name: &str| job.spec.can_be_set(name);
    let is_provided = |name: &str| {
        let provided = job.spec.provides.iter().flat_map(|link| &link.properties);
        provided.into_iter().any(|(provided, _)| job.spec.property(name).is_some_and(|own| own.is_related(provided)))
    };
    for property in &job.spec.properties {
        let is_used = all.iter().any(|uses| uses.may_use(&property.name, &is_declared)) || is_provided(&property.name);
        if !is_used {
            let place = at(&job.spec_file, property.at.line, property.at.column);
            let message =
                format!("property '{}' is used by no template and no link of job '{}'", property.name, job.name);
            let finding = findings.add(rules::PROPERTY_UNUSED, place, message);
            let read = all.iter().flat_map(|uses| &uses.reads).flat_map(|read| &read.names);
            let unknown = read.filter(|name| !job.spec.can_be_set(name)).map(String::as_str);
            finding.hint = did_you_mean(&property.name, unknown).map(|name| format!("a template asks for '{name}'"));
        }
    }
}

/// Properties without a default that one template can do without and another cannot.
fn required(job: &JobSource, findings: &mut Findings) {
    let uses = || job.all_templates().filter_map(|template| Some((template, template.uses.as_ref()?)));
    let is_optional = |name: &str| {
        let reads = uses().flat_map(|(_, uses)| &uses.reads);
        reads.into_iter().any(|read| read.need == Need::Optional && read.names == [name])
    };
    for (template, read) in uses().flat_map(|(template, uses)| uses.reads.iter().map(move |read| (template, read))) {
        let [name] = read.names.as_slice() else { continue };
        let has_no_default = job.spec.property(name).is_some_and(|property| property.default.is_none());
        if read.need == Need::Required && !read.is_conditional && has_no_default && is_optional(name) {
            let message = format!("property '{name}' is required here and optional elsewhere (if_p)");
            let finding = findings.add(rules::PROPERTY_REQUIRED, place_of(template, read.at), message);
            finding.hint("give it a default in the spec, or read it with if_p in all templates");
        }
    }
}

/// Defaults that do not fit what templates do with them.
fn kinds(job: &JobSource, template: &TemplateSource, uses: &Uses, findings: &mut Findings) {
    let default = |name: &str| job.spec.property(name).and_then(|property| property.default.as_deref());
    if uses.asks_for_kinds {
        return;
    }
    for (name, method, at) in &uses.receivers {
        let is_scalar = default(name).is_some_and(|default| yaml::text(default).is_some());
        if is_scalar && OF_COLLECTIONS.contains(&method.as_str()) {
            let message =
                format!("'{method}' is called on property '{name}', whose default is neither a list nor a mapping");
            findings.add(rules::PROPERTY_DEFAULT_KIND, place_of(template, *at), message);
        }
    }
    for (name, at) in &uses.conditions {
        let Some(default) = default(name) else { continue };
        let is_quoted = yaml::plain(default).is_none();
        if let (true, Some(text @ ("false" | "no" | "off"))) = (is_quoted, yaml::text(default)) {
            let message = format!("the default of property '{name}' is the text '{text}', which counts as true");
            let finding = findings.add(rules::PROPERTY_DEFAULT_KIND, place_of(template, *at), message);
            finding.hint("write the default without quotes");
        }
    }
}
