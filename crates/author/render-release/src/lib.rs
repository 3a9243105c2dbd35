//! `boson render`: the files of instances, from a manifest or the properties of one job, and releases as their authors have them;
//! [`diff`]: what differs between two versions; [`graph`]: groups, jobs and links.
//!
//! The functions of `plan` and `render-jobs` run in this process: nothing is copied, and only chosen files are rendered.

pub mod diff;
mod documents;
pub mod explain;
mod files;
pub mod graph;
mod job;
mod job_manifest;
mod options;
mod output_dir;
mod preview;
mod releases;
mod selection;
mod show;
mod spec_file;
mod version;
mod watch;
mod watcher;

use std::cell::RefCell;

use dialect_erb::Renderer;
pub use files::{File, RenderedInstance};
pub use job::{JobRun, job_files, manifest_files, renderable_job_files};
pub use job_manifest::JobInput;
use manifest_inputs::Inputs;
pub use options::{Addresses, DeploymentName, Options, ReadingOptions};
pub use output_dir::{OutputDir, OutputFile};
use plan::{Examples, Target};
pub use preview::{Preview, PreviewFile, PreviewInstance, PreviewOptions, Previews, ReadLine};
use problem::{Place, Problem, Problems, Result};
pub use releases::{JobSources, Releases, directories};
use render_jobs::BPM_YML;
use ruby::Vm;
pub use selection::instance_names;
use startup::{Common, Warnings};
pub use watcher::{Fingerprint, Watcher};

use crate::documents::{GeneratedValues, ManifestReader};
use crate::files::Names;
use crate::job_manifest::JobManifest;
use crate::options::Subject;
use crate::selection::Selection;

/// The verb, in the names of what it writes.
const VERB: &str = "render";

/// One line for `--help`.
pub const ABOUT: &str = "Render files of a deployment or of one job";

/// Runs the verb; returns the exit code.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    options.check()?;
    let mut problems = Vec::new();
    let settings = options.rendering.check(&mut problems);
    Problems::check(problems)?;
    Vm::beside(|vm| {
        let renderer = Renderer::new(vm, settings.clone())?;
        let run = Run { vm, renderer: &renderer, options: &options, generated: RefCell::default() };
        if options.watch { watch::watch(&run) } else { once(&run) }
    })?;
    Ok(0)
}

/// A run of the verb.
pub(crate) struct Run<'a> {
    pub(crate) vm: &'a Vm,
    renderer: &'a Renderer,
    pub(crate) options: &'a Options,
    /// What was generated for a manifest without a variables store.
    pub(crate) generated: RefCell<GeneratedValues>,
}

/// The files below the directory of an instance, GROUP-INDEX.
fn output_files(rendered: &[RenderedInstance]) -> impl Iterator<Item = OutputFile<'_>> {
    rendered.iter().flat_map(|instance| {
        let directory = instance.name.replace('/', "-");
        instance.files.iter().map(move |file| OutputFile {
            path: format!("{directory}/{}", file.path),
            content: file.content.as_slice().into(),
            mode: file.mode,
        })
    })
}

/// Renders once, and shows or writes the files.
fn once(run: &Run) -> Result<()> {
    if run.options.list {
        return show::names(&run.names()?);
    }
    let rendered = run.render()?;
    warn_of_unknown_keys(&rendered, run.options.strict)?;
    run.deliver(&rendered)
}

/// Warns of the keys of each bpm.yml that BPM ignores.
///
/// # Errors
/// The warnings, if they are errors.
fn warn_of_unknown_keys(rendered: &[RenderedInstance], strict: bool) -> Result<()> {
    let mut problems: Vec<Problem> = Vec::new();
    let files = rendered.iter().flat_map(|instance| &instance.files);
    for file in files.filter(|file| file.path.split_once('/').is_some_and(|(_, path)| path == BPM_YML)) {
        for key in bpm::unknown_keys(&file.content) {
            let place = Place { column: Some(key.column), ..Place::line(&file.path, key.line) };
            let problem = Problem::input(format!("bpm ignores the key '{}'", key.name.escape_debug())).at(place);
            let problem = Problem { hint: key.hint(), ..problem };
            // Instances mostly have the same file.
            if !problems.contains(&problem) {
                problems.push(problem);
            }
        }
    }
    let warnings = Warnings::new(strict);
    problems.into_iter().for_each(|problem| warnings.warn(problem));
    warnings.check()
}

impl Run<'_> {
    /// Shows the files, or writes them into the output directory.
    pub(crate) fn deliver(&self, rendered: &[RenderedInstance]) -> Result<()> {
        match &self.options.output {
            Some(directory) => OutputDir { verb: VERB, directory }.write(output_files(rendered)),
            None => show::files(rendered),
        }
    }

    /// The chosen files, rendered.
    pub(crate) fn render(&self) -> Result<Vec<RenderedInstance>> {
        self.with_deployment(files::render)
    }

    /// The names of the chosen files.
    fn names(&self) -> Result<Names> {
        self.with_deployment(files::names)
    }

    fn with_deployment<T>(&self, work: impl FnOnce(&files::Deployment) -> Result<T>) -> Result<T> {
        let options = self.options;
        if let Some(directory) = &options.output {
            OutputDir { verb: VERB, directory }.check()?;
        }
        let releases = Releases::open(&release::release_arguments(&options.releases), options.job.is_some())?;
        let subject = options.subject()?;
        let job = match &subject {
            Subject::Job { release, job } => {
                Some(JobManifest::read(&options.job_input(), &releases, release.as_deref(), job)?)
            }
            Subject::Manifest(_) => None,
        };
        let explain = |problems| {
            let problems = releases.name_archives(problems);
            if let Some(job) = &job { job.explain(problems) } else { problems }
        };
        let target = Target {
            strict: options.strict,
            ..options.addresses.target(releases.jobs_src(), options.deployment.name.as_deref())?
        };
        let inputs = Inputs { strict: options.strict, ..options.inputs.clone() };
        let manifest =
            ManifestReader { vm: self.vm, inputs: &inputs, configs: &options.configs, generated: &self.generated };
        let documents = match (&subject, &job) {
            (Subject::Manifest(path), _) => manifest.read(path, &target).map_err(explain)?,
            (_, Some(job)) => job.documents(&options.job_input(), &inputs)?,
            _ => return Err(Problem::internal("nothing is to be rendered").into()),
        };
        let examples = if options.examples { Examples::AsDefaults } else { Examples::Ignored };
        let groups = plan::resolve(self.vm, documents, &target, examples).map_err(explain)?;
        let deployment = files::Deployment {
            vm: self.vm,
            renderer: self.renderer,
            jobs_src: &target.jobs_src,
            groups: &groups,
            selection: Selection::new(options, job.as_ref().map(|job| (job.instance(), job.name())))?,
            ip: job.as_ref().and_then(JobManifest::ip).unwrap_or_else(|| options.ip.clone()),
        };
        work(&deployment).map_err(explain)
    }
}
