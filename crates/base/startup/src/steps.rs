//! Where a run's time goes, for `BOSON_LOG=debug`.

use std::time::Instant;

/// Logs each finished step with the time since the run's start.
#[derive(Debug)]
pub struct Steps(Instant);

impl Steps {
    /// Starts the clock.
    pub fn start() -> Steps {
        Steps(Instant::now())
    }

    /// Logs a step as finished.
    pub fn done(&self, step: &str) {
        tracing::debug!(ms = self.0.elapsed().as_micros() as f64 / 1000.0, "{step}");
    }
}
