//! TLS: which servers are trusted.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use fetch::{Bounds, Client, Failure, Fetcher, Limits};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// A certificate or key of the tests; `tls/make` made them.
fn pem(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tls").join(name)
}

/// A server with this certificate that answers each request with `hello`; it lives as long as the test's process. Returns its
/// port.
fn server(certificate: &str) -> u16 {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let chain = vec![CertificateDer::from_pem_file(pem(certificate)).unwrap()];
    let key = PrivateKeyDer::from_pem_file(pem("server.key")).unwrap();
    let config = Arc::new(config.with_no_client_auth().with_single_cert(chain, key).unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut tls = StreamOwned::new(ServerConnection::new(config.clone()).unwrap(), stream);
            // A client that does not trust the server breaks the connection.
            if tls.read(&mut [0; 4096]).is_ok() {
                let _ = tls.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello");
                tls.conn.send_close_notify();
                let _ = tls.flush();
            }
        }
    });
    port
}

fn get(certificates: Option<&str>, host: &str, port: u16) -> Result<String, String> {
    let url = format!("https://{host}:{port}");
    let bounds = Bounds { time: Duration::from_secs(60), size: 10, allow: vec![url.parse().unwrap()] };
    let fetcher = Fetcher::new(Path::new("/"), certificates.map(pem).as_deref(), bounds).unwrap();
    fetcher.get(&url).map(|content| String::from_utf8(content).unwrap())
}

#[test]
fn certificates_replace_the_built_in_roots() {
    let port = server("server.pem");
    for host in ["localhost", "127.0.0.1"] {
        assert_eq!(get(Some("root.pem"), host, port).as_deref(), Ok("hello"), "{host}");
    }
    let error = get(None, "localhost", port).unwrap_err();
    assert!(error.contains("invalid peer certificate: UnknownIssuer"), "{error}");
    let error = get(Some("other.pem"), "localhost", port).unwrap_err();
    assert!(error.contains("invalid peer certificate: "), "{error}");
}

#[test]
fn a_certificate_must_be_valid_now_and_for_the_host() {
    for (certificate, expected) in [("expired.pem", "expired"), ("other.pem", "not valid for name")] {
        let error = get(Some("root.pem"), "localhost", server(certificate)).unwrap_err();
        assert!(error.contains("invalid peer certificate: ") && error.to_lowercase().contains(expected), "{error}");
    }
}

#[test]
fn services_are_called_with_the_same_certificates() {
    let port = server("server.pem");
    let limits = Limits { connect: Duration::from_secs(60), time: Duration::from_secs(60), size: 10 };
    let send = |certificates: Option<&str>| {
        let client = Client::new(Path::new("/"), certificates.map(pem).as_deref()).unwrap();
        let request = fetch::http::Request::post(format!("https://localhost:{port}/x")).body(b"body".to_vec()).unwrap();
        client.send(request, limits)
    };
    assert_eq!(send(Some("root.pem")).unwrap().body(), b"hello");
    let failure = send(None).unwrap_err();
    assert!(matches!(&failure, Failure::Permanent(why) if why.contains("invalid peer certificate: ")), "{failure}");
}
