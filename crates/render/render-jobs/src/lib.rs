//! Renders every template of every job of an instance group, for the pod it runs in (specification, "Render Templates").
//!
//! Everything is rendered in memory and committed at once; a failure changes nothing.

mod failed;
mod identity;
mod instance;
mod instance_files;
mod options;
mod sources;
mod tree;

use std::path::Path;

use dialect_erb::Renderer;
pub use instance::{BPM_YML, InstanceFiles, RenderedJob, depends_on_overlay};
use instance_group::Resolved;
use jobs_src::JobsSrc;
use object_basics::packed;
pub use options::Options;
use problem::{IoContext, Place, Problem, Result, code};
use ruby::{Document, Vm};
use startup::{Common, Steps};

/// One line for `--help`.
pub const ABOUT: &str = "Render every job template of a group for one pod";

/// Runs the verb; gives the exit code.
pub fn run(options: Options, common: &Common) -> Result<u8> {
    let request = options.check(common)?;
    Vm::beside(|vm| render_jobs(vm, &request))?;
    Ok(0)
}

fn render_jobs(vm: &Vm, request: &options::Request) -> Result<()> {
    let steps = Steps::start();
    let renderer = Renderer::new(vm, request.rendering.clone())?;
    let group = read_group(vm, request)?;
    let instance = identity::of_this_pod(&group, request)?;
    steps.done("read the resolved group");
    let jobs_src = JobsSrc::below(&request.jobs_dir);
    let files = InstanceFiles::read(vm, &renderer, &jobs_src, &group)?;
    steps.done("read the job sources");
    let rendered = files.render(&instance, request.pod_ip.as_deref(), |_, _| true)?;
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
