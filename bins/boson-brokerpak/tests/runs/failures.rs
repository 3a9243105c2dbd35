//! terraform that fails, hangs, and says secrets.

use std::fs;

use serde_json::json;
use testkit::waiting::eventually;

use crate::harness::{Place, binding, instance, wait_for_file};

fn place(template: &str) -> Place {
    let lines: Vec<String> = template.lines().map(|line| format!("    {line}\n")).collect();
    let actions = format!(
        "provision:\n  user_inputs: [{{field_name: a, type: string, details: d, required: true}}]\n  template: |-\n{}",
        lines.concat()
    );
    Place::new("tofu", &actions)
}

const FAILING: &str = r#"variable a { type = string }
resource terraform_data first { input = "one" }
resource terraform_data second {
  input = var.a
  depends_on = [terraform_data.first]
  lifecycle {
    precondition {
      condition = terraform_data.first.output == "one" && var.a != "wrong-password"
      error_message = "cannot use ${var.a}"
    }
  }
}"#;

#[test]
fn a_failure_is_reported_without_secrets_and_can_be_repeated() {
    let place = place(FAILING);
    let request = instance(&json!({ "a": "wrong-password" }));
    let failed = place.run("provision", &request);
    assert_eq!(failed.code, Some(66), "{}", failed.stderr);
    assert_eq!(failed.output["result"], "error");
    assert_eq!(failed.output["resources"], json!(["module.instance.terraform_data.first"]));
    let errors = failed.output["errors"].to_string();
    assert!(errors.contains("Resource precondition failed") && errors.contains("cannot use ***"), "{errors}");
    assert!(failed.stderr.contains("tofu apply failed: exit status 1"), "{}", failed.stderr);
    assert!(!failed.stderr.contains("wrong-password"), "{}", failed.stderr);
    // It is not provisioned; what it has can be deleted.
    for operation in ["update", "bind"] {
        let request = if operation == "bind" { binding() } else { request.clone() };
        let refused = place.run(operation, &request);
        assert_eq!(refused.code, Some(65));
        assert!(refused.stderr.contains("the instance i is not provisioned"), "{}", refused.stderr);
    }
    assert_eq!(place.run("provision", &request).code, Some(66));
    let repeated = place.ok("provision", &instance(&json!({ "a": "right" })));
    assert_eq!(repeated["resources"].as_array().map(Vec::len), Some(2));
    // The parameters of a failed update count.
    let update = json!({ "instance_id": "i", "parameters": { "a": "wrong-password" } });
    assert_eq!(place.run("update", &update).code, Some(66));
    assert_eq!(place.run("update", &json!({ "instance_id": "i" })).code, Some(66));
    place.ok("update", &json!({ "instance_id": "i", "parameters": { "a": "right" } }));
    place.ok("deprovision", &request);
    place.assert_empty();
}

#[test]
fn secrets_and_much_output_stay_out_of_logs() {
    let noise = r#"variable a { type = string }
resource terraform_data x {
  provisioner local-exec {
    command = "head -c 1100000 /dev/zero | tr '\\0' x | fold -w 100 >&2; echo $SECRET >&2; printf %s $SECRET | base64 >&2; exit 3"
    environment = { SECRET = var.a }
  }
}"#;
    let place = place(noise);
    let failed = place.run_with("provision", &instance(&json!({ "a": "hunter2-is-secret" })), &["--log", "debug"]);
    assert_eq!(failed.code, Some(66), "{}", failed.stderr);
    for secret in ["hunter2", "aHVudGVyMi1pcy1zZWNyZXQ"] {
        assert!(!failed.stderr.contains(secret) && !failed.output.to_string().contains(secret), "{secret}");
    }
    assert!(failed.stderr.contains("***"));
    assert!(failed.output.to_string().len() < 200_000);
    assert_eq!(failed.output["tainted"], json!(["module.instance.terraform_data.x"]));
}

const HANGING: &str = r#"variable a { type = string }
resource terraform_data quick { input = "q" }
resource terraform_data x {
  depends_on = [terraform_data.quick]
  provisioner local-exec { command = "touch ${var.a}; while [ ! -e ${var.a}.end ]; do sleep 0.05; done" }
}"#;

#[test]
fn what_hangs_is_interrupted() {
    let place = place(HANGING);
    let signal = place.path("running");
    let request = instance(&json!({ "a": signal.display().to_string() }));
    let failed = place.run_with("provision", &request, &["--timeout", "3s", "--grace", "1s"]);
    assert_eq!(failed.code, Some(66), "{}", failed.stderr);
    assert!(failed.stderr.contains("did not finish: it took too long"), "{}", failed.stderr);
    fs::write(signal.with_extension("end"), "").unwrap();
    let repeated = place.ok("provision", &request);
    assert_eq!(repeated["resources"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_signal_lets_terraform_finish_and_keeps_the_state() {
    let place = place(HANGING);
    let signal = place.path("running");
    let request = instance(&json!({ "a": signal.display().to_string() }));
    let child = place.start("provision", &request);
    wait_for_file(&signal);
    // Two runs at once.
    let busy = place.run("provision", &request);
    assert_eq!(busy.code, Some(70), "{}", busy.stderr);
    assert!(busy.stderr.contains("another run uses the instance i"), "{}", busy.stderr);
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(child.id() as i32), nix::sys::signal::Signal::SIGTERM).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(66), "{}", String::from_utf8_lossy(&output.stderr));
    let result: serde_json::Value =
        serde_json::from_slice(&fs::read(place.path("output-other.json")).unwrap()).unwrap();
    assert_eq!(result["result"], "error");
    assert!(result["resources"].to_string().contains("terraform_data.quick"), "{result}");
    fs::write(signal.with_extension("end"), "").unwrap();
    place.ok("provision", &request);
}

#[test]
fn damaged_states_change_nothing() {
    let place = place(FAILING);
    let request = instance(&json!({ "a": "right" }));
    place.ok("provision", &request);
    let state = place.path("state/instances/i/terraform.tfstate");
    let good = fs::read(&state).unwrap();
    for damaged in [&good[..good.len() / 2], b"", b"{\"version\": 4, \"lineage\": \"foreign\"}"] {
        fs::write(&state, damaged).unwrap();
        for operation in ["update", "deprovision", "provision"] {
            let refused = place.run(operation, &request);
            assert_eq!(refused.code, Some(70), "{operation}: {}", refused.stderr);
            assert!(refused.stderr.contains("the instance i cannot be used"), "{}", refused.stderr);
        }
        assert_eq!(fs::read(&state).unwrap(), damaged);
    }
    fs::write(&state, good).unwrap();
    place.ok("deprovision", &request);
}

#[test]
fn terraform_that_cannot_start_and_requests_that_are_wrong() {
    let place = place(FAILING);
    let request = instance(&json!({ "a": "right" }));
    let run = |flags: &[&str], request: &serde_json::Value| {
        let file = place.path("r.json");
        fs::write(&file, request.to_string()).unwrap();
        let mut command = place.command();
        command.args(["run", "provision", "pak", "--request", "r.json", "--output", "o.json"]).args(flags);
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, stderr) = run(&["--terraform", "/nowhere/tofu"], &request);
    assert_eq!(code, Some(70), "{stderr}");
    let (code, stderr) = run(&[], &request);
    assert!(code == Some(65) && stderr.contains("could not find tofu version 1.9.1 in brokerpak"), "{stderr}");
    let (code, stderr) = run(&["--terraform", "1.2.3=/x"], &request);
    assert!(code == Some(65) && stderr.contains("the manifest has no tofu 1.2.3"), "{stderr}");
    let (code, stderr) = run(&[], &json!({ "plan": "small", "instance_id": "i", "stored_parameters": {} }));
    assert!(code == Some(65) && stderr.contains("which is for resolve"), "{stderr}");
    let (code, stderr) = run(&[], &json!({ "plan": "small", "operation": "bind", "instance_id": "i" }));
    assert!(code == Some(65) && stderr.contains("the request is not for provision"), "{stderr}");
    let (code, stderr) = run(&[], &json!({ "plan": "tiny" }));
    assert!(code == Some(65) && stderr.contains("no instance_id") && stderr.contains("unknown plan"), "{stderr}");
    assert!(!place.path("o.json").exists());
    let refused = place.run("update", &json!({ "instance_id": "none", "plan": "small" }));
    assert!(refused.stderr.contains("the instance none does not exist"), "{}", refused.stderr);
    eventually("the state directory is empty but for the failed start", || {
        fs::read_dir(place.path("state/instances")).unwrap().count() <= 1
    });
}
