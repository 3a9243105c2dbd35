//! What is there and what is not, told on stderr as it changes.

use std::io::Write;
use std::time::{Duration, Instant};

use startup::LogFormat;

/// A target whose reason changes all the time is told about no more often.
const SELDOM: Duration = Duration::from_secs(2);
/// A target about which nothing is new is told about again after so long.
const REMINDER: Duration = Duration::from_secs(30);

/// The state of every target.
pub(crate) struct Progress {
    started: Instant,
    format: LogFormat,
    targets: Vec<State>,
}

struct State {
    target: String,
    is_there: bool,
    /// Why it was not there when it was last looked at.
    cause: Option<String>,
    told: Option<(Instant, String)>,
}

impl Progress {
    pub(crate) fn new(format: LogFormat, targets: Vec<String>) -> Progress {
        let state = |target| State { target, is_there: false, cause: None, told: None };
        Progress { started: Instant::now(), format, targets: targets.into_iter().map(state).collect() }
    }

    pub(crate) fn len(&self) -> usize {
        self.targets.len()
    }

    /// Takes note of a look at the target with this number, and tells what is new.
    pub(crate) fn looked(&mut self, number: usize, result: Result<(), String>) {
        let now = Instant::now();
        let state = &mut self.targets[number];
        let cause = match result {
            Ok(()) => {
                state.is_there = true;
                return self.tell(number, "there", None);
            }
            Err(cause) => state.cause.insert(cause).clone(),
        };
        let is_due = match &state.told {
            None => true,
            Some((when, told)) => now - *when >= if *told == cause { REMINDER } else { SELDOM },
        };
        if is_due {
            state.told = Some((now, cause.clone()));
            self.tell(number, "waiting", Some(&cause));
        }
    }

    /// Whether enough is there.
    pub(crate) fn is_enough(&self, any: bool) -> bool {
        let mut there = self.targets.iter().map(|state| state.is_there);
        if any { there.any(|is| is) } else { there.all(|is| is) }
    }

    /// Whether every target has been looked at.
    pub(crate) fn all_looked_at(&self) -> bool {
        self.targets.iter().all(|state| state.is_there || state.cause.is_some())
    }

    /// What is not there, and why.
    pub(crate) fn missing(&self) -> impl Iterator<Item = (&str, &str)> {
        let missing = self.targets.iter().filter(|state| !state.is_there);
        missing.map(|state| (state.target.as_str(), state.cause.as_deref().unwrap_or("the first look is not over")))
    }

    /// A signal ends the waiting.
    pub(crate) fn interrupted(&self, signal: &str) {
        for (number, state) in self.targets.iter().enumerate() {
            if !state.is_there {
                self.tell(number, &format!("given up at {signal}"), state.cause.as_deref());
            }
        }
    }

    fn tell(&self, number: usize, what: &str, cause: Option<&str>) {
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
        // Who closed stderr does not want to know.
        let _ = writeln!(std::io::stderr(), "{line}");
    }
}
