//! Mistakes in what render-jobs reads.

use super::{CONF, Case, PRE_START, SPEC};

pub(crate) const CASES: &[Case] = &[
    Case::render("render-document-without-version", 65).edit(&[("properties.yaml", "version: 1\n", "")]),
    Case::render("render-group-unknown", 65).environment(&[("INSTANCE_GROUP_NAME", "gnats")]),
    Case::render("render-document-missing", 65).environment(&[("BOSH_MANIFEST_PATH", "nowhere.yaml")]),
    Case::render("render-document-of-other-version", 65).edit(&[("properties.yaml", "version: 1\n", "version: 0\n")]),
    Case::render("render-document-unknown-field", 65).edit(&[(
        "properties.yaml",
        "version: 1\n",
        "version: 1\nmore: 1\n",
    )]),
    Case::render("render-property-missing", 66).edit(&[
        (CONF, "p('nats.password')", "p('nats.pass_word')"),
        (PRE_START, "set -eu", "<%= p(['nats.one', 'nats.two']) %>\nset -eu"),
    ]),
    Case::render("render-property-misspelt", 66).edit(&[
        ("properties.yaml", "        password: only-for-this-demo/4 nodes\n", "        password:\n"),
        (
            "properties.yaml",
            "      quarks:\n",
            "      quarks:\n        misspelt:\n          nats.password: nats.pasword\n",
        ),
    ]),
    Case::render("render-template-raises", 66).edit(&[(
        CONF,
        "listen = p('nats.listen')",
        "listen = Integer(p('nats.password'))",
    )]),
    Case::render("render-syntax-error", 66).edit(&[(CONF, "peers.each do |peer| -%>", "peers.each do |peer -%>")]),
    Case::render("render-link-unknown", 66).edit(&[(
        CONF,
        "link('nats').instances.reject",
        "link('gnats').instances.reject",
    )]),
    Case::render("render-link-property-missing", 66).edit(&[
        (CONF, "listen = p('nats.listen')", "listen = link('nats').p('nats.listen')"),
        (PRE_START, "set -eu", "<%= link('nats').instances.first.p('nats.listen') %>\nset -eu"),
    ]),
    Case::render("render-template-missing", 65).edit(&[(
        SPEC,
        "  pre-start.erb: bin/pre-start\n",
        "  pre-start.erb: bin/pre-start\n  post-start.erb: bin/post-start\n",
    )]),
    Case::render("render-az-index-out-of-range", 65).environment(&[("AZ_INDEX", "3")]),
    Case::render("render-az-index-missing", 2).environment(&[("AZ_INDEX", "")]),
    Case::render("render-az-index-no-number", 2).environment(&[("AZ_INDEX", "z1")]),
    Case::render("render-replicas-no-number", 2).environment(&[("REPLICAS", "many")]),
    Case::render("render-replicas-zero", 65).environment(&[("REPLICAS", "0")]),
    Case::render("render-ordinal-out-of-range", 65).environment(&[("POD_ORDINAL", "2")]),
    Case::render("render-ordinal-no-number", 2).environment(&[("POD_ORDINAL", "-1")]),
    Case::render("render-template-too-slow", 66)
        .edit(&[(CONF, "listen = p('nats.listen')", "listen = sleep")])
        .environment(&[("TEMPLATE_TIMEOUT", "1")]),
    Case::render("render-timeout-no-number", 2).environment(&[("TEMPLATE_TIMEOUT", "soon")]),
    Case::render("render-isolation-unknown", 2).environment(&[("TEMPLATE_ISOLATION", "none")]),
    Case::render("render-output-unwritable", 70).environment(&[("OUTPUT_DIR", "manifest.yml/jobs")]),
];
