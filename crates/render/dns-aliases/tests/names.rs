//! The rules of bosh-dns, one by one.
#![allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

use std::net::{IpAddr, Ipv4Addr};

use dns_aliases::{Answer, Zone};
use handoff::deployment::{Deployment, DnsAlias};

const DOCUMENT: &str = include_str!("deployment.yaml");

/// The deployment with these aliases: a domain and its targets, separated by blanks.
fn document(aliases: &[(&str, &str)]) -> Deployment {
    let mut document = Deployment::decode(DOCUMENT, "deployment.yaml").unwrap();
    document.dns_aliases = aliases
        .iter()
        .map(|(domain, targets)| DnsAlias {
            domain: (*domain).to_owned(),
            targets: targets.split(' ').map(str::to_owned).collect(),
        })
        .collect();
    document
}

/// Instance `n` of the group `web` has 10.0.0.n, of `db_group` 10.0.1.n.
fn zone(aliases: &[(&str, &str)]) -> Zone {
    Zone::new(&document(aliases), |group, index| {
        Some(IpAddr::V4(Ipv4Addr::new(10, 0, u8::from(group != "web"), u8::try_from(index).unwrap())))
    })
}

/// What a name resolves to, in one line.
fn shown(zone: &Zone, name: &str) -> String {
    match zone.resolve(name) {
        Answer::Addresses(all) => all.iter().map(IpAddr::to_string).collect::<Vec<_>>().join(" "),
        other => format!("{other:?}"),
    }
}

fn check(zone: &Zone, cases: &[(&str, &str)]) {
    for (name, expected) in cases {
        assert_eq!(shown(zone, name), *expected, "{name}");
    }
}

#[test]
fn instances_have_names() {
    let zone = zone(&[]);
    check(
        &zone,
        &[
            ("web-0-front.web.default.cf.bosh", "10.0.0.0"),
            ("web-0-front.web.default.cf.bosh.", "10.0.0.0"),
            ("WEB-0-FRONT.Web.Default.CF.bosh", "10.0.0.0"),
            ("web-1-agent.web.default.cf.bosh", "10.0.0.1"),
            ("web-1-front.web.default.cf.svc.cluster.local", "10.0.0.1"),
            ("web-3-front.web.default.cf.bosh", "UnknownName"),
            ("web-0-front.web.private.cf.bosh", "UnknownName"),
            ("web-0-front.web.default.other.bosh", "UnknownName"),
            ("web-0-front.db-group.default.cf.bosh", "UnknownName"),
            // In BOSH's canonical form.
            ("db-group-0-db.db-group.private.cf.bosh", "10.0.1.0"),
            ("db_group-0-db.db_group.private.cf.bosh", "10.0.1.0"),
        ],
    );
}

#[test]
fn queries_have_filters() {
    let zone = zone(&[]);
    check(
        &zone,
        &[
            ("q-s0.web.default.cf.bosh", "10.0.0.0 10.0.0.1 10.0.0.2"),
            ("q-s4.web.default.cf.bosh", "10.0.0.0 10.0.0.1 10.0.0.2"),
            ("q-s3.web.default.cf.bosh", "10.0.0.0 10.0.0.1 10.0.0.2"),
            ("q-s1.web.default.cf.bosh", ""),
            ("q-i1.web.default.cf.bosh", "10.0.0.1"),
            ("q-i0i2s0.web.default.cf.bosh", "10.0.0.0 10.0.0.2"),
            ("q-a1.web.default.cf.bosh", "10.0.0.0 10.0.0.1"),
            ("q-a2s0y1.web.default.cf.bosh", "10.0.0.2"),
            ("q-a1i2.web.default.cf.bosh", "UnknownName"),
            ("q-m3.web.default.cf.bosh", "10.0.0.2"),
            ("q-m4.db-group.default.cf.bosh", "10.0.1.0"),
            ("q-n1.web.default.cf.bosh", "10.0.0.0 10.0.0.1 10.0.0.2"),
            ("q-n2.web.default.cf.bosh", "UnknownName"),
            ("q-n2.db-group.*.cf.bosh", "10.0.1.0"),
            ("q-z1.web.default.cf.bosh", "Malformed"),
            ("q-.web.default.cf.bosh", "Malformed"),
            ("q-s0.unknown.default.cf.bosh", "UnknownName"),
        ],
    );
}

#[test]
fn groups_networks_and_deployments_may_be_patterns() {
    check(
        &zone(&[]),
        &[
            ("q-s0.w*.default.cf.bosh", "10.0.0.0 10.0.0.1 10.0.0.2"),
            ("q-s0.*eb.default.c*.bosh", "10.0.0.0 10.0.0.1 10.0.0.2"),
            ("q-s0.*.default.*.bosh", "10.0.0.0 10.0.0.1 10.0.0.2 10.0.1.0"),
            ("q-s0.*.private.cf.bosh", "10.0.1.0"),
            ("q-s0.x*.default.cf.bosh", "UnknownName"),
        ],
    );
}

#[test]
fn other_names_are_asked_elsewhere_and_malformed_ones_not() {
    check(
        &zone(&[]),
        &[
            ("example.com", "Elsewhere"),
            ("localhost", "Elsewhere"),
            ("bosh", "Elsewhere"),
            ("", "Elsewhere"),
            ("cf-web-0.ns.svc.cluster.local", "Elsewhere"),
            ("q-s0.web.default.other.svc.cluster.local", "Elsewhere"),
            ("x.bosh", "Malformed"),
            ("a.b.c.bosh", "Malformed"),
            ("a.b.c.d.e.bosh", "Malformed"),
            ("q-s0.q-g7.bosh", "UnknownName"),
        ],
    );
}

#[test]
fn health_filters_leave_all_if_none_is_healthy() {
    let mut zone = zone(&[]);
    zone.set_healthy("web", 0, Some(false));
    zone.set_healthy("web", 1, Some(true));
    check(
        &zone,
        &[
            ("q-s0.web.default.cf.bosh", "10.0.0.1 10.0.0.2"),
            ("q-s1.web.default.cf.bosh", "10.0.0.0"),
            ("q-s3.web.default.cf.bosh", "10.0.0.1 10.0.0.2"),
            ("q-s4.web.default.cf.bosh", "10.0.0.0 10.0.0.1 10.0.0.2"),
        ],
    );
    (0..3).for_each(|index| zone.set_healthy("web", index, Some(false)));
    check(
        &zone,
        &[
            ("q-s0.web.default.cf.bosh", "10.0.0.0 10.0.0.1 10.0.0.2"),
            ("q-s3.web.default.cf.bosh", ""),
            ("healthy.web.internal", ""),
            ("all.web.internal", "10.0.0.0 10.0.0.1 10.0.0.2"),
        ],
    );
}

#[test]
fn aliases_stand_for_their_targets() {
    let zone = zone(&[
        ("web.internal", "*.web.default.cf.bosh"),
        ("both.internal", "*.web.default.cf.bosh *.db-group.default.cf.bosh *.absent.default.cf.bosh"),
        ("one.internal", "q-s4i1.web.default.cf.bosh"),
        ("fixed.internal", "192.0.2.1 192.0.2.1"),
        ("of.internal", "both.internal fixed.internal"),
        ("absent.internal", "*.absent.default.cf.bosh"),
        ("Capital.Internal.", "web-0-front.WEB.default.cf.bosh."),
        // The first one counts.
        ("web.internal", "192.0.2.9"),
    ]);
    check(
        &zone,
        &[
            ("web.internal", "10.0.0.0 10.0.0.1 10.0.0.2"),
            ("WEB.internal.", "10.0.0.0 10.0.0.1 10.0.0.2"),
            ("both.internal", "10.0.0.0 10.0.0.1 10.0.0.2 10.0.1.0"),
            ("one.internal", "10.0.0.1"),
            ("fixed.internal", "192.0.2.1"),
            ("of.internal", "10.0.0.0 10.0.0.1 10.0.0.2 10.0.1.0 192.0.2.1"),
            ("absent.internal", "UnknownName"),
            ("capital.internal", "10.0.0.0"),
            ("x.web.internal", "Elsewhere"),
        ],
    );
}

#[test]
fn a_placeholder_is_any_first_label() {
    let zone =
        zone(&[("_.cell.internal", "_.web.default.cf.bosh"), ("_.any.internal", "_.web.default.cf.bosh 192.0.2.1")]);
    check(
        &zone,
        &[
            ("web-1-front.cell.internal", "10.0.0.1"),
            ("web-9-front.cell.internal", "UnknownName"),
            ("q-i2.cell.internal", "10.0.0.2"),
            ("cell.internal", "Elsewhere"),
            ("a.web-1-front.cell.internal", "Elsewhere"),
            ("nobody.any.internal", "192.0.2.1"),
        ],
    );
}

#[test]
fn aliases_that_stand_for_themselves_are_an_error() {
    let zone = zone(&[
        ("a.x", "b.x"),
        ("b.x", "192.0.2.1 a.x"),
        ("self.x", "self.x"),
        ("twice.x", "c.x c.x"),
        ("c.x", "192.0.2.2"),
    ]);
    check(&zone, &[("a.x", "Recursion"), ("self.x", "Recursion"), ("twice.x", "192.0.2.2")]);
}

#[test]
fn links_have_aliases() {
    let zone = zone(&[("static.web.internal", "192.0.2.1")]);
    check(
        &zone,
        &[
            ("web.link.internal", "10.0.0.0 10.0.0.1 10.0.0.2"),
            ("web-1-front.id.internal", "10.0.0.1"),
            ("web-1-agent.id.internal", "10.0.0.1"),
            ("web-7-front.id.internal", "UnknownName"),
            // Any other type of placeholder is none.
            ("_.literal.internal", "10.0.0.0 10.0.0.1 10.0.0.2"),
            ("web-1-front.literal.internal", "Elsewhere"),
            ("unhealthy.web.internal", ""),
            // Files win over links.
            ("static.web.internal", "192.0.2.1"),
        ],
    );
}

#[test]
fn a_hosts_file_has_all_names_but_those_that_depend_on_health() {
    let aliases = [
        ("web.internal", "*.web.default.cf.bosh"),
        ("all.internal", "q-s4.web.default.cf.bosh"),
        ("one.internal", "*.db-group.default.cf.bosh 192.0.2.1"),
        ("both.internal", "all.internal one.internal"),
        ("some.internal", "all.internal web.internal"),
        ("_.cell.internal", "_.web.default.cf.bosh"),
    ];
    let hosts = zone(&aliases).hosts();
    let of = |name: &str| {
        let found = hosts.iter().find(|(known, _)| known == name);
        found.map(|(_, all)| all.iter().map(IpAddr::to_string).collect::<Vec<_>>().join(" "))
    };
    let all = "10.0.0.0 10.0.0.1 10.0.0.2";
    assert_eq!(of("all.internal").unwrap(), all);
    assert_eq!(of("one.internal").unwrap(), "10.0.1.0 192.0.2.1");
    assert_eq!(of("both.internal").unwrap(), format!("{all} 10.0.1.0 192.0.2.1"));
    assert_eq!(of("all.web.internal").unwrap(), all);
    for by_health in ["web.internal", "some.internal", "healthy.web.internal", "web.link.internal"] {
        assert_eq!(of(by_health), None, "{by_health}");
    }
    assert_eq!(of("web-1-front.cell.internal").unwrap(), "10.0.0.1");
    assert_eq!(of("web-1-front.id.internal").unwrap(), "10.0.0.1");
    assert_eq!(of("web-2-agent.web.default.cf.bosh").unwrap(), "10.0.0.2");
    assert_eq!(of("q-s4.web.default.cf.bosh").unwrap(), all);
    assert_eq!(of("q-s0.web.default.cf.bosh"), None);
    // The health of a single instance does not matter.
    assert_eq!(of("q-s0.db-group.default.cf.bosh").unwrap(), "10.0.1.0");
    assert_eq!(of("db_group-0-db.cell.internal"), None, "it is not in the alias' group");
    assert!(hosts.is_sorted());
}

#[test]
fn targets_of_other_deployments_and_networks_are_reported() {
    let zone = zone(&[
        ("a.x", "*.web.default.cf.bosh"),
        ("b.x", "*.web.default.prod.bosh"),
        ("c.x", "*.web.public.cf.bosh"),
        ("d.x", "*.absent.default.cf.bosh 192.0.2.1 a.x example.com"),
        ("e.x", "*.web.*.c*.bosh"),
    ]);
    assert_eq!(
        zone.warnings(),
        [
            "the DNS alias 'b.x' has a target in the deployment 'prod', and this one is 'cf'",
            "the DNS alias 'c.x' has a target on the network 'public', which no instance group has",
        ]
    );
}

/// What `link(...).address` and `spec.address` render is a target of aliases.
#[test]
fn addresses_of_groups_and_instances_are_targets() {
    let zone = zone(&[
        ("link.internal", "cf-web.ns.svc.cluster.local"),
        ("instance.internal", "CF-Web-1.ns.svc.cluster.local."),
        ("both.internal", "cf-db.ns.svc.cluster.local cf-web-2.ns.svc.cluster.local"),
        ("other.internal", "pxc.ns.svc.cluster.local"),
    ]);
    check(
        &zone,
        &[
            ("link.internal", "10.0.0.0 10.0.0.1 10.0.0.2"),
            ("instance.internal", "10.0.0.1"),
            ("both.internal", "10.0.1.0 10.0.0.2"),
            ("other.internal", "UnknownName"),
        ],
    );
}
