//! Job specs and templates as `copy-jobs` leaves them: `jobs-src/<release>/<job>/` with `job.MF` (else `spec`), `monit`,
//! `properties_schema.json` and `templates/`.
//!
//! Job specs are read with the VM, because BOSH reads them with Psych: a default such as `0755` or `1:30` must be the value
//! that it is in BOSH.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use handoff::packages::{self, Packages};
use manifest_model::JobSpec;
use problem::{Place, Problem, Problems, Result, code, hint_for_unknown};
use ruby::{Document, Vm};
use sha2::{Digest, Sha256};
use template::{PathError, Source, relative_path};

/// A job of a release, by names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct JobRef {
    /// The release's name.
    pub release: String,
    /// The job's name.
    pub job: String,
}

/// A job's rules for its properties, beside its spec.
const PROPERTIES_SCHEMA: &str = "properties_schema.json";

/// The job sources of releases.
#[derive(Debug, Clone)]
pub struct JobsSrc(Layout);

#[derive(Debug, Clone)]
enum Layout {
    /// A directory `jobs-src/<release>/<job>`.
    Together(PathBuf),
    /// The directory of the jobs of each release.
    Apart(BTreeMap<String, PathBuf>),
}

impl JobsSrc {
    /// The directory `jobs-src` below `base` (`/var/vcap/all-releases` in a pod).
    pub fn below(base: &Path) -> JobsSrc {
        JobsSrc(Layout::Together(base.join("jobs-src")))
    }

    /// Releases whose jobs are where their authors have them: the directory of the jobs by release.
    pub fn apart(releases: BTreeMap<String, PathBuf>) -> JobsSrc {
        JobsSrc(Layout::Apart(releases))
    }

    /// The directories that contain all of it.
    pub fn directories(&self) -> Vec<&Path> {
        match &self.0 {
            Layout::Together(path) => vec![path],
            Layout::Apart(releases) => releases.values().map(PathBuf::as_path).collect(),
        }
    }

    /// The directory of a job.
    pub fn job(&self, job: &JobRef) -> PathBuf {
        self.release(&job.release).join(&job.job)
    }

    /// The directory of the jobs of a release; one that cannot exist where there is none.
    fn release(&self, name: &str) -> PathBuf {
        match &self.0 {
            Layout::Together(path) => path.join(name),
            Layout::Apart(releases) => releases.get(name).cloned().unwrap_or_else(|| Path::new("/dev/null").join(name)),
        }
    }

    /// Reads the specs of jobs, all in one call of the VM. `named_at` returns the place that names a
    /// job, for the problem that it is missing.
    ///
    /// # Errors
    /// Everything that is wrong with any of them, located.
    pub fn specs(&self, vm: &Vm, jobs: &[JobRef], named_at: impl Fn(&JobRef) -> Option<Place>) -> Result<Vec<JobSpec>> {
        let mut problems = Vec::new();
        let mut there = Vec::new();
        let mut documents = Vec::new();
        let mut missing = BTreeSet::new();
        for job in jobs {
            if let Some(problem) = self.missing_release(&job.release) {
                if missing.insert(&job.release) {
                    problems.push(Problem { place: named_at(job), ..problem });
                }
                continue;
            }
            match self.read_spec(job) {
                Ok(document) => {
                    there.push(job);
                    documents.push(document);
                }
                Err(found) => problems.extend(found.into_vec().into_iter().map(|mut problem| {
                    problem.place = problem.place.or_else(|| named_at(job));
                    problem
                })),
            }
        }
        let mut specs = Vec::new();
        for ((job, document), value) in there.into_iter().zip(&documents).zip(vm.load_yaml(&documents)?) {
            let spec = value.and_then(|value| JobSpec::parse(&value, &job.job, &document.file));
            match spec.and_then(|spec| check_destinations(&spec, &document.file).map(|()| spec)) {
                Ok(spec) => specs.push(JobSpec { digest: digest(&document.text), ..spec }),
                Err(mut found) => {
                    vm.locate(&mut found, document);
                    problems.extend(found.into_vec());
                }
            }
        }
        Problems::check(problems)?;
        Ok(specs)
    }

    /// [`JobSpec::digest`] of the spec that a job has now.
    pub fn spec_digest(&self, job: &JobRef) -> Result<String> {
        self.read_spec(job).map(|document| digest(&document.text))
    }

    /// The spec of a job as it is written, for places in it.
    ///
    /// # Errors
    /// A job without a spec, and one that cannot be read.
    pub fn read_spec(&self, job: &JobRef) -> Result<Document> {
        let directory = self.job(job);
        for name in ["job.MF", "spec"] {
            let path = directory.join(name);
            match vcap::input::read_file(&path) {
                Ok(text) => return Ok(Document { file: path.display().to_string(), text }),
                Err(e) if is_absent(e.kind()) => {}
                Err(e) => return Err(unreadable(&path, e)),
            }
        }
        if directory.is_dir() {
            return Err(Problem::input(format!("Missing job manifest for '{}'", job.job))
                .code(code::RELEASE_INVALID)
                .because(format!("neither job.MF nor spec is in {}", directory.display()))
                .into());
        }
        let message = format!("Job '{}' not found in release '{}'", job.job, job.release);
        Err(Problem::input(message).code(code::JOB_UNKNOWN).hint(self.absent_job_hint(job)).into())
    }

    /// The problem of a release that the command line does not give.
    fn missing_release(&self, name: &str) -> Option<Problem> {
        let Layout::Apart(releases) = &self.0 else { return None };
        if releases.contains_key(name) {
            return None;
        }
        let known: Vec<&str> = releases.keys().map(String::as_str).collect();
        let problem = Problem::input(format!("release '{name}' is not given: -r PATH")).code(code::RELEASE_MISSING);
        Some(problem.hint(hint_for_unknown(name, known.iter().copied(), || match known.as_slice() {
            [] => "no release is given".to_owned(),
            known => format!("given are: {}", known.join(", ")),
        })))
    }

    fn absent_job_hint(&self, job: &JobRef) -> String {
        let release = self.release(&job.release);
        if !release.is_dir() && matches!(self.0, Layout::Together(_)) {
            return format!("{} does not exist: run copy-jobs in the release's image first", release.display());
        }
        let entries = std::fs::read_dir(&release).into_iter().flatten().flatten();
        let directories = entries.filter(|e| e.path().is_dir());
        let mut known: Vec<String> = directories.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
        known.sort();
        hint_for_unknown(&job.job, known.iter().map(String::as_str), || match known.as_slice() {
            [] => "the release has no jobs".to_owned(),
            known => format!("its jobs are: {}", known.join(", ")),
        })
    }

    /// Reads a template of a job; `name` is its key in the job's spec.
    pub fn template(&self, job: &JobRef, name: &str) -> Result<Source> {
        let path = self.job(job).join("templates").join(name);
        read_source(&path, name)?.ok_or_else(|| {
            Problem::input(format!("Missing template file '{name}' for job '{}'", job.job))
                .code(code::TEMPLATE_MISSING)
                .at(Place::file(path.display().to_string()))
                .into()
        })
    }

    /// Reads a job's `monit`, `None` where it has none.
    pub fn monit(&self, job: &JobRef) -> Result<Option<Source>> {
        read_source(&self.job(job).join("monit"), "monit")
    }

    /// The packages in the image of a release; `None` if its job sources are not from an image.
    ///
    /// # Errors
    /// A list that is malformed or of another version.
    pub fn packages(&self, release: &str) -> Result<Option<BTreeSet<String>>> {
        let path = self.release(release).join(packages::FILE);
        match vcap::input::read_file(&path) {
            Ok(text) => {
                let text = String::from_utf8_lossy(&text);
                Packages::decode(&text, &path.display().to_string()).map(|list| Some(list.packages))
            }
            Err(e) if is_absent(e.kind()) => Ok(None),
            Err(e) => Err(unreadable(&path, e)),
        }
    }

    /// Reads a job's rules for its properties, `None` where it has none.
    pub fn properties_schema(&self, job: &JobRef) -> Result<Option<Source>> {
        read_source(&self.job(job).join(PROPERTIES_SCHEMA), PROPERTIES_SCHEMA)
    }
}

/// The path below the job's directory that the destination of a template names.
///
/// # Errors
/// Destinations that lead out of the job's directory, or that no file can have.
pub fn safe_destination(text: &str) -> Result<String> {
    relative_path(text).map_err(|why| {
        let problem =
            Problem::input(format!("template destination '{}' {why}", text.escape_debug())).code(code::TEMPLATE_PLACE);
        match why {
            PathError::Absolute | PathError::Outside => {
                problem.hint("a destination is a path below the job's directory")
            }
            PathError::Empty | PathError::TooLong | PathError::Directory => problem,
        }
        .into()
    })
}

/// What is wrong with where templates are to be written, all of it; `file` is the spec.
fn check_destinations(spec: &JobSpec, file: &str) -> Result<()> {
    let mut problems = Vec::new();
    let mut taken: BTreeMap<String, &str> = BTreeMap::new();
    let place = |source: &str| Place::node(file, vec!["templates".into(), source.into()]);
    for (source, destination) in &spec.templates {
        match safe_destination(destination) {
            Err(found) => problems.extend(found.into_vec().into_iter().map(|problem| problem.at(place(source)))),
            Ok(destination) => {
                if let Some(other) = taken.get(&destination) {
                    let message = format!("templates '{other}' and '{source}' have one destination '{destination}'");
                    problems.push(Problem::input(message).code(code::TEMPLATE_PLACE).at(place(source)));
                } else {
                    taken.insert(destination, source);
                }
            }
        }
    }
    for (destination, source) in &taken {
        let start = format!("template '{source}' has the destination '{destination}'");
        let is_of =
            |path: &str| *destination == path || destination.strip_prefix(path).is_some_and(|d| d.starts_with('/'));
        if destination == ".bosh" || is_of(".bosh/links.json") {
            problems.push(
                Problem::input(format!("{start}, where the list of links lies"))
                    .code(code::TEMPLATE_PLACE)
                    .at(place(source)),
            );
        }
        let above = destination.match_indices('/').map(|(end, _)| &destination[..end]);
        for (path, other) in above.filter_map(|path| taken.get_key_value(path)) {
            let message = format!("{start}, below the file '{path}' that template '{other}' becomes");
            problems.push(Problem::input(message).code(code::TEMPLATE_PLACE).at(place(source)));
        }
    }
    Problems::check(problems)
}

fn digest(text: &[u8]) -> String {
    Sha256::digest(text).iter().map(|b| format!("{b:02x}")).collect()
}

fn read_source(path: &Path, name: &str) -> Result<Option<Source>> {
    match vcap::input::read_file(path) {
        Ok(text) => Ok(Some(Source { name: name.to_owned(), file: path.display().to_string(), text })),
        Err(e) if is_absent(e.kind()) => Ok(None),
        Err(e) => Err(unreadable(path, e)),
    }
}

fn unreadable(path: &Path, e: std::io::Error) -> Problems {
    if matches!(e.kind(), ErrorKind::InvalidInput | ErrorKind::FileTooLarge) {
        // The release is wrong, not the machine.
        return Problem::input(format!("cannot read {}", path.display())).code(code::IO).because(e).into();
    }
    Problem::internal(format!("cannot read {}", path.display())).code(code::IO).because(e).into()
}

fn is_absent(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::IsADirectory)
}
