//! Messages about what a manifest lacks, misspells or says without effect.

use crate::{HEAD, plan, plan_templates, plan_whole, yaml};

const GROUP: &str = "instance_groups: [{name: g, instances: 1, jobs: [{name: j, release: r}]}]\n";

#[test]
fn the_name_may_come_from_the_command_line_alone() {
    let manifest = format!("releases: [{{name: r, version: 1}}]\n{GROUP}");
    let planned = plan_whole(&[("j", "")], &manifest);
    assert_eq!(planned.printed, "error: Required property 'name' was not specified in the manifest\n");
    let named = ["--output-dir", "out", "--deployment-name", "other"];
    assert_eq!(planned.with(&named), (Some(0), String::new()));
    let both = planned.again(&format!("name: d\n{manifest}"));
    assert_eq!(both.with(&named), (Some(0), String::new()));
    assert_eq!(both.job("g", "j")["quarks"]["instances"][0]["address"], yaml("other-g-0.default.svc.cluster.local"));
    let wrong = both.again(&format!("name: [d]\n{manifest}")).with(&named);
    assert_eq!(wrong.0, Some(65), "{}", wrong.1);
}

#[test]
fn a_manifest_without_releases_has_one_mistake() {
    let addon = "addons: [{name: x, jobs: [{name: a, release: q}]}]\n";
    let planned = plan_whole(&[("j", "")], &format!("name: d\n{GROUP}{addon}"));
    assert_eq!(planned.printed, "error: Required property 'releases' was not specified in the manifest\n");
    let both = plan_whole(&[("j", "")], &format!("{HEAD}release: {{name: r, version: 1}}\n{GROUP}"));
    assert_eq!(
        both.printed,
        "error: Deployment manifest contains both 'release' and 'releases' sections, please use one of the two.\n"
    );
    let one = plan_whole(&[("j", "")], &format!("name: d\nrelease: {{name: r, version: 7}}\n{GROUP}"));
    assert_eq!(one.job("g", "j")["quarks"]["release"]["version"], yaml("'7'"));
}

#[test]
fn an_availability_zone_that_is_not_a_string_is_shown() {
    for (az, shown) in [("5", "'5'"), ("~", "''"), ("yes", "'true'"), ("1.50", "'1.5'"), ("[z]", "(a Array)")] {
        let planned = plan(&[("j", "")], &GROUP.replace("instances: 1", &format!("instances: 1, azs: [{az}]")));
        let expected = format!("error: Instance group 'g' has invalid availability zone {shown}, string expected\n");
        assert_eq!(planned.printed, expected);
    }
}

#[test]
fn an_unknown_job_of_an_addon_has_a_message_of_its_own() {
    let addon = "addons: [{name: x, jobs: [{name: jj, release: r}]}]\n";
    let printed = plan(&[("jobs", "")], &format!("{}{addon}", GROUP.replace("name: j,", "name: jobs,"))).printed;
    assert_eq!(printed, "error: Can't find job 'jj'\n  hint: its jobs are: jobs\n");
    let printed = plan(&[("jobs", "")], &GROUP.replace("name: j,", "name: x,")).printed;
    assert_eq!(printed, "error: Job 'x' not found in release 'r'\n  hint: its jobs are: jobs\n");
    let both = GROUP.replace("name: j,", "name: jj,").replace("}]}]", "}]}, {name: h, instances: 1, jobs: []}]");
    let elsewhere = "addons: [{name: x, jobs: [{name: jj, release: r}], include: {instance_groups: [h]}}]\n";
    let printed = plan(&[("jobs", "")], &format!("{both}{elsewhere}")).printed;
    assert_eq!(printed, "error: Job 'jj' not found in release 'r'\n  hint: its jobs are: jobs\n");
}

#[test]
fn a_manual_link_needs_instances_for_its_properties() {
    let spec = "consumes: [{name: l, type: t}]";
    // Nothing else of such a link is looked at.
    for link in ["{properties: {a: 1}}", "{properties: {a: 1}, address: x}", "{properties: 5}", "{properties: .nan}"] {
        let manifest = GROUP.replace("release: r}", &format!("release: r, consumes: {{l: {link}}}}}"));
        let printed = plan(&[("j", spec)], &manifest).printed;
        let expected =
            "error: Cannot specify 'properties' without 'instances' for link 'l' in job 'j' in instance group 'g'.\n";
        assert_eq!(printed, expected, "{link}");
    }
}

#[test]
fn settings_of_pods_without_effect_are_reported_once_with_their_places() {
    let manifest = format!(
        "{HEAD}instance_groups:
- name: g
  instances: 1
  env: {{bosh: {{agent: {{settings: {{labels: {{a: b}}, injectReplicasEnv: true}}}}}}}}
  jobs: [{{name: j, release: r, properties: {{quarks: {{ports: [], debug: true}}}}}}]
- name: h
  instances: 1
  jobs: [{{name: j, release: r}}]
addons:
- name: x
  jobs: [{{name: a, release: r, properties: {{quarks: {{pre_render_scripts: {{jobs: [hunter2]}}}}}}}}]
"
    );
    let planned = plan_whole(&[("j", ""), ("a", "")], &manifest);
    let (code, printed) = planned.with(&["--output-dir", "out"]);
    assert_eq!(code, Some(0), "{printed}");
    let expected = " WARN 3 settings of pods have no effect:
  --> manifest.yml:6:51: env.bosh.agent.settings.injectReplicasEnv of instance group 'g': REPLICAS never restarts a pod
  --> manifest.yml:7:65: properties.quarks.debug of job 'j': a container that fails is started again, and its logs stay
  --> manifest.yml:13:54: properties.quarks.pre_render_scripts of job 'a': scripts that change a release's sources are not run
";
    assert_eq!(printed, expected);
    let (_, printed) = planned.with(&["ig-resolved", "-g", "h", "-o", "one.json"]);
    assert_eq!(
        printed,
        " WARN 1 setting of pods has no effect:\n  --> manifest.yml:13:54: properties.quarks.pre_render_scripts of job \
         'a': scripts that change a release's sources are not run\n"
    );
    assert_eq!(planned.with(&["bpm", "-g", "h", "-o", "two.json"]), (Some(0), String::new()));
}

#[test]
fn every_setting_without_effect_is_listed_once() {
    let groups: String = (0..50)
        .map(|n| {
            format!(
                "- name: g{n}\n  instances: 1\n  jobs: [{{name: j, release: r, properties: {{quarks: {{debug: true}}}}}}]\n"
            )
        })
        .collect();
    let addon = "addons:\n- name: x\n  jobs: [{name: a, release: r, properties: {quarks: {debug: true}}}]\n";
    let planned = plan_whole(&[("j", ""), ("a", "")], &format!("{HEAD}instance_groups:\n{groups}{addon}"));
    let (code, printed) = planned.with(&["--output-dir", "out"]);
    assert_eq!(code, Some(0), "{printed}");
    assert!(printed.contains("51 settings of pods have no effect:\n"), "{printed}");
    let places: Vec<_> = printed.lines().filter(|line| line.contains("properties.quarks.debug")).collect();
    assert_eq!(places.len(), 51, "{printed}");
    assert!(places[50].contains("manifest.yml:153:"), "{}", places[50]);
}

#[test]
fn properties_that_nothing_declares_are_reported_with_their_places() {
    let spec = "properties: {nats.port: {default: 1}, tls: {default: {}}}\n\
                provides: [{name: l, type: t, properties: [raw.host, tls.ca]}]";
    let manifest = format!(
        "{HEAD}instance_groups:
- name: g
  instances: 1
  jobs:
  - name: j
    release: r
    custom_provider_definitions: [{{name: c, type: u, properties: [own]}}]
    properties:
      nats: {{port: 2, prot: hunter2}}
      nats.port: 3
      tls: {{ca: a, any: b}}
      raw: {{host: a}}
      own: 1
      quarks: {{ports: []}}
- name: h
  instances: 1
  jobs: [{{name: j, release: r, properties: {{raw: {{host: a}}, tls: {{ca: a}}, other: {{a: hunter2}}}}}}]
"
    );
    let planned = plan_whole(&[("j", spec)], &manifest);
    let (code, printed) = planned.with(&["--output-dir", "out"]);
    assert_eq!(code, Some(0), "{printed}");
    let expected = " WARN 2 properties have no effect, as their jobs do not declare them:
  --> manifest.yml:11:23: 'nats.prot' of job 'j'; did you mean 'nats.port'?
  --> manifest.yml:19:75: 'other' of job 'j'
";
    assert_eq!(printed, expected);
    // As with other warnings, one of the commands for a group.
    let of_h = " WARN 1 property has no effect, as its job does not declare it:\n  --> manifest.yml:19:75: 'other' of job 'j'\n";
    assert_eq!(planned.with(&["ig-resolved", "-g", "h", "-o", "one.json"]).1, of_h);
    assert_eq!(planned.with(&["bpm", "-g", "h", "-o", "two.json"]), (Some(0), String::new()));
}

#[test]
fn a_missing_property_finds_its_misspelt_neighbour() {
    let spec = "properties: {nats.password: {}, nats.user: {}, port: {default: 1}, size: {}}\ntemplates: {t: config/t}";
    let hint = |properties: &str, asked: &str| {
        let manifest = GROUP.replace("release: r}", &format!("release: r, properties: {properties}}}"));
        let printed = plan_templates(&[("j", spec)], &[("j", "t", &format!("<%= p('{asked}') %>"))], &manifest).printed;
        printed.lines().find_map(|line| line.trim().strip_prefix("hint: ").map(str::to_owned)).unwrap_or(printed)
    };
    let similar =
        |name: &str, given: &str| format!("'{name}' has no default, and the manifest sets '{given}': is that a typo?");
    assert_eq!(hint("{nats: {pasword: hunter2}}", "nats.password"), similar("nats.password", "nats.pasword"));
    assert_eq!(hint("{nast: {password: hunter2}}", "nats.password"), similar("nats.password", "nast.password"));
    assert_eq!(hint("{sizee: {a: 1}}", "size"), similar("size", "sizee"));
    for properties in ["{}", "{nats: {user: x}}", "{nats: ~}", "{other: 1}"] {
        assert_eq!(hint(properties, "nats.password"), "'nats.password' has no default: set it in the manifest");
    }
}

#[test]
fn templates_may_be_links_to_elsewhere_in_the_release() {
    let shared = plan_templates(&[("j", "templates: {own: config/own}")], &[("j", "own", "x")], GROUP);
    let spec = "name: j\ntemplates: {s.erb: config/s, all/s.erb: config/t}\nproperties: {a: {default: 7}}\n";
    shared.write("shared_job_templates/s.erb", "<%= p('a') %>");
    shared.write("jobs-src/r/j/spec", spec);
    shared.link("../../../../shared_job_templates/s.erb", "jobs-src/r/j/templates/s.erb");
    shared.link("../../../../shared_job_templates", "jobs-src/r/j/templates/all");
    let planned = shared.again(&format!("{HEAD}{GROUP}"));
    let templates = planned.job("g", "j")["quarks"]["templates"].clone();
    assert_eq!(templates, yaml("{s.erb: config/s, all/s.erb: config/t}"));
}

#[test]
fn a_variable_in_braces_is_reported_as_such() {
    let manifest = |port: &str, rest: &str| {
        let group = GROUP.replace("name: j,", &format!("name: j, properties: {{port: {port}}},"));
        format!("name: d\nreleases: [{{name: r, version: 1}}]\n{group}{rest}")
    };
    let planned = plan_whole(&[("j", "properties: {port: {}}")], &manifest("{{port}}", ""));
    let expected = "error: the manifest is not valid YAML
  caused by: yaml: invalid map key: map[interface {}]interface {}
  hint: a variable is written ((port)): YAML reads {{port}} as a mapping; text with braces needs quotes
";
    assert_eq!(planned.printed, expected);
    // Nothing is said about other variables, which are not generated.
    let variables = "properties: {other: ((other))}\nvariables: [{name: other, type: password}]\n";
    let planned = planned.again(&manifest("{{port}}", variables));
    let (code, printed) = planned.with(&["--output-dir", "out", "--vars-store", "creds.yml"]);
    let place = "  --> manifest.yml:3:80\n";
    assert_eq!((code, printed.contains(place), printed.contains("((other))")), (Some(65), true, false), "{printed}");
    // The line may be invalid for another reason.
    let planned = planned.again(&manifest("{{port}}0", ""));
    assert!(planned.printed.ends_with(expected.rsplit_once("  hint").unwrap().1), "{}", planned.printed);
    let planned = planned.again(&manifest("'{{port}}'", ""));
    assert_eq!(planned.job("g", "j")["port"], yaml("'{{port}}'"), "{}", planned.printed);
}

#[test]
fn an_unknown_release_names_a_similar_one() {
    let addons = "addons: [{name: x, jobs: [{name: j, release: postgre}]}]\n";
    for (rest, message) in [
        ("", "Job 'j' (instance group 'g') references an unknown release 'postgre'"),
        (
            addons,
            "Manifest specifies job 'j' which is defined in 'postgre', but 'postgre' is not listed in the deployment releases section.",
        ),
    ] {
        let group = if rest.is_empty() {
            GROUP.replace("release: r", "release: postgre")
        } else {
            GROUP.replace("name: j,", "name: k,").replace("release: r", "release: postgres")
        };
        let manifest = format!("name: d\nreleases: [{{name: postgres, version: 1}}]\n{group}{rest}");
        let printed = plan_whole(&[("j", "")], &manifest).printed;
        assert!(printed.contains(&format!("error: {message}\n  hint: did you mean 'postgres'?\n")), "{printed}");
    }
}
