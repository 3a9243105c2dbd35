//! Rendering `bpm.yml` for every instance.

use std::collections::BTreeSet;

use bpm::{JobConfig, ProcessConfig};
use dialect_erb::{Mask, Renderer, Unit};
use instance_group::report::{Entry, report};
use instance_group::{Resolved, ResolvedJob};
use problem::{Class, Note, Place, Problem, Problems, Result, code};
use template::Source;
use value::Value;

use crate::input::{Input, job_ref, template_for};

/// Where BPM looks for a job's configuration, below the job's directory.
pub(crate) const BPM_YML: &str = "config/bpm.yml";
/// What stands for the pod's address while planning (BOSH: the address of a dynamic network before it is known).
const STAND_IN_IP: &str = "127.0.0.1";

/// Renders the `bpm.yml` of every job for every instance; fills each job's `bpm`.
///
/// # Errors
/// Templates that fail (of all groups), BPM configuration that is wrong or differs where a pod cannot differ.
pub(crate) fn render(renderer: &Renderer, input: &Input, groups: &mut [Resolved]) -> Result<()> {
    let templates = find_templates(input, groups)?;
    let rendered = render_all(renderer, groups, &templates)?;
    let mut problems = Vec::new();
    for found in rendered {
        let template = &templates[found.template];
        let group = &mut groups[template.group];
        match configuration(group, template, found.texts) {
            Ok(processes) => group.jobs[template.job].bpm = processes,
            Err(more) => problems.extend(more.into_vec()),
        }
    }
    Problems::check(problems)
}

/// The `bpm.yml` template of a job.
struct BpmTemplate {
    group: usize,
    job: usize,
    source: Source,
}

fn find_templates(input: &Input, groups: &[Resolved]) -> Result<Vec<BpmTemplate>> {
    let mut problems = Vec::new();
    let mut missing = BTreeSet::new();
    let mut templates = Vec::new();
    for (g, group) in groups.iter().enumerate() {
        for (j, job) in group.jobs.iter().enumerate() {
            let Some(name) = input.spec(job).and_then(|s| template_for(s, BPM_YML)) else { continue };
            match input.jobs_src.template(&job_ref(job), name) {
                Ok(source) => templates.push(BpmTemplate { group: g, job: j, source }),
                Err(found) if missing.insert(job_ref(job)) => problems.extend(found.into_vec()),
                Err(_) => {}
            }
        }
    }
    Problems::check(problems)?;
    Ok(templates)
}

/// A job's `bpm.yml` for each of its group's instances, in order.
struct RenderedBpm {
    template: usize,
    texts: Vec<Vec<u8>>,
}

fn render_all(renderer: &Renderer, groups: &[Resolved], templates: &[BpmTemplate]) -> Result<Vec<RenderedBpm>> {
    let mut contexts = Vec::new();
    let mut units = Vec::new();
    for template in templates {
        let group = &groups[template.group];
        let job = &group.jobs[template.job];
        let same = renderer.is_same_for_all_instances(&template.source);
        for instance in job.instances.iter().take(if same { 1 } else { usize::MAX }) {
            units.push(Unit { context: contexts.len(), job: &job.name, source: &template.source });
            contexts.push(group.spec(job, instance, Some(STAND_IN_IP)));
        }
    }
    let mut results = renderer.render(&contexts, &units)?.into_iter();
    let mut rendered = Vec::new();
    let mut entries: Vec<(usize, Entry)> = Vec::new();
    for (t, template) in templates.iter().enumerate() {
        let group = &groups[template.group];
        let job = &group.jobs[template.job];
        let same = renderer.is_same_for_all_instances(&template.source);
        let mut texts = Vec::new();
        for _ in job.instances.iter().take(if same { 1 } else { usize::MAX }) {
            match results.next() {
                Some(Ok(text)) => texts.push(text),
                // The first failing instance tells it all (BOSH reports one instance of a group).
                Some(Err(failure)) if entries.last().is_none_or(|(last, _)| *last != t) => {
                    entries.push((t, entry(&job.name, template, &failure)));
                }
                _ => {}
            }
        }
        rendered.push(RenderedBpm { template: t, texts });
    }
    let mut problems = Vec::new();
    for (g, group) in groups.iter().enumerate() {
        let of_group: Vec<Entry> =
            entries.extract_if(.., |(t, _)| templates[*t].group == g).map(|(_, entry)| entry).collect();
        if !of_group.is_empty() {
            problems.push(report(&group.name, of_group));
        }
    }
    Problems::check(problems)?;
    Ok(rendered)
}

fn entry(job: &str, template: &BpmTemplate, failure: &dialect_erb::Failure) -> Entry {
    let place = failure.error.place(&template.source);
    Entry {
        job: job.to_owned(),
        text: failure.text(&template.source.name),
        is_monit: false,
        code: failure.error.code,
        note: Note { place, what: None, hint: None },
    }
}

/// Reads the rendered texts and gives the first one's processes; what a container cannot vary must not vary.
fn configuration(group: &Resolved, template: &BpmTemplate, texts: Vec<Vec<u8>>) -> Result<Option<Vec<ProcessConfig>>> {
    let job = &group.jobs[template.job];
    let file = &template.source.file;
    let mut parsed: Vec<JobConfig> = Vec::new();
    let mut last: Option<Vec<u8>> = None;
    for text in texts {
        if last.as_ref() == Some(&text) {
            continue;
        }
        let config =
            bpm::parse_for_job(&String::from_utf8_lossy(&text), &format!("{BPM_YML} rendered from {file}"), &job.name)
                .map_err(|problems| in_group(problems, group, job, &mask(group, job, template)))?;
        parsed.push(config);
        last = Some(text);
    }
    let Some(first) = parsed.first() else { return Ok(None) };
    let mut differing: Vec<String> = Vec::new();
    for field in parsed[1..].iter().flat_map(|other| differences(first, other)) {
        if !differing.contains(&field) {
            differing.push(field);
        }
    }
    let problems = differing.iter().map(|field| {
        let field = mask(group, job, template).apply(field);
        let message = format!(
            "job '{}' of instance group '{}' renders a bpm.yml whose {field} differs between instances",
            job.name, group.name
        );
        Problem::input(message)
            .code(code::BPM_DIFFERS)
            .at(Place::file(file))
            .hint("a pod template cannot differ between its replicas; executable, args and env may, this field may not")
    });
    Problems::check(problems.collect())?;
    Ok(Some(first.processes.clone()))
}

/// BPM's own messages quote what was rendered.
fn mask(group: &Resolved, job: &ResolvedJob, template: &BpmTemplate) -> Mask {
    let spec = job.instances.first().map_or(Value::Nil, |instance| group.spec(job, instance, Some(STAND_IN_IP)));
    Mask::new(&spec, &template.source.text)
}

fn in_group(mut problems: Problems, group: &Resolved, job: &ResolvedJob, mask: &Mask) -> Problems {
    for problem in problems.iter_mut() {
        problem.message = mask.apply(&problem.message);
        // The file was rendered: whoever wrote the template has to act.
        problem.class = Class::Template;
        problem.causes.push(format!("job '{}' of instance group '{}'", job.name, group.name));
    }
    problems
}

/// Whether two processes agree in a field.
type Same = fn(&ProcessConfig, &ProcessConfig) -> bool;

/// The container-level fields in which two configurations of a job differ.
fn differences(a: &JobConfig, b: &JobConfig) -> Vec<String> {
    let names = |c: &JobConfig| c.processes.iter().map(|p| p.name.clone()).collect::<Vec<_>>();
    if names(a) != names(b) {
        return vec!["list of processes".into()];
    }
    let fields: [(&str, Same); 6] = [
        ("capabilities", |a, b| a.capabilities == b.capabilities),
        ("limits", |a, b| a.limits == b.limits),
        ("ephemeral_disk", |a, b| a.ephemeral_disk == b.ephemeral_disk),
        ("persistent_disk", |a, b| a.persistent_disk == b.persistent_disk),
        ("additional_volumes", |a, b| a.additional_volumes == b.additional_volumes),
        ("unsafe", |a, b| a.unsafe_ == b.unsafe_),
    ];
    let mut differing = Vec::new();
    for (a, b) in a.processes.iter().zip(&b.processes) {
        for (field, same) in fields {
            if !same(a, b) {
                differing.push(format!("process '{}' has a field '{field}' that", a.name));
            }
        }
    }
    differing
}
