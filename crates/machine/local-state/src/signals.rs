//! Ctrl-C and the other termination signals, received by one thread for the whole process.

use nix::sys::signal::{SigSet, Signal, kill};
use nix::unistd::getpid;
use problem::{Problem, Result};

/// The termination signals, blocked so that they do not end the process at once.
#[derive(Debug)]
pub struct Signals {
    mask: SigSet,
}

impl Signals {
    /// Blocks them; called before the first thread is started, which would not inherit it otherwise.
    pub fn block() -> Result<Signals> {
        let mut mask = SigSet::empty();
        for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
            mask.add(signal);
        }
        mask.thread_block().map_err(|e| Problem::internal("cannot block signals").because(e))?;
        Ok(Signals { mask })
    }

    /// Does something that they end as they do by default.
    pub fn unblocked<T>(&self, work: impl FnOnce() -> T) -> Result<T> {
        let cannot = |e| Problem::internal("cannot block signals").because(e);
        self.mask.thread_unblock().map_err(cannot)?;
        let result = work();
        // Ruby's VM unblocks them as well.
        self.mask.thread_block().map_err(cannot)?;
        Ok(result)
    }

    /// Calls `each` for each signal from now on.
    pub fn forward(&self, mut each: impl FnMut() + Send + 'static) -> Result<()> {
        let mask = self.mask;
        std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || {
                while mask.wait().is_ok() {
                    each();
                }
            })
            .map_err(|e| Problem::internal("cannot start a thread").because(e))?;
        Ok(())
    }

    /// Performs the default action of a signal.
    pub fn remote(&self) -> impl Fn() + Send + 'static {
        || {
            // To itself, which is always allowed.
            let _ = kill(getpid(), Signal::SIGTERM);
        }
    }
}
