//! Clients that send too much, or do not read what they are sent.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::json;
use testkit::waiting::eventually;

use crate::BASE;
use crate::server::Server;

/// A template of 100 KiB that makes a List of 30 MiB.
fn large() -> String {
    let references = "$(X)".repeat(300);
    json!({
        "kind": "Template", "apiVersion": "v1",
        "objects": [{"kind": "K", "apiVersion": "v1", "a": references}],
        "parameters": [{"name": "X", "value": "x".repeat(100 * 1024)}],
    })
    .to_string()
}

/// The status of an answer of which nothing else is read.
fn status(stream: &mut TcpStream) -> String {
    let mut start = [0; 12];
    stream.read_exact(&mut start).unwrap();
    String::from_utf8_lossy(&start[9..]).into_owned()
}

#[test]
fn answers_that_nobody_reads_take_a_limited_memory() {
    let server = Server::start(&[]);
    let path = format!("{BASE}/processedtemplates?as=list");
    let send = || server.connect("POST", &path, &["Content-Type: application/json"], large().as_bytes());
    let mut waiting: Vec<TcpStream> = (0..12).map(|_| send()).collect();
    let codes: Vec<String> = waiting.iter_mut().map(status).collect();
    let count = |code: &str| codes.iter().filter(|one| *one == code).count();
    // 256 MiB of answers wait for their clients.
    assert_eq!((count("201"), count("429")), (8, 4), "{codes:?}");
    let peak = server.peak_memory();
    assert!(peak < 1 << 30, "{peak}");
    // Others are served.
    let small = json!({"kind": "Template", "apiVersion": "v1", "objects": []});
    assert_eq!(server.post(&path, &small).status, 201);
    let mut refused = String::new();
    send().read_to_string(&mut refused).unwrap();
    assert!(refused.to_lowercase().contains("\r\nretry-after: 1\r\n"), "{refused}");
    drop(waiting);
    eventually("the memory is free again", || status(&mut send()) == "201");
}

#[test]
fn a_result_that_is_too_large_is_refused() {
    let server = Server::start(&["--max-body", "1M"]);
    let failed = server.send(
        "POST",
        &format!("{BASE}/processedtemplates"),
        &["Content-Type: application/json"],
        large().as_bytes(),
    );
    assert_eq!((failed.reason().0, failed.fields()), (422, vec!["objects[0].a".to_owned()]));
    assert!(failed.body.contains("values and labels add more than 4 MiB to the template"), "{:.500}", failed.body);
    // Indentation, too, makes much of little.
    let deep = (0..190).fold(vec!["x"; 40_000].join("\",\""), |inner, _| {
        if inner.starts_with('[') { format!("[{inner}]") } else { format!("[\"{inner}\"]") }
    });
    let body = format!(
        r#"{{"kind": "Template", "apiVersion": "v1", "objects": [{{"kind": "K", "apiVersion": "v1", "a": {deep}}}]}}"#
    );
    let send = |query: &str| {
        let path = format!("{BASE}/processedtemplates?{query}");
        server.send("POST", &path, &["Content-Type: application/json"], body.as_bytes())
    };
    assert_eq!(send("").status, 201);
    assert_eq!(send("pretty=true").reason(), (413, "RequestEntityTooLarge".into()));
}

#[test]
fn refusals_reach_clients_that_still_send() {
    let server = Server::start(&["--max-body", "1M"]);
    let all = format!("{BASE}/templates");
    let body = vec![b' '; 32 << 20];
    for (kind, expected) in [("application/json", 413), ("text/plain", 415)] {
        assert_eq!(server.send("POST", &all, &[&format!("Content-Type: {kind}")], &body).reason().0, expected);
    }
    // A body without a length.
    let mut stream = TcpStream::connect(&server.address).unwrap();
    let head = format!(
        "POST {all} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let chunk = [b"10000\r\n".as_slice(), &[b' '; 0x10000], b"\r\n"].concat();
    for _ in 0..256 {
        stream.write_all(&chunk).unwrap();
    }
    assert_eq!(status(&mut stream), "413");
}

#[test]
fn users_may_have_many_groups() {
    let server = Server::start(&[]);
    let headers: Vec<String> = (0..2_000).map(|number| format!("X-Remote-Group: group-{number}")).collect();
    let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
    assert_eq!(server.send("GET", &format!("{BASE}/templates"), &headers, b"").status, 200);
}
