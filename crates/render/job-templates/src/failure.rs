//! What is reported about a template that failed.

use dialect_erb::{Asked, Failure};
use instance_group::ResolvedJob;
use instance_group::report::Entry;
use manifest_model::JobSpec;
use problem::{Note, hint_for_unknown};

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
            return Some(format!(
                "the link has no '{name}': the spec of the job that provides it lists its properties"
            ));
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
