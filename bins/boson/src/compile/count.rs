//! Telling how compiling goes.

use std::cell::Cell;
use std::fmt;

use release::Progress as Told;

use crate::progress::{Progress, Step};

/// How many packages came from where.
#[derive(Debug, Default)]
pub(crate) struct Count {
    compiled: Cell<u32>,
    cached: Cell<u32>,
    given: Cell<u32>,
}

impl Count {
    /// Counts what was told, and shows it.
    pub(crate) fn tell(&self, step: &Step, progress: &Progress, told: Told) {
        let add = |count: &Cell<u32>| count.set(count.get() + 1);
        match told {
            Told::Waiting { package } => step.at(format!("waiting for another boson that compiles {package}")),
            Told::Started { package } => step.at(format!("compiling {package}")),
            Told::Finished { package, took } => {
                add(&self.compiled);
                progress.line(&format!("  compiled {package} ({:.1} s)", took.as_secs_f64()));
            }
            Told::Cached { .. } => add(&self.cached),
            Told::Given { .. } => add(&self.given),
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
