//! What a manifest may say, and how it is told that it may not.

#![allow(clippy::unwrap_used, reason = "a test")]

mod planned;

use planned::{plan, yaml};

const GROUP: &str = "
stemcells: [{alias: s, os: jammy}]
instance_groups: [{name: g, instances: 1, stemcell: s, jobs: [{name: j, release: r}]}]";

/// A group with the job `j`, and an addon with the job `a`, of which the manifest says this besides.
fn addon(rest: &str) -> planned::Planned {
    let specs = [("j", ""), ("a", "properties: {k: {default: d}}")];
    plan(&specs, &format!("{GROUP}\naddons: [{{name: x, jobs: [{{name: a, release: r}}], {rest}}}]"))
}

#[test]
fn properties_of_an_addon_are_a_hash() {
    for (given, class) in [("~", "NilClass"), ("5", "Integer"), ("[]", "Array"), ("text", "String")] {
        let expected =
            format!("error: Property 'properties' value (a {class}) did not match the required type 'Hash'\n");
        assert_eq!(addon(&format!("properties: {given}")).said, expected);
    }
    assert_eq!(addon("properties: {k: v}").job("g", "a")["k"], yaml("v"));
    assert_eq!(addon("properties: {}").job("g", "a")["k"], yaml("d"));
}

#[test]
fn filters_that_say_nothing_filter_nothing() {
    for (section, filter) in
        [("include", "deployments: []"), ("include", "lifecycle: ''"), ("exclude", "lifecycle: ''")]
    {
        let jobs = addon(&format!("{section}: {{{filter}}}")).group("g")["jobs"].as_sequence().unwrap().len();
        assert_eq!(jobs, 2, "{section} {filter}");
    }
    assert_eq!(addon("exclude: {lifecycle: service}").group("g")["jobs"].as_sequence().unwrap().len(), 1);
}

#[test]
fn filters_name_jobs_and_stemcells() {
    let said = |filter: &str| addon(filter).said;
    for jobs in ["{name: j}", "{release: r}", "{name: '', release: r}", "{name: j, release: ''}"] {
        let expected = "error: Job in deployment config's include section must have both name and release.\n";
        assert_eq!(said(&format!("include: {{jobs: [{jobs}]}}")), expected, "{jobs}");
    }
    for stemcell in ["{}", "{os: ''}"] {
        let expected = "error: Stemcell in deployment config's exclude section must have an os name.\n";
        assert_eq!(said(&format!("exclude: {{stemcell: [{stemcell}]}}")), expected, "{stemcell}");
    }
    for deployments in ["[d]", "[other]"] {
        let expected = "error: Deployment filter is not allowed for deployment level addons.\n";
        assert_eq!(said(&format!("include: {{deployments: {deployments}}}")), expected);
    }
    let expected = "error: Property 'teams' value (a String) did not match the required type 'Array'\n";
    assert_eq!(said("include: {teams: x}"), expected);
}
