//! Ctrl-C and the other termination signals: what has been started goes on in the cluster, so a command that follows it says how to see
//! or stop it; a run that holds the deployment gives it back.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use nix::sys::signal::{SigSet, Signal};
use problem::{Problem, Result};

/// The exit code of a process that a signal has ended, without the signal's number.
const KILLED: i32 = 128;

/// What happens when a signal ends the process.
pub struct Interrupt {
    notice: Arc<Mutex<String>>,
    last_act: Arc<Mutex<Option<LastAct>>>,
}

/// What is done before the process ends.
pub(crate) type LastAct = Box<dyn FnOnce() + Send>;

impl std::fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Interrupt").field("notice", &self.notice).finish_non_exhaustive()
    }
}

impl Interrupt {
    /// Receives the signals from now on. Called before the client of the cluster starts a thread, which would receive them otherwise. The
    /// first process of a container needs it, too: the kernel ignores signals for it that nothing handles.
    ///
    /// # Errors
    /// If the signals cannot be blocked, or no thread can be started.
    pub fn handle() -> Result<Interrupt> {
        let mut mask = SigSet::empty();
        let ignored = ignored();
        let signals = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP].into_iter();
        signals.filter(|signal| ignored >> (*signal as i32 - 1) & 1 == 0).for_each(|signal| mask.add(signal));
        let cannot = |error: &dyn std::fmt::Display| Problem::internal("cannot handle signals").because(error);
        mask.thread_block().map_err(|error| cannot(&error))?;
        let notice: Arc<Mutex<String>> = Arc::default();
        let last_act: Arc<Mutex<Option<LastAct>>> = Arc::default();
        let (shown, act) = (Arc::clone(&notice), Arc::clone(&last_act));
        let wait = move || {
            let Ok(signal) = mask.wait() else { return };
            let notice = shown.lock().unwrap_or_else(PoisonError::into_inner);
            if !notice.is_empty() {
                // Nobody may be reading.
                let _ = writeln!(std::io::stderr(), "{notice}");
            }
            let act = act.lock().unwrap_or_else(PoisonError::into_inner).take();
            act.into_iter().for_each(|act| act());
            std::process::exit(KILLED + signal as i32);
        };
        std::thread::Builder::new().name("signals".to_owned()).spawn(wait).map_err(|error| cannot(&error))?;
        Ok(Interrupt { notice, last_act })
    }

    /// Sets what is done before the process ends; it is to end soon.
    pub(crate) fn set_last_act(&self, act: Option<LastAct>) {
        *self.last_act.lock().unwrap_or_else(PoisonError::into_inner) = act;
    }

    /// Sets what is printed: what goes on, and the commands that follow or stop it.
    pub fn explain(&self, what: &str, hint: &str) {
        *self.notice.lock().unwrap_or_else(PoisonError::into_inner) = format!("interrupted: {what}\n  hint: {hint}");
    }
}

/// The signals that this process ignores, such as SIGHUP below nohup: a bit for each. They would be received nevertheless.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default()
}
