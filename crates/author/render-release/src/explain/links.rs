//! Why a link has its provider.

use std::fmt::Write;

use instance_group::{Candidate, LinkChoice, LinkResult};
use jobs_src::JobRef;
use manifest_inputs::Documents;
use problem::{Place, Problem, Result, code, hint_for_unknown};

use super::{Context, job_and_name};
use crate::releases::Releases;

/// The explanation of a link that a job of an instance's group consumes.
pub(super) fn explain(context: &Context, documents: Documents, instance: &str, link: &str) -> Result<String> {
    let (job, name) = job_and_name("--link", link)?;
    let group = instance.split_once('/').map_or(instance, |(group, _)| group);
    let choices = plan::link_choices(context.vm, documents, context.target)?;
    let is_it = |choice: &&LinkChoice| choice.group == group && choice.job == job && choice.link == name;
    let Some(choice) = choices.iter().find(is_it) else { return Err(unknown(&choices, group, job, name)) };
    let optional = if choice.is_optional { ", optional" } else { "" };
    let mut text = format!("link {name} of job {job} in instance group {group}{}\n", place(&choice.place));
    let _ = writeln!(text, "    type        {}{optional}", choice.link_type);
    let _ = writeln!(text, "    wanted      {}", choice.rule);
    let chosen = if let LinkResult::Chosen(index) = choice.result { Some(index) } else { None };
    for (index, candidate) in choice.candidates.iter().enumerate() {
        let mark = if chosen == Some(index) { '*' } else { ' ' };
        let Candidate { name, job, group, .. } = candidate;
        let reason = candidate.mismatch.as_ref().map(|why| format!("  no: {why}")).unwrap_or_default();
        let _ = writeln!(
            text,
            "  {mark} candidate   {name} of job {job} in instance group {group}{}{reason}",
            place(&candidate.place)
        );
    }
    match &choice.result {
        LinkResult::Chosen(index) => properties(context, &choice.candidates[*index], &mut text)?,
        LinkResult::Content => text += "  * content     that of the manifest or of the other deployment\n",
        LinkResult::Absent => {
            text += "  * absent      no provider matches, and the link is optional: `if_link` finds nothing\n"
        }
        LinkResult::Failed(lines, hint) => {
            for line in lines {
                let _ = writeln!(text, "    refused     {}", line.trim_start_matches(['-', ' ']));
            }
            let _ = writeln!(text, "    hint        {hint}");
        }
    }
    Ok(text)
}

/// The properties of the link, and where the provider has their values from.
fn properties(context: &Context, chosen: &Candidate, text: &mut String) -> Result<()> {
    let origins = context.origins()?;
    let Some(reference) = reference(context, &chosen.job) else { return Ok(()) };
    for name in &chosen.properties {
        let origin = match origins.deciding(&chosen.group, &reference, name) {
            Some(step) => format!("{}  {}", step.kind, step.text()),
            None => "no value".to_owned(),
        };
        let _ = writeln!(text, "    property    {name}  {origin}");
    }
    Ok(())
}

/// The job of a release that is given.
pub(super) fn reference(context: &Context, job: &str) -> Option<JobRef> {
    let Releases(releases) = context.releases;
    let release = releases.iter().find(|release| release.jobs.iter().any(|name| name == job))?;
    Some(JobRef { release: release.name.clone(), job: job.to_owned() })
}

fn place(place: &Place) -> String {
    if place.line.is_some() { format!("  {}", Place { path: Vec::new(), ..place.clone() }) } else { String::new() }
}

fn unknown(choices: &[LinkChoice], group: &str, job: &str, name: &str) -> problem::Problems {
    let of_job: Vec<&str> =
        choices.iter().filter(|choice| choice.group == group && choice.job == job).map(|c| c.link.as_str()).collect();
    let hint = hint_for_unknown(name, of_job.iter().copied(), || match of_job.as_slice() {
        [] => "it consumes no link".to_owned(),
        names => format!("it consumes: {}", names.join(", ")),
    });
    let message = format!("job '{job}' in instance group '{group}' consumes no link '{name}'");
    Problem::usage(message).code(code::LINK_UNKNOWN).hint(hint).into()
}
