//! Links that the manifest says something about.

use crate::{Planned, plan, plan_templates, yaml};

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

/// The hints about links of job `c` in group `web`, of which the manifest says this; job `p` provides `l` in group `one`, and the
/// jobs of `two` are these.
fn hints(spec: &str, consumer: &str, two: &str) -> String {
    let specs = [
        ("p", "provides: [{name: l, type: t, properties: [port]}]\nproperties: {port: {default: 1}}"),
        ("q", "provides: [{name: other, type: u}]"),
        ("c", spec),
    ];
    let manifest = format!(
        "instance_groups:
- {{name: one, instances: 1, networks: [{{name: net}}], jobs: [{{name: p, release: r}}]}}
- {{name: two, instances: 1, jobs: [{two}]}}
- {{name: web, instances: 1, jobs: [{{name: c, release: r{consumer}}}]}}"
    );
    let planned = plan(&specs, &manifest);
    let hint = planned.printed.split_once("  hint: ").map(|(_, hint)| hint.to_owned());
    hint.unwrap_or_else(|| panic!("no hint: {}", planned.printed))
}

#[test]
fn a_link_without_a_provider_names_those_that_exist_and_the_lines_that_consume_them() {
    let (needs_t, needs_u) = ("consumes: [{name: l, type: t}]", "consumes: [{name: l, type: u}]");
    let second = "{name: p, release: r}";
    for (spec, consumer, two, hint) in [
        (
            needs_t,
            ", consumes: {l: {from: m}}",
            "",
            "link 'l': write this for job 'c' in instance group 'web':
      consumes: {l: {from: l}}  # job 'p' in instance group 'one'
",
        ),
        (
            needs_u,
            "",
            "",
            "link 'l': no provider has type 'u'; these exist:
      'l' of type 't', job 'p' in instance group 'one'
    if it is to use 'l', write:
      custom_provider_definitions: [{name: l-u, type: u, properties: [port]}]  # job 'p' in instance group 'one'
",
        ),
        (
            "consumes: [{name: x, type: v}]",
            "",
            "{name: q, release: r}",
            "link 'x': no provider has type 'v'; these exist:
      'l' of type 't', job 'p' in instance group 'one'
      'other' of type 'u', job 'q' in instance group 'two'
",
        ),
        (
            needs_t,
            "",
            second,
            "link 'l': rename the providers, and choose one:
      provides: {l: {as: l-one}}  # job 'p' in instance group 'one'
      provides: {l: {as: l-two}}  # job 'p' in instance group 'two'
      consumes: {l: {from: l-one}}  # job 'c' in instance group 'web'
",
        ),
        (
            needs_t,
            "",
            "{name: p, release: r, provides: {l: {as: second}}}",
            "link 'l': write one of these for job 'c' in instance group 'web':
      consumes: {l: {from: l}}  # job 'p' in instance group 'one'
      consumes: {l: {from: second}}  # job 'p' in instance group 'two'
",
        ),
        (
            needs_t,
            ", consumes: {l: nil}",
            "",
            "link 'l' is not optional: remove `consumes: {l: nil}` of job 'c' in instance group 'web'\n",
        ),
        (
            needs_u,
            "",
            "{name: q, release: r, provides: {other: nil}}",
            "link 'l' would have a provider: remove `provides: {other: nil}` of job 'q' in instance group 'two'\n",
        ),
        (
            needs_t,
            ", consumes: {l: {network: public}}",
            "",
            "link 'l': the networks of instance group 'one' are: 'net'\n",
        ),
    ] {
        assert_eq!(hints(spec, consumer, two), hint);
    }
}

/// What the hint asks for is what resolves the link.
#[test]
fn the_lines_of_a_hint_resolve_the_link() {
    let planned = plan(
        &[
            ("p", "provides: [{name: l, type: t, properties: [port]}]\nproperties: {port: {default: 1}}"),
            ("c", "consumes: [{name: l, type: u}]"),
        ],
        "instance_groups:
- name: g
  instances: 1
  jobs:
  - {name: p, release: r, custom_provider_definitions: [{name: l-u, type: u, properties: [port]}]}
  - {name: c, release: r, consumes: {l: {from: l-u}}}",
    );
    assert_eq!(
        planned.job("g", "c")["quarks"]["consumes"]["l"]["properties"],
        yaml("{port: 1}"),
        "{}",
        planned.printed
    );
}

#[test]
fn an_unknown_link_in_the_manifest_names_a_similar_one() {
    let planned = plan(
        &[("p", "provides: [{name: server, type: t}]"), ("c", "consumes: [{name: server, type: t}]")],
        "instance_groups:
- name: g
  instances: 1
  jobs:
  - {name: p, release: r, provides: {sever: {as: x}, none: {as: y}}}
  - {name: c, release: r, consumes: {srever: {from: server}}}",
    );
    for expected in [
        "  - Job 'p' does not define link provider 'none' in the release spec\n  hint: 'sever': did you mean 'server'?\n",
        "  - Job 'c' does not define link consumer 'srever' in the release spec\n  hint: 'srever': did you mean 'server'?\n",
    ] {
        assert!(planned.printed.contains(expected), "{}", planned.printed);
    }
}

#[test]
fn a_property_that_a_link_lacks_names_a_similar_one() {
    let provides = "provides: [{name: l, type: t, properties: [db.port, db.password]}]";
    let specs = [
        ("p", &*format!("{provides}\nproperties: {{db.port: {{default: 1}}, db.password: {{}}}}")),
        ("c", "consumes: [{name: l, type: t}]\ntemplates: {a.erb: a}"),
    ];
    for (name, hint) in [
        ("db.prot", "did you mean 'db.port'?"),
        ("db.password", "'db.password' of the link has no value: set it for the job that provides the link"),
        ("user", "the link has no 'user': the spec of the job that provides it lists its properties"),
    ] {
        let template = format!("<%= link('l').p('{name}') %>");
        let manifest =
            "instance_groups: [{name: g, instances: 1, jobs: [{name: p, release: r}, {name: c, release: r}]}]";
        let printed = plan_templates(&specs, &[("c", "a.erb", &template)], manifest).printed;
        assert!(printed.contains(&format!("\n  hint: {hint}\n")), "{printed}");
    }
}
