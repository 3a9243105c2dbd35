//! Links of other deployments, and of Services that no deployment runs.

use serde_json::{Value, json};

use crate::gathered::{Gathered, RESTRICTED};

/// A deployment with nothing but an errand.
const CONSUMER: &str = "\
name: NAME
releases:
- {name: RELEASE, version: latest}
stemcells:
- {alias: default, os: ubuntu-jammy, version: latest}
update: {canaries: 1, max_in_flight: 1, canary_watch_time: 5000-60000, update_watch_time: 5000-60000}
instance_groups:
- name: ERRAND
  lifecycle: errand
  azs: [z1]
  instances: 1
  vm_type: default
  stemcell: default
  networks: [{name: default}]
  jobs:
  - {name: ERRAND, release: RELEASE, consumes: {RELEASE: {from: RELEASE, deployment: PROVIDER}}}
";

/// Deploys an errand beside another deployment, with a link of the type `release` of that name; gives what it printed.
fn consume(beside: &Gathered, name: &'static str, release: &str, errand: &str, provider: &str) -> String {
    let manifest = CONSUMER.replace("NAME", name).replace("RELEASE", release);
    let consumer = beside.beside(name, &manifest.replace("ERRAND", errand).replace("PROVIDER", provider));
    consumer.assert_complete(&consumer.run(&RESTRICTED));
    consumer.kubectl_boson(&["errand", errand, "--deployment-name", name]).unwrap()
}

#[test]
fn a_deployment_consumes_a_link_of_another() {
    let nats = Gathered::new("across", "nats");
    nats.edit("provides: {nats: {aliases", "provides: {nats: {shared: true, aliases");
    nats.assert_complete(&nats.run(&RESTRICTED));
    let printed = consume(&nats, "second", "nats", "smoke-tests", "nats");
    assert!(printed.contains("smoke-tests: 4 nodes"), "{printed}");
}

/// A PostgreSQL server as somebody runs it without boson.
const SERVER: &str = "set -e
printf %s 'of the Secret' >/tmp/password
programs=$(echo /usr/lib/postgresql/*/bin)
\"$programs/initdb\" -D /data/db -U admin --pwfile /tmp/password --auth-host scram-sha-256 --auth-local trust
echo 'host all all all scram-sha-256' >>/data/db/pg_hba.conf
exec \"$programs/postgres\" -D /data/db -c listen_addresses='*' -c unix_socket_directories=/tmp
";

/// The server, and the Service and Secret that provide its link.
fn outside() -> [Value; 3] {
    let labels = json!({"app": "database"});
    let security = json!({"runAsUser": 1000, "runAsNonRoot": true, "allowPrivilegeEscalation": false,
        "capabilities": {"drop": ["ALL"]}, "seccompProfile": {"type": "RuntimeDefault"}});
    let container = json!({"name": "postgres", "image": "boson-e2e/postgres:latest", "imagePullPolicy": "Never",
        "command": ["/bin/sh", "-c", SERVER], "securityContext": security,
        "volumeMounts": [{"name": "data", "mountPath": "/data"}, {"name": "tmp", "mountPath": "/tmp"}]});
    let volumes = json!([{"name": "data", "emptyDir": {}}, {"name": "tmp", "emptyDir": {}}]);
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "database", "labels": labels},
        "spec": {"containers": [container], "volumes": volumes}});
    let service = json!({"apiVersion": "v1", "kind": "Service",
        "metadata": {"name": "database", "labels": {"quarks.cloudfoundry.org/link-provider-name": "postgres"}},
        "spec": {"selector": labels, "ports": [{"port": 5432}]}});
    let properties =
        json!({"postgres": {"port": 5432, "database": "postgres", "user": "admin", "password": "of the Secret"}});
    let link = json!({"service": "database", "properties": properties});
    let secret = json!({"apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "link-outside-postgres", "labels": {"quarks.cloudfoundry.org/entanglement": "true"}},
        "stringData": {"postgres": link.to_string()}});
    [pod, service, secret]
}

#[test]
fn a_deployment_consumes_a_plain_service_with_a_secret() {
    let postgres = Gathered::new("plain", "postgres");
    for object in outside() {
        postgres.namespace.apply(&object.to_string());
    }
    postgres.namespace.wait_until_ready("database");
    let printed = consume(&postgres, "third", "postgres", "rows", "outside");
    assert!(printed.contains("run 1: wrote 100 rows"), "{printed}");
}

/// A Secret provides a link of a Service that no deployment runs; one that lacks what such links have changes nothing.
#[test]
fn a_link_that_lacks_properties_changes_nothing() {
    let nats = Gathered::new("links", "nats").with_ops_file(
        "- {type: replace, path: /instance_groups/name=smoke-tests/jobs/name=smoke-tests/consumes?/nats, value: {from: bus, deployment: outside}}\n",
    );
    let link = json!({"service": "bus", "properties": {}});
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "link-outside-bus"},
        "stringData": {"nats": link.to_string()}});
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "bus"},
        "spec": {"clusterIP": "None"}});
    nats.namespace.apply(&secret.to_string());
    nats.namespace.apply(&service.to_string());
    let job = nats.run(&RESTRICTED);
    let messages = nats.messages(&job);
    assert!(messages.contains("lacks properties that links of the type 'nats' have"), "{messages}");
    assert!(nats.pods("nats").is_empty());
}
