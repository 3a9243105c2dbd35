//! What a person does with instances that run: stop, start and recreate several, look around, remove everything.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::{Command, Stdio};

use crate::Machine;
use crate::deployment::{is_alive, pids};

#[test]
fn groups_and_all_instances_are_stopped_started_and_recreated() {
    let machine = Machine::new();
    machine.up(&[]).ends_with(0);
    let pids = || pids(&machine.boson(&["status"]).ends_with(0).stdout, "web/web");
    let before = pids();
    let stopped = machine.boson(&["stop", "web"]).ends_with(0).stdout;
    assert!(stopped.contains("web/0 stopped\n") && stopped.contains("web/1 stopped\n"), "{stopped}");
    machine.boson(&["status"]).ends_with(3);
    let unknown = machine.boson(&["start", "web", "wbe", "web/7"]).ends_with(65).stderr;
    assert!(unknown.contains("instance group 'wbe'") && unknown.contains("instance 'web/7'"), "{unknown}");
    machine.boson(&["start", "--all"]).ends_with(0);
    let started = pids();
    machine.boson(&["recreate", "web/1"]).ends_with(0);
    let recreated = pids();
    assert_eq!((recreated.len(), recreated[0]), (2, started[0]));
    assert!(!recreated.contains(&started[1]) && !is_alive(before[0]));
    machine.boson(&["recreate", "web/1/web"]).ends_with(65);
}

#[test]
fn a_stopped_instance_stays_stopped_through_updates_and_starts_with_the_last_version() {
    let machine = Machine::new();
    machine.up(&[]).ends_with(0);
    machine.boson(&["stop", "web/0"]).ends_with(0);
    machine.edit("manifest.yml", "greeting: hello", "greeting: farewell");
    let up = machine.up(&[]).ends_with(0).stdout;
    assert!(up.contains("web/0: stopped, and stays so; `boson start web/0` starts it"), "{up}");
    assert!(up.contains("web/1: updated") && !up.contains("web/0: updated"), "{up}");
    machine.boson(&["status"]).ends_with(3);
    assert!(machine.up(&[]).ends_with(0).stdout.contains("small: nothing has changed"));
    machine.boson(&["start", "web/0"]).ends_with(0);
    machine.boson(&["status"]).ends_with(0);
    let rendered = machine.boson(&["exec", "web/0", "cat", "/var/vcap/jobs/web/config/greeting"]).ends_with(0).stdout;
    assert!(rendered.starts_with("farewell "), "{rendered}");
}

#[test]
fn a_shell_is_the_default_command_and_missing_programs_have_its_exit_codes() {
    let machine = Machine::new();
    machine.up(&[]).ends_with(0);
    let mut command = machine.command(&["ssh", "web/0"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"cat /var/vcap/instance/name; exit 5\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(5), b"web".as_slice()));
    let missing = machine.boson(&["exec", "web/0", "no-such-program"]).ends_with(127);
    assert_eq!(missing.stderr, "error: no-such-program: command not found\n");
    machine.boson(&["exec", "web/0", "/etc/hosts"]).ends_with(126);
}

#[test]
fn down_kills_at_once_and_forgets_on_request() {
    let machine = Machine::new();
    machine.edit("manifest.yml", "greeting: hello", "greeting: ((greeting))\n      ignore_term: true");
    machine.edit("manifest.yml", "update: ", "variables: [{name: greeting, type: password}]\nupdate: ");
    machine.up(&[]).ends_with(0);
    let running = pids(&machine.boson(&["status"]).ends_with(0).stdout, "web/");
    machine.boson(&["down", "--force"]).ends_with(0);
    assert!(!running.iter().any(|pid| is_alive(*pid)));
    assert!(machine.state().join("variables.yml").exists());
    let forgotten = machine.boson(&["down", "-d", "small", "--forget"]).ends_with(0);
    assert_eq!(forgotten.stdout, "removed the generated variables\n");
    machine.assert_gone();
}

/// Makes an archive of the release's job `check`, which needs no package; returns it.
fn archive(machine: &Machine) -> Vec<u8> {
    let script = "set -e
        mkdir -p t/jobs b/templates; cp release/jobs/check/spec b/job.MF; cp release/jobs/check/monit b
        cp release/jobs/check/templates/* b/templates; tar czf t/jobs/check.tgz -C b .
        printf 'name: other\\nversion: 7\\njobs:\\n- {name: check, version: 1, sha1: %s}\\n' \
          $(sha1sum < t/jobs/check.tgz | cut -d' ' -f1) > t/release.MF
        tar czf other.tgz -C t .";
    assert!(Command::new("sh").args(["-c", script]).current_dir(machine.path("")).status().unwrap().success());
    std::fs::read(machine.path("other.tgz")).unwrap()
}

#[test]
fn releases_are_downloaded_once_and_checked() {
    let machine = Machine::new();
    let archive = archive(&machine);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/other.tgz", listener.local_addr().unwrap());
    // It answers twice.
    let server = std::thread::spawn(move || {
        for _ in 0..2 {
            let mut connection = listener.accept().unwrap().0;
            let mut request = [0; 1024];
            assert!(connection.read(&mut request).unwrap() > 0);
            write!(connection, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", archive.len()).unwrap();
            connection.write_all(&archive).unwrap();
        }
    });
    let release =
        |sha1: &str| format!("  version: latest\n- {{name: other, version: 7, url: '{url}', sha1: {sha1}}}\n");
    machine.edit("manifest.yml", "  - name: check\n    release: small\n", "  - name: check\n    release: other\n");
    machine.edit("manifest.yml", "  version: latest\n", &release("a123"));
    let up =
        |further: &[&str]| machine.boson(&[&["up", "manifest.yml", "-r", "release", "--dry-run"], further].concat());
    let wrong = up(&[]).ends_with(65).stderr;
    assert!(wrong.contains("another one than the manifest's") && wrong.contains("expected a123"), "{wrong}");
    let sum = Command::new("sha256sum").arg(machine.path("other.tgz")).output().unwrap().stdout;
    let sum = format!("'sha256:{}'", String::from_utf8_lossy(&sum[..64]));
    machine.edit("manifest.yml", "sha1: a123", &format!("sha1: {sum}"));
    assert!(up(&["--offline"]).ends_with(65).stderr.contains("release 'other' has not been downloaded"));
    let first = up(&[]).ends_with(1).stdout;
    assert!(first.contains("downloaded the release other: "), "{first}");
    server.join().unwrap();
    let again = up(&["--offline"]).ends_with(1).stdout;
    assert!(!again.contains("downloaded the release"), "{again}");
    let list = machine.boson(&["cache", "list"]).ends_with(0).stdout;
    assert!(list.contains("\ndownload "), "{list}");
}
