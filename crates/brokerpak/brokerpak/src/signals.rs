//! TERM and INT while terraform runs.

use nix::sys::signal::{SigSet, Signal};
use problem::{Problem, Result};
use terraform_runner::Interruption;
use tokio::signal::unix::{SignalKind, signal};

/// Lets TERM and INT raise an interruption from now on.
///
/// # Errors
/// Signals that cannot be handled.
pub(crate) fn interrupt(interruption: &Interruption) -> Result<()> {
    let failed = |error: std::io::Error| Problem::internal("cannot take over the handling of signals").because(error);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().map_err(failed)?;
    let guard = runtime.enter();
    let mut term = signal(SignalKind::terminate()).map_err(failed)?;
    let mut int = signal(SignalKind::interrupt()).map_err(failed)?;
    drop(guard);
    // Whoever has started this program may have blocked them; terraform would inherit that, too.
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGTERM);
    signals.add(Signal::SIGINT);
    signals.thread_unblock().map_err(|error| failed(error.into()))?;
    let interruption = interruption.clone();
    std::thread::spawn(move || {
        runtime.block_on(async move {
            loop {
                tokio::select! {
                    _ = term.recv() => {}
                    _ = int.recv() => {}
                }
                interruption.raise();
            }
        });
    });
    Ok(())
}
