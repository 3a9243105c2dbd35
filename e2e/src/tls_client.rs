//! A client of HTTPS servers that reaches them directly, not through the API server.
#![allow(clippy::unwrap_used, reason = "it panics in tests only")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// A connection.
pub type Stream = StreamOwned<ClientConnection, TcpStream>;

/// A client: the authority that it trusts, and its own certificate.
pub struct Client {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl Client {
    /// A client that trusts these authorities (PEM) to name the server, and has a certificate and key (PEM) of its own or none.
    pub fn new(authorities: &str, name: &str, own: Option<(&str, &str)>) -> Client {
        let mut roots = RootCertStore::empty();
        for authority in CertificateDer::pem_slice_iter(authorities.as_bytes()) {
            roots.add(authority.unwrap()).unwrap();
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let config = config.with_root_certificates(roots);
        let config = match own {
            None => config.with_no_client_auth(),
            Some((certificate, key)) => {
                let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()];
                let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
                config.with_client_auth_cert(chain, key).unwrap()
            }
        };
        Client { config: Arc::new(config), name: ServerName::try_from(name.to_owned()).unwrap() }
    }

    /// Sends a request; the headers are lines. An error if the server is not the one that is expected.
    pub fn send(&self, address: &str, line: &str, headers: &[&str], body: &str) -> std::io::Result<Stream> {
        let connection = ClientConnection::new(self.config.clone(), self.name.clone()).unwrap();
        let mut stream = StreamOwned::new(connection, TcpStream::connect(address)?);
        let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        let length = body.len();
        let head =
            format!("{line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n");
        stream.write_all(head.as_bytes())?;
        stream.write_all(body.as_bytes())?;
        Ok(stream)
    }

    /// The status and body of an answer to GET.
    pub fn get(&self, address: &str, path: &str, headers: &[&str]) -> (u16, String) {
        answer(self.send(address, &format!("GET {path}"), headers, "").unwrap())
    }
}

/// The status and body of an answer.
pub fn answer(mut stream: Stream) -> (u16, String) {
    let mut bytes = Vec::new();
    let done = stream.read_to_end(&mut bytes);
    assert!(done.is_ok() || !bytes.is_empty(), "{done:?}");
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head[9..12].parse().unwrap(), body.to_owned())
}
