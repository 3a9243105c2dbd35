//! Invalid manifests, with marked values in every field.
//!
//! Names (of groups, jobs, releases, links, networks...) are shown on purpose: they locate the error.

use std::path::Path;

use testkit::files::write;

use crate::secrets::{PLAIN, names, properties};
use crate::{job, plan};

/// A valid manifest; `V` stands for a marked value, `PROPERTIES` for all of them.
const GOOD: &str = "name: d
features: {use_dns_addresses: true}
tags: {team: blue}
releases:
- {name: r, version: 1, url: V, sha1: V}
stemcells:
- {alias: default, os: V, version: V}
update: {canaries: 1, max_in_flight: 1, canary_watch_time: 1000, update_watch_time: 1000, V: V}
variables:
- {name: v, type: password, options: {length: V}}
addons: []
instance_groups:
- name: ig
  instances: 1
  vm_type: V
  vm_extensions: [V]
  stemcell: default
  persistent_disk_type: V
  env: {bosh: {password: V}}
  networks: [{name: default, static_ips: [V]}]
  jobs:
  - name: consumer
    release: r
    consumes: {vault: {from: vault}}
    properties: {s: PROPERTIES, not_declared: V}
  - name: vault
    release: r
    provides: {vault: {as: vault}}
    properties: {s: PROPERTIES}
";

/// A part of the manifest, and its replacement; all are refused.
const WRONG: &[(&str, &str)] = &[
    // Not YAML, or not YAML that BOSH reads, near a value or because of it.
    ("vm_type: V", "vm_type: \"V"),
    ("vm_type: V", "vm_type: 'V"),
    ("vm_type: V", "vm_type: @V"),
    ("vm_type: V", "vm_type: `V"),
    ("vm_type: V", "vm_type: %V"),
    ("vm_type: V", "vm_type: *V"),
    ("vm_type: V", "vm_type: [*V"),
    ("vm_type: V", "vm_type: {V: *V}"),
    ("vm_type: V", "vm_type: {V"),
    ("vm_type: V", "vm_type: V: V"),
    ("vm_type: V", "vm_type: \"\\V\""),
    ("vm_type: V", "\tvm_type: V"),
    ("vm_type: V", "V"),
    ("vm_type: V", " V: V"),
    ("vm_type: V", "- V"),
    ("vm_type: V", "vm_type: !!float V"),
    ("vm_type: V", "vm_type: !ruby/object:Object {a: V}"),
    ("vm_type: V", "vm_type: !ruby/regexp /V/"),
    ("vm_type: V", "vm_type: 2024-01-01 # V"),
    ("vm_type: V", "vm_type: |1V"),
    ("vm_type: V", "vm_type: !<V V"),
    ("vm_type: V", "vm_type: !V!x V"),
    ("name: d\n", "V\n"),
    ("name: d\n", "%V 1\n---\nname: d\n"),
    ("name: d\n", "name: d\nV\n"),
    // Of the wrong type.
    ("name: d\n", "name: [V]\n"),
    ("releases:\n- {name: r, version: 1, url: V, sha1: V}\n", "releases: V\n"),
    ("{name: r, version: 1, url: V, sha1: V}", "V"),
    ("{name: r, version: 1, url: V, sha1: V}", "{name: r, version: [V]}"),
    ("{use_dns_addresses: true}", "V"),
    ("- {alias: default, os: V, version: V}", "- V"),
    ("tags: {team: blue}", "tags: V"),
    ("tags: {team: blue}", "tags: {team: [V]}"),
    ("addons: []", "addons: V"),
    ("addons: []", "addons: [V]"),
    ("addons: []", "addons: [{name: a, jobs: V}]"),
    ("addons: []", "addons: [{name: a, jobs: [V]}]"),
    ("addons: []", "addons: [{name: a, include: V, jobs: []}]"),
    ("addons: []", "addons: [{name: a, include: {jobs: [{V: V}]}, jobs: []}]"),
    ("instances: 1", "instances: V"),
    ("instances: 1", "instances: [V]"),
    ("instances: 1", "instances: 1000000000"),
    ("networks: [{name: default, static_ips: [V]}]", "networks: V"),
    ("networks: [{name: default, static_ips: [V]}]", "networks: [V]"),
    ("networks: [{name: default, static_ips: [V]}]", "azs: V"),
    ("networks: [{name: default, static_ips: [V]}]", "azs: [{V: V}]"),
    ("networks: [{name: default, static_ips: [V]}]", "persistent_disk: V"),
    ("networks: [{name: default, static_ips: [V]}]", "properties: V"),
    ("networks: [{name: default, static_ips: [V]}]", "lifecycle: [V]"),
    ("    properties: {s: PROPERTIES, not_declared: V}", "    properties: V"),
    ("    properties: {s: PROPERTIES, not_declared: V}", "    properties: [V]"),
    ("    properties: {s: PROPERTIES, not_declared: V}", "    properties: {s: V}"),
    ("    properties: {s: PROPERTIES, not_declared: V}", "    properties: {s: {deep: {1: V, a: V}}}"),
    ("  jobs:\n  - name: consumer", "  jobs: V\n  other:\n  - name: consumer"),
    ("  - name: consumer", "  - V\n  - name: consumer"),
    ("url: V, sha1: V", "url: [V], sha1: V"),
    ("max_in_flight: 1", "max_in_flight: V"),
    ("canary_watch_time: 1000", "canary_watch_time: V"),
    ("update_watch_time: 1000", "update_watch_time: 2000-V"),
    ("V: V}\nvariables", "vm_strategy: V}\nvariables"),
    ("V: V}\nvariables", "serial: V}\nvariables"),
    ("vm_type: V", "vm_type: [V]"),
    ("vm_type: V", "vm_resources: V"),
    ("vm_type: V", "vm_resources: {cpu: V, ram: 1, ephemeral_disk_size: 1}"),
    ("vm_type: V", "update: {canaries: V}"),
    ("env: {bosh: {password: V}}", "env: V"),
    ("env: {bosh: {password: V}}", "env: {bosh: {agent: {settings: V}}}"),
    ("not_declared: V", "quarks: V"),
    ("not_declared: V", "quarks: {ports: V}"),
    ("not_declared: V", "quarks: {ports: [{name: V, internal: V}]}"),
    ("not_declared: V", "quarks: {ports: [{name: V, protocol: V, internal: 1}]}"),
    ("not_declared: V", "quarks: {envs: [V]}"),
    ("not_declared: V", "quarks: {envs: [{value: V}]}"),
    ("not_declared: V", "quarks: {run: V}"),
    ("{vault: {as: vault}}", "{vault: {as: vault, aliases: V}}"),
    ("{vault: {as: vault}}", "{vault: {as: vault, aliases: [{domain: [V]}]}}"),
    // Variables that were not interpolated.
    ("vm_type: V", "vm_type: V((one))V"),
    ("not_declared: V", "not_declared: [V, {key: \"V ((two)) V\"}]"),
    // Links.
    ("{vault: {from: vault}}", "V"),
    ("{vault: {from: vault}}", "{vault: V}"),
    ("{vault: {from: vault}}", "{vault: [V]}"),
    ("{vault: {from: vault}}", "{vault: {properties: {a: V}}}"),
    ("{vault: {from: vault}}", "{vault: {from: vault, instances: [V]}}"),
    ("{vault: {from: vault}}", "{vault: {from: vault, instances: [{address: V}], properties: {a: V}}}"),
    ("{vault: {from: vault}}", "{vault: {instances: V}}"),
    ("{vault: {from: vault}}", "{vault: {instances: V, properties: V, address: V}}"),
    ("{vault: {from: vault}}", "{vault: {from: vault, ip_addresses: V}}"),
    ("{vault: {from: vault}}", "{vault: {from: nobody}}"),
    ("{vault: {as: vault}}", "V"),
    ("{vault: {as: vault}}", "{vault: V}"),
    ("{vault: {as: vault}}", "{}\n    custom_provider_definitions: V"),
    ("{vault: {as: vault}}", "{}\n    custom_provider_definitions: [V]"),
    ("{vault: {as: vault}}", "{}\n    custom_provider_definitions: [{name: [V], type: {V: V}}]"),
];

/// Parts of BOSH's manifest without meaning in a pod: whatever they contain, they are not reported.
const IGNORED: &[(&str, &str)] = &[("length: V", "length: [V]")];

fn setting(work: &Path) {
    let declared: String = names().map(|name| format!("  s.{name}: {{}}\n")).collect();
    let exposed: String = names().map(|name| format!("  - s.{name}\n")).collect();
    job(work, "consumer", &format!("consumes:\n- {{name: vault, type: vault}}\nproperties:\n{declared}"), &[]);
    let provides = format!("provides:\n- name: vault\n  type: vault\n  properties:\n{exposed}properties:\n{declared}");
    job(work, "vault", &provides, &[]);
}

fn planned_with(work: &Path, from: &str, to: &str) -> (Option<i32>, String) {
    assert!(GOOD.contains(from), "there is no {from:?} to replace");
    // The value is not quoted here, as authors of manifests may not quote it either.
    let manifest = GOOD.replacen(from, to, 1).replace('V', PLAIN).replace("PROPERTIES", &properties());
    write(&work.join("manifest.yml"), manifest);
    let outcome = plan(work);
    (outcome.code, outcome.stderr)
}

#[test]
fn invalid_manifests_are_refused_without_printing_values() {
    let directory = tempfile::tempdir().unwrap();
    setting(directory.path());
    let accepted = |(from, to): &&(&str, &str)| planned_with(directory.path(), from, to).0 != Some(65);
    let accepted: Vec<_> = WRONG.iter().filter(accepted).collect();
    assert!(accepted.is_empty(), "{accepted:#?}");
}

#[test]
fn parts_without_meaning_in_a_pod_are_not_reported() {
    let directory = tempfile::tempdir().unwrap();
    setting(directory.path());
    for (from, to) in IGNORED.iter().chain(&[("name: d", "name: d")]) {
        let (code, stderr) = planned_with(directory.path(), from, to);
        assert_eq!(code, Some(0), "{to}: {stderr}");
    }
}
