//! Instances of resources that exist.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use crate::harness::{Place, executable, instance};

const ACTIONS: &str = r#"provision:
  import_inputs:
  - {field_name: db_id, type: string, details: d, tf_resource: terraform_data.db}
  - {field_name: user_id, type: string, details: d, tf_resource: terraform_data.user}
  import_parameters_to_add: [{tf_variable: terraform_data.user.input, parameter_name: var.username}]
  import_parameters_to_delete: [terraform_data.db.id]
  user_inputs:
  - {field_name: username, type: string, details: d, default: nobody}
  - {field_name: found, type: string, details: d, tf_attribute: terraform_data.db.id}
  templates:
    main: |
      resource terraform_data db {}
      resource terraform_data user {}
    variables: |
      variable username { type = string }
      variable found {
        type = string
        default = ""
      }
    outputs: |
      output db { value = terraform_data.db.id }
      output found { value = var.found }
      output name { value = terraform_data.user.output }
  outputs:
  - {field_name: db, type: string, details: d}
  - {field_name: found, type: string, details: d}
  - {field_name: name, type: string, details: d}
"#;

fn live(tool: &str) {
    let place = Place::new(tool, ACTIONS);
    let missing = place.run("provision", &instance(&json!({ "db_id": "db-1" })));
    assert_eq!(missing.code, Some(65));
    assert!(missing.stderr.contains("must provide values for all import parameters: user_id"), "{}", missing.stderr);
    place.assert_empty();
    let request = instance(&json!({ "db_id": "db-1", "user_id": "user-1" }));
    let ran = place.run_with("provision", &request, &["--keep-workspace", "kept"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let outputs = &ran.output["outputs"];
    assert_eq!((&outputs["db"], &outputs["name"]), (&json!("db-1"), &json!("nobody")));
    let main = fs::read_to_string(place.path("kept/2/main.tf")).unwrap();
    let expected = "resource \"terraform_data\" \"db\" {\n}\n\nresource \"terraform_data\" \"user\" {\n  input = var.username\n}\n\n";
    assert_eq!(main, expected);
    // The rewritten template stays, and inputs have what the resources have.
    let update = json!({ "instance_id": "i", "parameters": { "username": "bob" } });
    let updated = place.ok("update", &update);
    let outputs = &updated["outputs"];
    assert_eq!((&outputs["db"], &outputs["name"], &outputs["found"]), (&json!("db-1"), &json!("bob"), &json!("db-1")));
    place.ok("deprovision", &request);
    place.assert_empty();
}

#[test]
fn an_import_with_tofu() {
    live("tofu");
}

#[test]
fn an_import_with_terraform() {
    live("terraform");
}

#[test]
fn a_plan_that_destroys_is_refused_and_nothing_is_kept() {
    let destroying =
        ACTIONS.replace("tf_variable: terraform_data.user.input", "tf_variable: terraform_data.user.triggers_replace");
    let place = Place::new("tofu", &destroying);
    let request = instance(&json!({ "db_id": "db-1", "user_id": "user-1" }));
    let refused = place.run("provision", &request);
    assert_eq!(refused.code, Some(66), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("tofu plan shows that resources would be destroyed - cancelling subsume"),
        "{}",
        refused.stderr
    );
    assert!(
        refused.stderr.contains("terraform_data.user") && !refused.stderr.contains("terraform_data.db"),
        "{}",
        refused.stderr
    );
    assert_eq!(refused.output["resources"], json!([]), "deprovisioning destroys nothing");
    // With another template the same request can be repeated.
    place.write_pak("[{name: tofu, version: 1.9.1}]", "", ACTIONS);
    place.ok("provision", &request);
}

#[test]
fn the_only_template_is_imported_into_too() {
    let actions = r#"provision:
  import_inputs: [{field_name: db_id, type: string, details: d, tf_resource: terraform_data.db}]
  template: |
    resource terraform_data db {
    }
    output db { value = terraform_data.db.id }
  outputs: [{field_name: db, type: string, details: d}]
"#;
    let place = Place::new("tofu", actions);
    assert_eq!(place.ok("provision", &instance(&json!({ "db_id": "db-1" })))["outputs"]["db"], "db-1");
    let plain = place.ok("provision", &json!({ "plan": "small", "instance_id": "j" }));
    assert_ne!(plain["outputs"]["db"], "db-1", "without the input, nothing is imported");
    assert_eq!(plain["resources"], json!(["module.instance.terraform_data.db"]));
}

/// A machine of the provider for tests exists outside; its name is mapped to an input.
#[test]
fn resources_of_a_provider_are_imported_with_their_attributes() {
    let actions = r#"provision:
  import_inputs: [{field_name: machine_id, type: string, details: d, tf_resource: random_machine.m}]
  import_parameter_mappings: [{tf_variable: name, parameter_name: var.name}]
  user_inputs:
  - {field_name: name, type: string, details: d, default: other}
  - {field_name: fail, type: string, details: d, default: ''}
  import_parameters_to_add: [{tf_variable: random_machine.m.fail, parameter_name: 'var.fail == "" ? null : var.fail'}]
  templates:
    main: |
      resource random_machine m {
        name = ""
      }
    rest: |
      variable name { type = string }
      variable fail { type = string }
      output name { value = random_machine.m.name }
      output server { value = random_machine.m.server_name }
  outputs:
  - {field_name: name, type: string, details: d}
  - {field_name: server, type: string, details: d}
"#;
    let mut place = Place::new("tofu", "");
    let binaries = "[{name: tofu, version: 1.9.1}, {name: terraform-provider-random, version: 3.1.0}]";
    place.write_pak(binaries, "required_env_variables: [RANDOM_DIRECTORY]\n", actions);
    let provider = place.path("pak/bin/linux/amd64/terraform-provider-random_v3.1.0");
    fs::create_dir_all(provider.parent().unwrap()).unwrap();
    symlink(executable("terraform-provider-random"), provider).unwrap();
    let outside = place.path("outside");
    place.variables.push(("RANDOM_DIRECTORY".to_owned(), outside.display().to_string()));
    fs::create_dir_all(outside.join("machines")).unwrap();
    let machine = json!({ "name": "db", "server_name": "db-server", "region": "eu", "size": 3, "password": "imported-password", "tags": { "a b": "${c}" } });
    fs::write(outside.join("machines/m-1.json"), machine.to_string()).unwrap();
    let request = instance(&json!({ "machine_id": "m-1" }));
    let ran = place.run_with("provision", &request, &["--keep-workspace", "kept"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(ran.output["outputs"], json!({ "name": "db", "server": "db-server" }), "the name is the machine's");
    let main = fs::read_to_string(place.path("kept/2/main.tf")).unwrap();
    for line in ["name = var.name", "server_name = \"db-server\"", "size = 3", "\"a b\" = \"$${c}\""] {
        assert!(main.lines().any(|own| own.trim() == line), "{line}: {main}");
    }
    assert!(!main.contains("endpoint") && !main.contains(" id ="), "{main}");
    // The service's own message has the password.
    let failed = place.run("update", &json!({ "instance_id": "i", "parameters": { "name": "new", "fail": "update" } }));
    assert_eq!(failed.code, Some(66), "{}", failed.stderr);
    assert!(!failed.stderr.contains("imported-password") && failed.stderr.contains("***"), "{}", failed.stderr);
    assert!(!failed.output["errors"].to_string().contains("imported-password"));
    let updated = place.ok("update", &json!({ "instance_id": "i", "parameters": { "fail": "" } }));
    assert_eq!(
        updated["outputs"],
        json!({ "name": "new", "server": "db-server" }),
        "the failed update's parameters count"
    );
    place.ok("deprovision", &request);
    assert!(!outside.join("machines/m-1.json").exists());
}
