//! Idioms of releases that predate BPM or rely on VMs.

use testkit::waiting::{eventually, wait_for};

use crate::deployment::{Deployment, rows};

#[test]
fn daemons_of_monit_errands_and_scripts_work_as_on_a_vm() {
    let idioms = Deployment::up("idioms");
    let status = idioms.boson(&["status"]);
    // Two daemons and three processes in two instances; the errand is not a service.
    assert_eq!((status.code, rows(&status, &["running"]).len()), (Some(0), 10), "{}", status.stdout);
    assert_eq!(rows(&status, &["servers/1", "daemon/late"]).len(), 1, "{}", status.stdout);
    // `late` depends on `early`.
    let order = idioms.boson(&["exec", "servers/0", "cat", "/var/vcap/sys/log/daemon/order.log"]);
    assert_ne!(order.code, Some(0), "late was started before early: {}", order.stdout);

    // A daemon that dies is started again by its start program.
    idioms.succeed(&["exec", "servers/1", "bash", "-c", "kill -KILL $(cat /var/vcap/sys/run/daemon/late.pid)"]);
    idioms.status_until(|status| status.code == Some(0) && rows(status, &["servers/1", "daemon/late", "1"]).len() == 1);

    let etc = "cat /etc/profile.d/idioms.sh /etc/security/limits.d/idioms.conf";
    assert_eq!(idioms.succeed(&["exec", "servers/0", "sh", "-c", etc]), "export IDIOMS=yes\n* soft nofile 1024\n");
    let logs = wait_for("what pre-start sent to syslog", || {
        Some(idioms.succeed(&["logs", "servers/0"])).filter(|logs| logs.matches("daemon.pre-start").count() >= 2)
    });
    for line in ["[servers/0 daemon/tee.log] last line", "daemon.pre-start: first line", "daemon.pre-start: last line"]
    {
        assert!(logs.contains(line), "{line:?} is not in:\n{logs}");
    }

    // Beside the service: in both instances, of which the second one fails.
    let writer = idioms.boson(&["run-errand", "writer"]);
    assert_eq!(writer.code, Some(3), "{}{}", writer.stdout, writer.stderr);
    assert!(
        writer.stdout.contains("writer of 0 in ") && writer.stdout.contains("writer of 1 in "),
        "{}",
        writer.stdout
    );
    // In a group of its own, with a colocated service.
    let report = idioms.boson(&["run-errand", "report"]);
    assert_eq!((report.code, report.stdout.as_str()), (Some(7), "addon\nhello\nhello\n"), "{}", report.stderr);

    // A changed text changes `monit` only, and the data of the disk stays.
    idioms.edit("text: hello", "text: bye");
    let printed = idioms.up_again();
    assert!(printed.contains("servers/0: updated") && printed.contains("servers/1: updated"), "{printed}");
    assert_eq!(idioms.boson(&["run-errand", "report"]).stdout, "addon\nbye\nbye\n");
    let boots = idioms.succeed(&["exec", "servers/1", "cat", "/var/vcap/store/boots"]);
    assert_eq!(boots, "boot 1\nboot 1\n");
    idioms.succeed(&["restart", "servers/1"]);
    eventually("it has booted again", || {
        idioms.succeed(&["exec", "servers/1", "cat", "/var/vcap/store/boots"]).lines().count() == 3
    });
    idioms.succeed(&["down", "--delete-disks"]);
    assert!(!idioms.state().exists());
}

#[test]
fn a_start_program_has_su_capabilities_and_etc() {
    if !nix::unistd::geteuid().is_root() {
        println!("skipped: without root, the sandbox may have one user id, and then no su");
        return;
    }
    let legacy = Deployment::up_with("legacy", "idioms");
    let ask = "exec 3<>/dev/tcp/127.0.0.1/80; cat <&3";
    assert_eq!(legacy.succeed(&["exec", "legacy/0", "bash", "-c", ask]), "legacy of vcap\n");
    legacy.succeed(&["stop", "legacy/0"]);
    let logs = wait_for("the message of the stop program", || {
        Some(legacy.succeed(&["logs", "legacy/0"])).filter(|logs| logs.contains("legacy.ctl: stopped"))
    });
    assert!(logs.contains("[legacy/0 legacy/pre-start.stdout.log] preparing legacy-0-legacy"), "{logs}");
    legacy.down();
}
