//! `kubectl boson apply` against an API server without controllers: variables are generated before anything is applied.
#![allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

use serde_json::json;
use testkit::api_server::ApiServer;

const MANIFEST: &str = "name: shop
releases: [{name: web, version: 1}]
instance_groups:
- name: web
  jobs:
  - {name: web, release: web, properties: {password: ((password)), tls: ((tls)), key: ((key.public_key))}}
variables:
- {name: password, type: password}
- {name: ca, type: certificate, options: {is_ca: true, common_name: ca, key_length: 2048}}
- {name: tls, type: certificate, options: {ca: ca, common_name: web, key_length: 2048}}
- {name: key, type: ssh}
";

/// A manifest, and a cluster in which every Job completes at once.
struct Fixture {
    server: ApiServer,
    directory: tempfile::TempDir,
}

impl Fixture {
    fn new(manifest: &str) -> Fixture {
        let server = ApiServer::start();
        server.set_hook(Box::new(|request, store| {
            if let Some(job) = store.objects.get_mut(&request.path).filter(|_| request.path.contains("/jobs/")) {
                job["status"] = json!({"succeeded": 1, "conditions": [{"type": "Complete", "status": "True"}]});
            }
            None
        }));
        let directory = tempfile::tempdir().unwrap();
        server.write_kubeconfig(&directory.path().join("kubeconfig"));
        fs::write(directory.path().join("m.yml"), manifest).unwrap();
        Fixture { server, directory }
    }

    fn apply(&self) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_boson-cluster"));
        command.args(["apply", "m.yml", "--registry", "r", "--vars-store", "creds.yml", "--kubeconfig", "kubeconfig"]);
        command.current_dir(self.directory.path()).output().unwrap()
    }

    fn store(&self) -> String {
        fs::read_to_string(self.directory.path().join("creds.yml")).unwrap()
    }
}

#[test]
fn one_command_generates_and_applies() {
    let fixture = Fixture::new(MANIFEST);
    let first = fixture.apply();
    let printed = String::from_utf8_lossy(&first.stderr);
    assert!(first.status.success(), "{printed}");
    assert!(printed.starts_with("generating 4 variables, 3 keys\ngenerated "), "{printed}");
    assert!(printed.contains("generated tls ("), "{printed}");
    let values = fixture.store();
    let names: Vec<&str> = values
        .lines()
        .filter(|line| !line.starts_with([' ', '#', '-']))
        .filter_map(|line| Some(line.split_once(':')?.0))
        .collect();
    assert_eq!(names, ["ca", "key", "password", "tls"]);
    let mode = fs::metadata(fixture.directory.path().join("creds.yml")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o600);
    let jobs = || fixture.server.store().names("batch/v1/jobs").into_iter().map(str::to_owned).collect::<Vec<_>>();
    let applied = jobs();
    assert_eq!(applied.len(), 1, "{applied:?}");

    // The same values are the same content.
    let second = fixture.apply();
    assert!(second.status.success(), "{}", String::from_utf8_lossy(&second.stderr));
    assert!(!String::from_utf8_lossy(&second.stderr).contains("generat"), "generated again");
    assert_eq!((fixture.store(), jobs()), (values, applied));
}

#[test]
fn what_is_wrong_is_reported_before_anything_is_generated_or_applied() {
    for (right, wrong, message) in [
        ("type: ssh", "type: shh", "Unsupported value type: shh"),
        ("((key.public_key))", "((key.publick_key))", "publick_key"),
        ("((password))", "((pasword))", "the manifest has a variable without a value"),
        ("releases: [{name: web, version: 1}]\n", "", "the manifest has no releases"),
    ] {
        let fixture = Fixture::new(&MANIFEST.replace(right, wrong));
        let output = fixture.apply();
        let printed = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(65), "{printed}");
        assert!(printed.contains(message), "{printed}");
        assert!(!printed.contains("generating"), "{printed}");
        assert!(!fixture.directory.path().join("creds.yml").exists());
        assert_eq!(fixture.server.take_writes(), [""; 0]);
    }
}
