//! What templates leave is collected, however much it is.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;
use std::process::Command;

use e2e::run;

/// Makes 3 GB of Strings, none of which is needed for long.
const WASTEFUL: &str = "<% 3_000.times { |i| (i.to_s * 200_000).size } %><%= p('text') %>\n";

#[test]
fn a_template_may_use_more_memory_than_there_is_over_time() {
    let work = tempfile::tempdir().unwrap();
    let root = work.path();
    let job = root.join("jobs-src/waste/waste");
    fs::create_dir_all(job.join("templates")).unwrap();
    fs::write(job.join("templates/shared.erb"), WASTEFUL).unwrap();
    fs::write(job.join("templates/apart.erb"), format!("<% $waste = 1 %>{WASTEFUL}")).unwrap();
    let templates = "templates: {shared.erb: shared, apart.erb: apart}";
    fs::write(
        job.join("spec"),
        format!("name: waste\n{templates}\npackages: []\nproperties: {{text: {{default: kept}}}}\n"),
    )
    .unwrap();
    let manifest = "name: d\nreleases: [{name: waste, version: 1}]\nstemcells: [{alias: default, os: x, version: 1}]\n\
        update: {canaries: 1, max_in_flight: 1, canary_watch_time: 1, update_watch_time: 1}\n\
        instance_groups: [{name: waste, instances: 1, vm_type: x, stemcell: default, networks: [{name: default}], \
        jobs: [{name: waste, release: waste}]}]\n";
    fs::write(root.join("manifest.yml"), manifest).unwrap();
    let outcome = run(
        &["plan", "ig-resolved", "--instance-group-name", "waste", "--output", "output.json"],
        &[("BOSH_MANIFEST_PATH", "manifest.yml"), ("BASE_DIR", "."), ("KUBE_NAMESPACE", "ns")],
        root,
    );
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let output: serde_json::Value = serde_json::from_slice(&fs::read(root.join("output.json")).unwrap()).unwrap();
    fs::write(root.join("properties.yaml"), output["properties.yaml"].as_str().unwrap()).unwrap();

    // Address space for a third of it.
    let limited = Command::new("sh")
        .args(["-c", "ulimit -v 1000000; exec \"$@\"", "sh"])
        .arg(e2e::executable("render-jobs"))
        .args(["--instance-group-name", "waste", "--pod-ordinal", "0", "--output-dir", "jobs"])
        .env("BOSH_MANIFEST_PATH", "properties.yaml")
        .env("JOBS_DIR", ".")
        .current_dir(root)
        .output()
        .unwrap();
    assert!(limited.status.success(), "{}", String::from_utf8_lossy(&limited.stderr));
    for name in ["shared", "apart"] {
        assert_eq!(fs::read_to_string(root.join("jobs/waste").join(name)).unwrap(), "kept\n");
    }
}
