//! `/var/vcap/instance` and `/var/vcap/bosh/spec.json`, where scripts find out which instance they run in.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use e2e::lone_job;
use testkit::executable;

#[test]
fn the_instance_is_described_as_on_a_vm() {
    let dir = tempfile::tempdir().unwrap();
    let elsewhere = lone_job(dir.path(), &[("config/x", "<%= spec.id %>")]).output().unwrap();
    assert!(elsewhere.status.success(), "{elsewhere:?}");
    assert!(!dir.path().join("var").exists(), "jobs that go elsewhere describe no instance");
    for index in [0u32, 1] {
        let mut render = Command::new(executable("render-jobs"));
        render.args([
            "--instance-group-name",
            "lone",
            "--replicas",
            "2",
            "--pod-ordinal",
            &index.to_string(),
            "--root",
            "root",
        ]);
        render.env("BOSH_MANIFEST_PATH", "properties.yaml").env("JOBS_DIR", ".").current_dir(dir.path());
        let output = render.output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        let vcap = dir.path().join("root/var/vcap");
        for (name, content) in [
            ("id", format!("lone-{index}")),
            ("name", "lone".into()),
            ("az", String::new()),
            ("deployment", "d".into()),
        ] {
            let file = vcap.join("instance").join(name);
            assert_eq!(fs::read_to_string(&file).unwrap(), content, "{name}");
            assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o644);
        }
        assert_eq!(vcap.join("instance").metadata().unwrap().permissions().mode() & 0o777, 0o755);
        // Where `install` puts the program.
        let monit = fs::read_link(vcap.join("bosh/bin/monit")).unwrap();
        assert!(monit.ends_with("var/vcap/all-releases/.boson/bin/monit"), "{monit:?}");
        let spec = fs::read(vcap.join("bosh/spec.json")).unwrap();
        let spec: serde_json::Value = serde_json::from_slice(&spec).unwrap();
        assert_eq!(
            (&spec["deployment"], &spec["index"], &spec["bootstrap"]),
            (&"d".into(), &index.into(), &(index == 0).into())
        );
        assert_eq!(spec["job"]["templates"][0]["name"], "lone");
        assert!(spec.get("properties").is_none(), "no secret");
    }
}
