//! Groups whose jobs run nothing, groups without instances, and shells in instances.

use std::fs;
use std::process::Command;

use e2e::here;
use testkit::files::write_program;

use crate::cluster::{from_run, output};
use crate::gathered::{Gathered, RESTRICTED};

/// A patch that leaves a pre-start alone of a job in the image of nats.
fn pre_start_alone() -> String {
    let spec = fs::read_to_string(here().join("releases/nats/jobs/smoke-tests/spec")).unwrap();
    let old: String = spec.lines().map(|line| format!("-{line}\n")).collect();
    format!(
        "--- a/jobs/smoke-tests/spec\n+++ b/jobs/smoke-tests/spec\n@@ -1,{} +1,4 @@\n{old}\
         +name: smoke-tests\n+templates: {{pre-start.erb: bin/pre-start}}\n+packages: []\n+properties: {{}}\n\
         --- /dev/null\n+++ b/jobs/smoke-tests/templates/pre-start.erb\n@@ -0,0 +1,2 @@\n\
         +#!/bin/bash\n+echo prepared > /var/vcap/data/prepared\n",
        spec.lines().count()
    )
}

const GROUP: &str = "- type: remove
  path: /instance_groups/name=smoke-tests
- type: replace
  path: /instance_groups/-
  value:
    name: prepared
    instances: ((prepared))
    azs: [z1]
    vm_type: default
    stemcell: default
    networks: [{name: default}]
    jobs: [{name: smoke-tests, release: nats}]
";

/// `kubectl boson ssh`, with this test's kubectl.
fn ssh(nats: &Gathered, instance: &str, command: &[&str]) -> Result<String, String> {
    let path = tempfile::tempdir().unwrap();
    let kubectl = from_run("E2E_KUBECTL");
    // Without a directory it is in the path already.
    if kubectl.components().count() > 1 {
        let wrapper = format!("#!/bin/sh\nexec '{}' \"$@\"\n", kubectl.display());
        write_program(&path.path().join("kubectl"), wrapper, 0o755);
    }
    let mut ssh = Command::new(from_run("E2E_BOSON_CLUSTER"));
    let inherited = std::env::var("PATH").unwrap_or_default();
    ssh.env("PATH", format!("{}:{inherited}", path.path().display()));
    output(ssh.args(["ssh", "--namespace", &nats.namespace.name, instance, "--"]).args(command))
}

#[test]
fn a_group_of_a_pre_start_alone_is_scaled_to_none_and_back() {
    let nats = Gathered::new("scaled", "nats").with_ops_file(GROUP);
    let patch = tempfile::NamedTempFile::new().unwrap();
    fs::write(patch.path(), pre_start_alone()).unwrap();
    let patch = format!("nats={}", patch.path().display());
    let run = |instances: &str| {
        let variable = format!("prepared={instances}");
        let job = nats.run(&[&RESTRICTED[..], &["--patch", &patch, "--var", &variable]].concat());
        nats.assert_complete(&job);
        nats.pods("prepared").iter().filter(|pod| pod["metadata"]["deletionTimestamp"].is_null()).count()
    };
    assert_eq!(run("1"), 1);
    let set = "statefulset/nats-prepared-z1";
    let service = nats.namespace.get(set)["spec"]["serviceName"].clone();
    // Operators use the job's container.
    assert_eq!(ssh(&nats, "prepared/0/smoke-tests", &["cat", "/var/vcap/data/prepared"]).unwrap(), "prepared\n");
    assert_eq!(ssh(&nats, "nats/0/nats", &["ls", "/var/vcap/jobs/nats/config/bpm.yml"]).unwrap().lines().count(), 1);
    let unknown = ssh(&nats, "prepared/0/nats", &["true"]).unwrap_err();
    assert!(unknown.contains("its jobs are: smoke-tests"), "{unknown}");
    let failed = ssh(&nats, "prepared/0/smoke-tests", &["sh", "-c", "exit 7"]).unwrap_err();
    assert!(failed.contains('7'), "{failed}");

    assert_eq!(run("0"), 0);
    assert_eq!(nats.namespace.get(set)["spec"]["serviceName"], service);
    assert_eq!(run("1"), 1);
    nats.delete();
}
