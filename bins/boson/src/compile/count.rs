//! The progress of compiling.

use std::cell::Cell;
use std::fmt;

use release::Progress as CompileProgress;

use crate::progress::{Progress, Step};

/// How many packages came from where.
#[derive(Debug, Default)]
pub(crate) struct Count {
    compiled: Cell<u32>,
    cached: Cell<u32>,
    given: Cell<u32>,
}

impl Count {
    /// Counts a package and shows what is being done.
    pub(crate) fn report(&self, step: &Step, progress: &Progress, event: CompileProgress) {
        let add = |count: &Cell<u32>| count.set(count.get() + 1);
        match event {
            CompileProgress::Waiting { package } => {
                step.at(format!("waiting for another boson that compiles {package}"))
            }
            CompileProgress::Started { package } => step.at(format!("compiling {package}")),
            CompileProgress::Finished { package, took } => {
                add(&self.compiled);
                progress.line(&format!("  compiled {package} ({:.1} s)", took.as_secs_f64()));
            }
            CompileProgress::Cached { .. } => add(&self.cached),
            CompileProgress::Given { .. } => add(&self.given),
        }
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "packages: {} compiled, {} from the cache", self.compiled.get(), self.cached.get())?;
        match self.given.get() {
            0 => Ok(()),
            given => write!(f, ", {given} compiled in the release"),
        }
    }
}
