//! The files of jobs that render with the defaults and examples of their specs.

use std::collections::BTreeMap;

use dialect_erb::Renderer;
use jobs_src::JobsSrc;
use plan::Examples;
use render_release::{JobInput, JobRun, JobSources, Releases, renderable_job_files};
use ruby::Vm;
use serde_json::{Map, Value as Json, json};

use crate::source::{JobSource, ReleaseSource};

/// The job sources of a release.
pub(crate) fn jobs_src(release: &ReleaseSource) -> JobsSrc {
    JobsSrc::apart(BTreeMap::from([(release.name.clone(), jobs_directory(release))]))
}

fn jobs_directory(release: &ReleaseSource) -> std::path::PathBuf {
    let jobs = release.directory.join("jobs");
    if jobs.is_dir() { jobs } else { release.directory.clone() }
}

/// Renders what can be rendered of all jobs but those with an invalid spec. A template that needs more stays without a file, and the
/// rules about it silent.
pub(crate) fn render(vm: &Vm, renderer: &Renderer, release: &mut ReleaseSource, invalid: &[String]) {
    let jobs = release.jobs.iter().map(|job| job.name.clone()).collect();
    let releases = Releases(vec![JobSources::new(&release.name, jobs_directory(release), jobs)]);
    let run = JobRun { vm, renderer, releases: &releases, examples: Examples::AsDefaults };
    for job in release.jobs.iter_mut().filter(|job| !invalid.contains(&job.name)) {
        let input = JobInput { consumes: Some(links(job)), ..JobInput::default() };
        let files = renderable_job_files(&run, None, &job.name, &input).unwrap_or_default();
        let prefix = format!("{}/", job.name);
        job.rendered = files
            .into_iter()
            .filter_map(|file| Some((file.path.strip_prefix(&prefix)?.to_owned(), file.content)))
            .collect();
    }
}

/// The links that the job cannot do without, with an instance and no properties.
fn links(job: &JobSource) -> Json {
    let required = job.spec.consumes.iter().filter(|link| !link.is_optional);
    let link = json!({"address": "127.0.0.1", "instances": [{"address": "127.0.0.1"}], "properties": {}});
    Json::Object(required.map(|required| (required.name.clone(), link.clone())).collect::<Map<_, _>>())
}
