//! Progress on standard error: a bar on a terminal, otherwise a line for each quarter.

use std::io::{IsTerminal, Write};

use indicatif::{ProgressBar, ProgressStyle};

/// Shows how many keys there are.
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    keys: usize,
}

impl Progress {
    /// Shows that variables are generated, and so many keys for them.
    pub(crate) fn start(variables: usize, keys: usize) -> Progress {
        let what = format!("generating {}, {}", counted(variables, "variable"), counted(keys, "key"));
        let bar = (keys > 0 && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::new(keys as u64).with_message(what.clone());
            if let Ok(style) = ProgressStyle::with_template("{msg} {bar:30} {pos}/{len} [{elapsed}]") {
                bar.set_style(style);
            }
            bar.tick();
            bar
        });
        let progress = Progress { bar, keys };
        if keys > 0 {
            progress.line(&what);
        }
        progress
    }

    /// Shows that so many keys are generated.
    pub(crate) fn at(&self, done: usize) {
        if let Some(bar) = &self.bar {
            bar.set_position(done as u64);
        }
        let quarter = |done: usize| done * 4 / self.keys.max(1);
        if self.keys >= 4 && quarter(done) != quarter(done - 1) {
            self.line(&format!("generated {done} of {} keys", self.keys));
        }
    }

    /// A line where no bar is shown. Who closed standard error needs none.
    fn line(&self, text: &str) {
        if self.bar.is_none() {
            let _ = writeln!(std::io::stderr(), "{text}");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// `1 key`, `2 keys`.
fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
