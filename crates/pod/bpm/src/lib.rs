//! `bpm.yml` as typed, validated process configuration.
//!
//! The rules are those of BPM itself (its documentation and `config/job_config.go`): the file is read with Go's
//! yaml.v3 into typed structs, so unknown keys are ignored, duplicate keys are errors, and arguments and environment
//! values are a scalar's raw text: `0755`, `yes` and `1.10` stay what they are. Unlike BPM, all problems of a file are
//! reported together, with their places.
//!
//! yaml.v3 is a port of libyaml, whose parser reads the file here, so both accept the same texts. Some 30,000 generated files
//! were compared. The differences: a byte order mark within the text is refused, `"\/"` is read, a comma ends a tag in
//! `[...]` and `{...}`, and an alias inside of its own anchor is refused even where nothing reads it.

mod additions;
mod bytes;
mod config;
mod decode;
mod overlay;
mod reader;
mod unknown_keys;
mod validate;
mod yaml;

pub use bytes::{INVALID_BYTE_QUANTITY, to_bytes};
pub use config::{Hooks, Limits, ProcessConfig, ShutdownSignal, Unsafe, Volume};
pub use overlay::{OVERLAID, Overlaid, Overlay};
pub use unknown_keys::{UnknownKey, unknown_keys};

use problem::{Place, Problem, Problems, Result, code};
use serde::Serialize;

/// A whole `bpm.yml`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JobConfig {
    /// The job's processes, in the file's order.
    pub processes: Vec<ProcessConfig>,
    #[serde(skip)]
    path: String,
}

impl JobConfig {
    /// The process of this name, the first one where there are several.
    pub fn process(&self, name: &str) -> Result<&ProcessConfig> {
        self.processes.iter().find(|p| p.name == name).ok_or_else(|| {
            let mut problem =
                Problem::input(format!("process \"{name}\" not present in job configuration ({})", self.path))
                    .code(code::PROCESS_UNKNOWN)
                    .at(Place::file(&self.path));
            let known: Vec<_> = self.processes.iter().map(|p| p.name.as_str()).collect();
            if !known.is_empty() {
                problem = problem.hint(format!("its processes are: {}", known.join(", ")));
            }
            problem.into()
        })
    }
}

/// Reads a `bpm.yml`; `path` is named in problems.
///
/// Which volumes conflict with the job's own directories depends on the job's name: [`parse_for_job`] checks that, too.
pub fn parse(text: impl AsRef<[u8]>, path: &str) -> Result<JobConfig> {
    read(text.as_ref(), path, None)
}

/// As [`parse`], with the checks that need the job's name.
pub fn parse_for_job(text: impl AsRef<[u8]>, path: &str, job: &str) -> Result<JobConfig> {
    read(text.as_ref(), path, Some(job))
}

fn read(text: &[u8], path: &str, job: Option<&str>) -> Result<JobConfig> {
    let document = yaml::read(text, path)?;
    let mut decoder = decode::Decoder::new(path);
    let processes = match &document {
        Some(node) => reader::processes(&mut decoder, node, job),
        None => Vec::new(),
    };
    Problems::check(decoder.problems)?;
    Ok(JobConfig { processes, path: path.to_owned() })
}
