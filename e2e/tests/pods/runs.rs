//! Looking before a run, one run at a time, and what is kept of runs.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::Value;
use testkit::random::Random;

use crate::cluster::from_run;
use crate::gathered::Gathered;

/// Edits at random: each takes two Jobs and the replacement of pods. E2E_EDITS gives another number.
const EDITS: u32 = 5;
const SEED: u64 = 20_261_128;

/// The uids of the pods of NATS, by their names.
fn uids(nats: &Gathered) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let pods = nats.pods("nats");
    let stays = |pod: &&Value| pod["metadata"]["deletionTimestamp"].is_null();
    pods.iter().filter(stays).map(|pod| (text(&pod["metadata"]["name"]), text(&pod["metadata"]["uid"]))).collect()
}

/// NATS with short watch times.
fn quick(test: &str) -> Gathered {
    let nats = Gathered::new(test, "nats");
    nats.edit("5000-60000", "1000-60000");
    nats
}

/// What `apply --out FILE` says that a run does: the names of instances with each effect.
fn planned(file: &std::path::Path, effect: &str) -> Vec<String> {
    let planned: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    let groups = planned["preview"]["groups"].as_array().unwrap();
    let instances = groups.iter().flat_map(|group| group["instances"].as_array().unwrap());
    instances.filter(|one| one["effect"] == effect).map(|one| one["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_look_leaves_nothing_and_a_planned_run_is_refused_when_something_moves() {
    let nats = quick("looks");
    let kinds = "configmaps,secrets,serviceaccounts,roles,rolebindings,jobs,statefulsets,leases";
    let labelled = || {
        nats.namespace.kubectl(&["get", kinds, "--selector", "app.kubernetes.io/managed-by=boson", "--output", "name"])
    };
    let shown = nats.kubectl_boson_apply(&["--diff"]).unwrap_err();
    assert!(shown.starts_with("exit status: 1\n"), "{shown}");
    assert_eq!(labelled(), "");

    nats.kubectl_boson_apply(&[]).unwrap();
    let same = nats.kubectl_boson_apply(&["--diff"]).unwrap();
    assert_eq!(same, "no changes\n");
    nats.edit("max_payload: 65536", "max_payload: 98304");
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("run.json");
    nats.kubectl_boson_apply(&["--out", file.to_str().unwrap()]).unwrap();
    assert_eq!(planned(&file, "replaced"), ["nats/0", "nats/1", "nats/2", "nats/3"]);
    nats.namespace.kubectl(&["delete", "service", "nats-nats-1"]);
    let before = uids(&nats);
    let refused = nats.kubectl_boson(&["apply", file.to_str().unwrap()]).unwrap_err();
    assert!(refused.starts_with("exit status: 69\n") && refused.contains("run-outdated"), "{refused}");
    assert_eq!(uids(&nats), before);
    nats.delete();
}

#[test]
fn a_run_is_refused_beside_another_one_and_stops_when_it_is_cancelled() {
    let nats = quick("leases");
    nats.kubectl_boson_apply(&[]).unwrap();
    let budget = ["create", "poddisruptionbudget", "mine", "--min-available", "4"];
    nats.namespace
        .kubectl(&[&budget[..], &["--selector", "quarks.cloudfoundry.org/instance-group-name=nats"]].concat());
    nats.edit("1000-60000", "1000-3600000");
    nats.edit("max_payload: 65536", "max_payload: 98304");
    let mut apply = Command::new(from_run("E2E_BOSON_CLUSTER"));
    apply.args(nats.apply_arguments(&[])).args(["--namespace", &nats.namespace.name]).stdout(Stdio::piped());
    let child = apply.stderr(Stdio::piped()).spawn().unwrap();
    let holder = || {
        let lease = nats.namespace.try_kubectl(&["get", "lease", "nats-run", "--output", "json"]).ok()?;
        let lease: Value = serde_json::from_str(&lease).unwrap();
        lease["spec"]["holderIdentity"].as_str().filter(|holder| !holder.is_empty()).map(str::to_owned)
    };
    nats.namespace.wait_until("the run holds the Lease", || holder().is_some());
    let holder_of_run = holder().unwrap();
    assert!(holder_of_run.starts_with("nats-gather-"), "{holder_of_run}");
    nats.namespace.wait_until("the run is held up", || {
        nats.namespace
            .try_kubectl(&["logs", &holder_of_run, "-c", "deploy"])
            .is_ok_and(|log| log.contains("cannot be replaced now"))
    });
    // The account of the run may get, create and change Leases.
    let tasks = nats.kubectl_boson(&["tasks"]).unwrap();
    assert!(tasks.lines().nth(1).unwrap().starts_with("2   processing"), "{tasks}");
    let refused = nats.kubectl_boson(&["recreate", "nats/1"]).unwrap_err();
    assert!(refused.starts_with("exit status: 69\n") && refused.contains("update-under-way"), "{refused}");

    let before = uids(&nats);
    let cancelled = nats.kubectl_boson(&["cancel"]).unwrap();
    assert!(cancelled.contains(&format!("the run of {holder_of_run} has stopped")), "{cancelled}");
    assert_eq!(holder(), None);
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(69), "{}", String::from_utf8_lossy(&ended.stderr));
    nats.namespace.kubectl(&["delete", "poddisruptionbudget", "mine"]);
    assert_eq!(uids(&nats), before);
    let tasks = nats.kubectl_boson(&["tasks"]).unwrap();
    let state = tasks.lines().nth(1).unwrap().split_whitespace().nth(1).unwrap();
    assert!(["cancelled", "interrupted"].contains(&state), "{tasks}");
    // The next run goes on.
    nats.kubectl_boson_apply(&["--canaries", "0", "--max-in-flight", "4"]).unwrap();
    assert!(uids(&nats).iter().zip(&before).all(|(now, before)| now != before));
    let events = nats.kubectl_boson(&["events"]).unwrap();
    assert!(events.contains("InstanceReplaced") && events.contains("RunSucceeded"), "{events}");
    nats.delete();
}

/// What `apply --out` says before is exactly what `apply FILE` replaces, makes and removes, by the uids of pods.
#[test]
fn exactly_those_pods_change_that_a_planned_run_names() {
    let nats = quick("random");
    nats.edit("instances: 4", "instances: ((count))");
    nats.edit("max_payload: 65536", "max_payload: ((payload))");
    let mut random = Random::new(SEED);
    let (mut count, mut payload) = (4, 65_536);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("run.json");
    let file_name = file.to_str().unwrap();
    let edits = std::env::var("E2E_EDITS").map_or(EDITS, |number| number.parse().unwrap());
    for edit in 0..=edits {
        if edit > 0 {
            count = if random.one_in(2) { count } else { 2 + random.below(4) };
            payload += if random.one_in(2) { 0 } else { 1024 };
        }
        let (count_flag, payload_flag) = (format!("count={count}"), format!("payload={payload}"));
        let mut flags = vec![
            "--var",
            &count_flag,
            "--var",
            &payload_flag,
            "--canaries",
            "0",
            "--max-in-flight",
            "5",
            "--out",
            file_name,
        ];
        if edit > 0 && random.one_in(4) {
            flags.push("--recreate");
        }
        nats.kubectl_boson_apply(&flags).unwrap();
        let before = uids(&nats);
        let applied = nats.kubectl_boson(&["apply", file_name]);
        assert!(applied.is_ok(), "edit {edit}: {flags:?}: {applied:?}");
        let after = uids(&nats);
        let is_in = |all: &[(String, String)], (name, _): &(String, String)| all.iter().any(|(known, _)| known == name);
        let new = after.iter().filter(|pod| !is_in(&before, pod)).count();
        let gone = before.iter().filter(|pod| !is_in(&after, pod)).count();
        let replaced = after.iter().filter(|pod| is_in(&before, pod) && !before.contains(pod)).count();
        let predicted = ["new", "removed", "replaced"].map(|effect| planned(&file, effect).len());
        assert_eq!(predicted, [new, gone, replaced], "edit {edit}: {flags:?}: {before:?} {after:?}");
    }
    let tasks = nats.kubectl_boson(&["tasks"]).unwrap();
    assert_eq!(tasks.lines().skip(1).filter(|line| line.contains(" done ")).count(), EDITS as usize + 1, "{tasks}");
    nats.delete();
}
