//! The environment, identity, directories and files of a process: logs, pid and state files.

use std::fs;
use std::os::unix::fs::MetadataExt;

use nix::sys::signal::Signal;
use testkit::waiting::eventually;

use crate::support::{Job, can_become_vcap, mode, output, text};

/// Vcap, or the user that runs the tests.
fn owner() -> (u32, u32) {
    if can_become_vcap() {
        (1000, 1000)
    } else {
        (nix::unistd::Uid::effective().as_raw(), nix::unistd::Gid::effective().as_raw())
    }
}

#[test]
fn output_is_logged_and_forwarded() {
    let job = Job::script("printf 'one\\ntwo'; echo oops >&2", "");
    for round in 1..=2 {
        let output = job.run();
        assert_eq!((text(&output.stdout), text(&output.stderr)), ("one\ntwo".to_owned(), "oops\n".to_owned()));
        for (file, written) in [("web.stdout.log", "one\ntwo"), ("web.stderr.log", "oops\n")] {
            let path = format!("var/vcap/sys/log/web/{file}");
            assert_eq!(job.read(&path), written.repeat(round), "appended to");
            let meta = job.path(&path).metadata().unwrap();
            assert_eq!((mode(&job.path(&path)), (meta.uid(), meta.gid())), (0o600, owner()));
        }
    }
    let journal = job.read("var/vcap/sys/log/web/bpm.log");
    assert!(
        journal.contains("\"message\":\"bpm.run-process.started\"") && journal.contains("\"status\":0"),
        "{journal}"
    );
}

#[test]
fn a_lot_of_output_arrives_whole() {
    let job = Job::script("seq 1 200000; seq 1 200000 >&2", "");
    let output = job.run();
    assert_eq!(output.stdout, output.stderr);
    assert_eq!(output.stdout.len(), 1_288_895);
    assert_eq!(job.read("var/vcap/sys/log/web/web.stdout.log").as_bytes(), output.stdout);
}

#[test]
fn bpm_directories_are_created_for_vcap_only() {
    let job = Job::script(
        "exit 0",
        "  ephemeral_disk: true\n  persistent_disk: true\n  additional_volumes: [{path: /var/vcap/data/shared/it}]\n",
    );
    fs::create_dir_all(job.path("var/vcap/store")).unwrap();
    let output = job.run();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    for dir in ["sys/log/web", "sys/run/web", "data/web", "data/web/tmp", "store/web", "data/shared/it"] {
        let path = job.path("var/vcap").join(dir);
        let meta = path.metadata().unwrap_or_else(|e| panic!("{dir}: {e}"));
        assert_eq!((mode(&path), (meta.uid(), meta.gid())), (0o700, owner()), "{dir}");
    }
    assert_eq!(mode(&job.path("var/vcap/sys/run/bpm/web")), 0o700);
}

/// Variables of the container, which Kubernetes takes from Secrets, reach the process by name alone.
#[test]
fn variables_are_passed_by_name_and_override_those_of_bpm_yml() {
    let job = Job::script("echo \"$TOKEN $A ${LEAKED-none} ${MISSING-none}\"", "  env: {A: '1'}\n");
    let mut command = job.command();
    command.args(["--pass-env", "TOKEN", "--pass-env", "A", "--pass-env", "MISSING"]);
    let output = output(command.env("TOKEN", "secret value").env("A", "2").env("LEAKED", "x"));
    assert_eq!(text(&output.stdout), "secret value 2 none none\n");
}

#[test]
fn the_environment_is_exactly_bpms() {
    let job =
        Job::script("cd /; env -u PWD -u OLDPWD -u _ -u SHLVL | sort; cd - ", "  env: {A: 010, EMPTY: , LANG: C}\n");
    let output = output(job.command().env("LEAKED", "from outside"));
    let root = job.path("").display().to_string();
    let vcap = format!("{}/var/vcap", root.trim_end_matches('/'));
    assert_eq!(
        text(&output.stdout),
        format!(
            "A=010\nEMPTY=\nHOME={vcap}/data/web\nLANG=C\n\
             PATH={vcap}/jobs/web/bin:/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin:.\n\
             TMPDIR={vcap}/data/web/tmp\n{vcap}/jobs/web\n"
        ),
        "the last line is the working directory"
    );
}

#[test]
fn a_process_runs_as_vcap_without_new_privileges_in_a_group_of_its_own() {
    let job =
        Job::script("id -u; id -G; grep NoNewPrivs /proc/self/status; cut -d ' ' -f 5 /proc/$$/stat; echo $$", "");
    let output = text(&job.run().stdout);
    let lines: Vec<_> = output.lines().collect();
    if can_become_vcap() {
        assert_eq!(lines[..2], ["1000", "1000"]);
    }
    assert_eq!(lines[2], "NoNewPrivs:\t1");
    assert_eq!(lines[3], lines[4]);
}

#[test]
fn vcap_is_looked_up_in_the_passwd_below_the_root() {
    if !can_become_vcap() {
        return;
    }
    let job = Job::script("id -u; id -g", "");
    job.write("etc/passwd", "vcap:x:1234:1235::/home/vcap:/bin/sh\n", 0o644);
    assert_eq!(text(&job.run().stdout), "1234\n1235\n");
}

#[test]
fn a_privileged_process_stays_root_and_may_gain_privileges() {
    let job = Job::script("id -u; grep NoNewPrivs /proc/self/status", "  unsafe: {privileged: true}\n");
    let output = text(&job.run().stdout);
    let uid = nix::unistd::Uid::effective();
    assert_eq!(output, format!("{uid}\nNoNewPrivs:\t0\n"));
}

#[test]
fn capabilities_are_kept_by_a_process_that_is_not_root() {
    let privileges = supervisor_status("CapPrm");
    // NET_BIND_SERVICE is number 10.
    if !can_become_vcap() || privileges & (1 << 10) == 0 {
        return;
    }
    let job = Job::script("grep -E '^Cap(Prm|Eff|Bnd|Amb)' /proc/self/status", "  capabilities: [NET_BIND_SERVICE]\n");
    let set = "0000000000000400";
    assert_eq!(text(&job.run().stdout), format!("CapPrm:\t{set}\nCapEff:\t{set}\nCapBnd:\t{set}\nCapAmb:\t{set}\n"));
}

fn supervisor_status(field: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|l| l.starts_with(field)).unwrap();
    u64::from_str_radix(line.split_whitespace().nth(1).unwrap(), 16).unwrap()
}

#[test]
fn limits_are_set_soft_and_hard() {
    let job = Job::script(
        "ulimit -Sn; ulimit -Hn; ulimit -Sc; ulimit -Hc",
        "  limits: {open_files: 123, core_file_size: 0}\n",
    );
    assert_eq!(text(&job.run().stdout), "123\n123\n0\n0\n");
}

#[test]
fn pid_and_state_files_follow_the_process() {
    let job = Job::script("trap 'exit 9' USR1; echo ready; echo $$; while :; do sleep 10 & wait $!; done", "");
    let mut running = job.start(&[]);
    let pid = running.line();
    eventually("the pid file is written", || job.path("var/vcap/sys/run/bpm/web/web.pid").exists());
    assert_eq!(job.read("var/vcap/sys/run/bpm/web/web.pid"), pid);
    let state = job.read("var/vcap/sys/run/boson/web/web.state");
    assert!(state.starts_with(&format!("{{\"version\":1,\"state\":\"running\",\"pid\":{pid},\"since\":")), "{state}");
    running.signal(Signal::SIGUSR1);
    assert_eq!(running.wait().1, 9);
    assert!(!job.path("var/vcap/sys/run/bpm/web/web.pid").exists());
    let state = job.read("var/vcap/sys/run/boson/web/web.state");
    assert!(
        state.starts_with(&format!("{{\"version\":1,\"state\":\"crashed\",\"pid\":{pid},\"exit_code\":9,\"since\":")),
        "{state}"
    );
}

/// Unprivileged users have to notice that a supervisor was killed: `tail-logs` exits when all have exited.
#[test]
fn any_user_can_check_whether_a_supervisor_is_alive() {
    let job = Job::script("echo ready; while :; do sleep 10 & wait $!; done", "");
    let running = job.start(&[]);
    assert_eq!(mode(&job.path("var/vcap/sys/run/boson/web/web.lock")), 0o644);
    drop(running);
    // In any state that a predecessor left.
    job.write("var/vcap/sys/run/boson/web/web.lock", "", 0o600);
    let running = job.start(&[]);
    assert_eq!(mode(&job.path("var/vcap/sys/run/boson/web/web.lock")), 0o644);
    drop(running);
}

#[test]
fn a_killed_process_is_reported_as_killed() {
    let job = Job::script("kill -KILL $$", "");
    assert_eq!(job.run().status.code(), Some(137));
    let state = job.read("var/vcap/sys/run/boson/web/web.state");
    assert!(state.contains("\"state\":\"crashed\"") && state.contains("\"exit_code\":137,\"signal\":9,"), "{state}");
}

#[test]
fn a_second_run_of_the_same_process_is_refused_and_disturbs_nothing() {
    let job = Job::script("echo ready; exec sleep 1000", "");
    let running = job.start(&[]);
    let state = job.path("var/vcap/sys/run/boson/web/web.state");
    eventually("the pid file is written", || job.path("var/vcap/sys/run/bpm/web/web.pid").exists());
    let before = fs::read(&state).unwrap();
    let second = job.run();
    assert_eq!(second.status.code(), Some(70));
    let pid = job.read("var/vcap/sys/run/bpm/web/web.pid");
    assert_eq!(
        text(&second.stderr),
        format!(
            "error: job \"web\", process \"web\": it is running already with pid {pid}\n  code: already-running (boson explain-error already-running)\n"
        )
    );
    assert_eq!(fs::read(&state).unwrap(), before);
    running.signal(Signal::SIGTERM);
    assert_eq!(running.wait().1, 143);
    // The lock is free again.
    drop(job.start(&[]));
}
