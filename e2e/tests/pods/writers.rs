//! `write-secrets` against the real API server: several at once, killed at any point, and documents that one Secret cannot hold.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use e2e::here;
use handoff::output::{BPM_YAML, DEPLOYMENT_YAML, PROPERTIES_YAML, encode};
use handoff::versions::{VERSIONS_YAML, Versions};

use crate::cluster::{Namespace, from_run, output};

const GROUPS: [&str; 2] = ["nats", "smoke-tests"];

/// What `plan` has written for the demo's NATS, and a namespace.
struct Planned {
    namespace: Namespace,
    directory: tempfile::TempDir,
}

impl Planned {
    fn new(test: &str) -> Planned {
        let planned = Planned { namespace: Namespace::new(test), directory: tempfile::tempdir().unwrap() };
        let source = here().join("scenarios/nats/3-output");
        planned.put("deployment", DEPLOYMENT_YAML, &fs::read_to_string(source.join("deployment.yaml")).unwrap());
        for group in GROUPS {
            for (kind, key) in [("ig-resolved", PROPERTIES_YAML), ("bpm", BPM_YAML)] {
                let text = fs::read_to_string(source.join(group).join(format!("{kind}.yaml"))).unwrap();
                planned.put(&format!("{group}/{kind}"), key, &text);
            }
        }
        planned
    }

    fn put(&self, directory: &str, key: &str, text: &str) {
        let directory = self.directory.path().join(directory);
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("output.json"), encode(key, text)).unwrap();
    }

    /// Changes the properties of the group `nats`: a comment is a change of the text alone.
    fn change(&self, comment: &str) {
        let text = fs::read_to_string(here().join("scenarios/nats/3-output/nats/ig-resolved.yaml")).unwrap();
        self.put("nats/ig-resolved", PROPERTIES_YAML, &format!("{text}# {comment}\n"));
    }

    fn writer(&self) -> Command {
        let mut command = Command::new(from_run("E2E_BOSON_CLUSTER"));
        command.args(["write-secrets", "--namespace", &self.namespace.name, "--from"]).arg(self.directory.path());
        command
    }

    fn record(&self) -> Option<Versions> {
        let path = format!("-o=jsonpath={{.data.{}}}", VERSIONS_YAML.replace('.', "\\."));
        let text = self.namespace.try_kubectl(&["get", "configmap", "nats-versions", &path]).ok()?;
        Some(Versions::decode(&text, Path::new("nats-versions").to_str().unwrap()).unwrap())
    }

    /// The names of the deployment's documents.
    fn secrets(&self) -> Vec<String> {
        let names = self.namespace.kubectl(&["get", "secrets", "--output", "name"]);
        names.lines().map(|name| name.trim_start_matches("secret/").to_owned()).collect()
    }

    /// Each run of the record has all its documents.
    fn assert_complete(&self) {
        let (record, secrets) = (self.record(), self.secrets());
        for run in record.iter().flat_map(|record| &record.runs) {
            for (group, version) in &run.groups {
                for kind in ["ig-resolved", "bpm"] {
                    let name = format!("{kind}.{group}-v{version}");
                    assert!(secrets.contains(&name), "run {}: {name} is missing: {secrets:?}", run.run);
                }
            }
        }
    }
}

#[test]
fn writers_of_the_same_documents_agree_on_a_version() {
    let planned = Planned::new("writers");
    thread::scope(|scope| {
        let writers: Vec<_> = (0..6).map(|_| scope.spawn(|| output(&mut planned.writer()))).collect();
        for writer in writers {
            writer.join().unwrap().unwrap();
        }
    });
    assert_eq!(planned.record().unwrap().runs.len(), 1);
    let expected =
        ["bpm.nats-v1", "bpm.smoke-tests-v1", "deployment-v1", "ig-resolved.nats-v1", "ig-resolved.smoke-tests-v1"];
    assert_eq!(planned.secrets(), expected);
}

#[test]
fn a_writer_that_is_killed_at_any_point_leaves_valid_runs_and_is_completed_by_the_next() {
    let planned = Planned::new("killed");
    for round in 0..20 {
        planned.change(&format!("round {round}"));
        let mut writer = planned.writer().stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // Any point will do; the later ones are after the end.
        thread::sleep(Duration::from_millis(round * 8));
        writer.kill().unwrap();
        writer.wait().unwrap();
        planned.assert_complete();
    }
    output(&mut planned.writer()).unwrap();
    planned.assert_complete();
    let newest = planned.record().unwrap().runs.remove(0).groups["nats"];
    let path = format!("-o=jsonpath={{.data.{}}}", PROPERTIES_YAML.replace('.', "\\."));
    let data = planned.namespace.kubectl(&["get", "secret", &format!("ig-resolved.nats-v{newest}"), &path]);
    assert!(!data.is_empty());
    // Nothing is left of runs that were not completed, once newer ones are.
    for round in 0..4 {
        planned.change(&format!("end {round}"));
        output(&mut planned.writer()).unwrap();
    }
    let kept = planned.secrets().into_iter().filter(|name| name.starts_with("ig-resolved.nats-v")).count();
    assert_eq!(kept, 4);
}

#[test]
fn documents_that_one_secret_cannot_hold_are_divided() {
    let planned = Planned::new("divided");
    let digits = |number: u64| format!("{:016x}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29));
    planned.change(&(0..200_000).map(digits).collect::<String>());
    output(&mut planned.writer()).unwrap();
    let secrets = planned.secrets();
    assert!(secrets.contains(&"ig-resolved.nats-v1-part2".to_owned()), "{secrets:?}");
    output(&mut planned.writer()).unwrap();
    assert_eq!(planned.secrets(), secrets);
    assert_eq!(planned.record().unwrap().runs.len(), 1);
}
