//! Requests, and which of them are answered.

use super::Shared;
use crate::html::path_of;

/// Bytes of a request's head.
pub(super) const MAX_HEAD: usize = 16 * 1024;
/// Header lines of a request.
const MAX_HEADERS: usize = 64;

/// What a client asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// A page.
    Page {
        /// The path after the token, decoded.
        path: String,
        /// Whether secrets are shown.
        shows_secrets: bool,
        /// Whether only the head of the answer is asked for.
        is_head: bool,
    },
    /// The stream of versions.
    Events,
}

/// Why a request is refused: status and text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refusal(pub(super) &'static str, pub(super) &'static str);

/// Parses a head; `None` if it is not complete.
///
/// # Errors
/// Why it is not answered. Host and Origin must be this server's, against pages of other hosts and names that lead here; the path must
/// begin with the token.
pub(super) fn parse(head: &[u8], shared: &Shared) -> Result<Option<Request>, Refusal> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(head) {
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(TOO_LARGE),
        Err(_) => return Err(Refusal("400 Bad Request", "this is not a request of HTTP/1.1\n")),
    }
    check_headers(request.headers, &shared.hosts)?;
    let is_head = match request.method {
        Some("GET") => false,
        Some("HEAD") => true,
        _ => return Err(Refusal("405 Method Not Allowed", "the pages can only be read: use GET\n")),
    };
    let address = request.path.unwrap_or_default();
    let (path, query) = address.split_once('?').unwrap_or((address, ""));
    let path = path.strip_prefix('/').and_then(|path| after_token(path, &shared.token));
    let path = path.and_then(path_of).ok_or(UNKNOWN)?;
    if path == "events" && !is_head {
        return Ok(Some(Request::Events));
    }
    Ok(Some(Request::Page { path, shows_secrets: query == "secrets=show", is_head }))
}

/// A head that is too large.
pub(super) const TOO_LARGE: Refusal =
    Refusal("431 Request Header Fields Too Large", "the head of the request is too large\n");
/// A page that does not exist, or an address without the token.
pub(super) const UNKNOWN: Refusal = Refusal(
    "404 Not Found",
    "this page does not exist; the address of the first page, with its token, is what `boson view` has printed\n",
);

fn check_headers(headers: &[httparse::Header], hosts: &[String]) -> Result<(), Refusal> {
    let values = |name: &'static str| {
        headers.iter().filter(move |header| header.name.eq_ignore_ascii_case(name)).map(|header| header.value)
    };
    let hosts_of: Vec<&[u8]> = values("host").collect();
    let is_host = |value: &[u8]| hosts.iter().any(|host| value == host.as_bytes());
    if !matches!(hosts_of.as_slice(), [host] if is_host(host)) {
        return Err(Refusal("403 Forbidden", "the Host of the request is not this server\n"));
    }
    let is_origin = |value: &[u8]| value.strip_prefix(b"http://").is_some_and(is_host);
    if !values("origin").all(is_origin) {
        return Err(Refusal("403 Forbidden", "the Origin of the request is not this server\n"));
    }
    Ok(())
}

/// The path after the token; the time does not depend on how much of a wrong token is right.
fn after_token<'p>(path: &'p str, token: &str) -> Option<&'p str> {
    let (first, rest) = path.split_once('/')?;
    let differs = first.bytes().zip(token.bytes()).fold(0, |differs, (a, b)| differs | (a ^ b));
    (first.len() == token.len() && differs == 0).then_some(rest)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    fn answer(head: &str) -> Result<Option<Request>, &'static str> {
        let shared = Shared {
            hosts: ["127.0.0.1:80", "localhost:80"].map(str::to_owned),
            token: "0123".to_owned(),
            events: channel().0,
            version: Default::default(),
            changed: Default::default(),
        };
        parse(head.replace('\n', "\r\n").as_bytes(), &shared).map_err(|Refusal(status, _)| &status[..3])
    }

    fn page(path: &str, shows_secrets: bool) -> Result<Option<Request>, &'static str> {
        Ok(Some(Request::Page { path: path.to_owned(), shows_secrets, is_head: false }))
    }

    #[test]
    fn a_page_needs_host_and_token() {
        assert_eq!(answer("GET /0123/ HTTP/1.1\nHost: 127.0.0.1:80\n\n"), page("", false));
        let shown = "GET /0123/a%20b?secrets=show HTTP/1.1\nHost: localhost:80\nOrigin: http://localhost:80\n\n";
        assert_eq!(answer(shown), page("a b", true));
        assert_eq!(answer("GET /0123/events HTTP/1.1\nHost: localhost:80\n\n"), Ok(Some(Request::Events)));
        assert_eq!(answer("GET /0123/ HTTP/1.1\nHost: 127.0.0.1:80\n"), Ok(None));
        for path in ["/", "/0123", "/0124/", "/012/", "/01234/", "0123/", "/0123/%", "//0123/", "/../0123/"] {
            assert_eq!(answer(&format!("GET {path} HTTP/1.1\nHost: 127.0.0.1:80\n\n")), Err("404"), "{path}");
        }
    }

    #[test]
    fn other_hosts_origins_and_methods_are_refused() {
        for headers in [
            "",
            "Host: evil.example:80\n",
            "Host: 127.0.0.1\n",
            "Host: 127.0.0.1:81\n",
            "Host: 127.0.0.1:80\nHost: 127.0.0.1:80\n",
            "Host: 127.0.0.1:80\nOrigin: http://evil.example\n",
            "Host: 127.0.0.1:80\nOrigin: null\n",
            "Host: 127.0.0.1:80\nOrigin: https://127.0.0.1:80\n",
            "Host: 127.0.0.1:80\nOrigin: http://127.0.0.1:80\nOrigin: http://evil.example\n",
        ] {
            assert_eq!(answer(&format!("GET /0123/ HTTP/1.1\n{headers}\n")), Err("403"), "{headers}");
        }
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "TRACE"] {
            assert_eq!(answer(&format!("{method} /0123/ HTTP/1.1\nHost: 127.0.0.1:80\n\n")), Err("405"), "{method}");
        }
        assert_eq!(answer("nonsense\n\n"), Err("400"));
        let many = "A: b\n".repeat(MAX_HEADERS + 1);
        assert_eq!(answer(&format!("GET / HTTP/1.1\n{many}\n")), Err("431"));
    }
}
