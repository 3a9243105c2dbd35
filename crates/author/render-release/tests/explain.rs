//! `boson explain` of an instance, as a person sees it.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::fs;
use std::path::Path;

use common::{boson, text};
use tempfile::TempDir;
use testkit::files::write;
use testkit::random::Random;

const WEB: &str = "name: web
templates: {web.yml.erb: config/web.yml}
consumes: [{name: db, type: database}, {name: other, type: cache, optional: true}]
properties:
  port: {default: 80}
  host: {}
  tls.key: {}
  users: {default: [a]}
";

const TEMPLATE: &str = "port: <%= p('port') %> # <%= spec.index %>
key: <%= p('tls.key') %>
<% p('users').each do |user| -%>
- <%= user %>
<% end -%>
db: <%= link('db').p('port') %>
host: <%= p('host') %>
";

const DB: &str = "name: db
templates: {}
provides: [{name: db, type: database, properties: [port, name]}]
properties: {port: {default: 5432}, name: {}}
";

const MANIFEST: &str = "name: d
releases: [{name: r, version: 1}]
instance_groups:
- name: db
  instances: 1
  jobs: [{name: db, release: r, properties: {name: ((dbname))}}]
- name: front
  instances: 3
  azs: [z1, z2]
  jobs:
  - name: web
    release: r
    properties:
      port: 81
      host: ((host))
      tls: {key: the-secret-key}
";

fn deployment() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let file = |path: &str, text: &str| write(&directory.path().join(path), text);
    file("r/jobs/web/spec", WEB);
    file("r/jobs/web/templates/web.yml.erb", TEMPLATE);
    file("r/jobs/web/monit", "");
    file("r/jobs/db/spec", DB);
    file("r/jobs/db/monit", "");
    file("r/config/final.yml", "name: r\n");
    file("m.yml", MANIFEST);
    file(
        "ops.yml",
        "- type: replace\n  path: /instance_groups/name=front/jobs/name=web/properties/port\n  value: 82\n",
    );
    file("vars.yml", "host: h.example\n");
    directory
}

/// Standard output of a run that succeeds, which shows no secret.
#[track_caller]
fn explained(directory: &Path, words: &str) -> String {
    let flags = format!("explain m.yml -o ops.yml -l vars.yml -v dbname=x -r r {words}");
    let output = boson(directory, &flags).output().unwrap();
    assert_eq!(text(&output.stderr), "", "{words}");
    assert_eq!(output.status.code(), Some(0));
    let shown = text(&output.stdout);
    assert!(!shown.contains("the-secret-key") && !shown.contains("h.example"), "{shown}");
    shown
}

/// Exit code and message of a run that fails.
fn refused(directory: &Path, words: &str) -> (Option<i32>, String) {
    let output =
        boson(directory, &format!("explain m.yml -o ops.yml -l vars.yml -v dbname=x {words}")).output().unwrap();
    assert_eq!(text(&output.stdout), "", "{words}");
    (output.status.code(), text(&output.stderr))
}

#[test]
fn an_instance_has_its_formulas() {
    let directory = deployment();
    assert_eq!(
        explained(directory.path(), "front/2"),
        "instance front/2
  instances   3 in 2 AZs  m.yml:8:14
  az          z2, the AZ with AZ_INDEX 2  m.yml:9:9
              REPLICAS 2: the largest share of 3 instances in 2 AZs
  index       2 = (AZ_INDEX 2 - 1) * REPLICAS 2 + POD_ORDINAL 0
  address     d-front-2.default.svc.cluster.local
              = DEPLOYMENT d - GROUP front - INDEX 2
                . NAMESPACE default . DOMAIN svc.cluster.local
  bootstrap   false: 2 is not the lowest index of the group, 0
"
    );
    let first = explained(directory.path(), "db");
    assert!(first.contains("instance db/0\n") && first.contains("bootstrap   true: 0 is the lowest"), "{first}");
}

#[test]
fn a_line_has_its_template_and_what_that_reads() {
    let directory = deployment();
    let line = |number: u32| explained(directory.path(), &format!("front/1 web/config/web.yml:{number}"));
    assert_eq!(
        line(1),
        "front/1 web/config/web.yml:1
  template  r/jobs/web/templates/web.yml.erb:1
            port: <%= p('port') %> # <%= spec.index %>
  reads     p('port')  ops file  ops.yml:3:10
  reads     spec.index  of the instance: `boson explain MANIFEST INSTANCE` has the formulas
"
    );
    // A loop above.
    assert!(line(3).ends_with("web.yml.erb:4\n            - <%= user %>\n  reads     p('users') on line 3  default  r/jobs/web/spec:8:11\n"), "{}", line(3));
    assert!(
        line(4).ends_with("link('db').p('port')  of job db in instance group db: default  r/jobs/db/spec:4:21\n"),
        "{}",
        line(4)
    );
    assert!(line(5).ends_with("reads     p('host')  variable  vars.yml:1:7  ((host))\n"), "{}", line(5));
    for (words, message) in [
        ("-r r front/1 web/config/web.yml:9", "error: web/config/web.yml has 5 lines, not 9"),
        ("-r r front/1 web/config/we.yml:1", "did you mean 'web/config/web.yml'?"),
        ("-r r front/1 web/config/web.yml", "error: a line is JOB/FILE:LINE, not 'web/config/web.yml'"),
        ("-r r front/1 web/config/web.yml:0", "error: a line is JOB/FILE:LINE"),
        ("-r r front/1 wbe/config/web.yml:1", "its jobs are: web"),
        ("-r r front/7", "error: unknown instance 'front/7'"),
        ("front/1", "the releases of the deployment are not given"),
        ("-r r --property web/port", "INSTANCE"),
        ("-r r front --property port", "--property must be JOB/NAME, not 'port'"),
        ("-r r front --path /name", "--path"),
    ] {
        let (code, errors) = refused(directory.path(), words);
        assert_eq!(code, Some(2), "{words}: {errors}");
        assert!(errors.contains(message), "{words}: {errors}");
    }
    write(&directory.path().join("r/jobs/web/templates/web.yml.erb"), "a\n<%= p('absent') %>\n");
    let (code, errors) = refused(directory.path(), "-r r front web/config/web.yml:1");
    assert_eq!(code, Some(66), "{errors}");
    assert!(errors.contains("Can't find property '[\"absent\"]'"), "{errors}");
}

#[test]
fn a_property_has_all_places_that_set_it() {
    let directory = deployment();
    assert_eq!(
        explained(directory.path(), "front --property web/port"),
        "property port of job web in instance group front
  /instance_groups/name=front/jobs/name=web/properties/port
    default         r/jobs/web/spec:5:10
    manifest        m.yml:14:13
  * ops file        ops.yml:3:10
"
    );
    let host = explained(directory.path(), "front --property web/host");
    assert!(host.ends_with("    manifest        m.yml:15:13\n  * variable        vars.yml:1:7  ((host))\n"), "{host}");
    let name = explained(directory.path(), "db --property db/name");
    assert!(name.ends_with("  * variable        ((dbname)) of --var\n"), "{name}");
    let (code, errors) = refused(directory.path(), "-r r front --property web/prot");
    assert_eq!(code, Some(2));
    assert!(errors.contains("job 'web' declares no property 'prot'\n  hint: did you mean 'port'?"), "{errors}");
}

#[test]
fn a_link_has_its_candidates() {
    let directory = deployment();
    let d = directory.path();
    assert_eq!(
        explained(d, "front --link web/db"),
        "link db of job web in instance group front  m.yml:11:5
    type        database
    wanted      the only provider of type 'database', since the manifest names none
  * candidate   db of job db in instance group db  m.yml:6:10
    property    port  default  r/jobs/db/spec:4:21
    property    name  variable  ((dbname)) of --var
"
    );
    let other = explained(d, "front --link web/other");
    assert!(other.contains("type        cache, optional\n") && other.contains("  * absent "), "{other}");
    // Two providers: none is chosen, and the reason is BOSH's.
    let two = "- {name: db2, instances: 1, jobs: [{name: db, release: r, provides: {db: {as: second}}}]}\n";
    write(&d.join("m.yml"), MANIFEST.to_owned() + two);
    let ambiguous = explained(d, "front --link web/db");
    assert!(!ambiguous.contains("  * "), "{ambiguous}");
    assert_eq!(ambiguous.matches("    candidate ").count(), 2, "{ambiguous}");
    assert!(ambiguous.contains("Multiple link providers found") && ambiguous.contains("hint "), "{ambiguous}");
    // One of them by name: the other one is not it, for a reason.
    let named = MANIFEST.replace("    properties:\n", "    consumes: {db: {from: second}}\n    properties:\n");
    write(&d.join("m.yml"), named + two);
    let chosen = explained(d, "front --link web/db");
    assert!(chosen.contains("wanted      the provider 'second' of type 'database'\n"), "{chosen}");
    assert!(
        chosen.contains("    candidate   db of job db in instance group db  m.yml:6:10  no: its name is 'db'\n"),
        "{chosen}"
    );
    assert!(chosen.contains("  * candidate   second of job db in instance group db2  "), "{chosen}");
    // No provider at all.
    write(
        &d.join("m.yml"),
        MANIFEST.replace("    properties:\n", "    consumes: {db: {from: absent}}\n    properties:\n"),
    );
    let none = explained(d, "front --link web/db");
    assert!(none.contains("No link providers found") && none.contains("  no: its name is 'db'\n"), "{none}");
    let (code, errors) = refused(d, "-r r front --link web/bd");
    assert_eq!(code, Some(2), "{errors}");
    assert!(errors.contains("did you mean 'db'?") || errors.contains("it consumes: db, other"), "{errors}");
}

#[test]
fn nothing_is_written() {
    let directory = deployment();
    let d = directory.path();
    write(
        &d.join("m.yml"),
        &(MANIFEST.replace("the-secret-key", "((key))") + "variables: [{name: key, type: password}]\n"),
    );
    write(&d.join("store.yml"), "{}\n");
    let flags = "explain m.yml -l vars.yml -v dbname=x -r r --vars-store store.yml front --property web/tls.key";
    let output = boson(d, flags).output().unwrap();
    assert!(text(&output.stdout).ends_with("((key)) without a file: generated, or of --vars-env\n"), "{output:?}");
    assert_eq!(fs::read_to_string(d.join("store.yml")).unwrap(), "{}\n");
    write(&d.join("store.yml"), "key: stored\n");
    let output = boson(d, flags).output().unwrap();
    assert!(text(&output.stdout).ends_with("  * variable        store.yml:1:6  ((key))\n"), "{output:?}");
}

/// The levels that may set a property, in the order in which they count.
const LEVELS: [&str; 5] = ["default", "manifest", "group", "deployment", "ops"];

/// A deployment of one job whose properties `a0`, `a1` and so on have values of random levels; all values differ.
fn random_deployment(directory: &Path, random: &mut Random, count: usize) {
    let mut next = 1000;
    let mut value = || {
        next += 1;
        next.to_string()
    };
    let own = random.below(2) == 0;
    let [mut spec, mut job, mut group, mut global, mut ops, mut vars] = [const { String::new() }; 6];
    for n in 0..count {
        let has = |random: &mut Random| random.below(2) == 0;
        let level = LEVELS[random.below(LEVELS.len())];
        spec += &match level == "default" || has(random) {
            true => format!("  a{n}: {{default: {}}}\n", value()),
            false => format!("  a{n}: {{}}\n"),
        };
        let of_variable = has(random);
        let mut text = || match of_variable {
            true => format!("((v{n}))"),
            false => value(),
        };
        if level == "manifest" {
            *(if own { &mut job } else { &mut group }) += &format!("    a{n}: {}\n", text());
        }
        if level == "group" {
            group += &format!("    a{n}: {}\n", text());
        }
        if level == "deployment" {
            global += &format!("  a{n}: {}\n", text());
        }
        if level == "ops" {
            let path = if own { "/jobs/name=j/properties" } else { "/properties" };
            ops += &format!("- {{type: replace, path: '/instance_groups/name=g{path}/a{n}?', value: {}}}\n", text());
        }
        vars += &format!("v{n}: {}\n", value());
    }
    let mapping = |name: &str, indent: &str, entries: &str| match entries {
        "" => String::new(),
        entries => format!("{indent}{name}:\n{entries}"),
    };
    let own =
        if own { format!("    properties:\n      own: 1\n{}", job.replace("    a", "      a")) } else { String::new() };
    write(
        &directory.join("m.yml"),
        format!(
            "name: d\nreleases: [{{name: r, version: 1}}]\n{}instance_groups:\n- name: g\n  instances: 1\n{}  jobs:\n  - name: j\n    release: r\n{own}",
            mapping("properties", "", &global),
            mapping("properties", "  ", &group)
        ),
    );
    write(&directory.join("ops.yml"), if ops.is_empty() { "[]\n" } else { &ops });
    write(&directory.join("vars.yml"), &vars);
    write(&directory.join("r/jobs/j/spec"), format!("name: j\ntemplates: {{a: a}}\nproperties:\n  own: {{}}\n{spec}"));
    let lines: String = (0..count).map(|n| format!("a{n}=<%= p('a{n}', 'none') %>\n")).collect();
    write(&directory.join("r/jobs/j/templates/a"), &lines);
    write(&directory.join("r/jobs/j/monit"), "");
    write(&directory.join("r/config/final.yml"), "name: r\n");
}

fn rendered(directory: &Path) -> Vec<String> {
    let output = boson(directory, "render -m m.yml -o ops.yml -l vars.yml -r r g/0 j/a").output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout).lines().map(|line| line.split_once('=').unwrap().1.to_owned()).collect()
}

#[test]
fn the_place_of_a_value_is_the_one_whose_change_changes_it() {
    const COUNT: usize = 8;
    for seed in [1, 2] {
        let directory = tempfile::tempdir().unwrap();
        let d = directory.path();
        random_deployment(d, &mut Random::new(seed), COUNT);
        let values = rendered(d);
        for (n, value) in values.iter().enumerate() {
            let flags = format!("explain m.yml -o ops.yml -l vars.yml -r r g --property j/a{n}");
            let shown = text(&boson(d, &flags).output().unwrap().stdout);
            if value == "none" {
                assert!(shown.contains("no value: neither a default nor the manifest has one"), "{shown}");
                continue;
            }
            let place = shown
                .lines()
                .find(|line| line.starts_with("  * "))
                .unwrap()
                .split_whitespace()
                .rev()
                .nth(usize::from(shown.contains("((")));
            let parts: Vec<&str> = place.unwrap().trim_end().rsplitn(3, ':').collect();
            let [_, line, file] = parts.as_slice() else { panic!("{shown}") };
            let before = fs::read_to_string(d.join(file)).unwrap();
            let number: usize = line.parse().unwrap();
            let changed: Vec<String> = before
                .lines()
                .enumerate()
                .map(|(index, line)| if index + 1 == number { line.replace(value, "7") } else { line.to_owned() })
                .collect();
            write(&d.join(file), &(changed.join("\n") + "\n"));
            assert_eq!(rendered(d)[n], "7", "seed {seed}, a{n}: {shown}{before}");
            write(&d.join(file), &before);
        }
    }
}
