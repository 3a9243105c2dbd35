//! The same manifest again: what was deleted or edited by hand comes back, runs that are under way are joined, links of others are read
//! anew, and nothing of others is touched.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::cluster::from_run;
use crate::gathered::{Gathered, RESTRICTED};

/// Name and uid of each pod of NATS.
fn identities(nats: &Gathered) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    nats.pods("nats").iter().map(|pod| (text(&pod["metadata"]["name"]), text(&pod["metadata"]["uid"]))).collect()
}

/// Starts a run and interrupts the command as soon as the Job exists; gives the Job's name.
fn interrupted(nats: &Gathered) -> String {
    let mut command = Command::new(from_run("E2E_BOSON_CLUSTER"));
    command.args(nats.apply_arguments(&[])).args(["--namespace", &nats.namespace.name]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let job = lines.find_map(|line| line.strip_prefix("Job ").map(str::to_owned)).unwrap();
    kill(Pid::from_raw(child.id().try_into().unwrap()), Signal::SIGINT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let mut printed = String::new();
    child.stderr.take().unwrap().read_to_string(&mut printed).unwrap();
    // Between the line and the interrupt there may have been no time to say more.
    assert!(printed.is_empty() || printed.contains(&format!("Job {job} goes on")), "{printed}");
    job
}

#[test]
fn the_same_manifest_repairs_what_was_deleted_or_edited_by_hand() {
    let nats = Gathered::new("repairs", "nats");
    let job = interrupted(&nats);
    let joined = nats.kubectl_boson_apply(&[]).unwrap();
    assert!(joined.contains(&format!("Job {job} is under way already, and is followed")), "{joined}");
    let before = identities(&nats);
    assert_eq!(before.len(), 4);
    nats.kubectl_boson(&["status"]).unwrap();

    // Deleted, scaled, and edited, by hand.
    let kubectl = |arguments: &[&str]| nats.namespace.kubectl(arguments);
    kubectl(&["delete", "service", "nats-nats-0"]);
    kubectl(&["delete", "statefulset", "nats-nats-z2"]);
    kubectl(&["scale", "statefulset", "nats-nats-z1", "--replicas", "1"]);
    kubectl(&["patch", "service", "nats-nats", "--patch", r#"{"spec": {"selector": {"app": "other"}}}"#]);
    nats.namespace.wait_until("the pods are gone", || identities(&nats).len() == 1);
    let status = nats.kubectl_boson(&["status"]).unwrap_err();
    for line in ["Service nats-nats-0 is missing\n", "StatefulSet nats-nats-z2 is missing\n"] {
        assert!(status.contains(line), "{line}: {status}");
    }
    for object in ["StatefulSet nats-nats-z1", "Service nats-nats"] {
        assert!(
            status.contains(&format!("{object} differs from the documents of the present run\n")),
            "{object}: {status}"
        );
    }
    assert!(status.starts_with("exit status: 69"), "{status}");

    nats.kubectl_boson_apply(&[]).unwrap();
    let after = identities(&nats);
    assert_eq!((after.len(), &after[0]), (4, &before[0]));
    nats.kubectl_boson(&["status"]).unwrap();

    // A run with nothing to repair, and the same again after somebody has deleted the Job, change nothing.
    nats.kubectl_boson_apply(&[]).unwrap();
    kubectl(&["delete", "job", &job]);
    nats.kubectl_boson_apply(&[]).unwrap();
    assert_eq!(identities(&nats), after);
}

/// The consumer has its number of nodes from the link; its own manifest does not change.
#[test]
fn links_of_other_deployments_are_read_by_every_run() {
    let nats = Gathered::new("relinks", "nats");
    nats.edit("provides: {nats: {aliases", "provides: {nats: {shared: true, aliases");
    nats.kubectl_boson_apply(&[]).unwrap();
    let manifest = std::fs::read_to_string(nats.manifest()).unwrap();
    let errand = &manifest[manifest.find("- name: smoke-tests").unwrap()..];
    let head = &manifest[..manifest.find("instance_groups:").unwrap()];
    let consumer =
        format!("{head}instance_groups:\n{errand}").replace("name: nats\n\nreleases", "name: second\n\nreleases");
    let consumer = consumer
        .replace("    release: nats\n", "    release: nats\n    consumes: {nats: {from: nats, deployment: nats}}\n");
    let second = nats.beside("second", &consumer);
    let run = || second.kubectl_boson(&["errand", "smoke-tests", "--deployment-name", "second"]).unwrap();
    second.kubectl_boson_apply(&[]).unwrap();
    let printed = run();
    assert!(printed.contains("smoke-tests: 4 nodes"), "{printed}");
    nats.edit("  instances: 4\n", "  instances: 2\n");
    nats.kubectl_boson_apply(&[]).unwrap();
    second.kubectl_boson_apply(&[]).unwrap();
    let printed = run();
    assert!(printed.contains("smoke-tests: 2 nodes"), "{printed}");
}

#[test]
fn a_config_map_of_others_is_neither_adopted_nor_deleted() {
    let nats = Gathered::new("foreign", "nats");
    nats.namespace.kubectl(&["create", "configmap", "nats", "--from-literal", "nats.conf=port: 4222"]);
    let before = nats.namespace.get("configmap/nats");
    let message = "ConfigMap nats exists, and does not belong to deployment nats";
    let refused = nats.kubectl_boson_apply(&[]).unwrap_err();
    assert!(refused.starts_with("exit status: 65") && refused.contains(message), "{refused}");
    assert_eq!(nats.namespace.get("configmap/nats"), before);

    // kubectl adds labels to what is there, whoever made it. The data still tells.
    let job = nats.run(&RESTRICTED);
    assert_eq!(nats.ended(&job).as_deref(), Some("Failed"));
    assert!(nats.messages(&job).contains(message), "{}", nats.messages(&job));
    let refused = nats.kubectl_boson(&["delete", "nats", "--yes"]).unwrap_err();
    assert!(refused.starts_with("exit status: 65") && refused.contains(message), "{refused}");
    assert_eq!(nats.namespace.get("configmap/nats")["data"]["nats.conf"], before["data"]["nats.conf"]);
}

#[test]
fn objects_of_others_are_taken_over_only_on_request() {
    let nats = Gathered::new("takes", "nats");
    nats.namespace.kubectl(&["create", "service", "clusterip", "nats-nats-0", "--clusterip", "None"]);
    let refused = nats.kubectl_boson_apply(&[]).unwrap_err();
    assert!(refused.starts_with("exit status: 65"), "{refused}");
    assert!(refused.contains("Service nats-nats-0 exists, and does not belong to deployment nats"), "{refused}");
    assert!(refused.contains("--force-conflicts"), "{refused}");
    nats.kubectl_boson_apply(&["--force-conflicts"]).unwrap();
    nats.kubectl_boson(&["status"]).unwrap();
}
