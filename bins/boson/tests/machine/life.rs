//! The life cycle of a deployment: start, operation, stop.

use std::fs;
use std::io::Read;
use std::net::{TcpListener, TcpStream};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use testkit::waiting::eventually;

use crate::Machine;
use crate::deployment::{is_alive, pids, signal};

#[test]
fn a_deployment_starts_restarts_a_dead_process_and_stops() {
    let machine = Machine::new();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let up = machine.up(&["--publish", &format!("{port}:web/1:8080")]).ends_with(0);
    assert!(up.stdout.contains("packages: 1 compiled, 0 from the cache"), "{}", up.stdout);

    let status = machine.boson(&["status"]).ends_with(0).stdout;
    assert_eq!(pids(&status, "web/web").len(), 2, "{status}");
    assert_eq!(pids(&status, "web/idle").len(), 2, "{status}");
    assert!(status.contains("web/0     z1  10.244.0.2  web/web   running"), "{status}");
    assert!(status.contains("web/1     z2  10.244.0.3  web/web   running"), "{status}");

    let mut answer = String::new();
    TcpStream::connect(("127.0.0.1", port)).unwrap().read_to_string(&mut answer).unwrap();
    assert_eq!(answer, "hello from 1\n");
    let rendered = machine.boson(&["exec", "web/1", "cat", "/var/vcap/jobs/web/config/greeting"]).ends_with(0);
    assert_eq!(rendered.stdout, "hello 10.244.0.3 z2\n");

    let errand = machine.boson(&["run-errand", "check"]).ends_with(42);
    assert_eq!(errand.stdout, "hello from 0\nhello from 1\n");
    assert!(errand.stderr.contains("to stderr\n"), "{}", errand.stderr);
    let failed =
        "Errand 'check' completed with error (exit code 42): `boson logs checks/0 --job check` shows its logs\n";
    assert!(errand.stderr.ends_with(failed), "{}", errand.stderr);
    machine.boson(&["run-errand", "checks"]).ends_with(42);

    let again = machine.up(&[]).ends_with(0);
    assert!(again.stdout.contains("small: nothing has changed"), "{}", again.stdout);
    assert_eq!(pids(&machine.boson(&["status"]).stdout, "web/"), pids(&status, "web/"));

    kill(Pid::from_raw(pids(&status, "web/web")[0]), Signal::SIGKILL).unwrap();
    let restarted = |line: &&str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words[..5] == ["web/0", "z1", "10.244.0.2", "web/web", "running"] && words[6] == "137" && words[8] == "1"
    };
    eventually("the killed process runs again", || machine.boson(&["status"]).stdout.lines().any(|l| restarted(&l)));
    let status = machine.boson(&["status"]).ends_with(0).stdout;

    let living = pids(&status, "web/");
    assert_eq!(living.len(), 4, "{status}");
    machine.boson(&["down"]).ends_with(0);
    assert!(!living.iter().any(|pid| is_alive(*pid)));
    machine.assert_gone();

    let up = machine.up(&[]).ends_with(0);
    assert!(up.stdout.contains("packages: 0 compiled, 1 from the cache"), "{}", up.stdout);
    machine.boson(&["down"]).ends_with(0);
    machine.assert_gone();
}

#[test]
fn a_deployment_runs_as_an_ordinary_user() {
    let Some(machine) = Machine::of_nobody() else { return };
    machine.up(&[]).ends_with(0);
    let status = machine.boson(&["status"]).ends_with(0).stdout;
    assert_eq!(pids(&status, "web/").len(), 4, "{status}");
    let errand = machine.boson(&["run-errand", "check"]).ends_with(42);
    assert_eq!(errand.stdout, "hello from 0\nhello from 1\n");
    assert!(machine.boson(&["logs", "web/0"]).ends_with(0).stdout.contains("prepared 0"));
    machine.boson(&["down"]).ends_with(0);
    machine.assert_gone();
}

#[test]
fn a_colocated_errand_runs_in_the_instances_of_its_group() {
    let machine = Machine::new();
    machine.edit(
        "manifest.yml",
        "      greeting: hello\n",
        "      greeting: hello\n  - name: check\n    release: small\n",
    );
    machine.edit("release/jobs/check/templates/run.erb", "exit 42", "exit <%= spec.index %>");
    machine.up(&[]).ends_with(0);
    let errand = machine.boson(&["run-errand", "check"]).ends_with(1);
    // In both instances of web, of which the second one fails, and in that of checks.
    assert_eq!(errand.stdout, "hello from 0\nhello from 1\n".repeat(3));
    for line in ["web/0: exit status 0", "web/1: exit status 1", "checks/0: exit status 0"] {
        assert!(errand.stderr.contains(line), "{}", errand.stderr);
    }
    let errand = machine.boson(&["run-errand", "check", "--instance", "web/first"]).ends_with(0);
    assert_eq!(errand.stdout, "hello from 0\nhello from 1\n");
    let errand = machine.boson(&["run-errand", "web"]).ends_with(65);
    assert!(errand.stderr.contains("Could not find errand web"), "{}", errand.stderr);
    let status = machine.boson(&["status"]).ends_with(0).stdout;
    assert!(!status.contains("checks/0"), "{status}");
}

#[test]
fn a_strict_umask_and_an_inherited_lock_do_no_harm() {
    let machine = Machine::new();
    let mut boson = std::process::Command::new("bash");
    // As a script does that takes a lock, starts the deployment and continues.
    let script = "umask 077; exec 9>lock; flock 9; exec \"$@\"";
    let inner = machine.command(&["up", "-m", "manifest.yml", "-r", "release", "--detach"]);
    boson.args(["-c", script, "bash"]).arg(inner.get_program()).args(inner.get_args());
    boson.current_dir(machine.path("")).stdin(std::process::Stdio::null());
    boson.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let up = boson.output().unwrap();
    assert!(up.status.success(), "{}", String::from_utf8_lossy(&up.stderr));
    let lock = std::fs::File::open(machine.path("lock")).unwrap();
    assert!(lock.try_lock().is_ok(), "the deployment holds the script's lock");
    let id = "setpriv --reuid=vcap --regid=vcap --clear-groups cat /etc/hosts || test $(id -u vcap) = 0";
    machine.boson(&["exec", "web/0", "sh", "-c", id]).ends_with(0);
}

#[test]
fn a_manifest_is_read_from_a_pipe() {
    let machine = Machine::new();
    let start = |further: &[&str]| {
        let mut command = machine.command(&[&["up", "-m", "/dev/stdin", "-r", "release"], further].concat());
        let output = fs::File::create(machine.path("output")).unwrap();
        let mut up = command.stdin(std::process::Stdio::piped()).stdout(output).spawn().unwrap();
        let manifest = fs::read(machine.path("manifest.yml")).unwrap();
        std::io::Write::write_all(&mut up.stdin.take().unwrap(), &manifest).unwrap();
        up
    };
    assert_eq!(start(&["--detach"]).wait().unwrap().code(), Some(0));
    machine.boson(&["down"]).ends_with(0);
    let mut in_foreground = start(&[]);
    eventually("the deployment is up", || machine.output().contains("small is up"));
    signal(&in_foreground, Signal::SIGINT);
    assert_eq!(in_foreground.wait().unwrap().code(), Some(0));
    machine.assert_gone();
}

#[test]
fn templates_see_nothing_of_the_machine() {
    let machine = Machine::new();
    let secret = machine.path("secret");
    machine.write("secret", "of the machine");
    let look = format!(
        "<% raise 'it is seen' if ['{0}', '{1}', '/etc/shadow', '/root/.ssh'].any? {{ |f| File.exist?(f) }} %>processes:",
        secret.display(),
        machine.path("manifest.yml").display()
    );
    machine.edit("release/jobs/web/templates/bpm.yml.erb", "processes:", &look);
    machine.up(&[]).ends_with(0);
}

#[test]
fn ctrl_c_stops_everything() {
    let machine = Machine::new();
    let mut boson = machine.up_in_foreground();
    let living = pids(&machine.boson(&["status"]).ends_with(0).stdout, "web/");
    assert_eq!(living.len(), 4);
    signal(&boson, Signal::SIGINT);
    assert_eq!(boson.wait().unwrap().code(), Some(0), "{}", machine.output());
    assert!(!living.iter().any(|pid| is_alive(*pid)));
    machine.assert_gone();
}

#[test]
fn a_second_ctrl_c_kills_remaining_processes() {
    let machine = Machine::new();
    machine.edit("manifest.yml", "greeting: hello", "greeting: hello\n      ignore_term: true");
    let mut boson = machine.up_in_foreground();
    let living = pids(&machine.boson(&["status"]).ends_with(0).stdout, "web/");
    signal(&boson, Signal::SIGINT);
    eventually("the first has been taken", || {
        let status = machine.boson(&["status"]).stdout;
        status.contains("stopping")
    });
    signal(&boson, Signal::SIGINT);
    // The exit code is 0 for processes that stop in time, and for those killed after it.
    assert_eq!(boson.wait().unwrap().code(), Some(130), "{}", machine.output());
    assert!(!living.iter().any(|pid| is_alive(*pid)));
    machine.assert_gone();
}

#[test]
fn after_boson_was_killed_no_process_runs_and_down_cleans_up() {
    let machine = Machine::new();
    let mut boson = machine.up_in_foreground();
    let living = pids(&machine.boson(&["status"]).ends_with(0).stdout, "web/");
    assert_eq!(living.len(), 4);
    boson.kill().unwrap();
    boson.wait().unwrap();
    eventually("the processes have died with it", || !living.iter().any(|pid| is_alive(*pid)));
    // boson itself dies last: until it has, it takes connections, to which it gives no replies.
    eventually("boson has died", || {
        machine.boson(&["status"]).ends_with(65).stderr.contains("is not up: its boson has died")
    });
    // Logs can still be read.
    assert!(machine.boson(&["logs", "web"]).ends_with(0).stdout.contains("prepared 0"));
    machine.boson(&["down"]).ends_with(0);
    machine.assert_gone();
    machine.boson(&["down"]).ends_with(65);
}

#[test]
fn a_connection_that_closes_before_the_last_reply_is_an_error() {
    let machine = Machine::new();
    // The state of a deployment whose boson has died, and a listener in its place.
    let mut dead = std::process::Command::new("true").spawn().unwrap();
    dead.wait().unwrap();
    let state = serde_json::json!({
        "version": 1, "deployment": "small", "network": null, "addresses": {},
        "boson": {"pid": dead.id(), "started": 0},
    });
    let answer = |replies: &'static [&'static str], args: &[&str]| {
        machine.write("held/state.json", &state.to_string());
        let socket = machine.path("held/control.sock");
        let _ = fs::remove_file(&socket);
        let listener = sandbox::Listener::bind(&socket).unwrap();
        let server = std::thread::spawn(move || {
            let channel = listener.accept().unwrap();
            channel.receive::<serde_json::Value>().unwrap().unwrap();
            for reply in replies {
                channel.send(&serde_json::from_str::<serde_json::Value>(reply).unwrap(), &[]).unwrap();
            }
        });
        let (verb, rest) = args.split_first().unwrap();
        let held = machine.path("held");
        let ran = machine.boson(&[&[*verb, "--state-dir", held.to_str().unwrap()], rest].concat());
        server.join().unwrap();
        ran
    };
    const ROW: &str = r#"{"Row": {"instance": "web/0", "az": null, "ip": "10.244.0.2", "process": "web/web",
        "state": "Running", "pid": 1, "exit": null, "since": 1, "restarts": 0, "health": "Running"}}"#;
    const LINE: &str = r#"{"Line": "at work"}"#;
    let requests: [&[&str]; 6] = [
        &["status"],
        &["exec", "web/0", "true"],
        &["run-errand", "check"],
        &["start", "web/0"],
        &["stop", "web/0"],
        &["restart", "web/0/web"],
    ];
    for request in requests {
        for replies in [&[] as &[&str], &[ROW], &[LINE]] {
            let ran = answer(replies, request).ends_with(65);
            let expected = ["its boson has died", "the connection closed before the reply was complete"];
            assert!(expected.iter().all(|text| ran.stderr.contains(text)), "{request:?} {replies:?}: {}", ran.stderr);
            assert!(!ran.stdout.contains("INSTANCE"), "{}", ran.stdout);
        }
    }
    assert!(answer(&[ROW, r#"{"Exited": 0}"#], &["status"]).ends_with(0).stdout.contains("web/0"));
    // What is left is removed in any case.
    let down = answer(&[LINE], &["down"]).ends_with(70);
    assert!(down.stderr.contains("boson ended before everything had stopped"), "{}", down.stderr);
    assert!(!machine.path("held").exists());
    answer(&[], &["down"]).ends_with(0);
    assert!(!machine.path("held").exists());
}

#[test]
fn a_boson_in_the_background_that_is_killed_is_an_error() {
    let machine = Machine::new();
    let mut first = machine.up_in_foreground();
    let state = fs::read_to_string(machine.state().join("state.json")).unwrap();
    let state: serde_json::Value = serde_json::from_str(&state).unwrap();
    let second = i32::try_from(state["boson"]["pid"].as_i64().unwrap()).unwrap();
    kill(Pid::from_raw(second), Signal::SIGKILL).unwrap();
    assert_eq!(first.wait().unwrap().code(), Some(70));
    let output = machine.output();
    assert!(output.contains("the boson that holds the deployment was killed by signal 9"), "{output}");
    machine.boson(&["down"]).ends_with(0);
}

#[test]
fn up_after_a_killed_boson_starts_again() {
    let machine = Machine::new();
    let mut boson = machine.up_in_foreground();
    boson.kill().unwrap();
    boson.wait().unwrap();
    assert!(machine.state().exists());
    let up = machine.up(&[]).ends_with(0);
    assert!(up.stdout.contains("removed what an earlier boson left"), "{}", up.stdout);
    machine.boson(&["status"]).ends_with(0);
}

#[test]
fn a_network_that_is_killed_is_made_again_with_all_instances() {
    let machine = Machine::new();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    machine.up(&["--publish", &format!("{port}:web/1:8080")]).ends_with(0);
    machine.boson(&["stop", "web/0"]).ends_with(0);
    let holder = || {
        let state = fs::read_to_string(machine.state().join("state.json")).unwrap();
        let state: serde_json::Value = serde_json::from_str(&state).unwrap();
        i32::try_from(state["network"]["pid"].as_i64().unwrap()).unwrap()
    };
    let first = holder();
    kill(Pid::from_raw(first), Signal::SIGKILL).unwrap();
    eventually("another network has been made", || holder() != first);
    let answer = || {
        let mut answer = String::new();
        let _ = TcpStream::connect(("127.0.0.1", port)).and_then(|mut stream| stream.read_to_string(&mut answer));
        answer
    };
    eventually("the instance answers on its port", || answer() == "hello from 1\n");
    eventually("no request changes the deployment", || machine.boson(&["start", "web/0"]).code == Some(0));
    machine.boson(&["exec", "web/0", "getent", "hosts", "q-i1s0.web.default.small.bosh"]).ends_with(0);
    machine.boson(&["status"]).ends_with(0);
    machine.boson(&["down"]).ends_with(0);
    machine.assert_gone();
}

#[test]
fn no_secrets_are_written_to_disk() {
    let machine = Machine::new();
    if !nix::unistd::geteuid().is_root() {
        println!("skipped: only root can read everything that a sandbox writes");
        return;
    }
    machine.edit("manifest.yml", "greeting: hello", "greeting: canary-value");
    machine.up(&[]).ends_with(0);
    let mut files = vec![machine.state()];
    while let Some(path) = files.pop() {
        let meta = path.symlink_metadata().unwrap();
        if meta.is_dir() {
            files.extend(fs::read_dir(&path).unwrap().map(|e| e.unwrap().path()));
        } else if meta.is_file() {
            let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
            assert!(!text.contains("canary-value"), "{}", path.display());
        }
    }
}

#[test]
fn warnings_of_supervisors_are_shown() {
    let machine = Machine::new();
    let limited = "- name: idle\n  limits: {open_files: 4000000000}\n";
    machine.edit("release/jobs/web/templates/bpm.yml.erb", "- name: idle\n", limited);
    let up = machine.up(&[]).ends_with(0);
    let shown = format!("{}{}", up.stdout, up.stderr);
    assert!(shown.contains("web/0: warning: ") && shown.contains("limits.open_files: 4000000000 is above"), "{shown}");
    let logs = machine.boson(&["logs", "web/0", "--job", "web"]).ends_with(0);
    assert!(logs.stdout.contains("bpm.run-process.requests-unfulfilled"), "{}", logs.stdout);
}

/// In a cgroup of the instance's own, which root can make.
#[test]
fn limits_of_memory_and_processes_are_applied_or_reported() {
    let limits = "- name: idle\n  limits: {memory: 64M, processes: 50}\n";
    for machine in [Some(Machine::new()), Machine::of_nobody()].into_iter().flatten() {
        machine.edit("release/jobs/web/templates/bpm.yml.erb", "- name: idle\n", limits);
        let printed = machine.up(&[]).ends_with(0).stdout;
        let script = "cat /run/boson/limits/cgroup/*/bpm/web.idle/memory.limit_in_bytes /run/boson/limits/cgroup/bpm/web.idle/memory.max \
                      /run/boson/limits/cgroup/*/bpm/web.idle/pids.max /run/boson/limits/cgroup/bpm/web.idle/pids.max 2>/dev/null";
        let limited = machine.boson(&["exec", "web/0", "sh", "-c", script]).stdout;
        let not_applied =
            "\n  limits.memory: not applied: the instance has no cgroup\n  limits.processes: not applied: ";
        if printed.contains(not_applied) {
            assert_eq!(limited, "");
        } else {
            assert_eq!(limited, "67108864\n50\n", "{printed}");
            assert!(!printed.contains("not applied"), "{printed}");
        }
        machine.boson(&["down"]).ends_with(0);
        machine.assert_gone();
    }
}
