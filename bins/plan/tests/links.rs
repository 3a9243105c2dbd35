//! Links that the manifest says something about.

#![allow(clippy::unwrap_used, reason = "a test")]

mod planned;

use planned::{plan, yaml};

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
fn consumed(entry: &str) -> planned::Planned {
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
fn what_a_consumer_says_of_network_and_deployment_counts_only_where_it_says_something() {
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
    assert!(nobody.said.contains("link 'l' with alias 'm' and type 't'"), "{}", nobody.said);
}

#[test]
fn the_network_that_a_consumer_asks_for_is_the_links() {
    for (entry, network) in [("{}", "one"), ("{network: one}", "one"), ("{network: two}", "two")] {
        let link = consumed(entry).job("g", "c")["quarks"]["consumes"]["l"].clone();
        assert_eq!(link["default_network"], yaml(network), "{entry}");
    }
}
