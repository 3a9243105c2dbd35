//! One run at a time: which one holds a deployment, how others wait, take over or refuse, how it is cancelled; and what is kept of it.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use handoff::deployment::WatchTime;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use testkit::waiting::{eventually, wait_for};

use super::Cluster;
use super::updates::{Controller, change, deployed};

const IMAGE: [&str; 2] = ["--image", "nats=r/nats:1"];
const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/test/leases/nats-run";

/// A run that goes on in another process.
struct Run {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Run {
    /// Starts `deploy` in a pod.
    fn start(cluster: &Cluster, pod: &str) -> Run {
        let mut command = Command::new(env!("CARGO_BIN_EXE_boson-cluster"));
        command.arg("deploy").arg("--kubeconfig").arg(cluster.path("kubeconfig"));
        command.args(["-d", "nats", "--image", "nats=r/nats:1"]).env("HOSTNAME", pod);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Run { child, lines }
    }

    /// Reads its output up to a line.
    #[track_caller]
    fn until(&mut self, part: &str) {
        let mut seen = String::new();
        for line in self.lines.by_ref() {
            let line = line.unwrap();
            if line.contains(part) {
                return;
            }
            seen.push_str(&line);
        }
        panic!("{part:?} is not in {seen}");
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().try_into().unwrap()), signal).unwrap();
    }

    /// Its exit code and messages.
    fn end(mut self) -> (Option<i32>, String) {
        let mut messages = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut messages).unwrap();
        (self.child.wait().unwrap().code(), messages)
    }
}

/// A cluster in which an update of nats cannot end: a disruption budget keeps its instances.
fn held_up() -> (Cluster, Arc<Mutex<Controller>>) {
    let (cluster, controller) = deployed();
    // A run to return to.
    cluster.write_secrets_of(&IMAGE);
    change(&cluster, &[0], |group| {
        let time = WatchTime { from: 0, to: 3_600_000 };
        (group.update.canary_watch_time, group.update.update_watch_time) = (time, time);
    });
    cluster.write_secrets_of(&IMAGE);
    controller.lock().unwrap().refusal = Some("the budget keeps it");
    (cluster, controller)
}

fn holder(cluster: &Cluster) -> Value {
    cluster.server.store().objects.get(LEASE).map(|lease| lease["spec"]["holderIdentity"].clone()).unwrap_or_default()
}

#[track_caller]
fn assert_states(cluster: &Cluster, expected: &[&str]) {
    let tasks = cluster.run(&["tasks"]);
    assert_eq!(tasks.code, 0, "{}", tasks.err);
    let states: Vec<&str> = tasks.out.lines().skip(1).map(|line| line.split_whitespace().nth(1).unwrap()).collect();
    assert_eq!(states, expected, "{}", tasks.out);
}

#[test]
fn a_run_waits_for_another_one_and_a_command_refuses() {
    let (cluster, controller) = held_up();
    assert!(holder(&cluster) == "", "a run that has ended gives the Lease back");
    let mut first = Run::start(&cluster, "pod-a");
    first.until("cannot be replaced now");
    assert_eq!(holder(&cluster), "pod-a");
    assert_states(&cluster, &["processing", "done"]);
    let refused = cluster.run(&["recreate", "nats/1"]);
    assert_eq!(refused.code, 69, "{}", refused.err);
    let expected = "error: the run of pod-a (since 20";
    assert!(refused.err.starts_with(expected) && refused.err.contains("kubectl boson cancel"), "{}", refused.err);
    assert!(refused.err.contains("update-under-way"), "{}", refused.err);
    let pod = cluster.server.store().get("pods/nats-nats-z1-1").unwrap().clone();
    assert!(pod["metadata"]["annotations"]["quarks.cloudfoundry.org/recreate"].is_null(), "{pod}");

    let mut second = Run::start(&cluster, "pod-b");
    second.until("the run of pod-a (since 20");
    controller.lock().unwrap().refusal = None;
    first.until("instance group nats is ready");
    assert_eq!(first.end(), (Some(0), String::new()));
    second.until("instance group nats is ready");
    assert_eq!(second.end(), (Some(0), String::new()));
    assert_eq!(controller.lock().unwrap().replaced, ["nats-nats-z1-0"]);
    assert_states(&cluster, &["done", "done", "done"]);
}

#[test]
fn a_run_that_was_killed_is_taken_over() {
    let (cluster, controller) = held_up();
    let mut first = Run::start(&cluster, "pod-a");
    first.until("cannot be replaced now");
    first.signal(Signal::SIGKILL);
    assert_eq!(first.end().0, None);
    assert_eq!(holder(&cluster), "pod-a");
    // It has not the result of a run.
    assert_states(&cluster, &["processing", "done"]);
    controller.lock().unwrap().refusal = None;
    cluster.server.store().objects.get_mut(LEASE).unwrap()["spec"]["leaseDurationSeconds"] = 1.into();
    let mut second = Run::start(&cluster, "pod-b");
    second.until("the run of pod-a (since 20");
    second.until("has ended without a result, and is taken over");
    assert_eq!(second.end(), (Some(0), String::new()));
    assert_states(&cluster, &["done", "interrupted", "done"]);
    // A try of the same pod goes on at once.
    let lease = cluster.server.store().objects[LEASE].clone();
    assert_eq!(lease["spec"]["holderIdentity"], "", "{lease}");
}

#[test]
fn a_run_that_has_lost_its_lease_stops() {
    let (cluster, _) = held_up();
    let mut run = Run::start(&cluster, "pod-a");
    run.until("cannot be replaced now");
    {
        let mut store = cluster.server.store();
        let mut lease = store.objects[LEASE].clone();
        lease["spec"]["holderIdentity"] = "pod-b".into();
        store.put("coordination.k8s.io/v1/leases/nats-run", lease);
    }
    let (code, messages) = run.end();
    assert_eq!(code, Some(69), "{messages}");
    assert!(messages.contains("another run has taken over") && messages.contains("the run of pod-b"), "{messages}");
    assert_eq!(holder(&cluster), "pod-b");
}

#[test]
fn a_run_is_cancelled_and_a_signal_gives_the_lease_back() {
    let (cluster, controller) = held_up();
    let mut run = Run::start(&cluster, "pod-a");
    run.until("cannot be replaced now");
    let cancelled = cluster.run(&["cancel"]);
    assert_eq!(cancelled.code, 0, "{}", cancelled.err);
    assert!(cancelled.out.starts_with("the run of pod-a has stopped\n"), "{}", cancelled.out);
    let (code, messages) = run.end();
    assert!(code == Some(69) && messages.contains("the run was cancelled by "), "{messages}");
    assert_states(&cluster, &["cancelled", "done"]);

    let mut run = Run::start(&cluster, "pod-b");
    run.until("cannot be replaced now");
    run.signal(Signal::SIGTERM);
    assert_eq!(run.end().0, Some(128 + 15));
    assert!(holder(&cluster) == "");
    assert_states(&cluster, &["interrupted", "cancelled", "done"]);

    // A rollback stops what is under way.
    let mut run = Run::start(&cluster, "pod-c");
    run.until("cannot be replaced now");
    let rolled_back = cluster.run(&["rollback", "--to", "3"]);
    assert_eq!(rolled_back.code, 0, "{}{}", rolled_back.out, rolled_back.err);
    assert_eq!(run.end().0, Some(69));
    assert_states(&cluster, &["done", "cancelled", "interrupted", "cancelled", "done"]);
    assert_eq!(controller.lock().unwrap().replaced, [""; 0]);
}

#[test]
fn what_a_run_did_is_kept() {
    let (cluster, controller) = held_up();
    controller.lock().unwrap().refusal = None;
    cluster.server.store().remove("/api/v1/namespaces/test/services/nats-nats-1").unwrap();
    assert_eq!(cluster.deploy(&["--gather-job", "nats-gather-1"]).code, 0);
    let tasks = cluster.run(&["tasks", "--recent", "1"]);
    let line = tasks.out.lines().nth(1).unwrap();
    assert!(line.starts_with("2 ") && line.ends_with("1 instance replaced, 2 objects changed"), "{}", tasks.out);
    let task = cluster.run(&["task", "2", "-d", "nats"]);
    for line in [
        "task      2\nstate     done\ncommand   apply\n",
        "\nrun       5\njob       nats-gather-1\n",
        "\nreplaced  nats/0\n",
        "\nobjects   Service nats-nats-1 created\n          StatefulSet nats-nats-z1 changed\n",
    ] {
        assert!(task.out.contains(line), "{line:?}: {}", task.out);
    }
    let unknown = cluster.run(&["task", "7"]);
    assert!(unknown.code == 65 && unknown.err.contains("no task 7 is known"), "{}", unknown.err);

    let events = cluster.run(&["events"]);
    for part in
        ["ConfigMap/nats      task 2: apply by", "Pod/nats-nats-z1-0  instance nats/0 (pod nats-nats-z1-0) is replaced"]
    {
        assert!(events.out.contains(part), "{part}: {}", events.out);
    }
    assert_eq!(events.out.matches("RunSucceeded").count(), 2, "{}", events.out);

    // A failure: its message, without what processes have printed.
    controller.lock().unwrap().refusal = Some("the budget keeps it");
    change(&cluster, &[1], |_| ());
    cluster.write_secrets_of(&IMAGE);
    assert_eq!(cluster.deploy(&[]).code, 69);
    let failed = cluster.run(&["tasks"]);
    assert!(
        failed.out.contains("3   error") && failed.out.contains("instance group 'nats' is not ready"),
        "{}",
        failed.out
    );
    controller.lock().unwrap().refusal = None;
    let recreated = cluster.run(&["recreate", "nats/2"]);
    assert_eq!(recreated.code, 0, "{}", recreated.err);
    let task = cluster.run(&["task"]);
    assert!(task.out.contains("command   recreate\n") && task.out.contains("          nats/2\n"), "{}", task.out);
    // Nothing of it outlives the deployment.
    assert_eq!(cluster.run(&["delete", "--yes"]).code, 0);
    let store = cluster.server.store();
    let left: Vec<&String> =
        store.objects.keys().filter(|path| path.ends_with("nats-tasks") || path.ends_with("nats-run")).collect();
    assert_eq!(left, [""; 0]);
}

#[test]
fn a_run_renews_its_lease_while_it_waits() {
    let (cluster, controller) = held_up();
    let mut run = Run::start(&cluster, "pod-a");
    run.until("cannot be replaced now");
    let renewed = |cluster: &Cluster| cluster.server.store().objects[LEASE]["spec"]["renewTime"].clone();
    let before = renewed(&cluster);
    eventually("a renewal", || renewed(&cluster) != before);
    controller.lock().unwrap().refusal = None;
    run.until("instance group nats is ready");
    assert_eq!(run.end().0, Some(0));
    wait_for("the end of the Lease", || (holder(&cluster) == "").then_some(()));
}
