//! Templates in Secrets, which several servers share.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use crate::cluster::{Cluster, Secured};
use e2e::tls_client::{Client, answer};

const BASE: &str = "/apis/template.openshift.io/v1/namespaces/shop";

/// One server's answer to a request of alice.
struct Alice<'c>(&'c Client, &'c Secured);

impl Alice<'_> {
    fn send(&self, line: &str, body: &Value) -> (u16, Value) {
        let kind = if line.starts_with("PATCH") { "merge-patch+json" } else { "json" };
        let headers = ["X-Remote-User: alice", &format!("Content-Type: application/{kind}")];
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let (status, body) = answer(self.0.send(&self.1.address, line, &headers, &body).unwrap());
        (status, serde_json::from_str(&body).unwrap_or_else(|e| panic!("{e}: {body}")))
    }

    fn get(&self, path: &str) -> (u16, Value) {
        self.send(&format!("GET {BASE}/templates{path}"), &Value::Null)
    }
}

fn template(name: &str) -> Value {
    let tier = &name[..name.len().min(63)];
    json!({"kind": "Template", "apiVersion": "v1", "metadata": {"name": name, "labels": {"tier": tier}}, "objects": []})
}

#[test]
fn replicas_show_the_same_templates() {
    let cluster = Cluster::new();
    let servers = [cluster.serve(&[]), cluster.serve(&[])];
    let proxy = cluster.front_proxy();
    let [one, other] = [0, 1].map(|index| Alice(&proxy, &servers[index]));
    let all = format!("{BASE}/templates");
    let post = |server: &Alice, template: &Value| server.send(&format!("POST {all}"), template);
    let version = other.get("").1["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    let watch = |query: &str| {
        let line = format!("GET {all}?watch=true&resourceVersion={version}{query}");
        let stream = proxy.send(&servers[1].address, &line, &["X-Remote-User: alice"], "").unwrap();
        let lines = BufReader::new(stream).lines().map_while(Result::ok).filter(|line| line.starts_with('{'));
        lines.map(|line| serde_json::from_str::<Value>(&line).unwrap())
    };
    let (mut events, mut selected) = (watch(""), watch("&labelSelector=tier%3Ddb"));
    let (status, created) = post(&one, &template("web"));
    assert_eq!(status, 201, "{created}");
    assert_eq!(other.get("/web"), (200, created.clone()));
    assert_eq!(post(&other, &template("web")).1["reason"], "AlreadyExists");
    // Changes are of the newest version, whoever has made it.
    let mut changed = created.clone();
    changed["message"] = json!("x");
    let updated = other.send(&format!("PUT {all}/web"), &changed).1;
    assert_ne!(updated["metadata"]["resourceVersion"], created["metadata"]["resourceVersion"]);
    assert_eq!(updated["metadata"]["uid"], created["metadata"]["uid"]);
    assert_eq!(one.send(&format!("PUT {all}/web"), &changed).1["reason"], "Conflict");
    let patched = one.send(&format!("PATCH {all}/web"), &json!({"metadata": {"labels": {"tier": "db"}}})).1;
    assert_eq!(patched["message"], "x");
    post(&one, &template("db"));
    let dry_run = one.send(&format!("POST {all}?dryRun=All"), &template("dry")).0;
    assert_eq!((dry_run, one.get("/dry").0), (201, 404));
    let precondition = json!({"preconditions": {"resourceVersion": created["metadata"]["resourceVersion"]}});
    assert_eq!(other.send(&format!("DELETE {all}/web"), &precondition).1["reason"], "Conflict");
    assert_eq!(other.send(&format!("DELETE {all}/web"), &Value::Null).0, 200);
    assert_eq!(one.get("/web").1["reason"], "NotFound");
    let seen = |event: Value| {
        let name = event["object"]["metadata"]["name"].as_str().unwrap().to_owned();
        (event["type"].as_str().unwrap().to_owned(), name)
    };
    let pair = |kind: &str, name: &str| (kind.to_owned(), name.to_owned());
    let expected = [("ADDED", "web"), ("MODIFIED", "web"), ("MODIFIED", "web"), ("ADDED", "db"), ("DELETED", "web")];
    assert_eq!(events.by_ref().take(5).map(seen).collect::<Vec<_>>(), expected.map(|(kind, name)| pair(kind, name)));
    let expected = [("ADDED", "web"), ("ADDED", "db"), ("DELETED", "web")];
    assert_eq!(selected.by_ref().take(3).map(seen).collect::<Vec<_>>(), expected.map(|(kind, name)| pair(kind, name)));
}

#[test]
fn a_watch_that_has_lost_events_ends_with_410() {
    let cluster = Cluster::new();
    let server = cluster.serve(&[]);
    let proxy = cluster.front_proxy();
    let alice = Alice(&proxy, &server);
    alice.send(&format!("POST {BASE}/templates"), &template("web"));
    let watch = || {
        let line = format!("GET {BASE}/templates?watch=true");
        let stream = proxy.send(&server.address, &line, &["X-Remote-User: alice"], "").unwrap();
        let lines = BufReader::new(stream).lines().map_while(Result::ok).filter(|line| line.starts_with('{'));
        lines.map(|line| serde_json::from_str::<Value>(&line).unwrap())
    };
    let mut events = watch();
    assert_eq!(events.next().unwrap()["object"]["metadata"]["name"], "web");
    {
        // The API server forgets a change before the server sees it.
        let mut store = cluster.api.store();
        store.put("secrets/other", json!({"metadata": {"name": "other"}}));
        store.oldest = store.version() + 1;
    }
    let last = events.next().unwrap();
    assert_eq!((&last["type"], &last["object"]["code"]), (&json!("ERROR"), &json!(410)));
    assert!(events.next().is_none());
    // The next one begins with what there is, and goes on.
    let mut events = watch();
    assert_eq!(events.next().unwrap()["type"], "ADDED");
    alice.send(&format!("POST {BASE}/templates"), &template("db"));
    assert_eq!(events.next().unwrap()["object"]["metadata"]["name"], "db");
}

#[test]
fn secrets_hold_templates_of_any_name_and_size() {
    let cluster = Cluster::new();
    let server = cluster.serve(&[]);
    let proxy = cluster.front_proxy();
    let alice = Alice(&proxy, &server);
    let post = |template: &Value| alice.send(&format!("POST {BASE}/templates"), template);
    let long = "a".repeat(253);
    let mut large = template("large");
    large["message"] = json!("large ".repeat(500_000));
    for template in [template("web"), template(&long), large.clone(), template("a.b")] {
        assert_eq!(post(&template).0, 201);
    }
    assert_eq!(alice.get(&format!("/{long}")).1["metadata"]["name"], json!(long));
    assert_eq!(alice.get("/large").1["message"], large["message"]);
    let names = |query: &str| -> (Vec<String>, Value) {
        let (status, list) = alice.get(query);
        assert_eq!(status, 200, "{list}");
        let name = |item: &Value| item["metadata"]["name"].as_str().unwrap().to_owned();
        (list["items"].as_array().unwrap().iter().map(name).collect(), list["metadata"].clone())
    };
    assert_eq!(names("").0, ["a.b", &long, "large", "web"]);
    assert_eq!(names("?labelSelector=tier%3Dweb").0, ["web"]);
    // In parts.
    let (mut found, mut path) = (BTreeSet::new(), "?limit=3".to_owned());
    for count in [3, 1] {
        let (part, metadata) = names(&path);
        assert_eq!(part.len(), count);
        found.extend(part);
        if count == 3 {
            assert_eq!(metadata["remainingItemCount"], 1);
            path = format!("?limit=3&continue={}", metadata["continue"].as_str().unwrap());
        }
    }
    assert_eq!(found.len(), 4);
    // What does not fit is refused, as is a namespace that does not exist or ends.
    let mut random = vec![0; 2_000_000];
    std::io::Read::read_exact(&mut std::fs::File::open("/dev/urandom").unwrap(), &mut random).unwrap();
    let mut huge = template("huge");
    huge["message"] = json!(BASE64_STANDARD.encode(random));
    assert_eq!(post(&huge).1["reason"], "RequestEntityTooLarge");
    cluster.put("/api/v1/namespaces/shop", json!({"metadata": {"name": "shop", "deletionTimestamp": "x"}}));
    let refused = post(&template("late")).1;
    assert_eq!(
        (&refused["reason"], &refused["details"]["causes"][0]["reason"]),
        (&json!("Forbidden"), &json!("NamespaceTerminating"))
    );
    cluster.api.store().objects.remove("/api/v1/namespaces/shop").unwrap();
    assert_eq!(post(&template("late")).1["message"], "namespaces \"shop\" not found");
    // Secrets of others are not shown.
    cluster.api.store().put("secrets/other", json!({"metadata": {"name": "other"}, "data": {}}));
    let deleted = alice.send(&format!("DELETE {BASE}/templates"), &Value::Null).1;
    assert_eq!(deleted["items"].as_array().unwrap().len(), 4);
    assert_eq!(cluster.api.store().names("secrets"), ["other", "templates-api-authority"]);
}
