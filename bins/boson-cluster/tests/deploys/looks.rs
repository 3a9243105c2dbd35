//! `kubectl boson apply` that looks before: what it shows and asks, runs as files, and refusals of what has changed since.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::process::{Command, Stdio};

use handoff::deployment::Count;
use nix::pty::openpty;
use serde_json::{Value, json};

use super::jobs::Jobs;
use super::{Cluster, Printed};

impl Cluster {
    fn apply_command(&self, more: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_boson-cluster"));
        command.arg("apply").arg("--kubeconfig").arg(self.path("kubeconfig")).args(more).env("NO_COLOR", "1");
        command
    }

    /// Applies the demo's manifest.
    fn apply(&self, more: &[&str]) -> Printed {
        self.apply_file(&[&[manifest().as_str(), "--image", "nats=r/nats:1"], more].concat())
    }

    fn apply_file(&self, arguments: &[&str]) -> Printed {
        let output = self.apply_command(arguments).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Printed { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// Applies the demo's manifest at a terminal, answers the question, and returns the exit code with what was printed.
    fn apply_at_a_terminal(&self, more: &[&str], answer: &str) -> (i32, String) {
        let pty = openpty(None, None).unwrap();
        let mut terminal = File::from(pty.master);
        let stream = || Stdio::from(pty.slave.try_clone().unwrap());
        let mut command = self.apply_command(&[&[manifest().as_str(), "--image", "nats=r/nats:1"], more].concat());
        let mut child = command.stdin(stream()).stdout(stream()).stderr(stream()).spawn().unwrap();
        // The end of the command is then the end of what is read.
        drop((command, pty.slave));
        let (mut printed, mut buffer, mut is_answered) = (String::new(), [0; 1024], false);
        while let Ok(length @ 1..) = terminal.read(&mut buffer) {
            printed.push_str(&String::from_utf8_lossy(&buffer[..length]));
            if !is_answered && printed.contains("Continue? [yN]: ") {
                terminal.write_all(answer.as_bytes()).unwrap();
                is_answered = true;
            }
        }
        (child.wait().unwrap().code().unwrap(), printed.replace('\r', ""))
    }

    /// The names of everything in the namespace except what the API server and test keep about pods.
    fn names(&self) -> Vec<String> {
        let store = self.server.store();
        store.objects.keys().filter(|path| !path.contains("/pods/")).cloned().collect()
    }
}

fn manifest() -> String {
    e2e::here().join("deployments/nats.yml").to_str().unwrap().to_owned()
}

/// Has instances 0 and 3 of nats render something else.
fn change(cluster: &Cluster) {
    cluster.plan(|deployment| {
        let instances = deployment.instance_groups[0].instances.iter_mut();
        instances.filter(|one| [0, 3].contains(&one.index)).for_each(|one| one.digest = "f".repeat(64));
    });
}

/// A cluster in which a run of the demo's manifest is deployed.
fn deployed() -> (Cluster, Jobs) {
    let cluster = Cluster::new();
    let jobs = Jobs::start(&cluster);
    let printed = cluster.apply(&[]);
    assert_eq!(printed.code, 0, "{}{}", printed.out, printed.err);
    (cluster, jobs)
}

fn digest_of_pod(cluster: &Cluster) -> String {
    let store = cluster.server.store();
    store.get("apps/v1/statefulsets/nats-nats-z1").unwrap()["metadata"]["annotations"].to_string()
}

const SHOWN: &str = "instance group nats\n  nats/0, nats/3: replaced (rendered files)\n\n2 instances to replace\n";

#[test]
fn a_person_is_asked_and_no_changes_nothing() {
    let (cluster, _jobs) = deployed();
    let (code, printed) = cluster.apply_at_a_terminal(&[], "");
    assert!(code == 0 && printed.contains("no changes\n") && !printed.contains("Continue?"), "{printed}");
    let (before, names) = (digest_of_pod(&cluster), cluster.names());
    change(&cluster);
    let (code, printed) = cluster.apply_at_a_terminal(&[], "n\r");
    assert!(code == 1 && printed.ends_with("stopped; nothing has changed\n"), "{printed}");
    assert!(printed.contains(SHOWN), "{printed}");
    assert_eq!((digest_of_pod(&cluster), cluster.names()), (before.clone(), names));
    let (code, printed) = cluster.apply_at_a_terminal(&[], "y\r");
    assert_eq!(code, 0, "{printed}");
    assert!(printed.contains(SHOWN) && printed.contains("instance group nats is ready\n"), "{printed}");
    assert_ne!(digest_of_pod(&cluster), before);

    cluster.plan(|_| ());
    for flags in [(&["--non-interactive"][..]), &[]] {
        let mut command = cluster.apply_command(&[&[manifest().as_str(), "--image", "nats=r/nats:1"], flags].concat());
        let output = command.env("BOSH_NON_INTERACTIVE", if flags.is_empty() { "true" } else { "" }).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(digest_of_pod(&cluster), before);
}

#[test]
fn a_diff_changes_nothing_and_a_first_one_leaves_nothing() {
    let cluster = Cluster::new();
    // As if nothing had been planned yet.
    cluster.server.store().objects.clear();
    let _jobs = Jobs::start(&cluster);
    let first = cluster.apply(&["--diff"]);
    assert_eq!(first.code, 1, "{}", first.err);
    let new = "instance group nats (new)\n  nats/0, nats/1, nats/2, nats/3: new\n\n4 to create\n";
    assert!(first.out.ends_with(new) && first.out.contains("  Service nats-nats-0: created\n"), "{}", first.out);
    assert_eq!(cluster.names(), [""; 0]);

    assert_eq!(cluster.apply(&[]).code, 0);
    let before = cluster.names();
    let same = cluster.apply(&["--dry-run"]);
    assert_eq!((same.code, same.out.as_str()), (0, "no changes\n"), "{}", same.err);
    change(&cluster);
    let changed = cluster.apply(&["--diff", "--format", "markdown"]);
    assert_eq!(changed.code, 1, "{}", changed.err);
    let lines =
        "**2 instances to replace**\n\n### instance group `nats`\n\n- `nats/0`, `nats/3`: replaced (rendered files)\n";
    assert!(
        changed.out.starts_with(lines) && changed.out.contains("\n- StatefulSet nats-nats-z1: changed\n"),
        "{}",
        changed.out
    );
    // Settings are named; their values may be secrets.
    cluster.plan(|deployment| deployment.instance_groups[0].update.max_in_flight = Count::Number(2));
    let settings = cluster.apply(&["--diff"]);
    let lines = "instance group nats\n  ~ update.max_in_flight\n\nno instance changes\n";
    assert!(settings.code == 1 && settings.out.ends_with(lines), "{}{}", settings.out, settings.err);
    change(&cluster);
    let changed = cluster.apply(&["--diff", "--format", "json"]);
    let document: Value = serde_json::from_str(&changed.out).unwrap();
    assert_eq!(document["groups"][0]["instances"][1]["name"], "nats/3", "{document:#}");
    assert_eq!(cluster.names(), before);

    // What the run would report is reported without it.
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "nats-nats-0"}, "spec": {}});
    cluster.server.store().put("services/nats-nats-0", service);
    let refused = cluster.apply(&["--diff"]);
    assert_eq!(refused.code, 65, "{}{}", refused.out, refused.err);
    assert!(
        refused.err.contains("Service nats-nats-0 exists, and does not belong to deployment nats"),
        "{}",
        refused.err
    );
    assert_eq!(cluster.names(), before);
}

#[test]
fn a_planned_run_is_done_exactly_or_refused() {
    let (cluster, _jobs) = deployed();
    let file = cluster.path("run.json");
    let file = file.to_str().unwrap();
    change(&cluster);
    let (before, names) = (digest_of_pod(&cluster), cluster.names());
    let planned = cluster.apply(&["--out", file]);
    assert_eq!(planned.code, 0, "{}", planned.err);
    assert_eq!(planned.out, format!("{file}: `kubectl boson apply {file}` does this, or refuses\n"));
    assert_eq!((digest_of_pod(&cluster), cluster.names()), (before.clone(), names));
    let text = fs::read_to_string(file).unwrap();
    assert!(
        text.contains("\"nats/0\"") && !text.contains("only-for-this-demo") && !text.contains("b25seS1mb3It"),
        "{text}"
    );

    // Other documents than those that were shown.
    cluster.plan(|deployment| deployment.instance_groups[0].instances[1].digest = "e".repeat(64));
    let refused = cluster.apply_file(&[file]);
    assert_eq!(refused.code, 69, "{}{}", refused.out, refused.err);
    for part in ["would not do what was shown", "the same manifest renders something else", "nothing has changed"] {
        assert!(refused.err.contains(part), "{part}: {}", refused.err);
    }
    // Other objects.
    change(&cluster);
    let service = cluster.server.store().remove("/api/v1/namespaces/test/services/nats-nats-1").unwrap();
    let refused = cluster.apply_file(&[file]);
    assert!(
        refused.code == 69 && refused.err.contains("instances or objects of the deployment have changed"),
        "{}",
        refused.err
    );
    assert_eq!(digest_of_pod(&cluster), before);
    cluster.server.store().put("services/nats-nats-1", service);

    let usage = cluster.apply_file(&[file, "--image", "nats=r/nats:2"]);
    assert!(usage.code == 2 && usage.err.contains("a planned run takes no flags"), "{}", usage.err);
    let usage = cluster.apply_file(&[file, "--namespace", "other"]);
    assert!(usage.code == 2 && usage.err.contains("for namespace test, not other"), "{}", usage.err);

    let applied = cluster.apply_file(&[file]);
    assert_eq!(applied.code, 0, "{}{}", applied.out, applied.err);
    assert_ne!(digest_of_pod(&cluster), before);
    // It was a run of its own.
    let again = cluster.apply_file(&[file]);
    assert!(again.code == 69 && again.err.contains("another run has been made: run 3"), "{}", again.err);
    cluster.server.store().objects.remove("/api/v1/namespaces/test/configmaps/nats");
    let other = cluster.apply_file(&[file]);
    assert!(other.code == 69 && other.err.contains("does not have the deployment nats of then"), "{}", other.err);
}

/// A try of the gather Job that is interrupted after the comparison has changed something: the next try goes on.
#[test]
fn a_planned_run_that_is_interrupted_goes_on() {
    let (cluster, _jobs) = deployed();
    change(&cluster);
    let preview = cluster.deploy(&["--check", cluster.path("output").to_str().unwrap(), "--diff"]);
    let preview: Value = serde_json::from_str(&preview.out).unwrap();
    let expected = {
        let effects =
            json!([{"deployment": preview["deployment"], "groups": preview["groups"]}, preview["objects"]]).to_string();
        format!("{}.{}.{}", preview["run"], preview["documents"].as_str().unwrap(), object_digest(&effects))
    };
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "nats-gather-1"}, "status": {"active": 1}});
    cluster.server.store().put("batch/v1/jobs/nats-gather-1", job);
    let check = |expected: &str| {
        let planned = cluster.path("output");
        let flags = ["--check", planned.to_str().unwrap(), "--expect", expected, "--gather-job", "nats-gather-1"];
        cluster.deploy(&flags).code
    };
    assert_eq!(check("1.x.y"), 69);
    assert_eq!(check(&expected), 0);
    cluster.write_secrets();
    cluster.server.store().remove("/api/v1/namespaces/test/services/nats-nats-1").unwrap();
    assert_eq!(check(&expected), 0, "the same Job goes on");
    cluster.server.store().remove("/apis/batch/v1/namespaces/test/jobs/nats-gather-1").unwrap();
    assert_eq!(check(&expected), 69, "another Job does not");
}

fn object_digest(text: &str) -> String {
    kubernetes_objects::digest(text.as_bytes())
}
