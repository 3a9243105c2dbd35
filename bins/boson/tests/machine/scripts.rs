//! Lifecycle scripts after the start, and their calls of `bpm`.

use testkit::waiting::eventually;

use crate::Machine;
use crate::deployment::pids;

const BPM: &str = "/var/vcap/jobs/bpm/bin/bpm";

/// Gives the job `web` a script of this name.
fn script(machine: &Machine, name: &str, text: &str) {
    machine.write(&format!("release/jobs/web/templates/{name}.erb"), &format!("#!/bin/sh\n{text}\n"));
    machine.edit("release/jobs/web/spec", "templates: {", &format!("templates: {{{name}.erb: bin/{name}, "));
}

#[test]
fn post_start_and_post_deploy_run_and_bpm_answers_them() {
    let machine = Machine::new();
    // A release's own bpm would need runc.
    machine.write("release/jobs/bpm/monit", "");
    machine.write(
        "release/jobs/bpm/spec",
        "name: bpm\ntemplates: {bpm.erb: bin/bpm, pre-start.erb: bin/pre-start}\npackages: []\nproperties: {}\n",
    );
    for name in ["bpm", "pre-start"] {
        machine.write(&format!("release/jobs/bpm/templates/{name}.erb"), "#!/bin/sh\nexit 1\n");
    }
    machine.edit(
        "manifest.yml",
        "  jobs:\n  - name: web\n",
        "  jobs:\n  - {name: bpm, release: small}\n  - name: web\n",
    );
    script(&machine, "post-start", &format!("{BPM} running web && {BPM} restart web -p idle && {BPM} list"));
    script(&machine, "post-deploy", "echo deployed <%= spec.index %>");
    machine.up(&[]).ends_with(0);

    let logs = machine.boson(&["logs"]).ends_with(0).stdout;
    for index in [0, 1] {
        for line in ["post-start.stdout.log] yes".to_owned(), format!("post-deploy.stdout.log] deployed {index}")] {
            assert!(logs.contains(&format!("[web/{index} web/{line}\n")), "{logs}");
        }
    }
    let status = machine.boson(&["status"]).ends_with(0).stdout;
    assert_eq!(pids(&status, "web/idle").len(), 2, "{status}");

    let bpm = |args: &[&str]| machine.boson(&[&["exec", "web/1", BPM], args].concat());
    let pid = bpm(&["pid", "web", "-p", "idle"]).ends_with(0).stdout;
    machine.boson(&["exec", "web/1", "test", "-e", &format!("/proc/{}", pid.trim())]).ends_with(0);
    bpm(&["stop", "web", "-p", "idle"]).ends_with(0);
    assert_eq!(bpm(&["running", "web", "-p", "idle"]).ends_with(1).stdout, "no\n");
    let status = machine.boson(&["status"]).ends_with(1).stdout;
    let row = status.lines().find(|line| line.contains("stopped")).unwrap();
    assert!(row.starts_with("web/1 ") && row.contains("web/idle"), "{status}");
    machine.boson(&["exec", "web/1", "/run/boson/bin/ready", "--job", "web", "--process", "idle"]).ends_with(0);
    bpm(&["start", "web", "-p", "idle"]).ends_with(0);
    machine.boson(&["status"]).ends_with(0);
    assert!(bpm(&["logs", "web"]).ends_with(0).stdout.contains("serving\n"));
    machine.boson(&["down"]).ends_with(0);
    machine.assert_gone();
}

#[test]
fn a_script_that_fails_after_the_start_fails_the_deployment() {
    for name in ["post-start", "post-deploy"] {
        let machine = Machine::new();
        // One is slow: the other's failure does not hide its own.
        script(&machine, name, "sleep 0.<%= 5 * (1 - spec.index) %>; echo what is wrong >&2; exit 3");
        let up = machine.up(&[]).ends_with(70);
        let reported = |text: &str| assert!(up.stderr.contains(text), "{text:?} is not in:\n{}", up.stderr);
        reported("what is wrong\n");
        reported(&format!("boson: {name} of web/0 failed with exit status "));
        reported(&format!("boson: {name} of web/1 failed with exit status "));
        machine.boson(&["down"]).ends_with(0);
    }
}

#[test]
fn hooks_of_a_job_without_processes_run_too() {
    let machine = Machine::new();
    machine.write("release/jobs/hooks/monit", "");
    machine.write(
        "release/jobs/hooks/spec",
        "name: hooks\ntemplates: {post-start.erb: bin/post-start}\npackages: []\nproperties: {}\n",
    );
    machine.write("release/jobs/hooks/templates/post-start.erb", &format!("#!/bin/sh\n{BPM} running web -p idle\n"));
    machine.edit(
        "manifest.yml",
        "  jobs:\n  - name: web\n",
        "  jobs:\n  - {name: hooks, release: small}\n  - name: web\n",
    );
    machine.up(&[]).ends_with(0);
    let logs = machine.boson(&["logs", "web/0"]).ends_with(0).stdout;
    assert!(logs.contains("[web/0 hooks/post-start.stdout.log] yes\n"), "{logs}");
    machine.boson(&["down"]).ends_with(0);
}

#[test]
fn an_instance_without_processes_runs_its_stop_scripts_too() {
    let machine = Machine::new();
    machine.write("release/jobs/hooks/monit", "");
    machine.write(
        "release/jobs/hooks/spec",
        "name: hooks\ntemplates: {pre-stop.erb: bin/pre-stop, drain.erb: bin/drain, post-stop.erb: bin/post-stop}\n\
         packages: []\nproperties: {}\n",
    );
    for script in ["pre-stop", "drain", "post-stop"] {
        let text = format!("#!/bin/sh\necho {script} >>/var/vcap/store/scripts\n[ {script} != drain ] || echo 0\n");
        machine.write(&format!("release/jobs/hooks/templates/{script}.erb"), &text);
    }
    machine.edit(
        "manifest.yml",
        "- name: checks\n",
        "- name: idle\n  instances: 1\n  persistent_disk: 10\n  networks: [{name: default}]\n  jobs:\n  \
         - {name: hooks, release: small}\n- name: checks\n",
    );
    machine.up(&[]).ends_with(0);
    machine.boson(&["status"]).ends_with(0);
    machine.boson(&["down"]).ends_with(0);
    let scripts = std::fs::read_to_string(machine.state().join("disks/idle-0/scripts")).unwrap();
    assert_eq!(scripts, "pre-stop\ndrain\npost-stop\n");
    machine.boson(&["down", "--delete-disks"]).ends_with(0);
    machine.assert_gone();
}

#[test]
fn an_errand_instance_can_be_kept() {
    let machine = Machine::new();
    machine.edit("release/jobs/check/templates/run.erb", "exit 42", "echo run >>/tmp/runs; grep -c run /tmp/runs");
    machine.up(&[]).ends_with(0);
    let run = |further: &[&str]| {
        let errand = machine.boson(&[&["run-errand", "checks"], further].concat()).ends_with(0);
        errand.stdout.lines().last().unwrap().to_owned()
    };
    assert_eq!([run(&[]), run(&["--keep-alive"]), run(&["--keep-alive"])], ["1", "1", "2"]);
    let status = machine.boson(&["status"]).ends_with(0).stdout;
    assert!(status.contains("checks/0"), "{status}");
    // An update removes it if it is not part of the new version.
    machine.edit("release/jobs/check/templates/run.erb", "echo run", "echo 'run' ");
    let up = machine.up(&[]).ends_with(0);
    assert!(up.stdout.contains("checks/0: removed"), "{}", up.stdout);
    assert_eq!(run(&[]), "1");
}

#[test]
fn a_script_may_ask_for_more_than_the_hard_limit() {
    let machine = Machine::new();
    let limit = "ulimit -n 500 || exit 1\nulimit -n 600 || exit 2\nulimit -n";
    script(&machine, "post-start", limit);
    let up = machine.up(&[]).ends_with(0);
    let logs = machine.boson(&["logs", "web/0"]).ends_with(0).stdout;
    let is_raised = logs.contains("[web/0 web/post-start.stdout.log] 600\n");
    assert!(is_raised || logs.contains("[web/0 web/post-start.stdout.log] 500\n"), "{logs}");
    let warning = "web/0: warning: Max open files 600 is above the hard limit; post-start gets 500\n";
    assert_eq!(up.stdout.contains(warning), !is_raised, "{}", up.stdout);
}

#[test]
fn an_errand_without_changes_is_skipped_on_request() {
    let machine = Machine::new();
    machine.edit("release/jobs/check/templates/run.erb", "exit 42", "echo ran");
    machine.up(&[]).ends_with(0);
    let run = |further: &[&str]| {
        let errand = machine.boson(&[&["run-errand", "checks"], further].concat()).ends_with(0);
        let skipped = errand.stderr.contains("checks: skipped - no changes detected\n");
        assert_ne!(skipped, errand.stdout.ends_with("ran\n"), "{}", errand.stderr);
        !skipped
    };
    // Never run, unchanged, run regardless, unchanged.
    assert_eq!(
        [run(&["--when-changed"]), run(&["--when-changed"]), run(&[]), run(&["--when-changed"])],
        [true, false, true, false]
    );
    machine.edit("release/jobs/check/templates/run.erb", "echo ran", "echo  ran");
    machine.up(&[]).ends_with(0);
    assert!(run(&["--when-changed"]), "a rendered file has changed");
    machine.edit("release/jobs/check/templates/run.erb", "echo  ran", "exit 3");
    machine.up(&[]).ends_with(0);
    for _ in 0..2 {
        machine.boson(&["run-errand", "checks", "--when-changed"]).ends_with(3);
    }
}

#[test]
fn the_releases_of_bpm_and_bosh_dns_are_optional() {
    let machine = Machine::new();
    let releases = "releases:\n- {name: bpm, version: latest}\n- {name: bosh-dns, version: latest}\n";
    machine.edit("manifest.yml", "releases:\n", releases);
    let addon = "addons:\n- name: dns\n  jobs: [{name: bosh-dns, release: bosh-dns, properties: {aliases: {x.internal: ['*.web.default.small.bosh']}}}]\n";
    machine.edit("manifest.yml", "instance_groups:\n", &format!("{addon}instance_groups:\n"));
    machine.edit(
        "manifest.yml",
        "  jobs:\n  - name: web\n",
        "  jobs:\n  - {name: bpm, release: bpm, properties: {a: 1}, provides: {b: {as: c}}}\n  - name: web\n",
    );
    script(&machine, "post-start", &format!("{BPM} running web && echo by bpm"));
    let up = machine.up(&[]).ends_with(0);
    assert_eq!((up.stdout + &up.stderr).matches("the job 'bosh-dns' is not run").count(), 1);
    machine.boson(&["exec", "web/0", "getent", "hosts", "x.internal"]).ends_with(0);
    let logs = machine.boson(&["logs", "web/0"]).ends_with(0).stdout;
    assert!(logs.contains("by bpm\n"), "{logs}");
    machine.boson(&["down"]).ends_with(0);
}

/// BOSH's agent links the packages of each job; every stemcell has these files.
#[test]
fn an_instance_has_what_scripts_expect_of_a_stemcell() {
    let machine = Machine::new();
    machine.up(&[]).ends_with(0);
    let script = "test -e /var/vcap/jobs/web/packages/tool/bin/serve && readlink /var/vcap/jobs/web/packages/tool && \
                  . /etc/lsb-release && test -n \"$DISTRIB_ID\" -a -s /etc/issue -a -s /etc/issue.net";
    let ran = machine.boson(&["exec", "web/0", "--", "/bin/sh", "-c", script]).ends_with(0);
    assert_eq!(ran.stdout, "/var/vcap/packages/tool\n");
    // Mounts that a job makes are seen in the mount namespaces of others.
    let shared = "grep -q ' /var/vcap rw[^-]* shared:' /proc/self/mountinfo";
    machine.boson(&["exec", "web/0", "--", "/bin/sh", "-c", shared]).ends_with(0);
    machine.boson(&["down"]).ends_with(0);
}

/// As in BOSH, an operator's stop waits for drains, unless told to skip them.
#[test]
fn a_stop_reports_what_drains_and_waits_for_it() {
    let machine = Machine::new();
    script(&machine, "drain", "[ -e /var/vcap/store/go ] && echo 0 || echo -1; echo $1 >>/var/vcap/store/drains");
    machine.edit("manifest.yml", "  jobs:\n  - name: web\n", "  persistent_disk: 10\n  jobs:\n  - name: web\n");
    machine.up(&[]).ends_with(0);
    let mut stop = machine.command(&["stop", "web/0"]);
    let mut stop = stop.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(stop.stdout.take().unwrap()));
    let draining = lines.by_ref().map(Result::unwrap).find(|line| line.contains("draining"));
    assert_eq!(draining.as_deref(), Some("web/0: draining web"));
    let drains = || std::fs::read_to_string(machine.state().join("disks/web-0/drains")).unwrap_or_default();
    eventually("the drain runs", || drains().contains("job_shutdown"));
    std::fs::write(machine.state().join("disks/web-0/go"), "").unwrap();
    assert!(lines.map(Result::unwrap).any(|line| line == "web/0 stopped"));
    assert!(stop.wait().unwrap().success());
    let before = drains();
    assert!(before.contains("job_check_status"), "{before}");
    machine.boson(&["start", "web/0"]).ends_with(0);
    machine.boson(&["stop", "--skip-drain", "web/0"]).ends_with(0);
    assert_eq!(drains(), before);
    // It holds for that stop only.
    std::fs::write(machine.state().join("disks/web-1/go"), "").unwrap();
    machine.boson(&["start", "web/0"]).ends_with(0);
    machine.edit("manifest.yml", "greeting: hello", "greeting: bye");
    machine.up(&[]).ends_with(0);
    let after = drains();
    assert!(after.len() > before.len(), "{after}");
    machine.edit("manifest.yml", "greeting: bye", "greeting: hello");
    machine.up(&["--skip-drain"]).ends_with(0);
    assert_eq!(drains(), after);
    let disk = std::fs::File::open(machine.state().join("disks/web-0/drains")).unwrap();
    machine.boson(&["down", "--skip-drain", "--delete-disks"]).ends_with(0);
    assert_eq!(disk.metadata().unwrap().len(), after.len() as u64);
    machine.assert_gone();
}

/// Only scripts of the jobs that the flag names can mount; all jobs see the mounts.
#[test]
fn scripts_of_one_job_are_privileged() {
    for machine in [Some(Machine::new()), Machine::of_nobody()].into_iter().flatten() {
        machine.edit(
            "manifest.yml",
            "      greeting: hello\n",
            "      greeting: hello\n  - name: check\n    release: small\n",
        );
        machine.edit(
            "release/jobs/check/spec",
            "{run.erb: bin/run}",
            "{run.erb: bin/run, pre-start.erb: bin/pre-start, post-deploy.erb: bin/post-deploy}",
        );
        let mount = "#!/bin/sh -e\ndir=/var/vcap/data/$(basename $0)\nmkdir $dir\nmount -t tmpfs tmpfs $dir\necho mounted >$dir/file\n";
        for name in ["pre-start", "post-deploy"] {
            machine.write(&format!("release/jobs/check/templates/{name}.erb"), mount);
        }
        machine.edit(
            "release/jobs/web/templates/pre-start.erb",
            "#!/bin/sh\n",
            "#!/bin/sh\nmount -t tmpfs tmpfs /mnt && exit 1\n",
        );
        let refused = machine.up(&[]).ends_with(70).stderr;
        assert!(
            refused.contains("check: exit status 32, it needs to be privileged (boson up: --allow-privileged"),
            "{refused}"
        );
        machine.boson(&["down"]).ends_with(0);
        machine.write("allowed", "# the jobs that mount\nweb/check\n");
        machine.up(&["--allow-privileged", "@allowed"]).ends_with(0);
        let script = "cat /var/vcap/data/pre-start/file /var/vcap/data/post-deploy/file";
        assert_eq!(machine.boson(&["exec", "web/1", "sh", "-c", script]).ends_with(0).stdout, "mounted\nmounted\n");
        machine.boson(&["down"]).ends_with(0);
        machine.assert_gone();
    }
}
