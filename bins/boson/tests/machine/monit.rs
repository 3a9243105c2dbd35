//! The processes of an instance are those that `monit` starts.

use testkit::waiting::eventually;

use crate::Machine;

/// A daemon with a pid file, as releases without `bpm.yml` have it.
const CTL: &str = "#!/bin/sh
pid=/var/vcap/sys/run/daemon/daemon.pid
case $1 in
start)
  mkdir -p /var/vcap/sys/run/daemon /var/vcap/data/daemon
  setsid sh -c 'echo $$ > /var/vcap/sys/run/daemon/daemon.pid; while :; do sleep 1; done' > /dev/null 2>&1 < /dev/null &
  ;;
stop)
  kill $(cat $pid)
  echo stopped > /var/vcap/data/daemon/stopped
  ;;
esac
";

/// The daemon; the process of `bpm.yml` that depends on it runs in the first instance only.
const MONIT: &str = "check process daemon
  with pidfile /var/vcap/sys/run/daemon/daemon.pid
  start program \"/var/vcap/jobs/daemon/bin/ctl start\" with timeout 60 seconds
  stop program \"/var/vcap/jobs/daemon/bin/ctl stop\"
  group vcap
<% if spec.bootstrap %>
check process daemon-leader
  with pidfile /var/vcap/sys/run/bpm/daemon/leader.pid
  start program \"/var/vcap/jobs/bpm/bin/bpm start daemon -p leader\"
  stop program \"/var/vcap/jobs/bpm/bin/bpm stop daemon -p leader\"
  group vcap
  depends on daemon
<% end %>
";

/// `never` is a process that `monit` does not start.
const BPM_YML: &str = "processes:
- {name: leader, executable: /bin/sh, args: [-c, 'test -s /var/vcap/sys/run/daemon/daemon.pid && echo after the daemon; exec sleep 1000000']}
- {name: never, executable: /bin/false}
";

#[test]
fn monit_programs_run_beside_bpm_processes() {
    let machine = Machine::new();
    let spec = "name: daemon\ntemplates: {ctl: bin/ctl, bpm.yml: config/bpm.yml}\npackages: []\nproperties: {}\n";
    machine.write("release/jobs/daemon/spec", spec);
    machine.write("release/jobs/daemon/monit", MONIT);
    machine.write("release/jobs/daemon/templates/ctl", CTL);
    machine.write("release/jobs/daemon/templates/bpm.yml", BPM_YML);
    machine.edit(
        "manifest.yml",
        "  jobs:\n  - name: web\n",
        "  jobs:\n  - {name: daemon, release: small}\n  - name: web\n",
    );
    machine.up(&[]).ends_with(0);
    let exec = |instance: &str, script: &str| machine.boson(&["exec", instance, "--", "/bin/sh", "-c", script]);
    for instance in ["web/0", "web/1"] {
        exec(instance, "kill -0 $(cat /var/vcap/sys/run/daemon/daemon.pid)").ends_with(0);
    }
    let logs = machine.boson(&["logs", "web/0"]).ends_with(0).stdout;
    assert!(logs.contains("after the daemon\n"), "{logs}");
    exec("web/0", "test -e /var/vcap/sys/run/bpm/daemon/leader.pid").ends_with(0);
    exec("web/1", "test ! -e /var/vcap/sys/run/bpm/daemon/leader.pid").ends_with(0);
    exec("web/0", "test ! -e /var/vcap/sys/log/daemon/never.stdout.log").ends_with(0);
    // Scripts call monit; what it leaves alone makes the instance failing until it is started again.
    let monit = "/var/vcap/bosh/bin/monit";
    let summary = exec("web/0", &format!("{monit} summary")).ends_with(0).stdout;
    assert!(summary.contains("Process 'daemon'                    running\n"), "{summary}");
    exec("web/0", &format!("{monit} unmonitor daemon")).ends_with(0);
    eventually("the process is failing", || {
        let status = machine.boson(&["status"]).stdout;
        status.lines().any(|row| row.contains("daemon/daemon ") && row.contains("failing"))
    });
    machine.boson(&["start", "web/0/daemon"]).ends_with(0);
    machine.boson(&["status"]).ends_with(0);
    machine.boson(&["down"]).ends_with(0);
}

#[test]
fn a_restart_that_a_rule_of_monit_asks_for_is_counted() {
    let machine = Machine::new();
    let spec = "name: daemon\ntemplates: {ctl: bin/ctl}\npackages: []\nproperties: {}\n";
    machine.write("release/jobs/daemon/spec", spec);
    let rule = "  group vcap\n  if failed unixsocket /var/vcap/data/daemon/socket then restart\n";
    let monit = MONIT.split("<%").next().unwrap().replace("  group vcap\n", rule);
    machine.write("release/jobs/daemon/monit", &monit);
    machine.write("release/jobs/daemon/templates/ctl", CTL);
    machine.edit(
        "manifest.yml",
        "  jobs:\n  - name: web\n",
        "  jobs:\n  - {name: daemon, release: small}\n  - name: web\n",
    );
    machine.edit("manifest.yml", "instances: 2", "instances: 1");
    machine.up(&[]).ends_with(0);
    let restarts = || {
        let status = machine.boson(&["status"]).stdout;
        let row = status.lines().find(|row| row.contains("daemon/daemon "))?.to_owned();
        row.split_whitespace().nth(8)?.parse::<u32>().ok()
    };
    eventually("the restart is counted", || restarts().is_some_and(|restarts| restarts >= 1));
    machine.boson(&["down"]).ends_with(0);
}

#[test]
fn a_job_for_windows_is_refused_by_name() {
    let machine = Machine::new();
    machine.write("release/jobs/rep_windows/spec", "name: rep_windows\ntemplates: {}\npackages: []\nproperties: {}\n");
    machine.write(
        "release/jobs/rep_windows/monit",
        "{\"processes\": [{\"name\": \"rep\", \"executable\": \"rep.exe\"}]}\n",
    );
    machine.edit(
        "manifest.yml",
        "  jobs:\n  - name: web\n",
        "  jobs:\n  - {name: rep_windows, release: small}\n  - name: web\n",
    );
    let up = machine.up(&[]).ends_with(65);
    assert!(up.stderr.contains("error: job 'rep_windows' of instance group 'web' is for Windows"), "{}", up.stderr);
    machine.assert_gone();
}
