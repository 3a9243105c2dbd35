//! `boson lint`: mistakes in releases, found without a director.
//!
//! Specs are read as they are written, templates as Ruby's syntax tree, and processes and scripts as they render with the defaults of the
//! spec. `docs/lint.md` explains each rule.

mod checks;
mod finding;
mod options;
mod rendered;
mod report;
mod rules;
mod settings;
mod source;
mod spec;
mod uses;
mod yaml;

use std::path::{Path, PathBuf};

use dialect_erb::{Renderer, syntax};
pub use finding::Finding;
use manifest_inputs::Inputs;
pub use options::Options;
use problem::{Problems, Result};
use ruby::Vm;
pub use rules::{RULES, Rule, Severity};
use startup::Common;

use crate::checks::stemcell::StemcellLine;
use crate::finding::{Findings, at};
use crate::options::Shown;
use crate::settings::Settings;
use crate::source::ReleaseSource;
use crate::uses::Uses;

/// One line for `--help`.
pub const ABOUT: &str = "Find mistakes in releases";

/// Runs the verb; returns the exit code.
pub fn run(options: Options, _common: &Common) -> Result<u8> {
    if options.list {
        report::list()?;
        return Ok(0);
    }
    let mut problems = Vec::new();
    let rendering = options.rendering.check(&mut problems);
    Problems::check(problems)?;
    let subject = Subject {
        releases: &options.releases,
        manifest: options.manifest.as_deref(),
        inputs: &options.inputs,
        stemcell: options.stemcell,
        renders: !options.no_render,
    };
    let mut findings = Vm::beside(|vm| lint(&Renderer::new(vm, rendering)?, vm, &subject))?.0;
    let least = match options.severity {
        Shown::Note => Severity::Note,
        Shown::Warning => Severity::Warning,
        Shown::Error => Severity::Error,
    };
    let limit = if options.strict { Severity::Warning } else { Severity::Error };
    let is_bad = findings.iter().any(|finding| finding.severity >= limit);
    // What lint.yml allows is not even counted.
    findings.retain(|finding| finding.severity > Severity::Allow);
    let (shown, hidden): (Vec<_>, Vec<_>) = findings.into_iter().partition(|finding| finding.severity >= least);
    report::print(options.format, &shown, hidden.len())?;
    Ok(u8::from(is_bad))
}

/// What is checked.
struct Subject<'a> {
    releases: &'a [PathBuf],
    manifest: Option<&'a Path>,
    inputs: &'a Inputs,
    stemcell: Option<StemcellLine>,
    renders: bool,
}

/// The findings in these releases and a manifest, sorted by place, without those that a release's lint.yml allows.
///
/// # Errors
/// A release, its lint.yml or the manifest that cannot be read.
pub fn find(
    vm: &Vm,
    renderer: &Renderer,
    releases: &[PathBuf],
    manifest: &Path,
    inputs: &Inputs,
) -> Result<Vec<Finding>> {
    let subject = Subject { releases, manifest: Some(manifest), inputs, stemcell: None, renders: true };
    let mut findings = lint(renderer, vm, &subject)?.0;
    findings.retain(|finding| finding.severity > Severity::Allow);
    Ok(findings)
}

/// Finds everything, sorted, with the severities of the releases.
fn lint(renderer: &Renderer, vm: &Vm, subject: &Subject) -> Result<Findings> {
    let mut findings = Findings::default();
    let (mut releases, mut settings, mut problems) = (Vec::new(), Vec::new(), Vec::new());
    for path in subject.releases {
        let read = ReleaseSource::read(path, &mut findings);
        let read = read.and_then(|release| Ok((Settings::read(&release.directory, &release.label)?, release)));
        match read {
            Ok((of_release, release)) => {
                settings.push(of_release);
                releases.push(release);
            }
            Err(found) => problems.extend(found.into_vec()),
        }
    }
    Problems::check(problems)?;
    parse_templates(vm, &mut releases, &mut findings)?;
    for release in &mut releases {
        let invalid = check_specs(vm, release, &mut findings);
        if subject.renders {
            rendered::render(vm, renderer, release, &invalid);
        }
    }
    check(vm, &releases, subject, &mut findings)?;
    findings.sort();
    for finding in &mut findings.0 {
        for (release, settings) in releases.iter().zip(&settings) {
            if let Some(path) = release.path_of(finding).map(str::to_owned) {
                settings.apply(finding, &path);
            }
        }
    }
    Ok(findings)
}

/// Parses the templates of all jobs, in one call of the VM.
fn parse_templates(vm: &Vm, releases: &mut [ReleaseSource], findings: &mut Findings) -> Result<()> {
    let mut templates: Vec<_> = releases
        .iter_mut()
        .flat_map(|release| &mut release.jobs)
        .flat_map(|job| job.monit.iter_mut().chain(&mut job.templates))
        .collect();
    let texts: Vec<&[u8]> = templates.iter().map(|template| template.bytes.as_slice()).collect();
    let parsed = syntax::parse(vm, &texts)?;
    for (template, parsed) in templates.iter_mut().zip(parsed) {
        match parsed {
            Ok(tree) => template.uses = tree.map(|tree| Uses::of(&tree)),
            Err(error) => {
                let place = at(&template.file, error.line.unwrap_or(1), 1);
                findings.add(rules::TEMPLATE_SYNTAX, place, error.message);
            }
        }
    }
    Ok(())
}

/// Reads the specs as the director does; returns the jobs whose spec is wrong.
fn check_specs(vm: &Vm, release: &ReleaseSource, findings: &mut Findings) -> Vec<String> {
    let sources = rendered::jobs_src(release);
    let mut invalid = Vec::new();
    for job in &release.jobs {
        let reference = jobs_src::JobRef { release: release.name.clone(), job: job.name.clone() };
        let Err(mut problems) = sources.specs(vm, &[reference], |_| None) else { continue };
        invalid.push(job.name.clone());
        // A document that is not YAML has been reported.
        if findings.0.iter().any(|finding| finding.place.file == job.spec_file && finding.rule == rules::YAML_INVALID) {
            continue;
        }
        for place in problems.iter_mut().filter_map(|problem| problem.place.as_mut()) {
            job.spec_file.clone_into(&mut place.file);
        }
        findings.add_problems(problems, &job.spec_file);
    }
    invalid
}

fn check(vm: &Vm, releases: &[ReleaseSource], subject: &Subject, findings: &mut Findings) -> Result<()> {
    let methods = syntax::known_methods(vm)?;
    for release in releases {
        for job in &release.jobs {
            checks::properties::check(release, job, &methods.functions, findings);
            checks::links::check(releases, job, &methods.of_links, findings);
            checks::files::check(release, job, findings);
            checks::processes::check(release, job, findings);
            checks::templates::check(job, &methods.functions, findings);
            checks::scripts::check(release, job, findings);
            checks::yaml::check(job, findings);
            checks::packages::named(release, job, findings);
            checks::pods::check(job, findings);
            if let Some(stemcell) = subject.stemcell {
                checks::stemcell::check(job, stemcell, findings);
            }
        }
        checks::shellcheck::check(release, findings);
        checks::files::configuration(release, findings);
        checks::packages::check(release, findings);
        checks::scripts::packaging(release, findings);
    }
    if let Some(manifest) = subject.manifest {
        let manifest = subject.inputs.apply_without_generation(&manifest_inputs::Configs::default(), manifest)?;
        checks::manifest::check(releases, &manifest.document, &|node| manifest.place(node), findings);
    }
    Ok(())
}
