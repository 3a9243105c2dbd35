//! Renders every template of every job of an instance group, for the pod it runs in (specification, "Render Templates").
//!
//! Everything is rendered in memory and committed at once; a failure changes nothing.

mod failed;
mod identity;
mod instance_files;
mod options;
mod sources;
mod tree;

use std::path::Path;

use bpm::Overlay;
use dialect_erb::{Renderer, Unit};
use failed::Failed;
use instance_group::{Instance, Resolved, ResolvedJob};
use job_templates::{LINKS_JSON, Template, links_json};
use jobs_src::JobsSrc;
use object_basics::packed;
pub use options::Options;
use problem::{IoContext, Place, Problem, Result, code};
use ruby::{Document, Vm};
use startup::{Common, Steps};
use template::RenderedFile;
use value::Value;

/// One line for `--help`.
pub const ABOUT: &str = "Render every job template of a group for one pod";

/// Where BPM looks for a job's configuration, below the job's directory.
const BPM_YML: &str = "config/bpm.yml";
/// What BOSH calls the file of a job that monit reads.
const MONIT: &str = "monit";

/// Runs the verb; gives the exit code.
pub fn run(options: Options, common: &Common) -> Result<u8> {
    let request = options.check(common)?;
    Vm::beside(|vm| render_jobs(vm, &request))?;
    Ok(0)
}

fn render_jobs(vm: &Vm, request: &options::Request) -> Result<()> {
    let steps = Steps::start();
    let renderer = Renderer::new(vm, request.rendering.clone());
    let group = read_group(vm, request)?;
    let instance = identity::of_this_pod(&group, request)?;
    steps.done("read the resolved group");
    let jobs_src = JobsSrc::below(&request.jobs_dir);
    let jobs = sources::read(vm, &group, &jobs_src)?;
    steps.done("read the job sources");
    let defaults = |unit: &Unit| sources::defaults(vm, &jobs_src, &group.jobs[unit.context]);
    let rendered = render(&renderer, &defaults, &group, &instance, &jobs, request.pod_ip.as_deref())?
        .map_err(|failed| failed::report_of(vm, &jobs_src, &group, &jobs, &failed))?;
    steps.done("rendered");
    tree::commit(request, &group, rendered)?;
    instance_files::write(request, &group, &instance);
    steps.done("committed");
    tracing::info!(group = group.name, index = instance.index, "rendered the jobs");
    Ok(())
}

/// The file with this path and end; nothing if it does not exist.
fn read_if_present(path: &Path, end: &str) -> std::io::Result<Option<Vec<u8>>> {
    let mut path = path.as_os_str().to_owned();
    path.push(end);
    match vcap::input::read(Path::new(&path)) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some),
    }
}

fn read_group(vm: &Vm, request: &options::Request) -> Result<Resolved> {
    let path = &request.resolved;
    let file = path.display().to_string();
    let text = match packed::unpack(|end| read_if_present(path, end)) {
        Ok(Some(text)) => text,
        Ok(None) => {
            return Err(Problem::input(format!("the resolved instance group {file} does not exist"))
                .code(code::DOCUMENT_MISSING)
                .hint("it is the properties.yaml that `plan ig-resolved` made; give its path with BOSH_MANIFEST_PATH")
                .into());
        }
        Err(e) => return Err(e).io("read", path),
    };
    let document = Document { file, text };
    let value = vm.load_yaml(std::slice::from_ref(&document))?.remove(0)?;
    let groups = handoff::properties::decode(&value, &document.file).map_err(|mut problems| {
        vm.locate(&mut problems, &document);
        problems
    })?;
    let known: Vec<String> = groups.iter().map(|g| g.name.clone()).collect();
    groups.into_iter().find(|g| g.name == request.group).ok_or_else(|| {
        Problem::input(format!("instance group '{}' not found", request.group))
            .code(code::GROUP_UNKNOWN)
            .at(Place::file(&document.file))
            .hint(format!("the document's instance groups are: {}", known.join(", ")))
            .into()
    })
}

/// The rendered files of one job.
pub(crate) struct RenderedJob {
    pub(crate) name: String,
    pub(crate) files: Vec<RenderedFile>,
}

/// Renders the templates of all jobs, each with the context of its job.
fn render(
    renderer: &Renderer,
    defaults: &dyn Fn(&Unit) -> Vec<Value>,
    group: &Resolved,
    instance: &Instance,
    jobs: &[Vec<Template>],
    ip: Option<&str>,
) -> Result<std::result::Result<Vec<RenderedJob>, Vec<Failed>>> {
    let mut contexts = Vec::new();
    let mut units = Vec::new();
    for (job, templates) in group.jobs.iter().zip(jobs) {
        let identity = Instance::new(&group.domain, &group.name, &job.name, instance.index, instance.az.clone());
        contexts.push(group.spec(job, &identity, ip));
        for template in templates {
            units.push(Unit::new(contexts.len() - 1, &job.name, &template.source));
        }
    }
    let mut results = renderer.render(&contexts, &units, defaults)?.into_iter();
    let mut rendered = Vec::new();
    let mut failed = Vec::new();
    for (j, (job, templates)) in group.jobs.iter().zip(jobs).enumerate() {
        let mut files = Vec::new();
        let mut monit_failed = false;
        for (t, template) in templates.iter().enumerate() {
            match results.next() {
                Some(Ok(content)) => {
                    files.push(RenderedFile { path: template.destination.clone(), content: content.to_vec() })
                }
                // BOSH renders monit first, and where it fails none of the job's templates.
                Some(Err(failure)) if !monit_failed => {
                    monit_failed = template.is_monit();
                    failed.push(Failed { job: j, template: t, failure });
                }
                _ => {}
            }
        }
        overlay(job, &mut files)?;
        files.push(RenderedFile { path: LINKS_JSON.into(), content: links_json(&job.provides) });
        rendered.push(RenderedJob { name: job.name.clone(), files });
    }
    Ok(if failed.is_empty() { Ok(rendered) } else { Err(failed) })
}

/// Changes the `bpm.yml` of a job as the manifest wants it. Processes that the manifest adds are unknown to `monit`, which then
/// has no say.
fn overlay(job: &ResolvedJob, files: &mut Vec<RenderedFile>) -> Result<()> {
    let Some(overlay) = &job.bpm_overlay else { return Ok(()) };
    let rendered = files.iter().position(|file| file.path == BPM_YML);
    let text = rendered.map(|index| files[index].content.as_slice());
    let path = format!("{BPM_YML} of job '{}'", job.name);
    let Some(overlaid) = Overlay::decode(overlay)?.apply(text, &path, &job.name)? else { return Ok(()) };
    match rendered {
        Some(index) => files[index].content = overlaid.text,
        None => files.push(RenderedFile { path: BPM_YML.to_owned(), content: overlaid.text }),
    }
    if overlaid.has_added {
        files.retain(|file| file.path != MONIT);
    }
    Ok(())
}
