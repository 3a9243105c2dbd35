//! Packed paks, and `test`.

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;

use serde_json::json;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::harness::{Place, binding, executable, instance, version};

const ACTIONS: &str = r#"provision:
  user_inputs: [{field_name: a, type: string, details: d, default: '${request.instance_id}'}]
  template: |-
    variable a { type = string }
    resource terraform_data x { input = var.a }
    output o { value = terraform_data.x.output }
    output n { value = 5 }
  outputs:
  - {field_name: o, type: string, details: d, required: true, constraints: {maxLength: 30}}
  - {field_name: n, type: integer, details: d}
bind:
  computed_inputs: [{name: b, default: '${request.binding_id}', overwrite: true}]
  template: |-
    resource terraform_data y { input = var.b }
    output c { value = terraform_data.y.output }
  outputs: [{field_name: c, type: string, details: d}]
examples:
- {name: one, description: d, plan_id: 00000000-0000-0000-0000-000000000001, provision_params: {}, bind_params: {}}
- {name: two, description: d, plan_id: 00000000-0000-0000-0000-000000000002, provision_params: {a: x}, bind_params: {}}
"#;

#[test]
fn terraform_of_a_packed_pak() {
    let tool = "terraform";
    let mut place = Place::new(tool, ACTIONS);
    place.remove_tool(tool);
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored).unix_permissions(0o755);
    let mut zip = ZipWriter::new(fs::File::create(place.path("a.brokerpak")).unwrap());
    for (name, content) in [
        ("manifest.yml".to_owned(), fs::read(place.path("pak/manifest.yml")).unwrap()),
        ("s.yml".to_owned(), fs::read(place.path("pak/s.yml")).unwrap()),
        (format!("bin/linux/amd64/{}/{tool}", version(tool)), fs::read(executable(tool)).unwrap()),
    ] {
        zip.start_file(name, options.large_file(false)).unwrap();
        zip.write_all(&content).unwrap();
    }
    zip.finish().unwrap();
    fs::remove_dir_all(place.path("pak")).unwrap();
    fs::rename(place.path("a.brokerpak"), place.path("pak")).unwrap();
    let provisioned = place.ok("provision", &instance(&json!({})));
    assert_eq!(provisioned["outputs"], json!({ "n": 5, "o": "i" }));
    place.ok("deprovision", &instance(&json!({})));
    assert_eq!(fs::read_dir(place.path("state/paks")).unwrap().count(), 1, "it is extracted once");
}

fn test(place: &Place, flags: &[&str]) -> (Option<i32>, String, String) {
    fs::create_dir_all(place.path("tmp")).unwrap();
    let mut command = place.command();
    command.args(["test", "pak", "--terraform"]).arg(executable("tofu")).args(flags).env("TMPDIR", place.path("tmp"));
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn examples_are_tested() {
    let place = Place::new("tofu", ACTIONS);
    let (code, stdout, stderr) = test(&place, &[]);
    assert_eq!((code, stdout.as_str()), (Some(0), "example: one: ok\nexample: two: ok\n"), "{stderr}");
    assert_eq!(fs::read_dir(place.path("tmp")).unwrap().count(), 0, "nothing is left");
    let (code, stdout, _) = test(&place, &["--example", "two"]);
    assert_eq!((code, stdout.as_str()), (Some(0), "example: two: ok\n"));
    let (code, _, stderr) = test(&place, &["--example", "three"]);
    assert!(code == Some(65) && stderr.contains("there is no such example"), "{stderr}");
    // Outputs that break their rules.
    let wrong = ACTIONS.replace("maxLength: 30", "maxLength: 20").replace("value = 5", "value = \"five\"");
    place.write_pak("[{name: tofu, version: 1.9.1}]", "", &wrong);
    let (code, stdout, stderr) = test(&place, &[]);
    assert_eq!((code, stdout.as_str()), (Some(66), "example: one: FAILED\nexample: two: FAILED\n"), "{stderr}");
    for message in [
        "example: one: provision: output o: String length must be less than or equal to 20",
        "example: two: provision: output n: Invalid type. Expected: integer, given: string",
        "example: two: bind: output n: Invalid type",
    ] {
        assert!(stderr.contains(message), "{message}: {stderr}");
    }
    assert_eq!(fs::read_dir(place.path("tmp")).unwrap().count(), 0, "nothing is left");
    // A bind that fails, and one that may.
    let failing = ACTIONS.replace(
        "y { input = var.b }",
        "y {\n      input = var.b\n      lifecycle {\n        precondition {\n          condition = var.b == \"\"\n          error_message = \"no\"\n        }\n      }\n    }",
    );
    place.write_pak("[{name: tofu, version: 1.9.1}]", "", &failing);
    let (code, _, stderr) = test(&place, &["--example", "one"]);
    assert!(code == Some(66) && stderr.contains("example: one: bind: tofu apply failed"), "{stderr}");
    let allowed = failing.replace("bind_params: {}", "bind_params: {}, bind_can_fail: true");
    place.write_pak("[{name: tofu, version: 1.9.1}]", "", &allowed);
    let (code, _, stderr) = test(&place, &["--example", "one"]);
    assert!(code == Some(0) && stderr.contains("bind failed, which it may"), "{stderr}");
}

#[test]
fn the_example_of_the_specification_runs() {
    for tool in ["tofu", "terraform"] {
        let mut place = Place::new(tool, "");
        place.remove_tool(tool);
        let page =
            fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/dialects/brokerpak.md")).unwrap();
        let service = page.split("```yaml pak/example.yml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
        let provider = "{name: terraform-provider-random, version: 3.1.0}";
        let binaries = format!("[{{name: {tool}, version: {}}}, {provider}]", version(tool));
        place.write_pak(&binaries, "", "");
        fs::write(place.path("pak/s.yml"), service).unwrap();
        let directory = place.path("pak/bin/linux/amd64").join(version(tool));
        fs::create_dir_all(&directory).unwrap();
        symlink(executable(tool), directory.join(tool)).unwrap();
        let to = place.path("pak/bin/linux/amd64/terraform-provider-random_v3.1.0_x5");
        symlink(executable("terraform-provider-random"), to).unwrap();
        let request =
            json!({ "plan": "example-email-plan", "instance_id": "i", "parameters": { "username": "my-account" } });
        assert_eq!(place.ok("provision", &request)["outputs"]["email"], "my-account@example.com");
        let bound = place.ok("bind", &binding());
        assert_eq!(bound["resources"], json!(["module.instance.random_string.password"]));
        let uri = bound["credentials"]["uri"].as_str().unwrap();
        let password =
            uri.strip_prefix("smtp://my-account@example.com:").and_then(|uri| uri.strip_suffix("@smtp.mycompany.com"));
        assert_eq!(password.map(|password| password.chars().count()), Some(16), "{uri}");
        place.ok("unbind", &binding());
        place.ok("deprovision", &request);
        place.assert_empty();
    }
}
