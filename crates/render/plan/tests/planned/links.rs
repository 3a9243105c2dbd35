//! Links that the manifest says something about.

use crate::{Planned, plan, yaml};

#[test]
fn all_links_that_a_job_provides_are_listed_by_the_names_that_find_them() {
    let planned = plan(
        &[("p", "provides: [{name: a, type: t}, {name: b, type: t}, {name: c, type: t}]")],
        "instance_groups:
- name: g
  instances: 1
  jobs:
  - name: p
    release: r
    custom_provider_definitions: [{name: mine, type: u}, {name: yours, type: u}]
    provides: {b: {as: other}, c: nil, yours: {as: theirs}}",
    );
    let listed = "[{name: mine, type: u}, {name: theirs, type: u}, {name: a, type: t}, {name: other, type: t}, {name: c, type: t}]";
    assert_eq!(planned.job("g", "p")["quarks"]["provides"], yaml(listed));
}

/// A provider on two networks, and a consumer of which the manifest says this.
fn consumed(entry: &str) -> Planned {
    plan(
        &[("p", "provides: [{name: l, type: t}]"), ("c", "consumes: [{name: l, type: t}]")],
        &format!(
            "instance_groups:
- name: g
  instances: 1
  networks: [{{name: one, default: [dns, gateway]}}, {{name: two}}]
  jobs: [{{name: p, release: r}}, {{name: c, release: r, consumes: {{l: {entry}}}}}]"
        ),
    )
}

#[test]
fn empty_network_and_deployment_of_a_consumer_are_ignored() {
    for entry in ["{network: ~}", "{network: false}", "{deployment: ~}", "{deployment: false}", "{deployment: d}"] {
        let link = consumed(entry).job("g", "c")["quarks"]["consumes"]["l"].clone();
        assert_eq!(link["instance_group"], yaml("g"), "{entry}");
    }
}

#[test]
fn the_name_of_a_link_is_the_last_part_of_from() {
    for from in ["l", "d.l", "d.p.l", "l.", "d.l.."] {
        let link = consumed(&format!("{{from: {from}}}")).job("g", "c")["quarks"]["consumes"]["l"].clone();
        assert_eq!(link["instance_group"], yaml("g"), "{from}");
    }
    let nobody = consumed("{from: l.m}");
    assert!(nobody.printed.contains("link 'l' with alias 'm' and type 't'"), "{}", nobody.printed);
}

#[test]
fn the_network_that_a_consumer_asks_for_is_the_links() {
    for (entry, network) in [("{}", "one"), ("{network: one}", "one"), ("{network: two}", "two")] {
        let link = consumed(entry).job("g", "c")["quarks"]["consumes"]["l"].clone();
        assert_eq!(link["default_network"], yaml(network), "{entry}");
    }
}

/// Jobs of groups that want a link nobody provides, and an addon's.
const UNRESOLVED: &str = "
instance_groups:
- {name: one, instances: 1, jobs: [{name: c, release: r}]}
- {name: two, instances: 1, jobs: [{name: c, release: r}]}
addons:
- {name: first, jobs: [{name: d, release: r}, {name: e, release: r}]}
- {name: second, jobs: [{name: b, release: r}], include: {instance_groups: [one]}}";

#[test]
fn jobs_of_addons_come_after_all_others() {
    let wants = "consumes: [{name: l, type: t}]";
    let planned = plan(&[("b", wants), ("c", wants), ("d", wants), ("e", wants)], UNRESOLVED);
    let jobs = planned
        .printed
        .lines()
        .filter_map(|line| line.strip_prefix("  - Failed to resolve link 'l' with type 't' from "));
    let jobs: Vec<&str> = jobs.map(|line| line.split('.').next().unwrap()).collect();
    let expected = ["c' in instance group 'one", "c' in instance group 'two", "d' in instance group 'one"];
    let rest = [
        "d' in instance group 'two",
        "e' in instance group 'one",
        "e' in instance group 'two",
        "b' in instance group 'one",
    ];
    let expected: Vec<String> = expected.iter().chain(&rest).map(|job| format!("job '{job}'")).collect();
    assert_eq!(jobs, expected);
}

#[test]
fn an_addons_mistake_is_reported_once_however_many_groups_have_it() {
    let specs = [("b", ""), ("c", ""), ("d", "provides: [{name: l, type: t, properties: [nowhere]}]"), ("e", "")];
    let planned = plan(&specs, UNRESOLVED);
    assert_eq!(planned.code, Some(65));
    assert_eq!(planned.printed, "error: Link property nowhere in template d is not defined in release spec\n");
}

#[test]
fn custom_providers_are_reported_in_boshs_order() {
    let planned = plan(
        &[("p", "provides: [{name: a, type: t}]")],
        "instance_groups:
- name: g
  instances: 1
  jobs:
  - {name: p, release: r, custom_provider_definitions: [{name: m}, {name: m, type: u}, {name: m, type: u}, {name: a, type: u}]}",
    );
    let place = "in job 'p' in instance group 'g'";
    let expected = [
        format!("Type for custom link provider definition in manifest {place} must be a valid non-empty string."),
        format!("Custom provider 'a' {place} is already defined in release 'r'"),
        format!("Custom provider 'm' {place} is defined multiple times in manifest."),
    ];
    assert_eq!(planned.printed, expected.map(|text| format!("error: {text}\n")).concat());
}

#[test]
fn what_a_consumer_asks_for_is_a_text() {
    for key in ["from", "network", "deployment"] {
        for (given, class) in [("[l]", "Array"), ("{l: l}", "Hash")] {
            let expected =
                format!("error: Property '{key}' value (a {class}) did not match the required type 'String'\n");
            assert_eq!(consumed(&format!("{{{key}: {given}}}")).printed, expected);
        }
    }
}
