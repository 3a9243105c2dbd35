//! Names that resolve in instances: BOSH's, aliases, and the instances' own.

use testkit::waiting::eventually;

use crate::Machine;

/// The addresses of a name in an instance, sorted.
fn addresses(machine: &Machine, instance: &str, name: &str) -> Vec<String> {
    let script = format!("getent ahostsv4 {name} | cut -d' ' -f1");
    let found = machine.boson(&["exec", instance, "/bin/sh", "-c", &script]).ends_with(0);
    let mut found: Vec<String> = found.stdout.lines().map(str::to_owned).collect();
    found.sort();
    found.dedup();
    found
}

#[test]
fn aliases_and_bosh_names_resolve_in_every_instance() {
    let machine = Machine::new();
    let aliases = "    release: small
    provides:
      web:
        aliases:
        - domain: web.service.internal
        - {domain: _.web.internal, placeholder_type: uuid}
    properties:\n      greeting";
    machine.edit("manifest.yml", "    release: small\n    properties:\n      greeting", aliases);
    machine.up(&[]).ends_with(0);
    let (both, second) = (vec!["10.244.0.2".to_owned(), "10.244.0.3".to_owned()], vec!["10.244.0.3".to_owned()]);
    for instance in ["web/0", "web/1"] {
        let found = |name: &str| addresses(&machine, instance, name);
        assert_eq!(found("web.service.internal"), both);
        assert_eq!(found("WEB-1-WEB.web.internal"), second);
        assert_eq!(found("q-s0.web.default.small.bosh"), both);
        // Not in the hosts file: the name server answers.
        assert_eq!(found("q-i1s0.web.default.small.bosh"), second);
        assert_eq!(found("web-7-web.web.default.small.bosh"), Vec::<String>::new());
        assert_eq!(found("example.com"), Vec::<String>::new());
        assert_eq!(found("$(hostname)").len(), 1);
    }
}

#[test]
fn names_resolve_to_the_healthy_instances() {
    let machine = Machine::new();
    let aliases = "    release: small
    provides:
      web:
        aliases:
        - {domain: web.internal, health_filter: smart}
        - {domain: healthy.internal, health_filter: healthy}
        - {domain: sick.internal, health_filter: unhealthy}
        - {domain: all.internal, health_filter: all}
    properties:\n      greeting";
    machine.edit("manifest.yml", "    release: small\n    properties:\n      greeting", aliases);
    machine.up(&[]).ends_with(0);
    let (both, first, second, none) =
        (vec!["10.244.0.2", "10.244.0.3"], vec!["10.244.0.2"], vec!["10.244.0.3"], vec![]);
    let resolve = |expected: [(&str, &Vec<&str>); 5]| {
        for (name, addresses) in expected {
            eventually(&format!("{name} has other addresses"), || {
                self::addresses(&machine, "web/1", name) == *addresses
            });
        }
    };
    let q = "q-s0.web.default.small.bosh";
    resolve([
        ("web.internal", &both),
        (q, &both),
        ("healthy.internal", &both),
        ("sick.internal", &none),
        ("all.internal", &both),
    ]);
    machine.boson(&["stop", "web/0"]).ends_with(0);
    resolve([
        ("web.internal", &second),
        (q, &second),
        ("healthy.internal", &second),
        ("sick.internal", &first),
        ("all.internal", &both),
    ]);
    machine.boson(&["stop", "web/1/web"]).ends_with(0);
    // None is healthy.
    resolve([
        ("web.internal", &both),
        (q, &both),
        ("healthy.internal", &none),
        ("sick.internal", &both),
        ("all.internal", &both),
    ]);
    machine.boson(&["start", "web/0"]).ends_with(0);
    resolve([
        ("web.internal", &first),
        (q, &first),
        ("healthy.internal", &first),
        ("sick.internal", &second),
        ("all.internal", &both),
    ]);
}

#[test]
fn the_health_scripts_of_jobs_count() {
    let machine = Machine::new();
    machine.write("release/jobs/web/templates/healthy.erb", "#!/bin/sh\nid -un > /tmp/user\ntest ! -e /tmp/sick\n");
    machine.edit("release/jobs/web/spec", "templates: {", "templates: {healthy.erb: bin/dns/healthy, ");
    machine.up(&[]).ends_with(0);
    let healthy = |expected: &[&str]| {
        eventually("the healthy instances are others", || {
            addresses(&machine, "web/1", "q-s3.web.default.small.bosh") == expected
        });
    };
    healthy(&["10.244.0.2", "10.244.0.3"]);
    let user = machine.boson(&["exec", "web/0", "cat", "/tmp/user"]).ends_with(0).stdout;
    let vcap = machine.boson(&["exec", "web/0", "su", "-s", "/bin/sh", "vcap", "-c", "id -un"]);
    assert!(vcap.stdout.is_empty() || user == vcap.stdout, "{user}");
    machine.boson(&["exec", "web/0", "touch", "/tmp/sick"]).ends_with(0);
    healthy(&["10.244.0.3"]);
    // bosh-dns alone takes notice.
    machine.boson(&["status"]).ends_with(0);
    machine.boson(&["exec", "web/0", "rm", "/tmp/sick"]).ends_with(0);
    healthy(&["10.244.0.2", "10.244.0.3"]);
}

#[test]
fn an_instance_may_add_names_of_its_own() {
    let machine = Machine::new();
    machine.up(&[]).ends_with(0);
    let exec = |instance: &str, script: &str| machine.boson(&["exec", instance, "/bin/sh", "-c", script]);
    exec("web/0", "echo 10.9.9.9 by-script >> /etc/hosts").ends_with(0);
    exec("web/0", "getent hosts by-script | grep -q ^10.9.9.9").ends_with(0);
    exec("web/1", "grep by-script /etc/hosts").ends_with(1);
    // An update changes the deployment's names and keeps the others.
    exec("web/0", "grep small-web-2 /etc/hosts").ends_with(1);
    machine.edit("manifest.yml", "azs: [z1, z2]\n  instances: 2", "azs: [z1, z2]\n  instances: 3");
    machine.up(&[]).ends_with(0);
    exec("web/0", "grep -q small-web-2 /etc/hosts && grep -c small-web-1 /etc/hosts").ends_with(0);
    exec("web/0", "tail -n 1 /etc/hosts | grep -qx '10.9.9.9 by-script'").ends_with(0);
}
