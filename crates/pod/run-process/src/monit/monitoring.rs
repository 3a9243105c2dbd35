//! Whether monit monitors a process, and why that counts as failing although it runs: between the checks, the control socket, and
//! programs that show the status, which read it from a file.

use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::rc::Rc;

use vcap::atomic::{clear_leftovers, replace_file};

use crate::context::Context;

/// The state that the checks of a process and its control socket share.
#[derive(Debug, Clone)]
pub(crate) struct Monitoring(Rc<Shared>);

#[derive(Debug)]
struct Shared {
    /// `/var/vcap/sys/run/boson/JOB/PROCESS.failing`, which exists as long as the process counts as failing.
    file: PathBuf,
    failing: RefCell<Option<String>>,
    /// What a client has asked for: whether the process is to be monitored.
    request: Cell<Option<bool>>,
}

impl Monitoring {
    /// The process does not count as failing, whatever a supervisor that was killed has left.
    pub(crate) fn new(context: &Context) -> Monitoring {
        let file = context.states().join(&context.job).join(format!("{}.failing", context.process));
        clear_leftovers(&file);
        let shared = Shared { file, failing: RefCell::default(), request: Cell::default() };
        shared.remove();
        Monitoring(Rc::new(shared))
    }

    /// Why the process counts as failing; nothing while all rules hold.
    pub(crate) fn failing(&self) -> Option<String> {
        self.0.failing.borrow().clone()
    }

    /// Changes why the process counts as failing.
    pub(crate) fn set_failing(&self, why: Option<String>) {
        if *self.0.failing.borrow() == why {
            return;
        }
        match &why {
            Some(why) => {
                if let Err(problems) = replace_file(&self.0.file, format!("{why}\n").as_bytes(), 0o644) {
                    tracing::debug!(%problems, "that the process is failing cannot be written");
                }
            }
            None => self.0.remove(),
        }
        *self.0.failing.borrow_mut() = why;
    }

    /// A client wants the process to be monitored, or not.
    pub(crate) fn request(&self, monitored: bool) {
        self.0.request.set(Some(monitored));
    }

    /// What a client has asked for since this was called last.
    pub(crate) fn take_request(&self) -> Option<bool> {
        self.0.request.take()
    }
}

impl Shared {
    fn remove(&self) {
        // It may not exist.
        let _ = std::fs::remove_file(&self.file);
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.remove();
    }
}
