//! `kubectl boson apply` against an API server whose gather Job does not run: what is reported, and how the command ends.
#![allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

use std::process::Command;

use serde_json::{Value, json};
use testkit::api_server::{ApiServer, Store};

struct Printed {
    code: i32,
    out: String,
    err: String,
}

/// Applies the demo's manifest; `act` is what controllers do with the gather Job whenever it is read.
fn apply(more: &[&str], act: impl Fn(&mut Store, &str) + Send + 'static) -> Printed {
    let server = ApiServer::start();
    let directory = tempfile::tempdir().unwrap();
    let kubeconfig = directory.path().join("kubeconfig");
    server.write_kubeconfig(&kubeconfig);
    server.set_hook(Box::new(move |request, store| {
        if request.method == "GET" && request.path.contains("/jobs/") && store.objects.contains_key(&request.path) {
            act(store, &request.path);
        }
        None
    }));
    let mut command = Command::new(env!("CARGO_BIN_EXE_boson-cluster"));
    command.arg("apply").arg(e2e::here().join("deployments/nats.yml")).args(["--image", "nats=r/nats:1"]).args(more);
    let output = command.arg("--kubeconfig").arg(&kubeconfig).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Printed { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

/// Puts a pod of the Job there.
fn put_pod(store: &mut Store, job: &str, status: Value) {
    let of_job = store.objects[job]["metadata"].clone();
    let owner = json!({"apiVersion": "batch/v1", "kind": "Job", "name": of_job["name"], "uid": of_job["uid"]});
    let labels = json!({"batch.kubernetes.io/job-name": of_job["name"], "batch.kubernetes.io/controller-uid": of_job["uid"],
        "quarks.cloudfoundry.org/kind": "gather"});
    let pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "nats-gather-x", "uid": "pod", "labels": labels, "ownerReferences": [owner]},
        "spec": {"nodeName": "node-a", "containers": [{"name": "deploy", "image": "boson:1"}]}, "status": status});
    store.put("pods/nats-gather-x", pod);
}

/// A pod whose first init container has this state.
fn init(state: Value) -> Value {
    let status =
        json!({"name": "install", "image": "", "imageID": "", "ready": false, "restartCount": 0, "state": state});
    let conditions = json!([{"type": "PodScheduled", "status": "True"}, {"type": "Initialized", "status": "False"}]);
    json!({"phase": "Pending", "conditions": conditions, "initContainerStatuses": [status]})
}

fn assert_reported(printed: &Printed, code: i32, parts: &[&str]) {
    assert_eq!(printed.code, code, "{}{}", printed.out, printed.err);
    for part in parts {
        assert_eq!(printed.out.matches(part).count(), 1, "{part}: {}", printed.out);
        assert!(printed.err.contains(part), "{part}: {}", printed.err);
    }
}

#[test]
fn an_image_of_the_gather_pod_that_does_not_exist_ends_the_command_at_once() {
    let printed = apply(&[], |store, job| {
        let message = "Back-off pulling image \"boson:1\": ErrImagePull: boson:1: not found";
        put_pod(store, job, init(json!({"waiting": {"reason": "ImagePullBackOff", "message": message}})));
    });
    assert_reported(&printed, 69, &["pod nats-gather-x: container install waits: ImagePullBackOff", "--boson-image"]);
    assert!(
        printed.err.contains("cannot run") && printed.err.contains("kubectl delete job nats-gather-"),
        "{}",
        printed.err
    );
}

#[test]
fn what_may_pass_ends_the_command_when_its_time_is_over() {
    let timeout = ["--ready-timeout", "4s"];
    let printed = apply(&timeout, |store, job| {
        put_pod(store, job, init(json!({"waiting": {"reason": "PodInitializing"}})));
        let message = "MountVolume.SetUp failed for volume \"link-nats\" : secret \"link-nats\" not found";
        let event = json!({"metadata": {"name": "e"}, "type": "Warning", "reason": "FailedMount", "message": message,
            "involvedObject": {"kind": "Pod", "name": "nats-gather-x", "uid": "pod"}});
        store.put("events/e", event);
    });
    assert_reported(&printed, 69, &["pod nats-gather-x: FailedMount", "as soon as the Secret link-nats exists"]);

    let printed = apply(&timeout, |store, job| {
        let of = store.objects[job]["metadata"].clone();
        let message = "Error creating: pods \"nats-gather-x\" is forbidden: exceeded quota: small";
        let event = json!({"metadata": {"name": "e"}, "type": "Warning", "reason": "FailedCreate", "message": message,
            "involvedObject": {"kind": "Job", "name": of["name"], "uid": of["uid"]}});
        store.put("events/e", event);
    });
    assert_reported(&printed, 69, &["the API server does not create its pods", "exceeded quota: small"]);
}

#[test]
fn the_command_exits_as_the_gather_job_did() {
    for code in [65, 66, 69, 70] {
        let printed = apply(&[], move |store, job| {
            let end = json!({"terminated": {"exitCode": code, "reason": "Error", "message": "error: no such job"}});
            put_pod(store, job, init(end));
            store.objects.get_mut(job).unwrap()["status"] =
                json!({"conditions": [{"type": "Failed", "status": "True"}]});
        });
        assert_eq!(printed.code, code, "{}", printed.err);
        assert!(printed.err.contains("container install exited with"), "{}", printed.err);
    }
}

#[test]
fn a_namespace_that_is_being_deleted_is_named() {
    let printed = apply(&[], |store, job| {
        store.remove(job);
        let namespace = json!({"metadata": {"name": "test", "deletionTimestamp": "2026-11-24T10:00:00Z"}});
        store.objects.insert("/api/v1/namespaces/test".to_owned(), namespace);
    });
    assert_eq!(printed.code, 69, "{}", printed.err);
    assert!(printed.err.contains("the namespace test is being deleted"), "{}", printed.err);
}
