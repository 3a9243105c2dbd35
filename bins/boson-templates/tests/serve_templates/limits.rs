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
fn templates_of_many_values_take_a_limited_memory() {
    let server = Server::start(&[]);
    let all = format!("{BASE}/templates");
    let kind = ["Content-Type: application/json"];
    let items = vec!["[1]"; 490_000].join(",");
    let body = |key: usize| {
        let object = format!(r#"{{"kind": "K", "apiVersion": "v1", "a{key}": [{items}]}}"#);
        format!(r#"{{"kind": "Template", "apiVersion": "v1", "metadata": {{"name": "a"}}, "objects": [{object}]}}"#)
    };
    assert_eq!(server.send("POST", &all, &kind, body(0).as_bytes()).status, 201);
    std::thread::scope(|scope| {
        for key in 1..=6 {
            let (server, all, body) = (&server, &all, body(key));
            scope.spawn(move || {
                assert_eq!(server.send("PUT", &format!("{all}/a"), &kind, body.as_bytes()).status, 200);
            });
        }
    });
    let peak = server.peak_memory();
    assert!(peak < 1 << 30, "{peak}");
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

#[test]
fn a_change_is_not_refused_when_it_has_been_done() {
    let server = Server::start(&[]);
    let all = format!("{BASE}/templates");
    let kind = ["Content-Type: application/json"];
    let named = |name: &str, size: usize| {
        let text = "x".repeat(size);
        json!({"kind": "Template", "apiVersion": "v1", "metadata": {"name": name}, "message": text, "objects": []})
    };
    for number in 0..4 {
        assert_eq!(server.post(&all, &named(&format!("large-{number}"), 7 << 20)).status, 201);
    }
    assert_eq!(server.post(&all, &named("small", 1)).status, 201);
    // No memory is left for large answers: lists take most of it, and few of them, because the server waits for clients that do not
    // read for a limited time; single ones take the rest.
    let mut waiting: Vec<TcpStream> = Vec::new();
    for path in [all.clone(), format!("{all}/large-0")] {
        waiting.push(server.connect("GET", &path, &[], b""));
        while waiting.last_mut().is_some_and(|last| status(last) == "200") {
            assert!(waiting.len() < 20, "answers take a limited memory");
            waiting.push(server.connect("GET", &path, &[], b""));
        }
    }
    // so that nothing is changed.
    let post = server.send("POST", &all, &kind, named("other", 7 << 20).to_string().as_bytes());
    assert_eq!(post.reason().0, 429);
    assert_eq!(server.send("DELETE", &all, &[], b"").reason().0, 429);
    let names = server.get(&format!("{all}?fieldSelector=metadata.name%3Dsmall")).json()["items"].clone();
    assert_eq!(names.as_array().unwrap().len(), 1);
    drop(waiting);
    eventually("the memory is free again", || server.post(&all, &named("other", 7 << 20)).status == 201);
    // An answer that would be too large in the client's form has another one.
    let deep = "[".repeat(100) + &vec!["1"; 200_000].join(",") + &"]".repeat(100);
    let deep = format!(r#"{{"objects": [{{"kind": "K", "apiVersion": "v1", "a": {deep}}}]}}"#);
    let kind = ["Content-Type: application/merge-patch+json"];
    let patched = server.send("PATCH", &format!("{all}/small?pretty=true"), &kind, deep.as_bytes());
    assert_eq!(patched.status, 200);
    assert_eq!(server.get(&format!("{all}/small?pretty=true")).reason().0, 413);
    assert_eq!(server.get(&format!("{all}?pretty=true")).reason().0, 413);
    let deleted = server.send("DELETE", &format!("{all}?pretty=true"), &[], b"");
    assert_eq!((deleted.status, deleted.json()["items"].as_array().unwrap().len()), (200, 6));
    assert_eq!(server.get(&all).json()["items"], json!([]));
}

#[test]
fn stored_templates_are_no_larger_than_bodies() {
    let server = Server::start(&["--max-body", "1M"]);
    let all = format!("{BASE}/templates");
    let body = json!({"kind": "Template", "apiVersion": "v1", "metadata": {"name": "a"}, "objects": [{"kind": "K", "apiVersion": "v1"}]});
    assert_eq!(server.post(&all, &body).status, 201);
    let patch = |kind: &str, patch: String| {
        server
            .send("PATCH", &format!("{all}/a"), &[&format!("Content-Type: application/{kind}")], patch.as_bytes())
            .status
    };
    let large = "x".repeat(600_000);
    assert_eq!(
        patch("json-patch+json", json!([{"op": "add", "path": "/objects/0/a", "value": large}]).to_string()),
        200
    );
    assert_eq!(
        patch("json-patch+json", json!([{"op": "add", "path": "/objects/0/b", "value": large}]).to_string()),
        413
    );
    assert_eq!(patch("merge-patch+json", json!({"message": large}).to_string()), 413);
    // Aliases are copies.
    let aliases = vec!["*a"; 20].join(", ");
    let yaml = format!(
        "kind: Template\napiVersion: v1\nmetadata: {{name: b}}\nobjects: [{{kind: K, apiVersion: v1, a: &a {large}, b: [{aliases}]}}]\n"
    );
    assert_eq!(server.send("POST", &all, &["Content-Type: application/yaml"], yaml.as_bytes()).reason().0, 413);
    assert_eq!(server.get(&format!("{all}/b")).status, 404);
    // Nor have they more values than memory holds well.
    let server = Server::start(&[]);
    let items = vec!["1"; 1_000_001].join(",");
    let dense = format!(
        r#"{{"kind": "Template", "apiVersion": "v1", "objects": [{{"kind": "K", "apiVersion": "v1", "a": [{items}]}}]}}"#
    );
    let path = format!("{BASE}/processedtemplates");
    assert_eq!(server.send("POST", &path, &["Content-Type: application/json"], dense.as_bytes()).reason().0, 413);
}

#[test]
fn patches_that_move_too_much_are_refused() {
    let server = Server::start(&[]);
    let all = format!("{BASE}/templates");
    let items = vec![1; 500_000];
    let body = json!({"kind": "Template", "apiVersion": "v1", "metadata": {"name": "a"}, "objects": [{"kind": "K", "apiVersion": "v1", "a": items}]});
    assert_eq!(server.post(&all, &body).status, 201);
    let pair =
        [json!({"op": "remove", "path": "/objects/0/a/0"}), json!({"op": "add", "path": "/objects/0/a/0", "value": 1})];
    let patch = |count: usize| {
        let operations: Vec<_> = pair.iter().cycle().take(count).collect();
        let kind = ["Content-Type: application/json-patch+json"];
        server.send("PATCH", &format!("{all}/a"), &kind, json!(operations).to_string().as_bytes()).status
    };
    assert_eq!((patch(10), patch(5_000)), (200, 413));
}

#[test]
fn silent_clients_and_strange_time_limits_do_no_harm() {
    let server = Server::start(&[]);
    let all = format!("{BASE}/templates");
    // Large bodies that are announced, and do not come.
    let silent: Vec<TcpStream> = (0..20)
        .map(|_| {
            let mut stream = TcpStream::connect(&server.address).unwrap();
            let head = format!(
                "POST {all} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 8000000\r\n\r\n"
            );
            stream.write_all(head.as_bytes()).unwrap();
            stream
        })
        .collect();
    assert_eq!(server.send("POST", &all, &["Content-Type: application/json"], &[b' '; 200_000]).reason().0, 400);
    drop(silent);
    // A time that no clock knows.
    for seconds in [i64::MAX as u64, u64::MAX] {
        let mut watch = server.connect("GET", &format!("{all}?watch=True&timeoutSeconds={seconds}"), &[], b"");
        assert_eq!(status(&mut watch), "200");
    }
    assert_eq!(server.get("/healthz").status, 200);
}
