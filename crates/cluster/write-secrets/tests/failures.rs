//! The failure modes of Quarks' `persist-output`, P1 to P15, none of which `write-secrets` has. P13 to P15 are also in the tests of
//! `kubernetes-objects`, P12 in those of the modules here.
#![allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use clap::Parser;
use cluster::Connection;
use handoff::output::{BPM_YAML, DEPLOYMENT_YAML, PROPERTIES_YAML, encode};
use handoff::versions::{VERSIONS_YAML, Versions};
use problem::{Problems, code};
use serde_json::{Value, json};
use testkit::api_server::{ApiServer, failure};
use write_secrets::Options;

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    options: Options,
    #[command(flatten)]
    common: startup::Common,
}

/// What `plan` has written for the demo's NATS, and a cluster.
struct Run {
    server: ApiServer,
    directory: tempfile::TempDir,
}

impl Run {
    fn new() -> Run {
        let run = Run { server: ApiServer::start(), directory: tempfile::tempdir().unwrap() };
        run.server.write_kubeconfig(&run.directory.path().join("kubeconfig"));
        let source = e2e::here().join("scenarios/nats/3-output");
        run.put("deployment", DEPLOYMENT_YAML, &fs::read_to_string(source.join("deployment.yaml")).unwrap());
        for group in ["nats", "smoke-tests"] {
            for (kind, key) in [("ig-resolved", PROPERTIES_YAML), ("bpm", BPM_YAML)] {
                let text = fs::read_to_string(source.join(group).join(format!("{kind}.yaml"))).unwrap();
                run.put(&format!("{group}/{kind}"), key, &text);
            }
        }
        run
    }

    fn output(&self) -> std::path::PathBuf {
        self.directory.path().join("output")
    }

    fn put(&self, directory: &str, key: &str, text: &str) {
        let directory = self.output().join(directory);
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("output.json"), encode(key, text)).unwrap();
    }

    /// Changes a document of the group `nats`: a comment is a change of the text alone.
    fn change(&self, comment: &str) {
        let path = e2e::here().join("scenarios/nats/3-output/nats/ig-resolved.yaml");
        let text = fs::read_to_string(path).unwrap();
        self.put("nats/ig-resolved", PROPERTIES_YAML, &format!("{text}# {comment}\n"));
    }

    fn write(&self) -> Result<(), Problems> {
        write(self.directory.path(), &[])
    }

    fn versions(&self) -> Versions {
        let store = self.server.store();
        let record = store.get("configmaps/nats-versions").unwrap();
        Versions::decode(record["data"][VERSIONS_YAML].as_str().unwrap(), "record").unwrap()
    }

    fn secrets(&self) -> Vec<String> {
        self.server.store().names("secrets").into_iter().map(str::to_owned).collect()
    }
}

fn write(directory: &Path, more: &[&str]) -> Result<(), Problems> {
    let from = directory.join("output");
    let arguments = [&["write-secrets", "--from", from.to_str().unwrap()], more].concat();
    let command = Command::parse_from(arguments);
    let kubeconfig = Some(directory.join("kubeconfig"));
    let connection = Connection { kubeconfig, ..Connection::default() };
    write_secrets::run(Options { connection, ..command.options }, &command.common).map(drop)
}

const FIRST: [&str; 5] =
    ["bpm.nats-v1", "bpm.smoke-tests-v1", "deployment-v1", "ig-resolved.nats-v1", "ig-resolved.smoke-tests-v1"];

/// P1, P3: what else runs in the pod, or has failed there, does not matter. P2, P4, P5: nothing is watched or polled, and a run
/// without changes needs few requests.
#[test]
fn p1_to_p5_a_run_waits_for_nothing() {
    let run = Run::new();
    let sidecar = json!({"metadata": {"name": "nats-gather-x"}, "status": {"containerStatuses": [{"name": "istio-proxy",
        "state": {"running": {}}}]}});
    run.server.store().put("pods/nats-gather-x", sidecar);
    run.write().unwrap();
    assert_eq!(run.secrets(), FIRST);
    let requests = std::sync::Arc::new(AtomicU32::new(0));
    let count = std::sync::Arc::clone(&requests);
    run.server.set_hook(Box::new(move |_, _| {
        count.fetch_add(1, Ordering::Relaxed);
        None
    }));
    run.write().unwrap();
    assert!(requests.load(Ordering::Relaxed) < 20, "{requests:?}");
}

/// P6: a run that fails exits with a failure, so that its container is started again, and the next run completes it.
#[test]
fn p6_a_failed_run_is_completed_by_the_next() {
    let run = Run::new();
    let mut writes = 0;
    run.server.set_hook(Box::new(move |request, _| {
        writes += u32::from(request.method != "GET");
        (request.method != "GET" && writes > 3).then(|| failure(403, "Forbidden", "cannot create resource \"secrets\""))
    }));
    let problems = run.write().unwrap_err();
    assert_eq!((problems.exit_code(), problems.iter().next().unwrap().code), (70, code::CLUSTER_FORBIDDEN));
    assert!(problems.to_string().contains("cannot create Secret "), "{problems}");
    run.server.set_hook(Box::new(|_, _| None));
    run.write().unwrap();
    assert_eq!(run.secrets(), FIRST);
}

/// P7: documents are read before anything is written. P13: it is the content of documents that counts, no exit code.
#[test]
fn p7_p13_wrong_documents_change_nothing_and_are_reported_together() {
    let run = Run::new();
    fs::write(run.output().join("nats/bpm/output.json"), "{\"bpm.yaml\": ").unwrap();
    fs::remove_file(run.output().join("smoke-tests/ig-resolved/output.json")).unwrap();
    let problems = run.write().unwrap_err();
    assert_eq!((problems.exit_code(), problems.iter().count()), (65, 2), "{problems}");
    assert_eq!(run.server.take_writes(), [""; 0]);
}

/// P8: the documents of a group have one version, and no run is valid before the record names it.
#[test]
fn p8_the_record_is_written_last_and_names_pairs() {
    let run = Run::new();
    run.write().unwrap();
    run.change("other");
    // Between the Secrets and the record.
    run.server.set_hook(Box::new(|request, _| {
        request
            .path
            .ends_with("/nats-versions")
            .then(|| failure(403, "Forbidden", "no"))
            .filter(|_| request.method == "PATCH")
    }));
    run.write().unwrap_err();
    assert_eq!(run.versions().runs.len(), 1);
    run.server.set_hook(Box::new(|_, _| None));
    run.write().unwrap();
    let runs = run.versions().runs;
    assert_eq!((runs.len(), runs[0].groups["nats"], runs[0].groups["smoke-tests"]), (2, 2, 1));
    assert!(["ig-resolved.nats-v2", "bpm.nats-v2"].iter().all(|name| run.secrets().contains(&(*name).to_owned())));
}

/// P9: writers of the same documents agree on a version; writers of different ones get different versions.
#[test]
fn p9_two_writers_race() {
    let run = Run::new();
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4).map(|_| scope.spawn(|| write(run.directory.path(), &[]))).collect();
        writers.into_iter().for_each(|writer| writer.join().unwrap().unwrap());
    });
    assert_eq!(run.secrets(), FIRST);
    assert_eq!(run.versions().runs.len(), 1);

    // Another writer takes the next version with other content just before.
    run.change("ours");
    run.server.set_hook(Box::new(|request, store| {
        let name = request.body["metadata"]["name"].as_str().unwrap_or_default();
        if request.method == "POST"
            && name == "ig-resolved.nats-v2"
            && store.get("secrets/ig-resolved.nats-v2").is_none()
        {
            let mut other = request.body.clone();
            other["data"] = json!({"properties.yaml": "b3RoZXI="});
            store.put("secrets/ig-resolved.nats-v2", other);
        }
        None
    }));
    run.write().unwrap();
    assert_eq!(run.versions().runs[0].groups["nats"], 3);
}

/// P10: what others add to a Secret makes no new version.
#[test]
fn p10_foreign_labels_do_not_matter() {
    let run = Run::new();
    run.write().unwrap();
    for name in FIRST {
        let mut store = run.server.store();
        let mut secret = store.get(&format!("secrets/{name}")).unwrap().clone();
        secret["metadata"]["labels"]["example.com/backup"] = "daily".into();
        secret["metadata"]["annotations"] = json!({"example.com/a": "b"});
        store.put(&format!("secrets/{name}"), secret);
    }
    let before = run.server.store().versions();
    run.write().unwrap();
    assert_eq!(run.server.store().versions(), before);
}

/// P11: an error of the API server is an error, not the absence of earlier versions; one that passes is tried again.
#[test]
fn p11_an_error_is_not_an_empty_list() {
    let run = Run::new();
    run.write().unwrap();
    run.server.take_writes();
    run.server.set_hook(Box::new(|request, _| {
        request.path.ends_with("/secrets").then(|| failure(403, "Forbidden", "cannot list resource \"secrets\""))
    }));
    assert!(run.write().unwrap_err().to_string().contains("cannot list Secrets"));
    assert_eq!(run.server.take_writes(), [""; 0]);
    let mut failures = 2;
    run.server.set_hook(Box::new(move |_, _| {
        failures -= i32::from(failures > 0);
        (failures > 0).then(|| failure(503, "ServiceUnavailable", "etcd has no leader"))
    }));
    let before = run.server.store().versions();
    run.write().unwrap();
    assert_eq!(run.server.store().versions(), before);
}

/// P12: old versions are deleted, except those that a rollback can return to and those that are mounted.
#[test]
fn p12_versions_that_nothing_uses_are_deleted() {
    let run = Run::new();
    run.write().unwrap();
    let mounts = json!({"metadata": {"name": "nats-nats-z1-0", "labels": {"quarks.cloudfoundry.org/deployment-name": "nats"}},
        "spec": {"volumes": [{"name": "resolved-properties", "secret": {"secretName": "ig-resolved.nats-v1"}}]}});
    run.server.store().put("pods/nats-nats-z1-0", mounts);
    for number in 2..=6 {
        run.change(&number.to_string());
        run.write().unwrap();
    }
    let of_nats: Vec<String> = run.secrets().into_iter().filter(|name| name.starts_with("ig-resolved.nats")).collect();
    assert_eq!(of_nats, [1, 3, 4, 5, 6].map(|version| format!("ig-resolved.nats-v{version}")));
    let runs: Vec<u32> = run.versions().runs.iter().map(|run| run.run).collect();
    assert_eq!(runs, [6, 5, 4, 3]);
}

/// P12: a document that one Secret cannot hold is compressed, or divided.
#[test]
fn p12_large_documents_are_compressed_and_divided() {
    let run = Run::new();
    let digits = |number: u64| format!("{:016x}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29));
    let noise: String = (0..200_000).map(digits).collect();
    run.change(&noise);
    run.write().unwrap();
    let first: Value = run.server.store().get("secrets/ig-resolved.nats-v1").unwrap().clone();
    assert_eq!(first["data"].as_object().unwrap().keys().collect::<Vec<_>>(), ["properties.yaml.gz.1"]);
    assert!(run.secrets().contains(&"ig-resolved.nats-v1-part2".to_owned()), "{:?}", run.secrets());
    let before = run.server.store().versions();
    run.write().unwrap();
    assert_eq!(run.server.store().versions(), before);
    run.change(&"even ".repeat(400_000));
    run.write().unwrap();
    let second: Value = run.server.store().get("secrets/ig-resolved.nats-v2").unwrap().clone();
    assert_eq!(second["data"].as_object().unwrap().keys().collect::<Vec<_>>(), ["properties.yaml.gz"]);
}

/// An object of somebody else that has the anchor's name does not become the owner of a deployment.
#[test]
fn a_foreign_object_with_the_deployments_name_is_refused() {
    let run = Run::new();
    run.server.store().put("configmaps/nats", json!({"metadata": {"name": "nats"}}));
    let problems = run.write().unwrap_err();
    assert_eq!(problems.iter().next().unwrap().code, code::CLUSTER_CONFLICT);
    assert_eq!(run.server.take_writes(), [""; 0]);
}

/// Older gather Jobs and their manifests are deleted, so that an earlier manifest can be applied again.
#[test]
fn earlier_gather_jobs_are_deleted() {
    let run = Run::new();
    let labels =
        |kind: &str| json!({"quarks.cloudfoundry.org/deployment-name": "nats", "quarks.cloudfoundry.org/kind": kind});
    for (number, name) in ["old", "new"].iter().enumerate() {
        let secret = format!("nats-gather-manifest-{name}");
        let job = json!({"metadata": {"name": name, "labels": labels("gather"),
                "creationTimestamp": format!("2026-01-01T00:00:0{number}Z")},
            "spec": {"template": {"spec": {"volumes": [{"secret": {"secretName": secret}}]}}}});
        let manifest = json!({"metadata": {"name": secret, "labels": labels("manifest")}});
        let mut store = run.server.store();
        store.put(&format!("batch/v1/jobs/{name}"), job);
        store.put(&format!("secrets/{secret}"), manifest);
    }
    write(run.directory.path(), &["--gather-job", "new"]).unwrap();
    assert_eq!(run.server.store().names("batch/v1/jobs"), ["new"]);
    let manifests: Vec<String> = run.secrets().into_iter().filter(|name| name.contains("manifest")).collect();
    assert_eq!(manifests, ["nats-gather-manifest-new"]);
}
