//! What goes wrong in a cluster: `kubectl boson apply` says so before it ends, and ends by the manifest's own times.

use std::fs;

use e2e::here;

use crate::gathered::{Gathered, RESTRICTED};

/// NATS whose instances have this long.
fn nats(test: &str, watch_time: &str) -> Gathered {
    let nats = Gathered::new(test, "nats");
    nats.edit("5000-60000", watch_time);
    nats
}

/// `kubectl boson apply`, which fails; gives what it printed.
#[track_caller]
fn failed(of: &Gathered, more: &[&str]) -> String {
    of.kubectl_boson_apply(more).unwrap_err()
}

/// Each part was printed while the run went on, and again by its end; the run was not tried again.
#[track_caller]
fn assert_reported(of: &Gathered, printed: &str, parts: &[&str]) {
    assert!(printed.starts_with("exit status: 69\n"), "{printed}");
    for part in parts {
        assert!(printed.matches(part).count() >= 2, "{part}: {printed}");
    }
    let selector = ["--selector", "quarks.cloudfoundry.org/kind=gather"];
    let pods = of.namespace.kubectl(&[&["get", "pods", "--output", "name"][..], &selector].concat());
    assert_eq!(pods.lines().count(), 1, "{pods}");
}

#[test]
fn a_pre_start_that_fails_is_reported_with_its_output() {
    let manifest = fs::read_to_string(here().join("deployments/legacy.yml")).unwrap();
    let manifest = manifest
        .replace("5000-300000", "1000-20000")
        .replace("    release: idioms\n", "    release: idioms\n    properties: {fail: true}\n");
    let legacy = Gathered::of_release("pre-start-fails", "legacy", "idioms", &manifest);
    let printed = failed(&legacy, &[]);
    let parts = ["pod legacy-legacy-0: container pre-start", "legacy: exit status 3; see ", "the last line"];
    assert_reported(&legacy, &printed, &parts);
    assert!(printed.contains("legacy/0 (pod legacy-legacy-0) is not ready after 20s (canary_watch_time)"), "{printed}");
    let status = legacy.kubectl_boson(&["status"]).unwrap_err();
    assert!(status.contains("legacy: exit status 3") && status.contains("the last line"), "{status}");
}

#[test]
fn a_post_start_that_fails_is_reported_and_becomes_an_event() {
    let tally = fs::read_to_string(here().join("deployments/counter.yml")).unwrap();
    let tally = Gathered::of_release("post-start-fails", "tally", "counter", &tally);
    tally.edit("5000-60000", "1000-30000");
    let patch = "--- a/jobs/counter/templates/post-start.erb\n+++ b/jobs/counter/templates/post-start.erb\n@@ -1,4 +1,6 @@\n \
        #!/bin/bash\n # Succeeds once the counter answers.\n+echo no route to the counter >&2\n+exit 4\n set -eu\n \n";
    let file = tally.manifest().with_file_name("post-start.diff");
    fs::write(&file, patch).unwrap();
    let printed = failed(&tally, &["--patch", &format!("counter={}", file.display())]);
    let parts =
        ["container counter-counter is not ready", "post-start failed", "exit status 4", "no route to the counter"];
    assert_reported(&tally, &printed, &parts);
    let events = tally.kubectl_boson(&["events"]).unwrap();
    assert!(events.contains("PostStartFailed"), "{events}");
    let status = tally.kubectl_boson(&["status"]).unwrap_err();
    assert!(status.contains("no route to the counter"), "{status}");
}

#[test]
fn an_image_whose_name_is_not_valid_ends_the_run_before_it_begins() {
    let nats = nats("no-image", "1000-3600000");
    let printed = failed(&nats, &["--image", "nats=boson-e2e/NATS:latest"]);
    assert_reported(&nats, &printed, &["container copy-jobs-nats waits: InvalidImageName"]);
    assert!(printed.contains("cannot run") && printed.contains("kubectl delete job"), "{printed}");
}

#[test]
fn a_storage_class_that_does_not_exist_ends_the_run() {
    let nats = nats("no-class", "1000-3600000");
    nats.edit("  instances: 4\n", "  instances: 4\n  persistent_disk_type: no-such-class\n");
    let printed = failed(&nats, &[]);
    assert_reported(&nats, &printed, &["no-such-class", "kubectl get storageclasses"]);
}

#[test]
fn a_zone_without_nodes_is_named() {
    let nats = nats("no-zone", "1000-15000");
    let printed = failed(&nats, &["--zone", "z1=nowhere"]);
    assert_reported(&nats, &printed, &["no node takes it", "it needs a node of zone nowhere"]);
}

#[test]
fn a_quota_is_named_before_anything_is_applied() {
    let nats = nats("no-quota", "1000-15000");
    nats.namespace.kubectl(&["create", "quota", "small", "--hard=pods=1"]);
    let printed = failed(&nats, &[]);
    assert!(printed.starts_with("exit status: 69\n") && printed.contains("exceeded quota: small"), "{printed}");
    // Nor does the gather pod itself start where none is allowed.
    nats.delete();
    nats.namespace.kubectl(&["patch", "quota", "small", "--patch", r#"{"spec": {"hard": {"pods": "0"}}}"#]);
    let printed = failed(&nats, &["--ready-timeout", "10s"]);
    assert!(printed.starts_with("exit status: 69\n"), "{printed}");
    assert!(printed.matches("exceeded quota: small").count() >= 2, "{printed}");
}

#[test]
fn a_secret_that_is_missing_is_named_and_the_run_goes_on_when_it_is_created() {
    let nats = nats("no-secret", "1000-15000");
    let volumes = "  env:\n    bosh:\n      agent:\n        settings:\n          pod_template:\n            spec:\n              \
        volumes: [{name: extra, secret: {secretName: no-such-secret}}]\n              \
        containers: [{name: nats-nats, volumeMounts: [{name: extra, mountPath: /extra}]}]\n";
    nats.edit("  instances: 4\n", &format!("  instances: 4\n{volumes}"));
    let printed = failed(&nats, &[]);
    assert_reported(&nats, &printed, &["FailedMount", "as soon as the Secret no-such-secret exists"]);
    nats.namespace.kubectl(&["create", "secret", "generic", "no-such-secret"]);
    nats.assert_complete(&nats.run(&RESTRICTED));
}
