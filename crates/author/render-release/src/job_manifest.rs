//! `--job`: a manifest for one job.

use std::path::PathBuf;

use manifest_inputs::{Configs, Documents, Inputs, Part};
use problem::{Problem, Problems, Result, Step, code, hint_for_unknown};
use serde_json::{Map, Value as Json, json};

use crate::releases::{JobSources, Releases};
use crate::spec_file::SpecFile;

/// What messages call the manifest.
const FILE: &str = "the manifest of --job";

/// The files about one job and its instance; each may be absent.
#[derive(Debug, Clone, Default)]
pub struct JobInput {
    /// `properties` of the job, as in a manifest.
    pub properties: Option<PathBuf>,
    /// `consumes` of the job.
    pub links: Option<PathBuf>,
    /// The instance: a mapping of deployment, name (of the group), index, instances, az, networks, ip and persistent_disk.
    pub spec: Option<PathBuf>,
    /// `consumes` of the job without a file.
    pub consumes: Option<Json>,
}

/// The manifest of one job in one instance group.
pub(crate) struct JobManifest {
    job: String,
    group: String,
    spec: SpecFile,
    text: Vec<u8>,
}

impl JobManifest {
    /// Finds the job, and reads who its instance is.
    ///
    /// # Errors
    /// A job that no release has, or several.
    pub(crate) fn read(input: &JobInput, releases: &Releases, of: Option<&str>, job: &str) -> Result<JobManifest> {
        let release = find(releases, of, job)?;
        let spec = input.spec.as_deref().map(SpecFile::read).transpose()?.unwrap_or_default();
        let group = spec.name.clone().unwrap_or_else(|| job.to_owned());
        let mut entry = Map::new();
        entry.insert("name".into(), group.as_str().into());
        entry.insert("instances".into(), spec.instances.unwrap_or(spec.index + 1).into());
        if let Some(az) = &spec.az {
            entry.insert("azs".into(), json!([az]));
        }
        let networks = if spec.networks.is_empty() { json!([{"name": "default"}]) } else { json!(spec.networks) };
        entry.insert("networks".into(), networks);
        if let Some(size) = spec.persistent_disk {
            entry.insert("persistent_disk".into(), size.into());
        }
        let mut job_entry = json!({"name": job, "release": release.name});
        if let Some(consumes) = &input.consumes {
            job_entry["consumes"] = consumes.clone();
        }
        entry.insert("jobs".into(), json!([job_entry]));
        let manifest = json!({
            "name": spec.deployment.as_deref().unwrap_or(&group),
            "releases": [{"name": release.name, "version": release.version.as_deref().unwrap_or("latest")}],
            "instance_groups": [Json::Object(entry)],
        });
        // JSON is YAML.
        Ok(JobManifest { job: job.to_owned(), group, spec, text: manifest.to_string().into_bytes() })
    }

    /// The instance, GROUP/INDEX.
    pub(crate) fn instance(&self) -> String {
        format!("{}/{}", self.group, self.spec.index)
    }

    /// The job's name.
    pub(crate) fn name(&self) -> &str {
        &self.job
    }

    /// The instance's address, if the spec file has one.
    pub(crate) fn ip(&self) -> Option<String> {
        self.spec.ip.clone()
    }

    /// The manifest with the properties and links.
    pub(crate) fn documents(&self, input: &JobInput, inputs: &Inputs) -> Result<Documents> {
        let path = |last: &str| -> Vec<Step> {
            vec!["instance_groups".into(), Step::Index(0), "jobs".into(), Step::Index(0), last.into()]
        };
        let (properties, links) = (path("properties"), path("consumes"));
        let part = |path, file: &'_ Option<PathBuf>, what| file.clone().map(|file| (path, file, what));
        let files =
            [part(&properties, &input.properties, "the properties file"), part(&links, &input.links, "the links file")];
        let parts: Vec<Part> =
            files.iter().flatten().map(|(path, file, what)| Part { path: path.as_slice(), file, what }).collect();
        inputs.read_parts(&Configs::default(), FILE, self.text.clone(), &parts)?.finish(&[])
    }

    /// Problems without the places of a manifest that no user has written, and with what to do about links and properties.
    pub(crate) fn explain(&self, mut problems: Problems) -> Problems {
        for problem in problems.iter_mut() {
            problem.place = problem.place.take().filter(|place| place.file != FILE);
            problem.notes.retain(|note| note.place.file != FILE);
            if problem.code == code::LINK_UNRESOLVED && problem.hint.is_none() {
                problem.hint = Some("give the link with --links FILE".to_owned());
            }
            let hints = problem.hint.iter_mut().chain(problem.notes.iter_mut().filter_map(|note| note.hint.as_mut()));
            for hint in hints {
                *hint = hint.replace("set it in the manifest", "set it with --properties FILE");
            }
        }
        problems
    }
}

/// The release that has the job.
fn find<'r>(Releases(releases): &'r Releases, of: Option<&str>, job: &str) -> Result<&'r JobSources> {
    let candidates: Vec<&JobSources> =
        releases.iter().filter(|release| of.is_none_or(|name| name == release.name)).collect();
    if let (Some(name), []) = (of, candidates.as_slice()) {
        let known: Vec<&str> = releases.iter().map(|release| release.name.as_str()).collect();
        return Err(Problem::usage(format!("--job: no release is named '{name}'"))
            .code(code::RELEASE_UNKNOWN)
            .hint(hint_for_unknown(name, known.iter().copied(), || format!("the releases are: {}", known.join(", "))))
            .into());
    }
    let having: Vec<&JobSources> =
        candidates.iter().copied().filter(|release| release.jobs.iter().any(|name| name == job)).collect();
    match having.as_slice() {
        [release] => Ok(release),
        [] => {
            let jobs: Vec<&str> = candidates.iter().flat_map(|release| &release.jobs).map(String::as_str).collect();
            let names: Vec<String> = candidates.iter().map(|release| format!("'{}'", release.name)).collect();
            let releases = if names.len() == 1 { "release" } else { "releases" };
            let names = names.join(", ");
            if jobs.is_empty() {
                let verb = if candidates.len() == 1 { "has" } else { "have" };
                let message = format!("--job: {releases} {names} {verb} no jobs");
                return Err(Problem::usage(message)
                    .code(code::JOB_UNKNOWN)
                    .hint("a release's source directory has its jobs in jobs/JOB/spec")
                    .into());
            }
            let hint = hint_for_unknown(job, jobs.iter().copied(), || format!("the jobs are: {}", jobs.join(", ")));
            let message = format!("--job: job '{job}' not found in {releases} {names}");
            Err(Problem::usage(message).code(code::JOB_UNKNOWN).hint(hint).into())
        }
        several => {
            let names: Vec<String> = several.iter().map(|release| format!("{}/{job}", release.name)).collect();
            Err(Problem::usage(format!("--job: several releases have a job '{job}'"))
                .hint(format!("give one of {}", names.join(", ")))
                .into())
        }
    }
}
