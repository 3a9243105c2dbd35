//! Names that resolve in instances: BOSH's, aliases, and the instances' own.

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
