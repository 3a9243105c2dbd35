//! `deployment.yaml` contains much of the manifest, but none of its secrets.

use std::fs;
use std::path::Path;

use handoff::output::{DEPLOYMENT_YAML, decode};
use testkit::files::write;

use crate::secrets::{self, PLAIN, names, properties};
use crate::{job, plan, template};

/// A manifest with a marked value in every possible place; `V` stands for it, `PROPERTIES` for all properties.
const MANIFEST: &str = "name: d
tags: {team: blue}
releases:
- {name: r, version: 1, url: 'https://user:V@host/r?token=V#V'}
stemcells:
- {alias: default, os: ubuntu-jammy, version: 1}
variables:
- {name: v, type: password, options: {length: V}}
properties: {V: V}
instance_groups:
- name: ig
  instances: 2
  stemcell: default
  env:
    secret: V
    list: [V]
    bosh:
      password: V
      swap_size: V
      mbus: {cert: {private_key: V}}
      agent: {settings: {labels: {app: store}, preRenderOps: {bpm: [{type: replace, path: /x, value: V}]}}}
  properties: {V: V}
  jobs:
  - name: consumer
    release: r
    consumes: {vault: {from: vault}, manual: {instances: [{address: V}], properties: {a: V}, address: V}}
    properties:
      s: PROPERTIES
      not_declared: V
      quarks:
        envs: [{name: PASSWORD, value: V}, {name: FROM, valueFrom: {secretKeyRef: {name: s, key: k}}}]
        bpm: {processes: [{name: consumer, executable: /x, args: [V], env: {A: V}}]}
        pre_render_scripts: {jobs: [V]}
        run: {healthcheck: {}}
  - name: vault
    release: r
    provides: {vault: {as: vault}}
    properties: {s: PROPERTIES}
";

#[test]
fn no_secret_is_in_the_document_of_the_deployment() {
    let directory = tempfile::tempdir().unwrap();
    let work = directory.path();
    setting(work);
    let manifest = MANIFEST.replace('V', PLAIN).replace("PROPERTIES", &properties());
    write(&work.join("manifest.yml"), manifest);
    let outcome = plan(work);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);

    let read = |document: &str| fs::read_to_string(work.join("output").join(document).join("output.json")).unwrap();
    let text = decode(&read("deployment"), DEPLOYMENT_YAML, "output.json").unwrap();
    secrets::assert_none_in_text(&text);
    assert!(text.contains("app: store") && text.contains("secretKeyRef"), "{text}");
    assert!(read("ig/ig-resolved").contains(PLAIN), "the values were planned with");
}

#[test]
fn no_secret_is_in_the_messages_about_settings() {
    let directory = tempfile::tempdir().unwrap();
    let work = directory.path();
    setting(work);
    let unknown = [("labels: {app: store}", "other: V"), ("name: FROM", "value: V"), ("healthcheck: {}", "other: V")];
    let mut manifest = MANIFEST.to_owned();
    for (before, wrong) in unknown {
        assert!(manifest.contains(before), "{before}");
        manifest = manifest.replace(before, &format!("{before}, {wrong}"));
    }
    write(&work.join("manifest.yml"), manifest.replace('V', PLAIN).replace("PROPERTIES", &properties()));
    let outcome = plan(work);
    assert_eq!(outcome.code, Some(65), "{}", outcome.stderr);
    assert_eq!(outcome.stderr.matches("unknown").count(), 2, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("'FROM' has both 'value' and 'valueFrom'"), "{}", outcome.stderr);
    secrets::assert_none_in_text(&outcome.stderr);
}

/// Jobs whose every template, `bpm.yml` included, renders all values.
fn setting(work: &Path) {
    let declared: String = names().map(|name| format!("  s.{name}: {{}}\n")).collect();
    let exposed: String = names().map(|name| format!("  - s.{name}\n")).collect();
    let templates = [("all", "config/all"), ("bpm.yml.erb", "config/bpm.yml"), ("run", "bin/pre-start")];
    let templates = templates.map(|(name, to)| (name.to_owned(), to.to_owned()));
    let consumes = "consumes:\n- {name: vault, type: vault}\n- {name: manual, type: manual}\n";
    job(work, "consumer", &format!("{consumes}properties:\n{declared}"), &templates);
    template(work, "consumer", "all", "<%= properties.s.inspect %><%= link('vault').p('s.plain') %><%= spec.to_h %>");
    template(work, "consumer", "run", "<%= p('s.plain') %> <%= Time.now %>");
    let bpm = "processes: [{name: consumer, executable: <%= p('s.plain') %>, args: [<%= p('s.plain') %>], \
               env: {A: <%= p('s.plain') %>}, workdir: <%= p('s.plain') %>}]";
    template(work, "consumer", "bpm.yml.erb", bpm);
    let provides = format!("provides:\n- name: vault\n  type: vault\n  properties:\n{exposed}properties:\n{declared}");
    job(work, "vault", &provides, &[]);
}
