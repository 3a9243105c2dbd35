//! BOSH's DNS aliases in pods.

use std::fs;

use e2e::here;
use serde_json::Value;

use crate::cluster::Namespace;
use crate::gathered::{Gathered, RESTRICTED};

/// NATS with certificates for its aliases.
fn nats(test: &str) -> Gathered {
    let nats = Gathered::new(test, "nats");
    let tls = fs::read_to_string(here().join("deployments/nats-tls.yml")).unwrap();
    let tls = tls.replace("*.default.svc", &format!("*.{}.svc", nats.namespace.name));
    nats.with_ops_file(&tls)
}

/// Prints the IPv4 addresses of a name, as the C library resolves it.
const RESOLVE: &str = r#"my ($error, @found) = getaddrinfo($ARGV[0], "", {family => AF_INET, socktype => SOCK_STREAM});
print inet_ntoa((sockaddr_in($_->{addr}))[1]), "\n" for @found;"#;

/// What a name resolves to in a container of a pod, sorted; nothing if it does not.
pub(crate) fn resolve(namespace: &Namespace, pod: &str, container: &str, name: &str) -> Vec<String> {
    let arguments =
        ["exec", pod, "--container", container, "--", "/usr/bin/perl", "-MSocket=:all", "-e", RESOLVE, name];
    let printed = namespace.try_kubectl(&arguments).unwrap_or_default();
    let mut addresses: Vec<String> =
        printed.lines().filter_map(|line| line.split_whitespace().next().map(str::to_owned)).collect();
    addresses.sort();
    addresses.dedup();
    addresses
}

/// As [`resolve`], in a pod of NATS.
fn resolve_in(nats: &Gathered, pod: &str, name: &str) -> Vec<String> {
    resolve(&nats.namespace, pod, "nats-nats", name)
}

fn addresses(pods: &[Value]) -> Vec<String> {
    let mut all: Vec<String> =
        pods.iter().filter_map(|pod| pod["status"]["podIP"].as_str().map(str::to_owned)).collect();
    all.sort();
    all
}

#[test]
fn aliases_follow_the_instances() {
    let nats = nats("aliases");
    nats.assert_complete(&nats.run(&RESTRICTED));
    let pod = "nats-nats-z1-0";
    let follows = |what: &str| {
        nats.namespace
            .wait_until(what, || resolve_in(&nats, pod, "nats.service.internal") == addresses(&nats.pods("nats")));
    };
    follows("the alias has all instances");
    // Ordinary names of the cluster, short and whole.
    for name in ["nats-nats-1", &format!("kubernetes.default.svc.{}", "cluster.local")] {
        assert!(!resolve_in(&nats, pod, name).is_empty(), "{name}");
    }
    nats.namespace.kubectl(&["delete", "pod", "nats-nats-z2-0"]);
    follows("the alias has the new pod");
    nats.edit("  instances: 4", "  instances: 5");
    nats.assert_complete(&nats.run(&RESTRICTED));
    follows("the alias has the new instance");
    nats.delete();
}

/// The aliases of the job bosh-dns: addresses that boson gives, and groups that the deployment does not have.
const OWN: &str = "- type: replace
  path: /releases/-
  value: {name: bosh-dns, version: latest}
- type: replace
  path: /instance_groups/name=nats/jobs/-
  value:
    name: bosh-dns
    release: bosh-dns
    properties:
      aliases:
        link.internal: [nats-nats.((namespace)).svc.cluster.local]
        second.internal: [nats-nats-1.((namespace)).svc.cluster.local]
        kubernetes.internal: [kubernetes.default.svc.cluster.local]
        none.internal: ['*.none.default.nats.bosh']
        gone.internal: ['*.gone.default.nats.bosh']
- type: replace
  path: /instance_groups/-
  value:
    name: none
    instances: 0
    vm_type: default
    stemcell: default
    networks: [{name: default}]
    jobs: [{name: nats, release: nats, properties: {nats: {user: a, password: b, cluster: {user: c, password: d}}}, provides: {nats: nil}}]
";

#[test]
fn aliases_of_own_addresses_are_answered_and_those_of_other_groups_are_ignored() {
    let nats = Gathered::new("alias-own", "nats").with_ops_file(OWN);
    let namespace = format!("namespace={}", nats.namespace.name);
    let arguments = [&RESTRICTED[..], &["--var", &namespace]].concat();
    let job = nats.run(&[&arguments[..], &["--strict-aliases"]].concat());
    assert_eq!(nats.ended(&job).as_deref(), Some("Failed"));
    let messages = nats.messages(&job);
    assert!(messages.contains("no instance answers the DNS alias 'gone.internal'"), "{messages}");
    assert!(!messages.contains("none.internal") && nats.pods("nats").is_empty(), "{messages}");

    nats.assert_complete(&nats.run(&arguments));
    let pod = "nats-nats-z1-0";
    let all = addresses(&nats.pods("nats"));
    nats.namespace.wait_until("the link's address is all instances", || resolve_in(&nats, pod, "link.internal") == all);
    let second = resolve_in(&nats, pod, "second.internal");
    assert!(second.len() == 1 && all.contains(&second[0]), "{second:?}");
    assert_eq!(resolve_in(&nats, pod, "kubernetes.internal").len(), 1);
    assert_eq!(resolve_in(&nats, pod, "none.internal"), [""; 0]);
    assert_eq!(resolve_in(&nats, pod, "gone.internal"), [""; 0]);
    nats.delete();
}

#[test]
fn an_alias_that_no_instance_answers_changes_nothing() {
    let nats = Gathered::new("alias-wrong", "nats");
    nats.edit("nats.service.internal}", "nats.service.internal, health_filter: unhealthy}");
    let job = nats.run(&RESTRICTED);
    assert_eq!(nats.ended(&job).as_deref(), Some("Failed"));
    let messages = nats.messages(&job);
    assert!(messages.contains("the DNS alias 'nats.service.internal'"), "{messages}");
    assert!(nats.pods("nats").is_empty());
}

#[test]
fn a_server_that_does_not_start_is_reported_with_the_reason() {
    let nats = nats("aliases-image");
    // Nobody listens there: the image cannot be pulled.
    let image = "localhost:1/missing:1";
    let mut is_image = false;
    let lines = nats.objects(&RESTRICTED);
    let lines =
        lines.lines().map(|line| match (std::mem::replace(&mut is_image, line.ends_with("- --dns-image")), line) {
            (true, _) => format!("        - {image}\n"),
            (_, "        - deploy") => format!("{line}\n        - --ready-timeout=10s\n"),
            (_, "  backoffLimit: 3") => "  backoffLimit: 0\n".to_owned(),
            _ => format!("{line}\n"),
        });
    let objects: String = lines.collect();
    let job = nats.apply_objects(&objects);
    nats.namespace.wait_until("the Job has failed", || nats.ended(&job).as_deref() == Some("Failed"));
    let messages = nats.messages(&job);
    for part in ["the server of DNS aliases, Deployment nats-bosh-dns", "is not ready after 10s", image] {
        assert!(messages.contains(part), "{part}: {messages}");
    }
}
