//! Mistakes in ops files and variables.

use super::Case;

const OPS: &str = "- type: replace\n  path: /releases/name=nats/version\n  value: 2\n- type: remove\n  path: /instance_groups/name=natz\n";

const RUNTIME: &str = "releases: [{name: syslog, version: latest}]\naddons:\n- name: logs\n  jobs: [{name: forwarder, release: sylog}]\n  include: {jobs: [{name: nats}]}\n";

const CLOUD: &str = "vm_types: [{name: default}, {name: default}]\nnetworks: [{name: default, type: static}]\n";

const NAMES: &str = "azs: [{name: z1}]\nvm_types: [{name: large}]\ndisk_types: [{name: 5GB, disk_size: 5120}]\nnetworks: [{name: private, subnets: [{az: z1}]}]\ncompilation: {workers: 1, network: private}\n";

const DEFINITIONS: &str = "variables:
- name: admin
  type: pasword
- name: nats_tls
  type: certificate
  options:
    ca: nats_ca
    common_nam: nats
    duration: 200000
    extended_key_usage: [clientauth]
- name: nats_ca
  type: certificate
  options:
    common_name: nats
";

const AUTHORITIES: &str = "variables:
- {name: a, type: certificate, options: {is_ca: true, ca: b}}
- {name: b, type: certificate, options: {is_ca: true, ca: a}}
- {name: c, type: certificate, options: {ca: leaf}}
- {name: leaf, type: certificate, options: {self_sign: true}}
";

const TRUNCATED: &str = "key:\n  private_key: |\n    -----BEGIN RSA PRIVATE KEY-----\n    s3cret\n";

pub(crate) const CASES: &[Case] = &[
    Case::plan("interpolate-files-wrong", 65)
        .files(&[
            ("ops.yml", "- {type: replace, path: releases, value: s3cret}\n"),
            ("vars.yml", "password: [s3cret\n"),
        ])
        .arguments(&[
            "boson",
            "interpolate",
            "manifest.yml",
            "-o",
            "ops.yml",
            "-o",
            "more.yml",
            "-l",
            "vars.yml",
            "-v",
            "x",
        ]),
    Case::plan("interpolate-operation-fails", 65).files(&[("ops.yml", OPS)]).arguments(&[
        "boson",
        "interpolate",
        "manifest.yml",
        "-o",
        "ops.yml",
    ]),
    Case::plan("interpolate-variables-missing", 65)
        .files(&[("template.yml", "a: ((nats_pasword))\nb: x((port))\nc: ((port))\nd: ((tls.ca))\n")])
        .arguments(&[
            "boson",
            "interpolate",
            "template.yml",
            "--var-errs",
            "--var-errs-unused",
            "-v",
            "nats_password=s3cret",
            "-v",
            "tls.ca=s3cret",
        ]),
    Case::plan("interpolate-part-missing", 65)
        .files(&[("template.yml", "a: ((tls.cert))\nb: x((tls))\n")])
        .arguments(&["boson", "interpolate", "template.yml", "-v", "tls={certificate: s3cret}"]),
    Case::plan("interpolate-definitions-wrong", 65).files(&[("template.yml", DEFINITIONS)]).arguments(&[
        "boson",
        "interpolate",
        "template.yml",
        "--vars-store",
        "creds.yml",
    ]),
    Case::plan("interpolate-authorities-cyclic", 65).files(&[("template.yml", AUTHORITIES)]).arguments(&[
        "boson",
        "interpolate",
        "template.yml",
        "--vars-store",
        "creds.yml",
    ]),
    Case::plan("interpolate-store-truncated", 65)
        .files(&[("template.yml", "a: ((key.private_key))\n"), ("creds.yml", TRUNCATED)])
        .arguments(&["boson", "interpolate", "template.yml", "--vars-store", "creds.yml"]),
    Case::plan("interpolate-path-unknown", 65).arguments(&[
        "boson",
        "interpolate",
        "manifest.yml",
        "--path",
        "/instance_group",
    ]),
    Case::plan("inputs-unresolved", 65)
        .files(&[
            ("ops.yml", "- type: replace\n  path: /name\n  value: ((deployment))-((zone))\n"),
            ("vars.yml", "nats_password: ((password))\nsmoke_messages: 1\n"),
        ])
        .edit(&[
            ("manifest.yml", "only-for-this-demo/4 nodes", "((nats_password))"),
            ("manifest.yml", "messages: 250", "messages: ((smoke_messages))"),
        ])
        .arguments(&["plan", "--output-dir", "output", "--ops-file", "ops.yml", "-l", "vars.yml", "-v", "zone=z1"]),
    Case::plan("inputs-wrong-type", 65)
        .files(&[("vars.yml", "count: [s3cret]\n")])
        .edit(&[("manifest.yml", "instances: 4", "instances: ((count))")])
        .arguments(&["plan", "--output-dir", "output", "-l", "vars.yml"]),
    Case::plan("configs-invalid", 65).files(&[("runtime.yml", RUNTIME), ("cloud.yml", CLOUD)]).arguments(&[
        "plan",
        "--output-dir",
        "output",
        "--runtime-config",
        "runtime.yml",
        "--cloud-config",
        "cloud.yml",
    ]),
    Case::plan("configs-names-unknown", 65).files(&[("cloud.yml", NAMES)]).arguments(&[
        "plan",
        "--output-dir",
        "output",
        "--cloud-config",
        "cloud.yml",
    ]),
];
