//! What an update would change, before it is made: `--dry-run`, and the question at a terminal.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::process::Stdio;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::pty::openpty;

use crate::Machine;

#[test]
fn a_dry_run_shows_what_changes_and_changes_nothing() {
    let machine = Machine::new();
    let dry_run = |code: i32| machine.up(&["--dry-run"]).ends_with(code).stdout;
    let first = dry_run(1);
    assert!(first.contains("instance group web (new)\n  web/0, web/1: new\n"), "{first}");
    assert!(!machine.state().exists() && !machine.path("cache/boson/packages").exists());

    machine.up(&[]).ends_with(0);
    let status = || machine.boson(&["status", "--column", "pid", "--column", "instance"]).ends_with(0).stdout;
    let before = status();
    let same = dry_run(0);
    assert!(same.ends_with("\nno changes\n"), "{same}");

    machine.edit("manifest.yml", "greeting: hello", "greeting: welcome");
    machine.edit("release/src/tool/serve", "served", "has served");
    let changed = dry_run(1);
    for part in [
        "web/0, web/1: replaced (rendered files; packages tool)\n",
        "  ~ property web.greeting: hello -> welcome\n",
        "-hello 127.0.0.1 z1\n+welcome 127.0.0.1 z1\n",
        "\n2 instances to replace\n",
    ] {
        assert!(changed.contains(part), "{part:?}: {changed}");
    }
    assert_eq!(status(), before);
    // The version that is up has not been replaced by the one that was only shown.
    assert_eq!(dry_run(1).matches("+welcome").count(), changed.matches("+welcome").count());
}

#[test]
fn what_a_dry_run_generates_is_forgotten_and_secrets_are_not_shown() {
    let machine = Machine::new();
    machine.edit("manifest.yml", "greeting: hello", "greeting: ((greeting))");
    machine.edit("manifest.yml", "update: ", "variables: [{name: greeting, type: password}]\nupdate: ");
    machine.up(&["--dry-run"]).ends_with(1);
    assert!(!machine.state().exists());
    machine.up(&[]).ends_with(0);
    let store = fs::read_to_string(machine.state().join("variables.yml")).unwrap();
    let secret = store.lines().find_map(|line| line.strip_prefix("greeting: ")).unwrap().to_owned();
    machine.edit("manifest.yml", "greeting: ((greeting))", "greeting: x((greeting))");
    let changed = machine.up(&["--dry-run"]).ends_with(1).stdout;
    assert!(changed.contains("+x<redacted> ") && !changed.contains(&secret), "{changed}");
    assert_eq!(fs::read_to_string(machine.state().join("variables.yml")).unwrap(), store);
}

#[test]
fn instances_are_recreated_on_request() {
    let machine = Machine::new();
    machine.up(&[]).ends_with(0);
    let shown = machine.up(&["--dry-run", "--recreate"]).ends_with(1).stdout;
    assert!(shown.contains("web/0, web/1: replaced (on request)\n"), "{shown}");
    let shown = machine.up(&["--dry-run", "--allow-privileged", "web"]).ends_with(1).stdout;
    assert!(shown.contains("web/0, web/1: replaced (privileged jobs)\n"), "{shown}");
    let up = machine.up(&["--recreate"]).ends_with(0);
    assert!(up.stdout.contains("web/0: updated") && up.stdout.contains("web/1: updated"), "{}", up.stdout);
    let up = machine.up(&["--fix"]).ends_with(0);
    assert!(up.stdout.contains("nothing has changed"), "{}", up.stdout);
}

/// Runs `up` at a terminal, answers its question, and gives the exit code with what was printed.
fn up_at_a_terminal(machine: &Machine, further: &[&str], answer: &str) -> (Option<i32>, String) {
    let pty = openpty(None, None).unwrap();
    let mut terminal = File::from(pty.master);
    let stream = || Stdio::from(pty.slave.try_clone().unwrap());
    let mut command = machine.command(&[&["up", "manifest.yml", "-r", "release", "--detach"], further].concat());
    let mut child = command.stdin(stream()).stdout(stream()).stderr(stream()).spawn().unwrap();
    drop(command);
    drop(pty.slave);
    let (mut printed, mut buffer) = (String::new(), [0; 1024]);
    let mut is_answered = false;
    // Until the child has exited and nothing is left to be read: what holds the deployment may have the terminal open.
    loop {
        let has_exited = child.try_wait().unwrap().is_some();
        let mut fds = [PollFd::new(terminal.as_fd(), PollFlags::POLLIN)];
        if poll(&mut fds, PollTimeout::from(50_u16)).unwrap() == 0 {
            if has_exited {
                break;
            }
            continue;
        }
        // EIO: the terminal has no other end any more.
        let Ok(length @ 1..) = terminal.read(&mut buffer) else { break };
        printed.push_str(&String::from_utf8_lossy(&buffer[..length]));
        if !is_answered && printed.contains("Continue? [yN]: ") {
            terminal.write_all(answer.as_bytes()).unwrap();
            is_answered = true;
        }
    }
    (child.wait().unwrap().code(), printed)
}

#[test]
fn a_person_is_asked_before_an_update() {
    let machine = Machine::new();
    let (code, printed) = up_at_a_terminal(&machine, &[], "");
    assert!(code == Some(0) && !printed.contains("Continue?"), "a first start is not asked for: {printed}");
    machine.edit("manifest.yml", "greeting: hello", "greeting: welcome");
    let (code, printed) = up_at_a_terminal(&machine, &[], "n\r");
    assert!(code == Some(1) && printed.contains("stopped; nothing has changed"), "{printed}");
    assert!(printed.contains("\x1b[32m+welcome"), "{printed}");
    let greeting = || machine.boson(&["exec", "web/0", "cat", "/var/vcap/jobs/web/config/greeting"]).stdout;
    assert!(greeting().starts_with("hello "));
    // The end of the input.
    let (code, printed) = up_at_a_terminal(&machine, &[], "\x04");
    assert!(code == Some(1) && greeting().starts_with("hello "), "{printed}");
    let (code, printed) = up_at_a_terminal(&machine, &[], "yes\r");
    assert!(code == Some(0) && greeting().starts_with("welcome "), "{printed}");
    machine.edit("manifest.yml", "greeting: welcome", "greeting: hello");
    let (code, printed) = up_at_a_terminal(&machine, &["-n"], "");
    assert!(code == Some(0) && !printed.contains("Continue?") && greeting().starts_with("hello "), "{printed}");
}

#[test]
fn a_manifest_of_another_deployment_is_refused() {
    let machine = Machine::new();
    let refused = machine.up(&["-d", "prod"]).ends_with(65);
    let expected = "Expected manifest to specify deployment name 'prod' but was 'small'";
    assert!(refused.stderr.contains(expected), "{}", refused.stderr);
    assert!(!machine.path("state/boson/prod").exists());
    machine.up(&["-d", "small", "--dry-run"]).ends_with(1);
    machine.edit("manifest.yml", "name: small\nreleases", "releases");
    let shown = machine.up(&["-d", "prod", "--dry-run"]).ends_with(1);
    assert!(shown.stdout.contains("planned prod: "), "{}", shown.stdout);
}
