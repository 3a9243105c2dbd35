//! `bpm` in one container of a pod, for the process of another.

use std::time::Duration;

use serde_json::Value;

use crate::counter::Counter;

const BPM: &str = "/var/vcap/jobs/bpm/bin/bpm";

/// Runs `bpm` in a container other than that of the process.
fn bpm(counter: &Counter, args: &[&str]) -> Result<String, String> {
    let exec = ["exec", "counter-0", "--container", "counter-counter", "--", BPM];
    counter.namespace.try_kubectl(&[&exec, args].concat())
}

/// Since when the pod has been ready, and how often its containers have been restarted.
fn standing(counter: &Counter) -> (Value, Vec<Value>) {
    let status = counter.pod("counter-0")["status"].clone();
    let ready = status["conditions"].as_array().unwrap().iter().find(|c| c["type"] == "Ready").unwrap().clone();
    assert_eq!(ready["status"], "True", "{ready}");
    let restarts = status["containerStatuses"].as_array().unwrap().iter().map(|c| c["restartCount"].clone()).collect();
    (ready["lastTransitionTime"].clone(), restarts)
}

#[test]
fn a_deliberate_stop_restarts_no_container_and_fails_no_probe() {
    let counter = Counter::up("control", &[]);
    let before = standing(&counter);
    assert_eq!(bpm(&counter, &["running", "caller"]).unwrap(), "yes\n");
    // Its process id is invalid in this container; this one's own is valid.
    let refused = bpm(&counter, &["pid", "caller"]).unwrap_err();
    assert!(refused.contains("runs in another container"), "{refused}");
    let own: u32 = bpm(&counter, &["pid", "counter"]).unwrap().trim().parse().unwrap();
    let executable = ["exec", "counter-0", "--container", "counter-counter", "--", "/bin/ls"];
    counter.namespace.kubectl(&[&executable[..], &[&format!("/proc/{own}/exe")]].concat());

    bpm(&counter, &["stop", "caller"]).unwrap();
    assert!(bpm(&counter, &["running", "caller"]).unwrap_err().contains("no\n"));
    // The probe runs every second, and would have to fail three times.
    for _ in 0..10 {
        assert_eq!(standing(&counter), before);
        std::thread::sleep(Duration::from_secs(1));
    }
    bpm(&counter, &["start", "caller"]).unwrap();
    assert_eq!(bpm(&counter, &["running", "caller"]).unwrap(), "yes\n");
    let list = bpm(&counter, &["list"]).unwrap();
    assert_eq!(list.matches(" running\n").count(), 2, "{list}");
    assert_eq!(standing(&counter), before);

    // An unrequested exit is left to the kubelet: it restarts the container.
    bpm(&counter, &["signal", "caller", "KILL"]).unwrap();
    wait_for_restart(&counter, "caller-caller");
    assert_eq!(bpm(&counter, &["running", "caller"]).unwrap(), "yes\n");
}

/// Waits until the container has been restarted and everything is ready.
fn wait_for_restart(counter: &Counter, container: &str) {
    counter.namespace.wait_until("the container is started again", || {
        let status = counter.pod("counter-0")["status"]["containerStatuses"].clone();
        let restarted = |c: &Value| c["name"] == container && c["restartCount"] == 1;
        status.as_array().is_some_and(|all| all.iter().any(restarted))
    });
    counter.wait_until_ready();
}

#[test]
fn a_container_that_is_stopped_alone_leaves_the_others_and_runs_no_script() {
    let counter = Counter::up("alone", &[]);
    let journal = counter.journal("counter-0");
    // The signal that the kubelet sends when a liveness probe fails.
    let term = ["exec", "counter-0", "--container", "counter-counter", "--", "/bin/bash", "-ec", "kill -TERM 1"];
    counter.namespace.kubectl(&term);
    wait_for_restart(&counter, "counter-counter");
    let status = counter.pod("counter-0")["status"]["containerStatuses"].clone();
    let restarts: Vec<_> = status.as_array().unwrap().iter().map(|c| (&c["name"], &c["restartCount"])).collect();
    assert_eq!(restarts.iter().filter(|(_, count)| **count != 0).count(), 1, "{restarts:?}");
    // Only the events of the process itself, without pre-stop, drain or post-stop.
    let own = ["stopped", "started"].map(str::to_owned);
    assert_eq!(counter.journal("counter-0"), [journal, own.to_vec()].concat());
}
