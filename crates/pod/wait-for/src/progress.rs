//! The state of all targets, and the reports about them on stderr.

use std::io::Write;
use std::time::{Duration, Instant};

use startup::LogFormat;

/// Shortest time between two reports about a target whose cause keeps changing.
const REPORT_INTERVAL: Duration = Duration::from_secs(2);
/// Time after which an unchanged cause is reported again.
const REMINDER_INTERVAL: Duration = Duration::from_secs(30);

/// The state of every target.
pub(crate) struct Progress {
    started: Instant,
    format: LogFormat,
    targets: Vec<State>,
}

struct State {
    target: String,
    is_available: bool,
    /// Why the last check failed.
    cause: Option<String>,
    /// When which cause was last reported.
    reported: Option<(Instant, String)>,
}

impl Progress {
    pub(crate) fn new(format: LogFormat, targets: Vec<String>) -> Progress {
        let state = |target| State { target, is_available: false, cause: None, reported: None };
        Progress { started: Instant::now(), format, targets: targets.into_iter().map(state).collect() }
    }

    pub(crate) fn len(&self) -> usize {
        self.targets.len()
    }

    /// Records the result of a check of the target with this number, and reports it if it is news.
    pub(crate) fn checked(&mut self, number: usize, result: Result<(), String>) {
        let now = Instant::now();
        let state = &mut self.targets[number];
        let cause = match result {
            Ok(()) => {
                state.is_available = true;
                return self.report(number, "available", None);
            }
            Err(cause) => state.cause.insert(cause).clone(),
        };
        let is_due = match &state.reported {
            None => true,
            Some((when, reported)) => {
                now - *when >= if *reported == cause { REMINDER_INTERVAL } else { REPORT_INTERVAL }
            }
        };
        if is_due {
            state.reported = Some((now, cause.clone()));
            self.report(number, "waiting", Some(&cause));
        }
    }

    /// Whether one target (`any`), or else every target, is available.
    pub(crate) fn is_enough(&self, any: bool) -> bool {
        let mut available = self.targets.iter().map(|state| state.is_available);
        if any { available.any(|is| is) } else { available.all(|is| is) }
    }

    /// Whether every target has been checked at least once.
    pub(crate) fn all_checked(&self) -> bool {
        self.targets.iter().all(|state| state.is_available || state.cause.is_some())
    }

    /// The missing targets, each with its cause.
    pub(crate) fn missing(&self) -> impl Iterator<Item = (&str, &str)> {
        let missing = self.targets.iter().filter(|state| !state.is_available);
        missing
            .map(|state| (state.target.as_str(), state.cause.as_deref().unwrap_or("the first check has not completed")))
    }

    /// Reports the missing targets when a signal ends the wait.
    pub(crate) fn interrupted(&self, signal: &str) {
        for (number, state) in self.targets.iter().enumerate() {
            if !state.is_available {
                self.report(number, &format!("interrupted by {signal}"), state.cause.as_deref());
            }
        }
    }

    fn report(&self, number: usize, what: &str, cause: Option<&str>) {
        let target = &self.targets[number].target;
        let seconds = self.started.elapsed().as_millis() as f64 / 1000.0;
        let line = match self.format {
            LogFormat::Json => {
                let mut line = serde_json::json!({"target": target, "state": what, "seconds": seconds});
                if let Some(cause) = cause {
                    line["cause"] = cause.into();
                }
                line.to_string()
            }
            LogFormat::Text => {
                let cause = cause.map_or(String::new(), |cause| format!(": {cause}"));
                format!("wait-for: {seconds:.1}s {target}: {what}{cause}")
            }
        };
        // Waiting continues when stderr is closed.
        let _ = writeln!(std::io::stderr(), "{line}");
    }
}
