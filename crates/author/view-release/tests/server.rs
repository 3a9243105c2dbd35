//! `boson view` as a server: what it answers, and what it refuses.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;

use common::{MANIFEST, Server, TEMPLATE, deployment, view};
use testkit::files::{names, write};
use testkit::waiting::eventually;

const FILE: &str = "instances/web-0/files/web/config/web.yml.html";

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or_default()
}

#[test]
fn pages_are_served_with_strict_headers_and_masked_secrets() {
    let directory = deployment();
    let server = Server::start(directory.path());
    let page = server.get("");
    assert_eq!(status(&page), "200", "{page}");
    for header in [
        "Cache-Control: no-store\r\n",
        "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; ",
        "X-Content-Type-Options: nosniff\r\n",
        "Referrer-Policy: no-referrer\r\n",
    ] {
        assert!(page.contains(header), "{header}: {page}");
    }
    assert!(page.contains("web/1</a>") && page.contains("<svg "), "{page}");
    let masked = server.get(FILE);
    assert!(masked.contains("&lt;redacted&gt;") && !masked.contains("the-secret-password"), "{masked}");
    assert!(server.get(&format!("{FILE}?secrets=show")).contains("the-secret-password"));
    let head = server.answer(&format!("HEAD {}view.js HTTP/1.1\nHost: {}\n\n", server.root(), server.host()));
    assert!(head.ends_with("\r\n\r\n") && status(&head) == "200", "{head}");
}

#[test]
fn other_requests_are_refused() {
    let directory = deployment();
    let server = Server::start(directory.path());
    let (root, host) = (server.root(), server.host());
    let answer = |head: &str| status(&server.answer(head)).to_owned();
    assert_eq!(answer(&format!("GET {root} HTTP/1.1\nHost: evil.example\n\n")), "403");
    assert_eq!(answer(&format!("GET {root} HTTP/1.1\nHost: {host}\nOrigin: http://evil.example\n\n")), "403");
    assert_eq!(answer(&format!("POST {root} HTTP/1.1\nHost: {host}\nContent-Length: 0\n\n")), "405");
    assert_eq!(answer(&format!("GET / HTTP/1.1\nHost: {host}\n\n")), "404");
    let wrong = format!("/{}/", "0".repeat(32));
    assert_eq!(answer(&format!("GET {wrong} HTTP/1.1\nHost: {host}\n\n")), "404");
    for path in
        ["../m.yml", "..%2fm.yml", "instances/web-0/files/../../../m.yml", "instances/web-0/../../m.yml", "m.yml"]
    {
        let answer = server.get(path);
        assert!(status(&answer) == "404" && !answer.contains("the-secret-password"), "{path}: {answer}");
    }
    let large = format!("GET {root} HTTP/1.1\nHost: {host}\nCookie: {}\n\n", "a".repeat(64 * 1024));
    assert_eq!(answer(&large), "431");
    assert_eq!(answer("\u{1}\n\n"), "400");
    // It still serves.
    assert_eq!(status(&server.get("")), "200");
}

#[test]
fn a_saved_file_makes_a_version_and_a_page_heals() {
    let directory = deployment();
    let server = Server::start(directory.path());
    let mut stream = server.connect();
    let head = format!("GET {}events HTTP/1.1\r\nHost: {}\r\n\r\n", server.root(), server.host());
    stream.write_all(head.as_bytes()).unwrap();
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap).filter(|line| line.starts_with("data: "));
    assert_eq!(lines.next().unwrap(), "data: 1");
    assert_eq!(status(&server.get("")), "200");
    write(&directory.path().join("m.yml"), "name: [\n");
    assert_eq!(lines.next().unwrap(), "data: 2");
    let broken = server.get("");
    assert!(broken.contains("The deployment cannot be shown") && broken.contains("m.yml"), "{broken}");
    write(&directory.path().join("m.yml"), MANIFEST.replace("81", "82"));
    eventually("the page of the mended manifest", || server.get(FILE).contains("<code>port: 82</code>"));
    let template = directory.path().join("r/jobs/web/templates/web.yml.erb");
    write(&template, "<%= nil.upcase %>\n");
    eventually("the error in the page", || server.get(FILE).contains("The template fails"));
    assert!(server.get("").contains("The graph cannot be drawn"));
    write(&template, TEMPLATE);
    eventually("the page of the mended template", || server.get(FILE).contains("<code>port: 82</code>"));
}

#[test]
fn a_signal_ends_it_and_leaves_nothing() {
    let directory = deployment();
    let mut server = Server::start(directory.path());
    assert_eq!(status(&server.get("")), "200");
    // A client that sends nothing does not keep it.
    let _idle = server.connect();
    let id = i32::try_from(server.child.id()).unwrap();
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(id), nix::sys::signal::Signal::SIGINT).unwrap();
    assert_eq!(server.child.wait().unwrap().signal(), Some(2));
    assert_eq!(names(&directory.path().join("tmp")), Vec::<String>::new());
}

#[test]
fn the_end_of_its_reader_ends_it() {
    let directory = deployment();
    let mut child = view(directory.path(), "").stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    output.read_line(&mut String::new()).unwrap();
    drop(output);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_port_that_is_in_use_is_an_error() {
    let directory = deployment();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let output = view(directory.path(), &format!("--port {port}")).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains(&format!("cannot listen on 127.0.0.1:{port}")), "{message}");
}

#[test]
fn connections_are_limited() {
    let directory = deployment();
    let server = Server::start(directory.path());
    let idle: Vec<_> = (0..64).map(|_| server.connect()).collect();
    let mut other = server.connect();
    // Closed without an answer.
    assert_eq!(other.read(&mut [0]).unwrap_or(0), 0);
    drop(idle);
    eventually("a place for a connection", || {
        let mut stream = server.connect();
        let head = format!("GET {}view.css HTTP/1.1\r\nHost: {}\r\n\r\n", server.root(), server.host());
        let mut answer = String::new();
        stream.write_all(head.as_bytes()).is_ok() && stream.read_to_string(&mut answer).is_ok() && !answer.is_empty()
    });
}
