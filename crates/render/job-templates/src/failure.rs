//! What is reported about a template that failed.

use dialect_erb::{Asked, Failure};
use instance_group::ResolvedJob;
use instance_group::report::Entry;
use manifest_model::JobSpec;
use problem::{Note, hint_for_unknown};
use value::Value;

use crate::Template;

/// The entry in BOSH's report about a template of `job` that failed; `spec` is the job's, where it could be read; it
/// serves the hint.
pub fn failed(job: &ResolvedJob, template: &Template, failure: &Failure, spec: Option<&JobSpec>) -> Entry {
    let place = failure.error.place(&template.source);
    Entry {
        job: job.name.clone(),
        text: failure.text(&template.source.name),
        is_monit: template.is_monit(),
        code: failure.error.code,
        note: Note { place, what: None, hint: spec.and_then(|spec| hint(job, spec, failure)) },
    }
}

fn hint(resolved: &ResolvedJob, spec: &JobSpec, failure: &Failure) -> Option<String> {
    let job = &spec.name;
    if let Some(link) = &failure.link {
        if spec.consumes.iter().any(|c| c.name == *link) {
            return Some(format!("link '{link}' is optional and was not resolved: use if_link('{link}')"));
        }
        return Some(hint_for_unknown(link, spec.consumes.iter().map(|c| c.name.as_str()), || {
            format!("job '{job}' does not consume a link '{link}': declare it in its spec")
        }));
    }
    let name = failure.properties.first()?;
    match failure.asked {
        Asked::Link => {
            let known = properties_of_links(resolved);
            if known.contains(name) {
                return Some(format!("'{name}' of the link has no value: set it for the job that provides the link"));
            }
            return Some(hint_for_unknown(name, known.iter().map(String::as_str), || {
                format!("the link has no '{name}': the spec of the job that provides it lists its properties")
            }));
        }
        Asked::Instance => {
            return Some("a link's instances have properties only where the manifest gives the link".to_owned());
        }
        Asked::Job => {}
    }
    if spec.property(name).is_some() {
        let similar = resolved.misspelt.iter().find(|(declared, _)| declared == name);
        return Some(match similar {
            Some((_, given)) => format!("'{name}' has no default, and the manifest sets '{given}': is that a typo?"),
            None => format!("'{name}' has no default: set it in the manifest"),
        });
    }
    Some(hint_for_unknown(name, spec.properties.iter().map(|p| p.name.as_str()), || {
        format!("the spec of job '{job}' does not declare '{name}': templates see only declared properties")
    }))
}

/// The most names of properties of links among which a similar one is searched.
const MAX_NAMES: usize = 10_000;

/// The dotted names of all properties of the links of a job.
fn properties_of_links(job: &ResolvedJob) -> Vec<String> {
    let mut names = Vec::new();
    for properties in job.links.iter().filter_map(|link| link.content.get("properties")) {
        collect_names(properties, "", &mut names);
    }
    names
}

fn collect_names(value: &Value, prefix: &str, names: &mut Vec<String>) {
    for (key, inner) in value.as_map().into_iter().flat_map(value::Map::iter) {
        let Some(key) = key.as_str().filter(|_| names.len() < MAX_NAMES) else { continue };
        let name = format!("{prefix}{key}");
        collect_names(inner, &format!("{name}."), names);
        names.push(name);
    }
}
