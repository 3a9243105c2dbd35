//! Failures of control. A test whose name starts with a number is about that weakness of Quarks' container-run.

use std::fs;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;

use nix::unistd::Uid;
use testkit::waiting::eventually;

use crate::support::{ALONE, Pod, WAIT, answer, write_program};

#[test]
fn c13_leftovers_of_a_killed_run_are_ignored() {
    let pod = Pod::new(ALONE);
    let socket = pod.vcap("sys/run/boson/web/web.sock");
    for _ in 0..3 {
        pod.start(&[]).kill();
        assert!(socket.exists() && pod.pid_file().exists(), "it had no time to clear up");
        assert!(!pod.runs() && !pod.is_ready());
        assert_eq!(pod.bpm("pid", &[]).0, 1);
        assert_eq!(pod.bpm("stop", &[]).0, 0);
        let (code, _, stderr) = pod.bpm("start", &[]);
        assert!(code == 1 && stderr.contains("error: nobody supervises job \"web\", process \"web\"\n"), "{stderr}");
    }
    let _supervisor = pod.start(&[]);
    assert!(pod.is_ready());
    assert_eq!(fs::read_to_string(pod.pid_file()).unwrap(), pod.bpm("pid", &[]).1.trim());
}

/// Otherwise a script with a misspelt name would continue as if it had stopped something.
#[test]
fn a_process_that_does_not_exist_cannot_be_stopped() {
    let pod = Pod::new(ALONE);
    for verb in ["stop", "term", "start", "restart", "quit"] {
        let (code, _, stderr) = pod.bpm(verb, &["-p", "wbe"]);
        assert_eq!(code, 65, "{verb}: {stderr}");
        assert!(stderr.contains("error: process \"wbe\" not present in job configuration ("), "{stderr}");
        assert!(stderr.contains("hint: its processes are: web\n"), "{stderr}");
        let (code, _, stderr) = answer(pod.command("bpm").args([verb, "wbe"]));
        assert!(code == 65 && stderr.contains("hint: rendered are the jobs: web\n"), "{verb}: {stderr}");
    }
    // Stopping a process that is not running succeeds, an errand's too.
    assert_eq!(pod.bpm("stop", &[]).0, 0);
    pod.hook("run", "exit 0");
    assert_eq!(pod.bpm("stop", &["-p", "run"]).0, 0);
}

#[test]
fn an_old_pid_file_is_removed_before_the_start() {
    let pod = Pod::new(WAIT);
    fs::create_dir_all(pod.pid_file().parent().unwrap()).unwrap();
    fs::write(pod.pid_file(), "1").unwrap();
    let seen = pod.file("seen");
    pod.hook("pre_start", &format!("[ -e {} ]; echo $? > {}", pod.pid_file().display(), seen.display()));
    let program = pod.vcap("jobs/web/bin/pre_start");
    pod.process(&format!("hooks: {{pre_start: {}}},", program.display()), WAIT);
    let _supervisor = pod.start(&[]);
    assert_eq!(fs::read_to_string(seen).unwrap(), "1\n");
}

#[test]
fn c07_long_names_in_a_deep_directory_work() {
    let pod = Pod::named(&"j".repeat(100), &format!("{0}/{0}", "d".repeat(120)), WAIT);
    let _supervisor = pod.start(&[]);
    assert!(pod.is_ready());
    assert_eq!(pod.bpm("restart", &[]).0, 0);
    assert_eq!(pod.bpm("stop", &[]).0, 0);
    assert!(!pod.runs());
}

#[test]
fn c06_a_foreign_file_at_the_socket_path_disables_requests_only() {
    let pod = Pod::new("echo ready; sleep 0.1; exit 4");
    fs::create_dir_all(pod.vcap("sys/run/boson/web/web.sock/x")).unwrap();
    let mut supervisor = pod.spawn(&[]);
    assert_eq!(supervisor.line(), "ready");
    let (code, _, stderr) = pod.bpm("running", &[]);
    assert!(code == 1 || code == 70, "{stderr}");
    assert_eq!(supervisor.wait(), 4);
}

#[test]
fn hanging_clients_do_not_block_others() {
    let pod = Pod::new(WAIT);
    let supervisor = pod.start(&[]);
    let socket = pod.vcap("sys/run/boson/web/web.sock");
    let hanging: Vec<_> = (0..200)
        .map(|n| {
            let mut stream = UnixStream::connect(&socket).unwrap();
            stream.write_all(&[0, 0, 0, 255, b'{'][..n % 6]).unwrap();
            stream
        })
        .collect();
    assert!(pod.is_ready());
    assert_eq!(pod.bpm("stop", &[]).0, 0);
    drop(hanging);
    drop(supervisor);
}

#[test]
fn only_root_may_ask() {
    if !Uid::effective().is_root() {
        return;
    }
    let pod = Pod::new(WAIT);
    let _supervisor = pod.start(&[]);
    let program = pod.file("boson-pod");
    write_program(&program, &fs::read(testkit::executable("boson-pod")).unwrap());
    let mut command = std::process::Command::new(program);
    command.args(["bpm", "stop", "web", "--root"]).arg(pod.vcap("").join("../..")).uid(1000).gid(1000);
    let (code, _, stderr) = answer(&mut command);
    assert_eq!(code, 70);
    assert!(stderr.starts_with("error: bpm must be run as root\n"), "{stderr}");
    assert!(pod.runs());
}

/// Containers of a pod: each with its own pid namespace, all with the same files.
#[test]
fn c14_a_process_id_is_shown_only_where_it_is_valid() {
    let probe = answer(std::process::Command::new("unshare").args(["--pid", "--fork", "true"]));
    if probe.0 != 0 {
        return;
    }
    let pod = Pod::new(WAIT);
    let supervisor = pod.start(&[]);
    let elsewhere = |args: &[&str]| {
        let mut command = pod.command("bpm");
        let mut unshare = std::process::Command::new("unshare");
        unshare
            .args(["--pid", "--fork", "--mount-proc"])
            .arg(command.get_program())
            .args(command.args(args).get_args());
        unshare.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        answer(&mut unshare)
    };
    let (code, stdout, stderr) = elsewhere(&["pid", "web"]);
    assert_eq!((code, stdout.as_str()), (1, ""));
    let pid = pod.bpm("pid", &[]).1;
    let expected =
        format!("error: job \"web\", process \"web\" runs in another container, where it has the id {}", pid.trim());
    assert!(stderr.starts_with(&expected) && stderr.contains("shareProcessNamespace"), "{stderr}");
    assert!(elsewhere(&["list"]).1.ends_with("web  -   running\n"));
    assert_eq!(elsewhere(&["running", "web"]).1, "yes\n");
    assert_eq!(elsewhere(&["restart", "web"]).0, 0);
    assert_eq!(elsewhere(&["stop", "web"]).0, 0);
    eventually("it is stopped", || !pod.runs());
    drop(supervisor);
}

#[test]
fn c18_bpm_needs_no_program_of_the_image() {
    let pod = Pod::new(WAIT);
    let _supervisor = pod.start(&[]);
    let bare = |args: &[&str]| {
        let mut command = pod.command("bpm");
        let root = pod.vcap("").join("../..");
        answer(command.args(args).arg("--root").arg(root).env_clear().env("PATH", "/nowhere"))
    };
    assert_eq!(bare(&["running", "web"]).1, "yes\n");
    assert_eq!(bare(&["restart", "web"]).0, 0);
    assert_eq!(bare(&["logs", "web", "-a"]).0, 0);
    assert_eq!(bare(&["stop", "web"]).0, 0);
}

#[test]
fn a_restart_succeeds_after_a_kill_at_any_instant() {
    let pod = Pod::new(ALONE);
    pod.hook("post-start", "echo post-start");
    for instant in 0..60 {
        let supervisor = pod.spawn(&[]);
        // At some point between its first instruction and the start of its process.
        std::thread::sleep(std::time::Duration::from_micros(instant * 700));
        if instant % 3 == 0 {
            pod.bpm("term", &[]);
        }
        supervisor.kill();
    }
    let supervisor = pod.start(&[]);
    eventually("it is ready", || pod.is_ready());
    assert_eq!(pod.bpm("restart", &[]).0, 0);
    drop(supervisor);
    let left = |dir: &str| -> Vec<String> {
        let names = fs::read_dir(pod.vcap(dir)).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with('.') || name.ends_with(".sock") || name.ends_with(".pid")).collect()
    };
    assert_eq!((left("sys/run/bpm/web"), left("sys/run/boson/web")), (vec![], vec![]));
}
