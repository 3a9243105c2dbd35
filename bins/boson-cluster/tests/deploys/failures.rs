//! Instances that do not become ready: what is reported while a run waits for them, how the run ends, and when.

use handoff::deployment::WatchTime;
use serde_json::{Value, json};
use testkit::api_server::controllers::{make_deployment_ready, make_ready, pod as pod_of};
use testkit::api_server::{Request, Store};

use super::{Cluster, Printed};

const POD: &str = "nats-nats-z1-0";
/// The exit code of an update that failed, which the gather Job does not try again.
const FAILED: i32 = 69;

/// A cluster whose watch times are these, in milliseconds.
fn cluster(to: u64) -> Cluster {
    let cluster = Cluster::new();
    cluster.edit_deployment(|deployment| {
        let time = WatchTime { from: 0, to };
        for group in &mut deployment.instance_groups {
            (group.update.canary_watch_time, group.update.update_watch_time) = (time, time);
        }
    });
    cluster
}

/// Has a StatefulSet's controller do this whenever the StatefulSet is read.
fn controller(cluster: &Cluster, mut act: impl FnMut(&Request, &mut Store) + Send + 'static) {
    cluster.server.set_hook(Box::new(move |request, store| {
        make_deployment_ready(request, store);
        if request.path.contains("/statefulsets/") && store.objects.contains_key(&request.path) {
            act(request, store);
        }
        None
    }));
}

/// A pod of the first zone's StatefulSet, with its template.
fn pod(store: &Store, status: Value) -> Value {
    let set = store.get("apps/v1/statefulsets/nats-nats-z1").unwrap();
    let mut pod = pod_of(set, POD, "");
    pod["metadata"]["uid"] = "pod".into();
    pod["status"] = status;
    pod
}

fn conditions(of: &[(&str, bool)]) -> Value {
    let condition =
        |(kind, is_true): &(&str, bool)| json!({"type": kind, "status": if *is_true { "True" } else { "False" }});
    of.iter().map(condition).collect()
}

/// A pod whose first init container has this state.
fn preparing(store: &Store, container: &str, state: &Value) -> Value {
    let status =
        json!({"name": container, "image": "", "imageID": "", "ready": false, "restartCount": 0, "state": state});
    pod(
        store,
        json!({"phase": "Pending", "conditions": conditions(&[("PodScheduled", true), ("Initialized", false)]),
        "initContainerStatuses": [status]}),
    )
}

/// A pod whose only container has this status.
fn started(store: &Store, status: &Value, ready: bool) -> Value {
    let mut of = json!({"name": "nats-nats", "image": "", "imageID": "", "ready": ready, "restartCount": 0});
    of.as_object_mut().unwrap().extend(status.as_object().unwrap().clone());
    pod(
        store,
        json!({"phase": "Running", "containerStatuses": [of],
        "conditions": conditions(&[("PodScheduled", true), ("Initialized", true), ("Ready", ready), ("ContainersReady", ready)])}),
    )
}

fn warning(about: (&str, &str, &Value), reason: &str, message: &str) -> Value {
    let (kind, name, uid) = about;
    json!({"metadata": {"name": format!("{name}.{reason}")}, "type": "Warning", "reason": reason, "message": message,
        "involvedObject": {"kind": kind, "name": name, "uid": uid}})
}

/// The run has failed, and has reported each part once while it waited and again at its end.
fn assert_reported(printed: &Printed, parts: &[&str]) {
    assert_eq!(printed.code, FAILED, "{}{}", printed.out, printed.err);
    for part in parts {
        assert_eq!(printed.out.matches(part).count(), 1, "{part}: {}", printed.out);
        assert!(printed.err.contains(part), "{part}: {}", printed.err);
    }
}

#[test]
fn a_script_that_fails_is_reported_at_once_and_ends_the_run_when_the_watch_time_is_over() {
    let cluster = cluster(1_500);
    controller(&cluster, |_, store| {
        let message = "error: 1 of 1 pre-start scripts failed. Failed Jobs: nats.\n  caused by: nats: exit status 3; its last lines:\n    no disk";
        let state = json!({"terminated": {"exitCode": 70, "reason": "Error", "message": message}});
        let pod = preparing(store, "pre-start", &state);
        store.put(&format!("pods/{POD}"), pod);
    });
    let printed = cluster.deploy(&[]);
    let parts = ["pod nats-nats-z1-0: container pre-start exited with 70", "nats: exit status 3", "no disk"];
    assert_reported(&printed, &parts);
    let late = "instance group 'nats' is not ready: ";
    assert!(printed.err.contains(late), "{}", printed.err);
    for part in
        ["nats/0 (pod nats-nats-z1-0)", "after 1500ms (canary_watch_time)", "(pod nats-nats-z2-0) has no pod yet"]
    {
        assert!(printed.err.contains(part), "{part}: {}", printed.err);
    }
    assert!(printed.out.contains("instance group nats: 0 of 4 instances are ready; "), "{}", printed.out);
    let status = cluster.run(&["status"]);
    assert_eq!(status.code, 69, "{}", status.err);
    assert!(parts.iter().all(|part| status.out.contains(part)), "{}", status.out);
    // With a limit of its own, the manifest's does not count.
    let printed = cluster.deploy(&["--ready-timeout", "1s"]);
    assert_eq!(printed.code, FAILED);
    assert!(printed.err.contains("instance group 'nats' is not ready after 1s"), "{}", printed.err);
}

#[test]
fn what_waiting_cannot_help_ends_the_run_at_once() {
    // Long enough that a test which waits for it fails.
    let cluster = cluster(3_600_000);
    let not_found = "Back-off pulling image \"r/nats:1\": ErrImagePull: r/nats:1: not found";
    let waiting = json!({"waiting": {"reason": "ImagePullBackOff", "message": not_found}});
    controller(&cluster, move |_, store| {
        let pod = preparing(store, "copy-jobs-nats", &waiting);
        store.put(&format!("pods/{POD}"), pod);
    });
    let printed = cluster.deploy(&[]);
    assert_reported(
        &printed,
        &["container copy-jobs-nats waits: ImagePullBackOff", "r/nats:1: not found", "--pull-secret"],
    );
    assert!(printed.err.contains("instance group 'nats' cannot become ready"), "{}", printed.err);

    controller(&cluster, |_, store| {
        let end = json!({"terminated": {"exitCode": 66, "reason": "Error", "message": "error: unable to render jobs"}});
        let pod = preparing(store, "render-jobs", &end);
        store.put(&format!("pods/{POD}"), pod);
    });
    assert_reported(&cluster.deploy(&[]), &["container render-jobs exited with 66: error: unable to render jobs"]);
}

#[test]
fn a_storage_class_that_the_account_may_not_read_is_found_in_the_events_of_the_claim() {
    let cluster = cluster(3_600_000);
    controller(&cluster, |_, store| {
        let mut pod = pod(
            store,
            json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False",
            "reason": "Unschedulable", "message": "pod has unbound immediate PersistentVolumeClaims"}]}),
        );
        pod["spec"]["nodeName"].take();
        pod["spec"]["volumes"] =
            json!([{"name": "store", "persistentVolumeClaim": {"claimName": "store-nats-nats-z1-0"}}]);
        store.put(&format!("pods/{POD}"), pod);
        let claim = json!({"metadata": {"name": "store-nats-nats-z1-0", "uid": "claim"}, "spec": {"storageClassName": "fast"},
            "status": {"phase": "Pending"}});
        store.put("persistentvolumeclaims/store-nats-nats-z1-0", claim);
        let about = ("PersistentVolumeClaim", "store-nats-nats-z1-0", &json!("claim"));
        store.put("events/e", warning(about, "ProvisioningFailed", "storageclass.storage.k8s.io \"fast\" not found"));
    });
    let parts = ["PersistentVolumeClaim store-nats-nats-z1-0: storageclass.storage.k8s.io \"fast\" not found"];
    assert_reported(&cluster.deploy(&[]), &parts);
}

#[test]
fn pods_that_are_refused_end_the_run_at_once_or_with_the_watch_time() {
    let refused = |cluster: &Cluster, message: &'static str| {
        controller(cluster, move |request, store| {
            let name = request.path.rsplit('/').next().unwrap_or_default().to_owned();
            let uid = store.objects[&request.path]["metadata"]["uid"].clone();
            store.put(&format!("events/{name}"), warning(("StatefulSet", &name, &uid), "FailedCreate", message));
        });
    };
    let quota = "create Pod nats-nats-z1-0 in StatefulSet nats-nats-z1 failed error: pods \"nats-nats-z1-0\" is forbidden: exceeded quota: small";
    let cluster = cluster(4_000);
    refused(&cluster, quota);
    let printed = cluster.deploy(&[]);
    assert_reported(&printed, &["StatefulSet nats-nats-z1: the API server does not create its pods"]);
    assert!(
        printed.err.contains("canary_watch_time") && printed.err.contains("exceeded quota: small"),
        "{}",
        printed.err
    );

    let cluster = super::failures::cluster(3_600_000);
    refused(&cluster, "admission webhook \"images.example\" denied the request: not signed");
    let printed = cluster.deploy(&[]);
    assert_reported(&printed, &["StatefulSet nats-nats-z1: the API server does not create its pods"]);
    assert!(printed.err.contains("not signed") && printed.err.contains("cannot become ready"), "{}", printed.err);
}

#[test]
fn a_namespace_that_is_being_deleted_ends_the_run() {
    let cluster = cluster(3_600_000);
    let namespace = json!({"metadata": {"name": "test", "deletionTimestamp": "2026-11-24T10:00:00Z"}});
    cluster.server.store().objects.insert("/api/v1/namespaces/test".to_owned(), namespace);
    cluster.server.set_hook(Box::new(|request, store| {
        make_deployment_ready(request, store);
        let is_read = request.method == "GET" && request.path.contains("/statefulsets/");
        is_read.then(|| store.remove(&request.path)).flatten();
        None
    }));
    let printed = cluster.deploy(&[]);
    assert_eq!(printed.code, FAILED, "{}", printed.err);
    assert!(printed.err.contains("StatefulSet nats-nats-z1 was deleted during the update"), "{}", printed.err);
    assert!(printed.err.contains("the namespace test is being deleted"), "{}", printed.err);
}

/// All other pods are ready; the deployment's next group is applied nevertheless.
#[test]
fn instances_on_a_node_that_does_not_answer_are_named_and_the_rest_is_updated() {
    let cluster = cluster(4_000);
    controller(&cluster, |request, store| {
        make_ready(request, store);
        let is_first = request.path.ends_with("/nats-nats-z1");
        if let Some(set) = store.objects.get_mut(&request.path).filter(|_| is_first) {
            set["status"]["readyReplicas"] = 1.into();
        }
        if let Some(pod) = store.objects.get_mut("/api/v1/namespaces/test/pods/nats-nats-z1-1") {
            pod["status"]["conditions"][2]["status"] = "False".into();
        }
    });
    let printed = cluster.deploy(&[]);
    assert_reported(
        &printed,
        &["pod nats-nats-z1-1: its node node-a does not answer", "kubectl delete pod nats-nats-z1-1 --force"],
    );
    let named = "instance group 'nats' is updated except nats/1 (pod nats-nats-z1-1) on node node-a";
    assert!(printed.err.contains(named), "{}", printed.err);
    assert!(printed.out.contains("Job nats-smoke-tests created\n"), "{}", printed.out);
}

/// A container that runs on has nothing to report to Kubernetes, so that its log is read, and an event created.
#[test]
fn a_post_start_that_fails_is_reported_and_becomes_an_event() {
    let cluster = cluster(1_500);
    let log = "error: job \"nats\", process \"nats\": post-start failed, so that it does not become ready\n  caused by: exit status 4\n  code: x\n";
    cluster.server.set_hook(Box::new(move |request, store| {
        make_deployment_ready(request, store);
        if request.path.contains("/statefulsets/") && store.get("apps/v1/statefulsets/nats-nats-z1").is_some() {
            let pod = started(store, &json!({"started": true, "state": {"running": {}}}), false);
            store.put(&format!("pods/{POD}"), pod);
        }
        request.path.ends_with("/log").then(|| (200, log.into()))
    }));
    let printed = cluster.deploy(&[]);
    assert_reported(&printed, &["container nats-nats is not ready: error: job \"nats\"", "exit status 4"]);
    let store = cluster.server.store();
    let events = store.names("events").into_iter().filter_map(|name| store.get(&format!("events/{name}")));
    let events: Vec<&Value> = events.filter(|event| event["involvedObject"]["kind"] == "Pod").collect();
    assert_eq!(events.len(), 1, "{events:?}");
    assert_eq!((&events[0]["reason"], &events[0]["involvedObject"]["name"]), (&json!("PostStartFailed"), &json!(POD)));
}

/// Its process lives for 100 ms between two crashes: it is ready at times, and never for the minimum of the watch time.
#[test]
fn a_crash_loop_is_not_ready() {
    let cluster = cluster(2_000);
    cluster.edit_deployment(|deployment| {
        for group in &mut deployment.instance_groups {
            let time = WatchTime { from: 60_000, to: 2_000 };
            (group.update.canary_watch_time, group.update.update_watch_time) = (time, time);
        }
    });
    let mut looks = 0;
    controller(&cluster, move |request, store| {
        make_ready(request, store);
        looks += 1;
        let is_up = looks % 4 < 2;
        let message = "job \"nats\", process \"nats\": exit status 1; its last lines:\nno license";
        let end = json!({"terminated": {"exitCode": 1, "reason": "Error", "message": message}});
        let state = if is_up { json!({"running": {}}) } else { json!({"waiting": {"reason": "CrashLoopBackOff"}}) };
        let pod = started(store, &json!({"restartCount": 3, "state": state, "lastState": end}), is_up);
        store.put(&format!("pods/{POD}"), pod);
        if let Some(set) = store.objects.get_mut(&request.path) {
            assert_eq!(set["spec"]["minReadySeconds"], 60);
            set["status"]["availableReplicas"] = 0.into();
        }
    });
    let printed = cluster.deploy(&[]);
    assert_reported(&printed, &["container nats-nats exited with 1", "no license"]);
}
