//! Whole lives of instances and bindings.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::harness::{Place, binding, instance};

const ACTIONS: &str = r#"provision:
  plan_inputs: [{field_name: size, type: integer, details: d, required: true}]
  user_inputs:
  - {field_name: username, type: string, details: d, required: true}
  - {field_name: password, type: string, details: d, default: '${rand.base64(16)}'}
  - {field_name: region, type: string, details: d}
  - {field_name: tags, type: object, details: d}
  template: |-
    variable size { type = number }
    variable username { type = string }
    variable password { type = string }
    variable region {
      type = string
      default = "nowhere"
    }
    resource terraform_data user {
      input = "${var.username} ${var.size}"
      lifecycle { prevent_destroy = true }
    }
    output name { value = terraform_data.user.output }
    output password { value = var.password }
    output region { value = var.region }
    output tags { value = jsonencode(var.tags) }
    output status { value = "created ${var.username}" }
  outputs:
  - {field_name: name, type: string, details: d}
  - {field_name: password, type: string, details: d}
  - {field_name: region, type: string, details: d}
  - {field_name: tags, type: string, details: d}
bind:
  user_inputs: [{field_name: role, type: string, details: d, default: reader}]
  computed_inputs:
  - {name: address, default: '${instance.details["name"]}/${instance.name}', overwrite: true}
  - {name: secret, default: '${rand.base64(8)}', overwrite: true}
  template: |-
    variable role { type = string }
    resource "terraform_data" "grant" { input = "${var.address} ${var.role} ${var.secret}" }
    output uri { value = terraform_data.grant.output }
    output region { value = "of the binding" }
  outputs:
  - {field_name: uri, type: string, details: d}
  - {field_name: region, type: string, details: d}
"#;

fn live(tool: &str) {
    let mut place = Place::new(tool, ACTIONS);
    let provision = json!({
        "plan": "small", "instance_id": "i", "context": { "instance_name": "mail" },
        "parameters": { "username": "${file(\"/etc/passwd\")} %{ if", "tags": { "${1 + 1}": ["%{"] } },
    });
    let first = place.ok("provision", &provision);
    assert_eq!(first["outputs"]["name"], "${file(\"/etc/passwd\")} %{ if 1", "texts are not evaluated");
    assert_eq!(first["outputs"]["tags"], r#"{"${1 + 1}":["%{"]}"#);
    assert_eq!(first["outputs"]["region"], "nowhere", "what nobody set has the template's default");
    assert_eq!(first["message"], "created ${file(\"/etc/passwd\")} %{ if");
    assert_eq!(first["resources"], json!(["module.instance.terraform_data.user"]));
    assert_eq!(
        (&first["tainted"], &first["errors"], &first["operation"]),
        (&json!([]), &json!([]), &json!("provision"))
    );
    let password = first["outputs"]["password"].clone();
    assert_eq!(password.as_str().map(str::len), Some(24));
    let mode = |path: &str| fs::metadata(place.path(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("output.json"), 0o600);
    assert_eq!((mode("state/instances/i"), mode("state/instances/i/terraform.tfstate")), (0o700, 0o600));

    // The same request again is answered; another one is refused.
    assert_eq!(place.ok("provision", &provision), first);
    let other = place.run("provision", &instance(&json!({ "username": "other" })));
    assert_eq!(other.code, Some(65), "{}", other.stderr);
    assert!(other.stderr.contains("the instance i exists and was requested otherwise"), "{}", other.stderr);
    assert!(other.output.is_null());

    let bound = place.ok("bind", &binding());
    let uri = bound["credentials"]["uri"].as_str().unwrap();
    assert!(uri.starts_with("${file(\"/etc/passwd\")} %{ if 1/mail reader "), "{uri}");
    assert_eq!(bound["credentials"]["region"], "of the binding");
    assert_eq!(bound["credentials"]["password"], password);
    assert!(bound["credentials"].get("status").is_none());
    assert_eq!(place.ok("bind", &binding()), bound);
    let other =
        place.run("bind", &json!({ "instance_id": "i", "binding_id": "b", "parameters": { "role": "writer" } }));
    assert!(other.stderr.contains("the binding b exists and was requested otherwise"), "{}", other.stderr);

    // An update keeps what was generated, and may change the plan.
    let update = json!({ "instance_id": "i", "plan": "large", "parameters": { "username": "bob" } });
    place.variables.push(("GSB_BROKERPAK_CONFIG".to_owned(), json!({ "TF_VAR_region": "ignored" }).to_string()));
    let updated = place.ok("update", &update);
    assert_eq!(updated["outputs"]["name"], "bob 2");
    assert_eq!((&updated["outputs"]["password"], &updated["message"]), (&password, &json!("created bob")));
    assert_eq!(place.ok("update", &update)["outputs"], updated["outputs"]);

    let refused = place.run("deprovision", &instance(&json!({})));
    assert_eq!(refused.code, Some(65));
    assert!(refused.stderr.contains("the instance i has bindings: b"), "{}", refused.stderr);
    let unbound = place.ok("unbind", &binding());
    assert_eq!((&unbound["resources"], &unbound["outputs"]), (&json!([]), &json!({})));
    place.ok("unbind", &binding());
    let deleted = place.ok("deprovision", &instance(&json!({})));
    assert_eq!((&deleted["resources"], &deleted["outputs"]), (&json!([]), &json!({})));
    place.ok("deprovision", &instance(&json!({})));
    place.assert_empty();
}

#[test]
fn a_life_with_tofu() {
    live("tofu");
}

#[test]
fn a_life_with_terraform() {
    live("terraform");
}

#[test]
fn parameters_and_required_variables_reach_terraform() {
    let mut place = Place::new("tofu", "");
    let template = "provision:
  template: |-
    variable list { type = list(string) }
    resource terraform_data x {
      provisioner local-exec { command = \"env > ${path.root}/../../../../../environment\" }
    }
    output list { value = var.list }
  user_inputs: [{field_name: list, type: array, details: d}]
  outputs: [{field_name: list, type: array, details: d}]
";
    let rest = "required_env_variables: [CLOUD_TOKEN]\nparameters: [{name: TF_VAR_list, description: d}, {name: PROJECT, description: d}]\n";
    place.write_pak("[{name: tofu, version: 1.9.1}]", rest, template);
    place.variables.push(("KUBERNETES_TOKEN".to_owned(), "no".to_owned()));
    let missing = place.run("provision", &instance(&json!({})));
    assert_eq!(missing.code, Some(65));
    assert!(missing.stderr.contains("missing required env var CLOUD_TOKEN"), "{}", missing.stderr);
    place.assert_empty();
    place.variables.push(("CLOUD_TOKEN".to_owned(), "yes".to_owned()));
    let global = json!({ "TF_VAR_list": ["a"], "PROJECT": "global", "OTHER": "no" });
    place.variables.push(("GSB_BROKERPAK_CONFIG".to_owned(), global.to_string()));
    fs::write(place.path("config.yml"), "PROJECT: own\n").unwrap();
    let ran =
        place.run_with("provision", &instance(&json!({})), &["--pak-config", "config.yml", "--keep-workspace", "kept"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(ran.output["outputs"]["list"], json!(["a"]), "the variable reaches the module with its type");
    let environment = fs::read_to_string(place.path("environment")).unwrap();
    for (line, is_there) in [
        ("CLOUD_TOKEN=yes", true),
        ("PROJECT=own", true),
        ("OTHER=", false),
        ("KUBERNETES", false),
        ("GSB_", false),
        ("BROKERPAK", false),
    ] {
        assert_eq!(environment.lines().any(|own| own.starts_with(line)), is_there, "{line}: {environment}");
    }
    assert!(place.path("kept/1/brokertemplate/definition.tf").exists());
    assert_eq!(fs::read_dir(place.path("kept/1")).unwrap().count(), 2, "no state, nothing of terraform's own");
}

#[test]
fn several_templates_and_none() {
    let actions = "provision:
  user_inputs: [{field_name: a, type: string, details: d}]
  templates:
    main: 'resource terraform_data x { input = var.a }'
    outputs: 'output o { value = terraform_data.x.output }'
  outputs: [{field_name: o, type: string, details: d}]
bind:
  outputs: []
";
    let place = Place::new("tofu", actions);
    let provisioned = place.ok("provision", &instance(&json!({ "a": "${x}" })));
    assert_eq!(provisioned["outputs"]["o"], "${x}");
    assert_eq!(provisioned["resources"], json!(["terraform_data.x"]));
    let bound = place.ok("bind", &binding());
    assert_eq!(bound["credentials"], json!({ "o": "${x}" }), "without a template, those of the instance");
    assert_eq!(
        place.run("deprovision", &instance(&json!({}))).code,
        Some(65),
        "a binding without resources has credentials"
    );
    place.ok("unbind", &binding());
    place.ok("deprovision", &instance(&json!({})));
    let vacant = place.ok("provision", &instance(&json!({ "vacant": true })));
    assert_eq!(vacant["resources"], json!([]));
    place.ok("deprovision", &instance(&json!({})));
    place.assert_empty();
}

#[test]
fn an_upgrade_steps_through_the_versions() {
    let mut place = Place::new("terraform", ACTIONS);
    let request = instance(&json!({ "username": "ann", "tags": {} }));
    place.ok("provision", &request);
    place.ok("bind", &binding());
    place.add_tool("tofu");
    let both = "[{name: tofu, version: 1.5.7}, {name: tofu, version: 1.9.1, default: true}]";
    place.write_pak(both, "terraform_upgrade_path: [{version: 1.5.7}, {version: 1.9.1}]\n", ACTIONS);
    let update = json!({ "instance_id": "i", "parameters": { "username": "x" } });
    for (operation, request) in [("update", &update), ("unbind", &binding())] {
        let refused = place.run(operation, request);
        assert_eq!(refused.code, Some(65), "{operation}: {}", refused.stderr);
        assert!(
            refused.stderr.contains("operation attempted with newer version of tofu than current state"),
            "{}",
            refused.stderr
        );
    }
    let upgraded = place.run_with("upgrade", &json!({ "instance_id": "i" }), &["--keep-workspace", "kept"]);
    assert_eq!(upgraded.code, Some(0), "{}", upgraded.stderr);
    assert_eq!(upgraded.output["outputs"]["name"], "ann 1");
    for phase in ["1", "2", "3", "4"] {
        assert!(place.path("kept").join(phase).is_dir(), "two versions of the instance, two of the binding: {phase}");
    }
    let version = |path: &str| {
        let state = fs::read_to_string(place.path("state/instances/i").join(path)).unwrap();
        serde_json::from_str::<serde_json::Value>(&state).unwrap()["terraform_version"].clone()
    };
    assert_eq!(
        (version("terraform.tfstate"), version("bindings/b/terraform.tfstate")),
        ("1.9.1".into(), "1.9.1".into())
    );
    place.ok("upgrade", &json!({ "instance_id": "i" }));
    assert_eq!(place.ok("update", &update)["outputs"]["name"], "x 1");
    // An executable that is older than the state.
    place.write_pak("[{name: terraform, version: 1.5.7}]", "", ACTIONS);
    place.remove_tool("tofu");
    let refused = place.run("update", &update);
    assert_eq!(refused.code, Some(65));
    assert!(refused.stderr.contains("which is newer than the pak's 1.5.7"), "{}", refused.stderr);
}

#[test]
fn providers_are_replaced_in_the_state() {
    let place = Place::new("tofu", ACTIONS);
    let request = instance(&json!({ "username": "ann", "tags": {} }));
    place.ok("provision", &request);
    let file = place.path("state/instances/i/terraform.tfstate");
    let state = fs::read_to_string(&file).unwrap();
    fs::write(&file, state.replace("terraform.io/builtin/terraform", "example.com/old/terraform")).unwrap();
    let update = json!({ "instance_id": "i", "parameters": { "username": "bob" } });
    let failed = place.run("update", &update);
    assert_eq!(failed.code, Some(66), "the provider does not exist: {}", failed.stderr);
    assert!(failed.output["errors"].to_string().contains("example.com/old/terraform"), "{}", failed.output);
    let replacements =
        "terraform_state_provider_replacements: {example.com/old/terraform: terraform.io/builtin/terraform}\n";
    place.write_pak("[{name: tofu, version: 1.9.1}]", replacements, ACTIONS);
    assert_eq!(place.ok("update", &update)["outputs"]["name"], "bob 1");
    place.ok("deprovision", &request);
}

#[test]
fn an_upgrade_that_fails_can_be_repeated() {
    let mut place = Place::new("terraform", ACTIONS);
    place.ok("provision", &instance(&json!({ "username": "ann", "tags": {} })));
    let bound = place.ok("bind", &binding());
    place.add_tool("tofu");
    let both = "[{name: tofu, version: 1.5.7}, {name: tofu, version: 1.9.1, default: true}]";
    let path = "terraform_upgrade_path: [{version: 1.5.7}, {version: 1.9.1}]\n";
    let upgrade = json!({ "instance_id": "i" });
    place.write_pak(both, "", ACTIONS);
    let refused = place.run("upgrade", &upgrade);
    assert_eq!(refused.code, Some(65));
    assert!(refused.stderr.contains("tofu version mismatch and no upgrade path specified"), "{}", refused.stderr);
    let failing = ACTIONS.replace("${var.address} ${var.role} ${var.secret}", "${file(\"/nowhere\")}");
    place.write_pak(both, path, &failing);
    let failed = place.run("upgrade", &upgrade);
    assert_eq!((failed.code, &failed.output["result"]), (Some(66), &json!("error")), "{}", failed.stderr);
    assert!(failed.stderr.contains("the binding b: tofu apply failed"), "{}", failed.stderr);
    let refused = place.run("unbind", &binding());
    assert!(refused.stderr.contains("upgrade the service before retrying operation"), "{}", refused.stderr);
    place.write_pak(both, path, ACTIONS);
    place.ok("upgrade", &upgrade);
    assert_eq!(place.ok("bind", &binding())["credentials"], bound["credentials"], "no upgrade changes a password");
    place.ok("unbind", &binding());
    place.ok("deprovision", &upgrade);
    place.assert_empty();
}
