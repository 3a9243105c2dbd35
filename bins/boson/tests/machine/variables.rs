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
    machine.up(&["-n", "other", "--var-errs-unused"]).ends_with(0);
    assert_eq!(store(&machine, SHARED), shared);
    assert_ne!(store(&machine, "state/boson/other/variables.yml"), own);
    machine.boson(&["variables", "rotate", "/shared", "-n", "other"]).ends_with(0);
    machine.up(&["-n", "other"]).ends_with(0);
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
