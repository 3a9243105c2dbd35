//! What was deleted or edited by hand, rollbacks, and what is deleted or kept with a deployment.

use handoff::links::{SharedLink, SharedLinks};
use handoff::output::LINKS_JSON;
use serde_json::{Value, json};

use super::{Cluster, Printed};

const IMAGE: [&str; 2] = ["--image", "nats=r/nats:1"];

/// A cluster in which a run with these images is deployed.
fn deployed() -> Cluster {
    let cluster = Cluster::new();
    cluster.write_secrets_of(&IMAGE);
    let printed = cluster.deploy(&[]);
    assert_eq!(printed.code, 0, "{}", printed.err);
    cluster.server.take_writes();
    cluster
}

/// The image of the first container of a StatefulSet.
fn image(cluster: &Cluster) -> Value {
    let store = cluster.server.store();
    store.get("apps/v1/statefulsets/nats-nats-z1").unwrap()["spec"]["template"]["spec"]["containers"][0]["image"]
        .clone()
}

#[test]
fn status_shows_what_is_missing_or_different_and_deploy_restores_it() {
    let cluster = deployed();
    let whole = cluster.run(&["status"]);
    assert_eq!((whole.code, whole.out.lines().count()), (0, 5), "{}{}", whole.out, whole.err);
    {
        let mut store = cluster.server.store();
        store.remove("/api/v1/namespaces/test/services/nats-nats-0").unwrap();
        let set = store.objects.get_mut("/apis/apps/v1/namespaces/test/statefulsets/nats-nats-z2").unwrap();
        set["spec"]["template"]["spec"]["containers"][0]["image"] = "other".into();
    }
    let before = cluster.versions();
    let damaged = cluster.run(&["status"]);
    assert_eq!(damaged.code, 69, "{}{}", damaged.out, damaged.err);
    for line in [
        "Service nats-nats-0 is missing\n",
        "StatefulSet nats-nats-z2 differs from the documents of the present run\n",
        "kubectl boson apply MANIFEST",
    ] {
        assert!(damaged.out.contains(line), "{line}: {}", damaged.out);
    }
    assert!(!damaged.out.contains("StatefulSet nats-nats-z1"), "{}", damaged.out);
    assert_eq!(cluster.versions(), before);

    let restored = cluster.deploy(&[]);
    assert!(restored.out.contains("Service nats-nats-0 created\n"), "{}{}", restored.out, restored.err);
    assert!(restored.out.contains("StatefulSet nats-nats-z2 changed\n"), "{}", restored.out);
    assert!(!restored.out.contains("nats-nats-z1 changed"), "{}", restored.out);
    assert_eq!(cluster.run(&["status"]).code, 0);
}

#[test]
fn rollback_deploys_the_documents_with_the_images_of_their_run() {
    let cluster = deployed();
    let image_2 = ["--image", "nats=r/nats:2"];
    cluster.write_secrets_of(&image_2);
    assert_eq!(cluster.run(&[&["deploy", "-d", "nats"][..], &image_2].concat()).code, 0);
    assert_eq!(image(&cluster), "r/nats:2");
    // A run that is under way, with its manifest.
    let labels = |kind: &str| {
        json!({"app.kubernetes.io/managed-by": "boson", "quarks.cloudfoundry.org/deployment-name": "nats",
        "quarks.cloudfoundry.org/kind": kind})
    };
    let object =
        |kind: &str, name: &str, of: &str| json!({"kind": kind, "metadata": {"name": name, "labels": labels(of)}});
    cluster.server.store().put("batch/v1/jobs/nats-gather-1", object("Job", "nats-gather-1", "gather"));
    cluster
        .server
        .store()
        .put("secrets/nats-gather-manifest-1", object("Secret", "nats-gather-manifest-1", "manifest"));

    let unknown = cluster.run(&["rollback", "--to", "9"]);
    assert_eq!(unknown.code, 65);
    assert!(unknown.err.contains("there is no run 9") && unknown.err.contains("there are: "), "{}", unknown.err);

    let back = cluster.run(&["rollback"]);
    assert_eq!(back.code, 0, "{}", back.err);
    for line in [
        "Job nats-gather-1 stopped\n",
        "run 4 has the documents and images of run 2\n",
        "StatefulSet nats-nats-z1 changed\n",
        "instance group nats is ready\n",
    ] {
        assert!(back.out.contains(line), "{line}: {}", back.out);
    }
    assert_eq!(image(&cluster), "r/nats:1");
    assert!(cluster.server.store().get("secrets/nats-gather-manifest-1").is_none());
    assert_eq!(cluster.run(&["status"]).code, 0);

    // It goes on where it was interrupted.
    let again = cluster.run(&["rollback", "--to", "4"]);
    assert_eq!((again.code, again.out.as_str()), (0, "run 4 is the present one\ninstance group nats is ready\n"));
}

#[test]
fn a_record_without_flags_is_continued_and_its_runs_are_no_aim_of_a_rollback() {
    let cluster = deployed();
    let record = "/api/v1/namespaces/test/configmaps/nats-versions";
    let version_1 = "version: 1\nruns:\n- {run: 7, deployment: 1, groups: {nats: 1, smoke-tests: 1}}\n";
    cluster.server.store().objects.get_mut(record).unwrap()["data"]["versions.yaml"] = version_1.into();
    let status = cluster.run(&["status"]);
    let not_known = "the flags of run 7 are not known: an earlier release of boson made it";
    assert!(status.code == 0 && status.out.contains(not_known), "{}{}", status.out, status.err);

    cluster.write_secrets_of(&IMAGE);
    let runs = cluster.run(&["versions"]);
    let numbers: Vec<&str> = runs.out.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(numbers, ["RUN", "8", "7"]);
    assert_eq!(cluster.run(&["status"]).code, 0);
    let before = cluster.versions();
    let refused = cluster.run(&["rollback"]);
    assert_eq!(refused.code, 65, "{}", refused.err);
    assert!(refused.err.contains(not_known) && refused.err.contains("kubectl boson apply"), "{}", refused.err);
    assert_eq!(cluster.versions(), before);
}

#[test]
fn the_record_remembers_who_instances_were() {
    let cluster = deployed();
    let indexes = || {
        let store = cluster.server.store();
        let record = store.get("configmaps/nats-versions").unwrap();
        let text = record["data"]["identities.json"].as_str().unwrap().to_owned();
        let document: Value = serde_json::from_str(&text).unwrap();
        document["instance_groups"]["nats"]
            .as_array()
            .unwrap()
            .iter()
            .map(|i| i["index"].as_u64().unwrap())
            .collect::<Vec<_>>()
    };
    let all = indexes();
    assert!(all.len() > 1, "{all:?}");
    cluster.edit_deployment(|deployment| {
        let group = deployment.instance_groups.iter_mut().find(|group| group.name == "nats").unwrap();
        group.instances.truncate(1);
    });
    assert_eq!(indexes(), all);
    assert_eq!(cluster.run(&["rollback", "nats"]).code, 0);
    assert_eq!(indexes(), all);
}

#[test]
fn a_rollback_that_the_cluster_refuses_changes_nothing() {
    let cluster = deployed();
    cluster.write_secrets_of(&["--image", "nats=r/nats:2"]);
    let foreign = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "nats-nats-0"}, "spec": {}});
    cluster.server.store().put("services/nats-nats-0", foreign);
    let before = cluster.versions();
    let refused = cluster.run(&["rollback"]);
    assert_eq!(refused.code, 65, "{}", refused.err);
    assert!(refused.err.contains("Service nats-nats-0 exists, and does not belong to"), "{}", refused.err);
    assert_eq!(cluster.versions(), before);
    assert_eq!(cluster.run(&["rollback", "--force-conflicts"]).code, 0);
}

/// `kubectl apply` has added boson's labels to a ConfigMap of another program.
#[test]
fn an_anchor_with_data_of_others_is_refused_by_every_verb() {
    let cluster = deployed();
    let anchor = "/api/v1/namespaces/test/configmaps/nats";
    cluster.server.store().objects.get_mut(anchor).unwrap()["data"]["nats.conf"] = "port: 4222".into();
    let output = cluster.path("output");
    let output = output.to_str().unwrap();
    let deploy = ["deploy", "-d", "nats", "--image", "nats=r/nats:1", "--force-conflicts"];
    let check = [&deploy[..], &["--check", output]].concat();
    let delete = ["delete", "--with-disks", "--yes"];
    let verbs: [&[&str]; 10] = [
        &deploy,
        &check,
        &["write-secrets", "--from", output],
        &["status"],
        &["versions"],
        &["rollback", "--force-conflicts"],
        &delete,
        &["logs"],
        &["events"],
        &["errand", "smoke-tests"],
    ];
    let before = cluster.versions();
    for verb in verbs {
        let Printed { code, err, .. } = cluster.run(verb);
        assert_eq!(code, 65, "{verb:?}: {err}");
        assert!(err.contains("ConfigMap nats exists, and does not belong to deployment nats"), "{verb:?}: {err}");
        assert!(err.contains("another name"), "{verb:?}: {err}");
    }
    assert_eq!(cluster.versions(), before);
}

#[test]
fn records_and_links_of_others_are_not_overwritten() {
    let cluster = deployed();
    let record = "/api/v1/namespaces/test/configmaps/nats-versions";
    cluster.server.store().objects.get_mut(record).unwrap()["metadata"]["labels"] = json!({});
    let before = cluster.versions();
    let output = cluster.path("output");
    for verb in [&["write-secrets", "--from", output.to_str().unwrap(), "--", "--grace", "1s"][..], &["rollback"]] {
        let printed = cluster.run(verb);
        assert_eq!(printed.code, 65, "{}", printed.err);
        assert!(printed.err.contains("ConfigMap nats-versions exists, and does not belong"), "{}", printed.err);
    }
    assert_eq!(cluster.versions(), before);

    let cluster = deployed();
    let link = SharedLink { name: "bus".to_owned(), link_type: "nats".to_owned(), content: json!({"address": "a"}) };
    let shared = SharedLinks { links: vec![link] };
    cluster.put("links", LINKS_JSON, &shared.encode());
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "link-nats-bus"}, "data": {}});
    cluster.server.store().put("secrets/link-nats-bus", secret);
    let before = cluster.versions();
    let output = cluster.path("output");
    let write = ["write-secrets", "--from", output.to_str().unwrap()];
    let printed = cluster.run(&write);
    assert_eq!(printed.code, 65, "{}", printed.err);
    assert!(printed.err.contains("Secret link-nats-bus exists, and does not belong to"), "{}", printed.err);
    assert_eq!(cluster.versions(), before);
    assert_eq!(cluster.run(&[&write[..], &["--force-conflicts"]].concat()).code, 0);
}

#[test]
fn delete_says_which_disks_stay_and_deletes_them_on_request() {
    let cluster = deployed();
    let labels = json!({"quarks.cloudfoundry.org/deployment-name": "nats"});
    let claim = |name: &str, owners: Value| {
        json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "labels": labels, "ownerReferences": owners},
            "spec": {"resources": {"requests": {"storage": "1Gi"}}}})
    };
    let put = |name: &str, owners: Value| {
        cluster.server.store().put(&format!("persistentvolumeclaims/{name}"), claim(name, owners));
    };
    put("store-nats-nats-z1-0", json!([]));
    put("data-of-a-pod", json!([{"kind": "Pod", "name": "nats-nats-z1-0"}]));
    let shown = cluster.run(&["delete"]);
    assert_eq!(shown.code, 2);
    for line in
        ["PersistentVolumeClaim store-nats-nats-z1-0 stays (1Gi)\n", "--with-disks deletes these 1 disks, too\n"]
    {
        assert!(shown.out.contains(line), "{line}: {}", shown.out);
    }
    assert!(!shown.out.contains("data-of-a-pod"), "{}", shown.out);
    let shown = cluster.run(&["delete", "--with-disks"]);
    assert!(shown.out.contains("PersistentVolumeClaim store-nats-nats-z1-0\n"), "{}", shown.out);
    assert_eq!(cluster.written(), [""; 0]);

    let kept = cluster.run(&["delete", "--yes"]);
    assert_eq!(kept.code, 0, "{}", kept.err);
    let command = "kubectl delete persistentvolumeclaims --selector quarks.cloudfoundry.org/deployment-name=nats --namespace test\n";
    assert!(kept.out.contains(command), "{}", kept.out);
    assert!(cluster.server.store().get("persistentvolumeclaims/store-nats-nats-z1-0").is_some());

    cluster.write_secrets_of(&IMAGE);
    let all = cluster.run(&["delete", "--with-disks", "--yes"]);
    assert!(all.out.contains("PersistentVolumeClaim store-nats-nats-z1-0 deleted\n"), "{}{}", all.out, all.err);
    let store = cluster.server.store();
    assert_eq!(store.names("persistentvolumeclaims"), ["data-of-a-pod"]);
    assert_eq!(store.names("configmaps"), [""; 0]);
}
