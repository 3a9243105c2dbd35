//! The form of a sidecar: processes the template again when it or its values have changed.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use problem::{Problem, Problems, Result};
use startup::Common;
use supervisor::Signals;

use crate::check_command::{self, Checked};
use crate::notify::Notice;
use crate::options::Options;
use crate::output::Content;
use crate::signals::{is_ending, until_signal};

/// Watches until a signal ends it. The first failure ends it too, unless there is an output from before.
pub(crate) fn watch(options: &Options, common: &Common) -> Result<u8> {
    let notices = options.notify.iter().map(|text| Notice::parse(text)).collect::<Result<Vec<Notice>>>()?;
    let signals =
        Signals::block().map_err(|e| Problem::internal("cannot take over the handling of signals").because(e))?;
    let mut watched = Watched { options, common, notices, inputs: None, written: None };
    loop {
        let inputs = inputs(options);
        if watched.inputs.as_ref() != Some(&inputs) {
            let is_first = watched.inputs.replace(inputs).is_none();
            match watched.process(&signals) {
                Ok(Checked::Ended) => return Ok(0),
                Ok(Checked::Passed) => {}
                Err(error) if is_first && !exists(options) => return Err(error),
                Err(error) => report(&error),
            }
        }
        if ended(&signals, options.watch_interval).map_err(|e| Problem::internal("cannot wait").because(e))? {
            return Ok(0);
        }
    }
}

/// Whether there is an output, of this run or one before.
fn exists(options: &Options) -> bool {
    // A directory without files is a volume that nothing has been written to.
    let has_files = |dir: &Path| {
        let names = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.file_name());
        names.filter(|name| !name.as_encoded_bytes().starts_with(b"..")).count() > 0
    };
    options.output.iter().any(|path| path.exists()) || options.output_dir.iter().any(|dir| has_files(dir))
}

/// The last good files stay, and the watch goes on.
fn report(error: &Problems) {
    for problem in error.iter() {
        tracing::error!(code = %problem.code, "{}", startup::without_control(&problem.to_string()));
    }
}

struct Watched<'o> {
    options: &'o Options,
    common: &'o Common,
    notices: Vec<Notice>,
    /// What was processed last.
    inputs: Option<Vec<u8>>,
    /// What was written last.
    written: Option<Content>,
}

impl Watched<'_> {
    /// Processes the template, and if the result is new, checks and writes it, and notifies.
    fn process(&mut self, signals: &Signals) -> Result<Checked> {
        let Some(content) = crate::content(self.options)? else { return Ok(Checked::Passed) };
        let output = self.options.output();
        if self.written.as_ref() == Some(&content) || (self.written.is_none() && output.holds(&content)) {
            self.written = Some(content);
            return Ok(Checked::Passed);
        }
        if let Some(command) = &self.options.check_command
            && check_command::check(command, output, &content, Some(signals))? == Checked::Ended
        {
            return Ok(Checked::Ended);
        }
        output.write(&content)?;
        self.written = Some(content);
        let failed = self.notices.iter().filter_map(|notice| notice.send(&self.common.root).err());
        Problems::check(failed.flat_map(Problems::into_vec).collect()).map(|()| Checked::Passed)
    }
}

/// The bytes of the template and of all values, with the names of files; what cannot be read counts as well.
fn inputs(options: &Options) -> Vec<u8> {
    let mut bytes = Vec::new();
    add(&options.template, &mut bytes);
    for path in template_flags::paths(&options.flags.values) {
        let Ok(entries) = fs::read_dir(&path) else {
            add(&path, &mut bytes);
            continue;
        };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        // The kubelet's own: a file of a volume is read through its link.
        paths.retain(|path| path.file_name().is_none_or(|name| !name.as_bytes().starts_with(b"..")));
        paths.sort_unstable();
        paths.iter().for_each(|path| add(path, &mut bytes));
    }
    bytes
}

fn add(path: &Path, bytes: &mut Vec<u8>) {
    let content = fs::read(path).map_err(|e| e.to_string().into_bytes()).unwrap_or_else(|message| message);
    for part in [path.as_os_str().as_bytes(), &content] {
        bytes.extend((part.len() as u64).to_le_bytes());
        bytes.extend(part);
    }
}

/// Waits for a signal that ends the watch, no longer than the interval.
fn ended(signals: &Signals, interval: Duration) -> io::Result<bool> {
    let deadline = Instant::now() + interval;
    loop {
        while let Some(signal) = signals.next()? {
            if is_ending(signal) {
                return Ok(true);
            }
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(false);
        }
        until_signal(signals, left + Duration::from_millis(1))?;
    }
}
