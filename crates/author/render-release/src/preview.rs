//! A deployment as its author looks at it: its graph, and the files of its instances with what renders each line.

mod options;
mod reads;

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use deployment_diff::Mask;
use deployment_graph::Graph;
use dialect_erb::Renderer;
use dialect_erb::trace::Trace;
use instance_group::{Resolved, ResolvedJob};
use job_templates::{is_installed, job_ref, templates};
use manifest_inputs::{Documents, Inputs};
use plan::{Examples, Target};
use problem::{Problem, Problems, Result};
use render_jobs::{RenderedJob, depends_on_overlay};
use ruby::Vm;
use template::Source;

use crate::documents::{GeneratedValues, ManifestReader};
use crate::files::{self, Deployment, File};
use crate::releases::Releases;
use crate::selection::Selection;
use crate::watcher::inputs_of;
pub use options::PreviewOptions;
pub use reads::ReadLine;
use reads::Reads;

/// Makes previews of the same deployment, again after each change of its files. Variables that are generated keep their values.
pub struct Previews<'a> {
    vm: &'a Vm,
    options: &'a PreviewOptions,
    renderer: Renderer,
    /// Notes what renders each line.
    recorder: Renderer,
    generated: RefCell<GeneratedValues>,
}

impl<'a> Previews<'a> {
    /// Previews of the deployment that the options name.
    ///
    /// # Errors
    /// What is wrong with the options themselves.
    pub fn new(vm: &'a Vm, options: &'a PreviewOptions) -> Result<Previews<'a>> {
        let mut problems = Vec::new();
        let settings = options.reading.rendering.check(&mut problems);
        options.check(&mut problems);
        Problems::check(problems)?;
        let renderer = Renderer::new(vm, settings.clone())?;
        let recorder = Renderer::new(vm, settings)?.recording(vm);
        Ok(Previews { vm, options, renderer, recorder, generated: RefCell::default() })
    }

    /// The VM.
    pub fn vm(&self) -> &Vm {
        self.vm
    }

    /// What renders, without notes.
    pub fn renderer(&self) -> &Renderer {
        &self.renderer
    }

    /// The manifest, and what is applied to it.
    pub fn manifest(&self) -> (&Path, &Inputs) {
        (&self.options.manifest, &self.options.reading.inputs)
    }

    /// The files and directories that a preview is read from.
    pub fn inputs(&self) -> Vec<PathBuf> {
        inputs_of(&self.options.releases, self.options.input_files())
    }

    /// Does `work` with the deployment as its files are now, or with what is wrong with it.
    pub fn with<T>(&self, work: impl FnOnce(Result<Preview<'_>>) -> T) -> T {
        let releases = match Releases::open(&release::release_arguments(&self.options.releases), false) {
            Ok(releases) => releases,
            Err(problems) => return work(Err(problems)),
        };
        let target = self.options.reading.target(&releases);
        let target = match target {
            Ok(target) => target,
            Err(problems) => return work(Err(problems)),
        };
        work(self.read(&releases, &target))
    }

    fn read<'p>(&'p self, releases: &'p Releases, target: &'p Target) -> Result<Preview<'p>> {
        let options = self.options;
        let reader = ManifestReader {
            vm: self.vm,
            inputs: &options.reading.inputs,
            configs: &options.reading.configs,
            generated: &self.generated,
        };
        let explain = |problems| releases.name_archives(problems);
        let documents = reader.read(&options.manifest, target).map_err(explain)?;
        let groups = plan::resolve(self.vm, documents.clone(), target, Examples::Ignored).map_err(explain)?;
        let mask = Mask::of_groups(&groups, documents.variables.iter());
        let name = options.reading.deployment.name.clone().or_else(|| documents.deployment_name()).unwrap_or_default();
        Ok(Preview {
            previews: self,
            releases,
            target,
            name,
            documents,
            groups,
            mask,
            graph: OnceCell::new(),
            reads: OnceCell::new(),
        })
    }
}

/// A deployment.
pub struct Preview<'a> {
    previews: &'a Previews<'a>,
    releases: &'a Releases,
    target: &'a Target,
    name: String,
    documents: Documents,
    groups: Vec<Resolved>,
    mask: Mask,
    graph: OnceCell<Result<Graph>>,
    reads: OnceCell<Result<Reads<'a>>>,
}

/// An instance with its files.
#[derive(Debug)]
pub struct PreviewInstance {
    /// All its files, by path.
    pub files: Vec<PreviewFile>,
    /// Why templates fail.
    pub problems: Vec<Problem>,
}

/// A file of an instance, and its template.
#[derive(Debug)]
pub struct PreviewFile {
    /// The job.
    pub job: String,
    /// Path below the job's directory.
    pub path: String,
    /// The permissions.
    pub mode: u32,
    /// The bytes; `None` if the template fails.
    pub content: Option<Vec<u8>>,
    /// The template; `None` for a file that boson itself writes.
    pub template: Option<Source>,
    /// For each line of the file, the lines of the template (from 1) that render it.
    pub origins: Vec<Vec<u32>>,
    /// What each line of the template (from 1) reads.
    pub reads: BTreeMap<u32, Vec<ReadLine>>,
    /// Whether the manifest changes the file after it is rendered.
    pub is_changed: bool,
}

/// `spec.ip` of instances: no preview knows the addresses.
const IP: &str = "127.0.0.1";

impl Preview<'_> {
    /// The deployment's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its resolved groups.
    pub fn groups(&self) -> &[Resolved] {
        &self.groups
    }

    /// What hides its secrets.
    pub fn mask(&self) -> &Mask {
        &self.mask
    }

    /// Its graph. It is planned for it, which renders all templates.
    pub fn graph(&self) -> &Result<Graph> {
        self.graph.get_or_init(|| {
            let Previews { vm, renderer, .. } = self.previews;
            let planned = plan::planned(vm, renderer, self.documents.clone(), self.target);
            planned.map(|planned| Graph::new(&planned.deployment)).map_err(|e| self.releases.name_archives(e))
        })
    }

    /// The files of an instance, GROUP/INDEX, with what renders their lines. Files whose templates fail have no content.
    ///
    /// # Errors
    /// An instance that does not exist, and what is wrong with its templates before they are rendered.
    pub fn instance(&self, name: &str) -> Result<PreviewInstance> {
        let group = name.rsplit_once('/').map_or(name, |(group, _)| group);
        let recorder = &self.previews.recorder;
        recorder.take_traces();
        let deployment = Deployment {
            vm: self.previews.vm,
            renderer: recorder,
            jobs_src: &self.target.jobs_src,
            groups: &self.groups,
            selection: Selection::of_instance(name)?,
            ip: IP.to_owned(),
        };
        let (rendered, problems) = match files::render(&deployment) {
            Ok(rendered) => (rendered, Vec::new()),
            Err(problems) => {
                recorder.take_traces();
                let rendered = files::render_what_renders(&deployment).map_err(|e| self.releases.name_archives(e))?;
                (rendered, self.releases.name_archives(problems).into_vec())
            }
        };
        let traces = recorder.take_traces();
        let mut rendered: BTreeMap<String, File> =
            rendered.into_iter().flat_map(|one| one.files).map(|file| (file.path.clone(), file)).collect();
        let mut found = Vec::new();
        let has_failed = !problems.is_empty();
        let group = self.groups.iter().find(|one| one.name == group);
        for (group, job) in group.into_iter().flat_map(|group| group.jobs.iter().map(move |job| (group, job))) {
            if is_installed(&job.name) {
                self.add_files(group, job, &traces, &mut rendered, has_failed, &mut found);
            }
        }
        found.sort_by(|a, b| (&a.job, &a.path).cmp(&(&b.job, &b.path)));
        Ok(PreviewInstance { files: found, problems })
    }

    /// Adds the files of a job, which leave `rendered`.
    fn add_files(
        &self,
        group: &Resolved,
        job: &ResolvedJob,
        traces: &[Trace],
        rendered: &mut BTreeMap<String, File>,
        has_failed: bool,
        found: &mut Vec<PreviewFile>,
    ) {
        // What is wrong with them is among the problems of rendering.
        let templates = templates(&self.target.jobs_src, &job_ref(job), &job.templates, &mut Vec::new());
        for template in templates {
            let path = template.destination;
            let content = rendered.remove(&format!("{}/{path}", job.name)).map(|file| file.content);
            // The manifest may remove monit.
            if content.is_none() && !has_failed {
                continue;
            }
            let trace = traces.iter().find(|trace| trace.job == job.name && trace.file == template.source.file);
            let is_changed = job.bpm_overlay.is_some() && depends_on_overlay(&path);
            let origins = trace.filter(|_| !is_changed).map(|trace| trace.origins.clone()).unwrap_or_default();
            let reads = trace.map(|trace| self.reads_of(group, job, trace)).unwrap_or_default();
            found.push(PreviewFile {
                job: job.name.clone(),
                mode: RenderedJob::mode(&path),
                content,
                template: Some(template.source),
                origins,
                reads,
                is_changed,
                path,
            });
        }
        let prefix = format!("{}/", job.name);
        let others: Vec<String> = rendered.keys().filter(|path| path.starts_with(&prefix)).cloned().collect();
        for other in others {
            let Some(file) = rendered.remove(&other) else { continue };
            found.push(PreviewFile {
                job: job.name.clone(),
                path: other[prefix.len()..].to_owned(),
                mode: file.mode,
                content: Some(file.content),
                template: None,
                origins: Vec::new(),
                reads: BTreeMap::new(),
                is_changed: false,
            });
        }
    }

    fn reads_of(&self, group: &Resolved, job: &ResolvedJob, trace: &Trace) -> BTreeMap<u32, Vec<ReadLine>> {
        let Previews { vm, options, .. } = self.previews;
        let reads =
            self.reads.get_or_init(|| Reads::new(vm, options, &options.manifest, self.target, self.documents.clone()));
        // Without the origins the page still shows what is read.
        let lines = trace.reads.iter().map(|(line, names)| {
            let of_line = names.iter().map(|read| match reads {
                Ok(reads) => reads.line(&self.groups, group, job, read),
                Err(_) => ReadLine { name: read.to_string(), origin: String::new() },
            });
            (*line, of_line.collect())
        });
        lines.collect()
    }
}
