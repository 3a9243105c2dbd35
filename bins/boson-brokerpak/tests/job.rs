//! `job`: what it prints.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::path::Path;

use common::{fail, succeed, write};
use serde::Deserialize;
use serde_json::Value as Json;

const REQUEST: &str = r#"{"service": "mail", "plan": "small", "instance_id": "I-1", "binding_id": "b", "parameters": {"password": "canary"}}"#;

fn objects(directory: &Path, arguments: &[&str]) -> Vec<Json> {
    let text = succeed(directory, arguments);
    serde_yaml::Deserializer::from_str(&text).map(|document| Json::deserialize(document).unwrap()).collect()
}

fn of<'o>(objects: &'o [Json], kind: &str) -> &'o Json {
    objects.iter().find(|object| object["kind"] == kind).unwrap()
}

/// The containers that have a token.
fn with_token(job: &Json) -> Vec<&str> {
    let pod = &job["spec"]["template"]["spec"];
    let containers = ["initContainers", "containers"].into_iter().flat_map(|key| pod[key].as_array().unwrap());
    let mounts =
        |container: &&Json| container["volumeMounts"].as_array().unwrap().iter().any(|mount| mount["name"] == "token");
    containers.filter(mounts).map(|container| container["name"].as_str().unwrap()).collect()
}

#[test]
fn terraform_has_the_request_and_no_token() {
    let work = tempfile::tempdir().unwrap();
    write(work.path().join("r.json"), REQUEST);
    write(work.path().join("c.yml"), "a: {b: c}\n");
    let arguments = [
        "job",
        "bind",
        "--request",
        "r.json",
        "--image",
        "pak:1",
        "--config",
        "c.yml",
        "--environment",
        "aws",
        "-n",
        "x",
    ];
    let printed = objects(work.path(), &arguments);
    let kinds: Vec<&str> = printed.iter().map(|object| object["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["ServiceAccount", "Role", "RoleBinding", "Secret", "Job"]);
    assert!(printed.iter().all(|object| object["metadata"]["namespace"] == "x"));
    let job = of(&printed, "Job");
    assert!(!job.to_string().contains("canary"), "parameters are in the Secret alone");
    assert_eq!(with_token(job), ["state", "finish"]);
    let pod = &job["spec"]["template"]["spec"];
    assert_eq!(pod["automountServiceAccountToken"], false);
    // An image with the tag `latest` is not looked for where the node has it.
    let containers = ["initContainers", "containers"].into_iter().flat_map(|key| pod[key].as_array().unwrap());
    assert!(containers.into_iter().all(|container| container["imagePullPolicy"] == "IfNotPresent"));
    let run = &pod["initContainers"][1];
    assert_eq!(run["image"], "pak:1");
    let command = "/bin/brokerpak leased-run --dir /state -- bind /pak --request /request/request.json --config /request/config.yml";
    let words: Vec<&str> = run["command"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    assert_eq!(words.join(" "), command);
    assert_eq!(run["envFrom"][0]["secretRef"]["name"], "aws");
    assert_eq!(pod["initContainers"][0]["restartPolicy"], "Always", "a sidecar");
    let finish: Vec<&str> =
        pod["containers"][0]["command"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    let end = ["--instance", "I-1", "--dir", "/state", "--secret"];
    assert_eq!(finish[3..8], end);
    assert_eq!(finish[9..], ["--secret-type", "mail"]);
    assert!(finish[8].starts_with("brokerpak-i-1-b-"), "{}", finish[8]);
    let secret = of(&printed, "Secret");
    assert_eq!(pod["volumes"][2]["secret"]["secretName"], secret["metadata"]["name"]);
    assert_eq!(secret["data"].as_object().unwrap().len(), 2);
}

#[test]
fn the_same_request_is_the_same_job() {
    let work = tempfile::tempdir().unwrap();
    write(work.path().join("r.json"), REQUEST);
    let arguments = ["job", "provision", "--request", "r.json", "--image", "pak:1", "--service-account", "own"];
    let first = objects(work.path(), &arguments);
    assert_eq!(first.len(), 2, "an account that exists is not printed");
    assert_eq!(first, objects(work.path(), &arguments));
    assert!(!of(&first, "Job").to_string().contains("--secret"), "only bindings have a Secret");
    write(work.path().join("r.json"), REQUEST.replace("canary", "other"));
    let second = objects(work.path(), &arguments);
    assert_ne!(of(&first, "Job")["metadata"]["name"], of(&second, "Job")["metadata"]["name"]);
}

#[test]
fn wrong_requests_print_nothing() {
    let work = tempfile::tempdir().unwrap();
    for (request, operation, message) in [
        (r#"{"plan": "small"}"#, "provision", "the request has no instance_id"),
        (r#"{"instance_id": "i"}"#, "bind", "the request has no binding_id"),
        (r#"{"instance_id": "i", "operation": "bind"}"#, "provision", "the request is not for provision"),
        ("[]", "provision", "is not a JSON object"),
    ] {
        write(work.path().join("r.json"), request);
        let stderr = fail(work.path(), &["job", operation, "--request", "r.json", "--image", "x"], 65);
        assert!(stderr.contains(message), "{stderr}");
    }
    let large = format!(r#"{{"instance_id": "i", "parameters": {{"x": "{}"}}}}"#, "x".repeat(1_000_000));
    write(work.path().join("r.json"), large);
    let stderr = fail(work.path(), &["job", "provision", "--request", "r.json", "--image", "x"], 65);
    assert!(stderr.contains("and a Secret holds 1000000"), "{stderr}");
}
