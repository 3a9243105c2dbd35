//! Which files are logs.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};
use problem::{IoContext, Problem, Result, code};

use super::reading::is_nothing;

/// The directory of the logs in an instance's `/var/vcap`.
pub(super) const LOGS: &str = "sys/log";

/// The log of messages sent to `/dev/log`.
pub(super) const SYSLOG: &str = "syslog.log";

/// How many directories deep logs are found below that of a job.
const MAX_DEPTH: usize = 8;

/// The files that are asked for.
pub(super) struct Files {
    job: Option<String>,
    /// Patterns as given; all files without one.
    only: Vec<(String, GlobMatcher)>,
}

impl Files {
    /// Those of a job, or of all jobs and syslog, that match one of the patterns.
    ///
    /// # Errors
    /// Texts that are no patterns.
    pub(super) fn new(job: Option<String>, only: &[String]) -> Result<Files> {
        let matcher = |text: &String| -> Result<(String, GlobMatcher)> {
            let glob = GlobBuilder::new(text.trim_matches('/')).literal_separator(true).backslash_escape(true).build();
            let invalid =
                |e: globset::Error| Problem::usage(format!("--only: invalid pattern '{text}'")).because(e.kind());
            Ok((text.clone(), glob.map_err(invalid)?.compile_matcher()))
        };
        Ok(Files { job, only: only.iter().map(matcher).collect::<Result<_>>()? })
    }

    /// The paths of the files below the directory of logs of a `/var/vcap`: syslog first, then by job.
    ///
    /// # Errors
    /// Directories that cannot be read.
    pub(super) fn below(&self, vcap: &Path) -> Result<Vec<String>> {
        let mut found = if self.job.is_none() { vec![SYSLOG.to_owned()] } else { Vec::new() };
        let is_wanted = |job: &String| *job != SYSLOG && self.job.as_ref().is_none_or(|wanted| wanted == job);
        for job in names(vcap, LOGS)?.into_iter().filter(is_wanted) {
            collect(vcap, &job, MAX_DEPTH, &mut found)?;
        }
        found.retain(|path| self.only.is_empty() || self.only.iter().any(|(_, matcher)| is_match(matcher, path)));
        Ok(found)
    }

    /// Reports that no file matches.
    ///
    /// # Errors
    /// There are patterns.
    pub(super) fn check_patterns(&self) -> Result<()> {
        if self.only.is_empty() {
            return Ok(());
        }
        let texts: Vec<&str> = self.only.iter().map(|(text, _)| text.as_str()).collect();
        let message = format!("--only: no log matches '{}'", texts.join(","));
        let hint = "give JOB, JOB/FILE or a pattern; `boson logs` without --only names all files";
        Err(Problem::input(message).code(code::INPUT_INVALID).hint(hint).into())
    }
}

/// Whether a pattern matches the path or a directory above it.
fn is_match(matcher: &GlobMatcher, path: &str) -> bool {
    let above = path.match_indices('/').map(|(end, _)| &path[..end]);
    above.chain([path]).any(|part| matcher.is_match(part))
}

/// Adds the files below a path. A path that is not a directory counts as a file.
fn collect(vcap: &Path, path: &str, depth: usize, found: &mut Vec<String>) -> Result<()> {
    match sandbox::names_beneath(vcap, &Path::new(LOGS).join(path)) {
        Ok(names) if depth > 0 => {
            names.iter().try_for_each(|name| collect(vcap, &format!("{path}/{name}"), depth - 1, found))
        }
        Ok(_) => Ok(()),
        Err(e) if is_nothing(&e) => {
            // What stands beside the jobs' directories is not theirs.
            found.extend(path.contains('/').then(|| path.to_owned()));
            Ok(())
        }
        Err(e) => Err(e).io("read", &vcap.join(LOGS).join(path)),
    }
}

/// The names in a directory; empty if it does not exist or is not a directory.
pub(super) fn names(base: &Path, path: &str) -> Result<Vec<String>> {
    match sandbox::names_beneath(base, Path::new(path)) {
        Err(e) if is_nothing(&e) => Ok(Vec::new()),
        other => other.io("read", &base.join(path)),
    }
}

/// Whether one of the directories has a file that this user may not read.
pub(super) fn is_closed(vcap: &Path) -> bool {
    let denied = |path: &str| {
        sandbox::open_beneath(vcap, Path::new(path)).is_err_and(|e| e.kind() == std::io::ErrorKind::PermissionDenied)
    };
    let entries = |path: &str| {
        let names = sandbox::names_beneath(vcap, Path::new(path)).unwrap_or_default();
        names.into_iter().map(|name| format!("{path}/{name}")).collect::<Vec<_>>()
    };
    entries(LOGS).iter().any(|job| denied(job) || entries(job).iter().any(|file| denied(file)))
}
