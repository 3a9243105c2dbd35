//! `kubectl boson` as a plugin, with the forms of the gather Job that are not the default.

use crate::gathered::{Gathered, RESTRICTED};

#[test]
fn apply_waits_until_all_is_up_and_the_errand_has_run() {
    let nats = Gathered::new("applies", "nats");
    let images = nats.images();
    let images: Vec<&str> = images.iter().map(String::as_str).collect();
    let manifest = nats.manifest();
    let forms = ["--plan-containers", "group", "--network-policies", "--run-errand", "smoke-tests"];
    let apply = [&["apply", manifest.to_str().unwrap()][..], &images, &RESTRICTED, &forms].concat();
    nats.kubectl_boson(&apply).unwrap();
    assert_eq!(nats.pods("nats").len(), 4);

    // Each group was planned by a container of its own, and the errand has run to its end.
    let selector = ["--selector", "quarks.cloudfoundry.org/kind=gather"];
    let path = "-o=jsonpath={.items[*].spec.initContainers[*].name}";
    let containers = nats.namespace.kubectl(&[&["get", "pods"][..], &selector, &[path]].concat());
    assert!(["nats", "smoke-tests"].iter().all(|group| containers.matches(group).count() >= 2), "{containers}");
    let path = "-o=jsonpath={.items[*].status.succeeded}";
    let jobs = nats.namespace.kubectl(&["get", "jobs", "--selector", "quarks.cloudfoundry.org/kind!=gather", path]);
    assert_eq!(jobs, "1");
    let policies = nats.namespace.kubectl(&["get", "networkpolicies", "--output", "name"]);
    assert!(policies.contains("nats-nats"), "{policies}");

    // A second run finds nothing to do, and does not run the errand again.
    nats.kubectl_boson(&apply).unwrap();
    let again = nats.namespace.kubectl(&["get", "jobs", "--selector", "quarks.cloudfoundry.org/kind!=gather", path]);
    assert_eq!(again, jobs);

    let status = nats.kubectl_boson(&["status"]).unwrap();
    let pods = ["nats-nats-z1-0", "nats-nats-z1-1", "nats-nats-z2-0", "nats-nats-z2-1"];
    assert!(pods.iter().all(|pod| status.contains(pod)), "{status}");
    // READY and RESTARTS are those of kubectl.
    for pod in pods {
        let shown = nats.namespace.kubectl(&["get", "pod", pod, "--no-headers"]);
        let shown: Vec<&str> = shown.split_whitespace().collect();
        let line = status.lines().find(|line| line.contains(pod)).unwrap();
        let cells: Vec<&str> = line.split_whitespace().collect();
        assert_eq!((cells[3], cells[4]), (shown[1], shown[3]), "{status}");
    }
    let logs = nats.kubectl_boson(&["logs", "--instance-group", "nats", "--lines", "5"]).unwrap();
    assert!(pods.iter().all(|pod| logs.contains(pod)), "{logs}");
    let events = nats.kubectl_boson(&["events"]).unwrap();
    assert!(events.contains("nats-nats"), "{events}");
}
