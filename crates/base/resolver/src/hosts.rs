//! `/etc/hosts`.

use std::net::IpAddr;

/// The addresses that the lines with this name have, IPv4 first; invalid lines are skipped, as hosts(5) does.
pub(crate) fn addresses(text: &[u8], name: &str) -> Vec<IpAddr> {
    let text = String::from_utf8_lossy(text);
    let mut found: Vec<IpAddr> = Vec::new();
    for line in text.lines() {
        let mut words = line.split('#').next().unwrap_or_default().split_ascii_whitespace();
        let Some(address) = words.next().and_then(|word| word.parse().ok()) else { continue };
        if words.any(|word| word.eq_ignore_ascii_case(name)) && !found.contains(&address) {
            found.push(address);
        }
    }
    let (last, mut first): (Vec<_>, Vec<_>) = found.into_iter().partition(IpAddr::is_ipv6);
    first.extend(last);
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_with_the_name_counts() {
        let text = b"# web\n::1 web\n10.0.0.1\tapp.x Web # db\nnonsense web\n10.0.0.2 web\n10.0.0.1 web\n\xff web\n";
        let all = |name| addresses(text, name).iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(all("WEB"), ["10.0.0.1", "10.0.0.2", "::1"]);
        assert_eq!(all("app.x"), ["10.0.0.1"]);
        assert!(all("db").is_empty() && all("10.0.0.1").is_empty());
    }
}
