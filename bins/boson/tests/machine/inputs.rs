//! Ops files, variables and configs of `boson up`.

use std::fs;
use std::process::Stdio;

use crate::Machine;

const OPS: &str = "- type: replace
  path: /instance_groups/name=web/jobs/name=web/properties/greeting
  value: ((greeting))
- type: replace
  path: /instance_groups/name=web/instances
  value: ((count))
";

/// What the process that holds a deployment was called with.
fn command_lines(machine: &Machine) -> String {
    let directory = machine.path("").canonicalize().unwrap();
    let mut lines = String::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        if fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd == directory) {
            lines += &fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default().replace('\0', " ");
            lines.push('\n');
        }
    }
    lines
}

#[test]
fn operations_and_variables_are_applied_before_planning() {
    let machine = Machine::new();
    machine.write("ops.yml", OPS);
    machine.write("vars.yml", "count: 1\n");
    let inputs = ["-o", "ops.yml", "-l", "vars.yml", "-v", "greeting=only-for-this-test"];
    machine.up(&inputs).ends_with(0);
    let status = machine.boson(&["status"]).ends_with(0).stdout;
    assert!(status.contains("web/0") && !status.contains("web/1"), "{status}");
    let shown = machine.boson(&["exec", "web/0", "--", "cat", "/var/vcap/jobs/web/config/greeting"]);
    assert!(shown.ends_with(0).stdout.contains("only-for-this-test"));
    let lines = command_lines(&machine);
    assert!(lines.contains("--background"), "{lines}");
    assert!(!lines.contains("only-for-this-test"), "{lines}");
    // Nothing has changed: a manifest with the same result is the same deployment.
    let again = machine.up(&inputs).ends_with(0);
    assert!(again.stdout.contains("nothing has changed"), "{}", again.stdout);
}

#[test]
fn the_manifest_and_variables_may_be_streams() {
    let machine = Machine::new();
    machine.write("ops.yml", OPS);
    machine.edit("manifest.yml", "---\nname: small\n", "---\n");
    let script = "boson=$1; shift; cat manifest.yml | \"$boson\" up -m - -r release --detach -d small -o ops.yml \
                  -l <(echo 'count: 1') --vars-env SMALL --runtime-config <(echo 'tags: {a: b}')";
    let boson = machine.command(&[]).get_program().to_owned();
    let mut command = std::process::Command::new("bash");
    let environment =
        machine.command(&[]).get_envs().map(|(k, v)| (k.to_owned(), v.map(ToOwned::to_owned))).collect::<Vec<_>>();
    for (name, value) in environment {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let output = command
        .args(["-c", script, "bash"])
        .arg(boson)
        .env("SMALL_greeting", "hello")
        .current_dir(machine.path(""))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let status = machine.boson(&["status"]).ends_with(0).stdout;
    assert!(status.contains("web/0") && !status.contains("web/1"), "{status}");
}

#[test]
fn problems_of_inputs_are_reported_with_their_places_and_before_anything_starts() {
    let machine = Machine::new();
    machine.write("ops.yml", OPS);
    machine.write("vars.yml", "greeting: hello\ncount: s3cret\n");
    let up = machine.up(&["-o", "ops.yml", "-l", "vars.yml"]).ends_with(65);
    let expected =
        "Property 'instances' value (a String) did not match the required type 'Integer'\n  --> vars.yml:2:8\n";
    assert!(up.stderr.contains(expected), "{}", up.stderr);
    assert!(!up.stderr.contains("s3cret"), "{}", up.stderr);
    let up =
        machine.up(&["-o", "ops.yml", "-o", "none.yml", "-r", "nothing", "--cloud-config", "no.yml"]).ends_with(65);
    for name in ["none.yml", "nothing", "no.yml"] {
        assert!(up.stderr.contains(name), "{}", up.stderr);
    }
    let up = machine.up(&["-o", "ops.yml", "-l", "vars.yml", "--var-errs-unused", "-v", "unused=1"]).ends_with(65);
    assert!(up.stderr.contains("Expected to use variables:\n  - unused"), "{}", up.stderr);
    machine.assert_gone();
}

#[test]
fn settings_without_effect_are_shown() {
    let machine = Machine::new();
    machine.write("runtime.yml", "other: {a: b}\n");
    let up = machine.up(&["--runtime-config", "runtime.yml"]).ends_with(0);
    let expected = "warning: 1 setting of the configs has no effect:\n  --> runtime.yml:1:1: other\n";
    assert!(up.stdout.contains(expected), "{}", up.stdout);
}

#[test]
fn names_of_the_bosh_cli_work() {
    let machine = Machine::new();
    machine.boson(&["deploy", "-d", "small", "manifest.yml", "-r", "release", "--detach"]).ends_with(0);
    let shown = machine.boson(&["vms", "-d", "small"]).ends_with(0).stdout;
    assert!(shown.contains("web/0"), "{shown}");
    machine.boson(&["ssh", "web/0", "true"]).ends_with(0);
    machine.boson(&["delete-deployment", "-d", "small"]).ends_with(0);
    for arguments in [["upload-release", "small.tgz"], ["help", "upload-release"]] {
        let refused = machine.boson(&arguments).ends_with(2).stderr;
        assert!(
            refused.contains("nothing is uploaded: give a release's directory or archive with `-r PATH`"),
            "{refused}"
        );
    }
}
