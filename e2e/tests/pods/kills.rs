//! A pod whose containers are killed in any phase works afterwards.

use std::process::{Child, Command, Stdio};

use e2e::here;
use serde_json::Value;
use tempfile::NamedTempFile;

use crate::cluster::{DEADLINE, Namespace, from_run, kubectl};
use crate::counter::Counter;

/// Kills processes of pods, on any node.
struct Killer {
    namespace: Namespace,
}

impl Killer {
    fn new(test: &str) -> Killer {
        let namespace = Namespace::new(test);
        kubectl(&[
            "label",
            "--overwrite",
            "namespace",
            &namespace.name,
            "pod-security.kubernetes.io/enforce=privileged",
        ]);
        namespace.apply(&std::fs::read_to_string(here().join("pods/killer.yaml")).unwrap());
        let limit = format!("--timeout={}s", DEADLINE.as_secs());
        namespace.kubectl(&["rollout", "status", "daemonset/killer", &limit]);
        Killer { namespace }
    }

    /// Watches, on every node, for the first process of each container of the pod that runs one of these
    /// commands, `new` ones or `any`, and kills it, once.
    fn lie_in_wait(&self, which: &str, namespace: &Namespace, pod: &str, commands: &[&str]) -> Waiting {
        let script = std::fs::read_to_string(here().join("tests/pods/kill.pl")).unwrap();
        let killers = self.namespace.kubectl(&["get", "pods", "--output", "name"]);
        let killed = NamedTempFile::new().unwrap();
        let waiting = killers.lines().map(|killer| {
            let mut command = Command::new(from_run("E2E_KUBECTL"));
            command.args([
                "--namespace",
                &self.namespace.name,
                "exec",
                killer,
                "--",
                "/usr/bin/perl",
                "-e",
                &script,
                "--",
            ]);
            command.args([which, &namespace.name, pod]).args(commands).stdin(Stdio::null());
            command.stdout(killed.as_file().try_clone().unwrap());
            command.spawn().unwrap()
        });
        Waiting { killers: waiting.collect(), killed }
    }
}

/// Waiting killers, and their victims.
struct Waiting {
    killers: Vec<Child>,
    killed: NamedTempFile,
}

impl Waiting {
    /// Whether a container's command was killed, and the container started again.
    ///
    /// The kubelet forgets how an init container ended before, but not how often it was started.
    fn have_killed(&self, pod: &Value, container: &str, command: &str) -> bool {
        let killed = std::fs::read_to_string(self.killed.path()).unwrap();
        let status = &pod["status"];
        let all = ["initContainerStatuses", "containerStatuses"].into_iter().filter_map(|kind| status[kind].as_array());
        let own = all.flatten().find(|status| status["name"] == container);
        killed.lines().any(|line| line == command) && own.is_some_and(|own| own["restartCount"].as_u64() > Some(0))
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        for child in &mut self.killers {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Containers that do not exit by themselves: they are certainly killed.
const STAY: [&str; 3] = ["tail-logs", "counter-counter", "caller-caller"];
/// Some phases take milliseconds: a missed container is tried again with the next pod.
const ATTEMPTS: usize = 20;

/// Each container, and the end of its command line.
const CONTAINERS: [(&str, &str); 8] = [
    ("install", "install"),
    ("copy-jobs-counter", "copy-jobs"),
    ("render-jobs", "render-jobs"),
    ("create-dirs", "create-dirs"),
    ("tail-logs", "tail-logs"),
    ("pre-start", "pre-start"),
    ("counter-counter", "run-process --job counter"),
    ("caller-caller", "run-process --job caller"),
];

#[test]
fn a_pod_works_after_a_kill_in_every_phase() {
    // Steps that can be slowed down are slow.
    let slow = [(
        "  - name: counter\n    release: counter\n",
        "  - name: counter\n    release: counter\n    properties: {seconds: {render: 0.5, pre_start: 1}}\n",
    )];
    let killer = Killer::new("killer");
    let counter = Counter::up("killed", &slow);
    let mut left: Vec<(&str, &str)> = CONTAINERS.to_vec();
    for _ in 0..ATTEMPTS {
        let commands: Vec<&str> = left.iter().map(|(_, command)| *command).collect();
        let waiting = killer.lie_in_wait("new", &counter.namespace, "counter-0", &commands);
        counter.namespace.kubectl(&["delete", "pod", "counter-0"]);
        counter.namespace.wait_until("whoever runs was killed", || {
            let pod = counter.try_pod("counter-0").unwrap_or_default();
            let mut running = left.iter().filter(|(container, _)| STAY.contains(container));
            running.all(|(container, command)| waiting.have_killed(&pod, container, command))
        });
        counter.wait_until_ready();
        let answer = counter.ask("counter-0", "127.0.0.1", "count");
        assert!(answer.starts_with("counter-counter/0 "), "{answer}");
        let known = counter.ask("counter-1", &format!("tally-counter-0.{}", counter.namespace.name), "count");
        assert!(known.starts_with("counter-counter/0 "), "{known}");
        let pod = counter.pod("counter-0");
        left.retain(|(container, command)| !waiting.have_killed(&pod, container, command));
        if left.is_empty() {
            return;
        }
        println!("not killed yet: {left:?}");
    }
    panic!("too quick to be killed: {left:?}");
}

#[test]
fn a_kill_during_a_drain_ends_the_pod_at_once_and_the_next_one_works() {
    let long = [
        (
            "  - name: counter\n    release: counter\n",
            "  - name: counter\n    release: counter\n    properties: {seconds: {drain: 3600}}\n",
        ),
        ("terminationGracePeriodSeconds: 45", "terminationGracePeriodSeconds: 3600"),
        ("value: 45s", "value: 3600s"),
    ];
    let killer = Killer::new("drain-killer");
    let counter = Counter::up("drained", &long);
    let before = counter.pod("counter-0")["metadata"]["uid"].clone();
    counter.namespace.kubectl(&["delete", "pod", "counter-0", "--wait=false"]);
    counter.namespace.wait_until("it drains", || {
        counter.try_ask("counter-0", "127.0.0.1", "journal").is_ok_and(|journal| journal.ends_with("drain\n"))
    });
    let commands = ["run-process --job counter", "run-process --job caller"];
    let waiting = killer.lie_in_wait("any", &counter.namespace, "counter-0", &commands);
    counter.namespace.wait_until("there is another pod", || {
        counter.try_pod("counter-0").is_some_and(|pod| pod["metadata"]["uid"] != before)
    });
    drop(waiting);
    counter.wait_until_ready();
    let up = ["pre-start", "started", "post-start"];
    assert_eq!(counter.journal("counter-0"), [&up[..], &["pre-stop", "drain"], &up].concat());
}
