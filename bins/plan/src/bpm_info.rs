//! Rendering `bpm.yml` for every instance, and what it says about what runs.

use std::path::Path;

use bpm::{JobConfig, ProcessConfig};
use deployment::identity::slots;
use deployment::{JobSpec, Value};
use dialect_erb::report::{Entry, report};
use dialect_erb::{Renderer, Unit};
use handoff::bpm_info::{
    Bpm, BpmInfo, Group, GroupProperties, GroupQuarks, Instance, Job, JobProperties, JobQuarks, Process, Run,
};
use instance_group::{Resolved, ResolvedJob};
use problem::{IoContext, Note, Place, Problem, Problems, Result};
use template::{Source, safe_destination};

use crate::input::Input;

/// Where BPM looks for a job's configuration, below the job's directory.
const BPM_YML: &str = "config/bpm.yml";
/// Where BOSH looks for an errand's script.
const BIN_RUN: &str = "bin/run";
/// What stands for the pod's address while planning (BOSH: the address of a dynamic network before it is known).
const STAND_IN_IP: &str = "127.0.0.1";

/// Renders the `bpm.yml` of every job for every instance; fills each job's `bpm` and gives each group's BPM info.
///
/// # Errors
/// Templates that fail (of all groups), BPM configuration that is wrong or differs where a pod cannot differ.
pub(crate) fn render(renderer: &Renderer, input: &Input, groups: &mut [Resolved]) -> Result<Vec<BpmInfo>> {
    let templates = find_templates(input, groups)?;
    let rendered = render_all(renderer, groups, &templates)?;
    let mut problems = Vec::new();
    for found in rendered {
        let group = &mut groups[found.group];
        match configuration(group, found.job, &templates, found.texts) {
            Ok(value) => group.jobs[found.job].bpm = value,
            Err(more) => problems.extend(more.into_vec()),
        }
    }
    Problems::check(problems)?;
    groups.iter().map(|group| info(group, input)).collect()
}

/// The `bpm.yml` template of a job.
struct BpmTemplate {
    group: usize,
    job: usize,
    source: Source,
}

fn spec<'a>(input: &'a Input, job: &ResolvedJob) -> Option<&'a JobSpec> {
    input.specs.get(&(job.release.name.clone(), job.name.clone()))
}

/// The source of the template with this destination.
fn template_for<'a>(spec: &'a JobSpec, destination: &str) -> Option<&'a str> {
    let lands = |d: &str| safe_destination(d).is_ok_and(|d| d == destination);
    spec.templates.iter().find(|(_, d)| lands(d)).map(|(source, _)| source.as_str())
}

fn find_templates(input: &Input, groups: &[Resolved]) -> Result<Vec<BpmTemplate>> {
    let mut problems = Vec::new();
    let mut templates = Vec::new();
    for (g, group) in groups.iter().enumerate() {
        for (j, job) in group.jobs.iter().enumerate() {
            let Some(name) = spec(input, job).and_then(|s| template_for(s, BPM_YML)) else { continue };
            let directory = input.jobs_src.join(&job.release.name).join(&job.name);
            match read_template(&directory, name, &job.name) {
                Ok(source) => templates.push(BpmTemplate { group: g, job: j, source }),
                Err(found) => problems.extend(found.into_vec()),
            }
        }
    }
    Problems::check(problems)?;
    Ok(templates)
}

fn read_template(directory: &Path, name: &str, job: &str) -> Result<Source> {
    let path = directory.join("templates").join(name);
    let file = path.display().to_string();
    match std::fs::read(&path) {
        Ok(text) => Ok(Source { name: name.to_owned(), file, text }),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            Err(Problem::input(format!("Missing template file '{name}' for job '{job}'")).at(Place::file(file)).into())
        }
        Err(e) => Err(e).io("read", &path),
    }
}

/// A job's `bpm.yml` for each of its group's instances, in order.
struct RenderedBpm {
    group: usize,
    job: usize,
    texts: Vec<Vec<u8>>,
}

fn render_all(renderer: &Renderer, groups: &[Resolved], templates: &[BpmTemplate]) -> Result<Vec<RenderedBpm>> {
    let mut contexts = Vec::new();
    let mut units = Vec::new();
    for template in templates {
        let group = &groups[template.group];
        let job = &group.jobs[template.job];
        let same = dialect_erb::analysis::analyse(&template.source.text).same_for_all_instances;
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
        let same = dialect_erb::analysis::analyse(&template.source.text).same_for_all_instances;
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
        rendered.push(RenderedBpm { group: template.group, job: template.job, texts });
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
    let mut place = Place::file(&template.source.file);
    place.line = failure.line;
    place.excerpt = failure.line.and_then(|line| template.source.line(line));
    Entry {
        job: job.to_owned(),
        text: failure.text(&template.source.name),
        is_monit: false,
        note: Note { place, hint: None },
    }
}

/// Reads the rendered texts and gives the first one's processes; what a container cannot vary must not vary.
fn configuration(group: &Resolved, job: usize, templates: &[BpmTemplate], texts: Vec<Vec<u8>>) -> Result<Value> {
    let job = &group.jobs[job];
    let file = templates
        .iter()
        .map(|t| &t.source)
        .find(|s| s.file.contains(&format!("/{}/{}/", job.release.name, job.name)))
        .map_or_else(String::new, |s| s.file.clone());
    let mut parsed: Vec<JobConfig> = Vec::new();
    let mut last: Option<Vec<u8>> = None;
    for text in texts {
        if last.as_ref() == Some(&text) {
            continue;
        }
        let config =
            bpm::parse_for_job(&String::from_utf8_lossy(&text), &format!("{BPM_YML} rendered from {file}"), &job.name)
                .map_err(|problems| in_group(problems, group, job))?;
        parsed.push(config);
        last = Some(text);
    }
    let Some(first) = parsed.first() else { return Ok(Value::Nil) };
    let differing: Vec<String> = parsed[1..].iter().flat_map(|other| differences(first, other)).collect();
    if let Some(field) = differing.first() {
        return Err(Problem::input(format!(
            "job '{}' of instance group '{}' renders a bpm.yml whose {field} differs between instances",
            job.name, group.name
        ))
        .at(Place::file(file))
        .hint("a pod template cannot differ between its replicas; executable, args and env may, this field may not")
        .into());
    }
    let json = serde_json::to_value(first).map_err(|e| Problem::internal("cannot encode a bpm.yml").because(e))?;
    Ok(from_json(&json))
}

fn in_group(mut problems: Problems, group: &Resolved, job: &ResolvedJob) -> Problems {
    for problem in problems.iter_mut() {
        problem.causes.push(format!("job '{}' of instance group '{}'", job.name, group.name));
    }
    problems
}

/// The container-level fields in which two configurations of a job differ.
fn differences(a: &JobConfig, b: &JobConfig) -> Vec<String> {
    let names = |c: &JobConfig| c.processes.iter().map(|p| p.name.clone()).collect::<Vec<_>>();
    if names(a) != names(b) {
        return vec!["list of processes".into()];
    }
    let fields: [(&str, fn(&ProcessConfig, &ProcessConfig) -> bool); 6] = [
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

fn from_json(value: &serde_json::Value) -> Value {
    use serde_json::Value as Json;
    match value {
        Json::Null => Value::Nil,
        Json::Bool(b) => Value::Bool(*b),
        Json::Number(n) => n.as_i64().map_or_else(|| Value::Float(n.as_f64().unwrap_or_default()), Value::Int),
        Json::String(s) => Value::str(s.clone()),
        Json::Array(items) => Value::array(items.iter().map(from_json)),
        Json::Object(object) => Value::map(object.iter().map(|(k, v)| (k.as_str(), from_json(v)))),
    }
}

fn info(group: &Resolved, input: &Input) -> Result<BpmInfo> {
    let instances = slots(group.instances, &group.azs)
        .into_iter()
        .map(|slot| Instance {
            address: group.domain.instance_address(&group.name, slot.index),
            index: slot.index,
            az: slot.az,
            az_index: slot.az_index,
            ordinal: slot.ordinal,
        })
        .collect();
    let jobs = group.jobs.iter().map(|job| {
        let (run, bpm) = runs(group, job, input)?;
        let quarks = JobQuarks { run, bpm };
        Ok(Job { name: job.name.clone(), release: job.release.name.clone(), properties: JobProperties { quarks } })
    });
    Ok(BpmInfo {
        name: group.domain.deployment.clone(),
        instance_groups: vec![Group {
            name: group.name.clone(),
            lifecycle: group.lifecycle.clone(),
            instances: group.instances,
            azs: group.azs.clone(),
            jobs: jobs.collect::<Result<_>>()?,
            properties: GroupProperties { quarks: GroupQuarks { replicas: group.replicas, instances } },
        }],
    })
}

/// A job runs its `bpm.yml`; one without runs `bin/run` in an errand; else it has hooks only.
fn runs(group: &Resolved, job: &ResolvedJob, input: &Input) -> Result<(Run, Option<Bpm>)> {
    let Some(spec) = spec(input, job) else { return Ok((Run::Hooks, None)) };
    if template_for(spec, BPM_YML).is_some() {
        return Ok((Run::Bpm, Some(Bpm { processes: processes(&job.bpm)? })));
    }
    if template_for(spec, BIN_RUN).is_some() {
        // Colocated with a service, an errand waits to be asked for; in both cases this is what it runs.
        return Ok((Run::Errand, None));
    }
    let monit = input.jobs_src.join(&job.release.name).join(&job.name).join("monit");
    let watched =
        std::fs::read_to_string(&monit).is_ok_and(|text| text.lines().any(|l| l.trim().starts_with("check ")));
    if watched {
        tracing::warn!(
            "job '{}' of instance group '{}' is started by monit only: it has no {BPM_YML}, so nothing of it will run",
            job.name,
            group.name
        );
    }
    Ok((Run::Hooks, None))
}

fn processes(bpm: &Value) -> Result<Vec<Process>> {
    let items = bpm.get("processes").and_then(Value::as_array).unwrap_or_default();
    items
        .iter()
        .map(|item| {
            let yaml = to_yaml(item);
            serde_yaml::from_value(yaml).map_err(|e| Problem::internal("cannot encode a bpm.yml").because(e).into())
        })
        .collect()
}

fn to_yaml(value: &Value) -> serde_yaml::Value {
    match value {
        Value::Bool(b) => (*b).into(),
        Value::Int(n) => (*n).into(),
        Value::Float(f) => (*f).into(),
        Value::Array(items) => items.iter().map(to_yaml).collect::<Vec<_>>().into(),
        Value::Map(map) => map.iter().map(|(k, v)| (to_yaml(k), to_yaml(v))).collect::<serde_yaml::Mapping>().into(),
        other => other.scalar_to_s().map_or(serde_yaml::Value::Null, Into::into),
    }
}
