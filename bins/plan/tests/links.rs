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
