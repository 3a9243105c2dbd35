//! Tests of the whole comparison.

use instance_group::{JobRelease, Link, ResolvedJob};
use manifest_model::identity::Domain;
use manifest_model::manifest::Network;
use proptest::prelude::*;
use value::Value;

use super::*;
use crate::text::{Style, render};

const UPDATE: &str = "{canaries: 1, max_in_flight: 1, canary_watch_time: {from: 5s, to: 60s}, update_watch_time: \
                      {from: 5s, to: 60s}, serial: true, vm_strategy: delete-create, \
                      initial_deploy_az_update_strategy: serial}";

/// A group of a version that a test describes.
#[derive(Debug, Clone)]
struct Sketch {
    name: &'static str,
    lifecycle: &'static str,
    /// The digest of each instance.
    digests: Vec<String>,
    port: i64,
    password: String,
    disk: u32,
    process: &'static str,
    files: Vec<(&'static str, String)>,
}

fn sketch(name: &'static str) -> Sketch {
    Sketch {
        name,
        lifecycle: "service",
        digests: vec!["d".into(), "d".into()],
        port: 4222,
        password: "hunter2hunter2".into(),
        disk: 1024,
        process: "/x",
        files: Vec::new(),
    }
}

impl Sketch {
    fn document(&self) -> String {
        let instance = |(index, digest): (usize, &String)| {
            let address = format!("d-{}-{index}.ns.svc", self.name);
            format!(
                "{{index: {index}, az: null, az_index: 1, ordinal: {index}, address: {address}, digest: '{digest}'}}"
            )
        };
        let instances: Vec<String> = self.digests.iter().enumerate().map(instance).collect();
        format!(
            "- name: {}\n  lifecycle: {}\n  azs: []\n  replicas: {count}\n  instances: [{}]\n  update: {UPDATE}\n  networks: []\n  \
             persistent_disk: {{size: {}}}\n  jobs:\n  - {{name: j, release: r, services: [], scripts: [], provides: [], consumes: []}}\n",
            self.name,
            self.lifecycle,
            instances.join(", "),
            self.disk,
            count = self.digests.len(),
        )
    }

    fn info(&self) -> BpmInfo {
        let text = format!(
            "version: 2\nname: d\ninstance_groups:\n- name: {}\n  lifecycle: {}\n  instances: {count}\n  azs: []\n  jobs:\n  - name: j\n    \
             release: r\n    properties:\n      quarks:\n        services: [{{process: j, run: bpm}}]\n        bpm:\n          processes: \
             [{{name: j, executable: {}}}]\n  properties:\n    quarks:\n      replicas: {count}\n      instances: []\n",
            self.name,
            self.lifecycle,
            self.process,
            count = self.digests.len(),
        );
        BpmInfo::decode(&text, "test").unwrap()
    }

    fn resolved(&self) -> Resolved {
        let domain = Domain { deployment: "d".into(), namespace: "ns".into(), service_domain: "svc".into() };
        let db = Value::map([("password", Value::str(self.password.clone()))]);
        let instances = Value::array(self.digests.iter().map(|_| Value::map([])));
        let content = [("instance_group", Value::str("db")), ("instances", instances), ("properties", db.clone())];
        let job = ResolvedJob {
            name: "j".into(),
            release: JobRelease { name: "r".into(), version: "1".into() },
            properties: Value::map([("port", Value::Int(self.port)), ("db", db)]),
            misspelt: Vec::new(),
            links: vec![Link { name: "l".into(), link_type: "t".into(), content: Value::map(content), external: None }],
            provides: Vec::new(),
            instances: Vec::new(),
            spec_digest: String::new(),
            templates: Vec::new(),
            packages: Vec::new(),
            bpm_overlay: None,
            bpm: None,
        };
        Resolved {
            domain,
            name: self.name.into(),
            lifecycle: self.lifecycle.into(),
            instances: 1,
            replicas: 1,
            azs: Vec::new(),
            slots: Vec::new(),
            networks: vec![Network { name: "default".into(), default: Vec::new() }],
            persistent_disk: self.disk,
            jobs: vec![job],
        }
    }
}

fn version(release: &str, groups: &[Sketch]) -> Version {
    let text = format!(
        "version: 3\nname: d\nnamespace: ns\nservice_domain: svc\nreleases: [{{name: r, version: '{release}'}}]\nstemcells: []\n\
         instance_groups: {}\n",
        if groups.is_empty() {
            "[]".to_owned()
        } else {
            format!("\n{}", groups.iter().map(Sketch::document).collect::<String>())
        }
    );
    let files = groups.iter().filter(|group| !group.files.is_empty()).flat_map(|group| {
        (0..group.digests.len()).map(move |index| {
            let files = group.files.iter().map(|(path, text)| ((*path).to_owned(), text.clone().into_bytes()));
            (format!("{}/{index}", group.name), files.collect())
        })
    });
    Version {
        deployment: Deployment::decode(&text, "test").unwrap(),
        infos: groups.iter().map(Sketch::info).collect(),
        groups: groups.iter().map(Sketch::resolved).collect(),
        files: files.collect(),
        programs: None,
    }
}

fn diff(old: &Version, new: &Version) -> Diff {
    compare(old, new, &Mask::new(old, new, []), &|_| None)
}

fn shown(old: &Version, new: &Version) -> String {
    render(&diff(old, new), Style::Plain)
}

#[test]
fn lines_values_and_instances_are_shown_and_secrets_are_not() {
    let config = |port: u32, password: &str| {
        vec![("j/config/j.yml", format!("# j\nport: {port}\npassword: {password}\n")), ("j/same", "x".into())]
    };
    let old = Sketch { files: config(4222, "hunter2hunter2"), ..sketch("web") };
    let new = Sketch {
        digests: vec!["e".into(), "e".into(), "e".into()],
        port: 4223,
        password: "correct horse".into(),
        disk: 2048,
        files: config(4223, "correct horse"),
        ..sketch("web")
    };
    assert_eq!(
        shown(&version("1", &[old]), &version("1", &[new])),
        "instance group web
  web/0, web/1: replaced (rendered files; processes, scripts or volumes)
  web/2: new
  ~ instances: 2 -> 3
  ~ persistent_disk.size: 1024 -> 2048
  ~ property j.port: 4222 -> 4223
  ~ property j.db.password: <redacted> -> <redacted>
  ~ link j.l.properties.password: <redacted> -> <redacted>
  ~ link j.l.instances: 2 -> 3
--- web/0,web/1 j/config/j.yml
+++ web/0,web/1 j/config/j.yml
@@ -1,3 +1,3 @@
 # j
-port: 4222
-password: <redacted>
+port: 4223
+password: <redacted>

2 instances to replace, 1 to create
"
    );
}

#[test]
fn groups_come_and_go_and_errands_wait_for_their_run() {
    let errand = Sketch { lifecycle: "errand", digests: vec!["d".into()], ..sketch("smoke") };
    let old = version("1", &[sketch("a"), sketch("b"), errand.clone()]);
    let new = version(
        "1",
        &[
            Sketch { digests: vec!["e".into()], ..errand },
            Sketch { digests: vec!["d".into()], ..sketch("a") },
            sketch("c"),
        ],
    );
    assert_eq!(
        shown(&old, &new),
        "deployment
  ~ order of instance groups: a, smoke -> smoke, a

instance group smoke
  smoke/0: changes with the next run of the errand (rendered files)
  the lines of smoke/0 differ; with the releases (-r) they are shown

instance group a
  a/1: removed
  ~ instances: 2 -> 1
  ~ link j.l.instances: 2 -> 1

instance group c (new)
  c/0, c/1: new

instance group b (removed)
  b/0, b/1: removed

2 to create, 3 to remove, 1 of errands with the next run
"
    );
}

#[test]
fn processes_releases_and_packages_replace_instances() {
    let old = version("1", &[sketch("a")]);
    let reasons = |old: &Version, new: &Version| diff(old, new).groups[0].instances[0].reasons.clone();
    let process = version("1", &[Sketch { process: "/y", ..sketch("a") }]);
    // The executable is read from the rendered file; the pod has no place for it.
    assert!(diff(&old, &process).is_empty());
    assert_eq!(reasons(&old, &version("2", &[sketch("a")])), ["release r"]);
    let with = |release: &str, package: &str| {
        let programs = Programs { base: String::new(), packages: [("p".to_owned(), package.to_owned())].into() };
        Version { programs: Some([("a".to_owned(), programs)].into()), ..version(release, &[sketch("a")]) }
    };
    assert_eq!(reasons(&with("1", "x"), &with("1", "y")), ["packages p"]);
    // What is in them is the same.
    let diff = diff(&with("1", "x"), &with("2", "x"));
    assert!(diff.groups.is_empty() && diff.deployment.len() == 1, "{diff:?}");
}

#[test]
fn the_mask_hides_what_the_caller_names_and_certificates_are_described() {
    let secret = |text: &str| Sketch {
        digests: vec!["e".into()],
        files: vec![("j/f", format!("user {text}\n"))],
        ..sketch("a")
    };
    let old = Sketch { digests: vec!["d".into()], ..secret("admin-of-all") };
    let (old, new) = (version("1", &[old]), version("1", &[secret("admin-of-none")]));
    let mask = Mask::new(&old, &new, ["admin-of-all", "admin-of-none"]);
    assert_eq!(
        compare(&old, &new, &mask, &|_| None).groups[0].files[0].patch,
        "@@ -1 +1 @@\n-user <redacted>\n+user <redacted>\n"
    );
    let shown = compare(&old, &new, &Mask::none(), &|_| None);
    assert!(shown.groups[0].files[0].patch.contains("-user admin-of-all"));
    let pem = |text: &str| Sketch { password: format!("-----BEGIN CERTIFICATE-----\n{text}\n"), ..sketch("a") };
    let (old, new) = (version("1", &[pem("a")]), version("1", &[pem("b")]));
    let diff = compare(&old, &new, &Mask::new(&old, &new, []), &|text| Some(format!("expires {}", text.len())));
    assert_eq!(diff.groups[0].changes[0].new.as_deref(), Some("certificate, expires 30"));
}

#[test]
fn instances_that_do_not_differ_may_be_replaced_too() {
    let version = version("1", &[sketch("a"), sketch("b")]);
    let mut diff = diff(&version, &version);
    diff.replace_too(&[("b/1".to_owned(), "its last start has failed".to_owned())].into());
    let expected = "instance group b\n  b/1: replaced (its last start has failed)\n\n1 instance to replace\n";
    assert_eq!(render(&diff, Style::Plain), expected);
}

fn any_sketch(name: &'static str) -> impl Strategy<Value = Sketch> {
    let files = prop::collection::vec("[a-z]{0,3}(\n[a-z]{0,3}){0,4}", 0..3);
    (prop::collection::vec("[ab]", 0..4), 0..2i64, "[a-b]{4}", 0..2u32, files).prop_map(
        move |(digests, port, password, disk, files)| Sketch {
            digests,
            port,
            password,
            disk,
            files: ["j/a", "j/b", "j/c"].into_iter().zip(files).collect(),
            ..sketch(name)
        },
    )
}

fn any_version() -> impl Strategy<Value = Version> {
    ("[12]", any_sketch("x"), any_sketch("y"), any_sketch("z"), 0..8u8).prop_map(|(release, x, y, z, chosen)| {
        let groups: Vec<Sketch> =
            [x, y, z].into_iter().enumerate().filter(|(at, _)| chosen >> at & 1 == 1).map(|(_, group)| group).collect();
        version(&release, &groups)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn equal_versions_do_not_differ(version in any_version()) {
        prop_assert!(diff(&version, &version).is_empty());
        prop_assert_eq!(shown(&version, &version), "no changes\n");
    }

    #[test]
    fn whatever_differs_is_found(old in any_version(), new in any_version()) {
        let without_files = |version: &Version| Version { files: BTreeMap::new(), ..version.clone() };
        let is_same = without_files(&old) == without_files(&new);
        prop_assert!(is_same || !diff(&old, &new).is_empty());
    }

    #[test]
    fn what_one_direction_removes_the_other_creates(old in any_version(), new in any_version()) {
        let names = |diff: &Diff, effect: Effect| -> BTreeSet<String> {
            let instances = diff.groups.iter().flat_map(|group| &group.instances);
            instances.filter(|one| one.effect == effect).map(|one| one.name.clone()).collect()
        };
        let (there, back) = (diff(&old, &new), diff(&new, &old));
        prop_assert_eq!(names(&there, Effect::New), names(&back, Effect::Removed));
        prop_assert_eq!(names(&there, Effect::Replaced), names(&back, Effect::Replaced));
    }
}
