//! The form of a sidecar: processes the template again when it or its values have changed.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use problem::{Class, Problem, Problems, Result};
use signals::{Signals, is_ending};
use startup::Common;

use crate::check_command::{self, Checked};
use crate::notify::Notice;
use crate::options::Options;
use crate::output::Content;

/// Watches until a signal ends it. The first failure ends it too, unless there is an output from before.
pub(crate) fn watch(options: &Options, common: &Common) -> Result<u8> {
    let notices = options.notify.iter().map(|text| Notice::parse(text)).collect::<Result<Vec<Notice>>>()?;
    let signals =
        Signals::block().map_err(|e| Problem::internal("cannot take over the handling of signals").because(e))?;
    let mut watched = Watched::new(options, common, notices);
    let mut retry = Retry::default();
    let mut last = None;
    loop {
        let inputs = Some(inputs(options));
        let is_changed = last != inputs;
        if is_changed || retry.is_due() {
            match watched.run(is_changed, &signals) {
                Ok(Checked::Ended) => return Ok(0),
                Err(error) if last.is_none() && !watched.has_output() => return Err(error),
                result => retry.after(result.err().as_ref(), is_changed, watched.is_done()),
            }
            last = inputs;
        }
        let pause = retry.remaining(options.watch_interval);
        if ended(&signals, pause).map_err(|e| Problem::internal("cannot wait").because(e))? {
            return Ok(0);
        }
    }
}

struct Watched<'o> {
    options: &'o Options,
    common: &'o Common,
    notices: Vec<Notice>,
    /// What was written last.
    written: Option<Content>,
    /// A result that is not written yet, and whether the command has checked it.
    unwritten: Option<(Content, bool)>,
    /// The indices of the notices about what was written last that are not sent yet.
    unsent: Vec<usize>,
}

impl<'o> Watched<'o> {
    fn new(options: &'o Options, common: &'o Common, notices: Vec<Notice>) -> Watched<'o> {
        Watched { options, common, notices, written: None, unwritten: None, unsent: Vec::new() }
    }

    /// Whether there is an output, of this run or one before.
    fn has_output(&self) -> bool {
        // A directory without files is a volume that nothing has been written to.
        let has_files = |dir: &Path| {
            let names = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.file_name());
            names.filter(|name| !name.as_encoded_bytes().starts_with(b"..")).count() > 0
        };
        let Options { output, output_dir, .. } = self.options;
        self.written.is_some() || output.iter().any(|path| path.exists()) || output_dir.iter().any(|dir| has_files(dir))
    }

    /// Whether nothing has to be repeated.
    fn is_done(&self) -> bool {
        self.unwritten.is_none() && self.unsent.is_empty()
    }

    /// Processes the template if something has changed. Checks and writes a result that is new, and notifies; also what failed
    /// in earlier runs.
    fn run(&mut self, is_changed: bool, signals: &Signals) -> Result<Checked> {
        let mut problems = Vec::new();
        if is_changed {
            problems.extend(self.process().err());
        }
        match self.write(signals) {
            Ok(Checked::Ended) => return Ok(Checked::Ended),
            Ok(Checked::Passed) => {}
            Err(error) => problems.push(error),
        }
        let (notices, root) = (&self.notices, &self.common.root);
        self.unsent.retain(|index| match notices[*index].send(root) {
            Ok(()) => false,
            Err(error) => {
                problems.push(error);
                true
            }
        });
        Problems::check(problems.into_iter().flat_map(Problems::into_vec).collect()).map(|()| Checked::Passed)
    }

    /// Processes the template.
    fn process(&mut self) -> Result<()> {
        let Some(content) = crate::content(self.options)? else { return Ok(()) };
        let is_same = match &self.written {
            Some(written) => *written == content,
            None => self.options.output().holds(&content),
        };
        if is_same {
            (self.written, self.unwritten) = (Some(content), None);
        } else {
            self.unwritten = Some((content, false));
        }
        Ok(())
    }

    /// Checks and writes a result that is not written yet.
    fn write(&mut self, signals: &Signals) -> Result<Checked> {
        let Some((content, is_checked)) = &mut self.unwritten else { return Ok(Checked::Passed) };
        let output = self.options.output();
        if let (Some(command), false) = (&self.options.check_command, *is_checked) {
            match check_command::check(command, output, content, Some(signals)) {
                Ok(Checked::Ended) => return Ok(Checked::Ended),
                Ok(Checked::Passed) => *is_checked = true,
                Err(error) => {
                    // A result that is refused is not written; a check that could not be run is repeated.
                    if !is_of_environment(&error) {
                        self.unwritten = None;
                    }
                    return Err(error);
                }
            }
        }
        output.write(content)?;
        self.written = self.unwritten.take().map(|(content, _)| content);
        self.unsent = (0..self.notices.len()).collect();
        Ok(Checked::Passed)
    }
}

/// Whether the same may succeed later.
fn is_of_environment(error: &Problems) -> bool {
    error.iter().any(|problem| problem.class == Class::Internal)
}

/// The pause after the first failure; each further one doubles it.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// When that which has failed is repeated.
#[derive(Default)]
struct Retry {
    /// The next time, and the pause before it.
    next: Option<(Instant, Duration)>,
    /// The failures that have been logged since the last success.
    logged: BTreeSet<String>,
}

impl Retry {
    fn is_due(&self) -> bool {
        self.next.is_some_and(|(at, _)| Instant::now() >= at)
    }

    /// The time until then, no longer than the interval.
    fn remaining(&self, interval: Duration) -> Duration {
        self.next.map_or(interval, |(at, _)| interval.min(at.saturating_duration_since(Instant::now())))
    }

    /// Plans the next time, and logs what is wrong. The last good files stay.
    fn after(&mut self, error: Option<&Problems>, is_changed: bool, is_done: bool) {
        let longer = self.next.filter(|_| !is_changed).map(|(_, pause)| (pause * 2).min(LONGEST_PAUSE));
        self.next = (!is_done).then(|| longer.unwrap_or(FIRST_PAUSE)).map(|pause| (Instant::now() + pause, pause));
        if is_done {
            self.logged.clear();
        }
        error.into_iter().flat_map(Problems::iter).filter(|problem| self.is_new(problem)).for_each(|problem| {
            let text = problem.to_string();
            let text = startup::without_control(&text);
            if problem.class == Class::Internal {
                tracing::warn!(code = %problem.code, "{text}");
            } else {
                tracing::error!(code = %problem.code, "{text}");
            }
        });
    }

    /// Whether a problem is to be logged: what is repeated fails the same way many times.
    fn is_new(&mut self, problem: &Problem) -> bool {
        // The name of a temporary file, which is another one each time, is at the end of a cause.
        let text = problem.to_string().split(" at path ").next().unwrap_or_default().to_owned();
        problem.class != Class::Internal || self.logged.insert(text)
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
        signals.wait(left + Duration::from_millis(1))?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_bound_and_begin_anew_after_a_change() {
        let mut retry = Retry::default();
        let mut pause = |is_changed, is_done| {
            retry.after(None, is_changed, is_done);
            retry.next.map(|(_, pause)| pause.as_millis())
        };
        assert_eq!(pause(true, true), None);
        let expected = [250, 500, 1000, 2000, 4000, 8000, 16000, 30000, 30000];
        assert_eq!([(); 9].map(|()| pause(false, false)), expected.map(Some));
        assert_eq!([pause(true, false), pause(false, false)], [Some(250), Some(500)]);
        assert_eq!([pause(false, true), pause(false, false)], [None, Some(250)]);
        assert!(retry.remaining(Duration::from_secs(2)) <= FIRST_PAUSE && !Retry::default().is_due());
    }

    #[test]
    fn a_failure_is_logged_once_until_everything_has_succeeded() {
        let failure = |cause| Problem::internal("cannot write out").because(cause);
        let mut retry = Retry::default();
        assert!(retry.is_new(&failure("full at path \"/.out.abc.tmp\"")));
        assert!(!retry.is_new(&failure("full at path \"/.out.def.tmp\"")));
        assert!(retry.is_new(&failure("read-only")));
        retry.after(None, true, false);
        assert!(!retry.is_new(&failure("read-only")));
        retry.after(None, false, true);
        assert!(retry.is_new(&failure("read-only")));
        // What is wrong with the inputs is found once for each change.
        assert!([(); 2].iter().all(|()| retry.is_new(&Problem::input("x"))));
    }
}
