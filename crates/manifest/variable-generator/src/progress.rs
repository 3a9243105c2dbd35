//! Progress on standard error: a bar with the names of the keys under way on a terminal, otherwise a line for each key.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// Shows which keys are generated.
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    keys: usize,
    done: usize,
    /// The variables whose keys are generated at present.
    under_way: Vec<String>,
}

impl Progress {
    /// Shows how many variables are generated, and how many keys for them. Without keys it takes no time, and shows nothing.
    pub(crate) fn start(variables: usize, keys: usize) -> Progress {
        let bar = (keys > 0 && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::new(keys as u64);
            if let Ok(style) =
                ProgressStyle::with_template("generating keys {bar:30} {pos}/{len} [{elapsed}] {wide_msg}")
            {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(100));
            bar
        });
        let progress = Progress { bar, keys, done: 0, under_way: Vec::new() };
        if keys > 0 {
            progress.line(&format!("generating {}, {}", counted(variables, "variable"), counted(keys, "key")));
        }
        progress
    }

    /// The key of a variable is generated from now on.
    pub(crate) fn started(&mut self, name: &str) {
        self.under_way.push(name.to_owned());
        self.show();
    }

    /// The key of a variable is no longer generated.
    pub(crate) fn ended(&mut self, name: &str) {
        self.under_way.retain(|known| known != name);
        self.show();
    }

    /// The value of a variable that has a key is kept from now on.
    pub(crate) fn kept(&mut self, name: &str) {
        self.done += 1;
        self.line(&format!("generated {name} ({} of {})", self.done, self.keys));
        self.show();
    }

    fn show(&self) {
        if let Some(bar) = &self.bar {
            bar.set_position(self.done as u64);
            bar.set_message(self.under_way.join(", "));
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
