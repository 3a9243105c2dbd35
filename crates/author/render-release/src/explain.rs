//! `boson explain`: where the values of a deployment come from, and why its links, instances and files are as they are.

mod identity;
mod line;
mod links;
pub(crate) mod origins;

use std::cell::RefCell;
use std::path::PathBuf;

use clap::Args;
use dialect_erb::Renderer;
use instance_group::{Resolved, ResolvedJob};
use manifest_inputs::Documents;
use plan::{Examples, Target};
use problem::{Problem, Problems, Result, code, hint_for_unknown};
use ruby::Vm;
use startup::{Common, write_stdout};

use crate::documents::ManifestReader;
use crate::explain::origins::Origins;
use crate::options::ReadingOptions;
use crate::releases::Releases;
use crate::selection::instance_names;

/// One line for `--help`.
pub const ABOUT: &str = "Show where values, links and lines of files come from";

/// The command line of `explain`.
#[derive(Debug, Args)]
#[command(
    long_about = "Show the file and line that each value of a manifest comes from, after ops files and variables: the manifest, an \
        ops file, a variables file, or the variables store. A value of --var or --vars-env has no file; for it, the \
        place of the reference is shown. Each line has a path, as ops files name it, and a place.\n\n\
        The values of runtime and cloud configs, in which variables are replaced too, follow those of the manifest; \
        their paths begin with the name of the config's file.\n\n\
        With an instance and the releases, explain one thing instead: the instance's index, address and bootstrap; a line of \
        a rendered file; a property; a link.\n\n\
        Nothing is changed, and no value of a property is shown. To explain a line, its template is rendered: \
        templates are code and run with your permissions.",
    after_long_help = "Examples:\n\
        \x20\x20boson explain nats.yml -o scale.yml -l vars.yml\n\
        \x20\x20boson explain nats.yml -o scale.yml --path /instance_groups/name=nats/instances\n\
        \x20\x20boson explain nats.yml --runtime-config addons.yml --path /addons\n\
        \x20\x20boson explain nats.yml -r ./nats-release nats/1\n\
        \x20\x20boson explain nats.yml -r ./nats-release nats/1 nats/config/nats.conf:12\n\
        \x20\x20boson explain nats.yml -r ./nats-release nats --property nats/nats.port\n\
        \x20\x20boson explain nats.yml -r ./nats-release nats --link nats/nats\n\n\
        Exit codes: 0 done; 2 usage; 65 the manifest, a release, an ops file or a variable is wrong; 66 the template failed; 70 the \
        environment failed."
)]
pub struct Options {
    /// The manifest; `-` is standard input
    #[arg(value_name = "MANIFEST")]
    manifest: PathBuf,
    /// Explain this instance, GROUP/INDEX; GROUP is its first instance
    #[arg(value_name = "INSTANCE", conflicts_with = "path")]
    instance: Option<String>,
    /// Explain this line of a rendered file of the instance
    #[arg(value_name = "JOB/FILE:LINE", requires = "instance", conflicts_with_all = ["property", "link"])]
    line: Option<String>,
    /// Show only the value at this path and those below it
    #[arg(long, value_name = "PATH", default_value = "", hide_default_value = true)]
    path: String,
    /// Explain a property of a job of the instance
    #[arg(long, value_name = "JOB/NAME", requires = "instance", conflicts_with = "link")]
    property: Option<String>,
    /// Explain a link that a job of the instance consumes
    #[arg(long, value_name = "JOB/NAME", requires = "instance")]
    link: Option<String>,
    /// A release, to explain an instance: its source directory, an archive made by bosh, or the jobs-src of its image; once for each
    #[arg(long = "release", short, env = "BOSON_RELEASE", value_name = "[NAME=]PATH")]
    releases: Vec<String>,
    #[command(flatten)]
    reading: ReadingOptions,
}

/// Runs the verb; returns the exit code.
///
/// # Errors
/// What is wrong with the deployment or the request, and if standard output cannot be written.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    let text = match &options.instance {
        None => interpolate::explain::places(
            &options.reading.inputs,
            &options.reading.configs,
            &options.manifest,
            &options.path,
        )?,
        Some(instance) => options.explain(instance)?,
    };
    write_stdout(|out| out.write_all(text.as_bytes()))?;
    Ok(0)
}

impl Options {
    fn explain(&self, instance: &str) -> Result<String> {
        if self.releases.is_empty() {
            return Err(Problem::usage("the releases of the deployment are not given")
                .hint("give each with -r PATH")
                .into());
        }
        if self.manifest.as_os_str() == "-" {
            return Err(Problem::usage("to explain an instance, the manifest must be a file").into());
        }
        let mut problems = Vec::new();
        let settings = self.reading.rendering.check(&mut problems);
        Problems::check(problems)?;
        let releases = Releases::open(&release::release_arguments(&self.releases), false)?;
        let target = self.reading.target(&releases)?;
        Vm::beside(|vm| {
            let renderer = Renderer::new(vm, settings)?.recording(vm);
            let context = Context { options: self, vm, renderer: &renderer, target: &target, releases: &releases };
            context.explain(instance)
        })
        .map_err(|problems| releases.name_archives(problems))
    }
}

/// What explanations are made from.
pub(crate) struct Context<'a> {
    options: &'a Options,
    vm: &'a Vm,
    renderer: &'a Renderer,
    target: &'a Target,
    releases: &'a Releases,
}

impl Context<'_> {
    fn explain(&self, instance: &str) -> Result<String> {
        let documents = self.documents()?;
        if let Some(link) = &self.options.link {
            return links::explain(self, documents, instance, link);
        }
        let groups = plan::resolve(self.vm, documents.clone(), self.target, Examples::Ignored)?;
        let (group, index) = find(&groups, instance)?;
        if let Some(line) = &self.options.line {
            return line::explain(self, documents, &groups, (group, index), line);
        }
        if let Some(property) = &self.options.property {
            let (job, name) = job_and_name("--property", property)?;
            let job = job_of(group, job)?;
            return self.origins()?.explain(&group.name, job, name);
        }
        identity::explain(&self.origins()?, group, index)
    }

    /// The documents; variables that nothing sets have values for this run.
    fn documents(&self) -> Result<Documents> {
        let mut inputs = self.options.reading.inputs.clone();
        // A store is read, and stays as it is.
        if let Some(store) = inputs.vars_store.take().filter(|store| store.exists()) {
            inputs.vars_files.insert(0, store);
        }
        let configs = &self.options.reading.configs;
        let reader = ManifestReader { vm: self.vm, inputs: &inputs, configs, generated: &RefCell::default() };
        reader.read(&self.options.manifest, self.target)
    }

    fn origins(&self) -> Result<Origins<'_>> {
        Origins::read(
            self.vm,
            &self.target.jobs_src,
            &self.options.reading.inputs,
            &self.options.reading.configs,
            &self.options.manifest,
        )
    }
}

/// The group and the index of an instance that the command line names.
fn find<'g>(groups: &'g [Resolved], name: &str) -> Result<(&'g Resolved, u32)> {
    let all: Vec<String> = instance_names(groups).collect();
    let (group_name, index) = name.split_once('/').map_or((name, None), |(group, index)| (group, Some(index)));
    let index = index.map(|index| index.strip_prefix(&format!("{group_name}-")).unwrap_or(index));
    let found = groups.iter().find(|group| group.name == group_name).and_then(|group| {
        let mut slots = group.slots.iter();
        let slot = match index {
            None => slots.next(),
            Some(index) => slots.find(|slot| slot.index.to_string() == index),
        };
        Some((group, slot?.index))
    });
    found.ok_or_else(|| {
        let names = all.iter().map(String::as_str).chain(groups.iter().map(|group| group.name.as_str()));
        let hint = hint_for_unknown(name, names, || match all.as_slice() {
            [] => "the deployment has no instances".to_owned(),
            all => format!("the instances are: {}", all.join(", ")),
        });
        Problem::usage(format!("unknown instance '{name}'")).code(code::INSTANCE_UNKNOWN).hint(hint).into()
    })
}

/// The parts of `JOB/NAME`.
fn job_and_name<'t>(flag: &str, text: &'t str) -> Result<(&'t str, &'t str)> {
    text.split_once('/')
        .filter(|(job, name)| !job.is_empty() && !name.is_empty())
        .ok_or_else(|| Problem::usage(format!("{flag} must be JOB/NAME, not '{text}'")).into())
}

/// A job of a group.
fn job_of<'g>(group: &'g Resolved, name: &str) -> Result<&'g ResolvedJob> {
    group.jobs.iter().find(|job| job.name == name).ok_or_else(|| {
        let jobs: Vec<&str> = group.jobs.iter().map(|job| job.name.as_str()).collect();
        let hint = hint_for_unknown(name, jobs.iter().copied(), || format!("its jobs are: {}", jobs.join(", ")));
        Problem::usage(format!("instance group '{}' has no job '{name}'", group.name))
            .code(code::JOB_UNKNOWN)
            .hint(hint)
            .into()
    })
}
