//! URLs: their origins, the targets of redirects, and what messages show.

use std::str::FromStr;

use ureq::http::Uri;

/// Scheme, host and port of a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    scheme: String,
    host: String,
    port: u16,
}

impl Origin {
    /// The origin of a URL.
    ///
    /// # Errors
    /// It is not an absolute http or https URL.
    pub fn of(url: &str) -> Result<Origin, String> {
        let scheme = url.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
        if !scheme.is_some_and(|scheme| scheme == "https" || scheme == "http") {
            return Err("the URL must begin with https://".to_owned());
        }
        let origin = url.parse().ok().and_then(|uri| Origin::of_uri(&uri));
        origin.ok_or_else(|| "it is not a valid URL".to_owned())
    }

    pub(crate) fn of_uri(uri: &Uri) -> Option<Origin> {
        let scheme = uri.scheme_str()?.to_ascii_lowercase();
        let default = match scheme.as_str() {
            "https" => 443,
            "http" => 80,
            _ => return None,
        };
        let host = uri.host().filter(|host| !host.is_empty())?.to_ascii_lowercase();
        Some(Origin { scheme, host, port: uri.port_u16().unwrap_or(default) })
    }

    /// Whether the scheme is https.
    pub fn is_https(&self) -> bool {
        self.scheme == "https"
    }

    /// The host; an IPv6 address without brackets.
    pub(crate) fn host(&self) -> &str {
        self.host.trim_start_matches('[').trim_end_matches(']')
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }
}

impl FromStr for Origin {
    type Err = String;

    /// Reads `https://HOST[:PORT]`, without a path.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "must be an origin such as https://host or http://host:8080".to_owned();
        let uri: Uri = text.parse().map_err(|_| wrong())?;
        let plain = uri.path() == "/" && uri.query().is_none() && !text.ends_with('/') && !text.contains('@');
        Origin::of_uri(&uri).filter(|_| plain).ok_or_else(wrong)
    }
}

/// A URL as messages show it: without userinfo, query and fragment.
pub fn shown(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit('@').next().unwrap_or_default();
    let separator = if scheme.is_empty() { "" } else { "://" };
    format!("{scheme}{separator}{host}{path}").escape_debug().to_string()
}

/// The target of a redirect from `base`, which is absolute.
pub(crate) fn join(base: &str, location: &str) -> Result<String, String> {
    let location = location.split('#').next().unwrap_or_default();
    let has_scheme = location.find(':').is_some_and(|colon| {
        location[..colon].bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
    });
    if has_scheme {
        return Ok(location.to_owned());
    }
    let (scheme, rest) = base.split_once("://").ok_or("a redirect from an invalid URL")?;
    if location.starts_with("//") {
        return Ok(format!("{scheme}:{location}"));
    }
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    // The host only: the target does not get the user of the first URL.
    let host = authority.rsplit('@').next().unwrap_or_default();
    let path = path.split('?').next().unwrap_or_default();
    let path = match location {
        "" => path.to_owned(),
        _ if location.starts_with('/') => location.to_owned(),
        _ if location.starts_with('?') => format!("{path}{location}"),
        _ => format!("{}/{location}", path.rsplit_once('/').map_or("", |(directory, _)| directory)),
    };
    Ok(format!("{scheme}://{host}{path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_has_scheme_host_and_port() {
        let origin = |url: &str| Origin::of(url).map(|o| format!("{} {} {}", o.scheme, o.host(), o.port()));
        assert_eq!(origin("https://Example.com/x?y").as_deref(), Ok("https example.com 443"));
        assert_eq!(origin("http://user:pw@[::1]:81").as_deref(), Ok("http ::1 81"));
        for bad in ["", "x", "/x", "ftp://x/", "file:///etc/passwd", "https://", "https:///x", "data:x", "ht tp://x"] {
            assert!(origin(bad).is_err(), "{bad}");
        }
        assert_eq!("http://h:80".parse::<Origin>(), Origin::of("http://h/any/path"));
        for bad in ["h", "http://h/", "http://h/x", "http://h?x", "http://u@h", "ftp://h", ""] {
            assert!(bad.parse::<Origin>().is_err(), "{bad}");
        }
    }

    #[test]
    fn messages_show_no_query_and_no_userinfo() {
        for (url, expected) in [
            ("https://user:canary@h:8/p/q?canary#canary", "https://h:8/p/q"),
            ("https://h#canary", "https://h"),
            ("https://canary@x@h/p@q", "https://h/p@q"),
            ("canary@h?canary", "h"),
        ] {
            assert_eq!(shown(url), expected);
        }
    }

    #[test]
    fn redirects_are_relative_to_their_url() {
        let base = "https://u:p@h:1/a/b?c";
        for (location, expected) in [
            ("http://x/y", "http://x/y"),
            ("HTTPS://x", "HTTPS://x"),
            ("//x/y", "https://x/y"),
            ("/y?z", "https://h:1/y?z"),
            ("y", "https://h:1/a/y"),
            ("?z", "https://h:1/a/b?z"),
            ("", "https://h:1/a/b"),
            ("y#f", "https://h:1/a/y"),
            ("file:///etc/passwd", "file:///etc/passwd"),
        ] {
            assert_eq!(join(base, location).as_deref(), Ok(expected), "{location}");
        }
        assert_eq!(join("https://h", "y").as_deref(), Ok("https://h/y"));
    }
}
