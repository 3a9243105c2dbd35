//! DNS aliases, and BOSH DNS itself.

use crate::{Planned, plan_templates, plan_whole};

/// The aliases of the deployment: domain and targets.
fn aliases(planned: &Planned) -> Vec<(String, String)> {
    let all = planned.deployment().dns_aliases.into_iter();
    all.map(|alias| (alias.domain, alias.targets.join(" "))).collect()
}

fn warnings(planned: &Planned) -> Vec<String> {
    let lines = planned.printed.lines().filter(|line| line.contains("DNS"));
    lines.map(|line| line.split("warning: ").last().unwrap_or_default().to_owned()).collect()
}

const SPEC: &str = "properties: {aliases: {}}\ntemplates: {a: dns/aliases.json}";
const TEMPLATE: &str = "<%= JSON.dump(p('aliases', {})) %>\n";

fn pair(domain: &str, targets: &str) -> (String, String) {
    (domain.to_owned(), targets.to_owned())
}

#[test]
fn every_job_may_have_aliases() {
    let planned = plan_templates(
        &[("b", SPEC), ("a", SPEC), ("none", "")],
        &[("a", "a", TEMPLATE), ("b", "a", TEMPLATE)],
        "instance_groups:
- name: g
  instances: 2
  networks: [{name: default}]
  jobs:
  - {name: b, release: r, properties: {aliases: {x.internal: [\"*.g.default.d.bosh\"], y.internal: [10.0.0.1, z.internal]}}}
  - {name: none, release: r}
- name: h
  instances: 1
  networks: [{name: default}]
  jobs: [{name: a, release: r, properties: {aliases: {x.internal: [\"*.h.default.d.bosh\"]}}}]
",
    );
    // The files of jobs count in the order of their names.
    let expected = [pair("x.internal", "*.h.default.d.bosh"), pair("y.internal", "10.0.0.1 z.internal")];
    assert_eq!(aliases(&planned), expected);
    assert!(warnings(&planned).is_empty(), "{}", planned.printed);
}

#[test]
fn aliases_of_other_deployments_are_reported() {
    let planned = plan_templates(
        &[("a", SPEC)],
        &[("a", "a", "{\"x.internal\": [\"*.g.default.cf.bosh\"]}")],
        "instance_groups: [{name: g, instances: 1, networks: [{name: default}], jobs: [{name: a, release: r}]}]",
    );
    let warning = "the DNS alias 'x.internal' has a target in the deployment 'cf', and this one is 'd'";
    assert!(warnings(&planned)[0].ends_with(warning), "{}", planned.printed);
}

#[test]
fn aliases_that_are_no_lists_are_errors() {
    for text in ["[]", "{\"a\": \"b\"}", "{\"a\": [1]}", "x"] {
        let manifest = "instance_groups: [{name: g, instances: 2, jobs: [{name: a, release: r}]}]";
        let planned = plan_templates(&[("a", SPEC)], &[("a", "a", text)], manifest);
        assert_eq!(planned.code, Some(66), "{text}");
        assert_eq!(
            planned.printed,
            "error: job 'a' of instance group 'g' renders a dns/aliases.json that is not a JSON object of lists of names\n"
        );
    }
}

#[test]
fn bosh_dns_is_not_run_and_its_aliases_count() {
    let monit = "check process bosh-dns with pidfile /run/dns.pid\n start program \"/x\"\n group vcap\n";
    let planned = plan_templates(
        &[("bosh-dns", "properties: {aliases: {}}\ntemplates: {p: bin/pre-start}"), ("a", SPEC)],
        &[("bosh-dns", "p", ""), ("bosh-dns", "monit", monit), ("a", "a", "{\"x.internal\": [\"10.0.0.1\"]}")],
        "instance_groups:
- name: g
  instances: 1
  jobs: [{name: a, release: r}, {name: bosh-dns, release: r, properties: {aliases: {x.internal: [10.0.0.2]}}}]
- name: h
  instances: 1
  jobs: [{name: bosh-dns, release: r}]
",
    );
    assert_eq!(aliases(&planned), [pair("x.internal", "10.0.0.2")]);
    let job = &planned.deployment().instance_groups[0].jobs[1];
    assert!(job.services.is_empty() && job.scripts.is_empty(), "{job:?}");
    let warned = warnings(&planned);
    assert_eq!(warned.len(), 1, "{}", planned.printed);
    assert!(warned[0].ends_with("the job 'bosh-dns' is not run: boson answers the names of BOSH DNS in its place"));
}

#[test]
fn the_release_of_bosh_dns_is_optional() {
    let manifest = "name: d
releases: [{name: r, version: 1}, {name: bosh-dns, version: latest}]
instance_groups:
- name: g
  instances: 1
  jobs: [{name: a, release: r}]
addons:
- name: bosh-dns
  jobs:
  - name: bosh-dns
    release: bosh-dns
    properties: {aliases: {x.internal: [10.0.0.2]}, health: {enabled: true}}
    provides: {x: {as: y}}
    consumes: {z: {from: nobody}}
";
    let planned = plan_whole(&[("a", "")], manifest);
    assert_eq!(aliases(&planned), [pair("x.internal", "10.0.0.2")]);
    assert_eq!(warnings(&planned).len(), 1, "{}", planned.printed);
    let other = manifest.replace("release: bosh-dns", "release: r");
    assert!(plan_whole(&[("a", "")], &other).printed.contains("Can't find job 'bosh-dns'"));
}
