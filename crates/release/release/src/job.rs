//! A job of a release.

use std::fs;
use std::path::{Path, PathBuf};

use problem::{IoContext, Place, Problem, Result, code};

use crate::spec::{self, JobSpec};
use crate::submodules;

/// One job of a release: `jobs/<job>/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Its name.
    pub name: String,
    /// Its directory.
    pub dir: PathBuf,
    /// Its spec: `spec` in a source directory, `job.MF` in an archive.
    pub spec: PathBuf,
    /// `templates` of its spec: source below `templates/`, destination below the job's directory.
    pub templates: Vec<(String, String)>,
    /// `packages` of its spec.
    pub packages: Vec<String>,
    /// Which files of the job's own directory a release image has: `monit`, `*.monit` and the like.
    pub(crate) own_files: Vec<String>,
}

/// Files of a job's directory that BOSH takes along, beside the spec and the templates.
const OPTIONAL: [&str; 1] = ["properties_schema.json"];

impl Job {
    /// Reads the job in `dir`, whose spec has this name; `release` is the directory that no template may lead out of.
    pub(crate) fn read(dir: &Path, spec_name: &str, release: &Path) -> Result<Self> {
        let spec_file = dir.join(spec_name);
        let directory = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let at = || Place::file(spec_file.display().to_string());
        if !spec_file.is_file() {
            return Err(Problem::input(format!("Job '{directory}' has no {spec_name}"))
                .code(code::RELEASE_INVALID)
                .at(at())
                .into());
        }
        let spec: JobSpec = spec::read(&spec_file)?;
        let mut problems = Vec::new();
        let mut invalid = |what: &str| {
            problems.push(
                Problem::input(format!("Job '{directory}' has invalid {what}")).code(code::RELEASE_INVALID).at(at()),
            );
        };
        let templates = spec::pairs(&spec.templates).unwrap_or_else(|| {
            invalid("templates spec format");
            Vec::new()
        });
        let packages = spec::texts(&spec.packages).unwrap_or_else(|| {
            invalid("package spec format");
            Vec::new()
        });
        match spec::text(&spec.name) {
            Some(name) if name == directory => {}
            Some(name) => problems.push(
                Problem::input(format!("Job directory '{directory}' does not match job name '{name}' in spec"))
                    .code(code::RELEASE_INVALID)
                    .at(at()),
            ),
            None => problems.push(
                Problem::input(format!("Job '{directory}' has no name in its spec"))
                    .code(code::RELEASE_INVALID)
                    .at(at()),
            ),
        }
        let own_files = own_files(dir)?;
        if !own_files.iter().any(|file| file == "monit" || file.ends_with(".monit")) {
            problems.push(
                Problem::input(format!("Job '{directory}' is missing monit file")).code(code::RELEASE_INVALID).at(at()),
            );
        }
        let real = |file: &str| fs::canonicalize(dir.join(file)).is_ok_and(|real| real.starts_with(release));
        for file in own_files.iter().map(String::as_str).chain([spec_name]).filter(|file| !real(file)) {
            problems.push(
                Problem::input(format!("file '{file}' of job '{directory}' leads out of the release"))
                    .code(code::RELEASE_INVALID)
                    .at(at()),
            );
        }
        for (source, _) in &templates {
            let fault = template_fault(dir, release, source, &directory);
            problems.extend(fault.map(|problem| if problem.place.is_some() { problem } else { problem.at(at()) }));
        }
        problem::Problems::check(problems)?;
        let dir = dir.to_path_buf();
        Ok(Job { name: directory, dir, spec: spec_file, templates, packages, own_files })
    }
}

fn own_files(dir: &Path) -> Result<Vec<String>> {
    let mut files = Vec::new();
    for child in fs::read_dir(dir).io("read", dir)? {
        let name = child.io("read", dir)?.file_name().to_string_lossy().into_owned();
        let taken = name == "monit" || name.ends_with(".monit") || OPTIONAL.contains(&name.as_str());
        if taken && dir.join(&name).is_file() {
            files.push(name);
        }
    }
    files.sort();
    Ok(files)
}

/// The errors in a template's source.
fn template_fault(dir: &Path, release: &Path, source: &str, job: &str) -> Option<Problem> {
    let missing =
        || Problem::input(format!("Missing template file '{source}' for job '{job}'")).code(code::TEMPLATE_MISSING);
    let outside = || {
        Problem::input(format!("template file '{source}' of job '{job}' leads out of the release"))
            .code(code::RELEASE_INVALID)
            .hint("a release must hold everything that it is made of")
    };
    let mut parts = Path::new(source).components();
    if !parts.all(|part| matches!(part, std::path::Component::Normal(_))) {
        return Some(outside());
    }
    let file = dir.join("templates").join(source);
    match fs::canonicalize(&file) {
        Err(_) => Some(submodules::problem_of_file(release, &file).unwrap_or_else(missing)),
        Ok(real) if !real.starts_with(release) => Some(outside()),
        Ok(real) if !real.is_file() => Some(missing().because("it is not a file")),
        Ok(_) => None,
    }
}
