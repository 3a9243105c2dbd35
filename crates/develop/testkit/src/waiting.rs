//! Waiting for events.

use std::time::{Duration, Instant};

/// The limit of a wait, which only ends a test that hangs: a busy machine that is ten times slower does not reach it.
pub const PATIENCE: Duration = Duration::from_secs(600);
const INTERVAL: Duration = Duration::from_micros(500);

/// Waits until `probe` gives something.
///
/// # Panics
/// If it gives nothing within [`PATIENCE`].
#[track_caller]
pub fn wait_for<T>(what: &str, mut probe: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = probe() {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "waited in vain for {what}");
        std::thread::sleep(INTERVAL);
    }
}

/// Waits until it is so.
///
/// # Panics
/// If it is not within [`PATIENCE`].
#[track_caller]
pub fn eventually(what: &str, mut is: impl FnMut() -> bool) {
    wait_for(what, || is().then_some(()));
}
