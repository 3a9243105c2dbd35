//! Manifests and definitions, and what is reported about them.

mod common;

use brokerpak_model::{lint, report::Report};
use common::{MANIFEST, SERVICE, errors, read, shown};

fn manifest(changed: &str) -> Vec<String> {
    errors(&[("manifest.yml", changed), ("s.yml", SERVICE)])
}

fn service(rest: &str) -> Vec<String> {
    errors(&[("manifest.yml", MANIFEST), ("s.yml", &format!("{SERVICE}{rest}"))])
}

#[test]
fn a_pak_without_errors() {
    assert_eq!(manifest(MANIFEST), [] as [&str; 0]);
}

#[test]
fn an_empty_manifest_misses_everything() {
    assert_eq!(
        manifest("{}"),
        [
            "missing field(s): name, packversion, platforms, service_definitions, terraform_binaries, version @1,1,1,1,1,1"
        ]
    );
}

#[test]
fn rules_of_the_manifest() {
    let binaries = |list: &str| manifest(&MANIFEST.replace("[{name: tofu, version: 1.9.1}]", list));
    for (list, message) in [
        ("[{name: tofu}]", "missing field(s): terraform_binaries[0].version @5"),
        ("[{name: tofu, version: x}]", "malformed version: x: terraform_binaries[0].version @5"),
        (
            "[{name: terraform-provider-a, version: 1.0.0, provider: a/b/c/d}]",
            "invalid format; valid format is [<HOSTNAME>/]<NAMESPACE>/<TYPE>: terraform_binaries[0].provider @5",
        ),
        (
            "[{name: terraform-provider-a, version: 1.0.0, provider: ../../escaped}]",
            "invalid format; valid format is [<HOSTNAME>/]<NAMESPACE>/<TYPE>: terraform_binaries[0].provider @5",
        ),
        ("[{name: psql, version: ../x}]", "invalid value: ../x: terraform_binaries[0].version @5"),
        (
            "[{name: psql, version: any, default: true}]",
            "This field is only valid for `terraform`: terraform_binaries[0].default @5",
        ),
        (
            "[{name: tofu, version: 1.6.0}, {name: tofu, version: 1.9.1}]",
            "multiple Tofu versions, but none marked as default: terraform_binaries @5",
        ),
        (
            "[{name: terraform, version: 1.6.0, default: true}, {name: terraform, version: 1.9.1}]",
            "default version of Terraform must be the highest version: terraform_binaries @5",
        ),
        (
            "[{name: terraform, version: 1.6.0, default: true}, {name: terraform, version: 1.9.1, default: true}]",
            "multiple Terraform versions, and multiple marked as default: terraform_binaries @5",
        ),
    ] {
        assert_eq!(binaries(list), [message], "{list}");
    }
    for (more, message) in [
        ("nam: x", "line 7: field nam not found in type manifest.parser @7 (did you mean name?)"),
        ("parameters: [{name: A}]", "missing field(s): parameters[0].description @7"),
        (
            "terraform_upgrade_path: [{version: 9}]",
            "no corresponding terrafom resource for tofu version \"9\": terraform_upgrade_path[0].version @7",
        ),
        ("terraform_upgrade_path: [{version: x}]", "invalid value: x: terraform_upgrade_path[0].version @7"),
        ("name: twice", "yaml: unmarshal errors:\n  line 7: mapping key \"name\" already defined at line 2 @7"),
    ] {
        assert_eq!(manifest(&format!("{MANIFEST}{more}\n")), [message], "{more}");
    }
    assert_eq!(
        manifest(&MANIFEST.replace("packversion: 1", "packversion: 2").replace("amd64", "amd")),
        ["invalid value: 2: packversion @1", "invalid value: linux/amd: platforms[0] @4"]
    );
    assert_eq!(manifest(&MANIFEST.replace("s.yml", "../s.yml")), ["invalid value: ../s.yml: service_definitions @6"]);
    // One version is the default, and the end of the path, without being marked.
    assert_eq!(manifest(&format!("{MANIFEST}terraform_upgrade_path: [{{version: 1.9.1}}]\n")), [] as [&str; 0]);
}

#[test]
fn an_empty_definition_has_the_errors_of_the_reference() {
    assert_eq!(
        errors(&[("manifest.yml", MANIFEST), ("s.yml", "{}")]),
        [
            "field must be a URL: documentation_url, image_url, support_url @1,1,1",
            "field must be a UUID: id @1",
            "invalid value: 0: version @1",
            "missing field(s): description, display_name, name @1,1,1",
        ]
    );
}

#[test]
fn rules_of_definitions() {
    for (rest, messages) in [
        (
            "provision:\n  user_inputs:\n  - {field_name: a, type: strin}\n",
            &[
                "field must match '^(|object|boolean|array|number|string|integer)$': provision.user_inputs[0].type @19",
                "missing field(s): provision.user_inputs[0].details @19",
            ][..],
        ),
        (
            "provision:\n  template: 'variable x {}\n\n    output y {value = 1}'\n",
            &[
                "fields used but not declared: provision.template.x @18",
                "template outputs [y] must match declared outputs []: provision.template @18",
            ],
        ),
        ("bind:\n  template: 'x {'\n", &["invalid HCL: bind.template @18"]),
        (
            "bind:\n  template_ref: no.tf\n",
            &["couldn't load bind template no.tf: open no.tf: no such file or directory @18"],
        ),
        (
            "bind:\n  template_ref: ../x.tf\n",
            &["couldn't load bind template ../x.tf: the path leads out of the pak @18"],
        ),
        (
            "provision:\n  computed_inputs: [{name: a}]\n",
            &["missing field(s): provision.computed_inputs[0].default @18"],
        ),
        ("examples: [{name: e, description: d}]\n", &["missing field(s): examples[0].plan_id @17"]),
        ("tags: {a: b}\n", &["line 17: cannot unmarshal !!map into a list: tags @17"]),
        ("provision:\n  template: 'output status {value = 1}'\n", &[]),
    ] {
        assert_eq!(service(rest), messages, "{rest}");
    }
    let twice = "- name: small\n  id: 00000000-0000-0000-0000-000000000000\n  description: d\n  display_name: a b\n";
    assert_eq!(
        service(twice),
        [
            "duplicated value, must be unique: 00000000-0000-0000-0000-000000000000: services[0].plans[1].ID @18",
            "duplicated value, must be unique: small: plans[1].Name @17",
        ]
    );
    assert_eq!(service(&twice.replace("small", "a b"))[1], "field must match '^[a-zA-Z0-9-\\.]+$': plans[1].name @17");
}

#[test]
fn yaml_bombs_are_errors() {
    let mut bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n".to_owned();
    for (before, name) in "abcdefghi".chars().zip("bcdefghij".chars()) {
        bomb.push_str(&format!("{name}: &{name} [{}]\n", vec![format!("*{before}"); 9].join(",")));
    }
    let errors = errors(&[("manifest.yml", &bomb)]);
    assert!(errors[0].starts_with("yaml: document contains excessive aliasing @"), "{errors:?}");
    let deep = common::errors(&[("manifest.yml", &"[".repeat(100_000))]);
    assert!(deep[0].contains("exceeded max depth"), "{deep:?}");
}

fn warnings(rest: &str) -> Vec<String> {
    let definition = format!(
        "{SERVICE}examples: [{{name: e, description: d, plan_id: 00000000-0000-0000-0000-000000000001}}]\n{rest}"
    );
    let (pak, mut report) = read(&[("manifest.yml", MANIFEST), ("s.yml", &definition)]);
    assert_eq!(shown(&report.problems()), [] as [&str; 0]);
    pak.services.iter().for_each(|service| lint::service(service, &mut report));
    shown(&report.warnings())
}

#[test]
fn parameters_of_examples_are_checked_as_those_of_requests() {
    let definition = |example: &str| {
        format!(
            "{SERVICE}provision:
  plan_inputs:
  - {{field_name: fixed, type: integer, details: d, required: true}}
  - {{field_name: flag, type: boolean, details: d, required: true}}
  user_inputs:
  - {{field_name: name, type: string, details: d, required: true, constraints: {{maxLength: 4}}}}
  - {{field_name: over, type: string, details: d, required: true}}
bind:
  user_inputs:
  - {{field_name: role, type: string, details: d, required: true}}
examples:
- {{name: e, description: d, plan_id: 00000000-0000-0000-0000-000000000001, {example}}}
"
        )
    };
    let warnings = |example: &str| {
        let (pak, mut report) = read(&[("manifest.yml", MANIFEST), ("s.yml", &definition(example))]);
        assert_eq!(shown(&report.problems()), [] as [&str; 0]);
        pak.services.iter().for_each(|service| lint::service(service, &mut report));
        shown(&report.warnings())
    };
    assert_eq!(warnings("provision_params: {name: a}, bind_params: {role: r}"), [] as [&str; 0]);
    assert_eq!(
        warnings("provision_params: {nam: a, fixed: 2}, bind_params: {role: 7}"),
        [
            "Invalid type. Expected: string, given: integer: examples[0].bind_params.role @28",
            "additional properties are not allowed: examples[0].provision_params.nam @28 (did you mean name?)",
            "missing field(s): examples[0].provision_params.name @28",
            "plan defined properties cannot be changed: examples[0].provision_params.fixed @28",
        ]
    );
    assert_eq!(
        warnings("provision_params: {name: too long}"),
        [
            "String length must be less than or equal to 4: examples[0].provision_params.name @28",
            "missing field(s): examples[0].bind_params.role @28",
        ]
    );
}

#[test]
fn warnings_are_about_terraform_that_does_not_exist() {
    let warnings = |binary: &str, platform: &str| {
        let manifest =
            MANIFEST.replace("{name: tofu, version: 1.9.1}", binary).replace("{os: linux, arch: amd64}", platform);
        let (pak, mut report) = read(&[("manifest.yml", &manifest), ("s.yml", SERVICE)]);
        assert_eq!(shown(&report.problems()), [] as [&str; 0], "the specification has the platform");
        lint::manifest(&pak.manifest, "manifest.yml", &mut report);
        shown(&report.warnings())
    };
    let hint = "(url_template names one that was built for it)";
    for (binary, platform, expected) in [
        (
            "{name: terraform, version: 0.11.14}",
            "{os: linux, arch: amd64}",
            vec!["terraform 0.11.14 is older than 0.12, the first version that is supported: terraform_binaries[0].version @5".to_owned()],
        ),
        (
            "{name: terraform, version: 0.12.21}",
            "{os: darwin, arch: '386'}",
            vec![format!("terraform 0.12.21 does not exist for darwin/386: platforms[0] @4 {hint}")],
        ),
        ("{name: terraform, version: 0.12.21, url_template: my.zip}", "{os: darwin, arch: '386'}", vec![]),
        (
            "{name: terraform, version: 1.0.1}",
            "{os: darwin, arch: arm64}",
            vec![format!("terraform 1.0.1 does not exist for darwin/arm64: platforms[0] @4 {hint}")],
        ),
        ("{name: terraform, version: 1.0.2}", "{os: darwin, arch: arm64}", vec![]),
        ("{name: tofu, version: 1.9.1}", "{os: linux, arch: arm}", vec![]),
    ] {
        assert_eq!(warnings(binary, platform), expected, "{binary} {platform}");
    }
}

#[test]
fn a_variable_that_a_parameter_sets_is_an_input() {
    let manifest = format!("{MANIFEST}parameters: [{{name: TF_VAR_x, description: d}}]\n");
    let action = "provision:\n  template: 'variable x {}\n\n    variable y {}'\n";
    let (_, report) = read(&[("manifest.yml", &manifest), ("s.yml", &format!("{SERVICE}{action}"))]);
    let problems = report.problems();
    assert_eq!(shown(&problems), ["fields used but not declared: provision.template.x, provision.template.y @18,18"]);
    let hints: Vec<Option<&str>> = problems[0].notes.iter().map(|note| note.hint.as_deref()).collect();
    let hint = "TF_VAR_x is a parameter of the manifest; its variable must be an input, too: add it to user_inputs";
    assert_eq!(hints, [Some(hint), None]);
}

#[test]
fn scalars_of_the_metadata_are_texts() {
    let manifest = format!(
        "{MANIFEST}metadata: {{author: me, made: 2001-01-01, number: 1.10, flag: yes, big: 9007199254740993, none: ~, map: {{n: 1}}}}\n"
    );
    let (pak, _) = read(&[("manifest.yml", &manifest), ("s.yml", SERVICE)]);
    assert_eq!(
        pak.manifest.metadata,
        serde_json::json!({ "author": "me", "made": "2001-01-01", "number": "1.10", "flag": "yes", "big": "9007199254740993",
            "none": "", "map": { "n": 1 } })
    );
}

#[test]
fn warnings_are_about_what_brokers_accept() {
    let head = "bind: {}\nprovision:\n  plan_inputs:\n  - {field_name: fixed, type: integer, details: d, required: true, constraints: {minimum: 1}}\n  - {field_name: flag, type: boolean, details: d, required: true}\n";
    assert_eq!(warnings(head), [] as [&str; 0]);
    let user = |input: &str| warnings(&format!("{head}  user_inputs:\n  - {input}\n"));
    for (input, warning) in [
        ("{field_name: a, details: d, default: x}", "missing field(s): provision.user_inputs[0].type @24"),
        (
            "{field_name: a, details: d, type: string}",
            "missing field(s): provision.user_inputs[0].default @24 (an input that is not required needs a default)",
        ),
        (
            "{field_name: a, details: d, type: string, default: null}",
            "missing field(s): provision.user_inputs[0].default @24 (an input that is not required needs a default)",
        ),
        (
            "{field_name: a, details: d, type: string, default: x, constraints: {maxlength: 3}}",
            "unknown constraint: provision.user_inputs[0].constraints.maxlength @24 (did you mean maxLength?)",
        ),
        (
            "{field_name: a, details: d, type: string, default: x, constraints: {format: date}}",
            "unknown constraint: provision.user_inputs[0].constraints.format @24",
        ),
        (
            "{field_name: a, details: d, type: integer, default: x}",
            "unable to cast \"x\" of type string to int: provision.user_inputs[0].default @24",
        ),
        (
            "{field_name: a, details: d, type: integer, default: 3, constraints: {maximum: 2}}",
            "Must be less than or equal to 2: provision.user_inputs[0].default @24",
        ),
        (
            "{field_name: a, details: d, type: string, default: c, enum: {a: A, b: B}}",
            "a must be one of the following: \"a\", \"b\": provision.user_inputs[0].default @24",
        ),
        (
            "{field_name: a, details: d, type: string, default: '${request.pln_id}'}",
            "the expression can never be evaluated: 1:3: unknown variable accessed: request.pln_id: provision.user_inputs[0].default @24 (did you mean request.plan_id?)",
        ),
        (
            "{field_name: a, details: d, type: string, default: x, requird: true}",
            "unknown key: provision.user_inputs[0].requird @24 (did you mean required?)",
        ),
    ] {
        assert_eq!(user(input), [warning], "{input}");
    }
    assert_eq!(user("{field_name: a, details: d, type: string, default: '${request.plan_id}'}"), [] as [&str; 0]);
    assert_eq!(
        warnings(&format!(
            "{head}  template: 'output o {{value = var.flag}}'\n  outputs: [{{field_name: o, type: string, details: d}}]\n"
        )),
        ["the template uses an input that it does not declare: provision.template.flag @23"]
    );
    let undeclared = warnings("bind: {}\nprovision: {}\n");
    assert_eq!(
        undeclared,
        ["the property is not declared in plan_inputs: plans[0].properties.fixed, plans[0].properties.flag @10,10"]
    );
    let mut report = Report::default();
    let (pak, _) = read(&[("manifest.yml", &MANIFEST.replace("tofu", "psql")), ("s.yml", SERVICE)]);
    lint::manifest(&pak.manifest, "manifest.yml", &mut report);
    assert_eq!(shown(&report.warnings()), ["the pak has neither terraform nor tofu: terraform_binaries @"]);
}
