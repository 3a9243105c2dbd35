//! Requests and replies of HTTP/1.1, as far as a client of an API server needs them.

use std::collections::BTreeMap;
use std::io::{BufRead, Result, Write};
use std::net::TcpStream;

use serde_json::Value;

/// A request.
#[derive(Debug, Clone)]
pub struct Request {
    /// `GET`, `POST`, `PATCH`, `DELETE`.
    pub method: String,
    /// The path without the query.
    pub path: String,
    /// The query.
    pub query: BTreeMap<String, String>,
    /// The body; null if it has none.
    pub body: Value,
}

impl Request {
    /// The next request of a connection; nothing at its end.
    pub(crate) fn read(reader: &mut impl BufRead) -> Option<Request> {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|length| *length > 0)?;
        let mut words = line.split_whitespace();
        let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
        let mut length = 0;
        loop {
            let mut header = String::new();
            reader.read_line(&mut header).ok()?;
            let Some((name, value)) = header.split_once(':') else { break };
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().ok()?;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        let query = query.split('&').filter_map(|pair| pair.split_once('='));
        Some(Request {
            method,
            path: path.to_owned(),
            query: query.map(|(name, value)| (name.to_owned(), decoded(value))).collect(),
            body: serde_json::from_slice(&body).unwrap_or_default(),
        })
    }
}

/// A value of a query without its percent encoding.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some(byte) = rest.bytes().next() {
        let code = rest.get(1..3).filter(|_| byte == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(code.unwrap_or(byte));
        rest = rest.get(if code.is_some() { 3 } else { 1 }..).unwrap_or_default();
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

pub(crate) fn reply(mut stream: &TcpStream, status: u16, body: &str) -> Result<()> {
    let head =
        format!("HTTP/1.1 {status} -\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n", body.len());
    stream.write_all(format!("{head}{body}").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_follow_each_other() {
        let text = "PATCH /a?labelSelector=x%2Fy%3Dz&force=true HTTP/1.1\r\ncontent-length: 7\r\n\r\n{\"a\":1}GET /b HTTP/1.1\r\n\r\n";
        let mut reader = text.as_bytes();
        let first = Request::read(&mut reader).unwrap();
        assert_eq!((first.method.as_str(), first.path.as_str()), ("PATCH", "/a"));
        assert_eq!(first.query["labelSelector"], "x/y=z");
        assert_eq!(first.body["a"], 1);
        assert_eq!(Request::read(&mut reader).unwrap().path, "/b");
        assert!(Request::read(&mut reader).is_none());
    }
}
