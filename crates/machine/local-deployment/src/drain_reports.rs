//! What is reported about drain scripts, which may take as long as they need.

use std::time::Duration;

/// How often a drain is reported that goes on.
const INTERVAL: Duration = Duration::from_secs(60);

/// When what was reported.
#[derive(Debug, Default)]
pub(crate) struct DrainReports {
    jobs: Vec<String>,
    reported: Duration,
}

impl DrainReports {
    /// What is to be reported after this time: jobs whose drain has begun, or goes on for another minute.
    pub(crate) fn next(&mut self, instance: &str, jobs: &[String], elapsed: Duration) -> Option<String> {
        if jobs.is_empty() {
            return None;
        }
        if jobs.iter().any(|job| !self.jobs.contains(job)) {
            self.jobs = jobs.to_vec();
            self.reported = elapsed;
            return Some(format!("{instance}: draining {}", jobs.join(", ")));
        }
        if elapsed < self.reported + INTERVAL {
            return None;
        }
        self.reported = elapsed;
        Some(format!("{instance}: draining {} for {}s", jobs.join(", "), elapsed.as_secs()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drain_is_reported_when_it_begins_and_every_minute() {
        let mut reports = DrainReports::default();
        let (none, web, both) = (vec![], vec!["web".to_owned()], vec!["db".to_owned(), "web".to_owned()]);
        let mut next = |jobs: &[String], seconds| reports.next("web/0", jobs, Duration::from_secs(seconds));
        assert_eq!(next(&none, 0), None);
        assert_eq!(next(&web, 1).unwrap(), "web/0: draining web");
        assert_eq!(next(&web, 60), None);
        assert_eq!(next(&web, 61).unwrap(), "web/0: draining web for 61s");
        assert_eq!(next(&both, 62).unwrap(), "web/0: draining db, web");
        assert_eq!(next(&web, 121), None);
        assert_eq!(next(&web, 122).unwrap(), "web/0: draining web for 122s");
    }
}
