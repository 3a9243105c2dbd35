//! Downloads from servers on this machine, which is allowed explicitly.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::thread;
use std::time::Duration;

use fetch::{Bounds, Fetcher, Origin};

/// A server that answers each request as `answer` does; it lives as long as the test's process.
fn server(answer: impl Fn(&str, &mut TcpStream) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut line = String::new();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let _ = reader.read_line(&mut line);
            let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
            while reader.read_line(&mut line).is_ok_and(|read| read > 2) {}
            answer(&path, &mut stream);
        }
    });
    address
}

fn reply(stream: &mut TcpStream, text: &str) {
    // The client may have gone.
    let _ = stream.write_all(text.as_bytes());
}

fn fetcher(allow: &[SocketAddr], time: Duration) -> Fetcher {
    let allow = allow.iter().map(|address| format!("http://{address}").parse().unwrap()).collect();
    Fetcher::new(Path::new("/"), None, Bounds { time, size: 10, allow }).unwrap()
}

const LONG: Duration = Duration::from_secs(60);

#[test]
fn content_is_downloaded_within_bounds() {
    let address = server(|path, stream| match path {
        "/short" => reply(stream, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"),
        "/exact" => reply(stream, "HTTP/1.1 200 OK\r\n\r\n0123456789"),
        "/long" => reply(stream, "HTTP/1.1 200 OK\r\n\r\n0123456789x"),
        "/announced" => reply(stream, "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n0123456789x"),
        "/less" => reply(stream, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello"),
        "/204" => reply(stream, "HTTP/1.1 204 No Content\r\n\r\n"),
        "/500" => reply(stream, "HTTP/1.1 500 canary\r\nContent-Length: 6\r\n\r\ncanary"),
        "/nonsense" => reply(stream, "canary\r\n\r\n"),
        _ => reply(stream, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"),
    });
    let fetcher = fetcher(&[address], LONG);
    let get = |path: &str| fetcher.get(&format!("http://user:canary@{address}/{path}?canary"));
    assert_eq!(fetcher.get(&format!("http://{address}/short")).unwrap(), b"hello");
    assert_eq!(fetcher.get(&format!("http://{address}/exact")).unwrap(), b"0123456789");
    for (path, expected) in [
        ("long", "it has more than 10 bytes"),
        ("announced", "it has more than 10 bytes"),
        ("less", ""),
        ("204", "HTTP status 204, not 200"),
        ("500", "HTTP status 500, not 200"),
        ("nonsense", "the server's answer is not valid HTTP"),
        ("none", "HTTP status 404, not 200"),
    ] {
        let error = fetcher.get(&format!("http://{address}/{path}")).unwrap_err();
        assert!(error.starts_with(&format!("http://{address}/{path}: {expected}")), "{error}");
        assert!(!get(path).unwrap_err().contains("canary"), "{error}");
    }
}

#[test]
fn redirects_are_followed_a_few_times() {
    let address = server(|path, stream| {
        let location = match path {
            "/0" => return reply(stream, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nend"),
            "/loop" => "/loop".to_owned(),
            "/file" => "file:///etc/passwd".to_owned(),
            "/metadata" => "https://169.254.169.254/latest".to_owned(),
            "/plain" => "http://192.0.2.1/".to_owned(),
            "/nowhere" => return reply(stream, "HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n"),
            number => format!("/{}", number[1..].parse::<u32>().unwrap() - 1),
        };
        reply(stream, &format!("HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n"));
    });
    let fetcher = fetcher(&[address], LONG);
    let get = |path: &str| fetcher.get(&format!("http://{address}/{path}"));
    assert_eq!(get("5").unwrap(), b"end");
    for (path, expected) in [
        ("6", "more than 5 redirects"),
        ("loop", "more than 5 redirects"),
        ("file", "the URL must begin with https://"),
        ("metadata", "the host has the address 169.254.169.254, which is refused"),
        ("plain", "http://192.0.2.1/: the URL must begin with https://"),
        ("nowhere", "HTTP status 302 without a location"),
    ] {
        let error = get(path).unwrap_err();
        assert!(error.contains(expected), "{path}: {error}");
    }
}

#[test]
fn what_is_not_allowed_is_not_connected_to() {
    let address = server(|_, stream| reply(stream, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
    let fetcher = fetcher(&[], LONG);
    let port = address.port();
    for (url, expected) in [
        (format!("http://{address}/"), "the URL must begin with https://"),
        (format!("https://{address}/"), "the address 127.0.0.1, which is refused"),
        (format!("https://localhost:{port}/"), "which is refused"),
        (format!("https://[::ffff:127.0.0.1]:{port}/"), "which is refused"),
        ("https://169.254.169.254/latest/meta-data".to_owned(), "which is refused"),
        ("ftp://example.com/".to_owned(), "the URL must begin with https://"),
        ("no URL".to_owned(), "the URL must begin with https://"),
        ("https://a b/".to_owned(), "it is not a valid URL"),
    ] {
        let error = fetcher.get(&url).unwrap_err();
        assert!(error.contains(expected), "{url}: {error}");
    }
}

#[test]
fn a_server_that_stalls_is_given_up() {
    let address = server(|path, stream| {
        if path == "/body" {
            reply(stream, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nh");
        }
        // Holds the connection until the test's process ends.
        std::mem::forget(stream.try_clone().unwrap());
    });
    let fetcher = fetcher(&[address], Duration::from_millis(200));
    for path in ["head", "body"] {
        let error = fetcher.get(&format!("http://{address}/{path}")).unwrap_err();
        assert!(error.ends_with("it takes longer than 0.2 s"), "{error}");
    }
}

#[test]
fn a_server_without_tls_is_an_error_of_https() {
    // It answers without reading: what a client of TLS sends has no lines.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            reply(&mut stream, "HTTP/1.1 200 OK\r\n\r\n");
            // Closing it with bytes unread would reset the connection.
            std::mem::forget(stream);
        }
    });
    let allow: Origin = format!("https://{address}").parse().unwrap();
    let bounds = Bounds { time: LONG, size: 10, allow: vec![allow] };
    let error = Fetcher::new(Path::new("/"), None, bounds).unwrap().get(&format!("https://{address}/")).unwrap_err();
    assert!(error.contains("corrupt message"), "{error}");
}

#[test]
fn certificates_must_be_readable() {
    let bounds = Bounds { time: LONG, size: 10, allow: Vec::new() };
    let new = |file: &str| Fetcher::new(Path::new("/"), Some(Path::new(file)), bounds.clone());
    assert_eq!(new("/does/not/exist").unwrap_err().exit_code(), 70);
    let error = new(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")).unwrap_err().to_string();
    assert!(error.contains("it contains no certificate"), "{error}");
}

#[test]
fn what_the_user_wrote_is_downloaded_from_anywhere_while_it_comes() {
    let address = server(|path, stream| match path {
        "/short" => reply(stream, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"),
        "/moved" => reply(stream, "HTTP/1.1 302 Found\r\nLocation: /short\r\nContent-Length: 0\r\n\r\n"),
        "/cut" => reply(stream, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello"),
        _ => reply(stream, "HTTP/1.1 200 OK\r\n\r\n0123456789x"),
    });
    let fetcher = Fetcher::anywhere(Path::new("/"), None, LONG, 10).unwrap();
    for path in ["short", "moved"] {
        let mut content = Vec::new();
        assert_eq!(fetcher.copy(&format!("http://{address}/{path}"), &mut content).unwrap(), 5);
        assert_eq!(content, b"hello");
    }
    for path in ["cut", "long"] {
        let mut content = Vec::new();
        assert!(fetcher.copy(&format!("http://{address}/{path}"), &mut content).is_err());
        assert!(content.len() <= 10);
    }
}
