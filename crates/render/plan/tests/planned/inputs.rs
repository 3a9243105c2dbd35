//! Ops files, variables and configs.

use crate::{HEAD, Planned, plan_templates, plan_whole, yaml};

const SPEC: &str = "properties: {port: {}, text: {}}";
const MANIFEST: &str = "name: d
releases: [{name: r, version: 1}]
instance_groups:
- name: g
  instances: ((instances))
  jobs:
  - name: j
    release: r
    properties:
      port: ((port))
      text: x-((text))
";

/// A deployment of `MANIFEST`, whose variables have no values yet, and files beside it.
fn deployment(files: &[(&str, &str)]) -> Planned {
    let planned = plan_whole(&[("j", SPEC)], MANIFEST);
    let expected = "error: unresolved variables: ((instances)), ((port)), ((text))\n";
    assert!(planned.printed.contains(expected), "{}", planned.printed);
    for (path, text) in files {
        planned.write(path, text);
    }
    planned
}

const VARS: &[(&str, &str)] = &[
    ("vars.yml", "port: 0644\ntext: a\n"),
    ("scale.yml", "- type: replace\n  path: /instance_groups/name=g/instances\n  value: 2\n"),
];

#[test]
fn the_manifest_is_what_interpolate_prints() {
    let planned = deployment(VARS);
    let inputs = ["--output-dir", "out", "--ops-file", "scale.yml", "-l", "vars.yml", "-v", "text=b"];
    let (code, printed) = planned.with(&inputs);
    assert_eq!((code, printed.as_str()), (Some(0), ""));
    let planned = Planned { code, ..planned };
    // As go-yaml reads it, not as Psych does.
    assert_eq!(planned.job("g", "j")["port"], yaml("420"));
    assert_eq!(planned.job("g", "j")["text"], yaml("x-b"));
    assert_eq!(planned.deployment().group("g").unwrap().instances.len(), 2);
}

#[test]
fn without_flags_a_manifest_is_read_as_bosh_reads_it() {
    let manifest = MANIFEST.replace("((instances))", "1").replace("((port))", "1:30").replace("((text))", "y");
    let planned = plan_whole(&[("j", SPEC)], &manifest);
    assert_eq!(planned.job("g", "j")["port"], yaml("5400"));
}

#[test]
fn problems_name_the_file_and_line_that_a_value_comes_from() {
    let planned = deployment(VARS);
    planned.write("vars.yml", "a: 1\ninstances: many\nport: 1\ntext: a\n");
    let (code, printed) = planned.with(&["--output-dir", "out", "-l", "vars.yml"]);
    assert_eq!(code, Some(65));
    let expected =
        "error: Property 'instances' value (a String) did not match the required type 'Integer'\n  --> vars.yml:2:12\n";
    assert!(printed.starts_with(expected), "{printed}");
    planned.write("scale.yml", "- type: replace\n  path: /instance_groups/name=g/jobs/name=j/name\n  value: k\n");
    let (_, printed) =
        planned.with(&["--output-dir", "out", "-l", "vars.yml", "-v", "instances=1", "--ops-file", "scale.yml"]);
    assert!(printed.contains("error: Job 'k' not found in release 'r'\n  --> manifest.yml:7:5\n"), "{printed}");
    planned
        .write("scale.yml", "- type: replace\n  path: /instance_groups/-\n  value:\n    name: h\n    instances: 1\n");
    let (_, printed) =
        planned.with(&["--output-dir", "out", "-l", "vars.yml", "-v", "instances=1", "--ops-file", "scale.yml"]);
    assert!(printed.contains("'h' does not specify jobs key\n  --> scale.yml:4:5\n"), "{printed}");
    let (_, printed) = planned.with(&["--output-dir", "out", "-l", "vars.yml", "-v", "instances=s3cret"]);
    assert!(printed.contains("  --> manifest.yml:5:14\n"), "{printed}");
    assert!(!printed.contains("s3cret"), "{printed}");
}

#[test]
fn what_is_unresolved_is_listed_with_its_places() {
    let planned = deployment(VARS);
    planned.write("vars.yml", "port: x((other))\ntext: a\n");
    let (code, printed) = planned.with(&["--output-dir", "out", "-l", "vars.yml"]);
    assert_eq!(code, Some(65));
    let expected = "error: unresolved variables: ((instances)), ((other))\n  --> manifest.yml:5:14: ((instances))\n  --> vars.yml:1:7: ((other))\n";
    assert!(printed.contains(expected), "{printed}");
    assert!(printed.contains("hint: give values with --var"), "{printed}");
}

#[test]
fn the_output_must_not_be_an_input_file() {
    let planned = deployment(VARS);
    for output in ["vars.yml", "scale.yml", "manifest.yml"] {
        let inputs = ["ig-resolved", "-g", "g", "--output", output, "--ops-file", "scale.yml", "-l", "vars.yml"];
        let (code, printed) = planned.with(&inputs);
        assert_eq!(code, Some(65), "{printed}");
        assert!(printed.starts_with(&format!("error: the output {output} is ")), "{printed}");
    }
    // The short form is the output's.
    let inputs = ["ig-resolved", "-d", "d", "-g", "g", "-o", "out.json", "-l", "vars.yml", "-v", "instances=1"];
    assert_eq!(planned.with(&inputs), (Some(0), String::new()));
}

/// A deployment with a job for addons.
fn with_configs(group: &str, configs: &[(&str, &str)]) -> Planned {
    let manifest =
        format!("{HEAD}instance_groups:\n- name: g\n  instances: 1\n  jobs: [{{name: j, release: r}}]\n{group}");
    let planned = plan_templates(&[("j", "")], &[], &manifest[HEAD.len()..]);
    planned.write("jobs-src/q/x/spec", "name: x\nproperties: {secret: {}, port: {}}\n");
    for (path, text) in configs {
        planned.write(path, text);
    }
    planned
}

const RUNTIME: &str = "releases: [{name: q, version: 2}]
addons:
- name: a
  include: {deployments: [d]}
  jobs:
  - {name: x, release: q, properties: {secret: ((secret)), port: 1}}
";

#[test]
fn addons_of_a_runtime_config_are_planned() {
    let planned = with_configs("", &[("runtime.yml", RUNTIME)]);
    let (code, printed) = planned.with(&["--output-dir", "out", "--runtime-config", "runtime.yml", "-v", "secret=1"]);
    assert_eq!((code, printed.as_str()), (Some(0), ""));
    let planned = Planned { code, ..planned };
    assert_eq!(planned.job("g", "x")["secret"], yaml("1"));
    let document = planned.deployment();
    let releases: Vec<(&str, &str)> = document.releases.iter().map(|r| (r.name.as_str(), r.version.as_str())).collect();
    assert_eq!(releases, [("r", "1"), ("q", "2")]);
    // The name given is the deployment's.
    let (code, _) =
        planned.with(&["--output-dir", "out", "-d", "e", "--runtime-config", "runtime.yml", "-v", "secret=1"]);
    let planned = Planned { code, ..planned };
    assert_eq!(planned.deployment().group("g").unwrap().jobs.len(), 1);
}

#[test]
fn problems_of_configs_have_their_places() {
    let planned = with_configs("", &[("runtime.yml", RUNTIME)]);
    let (code, printed) = planned.with(&["--output-dir", "out", "--runtime-config", "runtime.yml"]);
    assert_eq!(code, Some(65));
    assert!(printed.contains("unresolved variables: ((secret))\n  --> runtime.yml:6:40: ((secret))"), "{printed}");
    planned.write("runtime.yml", &RUNTIME.replace("port: 1", "prot: 1").replace("((secret))", "1"));
    let (code, printed) = planned.with(&["--output-dir", "out", "--runtime-config", "runtime.yml"]);
    assert_eq!(code, Some(0), "{printed}");
    planned.write("runtime.yml", &RUNTIME.replace("name: x,", "name: w,").replace("((secret))", "1"));
    let (code, printed) = planned.with(&["--output-dir", "out", "--runtime-config", "runtime.yml", "-v", "unused=1"]);
    assert_eq!(code, Some(65));
    assert!(printed.contains("error: Can't find job 'w'\n  --> runtime.yml:6:5\n"), "{printed}");
    let (code, printed) =
        planned.with(&["--output-dir", "out", "--runtime-config", "none.yml", "--cloud-config", "no.yml"]);
    assert_eq!(code, Some(65));
    assert!(printed.contains("none.yml") && printed.contains("no.yml"), "{printed}");
}

const CLOUD: &str = "azs: [{name: z1}]
vm_types: [{name: small, cloud_properties: {cpu: 2, ram: 2048, instance_type: m5}}]
disk_types: [{name: 5GB, disk_size: 5120, cloud_properties: {storage_class: fast}}]
networks: [{name: n, type: dynamic}]
compilation: {workers: 1, network: n}
";

#[test]
fn sizes_of_a_cloud_config_reach_the_deployment_document() {
    let group = "  vm_type: small\n  persistent_disk_type: 5GB\n  networks: [{name: n}]\n";
    let planned = with_configs(group, &[("cloud.yml", CLOUD)]);
    assert_eq!(planned.deployment().group("g").unwrap().vm_resources, None);
    let (code, printed) = planned.with(&["--output-dir", "out", "--cloud-config", "cloud.yml"]);
    let planned = Planned { code, ..planned };
    let document = planned.deployment();
    let group = document.group("g").unwrap();
    let vm = group.vm_resources.clone().unwrap();
    assert_eq!((vm.cpu, vm.ram, vm.ephemeral_disk_size), (2, 2048, 0));
    let disk = group.persistent_disk.clone().unwrap();
    assert_eq!((disk.size, disk.disk_type.as_deref()), (Some(5120), Some("fast")));
    assert_eq!(planned.group("g")["persistent_disk"], yaml("5120"));
    let expected = "3 settings of the configs have no effect:";
    assert_eq!(printed.matches(expected).count(), 1, "{printed}");
    assert!(printed.contains("cloud.yml:2:64: cloud_properties.instance_type of 'vm_types'"), "{printed}");
}

#[test]
fn names_that_a_cloud_config_does_not_have_are_errors() {
    let planned = with_configs("  vm_type: smal\n  networks: [{name: n}]\n", &[("cloud.yml", CLOUD)]);
    let (code, printed) = planned.with(&["--output-dir", "out", "--cloud-config", "cloud.yml"]);
    assert_eq!(code, Some(65));
    let expected = "error: Instance group 'g' references an unknown vm type 'smal'\n  --> manifest.yml:7:3\n  hint: did you mean 'small'?\n";
    assert!(printed.contains(expected), "{printed}");
}

#[test]
fn instances_of_the_version_before_keep_their_indexes() {
    let manifest = |instances: u32, azs: &str| {
        format!(
            "{HEAD}instance_groups:\n- name: g\n  instances: {instances}\n  azs: {azs}\n  jobs: [{{name: j, release: r}}]\n"
        )
    };
    let planned = plan_whole(&[("j", "properties: {}")], &manifest(2, "[z1, z2]"));
    planned.write("manifest.yml", &manifest(3, "[z1, z2]"));
    let (code, printed) = planned.with(&["--output-dir", "out", "--previous", "out"]);
    assert_eq!((code, printed.as_str()), (Some(0), ""));
    let instances = |planned: &Planned| -> Vec<(u32, Option<String>, u32, String)> {
        let group = planned.deployment().group("g").unwrap().clone();
        group.instances.into_iter().map(|i| (i.index, i.az, i.ordinal, i.address)).collect()
    };
    let instance = |index: u32, az: &str, ordinal: u32| {
        (index, Some(az.to_owned()), ordinal, format!("d-g-{index}.default.svc.cluster.local"))
    };
    assert_eq!(instances(&planned), [instance(0, "z1", 0), instance(1, "z2", 0), instance(2, "z1", 1)]);
    // Each pod finds its index by its AZ and ordinal.
    let expected = yaml(
        "[{index: 0, az_index: 1, ordinal: 0}, {index: 1, az_index: 2, ordinal: 0}, {index: 2, az_index: 1, ordinal: 1}]",
    );
    assert_eq!(planned.group("g")["properties"]["quarks"]["instances"], expected);

    // Without its first AZ, the remaining instance is the first one.
    planned.write("manifest.yml", &manifest(1, "[z2]"));
    assert_eq!(planned.with(&["--output-dir", "out", "--previous", "out"]).0, Some(0));
    assert_eq!(instances(&planned), [instance(1, "z2", 0)]);
    let job = &planned.group("g")["jobs"][0]["properties"]["quarks"]["instances"][0];
    assert_eq!((&job["index"], &job["bootstrap"]), (&yaml("1"), &yaml("true")));

    planned.write("previous/identities.json", "{\"version\":9}");
    let (code, printed) = planned.with(&["--output-dir", "out", "--previous", "previous"]);
    assert_eq!(code, Some(65));
    assert!(printed.contains("identities.json has version 9, and this program reads version 1"), "{printed}");
}
