//! `boson up` on real deployments: starts, restarts and replacements, and nothing left after the stop.

mod bosh_commands;
mod cell;
mod deployment;
mod five_minutes;
mod idioms;
mod postgres;
mod soak;

use deployment::{Deployment, rows};

#[test]
fn a_nats_cluster_passes_its_smoke_tests_also_after_a_node_was_killed() {
    let nats = Deployment::up("nats");
    let status = nats.boson(&["status"]);
    assert_eq!((status.code, rows(&status, &["running"]).len()), (Some(0), 4), "{}", status.stdout);
    assert_eq!((rows(&status, &["z1"]).len(), rows(&status, &["z2"]).len()), (2, 2), "{}", status.stdout);

    let printed = nats.succeed(&["run-errand", "smoke-tests"]);
    assert!(printed.contains("ok: 1000 messages arrived on each of 4 nodes"), "{printed}");

    // By the alias of the link: all addresses, and one that answers.
    let addresses = nats.succeed(&["exec", "nats/2", "getent", "ahostsv4", "nats.service.internal"]);
    assert!((2..6).all(|n| addresses.contains(&format!("10.244.0.{n} "))), "{addresses}");
    let greet = "exec 3<>/dev/tcp/nats.service.internal/4222; head -c 4 <&3";
    assert_eq!(nats.succeed(&["exec", "nats/3", "bash", "-c", greet]), "INFO");

    nats.succeed(&["exec", "nats/1", "/bin/sh", "-c", "kill -KILL $(cat /var/vcap/sys/run/bpm/nats/nats.pid)"]);
    let status = nats.status_until(|status| status.code == Some(0) && !rows(status, &["nats/1", "137"]).is_empty());
    assert_eq!(rows(&status, &["nats/1", "running", "1"]).len(), 1, "one restart: {}", status.stdout);
    let printed = nats.succeed(&["run-errand", "smoke-tests"]);
    assert!(printed.contains("ok: 1000 messages arrived on each of 4 nodes"), "{printed}");

    let logs = nats.succeed(&["logs", "nats/2"]);
    assert!(logs.contains("Server is ready"), "{logs}");
    nats.down();
}

#[test]
fn a_changed_property_replaces_only_the_instances_that_render_it() {
    let nats = Deployment::up("nats");
    let pids = |status: &str| -> Vec<String> {
        status.lines().skip(1).filter_map(|line| Some(line.split_whitespace().nth(5)?.to_owned())).collect()
    };
    let before = nats.succeed(&["status"]);
    // Only the errand renders it.
    nats.edit("messages: 250", "messages: 100");
    assert!(nats.up_again().contains("nats: nothing has changed"));
    assert_eq!(pids(&nats.succeed(&["status"])), pids(&before));
    let printed = nats.succeed(&["run-errand", "smoke-tests"]);
    assert!(printed.contains("ok: 400 messages arrived on each of 4 nodes"), "{printed}");

    nats.edit("max_payload: 65536", "max_payload: 131072");
    let printed = nats.up_again();
    assert!((0..4).all(|n| printed.contains(&format!("nats/{n}: updated"))), "{printed}");
    let after = pids(&nats.succeed(&["status"]));
    assert!(pids(&before).iter().all(|pid| !after.contains(pid)), "{before} {after:?}");
    nats.succeed(&["run-errand", "smoke-tests"]);
    nats.down();
}

#[test]
fn jobs_that_share_an_instance_and_their_errand_run() {
    let shop = Deployment::up("shop");
    let status = shop.boson(&["status"]);
    // Three times database, backup and cache; twice web, mails and orders.
    assert_eq!((status.code, rows(&status, &["running"]).len()), (Some(0), 15), "{}", status.stdout);
    let printed = shop.succeed(&["run-errand", "migrate"]);
    assert!(printed.contains("would migrate goods on shop-storage-0.default.svc.cluster.local"), "{printed}");
    shop.down();
}
