//! Random bytes of the kernel.

use std::cell::Cell;

use problem::{Problem, Result};

/// Fills buffers; remembers a failure.
#[derive(Debug, Default)]
pub struct Generator {
    failure: Cell<Option<getrandom::Error>>,
}

impl Generator {
    /// Fills a buffer. After a failure its content has no meaning, and [`Generator::check`] fails.
    pub fn fill(&self, bytes: &mut [u8]) {
        if let Err(e) = getrandom::fill(bytes) {
            self.failure.set(Some(e));
        }
    }

    /// Whether the kernel had random bytes for all buffers.
    ///
    /// # Errors
    /// The kernel had no random bytes.
    pub fn check(&self) -> Result<()> {
        match self.failure.take() {
            Some(e) => Err(Problem::internal("cannot read random bytes").because(e).into()),
            None => Ok(()),
        }
    }
}
