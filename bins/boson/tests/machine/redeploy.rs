//! `boson up` on a running deployment, and the state that survives it.

use std::collections::BTreeMap;
use std::fs;

use testkit::waiting::eventually;

use crate::Machine;
use crate::deployment::{is_alive, pids};

/// The first process of each instance: it differs after the instance has been replaced.
fn instances(machine: &Machine) -> BTreeMap<String, i32> {
    let status = machine.boson(&["status"]).ends_with(0).stdout;
    let rows = status.lines().filter(|line| line.contains("web/web") || line.contains("other/web"));
    rows.map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        (words[0].to_owned(), words[5].parse().unwrap())
    })
    .collect()
}

#[test]
fn only_instances_with_changed_files_are_replaced() {
    let machine = Machine::new();
    machine.edit(
        "manifest.yml",
        "- name: checks\n",
        "- name: other\n  azs: [z1]\n  instances: 1\n  networks: [{name: default}]\n  jobs:\n  - {name: web, release: small, \
         properties: {greeting: bye}, provides: {web: {as: other}}}\n- name: checks\n",
    );
    machine.edit("manifest.yml", "  - name: check\n", "  - name: check\n    consumes: {web: {from: web}}\n");
    machine.edit("manifest.yml", "      greeting: hello\n", "      greeting: hello\n    provides: {web: {as: web}}\n");
    machine.up(&[]).ends_with(0);
    let before = instances(&machine);
    assert_eq!(before.keys().collect::<Vec<_>>(), ["other/0", "web/0", "web/1"]);

    machine.edit("manifest.yml", "greeting: bye", "greeting: farewell");
    let up = machine.up(&[]).ends_with(0);
    assert!(up.stdout.contains("other/0: updated") && !up.stdout.contains("web/0: updated"), "{}", up.stdout);
    let after = instances(&machine);
    assert_eq!((after["web/0"], after["web/1"]), (before["web/0"], before["web/1"]));
    assert_ne!(after["other/0"], before["other/0"]);
    let rendered = machine.boson(&["exec", "other/0", "cat", "/var/vcap/jobs/web/config/greeting"]).ends_with(0);
    assert!(rendered.stdout.starts_with("farewell "), "{}", rendered.stdout);

    // A package's content changes no rendered file.
    machine.edit("release/src/tool/serve", "served", "has served");
    let up = machine.up(&[]).ends_with(0);
    assert!(up.stdout.contains("packages: 1 compiled"), "{}", up.stdout);
    let replaced = instances(&machine);
    assert!(replaced.iter().all(|(name, pid)| after[name] != *pid), "{after:?} {replaced:?}");
}

#[test]
fn instances_and_groups_are_added_and_removed() {
    let machine = Machine::new();
    machine.up(&[]).ends_with(0);
    let before = instances(&machine);
    machine.edit("manifest.yml", "instances: 2", "instances: 4");
    machine.up(&[]).ends_with(0);
    let scaled = instances(&machine);
    assert_eq!(scaled.len(), 4);
    // In both AZs, what ran keeps its index.
    assert_eq!((scaled["web/0"], scaled["web/1"]), (before["web/0"], before["web/1"]));
    let hosts = machine.boson(&["exec", "web/0", "cat", "/etc/hosts"]).ends_with(0).stdout;
    assert!(hosts.contains("small-web-3."), "{hosts}");

    machine.edit("manifest.yml", "instances: 4", "instances: 1");
    let up = machine.up(&[]).ends_with(0);
    assert!(up.stdout.contains("web/3: removed"), "{}", up.stdout);
    assert_eq!(instances(&machine).into_keys().collect::<Vec<_>>(), ["web/0"]);
    assert!(!is_alive(scaled["web/1"]) && !is_alive(scaled["web/3"]));

    machine.edit("manifest.yml", "- name: web\n  azs: [z1, z2]", "- name: renamed\n  azs: [z1]");
    let up = machine.up(&[]).ends_with(0);
    assert!(up.stdout.contains("web/0: removed") && up.stdout.contains("renamed: 1 instance "), "{}", up.stdout);
    machine.boson(&["down"]).ends_with(0);
    machine.assert_gone();
}

#[test]
fn an_invalid_manifest_leaves_running_instances_unchanged() {
    let machine = Machine::new();
    machine.up(&[]).ends_with(0);
    let before = instances(&machine);
    machine.write("release/jobs/web/templates/greeting.erb", "<%= p('nowhere') %>\n");
    machine.up(&[]).ends_with(66);
    machine.write("release/jobs/web/templates/greeting.erb", "changed\n");
    machine.write("release/packages/tool/packaging", "exit 3\n");
    machine.up(&[]).ends_with(65);
    assert_eq!(instances(&machine), before);
}

#[test]
fn a_failed_canary_stops_the_update_and_rollback_restores_the_previous_version() {
    let machine = Machine::new();
    machine.up(&[]).ends_with(0);
    let before = instances(&machine);
    machine.edit("manifest.yml", "greeting: hello", "greeting: bye\n      pre_start: 5");
    let up = machine.up(&[]).ends_with(70);
    assert!(up.stderr.contains("pre-start of web/0 failed"), "{}", up.stderr);
    let status = machine.boson(&["status"]).ends_with(1).stdout;
    assert!(status.contains("failing") && pids(&status, "web/web") == [before["web/1"]], "{status}");

    let up = machine.up(&["--rollback"]).ends_with(70);
    assert!(up.stdout.contains("restoring the version before"), "{}", up.stdout);
    // The previous version is the failed one: it fails again.
    machine.boson(&["status"]).ends_with(1);

    machine.edit("manifest.yml", "pre_start: 5", "pre_start: 0");
    machine.up(&[]).ends_with(0);
    let good = instances(&machine);
    machine.edit("manifest.yml", "pre_start: 0", "pre_start: 6");
    machine.up(&["--rollback"]).ends_with(70);
    let restored = instances(&machine);
    assert_eq!((restored.len(), restored["web/1"]), (2, good["web/1"]));
    let script = machine.boson(&["exec", "web/0", "cat", "/var/vcap/jobs/web/bin/pre-start"]).ends_with(0).stdout;
    assert!(script.contains("exit 0"), "{script}");
}

#[test]
fn persistent_disks_outlive_their_instances() {
    let machine = Machine::new();
    machine.edit("manifest.yml", "  instances: 2\n", "  instances: 2\n  persistent_disk: 10\n");
    machine.up(&[]).ends_with(0);
    let write = |instance: &str| {
        let script = format!("echo data of {instance} >/var/vcap/store/data");
        machine.boson(&["exec", instance, "sh", "-c", &script]).ends_with(0);
    };
    let read = |instance: &str| machine.boson(&["exec", instance, "cat", "/var/vcap/store/data"]).ends_with(0).stdout;
    write("web/0");
    write("web/1");
    machine.edit("manifest.yml", "greeting: hello", "greeting: bye");
    machine.up(&[]).ends_with(0);
    assert_eq!(read("web/0"), "data of web/0\n");
    let in_use = machine.boson(&["disks", "delete", "web/0"]).ends_with(65).stderr;
    assert!(in_use.contains("the persistent disk of web/0 is in use"), "{in_use}");

    machine.edit("manifest.yml", "instances: 2", "instances: 1");
    machine.up(&[]).ends_with(0);
    let disks = machine.boson(&["disks"]).ends_with(0).stdout;
    assert!(disks.contains("web/0     14 B  attached") && disks.contains("web/1     14 B  orphaned"), "{disks}");

    let down = machine.boson(&["down"]).ends_with(0);
    assert!(down.stdout.contains("persistent disks stay: web/0, web/1"), "{}", down.stdout);
    assert!(machine.boson(&["status"]).ends_with(65).stderr.contains("is down"));
    machine.edit("manifest.yml", "instances: 1", "instances: 2");
    machine.up(&[]).ends_with(0);
    assert_eq!((read("web/0"), read("web/1")), ("data of web/0\n".to_owned(), "data of web/1\n".to_owned()));

    machine.boson(&["down"]).ends_with(0);
    machine.boson(&["disks", "delete", "web/1"]).ends_with(0);
    let unknown = machine.boson(&["disks", "delete", "web/1"]).ends_with(65).stderr;
    assert!(unknown.contains("'web/1' has no persistent disk"), "{unknown}");
    machine.boson(&["down", "--delete-disks"]).ends_with(0);
    machine.assert_gone();
}

#[test]
fn up_restarts_the_deployment_with_its_disks_after_boson_was_killed() {
    let machine = Machine::new();
    machine.edit("manifest.yml", "  instances: 2\n", "  instances: 2\n  persistent_disk: 10\n");
    let mut boson = machine.up_in_foreground();
    machine.boson(&["exec", "web/1", "sh", "-c", "echo data >/var/vcap/store/data"]).ends_with(0);
    boson.kill().unwrap();
    boson.wait().unwrap();
    machine.up(&[]).ends_with(0);
    assert_eq!(machine.boson(&["exec", "web/1", "cat", "/var/vcap/store/data"]).ends_with(0).stdout, "data\n");
    machine.boson(&["down", "--delete-disks"]).ends_with(0);
    machine.assert_gone();
}

#[test]
fn a_record_of_another_version_is_refused() {
    let machine = Machine::new();
    machine.write("state/boson/small/state.json", "{\"version\":7,\"deployment\":\"small\"}");
    for args in [&["status"][..], &["down"], &["up", "-m", "manifest.yml", "-r", "release", "--detach"]] {
        let ran = machine.boson(args).ends_with(65);
        assert!(ran.stderr.contains("has version 7, and this program reads version 1"), "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("state.json"), "{args:?}: {}", ran.stderr);
    }
    assert!(machine.state().join("state.json").exists());
    fs::remove_dir_all(machine.state()).unwrap();
}

#[test]
fn instances_and_jobs_are_stopped_and_started_on_request() {
    let machine = Machine::new();
    machine.up(&[]).ends_with(0);
    let before = instances(&machine);
    machine.boson(&["stop", "web/0"]).ends_with(0);
    let status = machine.boson(&["status"]).ends_with(3).stdout;
    let stopped: Vec<&str> = status.lines().filter(|line| line.ends_with("stopped")).collect();
    assert!(stopped.len() == 2 && stopped.iter().all(|line| line.starts_with("web/0 ")), "{status}");
    assert!(!is_alive(before["web/0"]));
    machine.boson(&["start", "web/0"]).ends_with(0);
    let started = instances(&machine);
    assert_eq!(started["web/1"], before["web/1"]);
    machine.boson(&["restart", "web/1/web"]).ends_with(0);
    assert_ne!(instances(&machine)["web/1"], before["web/1"]);
    // The instance's files are kept: its pre-start scripts have not run again.
    let logs = machine.boson(&["logs", "web/1"]).ends_with(0).stdout;
    assert_eq!(logs.matches("prepared 1").count(), 1, "{logs}");
    let unknown = machine.boson(&["restart", "web/7"]).ends_with(65).stderr;
    assert!(unknown.contains("unknown instance 'web/7'"), "{unknown}");
    let unknown = machine.boson(&["restart", "web/0/wbe"]).ends_with(65).stderr;
    assert!(unknown.contains("no process of a job 'wbe'") && unknown.contains("jobs with processes: web"), "{unknown}");
}

#[test]
fn a_crashing_process_is_restarted_with_growing_delays() {
    let machine = Machine::new();
    machine.edit("release/src/tool/serve", "print \"serving\\n\";", "print \"serving\\n\"; sleep 2; exit 4;");
    machine.up(&[]).ends_with(0);
    eventually("it was started again three times", || {
        let status = machine.boson(&["status"]).stdout;
        let rows = status.lines().filter(|line| line.contains("web/web"));
        let restarts: Vec<u32> = rows.filter_map(|line| line.split_whitespace().nth(8)?.parse().ok()).collect();
        !restarts.is_empty() && restarts.iter().all(|restarts| *restarts >= 3)
    });
    let log = fs::read_to_string(machine.state().join("boson.log")).unwrap();
    for delay in ["restarting\n", "restarting in 1s\n", "restarting in 2s\n"] {
        assert!(log.contains(&format!("web/0: web/web exited with status 4; {delay}")), "{log}");
    }
}
