//! `--logs-syslog`: a socket in place of `/dev/log`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::process::Command;

use nix::sys::signal::Signal;
use testkit::waiting::eventually;

use crate::support::Case;

#[test]
fn messages_become_lines_of_a_log() {
    let case = Case::new();
    let path = case.path("log");
    // Left by a killed predecessor.
    drop(UnixDatagram::bind(&path).unwrap());
    let tail = case.start(&["--logs-syslog", path.to_str().unwrap()]);
    eventually("the socket accepts messages", || {
        let sender = UnixDatagram::unbound().unwrap();
        sender.send_to(b"<13>Nov 22 17:00:00 web: first\0", &path).is_ok()
    });
    tail.wait_for("[syslog.log] Nov 22 17:00:00 web: first\n");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o666);
    assert_eq!(fs::metadata(case.log("syslog.log")).unwrap().permissions().mode() & 0o777, 0o640);
    let sender = UnixDatagram::unbound().unwrap();
    sender.connect(&path).unwrap();
    for n in 0..2000 {
        sender.send(format!("<13>{n}\nof many").as_bytes()).unwrap();
    }
    // Terminated at once: messages sent before are forwarded.
    tail.signal(Signal::SIGINT);
    let (stdout, _, status) = tail.end();
    assert_eq!(status, 0);
    let lines: Vec<String> = (0..2000).map(|n| format!("[syslog.log] {n}#012of many")).collect();
    assert_eq!(stdout.lines().skip(1).collect::<Vec<_>>(), lines);
    assert!(!path.exists(), "the socket is removed");
}

#[test]
fn logger_can_send_messages() {
    if Command::new("logger").arg("--version").output().is_err() {
        return;
    }
    let case = Case::new();
    let path = case.path("log");
    let tail = case.start(&["--logs-syslog", path.to_str().unwrap()]);
    eventually("the socket exists", || path.exists());
    let sent = Command::new("logger").arg("--socket").arg(&path).args(["-t", "web", "hello there"]).status().unwrap();
    assert!(sent.success());
    tail.wait_for(" web: hello there\n");
}

#[test]
fn an_empty_directory_and_the_socket_of_a_predecessor_are_replaced() {
    let case = Case::new();
    fs::create_dir(case.path("sockets")).unwrap();
    let path = case.path("sockets/log");
    // The kubelet creates a directory for a `subPath` that does not exist.
    fs::create_dir(&path).unwrap();
    for message in ["first", "second"] {
        let tail = case.start(&["--logs-syslog", path.to_str().unwrap()]);
        eventually("the socket accepts messages", || {
            UnixDatagram::unbound().unwrap().send_to(message.as_bytes(), &path).is_ok()
        });
        tail.wait_for(&format!("[syslog.log] {message}\n"));
        tail.kill();
        let names: Vec<_> = fs::read_dir(case.path("sockets")).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names, ["log"]);
    }
}

#[test]
fn an_existing_file_at_the_socket_path_is_kept() {
    let case = Case::new();
    fs::write(case.path("log"), "kept").unwrap();
    let output = case.command(&["--logs-syslog", case.path("log").to_str().unwrap()]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("log exists and is not a socket"), "{output:?}");
    assert_eq!(fs::read_to_string(case.path("log")).unwrap(), "kept");
}
