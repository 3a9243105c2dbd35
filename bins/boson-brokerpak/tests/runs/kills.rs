//! kill -9 in every phase: the next run continues.

use std::fs;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use testkit::waiting::eventually;

use crate::harness::{Place, binding, instance, wait_for_file};

const ACTIONS: &str = r#"provision:
  user_inputs:
  - {field_name: step, type: string, details: d}
  - {field_name: password, type: string, details: d, default: '${rand.base64(16)}'}
  template: |-
    variable password { type = string }
    resource terraform_data before { input = var.password }
    resource terraform_data step {
      triggers_replace = [var.step]
      input = var.step
      depends_on = [terraform_data.before]
      provisioner local-exec { command = "touch ${var.step}.create; while [ -e ${var.step}.create.wait ]; do sleep 0.05; done; echo noise; echo noise >&2" }
      provisioner local-exec {
        when = destroy
        command = "touch ${self.input}.destroy; while [ -e ${self.input}.destroy.wait ]; do sleep 0.05; done; echo noise; echo noise >&2"
      }
    }
    resource terraform_data after {
      input = "after"
      depends_on = [terraform_data.step]
    }
    output password { value = var.password }
  outputs: [{field_name: password, type: string, details: d}]
"#;

/// Kills an operation while terraform waits for `wait`, then lets terraform go on.
fn kill_while_waiting(place: &Place, operation: &str, request: &Value, file: &str) {
    let wait = place.path(&format!("{file}.wait"));
    fs::write(&wait, "").unwrap();
    let mut child = place.start(operation, request);
    wait_for_file(&place.path(file));
    kill(Pid::from_raw(child.id() as i32), Signal::SIGKILL).unwrap();
    child.wait().unwrap();
    // terraform lives, and has the lock.
    let busy = place.run(operation, request);
    assert_eq!(busy.code, Some(70), "{}", busy.stderr);
    assert!(busy.stderr.contains("another run uses the instance"), "{}", busy.stderr);
    fs::remove_file(wait).unwrap();
}

/// Repeats an operation until the terraform that survived has ended.
fn repeat(place: &Place, operation: &str, request: &Value) -> Value {
    let mut output = Value::Null;
    eventually("the lock is free", || {
        let ran = place.run(operation, request);
        assert!(matches!(ran.code, Some(0 | 70)), "{}", ran.stderr);
        output = ran.output;
        ran.code == Some(0)
    });
    output
}

#[test]
fn a_killed_run_is_continued() {
    let place = Place::new("tofu", ACTIONS);
    let step = |name: &str| place.path(name).display().to_string();
    let request = instance(&json!({ "step": step("one") }));
    kill_while_waiting(&place, "provision", &request, "one.create");
    // What terraform had made is known at once.
    let state = fs::read_to_string(place.path("state/instances/i/terraform.tfstate")).unwrap_or_default();
    let provisioned = repeat(&place, "provision", &request);
    assert_eq!(provisioned["resources"].as_array().map(Vec::len), Some(3), "{provisioned} after {state}");
    let password = &provisioned["outputs"]["password"];
    let update = json!({ "instance_id": "i", "parameters": { "step": step("two") } });
    kill_while_waiting(&place, "update", &update, "one.destroy");
    let updated = repeat(&place, "update", &update);
    assert_eq!(&updated["outputs"]["password"], password, "no kill changes a password");
    assert!(place.path("two.create").exists());
    kill_while_waiting(&place, "deprovision", &request, "two.destroy");
    repeat(&place, "deprovision", &request);
    place.assert_empty();
}

#[test]
fn a_run_that_died_with_terraform_is_continued() {
    let place = Place::new("tofu", ACTIONS);
    let request = instance(&json!({ "step": place.path("one").display().to_string() }));
    fs::write(place.path("one.create.wait"), "").unwrap();
    let mut child = place.start("provision", &request);
    wait_for_file(&place.path("one.create"));
    let own = Pid::from_raw(child.id() as i32);
    let children = fs::read_to_string(format!("/proc/{own}/task/{own}/children")).unwrap();
    let terraform: i32 = children.split_whitespace().next().unwrap().parse().unwrap();
    kill(own, Signal::SIGKILL).unwrap();
    // As the end of a container does it.
    nix::sys::signal::killpg(Pid::from_raw(terraform), Signal::SIGKILL).unwrap();
    child.wait().unwrap();
    fs::remove_file(place.path("one.create.wait")).unwrap();
    let provisioned = repeat(&place, "provision", &request);
    assert_eq!(provisioned["resources"].as_array().map(Vec::len), Some(3));
    repeat(&place, "deprovision", &request);
    place.assert_empty();
}

#[test]
fn kills_at_any_instant_lose_nothing() {
    let place = Place::new("tofu", ACTIONS);
    let request = instance(&json!({ "step": place.path("one").display().to_string() }));
    for number in 0..12u64 {
        let provisioned = kill_and_repeat(&place, "provision", &request, number * 40);
        assert_eq!(provisioned["resources"].as_array().map(Vec::len), Some(3));
        kill_and_repeat(&place, "deprovision", &request, number * 40);
        place.assert_empty();
    }
}

/// Kills an operation at different points of its run, whatever these are on this machine, and repeats it.
fn kill_and_repeat(place: &Place, operation: &str, request: &Value, after: u64) -> Value {
    let mut child = place.start(operation, request);
    std::thread::sleep(std::time::Duration::from_millis(after));
    let _ = kill(Pid::from_raw(child.id() as i32), Signal::SIGKILL);
    child.wait().unwrap();
    repeat(place, operation, request)
}

#[test]
fn killed_imports_and_bindings_are_continued() {
    let actions = r#"provision:
  import_inputs: [{field_name: db_id, type: string, details: d, tf_resource: terraform_data.db}]
  user_inputs: [{field_name: name, type: string, details: d, default: '${rand.base64(6)}'}]
  import_parameters_to_add: [{tf_variable: terraform_data.db.input, parameter_name: var.name}]
  templates:
    main: 'resource terraform_data db {}'
    rest: |
      variable name { type = string }
      output db { value = terraform_data.db.id }
      output name { value = terraform_data.db.output }
  outputs:
  - {field_name: db, type: string, details: d}
  - {field_name: name, type: string, details: d}
bind:
  computed_inputs: [{name: secret, default: '${rand.base64(8)}', overwrite: true}]
  template: |-
    resource terraform_data grant { input = var.secret }
    output secret { value = terraform_data.grant.output }
  outputs: [{field_name: secret, type: string, details: d}]
"#;
    let place = Place::new("tofu", actions);
    let request = instance(&json!({ "db_id": "db-1" }));
    for number in 0..8u64 {
        let provisioned = kill_and_repeat(&place, "provision", &request, number * 110);
        assert_eq!(provisioned["outputs"]["db"], "db-1", "the import is not forgotten");
        assert_eq!(provisioned["outputs"]["name"].as_str().map(str::len), Some(8));
        let bound = kill_and_repeat(&place, "bind", &binding(), number * 50);
        assert_eq!(place.ok("bind", &binding()), bound, "the credentials stay");
        let refused = place.run("deprovision", &request);
        assert_eq!(refused.code, Some(65), "{}", refused.stderr);
        kill_and_repeat(&place, "unbind", &binding(), number * 50);
        kill_and_repeat(&place, "deprovision", &request, number * 50);
        place.assert_empty();
    }
}
