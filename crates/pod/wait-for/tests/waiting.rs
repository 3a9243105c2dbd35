//! Waiting for real ports, servers and files.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;

use nix::sys::signal::{Signal, kill};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrIn, bind, getsockname, socket};
use nix::unistd::Pid;

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(testkit::executable("wait-for"));
    command.env_clear().args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn wait_for(args: &[&str]) -> Output {
    command(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs it until its stderr contains `expected`; returns it with the text so far.
fn start_until_printed(mut command: Command, expected: &str) -> (Child, String) {
    let mut child = command.spawn().unwrap();
    let mut stderr = child.stderr.take().unwrap();
    let mut so_far = Vec::new();
    let mut byte = [0];
    while !text(&so_far).contains(expected) {
        assert_eq!(stderr.read(&mut byte).unwrap(), 1, "it ended: {}", text(&so_far));
        so_far.push(byte[0]);
    }
    child.stderr = Some(stderr);
    (child, text(&so_far))
}

/// An HTTP server that sends these answers one after the other, and repeats the last one.
fn serve(answers: &'static [&'static str]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let mut stream = stream.unwrap();
            let mut request = Vec::new();
            let mut byte = [0];
            while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) == 1 {
                request.push(byte[0]);
            }
            let request = text(&request);
            let answer = answers[number.min(answers.len() - 1)];
            let answer = if answer == "echo" {
                let ok = request.starts_with("GET /health?key=hunter2 HTTP/1.1\r\nHost: 127.0.0.1:");
                if ok { "HTTP/1.1 204 No Content\r\n\r\n" } else { "HTTP/1.1 400 Bad Request\r\n\r\n" }
            } else {
                answer
            };
            // In pieces, as a network may deliver them.
            for piece in answer.as_bytes().chunks(7) {
                let _ = stream.write_all(piece).and_then(|()| stream.flush());
            }
        }
    });
    address
}

/// A port without a listener, reserved while the descriptor is open.
fn closed_port() -> (OwnedFd, String) {
    let fd = socket(AddressFamily::Inet, SockType::Stream, SockFlag::empty(), None).unwrap();
    bind(fd.as_raw_fd(), &SockaddrIn::new(127, 0, 0, 1, 0)).unwrap();
    let address: SockaddrIn = getsockname(fd.as_raw_fd()).unwrap();
    (fd, format!("127.0.0.1:{}", address.port()))
}

#[test]
fn available_targets_complete_the_wait_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let address = serve(&["echo"]);
    let (file, http) = (dir.path().to_str().unwrap(), format!("http://{address}/health?key=hunter2"));
    let output = wait_for(&[file, &format!("tcp:{address}"), &http, "dns:localhost"]);
    let stderr = text(&output.stderr);
    assert!(output.status.success() && output.stdout.is_empty(), "{stderr}");
    assert_eq!(stderr.matches(": available\n").count(), 4, "{stderr}");
    assert!(!stderr.contains("hunter2"), "{stderr}");
}

#[test]
fn targets_that_appear_later_are_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("ready");
    let file = file.to_str().unwrap();
    let address = serve(&["HTTP/1.1 503 Unavailable\r\n\r\n", "hello\r\n", "", "HTTP/1.0 302 Found\r\n\r\n"]);
    let (child, stderr) = start_until_printed(command(&["--wait-interval", "10ms", file]), "exist\n");
    assert!(stderr.ends_with(&format!("file:{file}: waiting: it does not exist\n")), "{stderr}");
    std::fs::write(file, "").unwrap();
    assert!(child.wait_with_output().unwrap().status.success());
    let output = wait_for(&["--interval", "10ms", &format!("http://{address}/")]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("waiting: HTTP status 503\n"), "{}", text(&output.stderr));
}

#[test]
fn the_final_message_lists_missing_targets_and_causes() {
    let root = tempfile::tempdir().unwrap();
    testkit::files::write(&root.path().join("etc/hosts"), "127.0.0.1 web\n");
    testkit::files::write(&root.path().join("etc/resolv.conf"), "nameserver nobody\noptions timeout:1 attempts:1\n");
    let (_guard, closed) = closed_port();
    let port = closed.rsplit(':').next().unwrap().to_owned();
    let (web, shown) = (format!("tcp:web:{port}"), format!("tcp:web:{port}: 127.0.0.1:{port}: connection refused"));
    let server = serve(&["HTTP/1.1 500 Internal Server Error\r\n\r\n"]);
    let http = format!("http://{server}/x?token=hunter2");
    let args = ["--root", root.path().to_str().unwrap(), "--wait-timeout", "300ms", &web, "/", &http, "/no/such/file"];
    let output = wait_for(&args);
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(70), "{stderr}");
    let end = &stderr[stderr.find("error: ").unwrap()..];
    assert!(end.starts_with("error: 3 of 4 targets are not available after 300ms\n"), "{end}");
    for cause in [&shown, &format!("http://{server}/x: HTTP status 500"), "file:/no/such/file: it does not exist"] {
        assert!(end.contains(&format!("caused by: {cause}")), "{cause}: {end}");
    }
    assert!(!stderr.contains("hunter2"), "{stderr}");
}

#[test]
fn a_silent_server_times_out() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = format!("http://{}/", listener.local_addr().unwrap());
    let output = wait_for(&["--wait-timeout", "0", "--wait-check-timeout", "100ms", &target]);
    assert_eq!(output.status.code(), Some(70));
    let stderr = text(&output.stderr);
    let expected = format!("error: {target} is not available\n  caused by: no answer\n  code: wait-timeout ");
    assert!(stderr.contains(&expected), "{stderr}");
}

#[test]
fn targets_and_the_any_mode_can_be_set_by_environment() {
    let mut any = command(&[]);
    any.env("WAIT_FOR", "file:/nonexistent/a\n /").env("WAIT_ANY", "true").env("WAIT_TIMEOUT", "1h");
    assert!(any.output().unwrap().status.success());
    let mut all = command(&["--wait-timeout", "0"]);
    let output = all.env("WAIT_FOR", "/ /nonexistent/a").env("WAIT_TIMEOUT", "1h").output().unwrap();
    assert_eq!(output.status.code(), Some(70), "{}", text(&output.stderr));
}

#[test]
fn signals_end_the_wait_at_once_with_their_exit_code() {
    for (signal, code, name) in [(Signal::SIGTERM, 143, "SIGTERM"), (Signal::SIGINT, 130, "SIGINT")] {
        // Even while a check is running.
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let http = format!("http://{}/", listener.local_addr().unwrap());
        let command = command(&["--wait-check-timeout", "1h", "/nonexistent/file", &http]);
        let (child, _) = start_until_printed(command, "waiting");
        kill(Pid::from_raw(child.id().try_into().unwrap()), signal).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code));
        let stderr = text(&output.stderr);
        assert!(stderr.contains(&format!("interrupted by {name}: it does not exist\n")), "{stderr}");
        assert!(stderr.contains(&format!("{http}: interrupted by {name}\n")), "{stderr}");
    }
}

#[test]
fn invalid_arguments_are_a_usage_error() {
    let cases: [&[&str]; 6] = [
        &[],
        &[" "],
        &["https://user:hunter2@web/"],
        &["db:0", "ftp://x"],
        &["--wait-timeout", "soon", "/"],
        &["--wait-interval", "-1", "/"],
    ];
    for args in cases {
        let output = wait_for(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(!text(&output.stderr).contains("hunter2"), "{}", text(&output.stderr));
    }
}

#[test]
fn progress_can_be_printed_as_json() {
    let output = wait_for(&["--log-format", "json", "--wait-timeout", "0", "/", "/nonexistent/file"]);
    let stderr = text(&output.stderr);
    let lines: Vec<serde_json::Value> =
        stderr.lines().filter(|l| l.starts_with('{')).map(|l| serde_json::from_str(l).unwrap()).collect();
    let file = lines.iter().find(|line| line["target"] == "file:/nonexistent/file").unwrap();
    assert_eq!((file["state"].as_str(), file["cause"].as_str()), (Some("waiting"), Some("it does not exist")));
    assert!(file["seconds"].is_number() && lines.iter().any(|line| line["state"] == "available"), "{stderr}");
}

#[test]
fn a_hundred_targets_are_checked_concurrently() {
    let dir = tempfile::tempdir().unwrap();
    let files: Vec<PathBuf> = (0..100).map(|n| dir.path().join(format!("file-{n}"))).collect();
    let mut command = command(&["--wait-interval", "5ms"]);
    command.args(&files);
    let (child, _) = start_until_printed(command, "waiting");
    let touch = |files: &[PathBuf]| files.iter().for_each(|file: &PathBuf| std::fs::write(file as &Path, "").unwrap());
    touch(&files);
    assert!(child.wait_with_output().unwrap().status.success());
}

/// A name server that has `db.example` only, on an otherwise unused address; `None` where that needs root.
fn name_server() -> Option<IpAddr> {
    let pid = std::process::id().to_be_bytes();
    let address = Ipv4Addr::new(127, 53, pid[2].max(1), pid[3].max(1));
    let server = UdpSocket::bind((address, 53)).ok()?;
    thread::spawn(move || {
        let mut query = [0; 512];
        while let Ok((n, from)) = server.recv_from(&mut query) {
            let is_known = query[12..n].starts_with(b"\x02db\x07example\0\0\x01");
            // The query, as an answer: with one address, or with the code for a name that does not exist.
            let mut answer = query[..n].to_vec();
            answer[2] |= 0x80;
            if is_known {
                answer[7] = 1;
                answer.extend_from_slice(b"\xc0\x0c\0\x01\0\x01\0\0\0\x01\0\x04\x7f\0\0\x01");
            } else {
                answer[3] |= 3;
            }
            server.send_to(&answer, from).unwrap();
        }
    });
    Some(address.into())
}

#[test]
fn names_resolve_without_the_c_library() {
    let Some(server) = name_server() else { return };
    let root = tempfile::tempdir().unwrap();
    let conf = format!("nameserver {server}\nsearch nowhere.example example\n");
    testkit::files::write(&root.path().join("etc/resolv.conf"), conf);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let tcp = format!("tcp:db:{}", listener.local_addr().unwrap().port());
    let root = root.path().to_str().unwrap();
    let output = wait_for(&["--root", root, "db", "dns:db.example.", &tcp]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let output = wait_for(&["--root", root, "--wait-timeout", "0", "dns:other"]);
    let stderr = text(&output.stderr);
    assert!(stderr.contains("caused by: no such name (last queried: other)"), "{stderr}");
}
