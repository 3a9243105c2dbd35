//! `bpm.yml` as typed, validated process configuration.
//!
//! The rules are those of BPM itself (its documentation and `config/job_config.go`): the file is read with Go's
//! yaml.v3 into typed structs, so unknown keys are ignored, duplicate keys are errors, and arguments and environment
//! values are a scalar's raw text: `0755`, `yes` and `1.10` stay what they are. Unlike BPM, all problems of a file are
//! reported together, with their places.
//!
//! The grammar is YAML 1.2's, so a few documents are read that yaml.v3 refuses (`"\/"`, a tab before a value), and within
//! `[...]` and `{...}` a plain `key:` is a mapping where yaml.v3 sees a text that ends in a colon.

mod additions;
mod bytes;
mod config;
mod decode;
mod reader;
mod validate;
mod yaml;

pub use bytes::{INVALID_BYTE_QUANTITY, to_bytes};
pub use config::{Hooks, Limits, ProcessConfig, ShutdownSignal, Unsafe, Volume};

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
/// Which volumes collide with the job's own directories cannot be told without the job's name: [`parse_for_job`].
pub fn parse(text: &str, path: &str) -> Result<JobConfig> {
    read(text, path, None)
}

/// As [`parse`], with the checks that need the job's name.
pub fn parse_for_job(text: &str, path: &str, job: &str) -> Result<JobConfig> {
    read(text, path, Some(job))
}

fn read(text: &str, path: &str, job: Option<&str>) -> Result<JobConfig> {
    let document = yaml::read(text, path)?;
    let mut decoder = decode::Decoder::new(path);
    let processes = match &document {
        Some(node) => reader::processes(&mut decoder, node, job),
        None => Vec::new(),
    };
    Problems::check(decoder.problems)?;
    Ok(JobConfig { processes, path: path.to_owned() })
}
