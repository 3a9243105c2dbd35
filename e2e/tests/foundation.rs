//! A deployment of cf-deployment's size and shape, from `kubectl boson apply` to a second run, against an API server without controllers.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

#[path = "../benches/generate/mod.rs"]
mod generate;
#[path = "../benches/rollout/mod.rs"]
mod rollout;

use std::fs;

use generate::foundation::{self, MISSING, VARIABLES};
use rollout::Rollout;

#[test]
fn a_second_run_of_a_deployment_of_cf_deployments_shape_writes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let foundation = foundation::write(directory.path()).unwrap();
    let manifest = fs::read_to_string(&foundation.input.manifest).unwrap();
    assert!((200_000..400_000).contains(&manifest.len()), "{}", manifest.len());
    assert_eq!(manifest.matches("((variable_").count(), VARIABLES);

    let rollout = Rollout::new(directory.path().join("first"));
    rollout.apply(&foundation).unwrap();
    rollout.plan(&foundation).unwrap();
    let log = rollout.deploy().unwrap();
    let warning = format!("{MISSING} DNS aliases are ignored");
    assert!(log.contains(&warning), "{log}");
    assert!(!log.contains("link.service.cf.internal"), "{log}");
    let before = rollout.server.store().versions();
    assert_eq!(rollout.server.store().names("apps/v1/statefulsets").len(), 34);
    rollout.plan(&foundation).unwrap();
    rollout.deploy().unwrap();
    // A run holds the Lease, is an event, and is kept among the tasks, even if it does nothing.
    let is_of_run = |path: &str| path.contains("/leases/") || path.contains("/events/") || path.ends_with("-tasks");
    let changed: Vec<_> = rollout
        .server
        .store()
        .versions()
        .into_iter()
        .filter(|version| !before.contains(version) && !is_of_run(&version.0))
        .collect();
    assert_eq!(changed, []);
}
