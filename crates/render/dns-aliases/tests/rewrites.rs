//! Aliases for a server that knows Services.
#![allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

use dns_aliases::{Names, Rewrite, Target, rewrites};
use handoff::deployment::{Deployment, DnsAlias};

const DOCUMENT: &str = include_str!("deployment.yaml");

/// The deployment with these static aliases, and without those of links.
fn document(aliases: &[(&str, &str)]) -> Deployment {
    let mut document = Deployment::decode(DOCUMENT, "deployment.yaml").unwrap();
    document.instance_groups[0].jobs[0].provides[0].aliases.clear();
    let alias = |(domain, targets): &(&str, &str)| DnsAlias {
        domain: (*domain).to_owned(),
        targets: targets.split(' ').map(str::to_owned).collect(),
    };
    document.dns_aliases = aliases.iter().map(alias).collect();
    document
}

fn shown(rewrite: &Rewrite) -> String {
    let names = match &rewrite.names {
        Names::One(name) => name.clone(),
        Names::Between(before, after) => format!("{before}<>{after}"),
    };
    let target = match &rewrite.target {
        Target::Groups { groups, all } => format!("{}{}", groups.join("+"), if *all { " all" } else { "" }),
        Target::Instance { group, index } => format!("{group}/{index}"),
        Target::ById { groups } => format!("id of {}", groups.join("+")),
        Target::Service(name) => format!("service {name}"),
        Target::Addresses(all) => format!("{all:?}"),
    };
    format!("{names}: {target}")
}

fn all(document: &Deployment) -> Vec<String> {
    rewrites(document).unwrap().answered.iter().map(shown).collect()
}

#[test]
fn targets_become_groups_instances_and_addresses() {
    let found = all(&document(&[
        ("Web.Internal.", "*.web.default.cf.bosh"),
        ("all.internal", "q-s4.web.default.cf.bosh"),
        ("healthy.internal", "q-s3y1.web.default.cf.svc.cluster.local"),
        ("both.internal", "*.web.default.cf.bosh *.db-group.private.cf.bosh *.gone.default.cf.bosh"),
        ("glob.internal", "*.web*.default.c*.bosh"),
        ("second.internal", "q-i1.web.default.cf.bosh"),
        ("id.internal", "web-2-agent.web.default.cf.bosh"),
        ("_.cell.internal", "_.web.default.cf.bosh _.cell.default.cf.bosh"),
        ("_.any.internal", "*.web.default.cf.bosh"),
        ("alias.internal", "web.internal"),
        ("ip.internal", "10.0.0.7 10.0.0.8"),
        // What link(...).address, spec.address and link(...).instances render.
        ("link.internal", "cf-web.ns.svc.cluster.local"),
        ("links.internal", "cf-web.ns.svc.cluster.local cf-db.ns.svc.cluster.local."),
        ("instance.internal", "CF-Web-2.ns.svc.cluster.local"),
        ("other.internal", "pxc-mysql.ns.svc.cluster.local"),
    ]));
    let expected = [
        "web.internal: web",
        "all.internal: web all",
        "healthy.internal: web",
        "both.internal: db_group+web",
        "glob.internal: web",
        "second.internal: web/1",
        "id.internal: web/2",
        "<>.cell.internal: id of web",
        "<>.any.internal: web",
        "alias.internal: web",
        "ip.internal: [10.0.0.7, 10.0.0.8]",
        "link.internal: web",
        "links.internal: db_group+web",
        "instance.internal: web/2",
        "other.internal: service pxc-mysql.ns.svc.cluster.local",
    ];
    assert_eq!(found, expected);
}

#[test]
fn aliases_of_what_the_deployment_lacks_are_ignored() {
    let document = document(&[
        ("a.internal", "*.gone.default.cf.bosh"),
        ("c.internal", "*.web.nowhere.cf.bosh"),
        ("web.internal", "*.web.default.cf.bosh"),
        ("l.internal", "q-i7.web.default.cf.bosh"),
        ("m.internal", "web-7-agent.web.default.cf.bosh"),
        ("n.internal", "elsewhere.example"),
    ]);
    let found = rewrites(&document).unwrap();
    assert_eq!(found.answered.iter().map(shown).collect::<Vec<_>>(), ["web.internal: web"]);
    assert_eq!(found.ignored, ["a.internal", "c.internal", "l.internal", "m.internal", "n.internal"]);
}

/// The names stay the same when the group gets instances.
#[test]
fn a_group_without_instances_has_its_names() {
    let mut document = document(&[
        ("web.internal", "*.web.default.cf.bosh"),
        ("both.internal", "*.web.default.cf.bosh *.db-group.default.cf.bosh"),
        ("third.internal", "q-i2.web.default.cf.bosh"),
        ("id.internal", "web-1-agent.web.default.cf.bosh"),
        ("link.internal", "cf-web.ns.svc.cluster.local"),
        ("_.cell.internal", "_.web.default.cf.bosh"),
    ]);
    document.instance_groups[0].jobs[0].provides[0].aliases = vec![handoff::deployment::Alias {
        domain: "provider.internal".to_owned(),
        placeholder_type: None,
        health_filter: None,
        initial_health_check: None,
    }];
    let with = all(&document);
    document.instance_groups[0].instances.clear();
    assert_eq!(all(&document), with);
}

#[test]
fn links_have_aliases_of_their_groups() {
    let mut document = Deployment::decode(DOCUMENT, "deployment.yaml").unwrap();
    document.instance_groups[0].jobs[0].provides[0].aliases.retain(|alias| alias.domain != "unhealthy.web.internal");
    let found = all(&document);
    for expected in ["web.link.internal: web", "<>.id.internal: id of web", "all.web.internal: web all"] {
        assert!(found.iter().any(|rewrite| rewrite == expected), "{expected}: {found:?}");
    }
}

#[test]
fn everything_that_cannot_be_answered_is_reported() {
    let aliases = [
        ("b.internal", "*.web.default.other.bosh"),
        ("d.internal", "q-s1.web.default.cf.bosh"),
        ("e.internal", "q-a1.web.default.cf.bosh"),
        ("f.internal", "g.internal"),
        ("g.internal", "f.internal"),
        ("h.internal", "*.web.default.cf.bosh 10.0.0.1"),
        ("i.internal", "q-i0.web.default.cf.bosh q-i1.web.default.cf.bosh"),
        ("_.j.internal", "10.0.0.1"),
        ("k internal {", "*.web.default.cf.bosh"),
        ("l.internal", "pxc.ns.svc.cluster.local mysql.ns.svc.cluster.local"),
        ("static.web.internal", "*.web.default.cf.bosh"),
    ];
    let mut document = document(&aliases);
    let alias = |domain: &str| handoff::deployment::Alias {
        domain: domain.to_owned(),
        placeholder_type: None,
        health_filter: None,
        initial_health_check: None,
    };
    document.instance_groups[0].jobs[0].provides[0].aliases = ["static.web.internal", "two.internal"].map(alias).into();
    let mut link = document.instance_groups[0].jobs[0].provides[0].clone();
    link.aliases = vec![alias("two.internal")];
    document.instance_groups[1].jobs[0].provides.push(link);
    let messages = rewrites(&document).unwrap_err();
    let expected = [
        "the DNS alias 'b.internal' has a target in the deployment 'other', and this one is 'cf'",
        "the DNS alias 'd.internal' has the filters 'q-s1', which Services cannot answer",
        "the DNS alias 'e.internal' has the filters 'q-a1', which Services cannot answer",
        "the DNS alias 'f.internal' stands for itself",
        "the DNS alias 'g.internal' stands for itself",
        "the DNS alias 'h.internal' has targets of several kinds or several single instances, which Services cannot answer",
        "the DNS alias 'i.internal' has targets of several kinds or several single instances, which Services cannot answer",
        "the DNS alias '_.j.internal' has a placeholder and addresses, which Services cannot answer",
        "the DNS alias 'k internal {' is not a name",
        "the DNS alias 'l.internal' has targets of several kinds or several single instances, which Services cannot answer",
        "the DNS alias 'static.web.internal' is that of a link of instance group 'web' and in a dns/aliases.json",
        "the DNS alias 'two.internal' is that of links of two instance groups, 'web' and 'db_group'",
    ];
    assert_eq!(messages, expected);
}
