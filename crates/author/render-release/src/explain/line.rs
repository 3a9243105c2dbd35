//! Which line of a template renders a line of a file, and what it reads.

use std::fmt::Write;

use dialect_erb::trace::{Read, Trace};
use instance_group::{Resolved, ResolvedJob};
use job_templates::{job_ref, templates};
use manifest_inputs::Documents;
use problem::{Problem, Problems, Result, code};
use render_jobs::depends_on_overlay;
use template::Source;

use super::{Context, job_of, links};
use crate::files::{self, Deployment};
use crate::selection::Selection;

/// `spec.ip` of the instance, which no deployment knows.
const IP: &str = "127.0.0.1";

/// The explanation of `JOB/FILE:LINE` of an instance.
pub(super) fn explain(
    context: &Context,
    documents: Documents,
    groups: &[Resolved],
    (group, index): (&Resolved, u32),
    text: &str,
) -> Result<String> {
    let (job, path, line) = parse(text)?;
    let job = job_of(group, job)?;
    let source = source(context, job, path)?;
    let selection = Selection::of_file(&format!("{}/{index}", group.name), &format!("{}/{path}", job.name))?;
    let deployment = Deployment {
        vm: context.vm,
        renderer: context.renderer,
        jobs_src: &context.target.jobs_src,
        groups,
        selection,
        ip: IP.to_owned(),
    };
    files::render(&deployment)?;
    let traces = context.renderer.take_traces();
    let is_it = |trace: &&Trace| trace.job == job.name && trace.file == source.file;
    let trace = traces.iter().find(is_it).ok_or_else(|| Problem::internal("the template was not rendered"))?;
    let lines = trace.origins.get(line - 1).ok_or_else(|| {
        let count = trace.origins.len();
        Problem::usage(format!("{}/{path} has {count} lines, not {line}", job.name))
    })?;
    let mut result = format!("{}/{index} {}/{path}:{line}\n", group.name, job.name);
    if lines.is_empty() {
        result += "  template  code of the template writes this line by itself\n";
    }
    let texts: Vec<&[u8]> = source.text.split(|b| *b == b'\n').collect();
    for number in lines {
        let text = texts.get(*number as usize - 1).map(|text| String::from_utf8_lossy(text)).unwrap_or_default();
        let _ = writeln!(result, "  template  {}:{number}", source.file);
        let _ = writeln!(result, "            {}", startup::without_control(text.trim()));
    }
    let own: Vec<(u32, &Read)> = lines.iter().flat_map(|line| reads(trace, *line)).collect();
    // What a loop or a condition above reads.
    let above = || lines.first().and_then(|first| trace.reads.range(..first).next_back()).map(|(line, _)| *line);
    let shown = if own.is_empty() { above().map(|line| reads(trace, line).collect()).unwrap_or_default() } else { own };
    for (number, read) in shown {
        let origin = origin(context, documents.clone(), group, job, read)?;
        let at = if lines.contains(&number) { String::new() } else { format!(" on line {number}") };
        let _ = writeln!(result, "  reads     {read}{at}  {origin}");
    }
    Ok(result)
}

fn reads(trace: &Trace, line: u32) -> impl Iterator<Item = (u32, &Read)> {
    trace.reads.get(&line).into_iter().flatten().map(move |read| (line, read))
}

/// Where the value that a template reads comes from.
fn origin(context: &Context, documents: Documents, group: &Resolved, job: &ResolvedJob, read: &Read) -> Result<String> {
    let step = |step: Option<super::origins::Step>| match step {
        Some(step) => format!("{}  {}", step.kind, step.text()),
        None => "no value".to_owned(),
    };
    match read {
        Read::Property(name) => Ok(step(context.origins()?.deciding(&group.name, &job_ref(job), name))),
        Read::Spec(_) => Ok("of the instance: `boson explain MANIFEST INSTANCE` has the formulas".to_owned()),
        Read::Link { link, property } => {
            let choices = plan::link_choices(context.vm, documents, context.target)?;
            let chosen = choices.iter().find(|one| one.group == group.name && one.job == job.name && one.link == *link);
            let Some((choice, index)) = chosen.and_then(|choice| match choice.result {
                instance_group::LinkResult::Chosen(index) => Some((choice, index)),
                _ => None,
            }) else {
                return Ok("no provider of the deployment".to_owned());
            };
            let provider = &choice.candidates[index];
            let of = format!("of job {} in instance group {}", provider.job, provider.group);
            let (Some(name), Some(reference)) = (property, links::reference(context, &provider.job)) else {
                return Ok(of);
            };
            Ok(format!("{of}: {}", step(context.origins()?.deciding(&provider.group, &reference, name))))
        }
    }
}

/// Job, path below the job's directory, and line, from 1.
fn parse(text: &str) -> Result<(&str, &str, usize)> {
    let parsed = text.rsplit_once(':').and_then(|(file, line)| {
        let (job, path) = file.split_once('/')?;
        Some((job, path, line.parse().ok().filter(|line| *line > 0)?))
    });
    parsed.ok_or_else(|| Problem::usage(format!("a line is JOB/FILE:LINE, not '{text}'")).into())
}

/// The template of a file.
fn source(context: &Context, job: &ResolvedJob, path: &str) -> Result<Source> {
    let mut problems = Vec::new();
    let reference = job_ref(job);
    let all = templates(&context.target.jobs_src, &reference, &job.templates, &mut problems);
    Problems::check(problems)?;
    let unknown = || {
        let names: Vec<String> = all.iter().map(|template| format!("{}/{}", job.name, template.destination)).collect();
        let file = format!("{}/{path}", job.name);
        let hint = problem::hint_for_unknown(&file, names.iter().map(String::as_str), || {
            format!("the files are: {}", names.join(", "))
        });
        Problem::usage(format!("no template renders '{file}'")).hint(hint)
    };
    let source = all.iter().find(|template| template.destination == path).ok_or_else(unknown)?.source.clone();
    if job.bpm_overlay.is_some() && depends_on_overlay(path) {
        let message = format!("the manifest changes '{path}' of job '{}' after it is rendered", job.name);
        return Err(Problem::input(message).code(code::INPUT_INVALID).into());
    }
    Ok(source)
}
