//! Generated variables of `boson up`: the stores in the state of deployments.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use nix::sys::signal::Signal;
use testkit::waiting::eventually;

use crate::Machine;
use crate::deployment::{is_alive, pids, signal};

const VARIABLES: &str = "---
variables:
- {name: greeting, type: password}
- {name: /shared, type: password}
- name: tls
  type: certificate
  options: {self_sign: true, key_length: 2048}
  consumes: {alternative_name: {from: web, link_type: web, properties: {wildcard: true}}}
";

/// A deployment whose manifest defines variables.
fn machine() -> Machine {
    let machine = Machine::new();
    machine.edit("manifest.yml", "---\n", VARIABLES);
    machine.edit("manifest.yml", "greeting: hello", "greeting: ((greeting))-((/shared))");
    machine
}

fn store(machine: &Machine, path: &str) -> String {
    fs::read_to_string(machine.path(path)).unwrap()
}

const OWN: &str = "state/boson/small/variables.yml";
const SHARED: &str = "state/boson/variables.yml";

#[test]
fn values_are_kept_in_the_state_and_absolute_names_are_shared() {
    let machine = machine();
    machine.up(&[]).ends_with(0);
    let (own, shared) = (store(&machine, OWN), store(&machine, SHARED));
    assert!(own.contains("\ngreeting: ") && !own.contains("/shared"), "other names");
    assert!(shared.contains("\n/shared: ") && !shared.contains("greeting"), "other names");
    for (path, mode) in [(OWN, 0o600), (SHARED, 0o600), ("state/boson/small", 0o700), ("state/boson", 0o700)] {
        assert_eq!(fs::metadata(machine.path(path)).unwrap().mode() & 0o7777, mode, "{path}");
    }
    let shown = machine.boson(&["variables", "-d", "small"]).ends_with(0).stdout;
    let names: Vec<&str> = shown.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names, ["NAME", "/shared", "greeting", "tls"]);
    // The names that the certificate takes from a link.
    let certificate = shown_certificate(&machine, &own);
    assert!(certificate.contains("DNS:*.default.svc.cluster.local"), "{certificate}");
    let again = machine.up(&[]).ends_with(0);
    assert!(again.stdout.contains("nothing has changed"), "{}", again.stdout);
    // Another deployment has its own values, except for the absolute name.
    machine.up(&["--name", "other", "--var-errs-unused"]).ends_with(0);
    assert_eq!(store(&machine, SHARED), shared);
    assert_ne!(store(&machine, "state/boson/other/variables.yml"), own);
    machine.boson(&["variables", "rotate", "/shared", "-d", "other"]).ends_with(0);
    machine.up(&["--name", "other"]).ends_with(0);
    assert_ne!(store(&machine, SHARED), shared);
    assert_eq!(store(&machine, OWN), own);
}

/// What `openssl` shows of the alternative names of the variable `tls`.
fn shown_certificate(machine: &Machine, store: &str) -> String {
    let begin = store.find("-----BEGIN CERTIFICATE-----").unwrap();
    let end = store[begin..].find("-----END CERTIFICATE-----\n").unwrap() + begin;
    let lines = store[begin..end].lines().map(str::trim).filter(|line| !line.is_empty());
    let pem: String = lines.map(|line| format!("{line}\n")).collect();
    machine.write("tls.pem", &format!("{pem}-----END CERTIFICATE-----\n"));
    let arguments = ["x509", "-in", "tls.pem", "-noout", "-ext", "subjectAltName"];
    let output = Command::new("openssl").args(arguments).current_dir(machine.path("")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_failed_generation_leaves_nothing() {
    let machine = machine();
    machine.edit("manifest.yml", "type: password}\n- name: tls", "type: pasword}\n- name: tls");
    let up = machine.up(&[]).ends_with(65);
    assert!(up.stderr.contains("Unsupported value type: pasword\n  --> manifest.yml:4:3\n"), "{}", up.stderr);
    machine.edit("manifest.yml", "pasword", "password");
    machine.edit("manifest.yml", "from: web,", "from: db,");
    let up = machine.up(&[]).ends_with(65);
    let expected = "Failed to resolve link 'alternative_name' with alias 'db' and type 'web' from variable 'tls'.";
    assert!(up.stderr.contains(expected), "{}", up.stderr);
    assert!(up.stderr.contains("  --> manifest.yml:8:"), "{}", up.stderr);
    machine.edit("manifest.yml", "from: db,", "from: web,");
    // A variable in braces is reported for what it is, not those that are not generated because of it.
    machine.edit("manifest.yml", "((greeting))", "{{greeting}}");
    let up = machine.up(&[]).ends_with(65);
    assert!(up.stderr.contains("  hint: a variable is written ((greeting)): "), "{}", up.stderr);
    assert!(!up.stderr.contains("unresolved variables"), "{}", up.stderr);
    machine.edit("manifest.yml", "{{greeting}}", "((greeting))");
    // What is wrong with a job's spec is shown where the user has it.
    machine.edit("release/jobs/web/spec", "provides: [{name: web, type: web}]", "provides: web");
    let up = machine.up(&[]).ends_with(65);
    assert!(up.stderr.contains("  --> release/jobs/web/spec:"), "{}", up.stderr);
    machine.assert_gone();
}

#[test]
fn the_user_may_interrupt_the_generation() {
    let machine = Machine::new();
    let definitions: String =
        (0..500).map(|i| format!("- {{name: v{i}, type: rsa, options: {{key_length: 4096}}}}\n")).collect();
    machine.edit("manifest.yml", "---\n", &format!("---\nvariables:\n{definitions}"));
    let mut command = machine.command(&["up", "-m", "manifest.yml", "-r", "release"]);
    let mut child = command.stderr(fs::File::create(machine.path("output")).unwrap()).spawn().unwrap();
    eventually("keys are generated", || machine.output().contains("generated v"));
    signal(&child, Signal::SIGINT);
    assert_eq!(child.wait().unwrap().signal(), Some(Signal::SIGINT as i32), "{}", machine.output());
    assert!(machine.output().contains("interrupted: the variables generated so far are in "), "{}", machine.output());
    // What exists is kept, and nothing else is left.
    assert!(store(&machine, OWN).contains("\nv"), "{}", machine.output());
    assert_eq!(fs::read_dir(machine.path("state/boson/small")).unwrap().count(), 1);
    // The state is as usable as before.
    machine.edit("manifest.yml", &format!("variables:\n{definitions}"), "");
    machine.up(&[]).ends_with(0);
}

#[test]
fn a_deployment_with_new_values_stops_as_any_other() {
    let machine = machine();
    let mut child = machine.up_in_foreground();
    let living = pids(&machine.boson(&["status"]).ends_with(0).stdout, "web/");
    assert_eq!(living.len(), 4);
    signal(&child, Signal::SIGINT);
    assert_eq!(child.wait().unwrap().code(), Some(0), "{}", machine.output());
    assert!(!living.iter().any(|pid| is_alive(*pid)));
}

#[test]
fn a_value_is_printed_and_a_missing_store_is_an_empty_table() {
    let machine = machine();
    let empty = machine.boson(&["variables", "-d", "small"]).ends_with(0).stdout;
    assert!(empty.starts_with("NAME") && empty.lines().count() == 1, "{empty}");
    machine.boson(&["variables", "--vars-store", "absent.yml"]).ends_with(65);
    let text = "greeting: s3cret\ntls: {certificate: public, private_key: s3cret}\n";
    machine.write("store.yml", text);
    let get = |name: &str| machine.boson(&["variables", "get", name, "--vars-store", "store.yml"]);
    assert_eq!(get("greeting").ends_with(0).stdout, "s3cret\n");
    assert_eq!(get("tls.certificate").ends_with(0).stdout, "public\n");
    assert_eq!(get("tls").ends_with(0).stdout, "certificate: public\nprivate_key: s3cret\n");
    let unknown = get("greting").ends_with(65);
    assert!(unknown.stderr.contains("hint: did you mean 'greeting'?"), "{}", unknown.stderr);
    assert!(!unknown.stderr.contains("s3cret"), "{}", unknown.stderr);
}

/// Writes a store with a certificate that expires in `days` days.
fn store_of_days(machine: &Machine, days: &str) {
    let script = "openssl req -newkey rsa:2048 -nodes -keyout key.pem -out request.pem -subj /CN=old &&
                  openssl x509 -req -in request.pem -signkey key.pem -days \"$1\" -out old.pem";
    let mut command = Command::new("sh");
    let output = command.args(["-c", script, "sh", days]).current_dir(machine.path("")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let pem = fs::read_to_string(machine.path("old.pem")).unwrap();
    let pem: String = pem.lines().map(|line| format!("    {line}\n")).collect();
    machine.write("creds.yml", &format!("greeting: a\n/shared: b\ntls:\n  certificate: |\n{pem}"));
}

#[test]
fn certificates_that_expire_are_reported_and_expired_ones_refused() {
    let machine = machine();
    let store = ["--vars-store", "creds.yml"];
    store_of_days(&machine, "-1");
    let up = machine.up(&store).ends_with(65);
    assert!(up.stderr.contains("error: the certificate 'tls' expired on 20"), "{}", up.stderr);
    assert!(up.stderr.contains("`boson variables rotate tls`"), "{}", up.stderr);
    machine.assert_gone();
    let listed = machine.boson(&[&["variables", "--expiring", "30d"][..], &store].concat()).ends_with(0).stdout;
    assert!(listed.lines().count() == 2 && listed.contains("expired"), "{listed}");
    let allowed = machine.up(&[&store[..], &["--allow-expired"]].concat()).ends_with(0);
    assert!(allowed.stderr.contains(" WARN the certificate 'tls' expired on 20"), "{}", allowed.stderr);
    machine.boson(&[&["variables", "rotate", "tls"][..], &store].concat()).ends_with(0);
    let rotated = machine.up(&store).ends_with(0);
    assert!(!rotated.stderr.contains("expire"), "{}", rotated.stderr);
    store_of_days(&machine, "20");
    let soon = machine.up(&store).ends_with(0);
    assert!(soon.stderr.contains(" WARN the certificate 'tls' expires in "), "{}", soon.stderr);
}

const AUTHORITY: &str = "---
variables:
- {name: ca, type: certificate, options: {is_ca: true, common_name: ca, key_length: 2048}}
- {name: tls, type: certificate, options: {ca: ca, common_name: tls, key_length: 2048}}
";

/// Whether `openssl` trusts the certificate with nothing but these authorities.
fn is_trusted(machine: &Machine, certificate: &str, authorities: &str) -> bool {
    machine.write("certificate.pem", certificate);
    machine.write("authorities.pem", authorities);
    let arguments = ["verify", "-CAfile", "authorities.pem", "-no-CApath", "-no-CAstore", "certificate.pem"];
    Command::new("openssl").args(arguments).current_dir(machine.path("")).output().unwrap().status.success()
}

#[test]
fn an_authority_is_replaced_while_every_certificate_is_trusted() {
    let machine = Machine::new();
    machine.write("variables.yml", AUTHORITY);
    let store = ["--vars-store", "creds.yml"];
    let get = |name: &str| machine.boson(&[&["variables", "get", name], &store[..]].concat()).ends_with(0).stdout;
    let run = || machine.boson(&[&["interpolate", "variables.yml"], &store[..]].concat()).ends_with(0);
    let step = || machine.boson(&[&["variables", "rotate-authority", "ca"], &store[..]].concat());
    // What servers present, and what clients trust: by the certificate's `ca`, or by the authority's `certificate`.
    let deployed = || (get("tls.certificate"), get("tls.ca"), get("ca.certificate"));
    run();
    let mut before = deployed();
    let first = before.clone();
    for number in 1..=3 {
        step().ends_with(0);
        if number < 3 {
            // No run has done anything yet.
            let refused = step().ends_with(65);
            assert!(refused.stderr.contains("boson up"), "{}", refused.stderr);
        }
        let said = run();
        assert!(!said.stderr.contains("warning"), "{}", said.stderr);
        let now = deployed();
        // Instances are updated one after the other: both versions run beside each other.
        for (server, client) in [(&before, &now), (&now, &before), (&now, &now)] {
            assert!(is_trusted(&machine, &server.0, &client.1), "step {number}");
            assert!(is_trusted(&machine, &server.0, &client.2), "step {number}");
        }
        run();
        assert_eq!(deployed(), now, "step {number} is done once");
        before = now;
    }
    assert_eq!(before.1.matches("-----BEGIN").count(), 1);
    assert_ne!(before, first);
    assert!(!is_trusted(&machine, &first.0, &before.1) && !is_trusted(&machine, &before.0, &first.1));
    let wrong = machine.boson(&[&["variables", "rotate-authority", "tsl"], &store[..]].concat()).ends_with(65);
    assert!(wrong.stderr.contains("has no variable 'tsl'"), "{}", wrong.stderr);
}
