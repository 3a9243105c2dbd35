//! Tests of the graph and of its three forms.

use super::*;

const UPDATE: &str = "{canaries: 1, max_in_flight: 1, canary_watch_time: {from: 5s, to: 60s}, update_watch_time: \
                      {from: 5s, to: 60s}, serial: SERIAL, vm_strategy: delete-create, \
                      initial_deploy_az_update_strategy: serial}";

/// A group with an instance in each AZ.
fn group(name: &str, (lifecycle, is_serial): (&str, bool), azs: &[&str], jobs: &str) -> String {
    let instance = |(n, az): (usize, &&str)| {
        format!("{{index: {n}, az: {az}, az_index: {}, ordinal: 0, address: a, digest: d}}", n + 1)
    };
    let instances: Vec<_> = azs.iter().enumerate().map(instance).collect();
    let azs: Vec<_> = azs.iter().map(|az| format!("{{name: {az}, instances: 1}}")).collect();
    format!(
        "- name: {name}\n  lifecycle: {lifecycle}\n  azs: [{}]\n  replicas: 1\n  instances: [{}]\n  update: {}\n  networks: []\n  jobs:\n{jobs}",
        azs.join(", "),
        instances.join(", "),
        UPDATE.replace("SERIAL", &is_serial.to_string()),
    )
}

fn job(name: &str, provides: &str, consumes: &str) -> String {
    format!(
        "  - {{name: {name}, release: r, services: [], scripts: [], provides: [{provides}], consumes: [{consumes}]}}\n"
    )
}

/// A database, two groups that start together, an errand.
fn shop() -> Graph {
    let db = job("db", "{name: db, type: sql}, {name: backup, type: sql}, {name: admin, type: http}", "");
    let web = job(
        "web",
        "{name: a, type: h}",
        "{name: db, type: sql, instance_group: db}, {name: mail, type: smtp, external: {deployment: m, name: mta}}",
    ) + &job(
        "proxy",
        "{name: b, type: h}",
        "{name: admin, type: http, instance_group: db}, {name: given, type: x}",
    );
    let worker =
        job("worker", "", "{name: sql, type: sql, instance_group: db}, {name: x, type: h, instance_group: web}");
    let groups = [
        group("db", ("service", true), &["z1"], &db),
        group("web", ("service", false), &["z1", "z2"], &web),
        group("worker", ("service", false), &["z1"], &worker),
        group("smoke", ("errand", true), &["z1"], &job("smoke", "", "")),
    ];
    let text = format!(
        "name: shop\nnamespace: n\nservice_domain: d\nreleases: []\nstemcells: []\ninstance_groups:\n{}",
        groups.concat()
    );
    Graph::new(&serde_yaml::from_str(&text).unwrap())
}

#[test]
fn groups_start_in_steps_and_links_have_their_providers() {
    let graph = shop();
    let starts: Vec<_> = graph.groups.iter().map(|group| group.start).collect();
    assert_eq!(starts, [Start::Step(1), Start::Step(2), Start::Step(2), Start::OnRequest]);
    let source = |group: usize, job: usize, link: usize| &graph.groups[group].jobs[job].consumes[link].source;
    assert_eq!(*source(1, 0, 0), Source::Group { group: 0, job: Some(0), link: Some(0) }, "by type and name");
    assert_eq!(*source(1, 0, 1), Source::Outside("mta of deployment m".to_owned()));
    assert_eq!(*source(1, 1, 0), Source::Group { group: 0, job: Some(0), link: Some(2) }, "by type");
    assert_eq!(*source(1, 1, 1), Source::Manifest);
    assert_eq!(
        *source(2, 0, 0),
        Source::Group { group: 0, job: Some(0), link: None },
        "two have the type, none the name"
    );
    assert_eq!(*source(2, 0, 1), Source::Group { group: 1, job: None, link: None }, "two jobs have the type");
}

#[test]
fn the_text_has_a_line_for_each_group_job_and_link() {
    let expected = "\
START       INSTANCE GROUP, JOBS AND LINKS
1           db: 1 instance in z1
              db (release r)
                provides db (type sql)
                provides backup (type sql)
                provides admin (type http)
2           web: 2 instances in z1, z2
              web (release r)
                provides a (type h)
                consumes db (type sql) from db/db
                consumes mail (type smtp) from mta of deployment m
              proxy (release r)
                provides b (type h)
                consumes admin (type http) from db/db
                consumes given (type x) from the manifest
2           worker: 1 instance in z1
              worker (release r)
                consumes sql from db/db
                consumes x (type h) from web
on request  smoke: 1 instance in z1
              smoke (release r)
";
    assert_eq!(text::render(&shop()), expected);
}

#[test]
fn graphviz_gets_groups_links_and_the_order() {
    let dot = dot::render(&shop());
    for line in [
        "digraph \"shop\" {",
        "  subgraph cluster_0 {",
        "    label=\"web: 2 instances in z1, z2\\nstart: 2\";",
        "    style=dashed;",
        "    job_1_1 [label=\"proxy\"];",
        "  \"mta of deployment m\" [shape=ellipse];",
        "  job_0_0 -> job_1_0 [label=\"db\"];",
        "  job_0_0 -> job_2_0 [label=\"sql\"];",
        "  job_1_0 -> job_2_0 [label=\"x\", ltail=cluster_1];",
        "  \"mta of deployment m\" -> job_1_0 [label=\"mail\"];",
        "  job_0_0 -> job_1_0 [ltail=cluster_0, lhead=cluster_1, color=gray, style=bold];",
    ] {
        assert!(dot.lines().any(|found| found == line), "{line}\n{dot}");
    }
}

#[test]
fn the_picture_has_a_line_from_each_provider_to_each_consumer() {
    let svg = svg::render(&shop());
    for text in [
        "<title>Deployment shop: instance groups, jobs and links</title>",
        "<title>web/web consumes db from db/db</title>",
        "<title>web/web consumes mail from mta of deployment m</title>",
        "<title>worker/worker consumes sql from db/db</title>",
        ">outside of the deployment</text>",
        ">on request</text>",
    ] {
        assert!(svg.contains(text), "{text}\n{svg}");
    }
    // A link of the manifest has no line.
    assert_eq!(svg.matches("<path ").count(), 5);
    assert_eq!(svg.matches("<circle ").count(), 5);
}

#[test]
fn lines_that_meet_are_in_different_lanes() {
    let svg = svg::render(&shop());
    let mut vertical: Vec<(&str, usize, usize)> = Vec::new();
    for path in svg.split("<path d=\"M").skip(1) {
        // RIGHT FROM H X V TO H ...
        let (from, rest) = path.split_once('H').unwrap();
        let (x, rest) = rest.split_once('V').unwrap();
        let from: usize = from.split_once(' ').unwrap().1.parse().unwrap();
        let to: usize = rest.split_once('H').unwrap().0.parse().unwrap();
        vertical.push((x, from.min(to), from.max(to)));
    }
    for (n, (x, low, high)) in vertical.iter().enumerate() {
        for (other, from, to) in &vertical[..n] {
            assert!(x != other || high < from || to < low, "{vertical:?}");
        }
    }
}

#[test]
fn names_cannot_leave_their_place() {
    let mut graph = shop();
    graph.name = "a\"</title><script>\u{1b}".to_owned();
    let svg = svg::render(&graph);
    assert!(!svg.contains("<script") && !svg.contains('\u{1b}'));
    assert!(svg.contains("Deployment a&quot;&lt;/title&gt;&lt;script&gt;\u{fffd}: "), "{svg}");
    assert!(dot::render(&graph).starts_with("digraph \"a\\\"</title>"));
}
