//! Server and clients on real sockets.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use control::{Caller, Reply, Request, RequestError, Server, State, Status, ask};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::Uid;

/// Far longer than any step takes, even on a busy machine.
const DEADLINE: Duration = Duration::from_secs(600);

fn status() -> Reply {
    Reply::Done(Status {
        state: State::Running,
        pid: Some(7),
        pid_namespace: None,
        exit_code: None,
        since: 5,
        failing: None,
    })
}

/// Waits for the next requests.
fn take(server: &mut Server) -> Vec<(Caller, Request)> {
    loop {
        let mut fds = [PollFd::new(server.as_fd(), PollFlags::POLLIN)];
        assert_eq!(poll(&mut fds, PollTimeout::try_from(DEADLINE).unwrap()), Ok(1), "nobody asks");
        let requests = server.requests();
        if !requests.is_empty() {
            return requests;
        }
    }
}

fn asking(path: &Path, request: Request) -> JoinHandle<Result<Reply, RequestError>> {
    let path = path.to_owned();
    thread::spawn(move || ask(&path, request, DEADLINE))
}

/// Answers the next request and gives it.
fn answer(server: &mut Server) -> Request {
    let (caller, request) = take(server)[0];
    server.reply(caller, &status());
    request
}

#[test]
fn a_request_is_answered_on_completion() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("web.sock");
    let mut server = Server::listen(&path).unwrap();
    let meta = path.symlink_metadata().unwrap();
    assert!(meta.file_type().is_socket() && meta.permissions().mode() & 0o777 == 0o600);
    let stop = asking(&path, Request::Stop { wait: true });
    let (stopper, request) = take(&mut server)[0];
    assert_eq!(request, Request::Stop { wait: true });
    // Other clients are answered meanwhile.
    let other = asking(&path, Request::Status);
    assert_eq!(answer(&mut server), Request::Status);
    assert_eq!(other.join().unwrap().unwrap(), status());
    assert!(!stop.is_finished());
    server.reply(stopper, &Reply::refused("enough"));
    assert_eq!(stop.join().unwrap().unwrap(), Reply::refused("enough"));
    drop(server);
    assert!(!path.exists());
    assert!(matches!(ask(&path, Request::Status, DEADLINE), Err(RequestError::NoServer)));
}

#[test]
fn a_socket_path_may_exceed_the_address_limit() {
    let dir = tempfile::tempdir().unwrap();
    let deep = dir.path().join("d".repeat(200)).join("e".repeat(200));
    fs::create_dir_all(&deep).unwrap();
    let path = deep.join(format!("{}.sock", "p".repeat(200)));
    let mut server = Server::listen(&path).unwrap();
    let client = asking(&path, Request::Start);
    assert_eq!(answer(&mut server), Request::Start);
    assert_eq!(client.join().unwrap().unwrap(), status());
    let names: Vec<PathBuf> = fs::read_dir(&deep).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(names, [path], "nothing else is left");
}

#[test]
fn the_socket_of_a_killed_predecessor_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("web.sock");
    // Dropping a listener of the standard library leaves its socket, as a kill does.
    drop(UnixListener::bind(&path).unwrap());
    assert!(matches!(ask(&path, Request::Status, DEADLINE), Err(RequestError::NoServer)));
    let mut server = Server::listen(&path).unwrap();
    let client = asking(&path, Request::Status);
    answer(&mut server);
    client.join().unwrap().unwrap();
    // Killed before the socket was renamed to its path.
    let mut successor = Server::listen(&path).unwrap();
    drop(server);
    let client = asking(&path, Request::Status);
    answer(&mut successor);
    client.join().unwrap().unwrap();
}

#[test]
fn hanging_and_invalid_clients_do_not_block_others() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("web.sock");
    let mut server = Server::listen(&path).unwrap();
    let mut hanging = Vec::new();
    for half in 0..100 {
        let mut stream = UnixStream::connect(&path).unwrap();
        stream.write_all(&br#"{"version":2"#[..half % 10]).unwrap();
        hanging.push(stream);
        assert_eq!(server.requests(), []);
    }
    let client = asking(&path, Request::Status);
    answer(&mut server);
    assert_eq!(client.join().unwrap().unwrap(), status());
    for (nonsense, why) in [
        (&[b"{", &[b' '; control::LONGEST][..]].concat()[..], "it is too long"),
        (b"{}\n", "it is malformed"),
        (b"\xff\n", "it is malformed"),
        (b"{\"version\":2,\"request\":\"fly\"}\n", "it is malformed"),
        (b"{\"version\":3,\"request\":\"status\"}\n", "it has version 3, and version 2 is expected"),
        // In the format of version 1.
        (b"\0\0\0\x14{\"request\":\"status\"}", "it is malformed"),
    ] {
        let mut stream = UnixStream::connect(&path).unwrap();
        stream.write_all(nonsense).unwrap();
        let reader = thread::spawn(move || {
            let mut answer = String::new();
            stream.read_to_string(&mut answer).map(|_| answer)
        });
        while !reader.is_finished() {
            assert_eq!(server.requests(), []);
            thread::yield_now();
        }
        let expected = format!("{{\"version\":2,\"reply\":\"refused\",\"message\":\"invalid request: {why}\"}}\n");
        assert_eq!(reader.join().unwrap().unwrap(), expected);
    }
}

#[test]
fn pending_replies_are_kept_when_new_clients_connect() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("web.sock");
    let mut server = Server::listen(&path).unwrap();
    let waiting: Vec<_> = (0..32).map(|_| asking(&path, Request::Stop { wait: true })).collect();
    let mut callers = Vec::new();
    while callers.len() < 32 {
        callers.extend(take(&mut server));
    }
    let newcomer = asking(&path, Request::Status);
    while !newcomer.is_finished() {
        assert_eq!(server.requests(), []);
        thread::yield_now();
    }
    assert_eq!(newcomer.join().unwrap().unwrap(), Reply::refused("too many requests wait for their replies"));
    for (caller, _) in callers {
        server.reply(caller, &status());
    }
    assert!(waiting.into_iter().all(|client| client.join().unwrap().unwrap() == status()));
}

#[test]
fn a_disconnected_client_is_dropped() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("web.sock");
    let mut server = Server::listen(&path).unwrap();
    let limit = Duration::from_millis(20);
    for _ in 0..100 {
        assert!(matches!(ask(&path, Request::Stop { wait: true }, limit), Err(RequestError::TimedOut)));
        // The client may have gone already: the reply is dropped.
        for (caller, _) in server.requests() {
            server.reply(caller, &status());
        }
    }
    let client = asking(&path, Request::Status);
    while !client.is_finished() {
        for (caller, _) in server.requests() {
            server.reply(caller, &status());
        }
        thread::yield_now();
    }
    assert_eq!(client.join().unwrap().unwrap(), status());
}

#[test]
fn the_exit_of_the_server_ends_the_wait_of_its_clients() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("web.sock");
    let mut server = Server::listen(&path).unwrap();
    let client = asking(&path, Request::Stop { wait: true });
    take(&mut server);
    drop(server);
    assert!(matches!(client.join().unwrap(), Err(RequestError::Closed)));
}

const AS_SOMEBODY_ELSE: &str = "CONTROL_TEST_SOCKET";

/// Does something in the process that [`requests_of_other_users_are_refused`] starts, and nothing else.
#[test]
fn somebody_else() {
    let Some(path) = std::env::var_os(AS_SOMEBODY_ELSE) else { return };
    let said = match ask(Path::new(&path), Request::Status, DEADLINE) {
        Ok(Reply::Refused { message }) => message,
        other => format!("{other:?}"),
    };
    println!("said: {said}");
}

#[test]
fn requests_of_other_users_are_refused() {
    if !Uid::effective().is_root() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let path = dir.path().join("web.sock");
    let mut server = Server::listen(&path).unwrap();
    let program = dir.path().join("test");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let mut ask_as = |uid: u32| {
        let mut command = std::process::Command::new(&program);
        command.args(["--exact", "somebody_else", "--nocapture"]).env(AS_SOMEBODY_ELSE, &path).uid(uid).gid(uid);
        let client = thread::spawn(move || command.output().unwrap());
        while !client.is_finished() {
            for (caller, _) in server.requests() {
                server.reply(caller, &Reply::refused("heard"));
            }
            thread::yield_now();
        }
        let output = client.join().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.split("said: ").nth(1).unwrap_or_else(|| panic!("{output:?}")).lines().next().unwrap().to_owned()
    };
    assert_eq!(ask_as(0), "heard");
    assert_eq!(ask_as(1000), "Err(Forbidden)", "the socket is its owner's");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    assert!(ask_as(1000).starts_with("user 1000 may not control this process"), "and who asks is looked at");
}
