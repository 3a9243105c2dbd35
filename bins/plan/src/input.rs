//! Reading the manifest and the spec of every job that it names.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use deployment::JobSpec;
use deployment::manifest::Manifest;
use problem::{IoContext, Place, Problem, Problems, Result};
use ruby::{Document, Vm};

use crate::options::Request;

/// All that planning reads.
pub(crate) struct Input {
    /// The manifest's text.
    pub(crate) document: Document,
    /// The manifest, addons placed.
    pub(crate) manifest: Manifest,
    /// Specs by release and job.
    pub(crate) specs: BTreeMap<(String, String), JobSpec>,
    /// `<base>/jobs-src`.
    pub(crate) jobs_src: PathBuf,
}

/// Reads everything; problems of all job specs are reported together.
pub(crate) fn read(vm: &Vm, request: &Request) -> Result<Input> {
    let document = read_manifest(&request.manifest)?;
    let value = vm.load_yaml(std::slice::from_ref(&document))?.remove(0)?;
    let located = |mut problems: Problems| {
        vm.locate(&mut problems, &document);
        problems
    };
    let mut manifest = Manifest::parse(&value, &document.file).map_err(located)?;
    manifest.place_addons().map_err(located)?;
    let jobs_src = request.base.join("jobs-src");
    let specs = read_specs(vm, &manifest, &jobs_src).map_err(located)?;
    Ok(Input { document, manifest, specs, jobs_src })
}

fn read_manifest(path: &Path) -> Result<Document> {
    let file = path.display().to_string();
    match std::fs::read(path) {
        Ok(text) => Ok(Document { file, text }),
        Err(e) if e.kind() == ErrorKind::NotFound => {
            Err(Problem::input(format!("there is no deployment manifest {file}"))
                .hint("give its path with --bosh-manifest-path or BOSH_MANIFEST_PATH")
                .into())
        }
        Err(e) => Err(e).io("read", path),
    }
}

fn read_specs(vm: &Vm, manifest: &Manifest, jobs_src: &Path) -> Result<BTreeMap<(String, String), JobSpec>> {
    let mut problems = Vec::new();
    let mut keys: Vec<(String, String)> = Vec::new();
    let mut documents = Vec::new();
    for job in manifest.instance_groups.iter().flat_map(|g| &g.jobs) {
        let key = (job.release.clone(), job.name.clone());
        if keys.contains(&key) {
            continue;
        }
        match read_spec(&jobs_src.join(&job.release), &job.name) {
            Ok(document) => {
                keys.push(key);
                documents.push(document);
            }
            Err(found) => problems.extend(found.into_vec().into_iter().map(|mut problem| {
                problem.place.get_or_insert_with(|| Place::node(&manifest.file, job.path.clone()));
                problem
            })),
        }
    }
    let mut specs = BTreeMap::new();
    for ((key, document), value) in keys.into_iter().zip(&documents).zip(vm.load_yaml(&documents)?) {
        match value.map_err(Problems::from).and_then(|value| JobSpec::parse(&value, &key.1, &document.file)) {
            Ok(spec) => {
                specs.insert(key, spec);
            }
            Err(mut found) => {
                vm.locate(&mut found, document);
                problems.extend(found.into_vec());
            }
        }
    }
    Problems::check(problems)?;
    Ok(specs)
}

fn read_spec(release: &Path, job: &str) -> Result<Document> {
    let directory = release.join(job);
    for name in ["job.MF", "spec"] {
        let path = directory.join(name);
        match std::fs::read(&path) {
            Ok(text) => return Ok(Document { file: path.display().to_string(), text }),
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
            Err(e) => return Err(e).io("read", &path),
        }
    }
    let release_name = release.file_name().unwrap_or_default().to_string_lossy();
    if directory.is_dir() {
        return Err(Problem::input(format!("Missing job manifest for '{job}'"))
            .because(format!("neither job.MF nor spec is in {}", directory.display()))
            .into());
    }
    let hint = if release.is_dir() {
        let known = subdirectories(release);
        match dialect_erb::report::did_you_mean(job, known.iter().map(String::as_str)) {
            Some(name) => format!("did you mean '{name}'?"),
            None => format!("its jobs are: {}", known.join(", ")),
        }
    } else {
        format!("there is no {}: has copy-jobs run in the release's image?", release.display())
    };
    Err(Problem::input(format!("Job '{job}' not found in release '{release_name}'")).hint(hint).into())
}

fn subdirectories(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.filter(|e| e.path().is_dir()).map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
