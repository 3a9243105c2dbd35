//! `bpm.yml` templates that fail, or render what BPM refuses, when `plan` evaluates them.

use testkit::files::write;

use crate::secrets::{names, properties};
use crate::templates::{MANIFEST, WITH_ANY};
use crate::{job, plan, template};

/// Invalid for BPM, each with the value where a message may quote it.
const REFUSED: &[&str] = &[
    "V",
    "processes: V",
    "V: [",
    "{name: V",
    "\"V",
    "*V",
    "processes:\n- name: a\n  executable: /a\n  V: 1\n  V: 2",
    "processes:\n- name: a\n  executable: /a\n  env: {V: 1, V: 2}",
    "processes:\n- name: a\n  executable: /a\n  env: V",
    "processes:\n- name: a\n  executable: /a\n  env: [V]",
    "processes:\n- name: a\n  executable: /a\n  args: V",
    "processes:\n- name: a\n  executable: /a\n  limits: {memory: V, open_files: V, processes: V}",
    "processes:\n- name: a\n  executable: /a\n  limits: {open_files: !V x}",
    "processes:\n- name: a\n  executable: /a\n  shutdown_signal: V",
    "processes:\n- name: a\n  executable: /a\n  ephemeral_disk: V",
    "processes:\n- name: a\n  executable: /a\n  ephemeral_disk: !V 1",
    "processes:\n- name: a\n  executable: /a\n  additional_volumes: [{path: V}, {path: /V}, {path: /var/vcap/V//x}]",
    "processes:\n- name: a\n  executable: /a\n  unsafe: {privileged: V, unrestricted_volumes: [{path: V, mount_only: V}]}",
    "processes:\n- name: V",
    "processes:\n- name: /V\n  executable: V",
    "processes:\n- name: V\n  executable: /a\n  limits: {memory: V}",
];

/// Plans a job for each `bpm.yml` template, all in one deployment.
fn refused(texts: &[String]) {
    let directory = tempfile::tempdir().unwrap();
    let work = directory.path();
    let declared: String = names().map(|name| format!("  s.{name}: {{}}\n")).collect();
    let mut manifest = MANIFEST.to_owned();
    for (i, text) in texts.iter().enumerate() {
        let name = format!("j{i}");
        let templates = [("bpm.yml".to_owned(), "config/bpm.yml".to_owned())];
        job(work, &name, &format!("properties:\n{declared}"), &templates);
        template(work, &name, "bpm.yml", text);
        manifest.push_str(&format!("  - {{name: {name}, release: r, properties: {{s: {}}}}}\n", properties()));
    }
    write(&work.join("manifest.yml"), manifest);
    let outcome = plan(work);
    assert_eq!(outcome.code, Some(66), "{}", outcome.stderr);
    for (i, text) in texts.iter().enumerate() {
        let reported = outcome.stderr.contains(&format!("/j{i}/templates/"));
        assert!(reported, "nothing is reported about {text}\n{}", outcome.stderr);
    }
}

#[test]
fn templates_of_bpm_yml_that_fail_show_no_value() {
    // Without a link: those templates fail as well, because it is missing.
    let texts: Vec<String> =
        WITH_ANY.iter().map(|(way, _)| format!("<%= begin\n{}\nend %>", way.replace('V', "p('s.plain')"))).collect();
    refused(&texts);
}

#[test]
fn values_that_bpm_rejects_are_not_printed() {
    let mut texts = Vec::new();
    for text in REFUSED {
        for name in ["plain", "number"] {
            // A number is a valid limit, and a valid name.
            if name == "plain" || text.contains("processes: V") {
                texts.push(text.replace('V', &format!("<%= p('s.{name}') %>")));
            }
        }
    }
    refused(&texts);
}

#[test]
fn values_that_differ_between_instances_are_not_printed() {
    let directory = tempfile::tempdir().unwrap();
    let work = directory.path();
    let templates = [("bpm.yml".to_owned(), "config/bpm.yml".to_owned())];
    job(work, "j", "properties: {s.plain: {}}\n", &templates);
    let text =
        "processes:\n- name: <%= p('s.plain') %>\n  executable: /a\n  limits: {processes: <%= spec.index + 1 %>}\n";
    template(work, "j", "bpm.yml", text);
    let manifest = MANIFEST.replace("instances: 1", "instances: 2");
    let job = format!("  - {{name: j, release: r, properties: {{s: {}}}}}\n", properties());
    write(&work.join("manifest.yml"), format!("{manifest}{job}"));
    let outcome = plan(work);
    assert_eq!(outcome.code, Some(65));
    let message = "renders a bpm.yml whose process '<redacted>' has a field 'limits' that differs between instances";
    assert!(outcome.stderr.contains(message), "{}", outcome.stderr);
}
