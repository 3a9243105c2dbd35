//! A node that stops answering while a deployment is to be updated, and comes back. `e2e/run` runs this alone, because the pods of all
//! tests are on the same nodes.

use std::process::Command;

use e2e::here;
use serde_json::Value;

use crate::cluster::{Namespace, from_run, kubectl, output};
use crate::gathered::Gathered;

/// A node of the second zone that does not answer; it comes back when this is dropped.
struct Lost(String);

impl Lost {
    fn new() -> Lost {
        let zone = ["--selector", "topology.kubernetes.io/zone=z2"];
        let nodes = kubectl(&[&["get", "nodes", "--output", "jsonpath={.items[*].metadata.name}"][..], &zone].concat());
        let node = Lost(nodes.split_whitespace().next().unwrap().to_owned());
        node.run("pause").unwrap();
        node
    }

    fn run(&self, verb: &str) -> Result<String, String> {
        let nodes = from_run("E2E_NODES");
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{} \"$@\"", nodes.display()), "nodes", verb, &self.0]);
        output(command.current_dir(here().join("..")))
    }
}

impl Drop for Lost {
    fn drop(&mut self) {
        let back = self.run("unpause");
        assert!(back.is_ok() || std::thread::panicking(), "{back:?}");
    }
}

/// The uid of a pod.
fn uid(namespace: &Namespace, pod: &str) -> Value {
    namespace.get(&format!("pod/{pod}"))["metadata"]["uid"].clone()
}

fn is_not_ready(namespace: &Namespace, pod: &str) -> bool {
    let pod = namespace.get(&format!("pod/{pod}"));
    pod["status"]["conditions"].as_array().unwrap().iter().any(|of| of["type"] == "Ready" && of["status"] == "False")
}

const ALL: [&str; 4] = ["nats-nats-z1-0", "nats-nats-z1-1", "nats-nats-z2-0", "nats-nats-z2-1"];

#[test]
fn an_update_names_a_lost_node_and_updates_all_other_instances() {
    let nats = Gathered::new("lost-node", "nats");
    nats.edit("name: smoke-tests\n  lifecycle: errand\n  azs: [z1]", "name: smoke-tests\n  azs: [z1]");
    nats.edit(
        "  - name: smoke-tests\n    release: nats\n",
        "  - name: nats\n    release: nats\n    provides: {nats: nil}\n",
    );
    nats.edit(
        "      smoke_tests:\n        messages: 250",
        "      nats: {user: a, password: b, cluster: {user: c, password: d}}",
    );
    nats.kubectl_boson_apply(&[]).unwrap();
    let namespace = nats.namespace.clone();
    let before = ALL.map(|pod| uid(&namespace, pod));
    let single = uid(&namespace, "nats-smoke-tests-z1-0");

    let node = Lost::new();
    namespace.wait_until("the node is lost", || ALL[2..].iter().all(|pod| is_not_ready(&namespace, pod)));
    nats.edit("max_payload: 65536", "max_payload: 131072");
    nats.edit("{user: a, password: b,", "{user: a, password: changed,");
    let printed = nats.kubectl_boson_apply(&[]).unwrap_err();
    assert!(printed.starts_with("exit status: 69\n"), "{printed}");
    let label = |index: usize| format!("nats/{index} (pod {}) on node {}", ALL[index], node.0);
    let named = format!("instance group 'nats' is updated except {}, {}: the node does not answer", label(2), label(3));
    let hint = format!("kubectl taint nodes {} node.kubernetes.io/out-of-service=nodeshutdown:NoExecute", node.0);
    let force = "kubectl delete pod nats-nats-z2-0 nats-nats-z2-1 --force --grace-period=0";
    let again = "when the node is back, apply the manifest again";
    for part in [named.as_str(), &hint, force, again] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    // The zone that answers has the new version, also in the group after it.
    let during = ALL.map(|pod| uid(&namespace, pod));
    assert!(during[0] != before[0] && during[1] != before[1] && during[2] == before[2], "{before:?} {during:?}");
    assert_ne!(uid(&namespace, "nats-smoke-tests-z1-0"), single);
    let status = nats.kubectl_boson(&["status"]).unwrap_err();
    assert!(status.contains(&format!("its node {} does not answer", node.0)) && status.contains(&hint), "{status}");

    drop(node);
    nats.kubectl_boson_apply(&[]).unwrap();
    let after = ALL.map(|pod| uid(&namespace, pod));
    assert!(after[..2] == during[..2] && after[2] != before[2] && after[3] != before[3], "{during:?} {after:?}");
    nats.kubectl_boson(&["status"]).unwrap();
    nats.delete();
}
