//! A deployment in a cluster, from a manifest: `boson gather`, and everything that the gather Job makes.

use std::fs;

use e2e::here;
use serde_json::Value;

use crate::cluster::try_kubectl;
use crate::gathered::{Gathered, RESTRICTED};

/// NATS of `e2e/deployments/nats.yml` with mutual TLS.
fn nats(test: &str) -> Gathered {
    let nats = Gathered::new(test, "nats");
    let tls = fs::read_to_string(here().join("deployments/nats-tls.yml")).unwrap();
    // Certificates are for the names of instances.
    let tls = tls.replace("*.default.svc", &format!("*.{}.svc", nats.namespace.name));
    nats.with_ops_file(&tls)
}

/// Name and uid of each pod.
fn identities(nats: &Gathered) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    nats.pods("nats").iter().map(|pod| (text(&pod["metadata"]["name"]), text(&pod["metadata"]["uid"]))).collect()
}

/// Kind, name and version of everything that the deployment has, without the manifest, which each run has its own of.
fn versions(nats: &Gathered) -> String {
    let selector = "app.kubernetes.io/managed-by=boson,quarks.cloudfoundry.org/kind!=manifest";
    let list = |kinds: &str, version: &str| {
        let path =
            format!("-o=jsonpath={{range .items[*]}}{{.kind}} {{.metadata.name}} {{{version}}}{{\"\\n\"}}{{end}}");
        nats.namespace.kubectl(&["get", kinds, "--selector", selector, &path])
    };
    // A controller writes into the status of the latter, which counts for the version of a resource.
    let written = list("configmaps,secrets,services", ".metadata.resourceVersion");
    // What a run did is kept even if it did nothing.
    let written: String =
        written.lines().filter(|line| !line.contains("nats-tasks")).map(|l| format!("{l}\n")).collect();
    written + &list("statefulsets,poddisruptionbudgets", ".metadata.generation")
}

/// A file of an instance.
fn file(nats: &Gathered, pod: &str, path: &str) -> String {
    nats.namespace.kubectl(&["exec", pod, "--container", "nats-nats", "--", "/bin/cat", path])
}

const CONFIG: &str = "/var/vcap/jobs/nats/config/nats.conf";

#[test]
fn nats_comes_up_from_one_file_and_updates_only_what_changes() {
    let nats = nats("gathers");
    let run = || nats.assert_complete(&nats.run(&RESTRICTED));
    run();
    identities_are_the_specifications(&nats);
    let pods = identities(&nats);

    // The errand, through the addresses of the instances.
    let printed = nats.kubectl_boson(&["errand", "smoke-tests"]).unwrap();
    assert!(printed.contains("Job nats-smoke-tests-1"), "{printed}");

    // A run of a manifest that differs only in what nobody reads writes nothing.
    let before = versions(&nats);
    nats.edit("    properties:\n      nats:", "    properties:\n      unread: 1\n      nats:");
    run();
    assert_eq!(versions(&nats), before);

    // A property of the errand restarts no pod of nats.
    nats.edit("messages: 250", "messages: 251");
    run();
    assert_eq!(identities(&nats), pods);
    let after = versions(&nats);
    assert!(after.contains(" ig-resolved.smoke-tests-v2 ") && !after.contains(" ig-resolved.nats-v2 "), "{after}");

    // A property of nats restarts nats, once.
    nats.edit("max_payload: 65536", "max_payload: 131072");
    run();
    let updated = identities(&nats);
    assert!(updated.iter().zip(&pods).all(|(new, old)| new.0 == old.0 && new.1 != old.1), "{updated:?} {pods:?}");
    assert!(file(&nats, "nats-nats-z2-1", CONFIG).contains("131072"));
    nats.kubectl_boson(&["status"]).unwrap();

    roll_back(&nats);
    delete(&nats);
}

/// Four instances in two zones; each Service selects the pod of the formula, and the pod knows itself under its name.
fn identities_are_the_specifications(nats: &Gathered) {
    let pods = nats.pods("nats");
    let names: Vec<&str> = pods.iter().map(|pod| pod["metadata"]["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["nats-nats-z1-0", "nats-nats-z1-1", "nats-nats-z2-0", "nats-nats-z2-1"]);
    let nodes: Vec<&Value> = pods.iter().map(|pod| &pod["spec"]["nodeName"]).collect();
    assert!(nodes[0] == nodes[1] && nodes[2] == nodes[3] && nodes[1] != nodes[2], "{nodes:?}");
    for (index, pod) in pods.iter().enumerate() {
        let selector = format!("kubernetes.io/service-name=nats-nats-{index}");
        let path = "-o=jsonpath={.items[*].endpoints[*].addresses[*]}";
        let addresses = nats.namespace.kubectl(&["get", "endpointslices", "--selector", &selector, path]);
        assert_eq!(pod["status"]["podIP"], addresses.as_str());
        let address = format!("nats-nats-{index}.{}.svc.cluster.local", nats.namespace.name);
        let spec: Value = serde_json::from_str(&file(nats, names[index], "/var/vcap/bosh/spec.json")).unwrap();
        assert_eq!((&spec["index"], &spec["bootstrap"]), (&index.into(), &(index == 0).into()), "{spec}");
        assert_eq!((&spec["address"], &spec["az"]), (&address.into(), &["z1", "z2"][index / 2].into()), "{spec}");
        assert_eq!(spec["ip"], pod["status"]["podIP"]);
    }
}

/// One command makes the documents of the run before valid again, and deploys them with its images.
fn roll_back(nats: &Gathered) {
    let runs = nats.kubectl_boson(&["versions"]).unwrap();
    assert!(runs.lines().nth(1).is_some_and(|line| line.starts_with("3 ")), "{runs}");
    let printed = nats.kubectl_boson(&["rollback"]).unwrap();
    let expected = [
        "run 4 has the documents and images of run 2",
        "StatefulSet nats-nats-z1 changed",
        "StatefulSet nats-nats-z2 changed",
        "instance group nats is ready",
    ];
    assert!(expected.iter().all(|line| printed.contains(line)) && !printed.contains("deleted"), "{printed}");
    assert!(file(nats, "nats-nats-z1-0", CONFIG).contains("65536"));
    nats.kubectl_boson(&["status"]).unwrap();
    // The run is not that of a manifest any more, so that applying the manifest again is an update.
    let jobs = ["get", "jobs", "--selector", "quarks.cloudfoundry.org/kind=gather", "--output", "name"];
    assert_eq!(nats.namespace.kubectl(&jobs), "");
    let before = versions(nats);
    let again = nats.kubectl_boson(&["rollback", "--to", "4"]).unwrap();
    assert!(again.ends_with("run 4 is the present one\ninstance group nats is ready\n"), "{again}");
    assert_eq!(versions(nats), before);
}

fn delete(nats: &Gathered) {
    let shown = nats.kubectl_boson(&["delete"]).unwrap_err();
    assert!(shown.contains("StatefulSet nats-nats-z1\n") && shown.contains("--yes deletes them"), "{shown}");
    nats.delete();
}

/// What the account of `boson gather` may do, and what not: RBAC knows kinds and verbs only.
#[test]
fn the_account_may_do_what_the_steps_need_and_no_more() {
    let nats = nats("permits");
    nats.apply(&RESTRICTED);
    let account = format!("system:serviceaccount:{}:nats-gather", nats.namespace.name);
    let may = |verb: &str, kind: &str| {
        // A slash would separate the name of an object.
        let (kind, part) = kind.split_once('/').unwrap_or((kind, ""));
        let part = format!("--subresource={part}");
        let answer = nats.namespace.try_kubectl(&["auth", "can-i", verb, kind, &part, "--as", &account]);
        answer.is_ok_and(|answer| answer.trim() == "yes")
    };
    for (verb, kind) in [
        ("create", "secrets"),
        ("patch", "statefulsets.apps"),
        ("patch", "deployments.apps"),
        ("delete", "jobs.batch"),
        ("list", "pods"),
        ("delete", "pods"),
        ("create", "pods/eviction"),
        ("get", "pods/log"),
        ("create", "events"),
        ("patch", "leases.coordination.k8s.io"),
    ] {
        assert!(may(verb, kind), "{verb} {kind}");
    }
    let denied = [
        ("create", "pods/exec"),
        ("create", "pods/portforward"),
        ("delete", "persistentvolumeclaims"),
        ("create", "serviceaccounts/token"),
        ("create", "serviceaccounts"),
        ("create", "roles.rbac.authorization.k8s.io"),
        ("patch", "rolebindings.rbac.authorization.k8s.io"),
        ("create", "replicasets.apps"),
        ("create", "daemonsets.apps"),
        ("deletecollection", "secrets"),
        ("update", "secrets"),
        ("watch", "secrets"),
        ("delete", "leases.coordination.k8s.io"),
        ("get", "nodes"),
        ("get", "namespaces"),
        ("impersonate", "serviceaccounts"),
    ];
    for (verb, kind) in denied {
        assert!(!may(verb, kind), "{verb} {kind}");
    }
    let elsewhere = try_kubectl(&["auth", "can-i", "get", "secrets", "--namespace", "kube-system", "--as", &account]);
    assert!(!elsewhere.is_ok_and(|answer| answer.trim() == "yes"));
}

#[test]
fn a_namespace_that_does_not_admit_the_pods_is_reported_before_anything_is_applied() {
    let nats = nats("admits");
    let job = nats.apply(&[]);
    // The API server would refuse them again.
    nats.namespace.wait_until("the Job has failed", || nats.ended(&job).as_deref() == Some("Failed"));
    let message = nats.messages(&job);
    assert!(message.contains("StatefulSet nats-nats-z1") && message.contains("PodSecurity"), "{message}");
    assert!(message.contains("--run-hooks-as vcap"), "{message}");
    assert_eq!(nats.namespace.kubectl(&["get", "statefulsets,services", "--output", "name"]), "");
    let secrets = nats.namespace.kubectl(&["get", "secrets", "--output", "name"]);
    assert!(secrets.lines().all(|name| name.contains("-manifest-")), "{secrets}");
}

#[test]
fn a_wrong_manifest_changes_nothing_and_is_not_tried_again() {
    let nats = nats("refuses");
    nats.edit(
        "    release: nats\n    properties:\n      nats:",
        "    release: nats\n    consumes: {nats: {from: nobody}}\n    properties:\n      nats:",
    );
    let job = nats.run(&[]);
    assert_eq!(nats.ended(&job).as_deref(), Some("Failed"));
    let message = nats.messages(&job);
    assert!(message.contains("nobody") && message.contains("manifest.yaml:"), "{message}");
    let kept = nats.namespace.kubectl(&[
        "get",
        "statefulsets,services,pods",
        "--selector",
        "quarks.cloudfoundry.org/kind!=gather",
        "--output",
        "name",
    ]);
    assert_eq!(kept, "");
    let secrets = nats.namespace.kubectl(&["get", "secrets", "--output", "name"]);
    assert!(secrets.lines().all(|name| name.contains("-manifest-")), "{secrets}");
}
