//! Waiting for what has to happen.

use std::time::{Duration, Instant};

/// How long anything may take on a machine with much else to do; waited for that long only where it never happens.
pub const PATIENCE: Duration = Duration::from_secs(240);
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
