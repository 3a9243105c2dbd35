//! Progress: a spinner on a terminal, otherwise one line for each completed step.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use sandbox::Channel;

use crate::control::Reply;
use crate::output;

/// Shows the current step.
#[derive(Debug)]
pub struct Progress {
    bar: Option<ProgressBar>,
    plain: AtomicBool,
    /// The verb of another process that shows the lines as well.
    follower: Mutex<Option<Arc<Channel>>>,
}

impl Progress {
    /// Shows steps on standard output.
    pub fn on_stdout() -> Progress {
        let bar = std::io::stdout().is_terminal().then(|| {
            let bar = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} [{elapsed}]") {
                bar.set_style(style);
            }
            bar
        });
        Progress { bar, plain: AtomicBool::new(false), follower: Mutex::default() }
    }

    /// Starts a step.
    pub fn step(&self, doing: impl Into<String>) -> Step<'_> {
        let doing = doing.into();
        if let Some(bar) = self.bar() {
            // The step before has finished it; a finished bar is not drawn.
            bar.reset();
            bar.set_message(doing);
            bar.enable_steady_tick(Duration::from_millis(100));
        }
        Step { progress: self, started: Instant::now() }
    }

    /// Standard output is not the terminal from now on.
    pub fn leave_the_terminal(&self) {
        self.plain.store(true, Ordering::SeqCst);
    }

    fn bar(&self) -> Option<&ProgressBar> {
        self.bar.as_ref().filter(|_| !self.plain.load(Ordering::SeqCst))
    }

    /// Sends the lines to another process as well; `None` stops that.
    pub fn follow(&self, follower: Option<Arc<Channel>>) {
        *self.follower.lock().unwrap_or_else(PoisonError::into_inner) = follower;
    }

    /// A permanent line, printed only where no bar shows the current step.
    pub fn plain_line(&self, text: &str) {
        if self.bar().is_none() {
            self.line(text);
        }
    }

    /// A permanent line.
    pub fn line(&self, text: &str) {
        if let Some(follower) = &*self.follower.lock().unwrap_or_else(PoisonError::into_inner) {
            // A process that has exited needs no line.
            let _ = follower.send(&Reply::Line(text.to_owned()), &[]);
        }
        match self.bar() {
            Some(bar) => bar.suspend(|| output::line(text)),
            None => output::line(text),
        }
    }
}

/// A running step.
#[derive(Debug)]
pub struct Step<'a> {
    progress: &'a Progress,
    started: Instant,
}

impl Step<'_> {
    /// Shows the current part of the step.
    pub fn at(&self, doing: impl Into<String>) {
        if let Some(bar) = self.progress.bar() {
            bar.set_message(doing.into());
        }
    }

    /// Completes the step.
    pub fn done(self, what: &str) {
        let seconds = self.started.elapsed().as_secs_f64();
        self.progress.line(&format!("{what} ({seconds:.1} s)"));
    }
}

impl Drop for Step<'_> {
    fn drop(&mut self) {
        if let Some(bar) = self.progress.bar() {
            bar.disable_steady_tick();
            bar.finish_and_clear();
        }
    }
}
