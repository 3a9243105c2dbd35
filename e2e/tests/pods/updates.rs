//! Updates of running instances, as a director makes them: one after the other, and no further than a canary that fails.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::gathered::{Gathered, RESTRICTED};

fn apply(nats: &Gathered) -> Result<String, String> {
    let (manifest, images) = (nats.manifest(), nats.images());
    let texts = ["apply", manifest.to_str().unwrap()].into_iter().chain(images.iter().map(String::as_str));
    nats.kubectl_boson(&texts.chain(RESTRICTED).collect::<Vec<_>>())
}

/// The uids of the pods of NATS, by the indexes of their instances.
fn uids(nats: &Gathered) -> Vec<String> {
    nats.pods("nats").iter().map(|pod| pod["metadata"]["uid"].as_str().unwrap().to_owned()).collect()
}

/// How many pods of NATS are away, or not ready.
fn away(nats: &Gathered) -> usize {
    let is_ready = |pod: &&Value| {
        let conditions = pod["status"]["conditions"].as_array();
        pod["metadata"]["deletionTimestamp"].is_null()
            && conditions.is_some_and(|all| all.iter().any(|of| of["type"] == "Ready" && of["status"] == "True"))
    };
    4 - nats.pods("nats").iter().filter(is_ready).count()
}

/// Which positions differ.
fn changed(before: &[String], after: &[String]) -> Vec<usize> {
    (0..before.len()).filter(|position| before[*position] != after[*position]).collect()
}

#[test]
fn a_canary_that_fails_stops_the_update_and_a_corrected_manifest_goes_on() {
    let nats = Gathered::new("canary", "nats");
    nats.edit("5000-60000", "1000-20000");
    apply(&nats).unwrap();
    let first = uids(&nats);
    // The server does not start with this.
    nats.edit("max_payload: 65536", "max_payload: much");
    let failed = apply(&nats).unwrap_err();
    assert!(failed.starts_with("exit status: 69\n"), "{failed}");
    assert!(failed.contains("nats/0 (pod nats-nats-z1-0) is replaced, as a canary"), "{failed}");
    for (index, pod) in [(1, "z1-1"), (2, "z2-0"), (3, "z2-1")] {
        let kept = format!("nats/{index} (pod nats-nats-{pod}) keeps the earlier version");
        assert!(failed.contains(&kept), "{kept}: {failed}");
    }
    assert_eq!(changed(&first, &uids(&nats)), [0]);
    let status = nats.kubectl_boson(&["status"]).unwrap_err();
    assert!(status.contains("instance nats/3 (pod nats-nats-z2-1) runs an earlier version\n"), "{status}");

    // Nobody has to help: the broken canary is replaced first, then one after the other.
    nats.edit("max_payload: much", "max_payload: 131072");
    let broken = uids(&nats);
    let printed = std::thread::scope(|scope| {
        let run = scope.spawn(|| apply(&nats));
        let mut most = 0;
        while !run.is_finished() {
            most = most.max(away(&nats));
        }
        assert_eq!(most, 1);
        run.join().unwrap().unwrap()
    });
    assert!(
        printed.find("nats/0 (pod").unwrap() < printed.find("nats/1 (pod nats-nats-z1-1) is replaced").unwrap(),
        "{printed}"
    );
    assert_eq!(changed(&broken, &uids(&nats)), [0, 1, 2, 3]);
    nats.kubectl_boson(&["status"]).unwrap();
    nats.delete();
}

#[test]
fn instances_are_made_anew_as_far_as_disruption_budgets_allow_it() {
    let nats = Gathered::new("recreate", "nats");
    nats.edit("5000-60000", "1000-15000");
    apply(&nats).unwrap();
    let first = uids(&nats);
    nats.namespace.kubectl(&[
        "create",
        "poddisruptionbudget",
        "mine",
        "--selector",
        "quarks.cloudfoundry.org/instance-group-name=nats",
        "--min-available",
        "4",
    ]);
    let kept = nats.kubectl_boson(&["recreate", "nats/2"]).unwrap_err();
    assert!(kept.starts_with("exit status: 69\n"), "{kept}");
    assert!(kept.contains("nats/2 (pod nats-nats-z2-0) cannot be replaced now: "), "{kept}");
    assert!(kept.contains("PodDisruptionBudget"), "{kept}");
    assert_eq!(uids(&nats), first);
    nats.namespace.kubectl(&["delete", "poddisruptionbudget", "mine"]);
    // The instance that is left is known: any run goes on.
    apply(&nats).unwrap();
    assert_eq!(changed(&first, &uids(&nats)), [2]);
    let before = uids(&nats);
    nats.kubectl_boson(&["recreate", "nats/0", "nats/3", "--max-in-flight", "2"]).unwrap();
    assert_eq!(changed(&before, &uids(&nats)), [0, 3]);
    assert_eq!(uids(&nats).iter().collect::<BTreeSet<_>>().len(), 4);
    nats.delete();
}
