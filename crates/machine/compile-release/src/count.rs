//! The progress of compiling.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use release::Progress as CompileProgress;

use local_state::{Progress, Step};

/// How many packages came from where, and what is being compiled.
#[derive(Debug, Default)]
pub struct Count(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    compiled: u32,
    cached: u32,
    given: u32,
    planned: usize,
    running: BTreeSet<String>,
}

impl Count {
    /// Counts a package and shows what is being done.
    pub fn report(&self, step: &Step, progress: &Progress, event: CompileProgress) {
        let mut inner = self.inner();
        match event {
            CompileProgress::Planned { packages } => inner.planned += packages,
            CompileProgress::Waiting { package } => {
                return step.at(format!("waiting for another boson that compiles {package}"));
            }
            CompileProgress::Started { package } => {
                inner.running.insert(package.to_owned());
                // Where there is no line that moves: compiling may take minutes, so its start is reported too.
                progress.plain_line(&format!("  compiling {package} ({})", inner.done()));
            }
            CompileProgress::Finished { package, took } => {
                inner.running.remove(package);
                inner.compiled += 1;
                progress.line(&format!("  compiled {package} ({:.1} s)", took.as_secs_f64()));
            }
            CompileProgress::Cached { .. } => inner.cached += 1,
            CompileProgress::Given { .. } => inner.given += 1,
            CompileProgress::Empty { package, log } => progress.line(&empty(package, log)),
        }
        if !inner.running.is_empty() {
            let running: Vec<&str> = inner.running.iter().map(String::as_str).collect();
            step.at(format!("compiling packages ({}): {}", inner.done(), running.join(", ")));
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The warning about a package without content.
fn empty(package: &str, log: Option<&Path>) -> String {
    let log = log.map(|log| format!("; its log is in {}", log.display())).unwrap_or_default();
    format!(
        "warning: package '{package}' is empty: its packaging script installed nothing, and goes on after a command that \
         fails\n  hint: begin the script with `set -e`{log}"
    )
}

impl Inner {
    fn done(&self) -> String {
        format!("{} of {} done", self.compiled, self.planned)
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = self.inner();
        write!(f, "packages: {} compiled, {} from the cache", inner.compiled, inner.cached)?;
        match inner.given {
            0 => Ok(()),
            given => write!(f, ", {given} compiled in the release"),
        }
    }
}
