//! What a manifest may say, and the messages for what it may not.

use crate::{Planned, plan, plan_whole, yaml};

const GROUP: &str = "
stemcells: [{alias: s, os: jammy}]
instance_groups: [{name: g, instances: 1, stemcell: s, jobs: [{name: j, release: r}]}]";

/// A group with the job `j`, and an addon with the job `a`, of which the manifest says this besides.
fn addon(rest: &str) -> Planned {
    let specs = [("j", ""), ("a", "properties: {k: {default: d}}")];
    plan(&specs, &format!("{GROUP}\naddons: [{{name: x, jobs: [{{name: a, release: r}}], {rest}}}]"))
}

#[test]
fn properties_of_an_addon_are_a_hash() {
    for (given, class) in [("~", "NilClass"), ("5", "Integer"), ("[]", "Array"), ("text", "String")] {
        let expected =
            format!("error: Property 'properties' value (a {class}) did not match the required type 'Hash'\n");
        assert_eq!(addon(&format!("properties: {given}")).printed, expected);
    }
    assert_eq!(addon("properties: {k: v}").job("g", "a")["k"], yaml("v"));
    assert_eq!(addon("properties: {}").job("g", "a")["k"], yaml("d"));
}

#[test]
fn empty_filters_match_everything() {
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
    let printed = |filter: &str| addon(filter).printed;
    for jobs in ["{name: j}", "{release: r}", "{name: '', release: r}", "{name: j, release: ''}"] {
        let expected = "error: Job in deployment config's include section must have both name and release.\n";
        assert_eq!(printed(&format!("include: {{jobs: [{jobs}]}}")), expected, "{jobs}");
    }
    for stemcell in ["{}", "{os: ''}"] {
        let expected = "error: Stemcell in deployment config's exclude section must have an os name.\n";
        assert_eq!(printed(&format!("exclude: {{stemcell: [{stemcell}]}}")), expected, "{stemcell}");
    }
    for deployments in ["[d]", "[other]"] {
        let expected = "error: Deployment filter is not allowed for deployment level addons.\n";
        assert_eq!(printed(&format!("include: {{deployments: {deployments}}}")), expected);
    }
    let expected = "error: Property 'teams' value (a String) did not match the required type 'Array'\n";
    assert_eq!(printed("include: {teams: x}"), expected);
}

/// What is printed for a manifest with this group.
fn printed_for_group(rest: &str) -> String {
    plan(&[("j", "")], &format!("instance_groups: [{{name: g, instances: 1, {rest}}}]")).printed
}

#[test]
fn manifests_of_the_first_version_are_refused() {
    let planned = plan(&[("j", "")], "jobs: [{name: j, release: r, instances: 1}]");
    assert_eq!(planned.printed, "error: Jobs are no longer supported, please use instance groups instead\n");
}

#[test]
fn one_mistake_is_reported_once() {
    let planned = plan(&[("j", "")], "instance_groups: [{name: g, instances: 1, jobs: [{release: r}, {release: r}]}]");
    let missing = "error: Required property 'name' was not specified in a job of instance group 'g'\n";
    assert_eq!(planned.printed, missing.repeat(2));
    let missing = "error: Required property 'release' was not specified in a job of addon 'x'\n";
    assert_eq!(plan(&[], "instance_groups: []\naddons: [{name: x, jobs: [{name: a}]}]").printed, missing);
    let manifest = "name: d\nreleases: [{version: 1}, {version: 1}]\ninstance_groups: []\n";
    let missing = "error: Required property 'name' was not specified in an entry of 'releases'\n";
    assert_eq!(plan_whole(&[], manifest).printed, missing.repeat(2));
}

#[test]
fn null_is_no_value() {
    for (key, class) in
        [("persistent_disk", "Integer"), ("azs", "Array"), ("networks", "Array"), ("lifecycle", "String")]
    {
        let expected =
            format!("error: Property '{key}' value (a NilClass) did not match the required type '{class}'\n");
        assert_eq!(printed_for_group(&format!("jobs: [], {key}: ~")), expected);
    }
    for (given, class) in [("~", "NilClass"), ("{}", "Hash")] {
        let key = "custom_provider_definitions";
        let expected = format!("error: Property '{key}' value (a {class}) did not match the required type 'Array'\n");
        assert_eq!(printed_for_group(&format!("jobs: [{{name: j, release: r, {key}: {given}}}]")), expected);
    }
}

#[test]
fn numbers_of_any_size_are_versions() {
    let manifest = "name: d\nreleases: [{name: r, version: 20260102030405060708090}]
instance_groups: [{name: g, instances: 1, jobs: [{name: j, release: r}]}]";
    let job = plan_whole(&[("j", "")], manifest).job("g", "j");
    assert_eq!(job["quarks"]["release"]["version"], yaml("'20260102030405060708090'"));
}

#[test]
fn names_fit_into_a_path() {
    let fits = "x".repeat(255);
    let manifest = |name: &str| format!("instance_groups: [{{name: {name}, instances: 1, jobs: []}}]");
    assert_eq!(plan(&[], &manifest(&fits)).code, Some(0));
    let planned = plan(&[], &manifest(&format!("{fits}x")));
    assert_eq!(
        (planned.code, planned.printed),
        (Some(65), format!("error: '{fits}x' is not a valid name of an instance group\n"))
    );
}

#[test]
fn instances_are_bounded_however_they_are_counted() {
    let counted = |instances: u32, azs: &str| {
        let group = format!("{{name: g, instances: {instances}, azs: {azs}, jobs: []}}");
        plan(&[], &format!("features: {{instances_per_az: true}}\ninstance_groups: [{group}]"))
    };
    assert_eq!(counted(50_000, "[a, b]").group("g")["instances"], yaml("100000"));
    let expected = "error: 'instances' of instance group 'g' must lie between 0 and 100000\n";
    assert_eq!(counted(50_000, "[a, b, c]").printed, expected);
    assert_eq!(counted(100_001, "[a]").printed, expected);
}

#[test]
fn no_group_has_the_address_of_anothers_instance() {
    let groups = |first: &str, second: &str| {
        let second = format!("{{name: {second}, instances: 1, jobs: []}}");
        plan(&[], &format!("instance_groups: [{{name: {first}, instances: 3, azs: [a, b], jobs: []}}, {second}]"))
    };
    let expected = "error: Instance group 'db-2' would have the address of an instance of instance group 'db': \
                    d-db-2.default.svc.cluster.local\n  hint: rename one of them\n";
    assert_eq!(groups("db", "db-2").printed, expected);
    for other in ["db-3", "db-02", "db-a", "d-db-0", "db--0"] {
        assert_eq!(groups("db", other).code, Some(0), "{other}");
    }
}

/// Plans a job whose property `k` is this YAML.
fn property(yaml: &str) -> Planned {
    let job = format!("{{name: j, release: r, properties: {{k: {yaml}}}}}");
    plan(&[("j", "properties: {k: {}}")], &format!("instance_groups:\n- name: g\n  instances: 1\n  jobs:\n  - {job}"))
}

#[test]
fn what_contains_itself_is_refused() {
    for value in ["&x [1, *x]", "&x {a: *x}", "&x {a: [{b: *x}]}", "[&x [&y [*y]], *x]", "&x [!!omap [a: *x]]"] {
        let planned = property(value);
        let expected =
            "error: not a YAML document that BOSH reads\n  caused by: an alias inside of what it stands for\n";
        assert_eq!((planned.code, planned.printed.as_str()), (Some(65), expected), "{value}");
    }
    assert_eq!(
        property("[&x [1], *x, &y [*x, *x], *y]").job("g", "j")["k"],
        yaml("[[1], [1], [[1], [1]], [[1], [1]]]")
    );
}

#[test]
fn ordered_maps_are_maps() {
    assert_eq!(property("!!omap [b: 1, a: 2]").job("g", "j")["k"], yaml("{a: 2, b: 1}"));
    assert_eq!(property("[!!omap [b: !!omap [c: d]], e]").job("g", "j")["k"], yaml("[{b: {c: d}}, e]"));
}

#[test]
fn a_jobs_name_cannot_begin_with_a_dot() {
    let planned = plan(&[], "instance_groups: [{name: .g, instances: 1, jobs: [{name: .current, release: r}]}]");
    assert_eq!(planned.printed, "error: '.current' is not a valid name of a job\n");
}

#[test]
fn templates_with_the_same_destination_are_reported() {
    let printed = |templates: &str| {
        let group = "instance_groups: [{name: g, instances: 1, jobs: [{name: j, release: r}]}]";
        plan(&[("j", &format!("templates: {templates}"))], group).printed
    };
    assert_eq!(printed("{a: x, b: ./x}"), "error: templates 'a' and 'b' have one destination 'x'\n");
    let below = "error: template 'b' has the destination 'x/y/z', below the file 'x/y' that template 'a' becomes\n";
    assert_eq!(printed("{a: x/y, b: x/y/z, c: x/yz}"), below);
    assert_eq!(printed("{b: x/y/z, a: x/y}"), below);
    for destination in [".bosh", ".bosh/links.json", ".bosh/links.json/x"] {
        let expected =
            format!("error: template 'a' has the destination '{destination}', where the list of links lies\n");
        assert_eq!(printed(&format!("{{a: {destination}}}")), expected);
    }
    let long = "x".repeat(256);
    let expected = format!("error: template destination 'a/{long}' has a part of more than 255 bytes\n");
    assert_eq!(printed(&format!("{{a: a/{long}}}")), expected);
    let missing = ["a", "b", "c"].map(|name| format!("error: Missing template file '{name}' for job 'j'\n"));
    assert_eq!(printed("{a: .bosh/other, b: x/y, c: x/z}"), missing.concat(), "the destinations are good");
}

#[test]
fn missing_jobs_and_wrong_specs_are_reported_together() {
    let specs = [("j", "properties: []"), ("k", "provides: ["), ("l", "")];
    let jobs = ["j", "gone", "k", "l"].map(|name| format!("{{name: {name}, release: r}}")).join(", ");
    let planned = plan(&specs, &format!("instance_groups: [{{name: g, instances: 1, jobs: [{jobs}]}}]"));
    let errors: Vec<&str> = planned.printed.lines().filter(|line| line.starts_with("error: ")).collect();
    let expected = [
        "error: Job 'gone' not found in release 'r'",
        "error: Job 'j' has invalid properties spec format",
        "error: not a YAML document that BOSH reads",
    ];
    assert_eq!(errors, expected);
}

#[test]
fn networks_have_one_default_for_each_purpose() {
    let printed = |networks: &str| printed_for_group(&format!("jobs: [], networks: {networks}"));
    for (given, shown) in [("[dns, dsn]", "dsn"), ("['']", ""), ("[5]", "5")] {
        let expected = format!(
            "error: Instance group 'g' specified an invalid default network property '{shown}', valid properties are: dns, gateway\n"
        );
        assert_eq!(printed(&format!("[{{name: a, default: {given}}}]")), expected);
    }
    let expected = "error: Instance group 'g' specified more than one network to contain default. \
                    'dns' has default networks: 'a', 'b'. 'addressable' has default networks: 'b', 'c'.\n";
    let networks = "[{name: a, default: [dns, gateway]}, {name: b, default: [addressable, dns]}, {name: c, default: [addressable]}]";
    assert_eq!(printed(networks), expected);
    assert_eq!(printed("[{name: a, default: [dns, gateway]}, {name: b, default: [addressable]}, {name: c}]"), "");
}

#[test]
fn a_groups_stemcell_is_one_of_the_manifests() {
    let planned = |stemcells: &str| {
        plan(&[], &format!("{stemcells}\ninstance_groups: [{{name: g, instances: 1, stemcell: jammy, jobs: []}}]"))
    };
    let expected = "error: Instance group 'g' references an unknown stemcell 'jammy'\n";
    assert_eq!(planned("stemcells: [{alias: s, os: jammy}]").printed, expected);
    assert_eq!(planned("stemcells: [{alias: jammy, os: ubuntu-jammy}]").printed, "");
    // Nothing but addons looks at stemcells: who has no list of them needs none.
    assert_eq!(planned("").printed, "");
}

#[test]
fn the_name_in_a_jobs_spec_is_the_jobs() {
    for (name, got) in [("k", "k"), ("''", ""), ("5", "5")] {
        let group = "instance_groups: [{name: g, instances: 1, jobs: [{name: j, release: r}]}]";
        let planned = plan(&[("j", &format!("name: {name}"))], group);
        assert_eq!(planned.printed, format!("error: Inconsistent name for job 'j'(exptected: 'j', got: '{got}')\n"));
    }
}

#[test]
fn properties_have_further_names_that_the_manifest_gives_them() {
    let specs = [("j", "properties: {to: {}, again: {}, a.b: {}, nested.n: {}}"), ("own", "properties: {to: {}}")];
    let manifest = |mappings: &str| {
        format!(
            "properties: {{global: {{g: 1}}, nothing: ~}}\ninstance_groups: [{{name: g, instances: 1, \
             properties: {{here: {{n: 2}}}}, property_mappings: {mappings}, \
             jobs: [{{name: j, release: r}}, {{name: own, release: r, properties: {{to: own}}}}]}}]"
        )
    };
    let planned = plan(&specs, &manifest("{to: global.g, again: to, a.b: here.n, nested: here}"));
    assert_eq!(planned.job("g", "j")["to"], yaml("1"));
    assert_eq!(planned.job("g", "j")["again"], yaml("1"));
    assert_eq!(planned.job("g", "j")["a"], yaml("{b: ~}"), "a mapping's name is a key, not a path");
    assert_eq!(planned.job("g", "j")["nested"], yaml("{n: 2}"));
    assert_eq!(planned.job("g", "own")["to"], yaml("own"));
    let printed = plan(&specs, &manifest("{a: absent.x, b: nothing, c: global.g.x, d: [e]}")).printed;
    assert!(printed.contains("Property 'd' value (a Array) did not match the required type 'String'"), "{printed}");
    let printed = plan(&specs, &manifest("{a: absent.x, b: nothing, c: global.g.x}")).printed;
    for (to, from) in [("a", "absent.x"), ("b", "nothing"), ("c", "global.g.x")] {
        let line =
            format!("Cannot satisfy property mapping '{to}: {from}', as '{from}' is not in deployment properties");
        assert!(printed.contains(&line), "{printed}");
    }
}

#[test]
fn the_release_of_bpm_is_optional() {
    let manifest = "name: d
releases: [{name: r, version: 1}, {name: bpm, version: latest}]
instance_groups:
- name: g
  instances: 1
  jobs:
  - {name: bpm, release: bpm, properties: {p: 1}, provides: {x: {as: y}}, consumes: {z: {from: nobody}}}
  - {name: a, release: r}
";
    let planned = plan_whole(&[("a", "")], manifest);
    let names = |job: &handoff::bpm_info::Job| job.name.clone();
    assert_eq!(planned.bpm_info("g").group().jobs.iter().map(names).collect::<Vec<_>>(), ["bpm", "a"]);
    assert_eq!(planned.printed, "");
    let quarks = &planned.job("g", "bpm")["quarks"];
    assert!(quarks["templates"].as_mapping().unwrap().is_empty(), "{quarks:?}");

    // A job of this name from another release has a spec like any other.
    let other = manifest.replace("release: bpm", "release: r");
    assert!(plan_whole(&[("a", "")], &other).printed.contains("Job 'bpm' not found in release 'r'"));
}
