//! `if N restarts within M cycles`: monit counts how often it has started a service again, because of a rule or because the
//! service did not run. Here, each time that the service exits, so does its supervisor. So the count is kept in a file, beside
//! the state of the process.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use ::monit::{Condition, Service};
use serde_json::json;
use vcap::atomic::replace_file;

use crate::context::Context;
use crate::records::now;

/// The restarts of a service.
#[derive(Debug)]
pub(crate) struct Restarts {
    file: PathBuf,
    cycle: Duration,
    /// After so many cycles the count begins again; 0 if no rule counts restarts.
    longest: u32,
    count: Count,
}

/// What the file says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Count {
    restarts: u32,
    /// The first of them, in seconds since 1970.
    first: u64,
    /// Whether a rule has ended the monitoring of the service.
    is_unmonitored: bool,
}

impl Restarts {
    /// What is known from earlier supervisors of the service.
    pub(crate) fn of(context: &Context, service: &Service) -> Restarts {
        let file = context.states().join(&context.job).join(format!("{}.restarts", context.process));
        let counted = service.rules.iter().filter_map(|rule| match rule.condition {
            Condition::Restarts { cycles, .. } => Some(cycles),
            _ => None,
        });
        let count = fs::read(&file).ok().and_then(|text| Count::decode(&text)).unwrap_or_default();
        Restarts { file, cycle: context.cycle, longest: counted.max().unwrap_or(0), count }
    }

    /// The service has been started again, or is about to be.
    pub(crate) fn note(&mut self) {
        if self.longest == 0 {
            return;
        }
        self.forget_old();
        if self.count.restarts == 0 {
            self.count.first = now().as_secs();
        }
        self.count.restarts += 1;
        self.write();
    }

    /// How many restarts there were, if all of them were within so many cycles.
    pub(crate) fn within(&self, cycles: u32) -> u32 {
        if self.age() < self.cycle * cycles { self.count.restarts } else { 0 }
    }

    /// Begins the count again if it is older than all rules ask for.
    pub(crate) fn forget_old(&mut self) {
        if self.count.restarts > 0 && self.age() >= self.cycle * self.longest {
            self.count.restarts = 0;
            self.write();
        }
    }

    /// Whether a rule has ended the monitoring of the service: monit does not start it until it is asked to.
    pub(crate) fn is_unmonitored(&self) -> bool {
        self.count.is_unmonitored
    }

    /// A rule ends the monitoring.
    pub(crate) fn unmonitor(&mut self) {
        self.count.is_unmonitored = true;
        self.write();
    }

    /// The service was started or stopped on request: everything begins anew.
    pub(crate) fn clear(&mut self) {
        if self.count != Count::default() {
            self.count = Count::default();
            self.write();
        }
    }

    fn age(&self) -> Duration {
        now().saturating_sub(Duration::from_secs(self.count.first))
    }

    fn write(&self) {
        let written = if self.count == Count::default() {
            fs::remove_file(&self.file).map_err(|e| e.to_string())
        } else {
            replace_file(&self.file, self.count.encode().as_bytes(), 0o644).map_err(|problems| problems.to_string())
        };
        if let Err(error) = written {
            tracing::debug!(error, file = %self.file.display(), "the number of restarts cannot be written");
        }
    }
}

/// How often a rule has restarted the process since its instance exists, in a file for those who show it.
#[derive(Debug)]
pub(crate) struct RestartsByRules {
    file: PathBuf,
}

impl RestartsByRules {
    pub(crate) fn of(context: &Context) -> RestartsByRules {
        RestartsByRules { file: context.states().join(&context.job).join(format!("{}.rule-restarts", context.process)) }
    }

    /// A rule restarts the process.
    pub(crate) fn add(&self) {
        let before: u32 = fs::read_to_string(&self.file).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0);
        let text = format!("{}\n", before.saturating_add(1));
        if let Err(problems) = replace_file(&self.file, text.as_bytes(), 0o644) {
            tracing::debug!(%problems, file = %self.file.display(), "the number of restarts cannot be written");
        }
    }
}

impl Count {
    fn encode(self) -> String {
        let Count { restarts, first, is_unmonitored } = self;
        format!("{}\n", json!({"restarts": restarts, "first": first, "unmonitored": is_unmonitored}))
    }

    fn decode(text: &[u8]) -> Option<Count> {
        let value: serde_json::Value = serde_json::from_slice(text).ok()?;
        Some(Count {
            restarts: u32::try_from(value["restarts"].as_u64()?).ok()?,
            first: value["first"].as_u64()?,
            is_unmonitored: value["unmonitored"].as_bool()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restarts_are_counted_from_the_first_one_on_until_it_is_too_old() {
        let dir = tempfile::tempdir().unwrap();
        let restarts = |cycle| Restarts {
            file: dir.path().join("web.restarts"),
            cycle: Duration::from_secs(cycle),
            longest: 10,
            count: fs::read(dir.path().join("web.restarts"))
                .ok()
                .and_then(|text| Count::decode(&text))
                .unwrap_or_default(),
        };
        let mut first = restarts(1000);
        first.note();
        first.note();
        assert_eq!((first.within(10), first.within(0)), (2, 0));
        // Another supervisor goes on.
        let mut second = restarts(1000);
        second.note();
        assert_eq!(second.within(1), 3);
        second.forget_old();
        assert_eq!(second.within(1), 3);
        second.count.first -= 5000;
        assert_eq!((second.within(5), second.within(6)), (0, 3));
        second.count.first -= 5000;
        second.note();
        assert_eq!(second.within(1), 1, "the count has begun again");
        second.unmonitor();
        assert!(restarts(1000).is_unmonitored());
        second.clear();
        assert!(!restarts(1000).is_unmonitored() && !dir.path().join("web.restarts").exists());
    }
}
