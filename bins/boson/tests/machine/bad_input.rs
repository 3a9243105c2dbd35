//! A failed start reports the cause, and leaves no process running.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use nix::sys::signal::Signal;
use testkit::waiting::eventually;

use crate::Machine;
use crate::deployment::signal;

#[test]
fn files_that_are_missing_are_named_together() {
    let machine = Machine::new();
    let up = machine.boson(&["up", "-m", "nowhere.yml", "-r", "nothing", "-r", "state"]).ends_with(65);
    for name in ["nowhere.yml", "nothing", "state"] {
        assert!(up.stderr.contains(name), "{}", up.stderr);
    }
    machine.assert_gone();
}

#[test]
fn an_invalid_command_line_is_refused() {
    let machine = Machine::new();
    for args in [
        &["up"][..],
        &["up", "-m", "manifest.yml", "-r", "release", "--publish", "80:web:80"],
        &["run-errand"],
        &["upp"],
    ] {
        let ran = machine.boson(args).ends_with(2);
        assert!(ran.stderr.starts_with("error:"), "{args:?}: {}", ran.stderr);
    }
    let unknown =
        machine.boson(&["up", "-m", "manifest.yml", "-r", "release", "--publish", "8080:web/2:80"]).ends_with(2);
    assert!(unknown.stderr.contains("the instances are: web/0, web/1, checks/0"), "{}", unknown.stderr);
    let missing = machine.boson(&["up", "-m", "manifest.yml"]).ends_with(65);
    assert!(missing.stderr.starts_with("error: release 'small' is not given: -r PATH\n"), "{}", missing.stderr);
    machine.assert_gone();
}

#[test]
fn an_occupied_port_is_reported_before_the_start() {
    let machine = Machine::new();
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = other.local_addr().unwrap().port();
    let up = machine.up(&["--publish", &format!("{port}:web/0:8080")]).ends_with(70);
    assert!(up.stderr.contains(&format!("cannot listen on 127.0.0.1:{port}")), "{}", up.stderr);
    assert_eq!(up.stdout, "");
    machine.assert_gone();
}

#[test]
fn verbs_report_a_missing_deployment() {
    let machine = Machine::new();
    for verb in [&["status"][..], &["down"], &["logs"], &["run-errand", "check"], &["exec", "web/0", "true"]] {
        let ran = machine.boson(verb).ends_with(65);
        assert!(ran.stderr.starts_with("error: there is no deployment on this machine"), "{}", ran.stderr);
    }
}

#[test]
fn a_directory_with_other_files_is_kept() {
    let machine = Machine::new();
    machine.write("mine/instances/precious", "");
    let up = machine.up(&["--state-dir", "mine"]).ends_with(65);
    assert!(up.stderr.contains("mine is not empty and not a deployment's"), "{}", up.stderr);
    assert!(machine.path("mine/instances/precious").exists());
}

#[test]
fn an_invalid_deployment_name_is_refused() {
    let machine = Machine::new();
    for name in [".", ".."] {
        let up = machine.up(&["--name", name]).ends_with(65);
        assert!(up.stderr.contains(&format!("a deployment cannot be called \"{name}\"")), "{}", up.stderr);
    }
    assert!(!machine.path("state").exists());
}

#[test]
fn manifest_errors_are_shown_as_plan_shows_them() {
    let machine = Machine::new();
    machine.edit("manifest.yml", "name: check\n    release: small", "name: chekc\n    release: small");
    let up = machine.up(&[]).ends_with(65);
    assert!(up.stderr.contains("chekc"), "{}", up.stderr);
    machine.edit("manifest.yml", "chekc", "check");
    machine.edit("release/jobs/check/spec", "properties: {}", "properties: 3");
    let up = machine.up(&[]).ends_with(65);
    assert!(up.stderr.contains("release/jobs/check/spec"), "{}", up.stderr);
    machine.assert_gone();
}

#[test]
fn strict_refuses_what_is_only_warned_about() {
    let machine = Machine::new();
    machine.edit(
        "manifest.yml",
        "name: check\n    release: small",
        "name: check\n    release: small\n    release: small",
    );
    let again = "the key 'release' occurs again in the same map, the last counts";
    let up = machine.up(&["--strict"]).ends_with(65);
    assert!(up.stderr.contains(&format!("error: {again}")), "{}", up.stderr);
    machine.edit(
        "manifest.yml",
        "    release: small\n    release: small",
        "    release: small\n    properties: {none: 1}",
    );
    let up = machine.up(&["--strict"]).ends_with(65);
    assert!(up.stderr.contains("error: 1 property has no effect"), "{}", up.stderr);
    machine.assert_gone();
}

#[test]
fn a_failed_compilation_is_reported_with_the_end_of_its_log() {
    let machine = Machine::new();
    machine.write("release/packages/tool/packaging", "echo about to fail\nexit 3\n");
    let up = machine.up(&[]).ends_with(65);
    assert!(up.stderr.contains("package 'tool'") && up.stderr.contains("about to fail"), "{}", up.stderr);
    machine.assert_gone();
}

#[test]
fn a_template_that_fails_is_shown_once_for_all_instances() {
    let machine = Machine::new();
    machine.write("release/jobs/web/templates/greeting.erb", "<%= p('nowhere') %>\n");
    let up = machine.up(&[]).ends_with(66);
    assert_eq!(up.stderr.matches("Unable to render jobs").count(), 1, "{}", up.stderr);
    assert!(up.stderr.contains("boson: plan failed with exit status 66"), "{}", up.stderr);
    // The author's file, not the copy that the stage read.
    assert!(up.stderr.contains("--> release/jobs/web/templates/greeting.erb:1\n"), "{}", up.stderr);
}

#[test]
fn a_failed_pre_start_shows_what_it_logged() {
    let machine = Machine::new();
    machine.edit("manifest.yml", "greeting: hello", "greeting: hello\n      pre_start: 5");
    let up = machine.up(&[]);
    assert_ne!(up.code, Some(0));
    assert!(up.stderr.contains("[web/0 web/pre-start.stderr.log] complaint\n"), "{}", up.stderr);
    assert_eq!(up.stderr.matches("complaint").count(), 2, "each line once for each instance: {}", up.stderr);
    assert!(up.stderr.contains("prepared 1"), "{}", up.stderr);
    // The instances are kept for inspection.
    let status = machine.boson(&["status"]).ends_with(1).stdout;
    assert_eq!(status.lines().filter(|line| line.ends_with("failing")).count(), 2, "{status}");
    machine.boson(&["exec", "web/0", "test", "-e", "/var/vcap/jobs/web/bin/pre-start"]).ends_with(0);
    assert!(machine.boson(&["logs"]).ends_with(0).stdout.contains("prepared 0"));
    machine.boson(&["down"]).ends_with(0);
    machine.assert_gone();
}

#[test]
fn a_process_that_exceeds_the_watch_time_is_a_failed_start() {
    let machine = Machine::new();
    machine.watch_time("1000-2000");
    machine.write("release/src/tool/serve", "print STDERR \"no, thank you\\n\"; exit 9;\n");
    let up = machine.up(&[]).ends_with(70);
    let message = "'web/0', 'web/1' are not running after update. Review logs for failed jobs: web";
    assert_eq!(up.stderr.matches(message).count(), 1, "{}", up.stderr);
    assert!(up.stderr.contains("web/web exited with status 9"), "{}", up.stderr);
    assert!(up.stderr.contains("no, thank you") && up.stderr.contains("boson logs web/0 --job web"), "{}", up.stderr);
    assert!(up.stderr.contains("the instances stay as they are"), "{}", up.stderr);
    let status = machine.boson(&["status"]).ends_with(1).stdout;
    assert!(status.contains("failing"), "{status}");
    // The next version starts the failed instances.
    machine.write("release/src/tool/serve", "sleep 10 while 1;\n");
    machine.watch_time("1000-60000");
    machine.up(&[]).ends_with(0);
    machine.boson(&["status"]).ends_with(0);
}

#[test]
fn a_program_that_is_missing_ends_the_start_before_the_watch_time() {
    let machine = Machine::new();
    machine.watch_time("1000-86400000");
    machine.edit("release/jobs/web/templates/bpm.yml.erb", "executable: /usr/bin/perl", "executable: /no/such/program");
    let up = machine.up(&[]).ends_with(70);
    assert!(up.stderr.contains("'web/0', 'web/1' are not running after update"), "{}", up.stderr);
    assert!(up.stderr.contains("web/web exited with status 127"), "{}", up.stderr);
    // An attempt on request is a new one.
    let again = machine.boson(&["start", "web/0"]);
    assert!(again.code == Some(70) && again.stderr.contains("web/web exited with status 127"), "{}", again.stderr);
    machine.boson(&["down"]).ends_with(0);
}

#[test]
fn with_rollback_a_failed_start_leaves_nothing() {
    let machine = Machine::new();
    machine.edit("manifest.yml", "greeting: hello", "greeting: hello\n      pre_start: 5");
    let up = machine.up(&["--rollback"]).ends_with(70);
    assert!(up.stderr.contains("complaint"), "{}", up.stderr);
    machine.assert_gone();
}

#[test]
fn an_interrupted_start_leaves_nothing() {
    let machine = Machine::new();
    machine.write("release/packages/tool/packaging", "touch $BOSH_COMPILE_TARGET/compiling; sleep 1000\n");
    let mut boson = machine.command(&["up", "-m", "manifest.yml", "-r", "release"]).spawn().unwrap();
    let work = machine.path("cache/boson/work");
    eventually("the package is being compiled", || {
        let keys = fs::read_dir(&work).into_iter().flatten();
        keys.flatten().any(|key| key.path().join("compile/compiling").exists())
    });
    signal(&boson, Signal::SIGTERM);
    assert_eq!(boson.wait().unwrap().code(), Some(130));
    machine.assert_gone();
    assert_eq!(fs::read_dir(&work).unwrap().count(), 0);
}

#[test]
fn an_unknown_errand_is_reported_with_the_available_ones() {
    let machine = Machine::new();
    machine.up(&[]).ends_with(0);
    let errand = machine.boson(&["run-errand", "chekc"]).ends_with(65);
    assert!(errand.stderr.contains("Errand 'chekc' doesn't exist") && errand.stderr.contains("errands are: check"));
    let exec = machine.boson(&["exec", "web/5", "true"]).ends_with(65);
    assert!(exec.stderr.contains("the instances are: web/0, web/1"), "{}", exec.stderr);
    machine.boson(&["exec", "web/0", "sh", "-c", "exit 17"]).ends_with(17);
}

#[test]
fn an_errand_may_fail_with_a_long_message() {
    let machine = Machine::new();
    // Only in the instance: planning renders with a placeholder for its address.
    let complaint = "#!/bin/bash\n<% raise 'long ' * 40_000 unless spec.ip == '127.0.0.1' %>";
    machine.edit("release/jobs/check/templates/run.erb", "#!/bin/bash", complaint);
    machine.up(&[]).ends_with(0);
    let errand = machine.boson(&["run-errand", "check"]).ends_with(66);
    assert!(errand.stderr.matches("long ").count() >= 40_000, "{} bytes", errand.stderr.len());
}

#[test]
fn the_state_directory_is_private_to_its_owner() {
    let machine = Machine::new();
    machine.up(&[]).ends_with(0);
    let mode = fs::metadata(machine.state()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn a_port_that_is_taken_is_reported_before_anything_is_compiled() {
    let machine = Machine::new();
    machine.up(&[]).ends_with(0);
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    machine.edit("release/packages/tool/packaging", "set -eu\n", "set -eu\n: changed\n");
    let publish = format!("{port}:web/0:8080");
    // Another deployment is up, which could be an earlier version that has the port.
    let refused = machine.up(&["--name", "other", "--publish", &publish]).ends_with(70);
    assert!(refused.stderr.contains(&format!("cannot listen on 127.0.0.1:{port}")), "{}", refused.stderr);
    assert!(!refused.stdout.contains("compil"), "{}", refused.stdout);
    assert!(!machine.path("state/boson/other").exists());
}

#[test]
fn a_link_of_another_deployment_is_refused_with_what_is_true_on_one_machine() {
    let machine = Machine::new();
    machine.edit("release/jobs/web/spec", "name: web\n", "name: web\nconsumes: [{name: db, type: sql}]\n");
    machine.edit(
        "manifest.yml",
        "    release: small\n",
        "    release: small\n    consumes: {db: {from: db, deployment: other}}\n",
    );
    let refused = machine.up(&[]).ends_with(65);
    assert!(refused.stderr.contains("each deployment on one machine has a network of its own"), "{}", refused.stderr);
}

#[test]
fn a_release_with_another_name_than_given_is_refused() {
    let machine = Machine::new();
    let refused = machine.boson(&["up", "-m", "manifest.yml", "-r", "smal=release", "--detach"]).ends_with(65);
    assert!(refused.stderr.contains("the release at release is 'small', not 'smal'"), "{}", refused.stderr);
    assert!(!machine.state().exists());
    machine.boson(&["up", "-m", "manifest.yml", "-r", "small=release", "--detach"]).ends_with(0);
}
