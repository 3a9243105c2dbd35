//! What is wrong with the input is said once, clearly and with the right exit code, and leaves the disk as it was.
//!
//! Each case starts from the nats deployment, which is fine, and spoils something. What was said is compared with
//! `e2e/bad-input/<case>.txt`, which shows what an operator gets to see.

#[path = "bad_input/interpolate.rs"]
mod interpolate;
#[path = "bad_input/render.rs"]
mod render;

use std::fs;
use std::path::Path;

use e2e::{check, copy, here, listing, run};
use libtest_mimic::{Arguments, Failed, Trial};

/// The manifest's passwords; no message may contain them.
const SECRETS: [&str; 2] = ["only-for-this-demo", "the same @ all"];

const PLAN: &[&str] = &["plan", "--output-dir", "output"];
const RENDER: &[&str] = &["render-jobs"];

/// A spoiled input.
struct Case {
    name: &'static str,
    /// In these files (below the work directory), the first text becomes the second.
    edits: &'static [(&'static str, &'static str, &'static str)],
    /// These files are there as well.
    files: &'static [(&'static str, &'static str)],
    /// What to run.
    arguments: &'static [&'static str],
    /// Variables that differ from those of a good run; an empty value takes the variable away.
    environment: &'static [(&'static str, &'static str)],
    code: i32,
}

impl Case {
    const fn plan(name: &'static str, code: i32) -> Case {
        Case { name, edits: &[], files: &[], arguments: PLAN, environment: &[], code }
    }

    const fn render(name: &'static str, code: i32) -> Case {
        Case { name, edits: &[], files: &[], arguments: RENDER, environment: &[], code }
    }

    const fn edit(mut self, edits: &'static [(&'static str, &'static str, &'static str)]) -> Case {
        self.edits = edits;
        self
    }

    const fn files(mut self, files: &'static [(&'static str, &'static str)]) -> Case {
        self.files = files;
        self
    }

    const fn environment(mut self, environment: &'static [(&'static str, &'static str)]) -> Case {
        self.environment = environment;
        self
    }

    const fn arguments(mut self, arguments: &'static [&'static str]) -> Case {
        self.arguments = arguments;
        self
    }
}

const SPEC: &str = "base/jobs-src/nats/nats/spec";
const BPM: &str = "base/jobs-src/nats/nats/templates/bpm.yml.erb";
const MONIT: &str = "base/jobs-src/nats/nats/monit";
const CONF: &str = "base/jobs-src/nats/nats/templates/nats.conf.erb";
const PRE_START: &str = "base/jobs-src/nats/nats/templates/pre-start.erb";
const SMOKE_RUN: &str = "base/jobs-src/nats/smoke-tests/templates/run.erb";
const SMOKE_SPEC: &str = "base/jobs-src/nats/smoke-tests/spec";

/// A patch of another version of the release, of a file that it does not have, and of one elsewhere.
const PATCH: &str = "\
--- a/jobs/nats/templates/nats.conf.erb
+++ b/jobs/nats/templates/nats.conf.erb
@@ -1,2 +1,2 @@
-listen: 127.0.0.1
+listen: 0.0.0.0
 port: 4222
--- a/src/nats/main.go
+++ b/src/nats/main.go
@@ -1 +1 @@
-package nats
+package main
--- a/../nats/monit
+++ b/../nats/monit
@@ -1 +1 @@
-x
+y
";
const COPY_WITH_PATCH: [&str; 9] =
    ["copy-jobs", "--from", "base/jobs-src/nats", "--to", "output", "--patch", "listen.diff", "--release", "nats"];

const CASES: &[Case] = &[
    Case::plan("usage-flag-unknown", 2).arguments(&["plan", "--output-dri", "output"]),
    Case::plan("usage-nothing-to-do", 2).arguments(&["plan"]),
    Case::plan("copy-jobs-source-missing", 65).arguments(&["copy-jobs", "--root", ".", "--release", "nats"]),
    Case::plan("copy-jobs-patch-fails", 65).files(&[("listen.diff", PATCH)]).arguments(&COPY_WITH_PATCH),
    Case::plan("copy-jobs-patch-malformed", 65)
        .files(&[("listen.diff", "--- a/jobs/nats/monit\n+++ b/jobs/nats/monit\n@@ -1,9 +1 @@\n-x\n+y\n")])
        .arguments(&COPY_WITH_PATCH),
    Case::plan("package-missing", 65)
        .files(&[("base/jobs-src/nats/.packages", "{\"version\":1,\"packages\":[\"other\"]}\n")]),
    Case::plan("run-process-not-rendered", 65).arguments(&["run-process", "--root", ".", "--job", "nats"]),
    Case::plan("run-process-for-windows", 65)
        .files(&[(
            "var/vcap/jobs/rep_windows/monit",
            "{\"processes\": [{\"name\": \"rep\", \"executable\": \"rep.exe\"}]}\n",
        )])
        .arguments(&["run-process", "--root", ".", "--job", "rep_windows", "--monit", "rep"]),
    Case::plan("run-process-unknown", 65)
        .files(&[("var/vcap/jobs/nats/config/bpm.yml", "processes: [{name: nats, executable: /bin/true}]\n")])
        .arguments(&["run-process", "--root", ".", "--job", "nats", "--process", "gnats"]),
    Case::plan("status-no-deployment", 65).arguments(&["boson", "status", "--state-dir", "state"]),
    Case::plan("status-name-invalid", 65).arguments(&["boson", "status", "--name", ".."]),
    Case::plan("explain-error-unknown", 2).arguments(&["boson", "explain-error", "link-ambigous"]),
    Case::plan("compile-release-invalid", 65).files(&[("nats-release/jobs/nats/spec", "name: gnats\n")]).arguments(&[
        "boson",
        "compile",
        "--release",
        "nats-release",
        "--output",
        "output",
    ]),
    Case::plan("up-release-missing", 65).arguments(&[
        "boson",
        "up",
        "--manifest",
        "manifest.yml",
        "--release",
        "nats-release",
        "--state-dir",
        "state",
    ]),
    Case::plan("manifest-missing", 65).environment(&[("BOSH_MANIFEST_PATH", "nowhere.yml")]),
    Case::plan("manifest-malformed", 65).edit(&[("manifest.yml", "releases:\n", "releases: [\n")]),
    Case::plan("manifest-no-mapping", 65).edit(&[("manifest.yml", "---\n", "just words\n---\n")]),
    Case::plan("manifest-of-aliases", 65).edit(&[(
        "manifest.yml",
        "---\n",
        "---
a: &a [x, x, x, x, x, x, x, x, x, x]
b: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]
c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]
d: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]
e: &e [*d, *d, *d, *d, *d, *d, *d, *d, *d, *d]
f: &f [*e, *e, *e, *e, *e, *e, *e, *e, *e, *e]
g: &g [*f, *f, *f, *f, *f, *f, *f, *f, *f, *f]
h: &h [*g, *g, *g, *g, *g, *g, *g, *g, *g, *g]
i: &i [*h, *h, *h, *h, *h, *h, *h, *h, *h, *h]
j: &j [*i, *i, *i, *i, *i, *i, *i, *i, *i, *i]
k: [*j, *j, *j, *j, *j, *j, *j, *j, *j, *j]
",
    )]),
    Case::plan("manifest-of-first-version", 65).edit(&[("manifest.yml", "instance_groups:\n", "jobs:\n")]),
    Case::plan("manifest-contains-itself", 65).edit(&[("manifest.yml", "---\n", "--- &all\nall: [*all]\n")]),
    Case::plan("manifest-directory", 65).environment(&[("BOSH_MANIFEST_PATH", "base")]),
    Case::plan("manifest-endless", 65).environment(&[("BOSH_MANIFEST_PATH", "/dev/zero")]),
    Case::plan("names-that-are-paths", 65).edit(&[
        ("manifest.yml", "- name: nats\n  azs", "- name: ../nats\n  azs"),
        ("manifest.yml", "- name: smoke-tests\n  lifecycle", "- name: \"\"\n  lifecycle"),
        ("manifest.yml", "  - name: nats\n    release", "  - name: /etc\n    release"),
        ("manifest.yml", "- name: nats\n  version", "- name: \"..\"\n  version"),
    ]),
    Case::plan("names-of-one-address", 65).edit(&[(
        "manifest.yml",
        "- name: smoke-tests\n  lifecycle",
        "- name: nats-0\n  lifecycle",
    )]),
    Case::plan("spec-templates-elsewhere", 65).edit(&[(
        SPEC,
        "  nats.conf.erb: config/nats.conf\n  pre-start.erb: bin/pre-start\n",
        "  ../../../../etc/hostname: config/hostname\n  /etc/hostname: config/hostname2\n",
    )]),
    Case::plan("spec-templates-to-elsewhere", 65).edit(&[(
        SPEC,
        "  nats.conf.erb: config/nats.conf\n  pre-start.erb: bin/pre-start\n",
        "  nats.conf.erb: ../nats.conf\n  pre-start.erb: /bin/pre-start\n  post-start.erb: config/./bpm.yml\n",
    )]),
    Case::plan("release-unknown", 65).edit(&[(
        "manifest.yml",
        "    release: nats\n    properties:\n      nats:",
        "    release: gnats\n    properties:\n      nats:",
    )]),
    Case::plan("job-unknown", 65).edit(&[(
        "manifest.yml",
        "  - name: smoke-tests\n    release",
        "  - name: smoke-test\n    release",
    )]),
    Case::plan("link-unresolvable", 65).edit(&[(
        SMOKE_SPEC,
        "- name: nats\n  type: nats\n",
        "- name: nats\n  type: gnats\n- name: metrics\n  type: metrics\n",
    )]),
    Case::plan("link-ambiguous", 65).edit(&[(SPEC, "provides:\n", "provides:\n- name: spare\n  type: nats\n")]),
    Case::plan("link-from-nobody", 65).edit(&[(
        "manifest.yml",
        "    release: nats\n    properties:\n      smoke",
        "    release: nats\n    consumes: {nats: {from: queue}}\n    properties:\n      smoke",
    )]),
    Case::plan("link-contradiction", 65).edit(&[(
        "manifest.yml",
        "    release: nats\n    properties:\n      smoke",
        "    release: nats\n    consumes: {nats: {from: nats, instances: []}}\n    properties:\n      smoke",
    )]),
    Case::plan("property-no-hash", 65).edit(&[(
        "manifest.yml",
        "      smoke_tests:\n        messages: 250",
        "      smoke_tests: 250",
    )]),
    Case::plan("property-misspelt", 66).edit(&[(
        "manifest.yml",
        "        password: only-for-this-demo/4 nodes",
        "        pasword: only-for-this-demo/4 nodes",
    )]),
    Case::plan("warning-strict", 65)
        .edit(&[
            ("manifest.yml", "messages: 250", "messages: 250\n        mesages: 3"),
            (BPM, "'limits' =>", "'limit' => {}, 'limits' =>"),
        ])
        .arguments(&["plan", "--strict", "--output-dir", "output"]),
    Case::plan("variables-unresolved", 65).edit(&[
        ("manifest.yml", "only-for-this-demo/4 nodes", "((nats_password))"),
        ("manifest.yml", "messages: 250", "messages: ((smoke_messages))"),
    ]),
    Case::plan("bpm-template-raises", 66).edit(&[(
        BPM,
        "environment = ",
        "raise ArgumentError, 'not like this'\n  environment = ",
    )]),
    Case::plan("bpm-template-wants-missing-property", 66).edit(&[(
        BPM,
        "p('nats.limits.max_connections')",
        "p('nats.limits.connections')",
    )]),
    Case::plan("templates-fail-in-several-groups", 66).edit(&[
        (CONF, "p('nats.listen')", "p('nats.listens')"),
        (SMOKE_RUN, "set -eu\n", "set -eu\n<%= raise ArgumentError, 'not like this' %>\n"),
    ]),
    Case::plan("pod-settings-wrong", 65).edit(&[(
        "manifest.yml",
        "  instances: 4\n",
        "  instances: 4
  update: {canaries: some, update_watch_time: 30s, vm_strategy: swap}
  vm_resources: {cpu: 2, ram: 1 GB}
  env: {bosh: {agent: {settings: [labels]}}}
",
    )]),
    Case::plan("monit-invalid", 66).edit(&[(MONIT, "  group vcap", "  if failed port 4222 then panic\n  group vcap")]),
    Case::plan("monit-process-unknown", 66).edit(&[(MONIT, "bpm start nats", "bpm start nats -p gnats")]),
    Case::plan("dns-aliases-invalid", 66)
        .files(&[(
            "base/jobs-src/nats/nats/templates/aliases.json",
            "{\"nats.internal\": \"*.nats.default.demo.bosh\"}\n",
        )])
        .edit(&[(SPEC, "templates:\n", "templates:\n  aliases.json: dns/aliases.json\n")]),
    Case::plan("bpm-invalid", 66).edit(&[(BPM, "'name' => 'nats',", "'name' => '',")]),
    Case::plan("bpm-differs", 65).edit(&[(BPM, "'ephemeral_disk' => true", "'ephemeral_disk' => spec.bootstrap")]),
    Case::plan("several-at-once", 65).edit(&[
        ("manifest.yml", "  - name: smoke-tests\n    release", "  - name: smoke-test\n    release"),
        (
            "manifest.yml",
            "    release: nats\n    properties:\n      nats:",
            "    release: gnats\n    properties:\n      nats:",
        ),
        ("manifest.yml", "only-for-this-demo/4 nodes", "((nats_password))"),
    ]),
    Case::plan("properties-against-schema", 65).files(&[
        (
            "base/jobs-src/nats/nats/properties_schema.json",
            r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "properties": {
    "nats": {
      "properties": {
        "listen": {"format": "ipv6"},
        "password": {"type": "certificate"},
        "cluster": {"required": ["tls"], "properties": {"password": {"pattern": "\\A\\w+\\z"}}},
        "limits": {"properties": {"max_payload": {"enum": [1024, 2048]}}}
      }
    }
  }
}"#,
        ),
        (
            "base/jobs-src/nats/smoke-tests/properties_schema.json",
            r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "properties": {"smoke_tests": {"properties": {"messages": {"maximum": 100}}}}
}"#,
        ),
    ]),
    Case::plan("properties-schema-unusable", 65).files(&[
        ("base/jobs-src/nats/nats/properties_schema.json", "{\"type\": \"object\"}"),
        ("base/jobs-src/nats/smoke-tests/properties_schema.json", "{\n  \"type\": }"),
    ]),
    Case::plan("group-unknown", 65).arguments(&[
        "plan",
        "ig-resolved",
        "--instance-group-name",
        "gnats",
        "--output",
        "output.json",
    ]),
    Case::plan("output-is-manifest", 65).arguments(&[
        "plan",
        "bpm",
        "--instance-group-name",
        "nats",
        "--output",
        "./base/../manifest.yml",
    ]),
    Case::plan("output-among-sources", 65).arguments(&["plan", "--output-dir", "base/jobs-src/nats/nats/output"]),
    Case::plan("output-unwritable", 70).arguments(&["plan", "--output-dir", "manifest.yml/output"]),
];

fn main() {
    let _ = testkit::executable("plan");
    let trials = CASES
        .iter()
        .chain(render::CASES)
        .chain(interpolate::CASES)
        .map(|case| Trial::test(case.name, move || try_case(case).map_err(Failed::from)));
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit();
}

fn try_case(case: &Case) -> Result<(), String> {
    let directory = tempfile::tempdir().map_err(|e| e.to_string())?;
    let work = directory.path();
    prepare(work, case).map_err(|e| e.to_string())?;
    for (file, from, to) in case.edits {
        let path = work.join(file);
        let text = fs::read_to_string(&path).map_err(|e| format!("{file}: {e}"))?;
        if !text.contains(from) {
            return Err(format!("{file}: there is no {from:?} to spoil"));
        }
        fs::write(&path, text.replacen(from, to, 1)).map_err(|e| e.to_string())?;
    }
    for (file, text) in case.files {
        let path = work.join(file);
        let made = path.parent().map_or(Ok(()), fs::create_dir_all);
        made.and_then(|()| fs::write(&path, text)).map_err(|e| format!("{file}: {e}"))?;
    }
    let before = listing(work).map_err(|e| e.to_string())?;
    let outcome = run(case.arguments, &environment(case), work);
    let after = listing(work).map_err(|e| e.to_string())?;

    let mut said = String::new();
    for (name, value) in case.environment {
        said.push_str(&if value.is_empty() {
            format!("$ unset {name}\n")
        } else {
            format!("$ export {name}={value}\n")
        });
    }
    said.push_str(&format!("$ {}\n{}{}", case.arguments.join(" "), outcome.stdout, outcome.stderr));
    said.push_str(&format!("$ echo $?\n{}\n", outcome.code.map_or("signal".to_owned(), |c| c.to_string())));

    // Some messages name files by their absolute paths.
    let said = said.replace(&work.display().to_string(), "/work");

    let mut wrong = Vec::new();
    if outcome.code != Some(case.code) {
        wrong.push(format!("exit code {:?}, not {}", outcome.code, case.code));
    }
    if before != after {
        wrong.push("the disk is not as it was".to_owned());
    }
    wrong.extend(SECRETS.iter().filter(|s| said.contains(*s)).map(|_| "a password was printed".to_owned()));
    wrong.extend(check(&here().join("bad-input").join(format!("{}.txt", case.name)), &said).err());
    if wrong.is_empty() { Ok(()) } else { Err(format!("{}\n{said}", wrong.join("\n"))) }
}

/// The nats deployment, its release where copy-jobs puts it, and, for render-jobs, what plan made of it.
fn prepare(work: &Path, case: &Case) -> Result<(), Box<dyn std::error::Error>> {
    fs::copy(here().join("deployments/nats.yml"), work.join("manifest.yml"))?;
    copy(&here().join("releases/nats/jobs"), &work.join("base/jobs-src/nats"))?;
    if case.arguments == RENDER {
        let outcome = run(PLAN, &[("BOSH_MANIFEST_PATH", "manifest.yml"), ("BASE_DIR", "base")], work);
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""));
        let path = "output/nats/ig-resolved/output.json";
        let json = fs::read_to_string(work.join(path))?;
        let resolved = handoff::output::decode(&json, handoff::output::PROPERTIES_YAML, path)?;
        fs::write(work.join("properties.yaml"), resolved)?;
        fs::create_dir(work.join("jobs"))?;
    }
    Ok(())
}

fn environment(case: &Case) -> Vec<(&'static str, &'static str)> {
    let good: &[(&str, &str)] = if case.arguments == RENDER {
        &[
            ("BOSH_MANIFEST_PATH", "properties.yaml"),
            ("JOBS_DIR", "base"),
            ("OUTPUT_DIR", "jobs"),
            ("INSTANCE_GROUP_NAME", "nats"),
            ("AZ_INDEX", "1"),
            ("REPLICAS", "2"),
            ("POD_ORDINAL", "0"),
            ("POD_IP", "10.0.1.10"),
        ]
    } else {
        &[("BOSH_MANIFEST_PATH", "manifest.yml"), ("BASE_DIR", "base")]
    };
    let mut environment: Vec<_> = good.to_vec();
    environment.retain(|(name, _)| !case.environment.iter().any(|(other, _)| other == name));
    environment.extend(case.environment.iter().filter(|(_, value)| !value.is_empty()));
    environment
}
