//! Errands that have succeeded, for `run-errand --when-changed`. BOSH's director keeps them as long as the deployment exists; here
//! they are kept as long as the deployment is up, because after that its instances are made anew.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The last runs of errands, as far as they have succeeded: the content of the instances in which they ran, by the errand's name.
#[derive(Debug, Default)]
pub(crate) struct ErrandRuns(Mutex<BTreeMap<String, Vec<String>>>);

impl ErrandRuns {
    /// Whether the last run of the errand has succeeded in instances with the same content.
    pub(crate) fn has_succeeded_with(&self, errand: &str, content: &[String]) -> bool {
        self.lock().get(errand).is_some_and(|last| last == content)
    }

    /// A run begins: until it has succeeded, the errand counts as failed.
    pub(crate) fn begin(&self, errand: &str) {
        self.lock().remove(errand);
    }

    /// The run has succeeded in instances with this content.
    pub(crate) fn succeeded(&self, errand: &str, content: Vec<String>) {
        self.lock().insert(errand.to_owned(), content);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Vec<String>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_errand_is_unchanged_since_its_last_run_if_that_succeeded() {
        let runs = ErrandRuns::default();
        let content = |text: &str| vec![text.to_owned()];
        assert!(!runs.has_succeeded_with("a", &content("1")));
        runs.begin("a");
        assert!(!runs.has_succeeded_with("a", &content("1")), "it runs, or has failed");
        runs.succeeded("a", content("1"));
        assert!(runs.has_succeeded_with("a", &content("1")));
        assert!(!runs.has_succeeded_with("a", &content("2")) && !runs.has_succeeded_with("b", &content("1")));
        runs.begin("a");
        assert!(!runs.has_succeeded_with("a", &content("1")), "the last run counts");
    }
}
