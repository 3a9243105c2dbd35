//! `kubectl boson apply` against an API server whose Jobs end as the test wants: when it makes a new run, when it joins one, what of
//! others it leaves alone, and how it is interrupted.
#![allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use testkit::api_server::{ApiServer, Store};

struct Cluster {
    server: ApiServer,
    directory: tempfile::TempDir,
}

struct Printed {
    code: i32,
    out: String,
    err: String,
}

impl Cluster {
    fn new() -> Cluster {
        let cluster = Cluster { server: ApiServer::start(), directory: tempfile::tempdir().unwrap() };
        cluster.server.write_kubeconfig(&cluster.directory.path().join("kubeconfig"));
        cluster
    }

    /// Has a gather Job succeed when it is read for this time since it was made.
    fn complete_at(&self, reads: usize) {
        let mut read = (String::new(), 0);
        self.server.set_hook(Box::new(move |request, store| {
            let job = store.objects.get_mut(&request.path).filter(|_| request.path.contains("/jobs/nats-gather-"));
            if let Some(job) = job.filter(|_| request.method == "GET") {
                let uid = job["metadata"]["uid"].to_string();
                read = if read.0 == uid { (uid, read.1 + 1) } else { (uid, 1) };
                if read.1 >= reads && job["status"].is_null() {
                    job["status"] = json!({"conditions": [{"type": "Complete", "status": "True"}]});
                }
            }
            None
        }));
    }

    fn command(&self, more: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_boson-cluster"));
        command.arg("apply").arg(e2e::here().join("deployments/nats.yml")).args(["--image", "nats=r/nats:1"]);
        command.args(more).arg("--kubeconfig").arg(self.directory.path().join("kubeconfig"));
        command
    }

    fn apply(&self, more: &[&str]) -> Printed {
        let output = self.command(more).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Printed { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// Changes the only gather Job.
    fn edit_job(&self, edit: impl FnOnce(&mut Store, &str)) {
        let mut store = self.server.store();
        let path = store.objects.keys().find(|path| path.contains("/jobs/nats-gather-")).unwrap().clone();
        edit(&mut store, &path);
    }

    fn job(&self) -> Value {
        let store = self.server.store();
        store.objects.iter().find(|(path, _)| path.contains("/jobs/nats-gather-")).unwrap().1.clone()
    }
}

#[test]
fn each_apply_of_the_same_content_is_a_new_run() {
    let cluster = Cluster::new();
    cluster.complete_at(1);
    let first = cluster.apply(&[]);
    assert_eq!(first.code, 0, "{}", first.err);
    let before = cluster.job();
    let second = cluster.apply(&[]);
    assert_eq!((second.code, &second.out), (0, &first.out), "{}", second.err);
    let after = cluster.job();
    assert_eq!(after["metadata"]["name"], before["metadata"]["name"]);
    assert_ne!(after["metadata"]["uid"], before["metadata"]["uid"]);

    // So is one after a failure, and one whose Job was deleted.
    cluster.edit_job(|store, path| {
        store.objects.get_mut(path).unwrap()["status"] = json!({"conditions": [{"type": "Failed", "status": "True"}]});
    });
    assert_eq!(cluster.apply(&[]).code, 0);
    cluster.edit_job(|store, path| drop(store.remove(path)));
    assert_eq!(cluster.apply(&[]).code, 0);
}

#[test]
fn a_run_of_the_same_content_that_is_under_way_is_joined() {
    let cluster = Cluster::new();
    cluster.complete_at(1);
    assert_eq!(cluster.apply(&[]).code, 0);
    cluster.edit_job(|store, path| store.objects.get_mut(path).unwrap()["status"] = Value::Null);
    let before = cluster.job();
    // The checks read it twice.
    cluster.complete_at(4);
    let joined = cluster.apply(&[]);
    assert_eq!(joined.code, 0, "{}", joined.err);
    let name = before["metadata"]["name"].as_str().unwrap();
    assert!(joined.out.contains(&format!("Job {name} is under way already, and is followed\n")), "{}", joined.out);
    assert_eq!(cluster.job()["metadata"]["uid"], before["metadata"]["uid"]);
}

/// The newest manifest applies: a run that a newer one replaces is not joined.
#[test]
fn a_run_that_is_replaced_is_started_anew() {
    let cluster = Cluster::new();
    cluster.complete_at(1);
    assert_eq!(cluster.apply(&[]).code, 0);
    let before = cluster.job();
    cluster.edit_job(|store, path| store.objects.get_mut(path).unwrap()["status"] = Value::Null);
    let mut newer = before.clone();
    newer["metadata"]["name"] = "other".into();
    newer["metadata"]["creationTimestamp"] = "2027-01-01T00:00:00Z".into();
    cluster.server.store().put("batch/v1/jobs/other", newer);
    cluster.complete_at(4);
    let printed = cluster.apply(&[]);
    assert_eq!(printed.code, 0, "{}", printed.err);
    assert!(!printed.out.contains("under way"), "{}", printed.out);
    assert_ne!(cluster.job()["metadata"]["uid"], before["metadata"]["uid"]);
}

#[test]
fn nothing_of_others_is_touched() {
    let cluster = Cluster::new();
    cluster.complete_at(1);
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "nats-gather"}});
    cluster.server.store().put("serviceaccounts/nats-gather", account);
    let refused = cluster.apply(&[]);
    assert_eq!(refused.code, 65, "{}", refused.err);
    let message = "ServiceAccount nats-gather exists, and does not belong to deployment nats";
    assert!(refused.err.contains(message) && refused.err.contains("--force-conflicts"), "{}", refused.err);
    assert_eq!(cluster.server.take_writes(), [""; 0]);

    // The hint is true, and the flag reaches the steps of the Job.
    let forced = cluster.apply(&["--force-conflicts"]);
    assert_eq!(forced.code, 0, "{}", forced.err);
    let pod = cluster.job()["spec"]["template"]["spec"].clone();
    let steps = pod["initContainers"].as_array().unwrap().iter().chain(pod["containers"].as_array().unwrap());
    let forced =
        steps.filter(|step| step["command"].as_array().unwrap().iter().any(|word| word == "--force-conflicts"));
    let forced: Vec<&Value> = forced.map(|step| &step["name"]).collect();
    assert_eq!(forced, ["check", "write-secrets", "deploy"]);

    // The anchor owns everything of the deployment: it is not taken over even then.
    let settings = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "nats"}, "data": {"a": "b"}});
    cluster.server.store().put("configmaps/nats", settings);
    cluster.server.take_writes();
    let refused = cluster.apply(&["--force-conflicts"]);
    assert_eq!(refused.code, 65, "{}", refused.err);
    let message = "ConfigMap nats exists, and does not belong to deployment nats";
    assert!(refused.err.contains(message) && refused.err.contains("another name"), "{}", refused.err);
    assert_eq!(cluster.server.take_writes(), [""; 0]);
}

#[test]
fn ctrl_c_says_that_the_job_goes_on() {
    let cluster = Cluster::new();
    let mut child = cluster.command(&[]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let job = lines.find_map(|line| line.strip_prefix("Job ").map(str::to_owned)).unwrap();
    // It is told as soon as it follows the Job: its pods are listed.
    let (followed, follows) = std::sync::mpsc::channel();
    cluster.server.set_hook(Box::new(move |request, _| {
        if request.path.ends_with("/pods") {
            let _ = followed.send(());
        }
        None
    }));
    follows.recv().unwrap();
    kill(Pid::from_raw(child.id().try_into().unwrap()), Signal::SIGINT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let mut printed = String::new();
    child.stderr.take().unwrap().read_to_string(&mut printed).unwrap();
    assert!(printed.contains(&format!("interrupted: Job {job} goes on in namespace test")), "{printed}");
    for command in ["kubectl boson status nats -n test".to_owned(), format!("kubectl delete job {job} -n test")] {
        assert!(printed.contains(&command), "{command}: {printed}");
    }
    assert_eq!(cluster.job()["metadata"]["name"], job.as_str());
}

#[test]
fn a_cluster_that_cannot_be_reached_is_told_from_a_failed_update() {
    let cluster = Cluster::new();
    let kubeconfig = cluster.directory.path().join("kubeconfig");
    // A port of which nothing listens any more.
    let port = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    let mut config: Value = serde_json::from_str(&std::fs::read_to_string(&kubeconfig).unwrap()).unwrap();
    config["clusters"][0]["cluster"]["server"] = format!("http://127.0.0.1:{port}").into();
    std::fs::write(&kubeconfig, config.to_string()).unwrap();
    let printed = cluster.apply(&[]);
    assert_eq!(printed.code, 70, "{}", printed.err);
    assert!(printed.err.contains("cluster-unreachable"), "{}", printed.err);
}
