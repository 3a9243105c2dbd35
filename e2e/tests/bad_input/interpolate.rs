//! Mistakes in ops files and variables.

use super::Case;

const OPS: &str = "- type: replace\n  path: /releases/name=nats/version\n  value: 2\n- type: remove\n  path: /instance_groups/name=natz\n";

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
    Case::plan("interpolate-path-unknown", 65).arguments(&[
        "boson",
        "interpolate",
        "manifest.yml",
        "--path",
        "/instance_group",
    ]),
];
