//! Objects as API servers have them when something is wrong, and what is found out about them.
#![allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

use diagnosis::{Cause, Evidence, Finding, Phase, event_id, lost_node, lost_node_hint};
use serde_json::{Value, json};

const POD: &str = "nats-nats-z1-0";
const SET: &str = "nats-nats-z1";

/// A pod of a StatefulSet with this status.
fn pod(status: Value) -> Value {
    let owner = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": SET, "uid": "set", "controller": true});
    let zone = json!({"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["eu-1b"]});
    let affinity = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
        {"nodeSelectorTerms": [{"matchExpressions": [zone]}]}}});
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": POD, "uid": "pod", "ownerReferences": [owner],
            "labels": {"controller-revision-hash": "nats-nats-z1-5c"}},
        "spec": {"nodeName": "node-a", "affinity": affinity, "containers": [{"name": "nats-nats", "image": "r/nats:1"}],
            "volumes": [{"name": "store", "persistentVolumeClaim": {"claimName": "store-nats-nats-z1-0"}}]},
        "status": status})
}

/// The same before it has a node.
fn pending(message: &str) -> Value {
    let condition = json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message});
    let mut pod = pod(json!({"phase": "Pending", "conditions": [condition]}));
    pod["spec"]["nodeName"].take();
    pod
}

/// A pod whose first init container has this status.
fn preparing(container: &str, status: Value) -> Value {
    let mut status = status;
    status["name"] = container.into();
    status["ready"] = false.into();
    status["restartCount"] = status["restartCount"].as_u64().unwrap_or(0).into();
    status["image"] = "r/nats:1".into();
    status["imageID"] = "".into();
    let conditions = json!([{"type": "PodScheduled", "status": "True"}, {"type": "Initialized", "status": "False"}]);
    pod(json!({"phase": "Pending", "conditions": conditions, "initContainerStatuses": [status]}))
}

/// A pod whose only container has this status.
fn started(status: Value) -> Value {
    let mut status = status;
    status["name"] = "nats-nats".into();
    status["restartCount"] = status["restartCount"].as_u64().unwrap_or(0).into();
    status["image"] = "r/nats:1".into();
    status["imageID"] = "".into();
    let conditions = json!([{"type": "PodScheduled", "status": "True"}, {"type": "Initialized", "status": "True"},
        {"type": "Ready", "status": "False", "reason": "ContainersNotReady"},
        {"type": "ContainersReady", "status": "False", "reason": "ContainersNotReady"}]);
    pod(json!({"phase": "Running", "conditions": conditions, "containerStatuses": [status]}))
}

fn warning(kind: &str, name: &str, uid: &str, reason: &str, message: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": format!("{name}.{reason}"), "resourceVersion": "7"},
        "type": "Warning", "reason": reason, "message": message, "lastTimestamp": "2026-11-24T10:00:00Z",
        "involvedObject": {"kind": kind, "name": name, "uid": uid}})
}

fn of_pod(pod: Value, events: &[Value], claims: &[Value]) -> Vec<Finding> {
    let evidence = Evidence::new(&[pod], events, claims);
    evidence.of_pod(&evidence.pods[0])
}

/// The only finding, whose message and hint contain these parts.
fn only(findings: &[Finding], cause: Cause, may_pass: bool, parts: &[&str]) {
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!((findings[0].cause, findings[0].may_pass), (cause, may_pass), "{findings:?}");
    let text = findings[0].to_string();
    for part in parts {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn an_init_container_that_fails_shows_its_message_while_it_waits_and_while_it_runs_again() {
    let message = "error: 1 of 2 pre-start scripts failed. Failed Jobs: nats. Successful Jobs: route.\n  caused by: nats: exit status 3";
    let end = json!({"exitCode": 70, "reason": "Error", "message": message});
    let parts = [
        "pod nats-nats-z1-0: container pre-start exited with 70: error: 1 of 2",
        "\n      caused by: nats: exit status 3",
    ];
    for status in [
        json!({"state": {"terminated": end}}),
        json!({"restartCount": 1, "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s"}},
            "lastState": {"terminated": end}}),
        json!({"restartCount": 1, "started": false, "state": {"running": {"startedAt": "2026-11-24T10:00:00Z"}},
            "lastState": {"terminated": end}}),
        json!({"restartCount": 1, "state": {"waiting": {"reason": "PodInitializing"}}, "lastState": {"terminated": end}}),
    ] {
        only(&of_pod(preparing("pre-start", status), &[], &[]), Cause::Failed, true, &parts);
    }
}

#[test]
fn mistakes_in_the_input_do_not_pass() {
    for (code, message, may_pass) in [
        (66, "error: unable to render", false),
        (65, "error: job is not rendered", false),
        (70, "error: cannot write", true),
        // The exit code of a script that is not boson's.
        (66, "no such table", true),
    ] {
        let end = json!({"exitCode": code, "reason": "Error", "message": message});
        only(
            &of_pod(preparing("render-jobs", json!({"state": {"terminated": end}})), &[], &[]),
            Cause::Failed,
            may_pass,
            &[message],
        );
    }
}

#[test]
fn a_process_that_crashes_shows_why() {
    let message = "job \"nats\", process \"nats\": exit status 3; see /var/vcap/sys/log/nats/nats.stderr.log";
    let end = json!({"exitCode": 3, "reason": "Error", "message": message});
    let waiting = json!({"reason": "CrashLoopBackOff", "message": "back-off 20s restarting failed container"});
    let crashed =
        json!({"ready": false, "restartCount": 2, "state": {"waiting": waiting}, "lastState": {"terminated": end}});
    only(
        &of_pod(started(crashed), &[], &[]),
        Cause::Failed,
        true,
        &["container nats-nats exited with 3: job \"nats\""],
    );
    let killed = json!({"ready": false, "restartCount": 1, "started": true, "state": {"running": {}},
        "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}});
    only(&of_pod(started(killed), &[], &[]), Cause::Failed, true, &["needs more memory than its limit"]);
    let completes = json!({"ready": false, "restartCount": 2, "state": {"waiting": waiting},
        "lastState": {"terminated": {"exitCode": 0, "reason": "Completed"}}});
    only(&of_pod(started(completes), &[], &[]), Cause::Failed, true, &["completes and is started again and again"]);
}

#[test]
fn a_post_start_that_failed_is_found_in_events_or_in_the_log() {
    let running = || started(json!({"ready": false, "started": true, "state": {"running": {}}}));
    let mut event = warning(
        "Pod",
        POD,
        "pod",
        "Unhealthy",
        "Readiness probe failed: error: job \"nats\", process \"nats\": not ready\n  caused by: post-start failed with exit status 4",
    );
    event["involvedObject"]["fieldPath"] = "spec.containers{nats-nats}".into();
    only(
        &of_pod(running(), &[event.clone()], &[]),
        Cause::Failed,
        true,
        &["container nats-nats is not ready", "exit status 4"],
    );
    event["message"] = "Readiness probe failed: it is being started".into();
    only(&of_pod(running(), &[event], &[]), Cause::Probe, true, &["it is being started"]);

    let log = "[1] listening\nerror: job \"nats\", process \"nats\": post-start failed, so that it does not become ready\n  \
        caused by: exit status 4; the last lines of its output:\n    no route\n  code: script-failed\nlistening still\n";
    let mut evidence = Evidence::new(&[running()], &[], &[]);
    evidence.logs.insert((POD.to_owned(), "nats-nats".to_owned()), log.to_owned());
    let found = evidence.of_pod(&evidence.pods[0]);
    only(&found, Cause::Failed, true, &["exit status 4", "no route"]);
    assert!(!found[0].message.contains("listening") && !found[0].message.contains("code:"), "{found:?}");
}

#[test]
fn images_that_cannot_be_pulled() {
    let not_found = "Back-off pulling image \"r/nats:1\": ErrImagePull: rpc error: failed to resolve reference \"r/nats:1\": r/nats:1: not found";
    for (reason, message, may_pass) in [
        ("ErrImagePull", "rpc error: dial tcp: connection refused", true),
        ("ErrImagePull", "r/nats:1: not found", true),
        ("ImagePullBackOff", "Back-off pulling image \"r/nats:1\": ErrImagePull: dial tcp: connection refused", true),
        ("ImagePullBackOff", not_found, false),
        ("InvalidImageName", "Failed to apply default image tag \"r/NATS:1\"", false),
        ("ErrImageNeverPull", "", false),
    ] {
        let waiting = json!({"state": {"waiting": {"reason": reason, "message": message}}});
        let found = of_pod(preparing("copy-jobs-nats", waiting), &[], &[]);
        only(&found, Cause::Image, may_pass, &["container copy-jobs-nats waits", reason]);
    }
}

#[test]
fn what_the_scheduler_reports_comes_with_what_helps() {
    for (message, hint) in [
        ("0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector.", "zone eu-1b"),
        ("0/2 nodes are available: 2 node(s) had untolerated taint {dedicated: db}.", "tolerations"),
        ("0/2 nodes are available: 2 Insufficient memory.", "vm_resources"),
    ] {
        only(&of_pod(pending(message), &[], &[]), Cause::Unschedulable, true, &["no node takes it", message, hint]);
    }
    assert_eq!(Phase::of(&Evidence::new(&[pending("")], &[], &[]).pods[0]), Phase::Unscheduled);
}

#[test]
fn a_storage_class_that_does_not_exist_is_found_in_the_events_of_the_claim() {
    let claim = |phase: &str| {
        json!({"metadata": {"name": "store-nats-nats-z1-0", "uid": "claim"},
        "spec": {"storageClassName": "fast"}, "status": {"phase": phase}})
    };
    let missing = warning(
        "PersistentVolumeClaim",
        "store-nats-nats-z1-0",
        "claim",
        "ProvisioningFailed",
        "storageclass.storage.k8s.io \"fast\" not found",
    );
    let scheduler = "0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims.";
    let parts =
        ["PersistentVolumeClaim store-nats-nats-z1-0: storageclass.storage.k8s.io \"fast\" not found", "names 'fast'"];
    only(
        &of_pod(pending(scheduler), std::slice::from_ref(&missing), &[claim("Pending")]),
        Cause::Storage,
        false,
        &parts,
    );
    // An event of an earlier claim with this name.
    let mut other = missing.clone();
    other["involvedObject"]["uid"] = "another".into();
    only(&of_pod(pending(scheduler), &[other], &[claim("Pending")]), Cause::Unschedulable, true, &["unbound"]);
    only(&of_pod(pending(scheduler), &[missing], &[claim("Bound")]), Cause::Unschedulable, true, &["unbound"]);
}

#[test]
fn a_secret_that_is_missing_is_named() {
    let waiting = json!({"state": {"waiting": {"reason": "PodInitializing"}}});
    let event = |message: &str| warning("Pod", POD, "pod", "FailedMount", message);
    let mount = "MountVolume.SetUp failed for volume \"resolved\" : secret \"ig-resolved.nats-v1\" not found";
    let found = of_pod(preparing("install", waiting), &[event(mount), event(mount)], &[]);
    only(&found, Cause::Volume, true, &["FailedMount: MountVolume.SetUp failed", "Secret ig-resolved.nats-v1 exists"]);
    // It was mounted since.
    let running = json!({"state": {"running": {}}});
    assert_eq!(of_pod(preparing("install", running), &[event(mount)], &[]), []);
    let config =
        json!({"state": {"waiting": {"reason": "CreateContainerConfigError", "message": "secret \"tls\" not found"}}});
    only(
        &of_pod(preparing("a", config), &[], &[]),
        Cause::Container,
        true,
        &["CreateContainerConfigError", "Secret tls exists"],
    );
    let root = "container has runAsNonRoot and image will run as root";
    let config = json!({"state": {"waiting": {"reason": "CreateContainerConfigError", "message": root}}});
    only(&of_pod(preparing("a", config), &[], &[]), Cause::Container, false, &[root]);
}

fn set(replicas: u32) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": SET, "uid": "set"},
        "spec": {"replicas": replicas, "selector": {}, "serviceName": "", "template": {}}})
}

#[test]
fn pods_that_the_api_server_refuses() {
    let prefix = "create Pod nats-nats-z1-0 in StatefulSet nats-nats-z1 failed error: ";
    for (message, may_pass, hint) in [
        (
            "pods \"nats-nats-z1-0\" is forbidden: exceeded quota: small, requested: limits.memory=128Mi",
            true,
            "resourcequota",
        ),
        ("pods \"nats-nats-z1-0\" is forbidden: violates PodSecurity \"restricted:latest\"", false, "run-hooks-as"),
        ("admission webhook \"images.example\" denied the request: no", false, "validatingwebhookconfigurations"),
        (
            "Internal error occurred: failed calling webhook \"images.example\": connection refused",
            true,
            "does not answer",
        ),
        (
            "pods \"x\" is forbidden: unable to create new content in namespace cf because it is being terminated",
            false,
            "is being deleted",
        ),
        ("pods \"x\" is forbidden: no PriorityClass with name high was found", false, "priorityclasses"),
        (
            "pods \"x\" is forbidden: error looking up service account cf/x: serviceaccount \"x\" not found",
            true,
            "service account",
        ),
        ("Pod \"x\" is invalid: spec.containers[0].name: Invalid value", false, "not valid"),
        ("pods \"x\" is forbidden: status unknown for quota: small, resources: pods", true, "quota is new"),
        ("ValidatingAdmissionPolicy 'images' with binding 'images' denied request: no", false, "policies"),
        ("the server is currently unable to handle the request", true, ""),
    ] {
        let event = warning("StatefulSet", SET, "set", "FailedCreate", &format!("{prefix}{message}"));
        let mut evidence = Evidence::new(&[], std::slice::from_ref(&event), &[]);
        let found = evidence.of_set(&set(1));
        only(
            &found,
            Cause::Refused,
            may_pass,
            &["StatefulSet nats-nats-z1: the API server does not create its pods", message, hint],
        );
        // What was reported before this run may be outdated.
        evidence.earlier.insert(event_id(&event));
        only(&evidence.of_set(&set(1)), Cause::Refused, true, &[message]);
        assert_eq!(evidence.of_set(&set(0)), []);
    }
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "nats-gather-1", "uid": "job"}, "spec": {"template": {}}});
    let event = warning(
        "Job",
        "nats-gather-1",
        "job",
        "FailedCreate",
        "Error creating: pods \"x\" is forbidden: exceeded quota: small",
    );
    let evidence = Evidence::new(&[], &[event], &[]);
    only(&evidence.of_job(&job), Cause::Refused, true, &["Job nats-gather-1", "exceeded quota"]);
    let mut suspended = job.clone();
    suspended["spec"]["suspend"] = true.into();
    assert_eq!(evidence.of_job(&suspended), []);
}

#[test]
fn a_node_that_does_not_answer_shows_in_its_pods() {
    let status = json!({"name": "nats-nats", "ready": true, "started": true, "restartCount": 0, "image": "", "imageID": "",
        "state": {"running": {}}});
    let conditions = json!([{"type": "PodScheduled", "status": "True"}, {"type": "Initialized", "status": "True"},
        {"type": "Ready", "status": "False"}, {"type": "ContainersReady", "status": "True"}]);
    let lost = pod(json!({"phase": "Running", "conditions": conditions, "containerStatuses": [status]}));
    let parts = [
        "pod nats-nats-z1-0: its node node-a does not answer",
        "out-of-service",
        "kubectl delete pod nats-nats-z1-0 --force",
    ];
    only(&of_pod(lost.clone(), &[], &[]), Cause::NodeLost, true, &parts);
    let mut gate = lost.clone();
    gate["status"]["conditions"][2]["reason"] = "ReadinessGatesNotReady".into();
    let evidence = Evidence::new(&[gate], &[], &[]);
    assert_eq!(lost_node(&evidence.pods[0]), None);
    // After five minutes its pods are deleted, which it cannot confirm.
    let mut deleted = lost;
    deleted["metadata"]["deletionTimestamp"] = "2026-11-24T10:00:00Z".into();
    deleted["status"]["conditions"][2] =
        json!({"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager"});
    only(&of_pod(deleted, &[], &[]), Cause::NodeLost, true, &parts);
    let hint = lost_node_hint("node-a", &["nats-0", "nats-1"]);
    assert!(hint.contains("for these pods alone: kubectl delete pod nats-0 nats-1 --force"), "{hint}");
}

#[test]
fn scripts_that_fail_while_a_pod_stops_are_found_and_requested_stops_are_not() {
    let stopped = |message: Value| {
        let mut pod = started(
            json!({"ready": false, "state": {"terminated": {"exitCode": 143, "reason": "Error", "message": message}}}),
        );
        pod["metadata"]["deletionTimestamp"] = "2026-11-24T10:00:00Z".into();
        pod
    };
    assert_eq!(of_pod(stopped(Value::Null), &[], &[]), []);
    let message = "job \"nats\", process \"nats\": drain failed: killed by SIGKILL";
    only(
        &of_pod(stopped(message.into()), &[], &[]),
        Cause::Failed,
        true,
        &["container nats-nats stopped: job", "drain failed"],
    );
}

#[test]
fn phases_in_their_order() {
    let phase = |pod: Value| Phase::of(&Evidence::new(&[pod], &[], &[]).pods[0]);
    let init = preparing("pre-start", json!({"state": {"running": {}}}));
    assert_eq!(phase(init), Phase::Preparing("pre-start".to_owned()));
    let pulling =
        started(json!({"ready": false, "started": false, "state": {"waiting": {"reason": "PodInitializing"}}}));
    assert_eq!(phase(pulling), Phase::Preparing("nats-nats".to_owned()));
    let running = started(json!({"ready": false, "state": {"running": {}}}));
    assert_eq!(phase(running.clone()), Phase::Starting(vec!["nats-nats".to_owned()]));
    let mut ready = running.clone();
    ready["status"]["conditions"][2]["status"] = "True".into();
    assert_eq!(phase(ready), Phase::Ready);
    let mut leaving = running;
    leaving["metadata"]["deletionTimestamp"] = "2026-11-24T10:00:00Z".into();
    assert_eq!(phase(leaving), Phase::Leaving);
}
