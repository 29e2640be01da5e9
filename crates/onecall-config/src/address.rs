//! Parses addresses and hosts of the configuration, with the same parser that the HTTP client uses,
//! so that the host that is checked is the host that is reached. A host that this parser would
//! change, such as `127.1` or `0x7f.1`, is rejected.

use std::net::Ipv6Addr;

use url::{Host, Url};

/// Parses an `http://` or `https://` address.
pub(crate) fn http_url(text: &str) -> Option<Url> {
    // The parser would remove these characters.
    if text.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return None;
    }
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    // The parser also accepts another number of slashes.
    let rest = text.get(url.scheme().len()..)?.strip_prefix("://")?;
    (!rest.starts_with(['/', '\\'])).then_some(url)
}

/// Whether the host of an address is this machine, as far as its text shows.
pub(crate) fn is_loopback_url(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// The host, in lower case and without brackets, and the port of an `http://` or `https://`
/// address. Returns `None` if the address names a user, which could be mistaken for the host, or if
/// the host is written differently from what the client connects to.
#[must_use]
pub fn destination(text: &str) -> Option<(String, u16)> {
    let url = http_url(text)?;
    let rest = text.strip_prefix(url.scheme())?.strip_prefix("://")?;
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    let (host, port) = host_and_port(authority)?;
    let port = port.or_else(|| url.port_or_known_default())?;
    let is_dialled = url.host().map(bare_host) == Some(host.clone());
    (is_dialled && url.port_or_known_default() == Some(port)).then_some((host, port))
}

/// Parses `host` or `host:port`, with an IPv6 address in brackets. The host is returned in lower
/// case and without brackets.
#[must_use]
pub fn host_and_port(text: &str) -> Option<(String, Option<u16>)> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (text, None),
    };
    let number = |port: &str| {
        let is_number = port.bytes().all(|byte| byte.is_ascii_digit());
        port.parse().ok().filter(|_| is_number)
    };
    let port = match port {
        Some(port) => Some(number(port)?),
        None => None,
    };
    Some((parse_exact_host(host)?, port))
}

/// Parses a host: a name, an IPv4 address, or an IPv6 address with or without brackets. It is
/// returned in lower case and without brackets.
#[must_use]
pub fn host(text: &str) -> Option<String> {
    match text.parse::<Ipv6Addr>() {
        Ok(address) => Some(address.to_string()),
        Err(_) => parse_exact_host(text),
    }
}

fn parse_exact_host(text: &str) -> Option<String> {
    let host = Host::parse(text).ok()?;
    let is_exact = match &host {
        Host::Domain(name) => {
            let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
            name.eq_ignore_ascii_case(text) && name.chars().all(is_allowed)
        }
        Host::Ipv4(address) => address.to_string() == text,
        // Different spellings of an IPv6 address mean the same address.
        Host::Ipv6(_) => true,
    };
    is_exact.then(|| bare_host(host))
}

fn bare_host<S: AsRef<str>>(host: Host<S>) -> String {
    match host {
        Host::Domain(name) => name.as_ref().to_ascii_lowercase(),
        Host::Ipv4(address) => address.to_string(),
        Host::Ipv6(address) => address.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_leads_where_it_is_dialled() {
        let to = |host: &str, port| Some((host.to_owned(), port));
        let rows = [
            ("http://db.example/x", to("db.example", 80)),
            ("https://DB.example?x", to("db.example", 443)),
            ("http://db.example:80", to("db.example", 80)),
            ("http://db.example:8080\\x", to("db.example", 8080)),
            ("http://[::1]:1/", to("::1", 1)),
            ("http://[::ffff:127.0.0.1]/", to("::ffff:127.0.0.1", 80)),
            ("http://a_b.example./", to("a_b.example.", 80)),
            ("http://127.0.0.1/", to("127.0.0.1", 80)),
            ("http://127.1/", None),
            ("http://0x7f.1/", None),
            ("http://0177.0.0.1/", None),
            ("http://2130706433/", None),
            ("http://127.0.0.1./", None),
            ("http://user@db.example/", None),
            ("http://@db.example/", None),
            ("http://db.example:80@evil.example/", None),
            ("http://db.ex%61mple/", None),
            ("http://d\u{f6}.example/", None),
            ("http://\u{ff11}27.0.0.1/", None),
            ("http://db.example:/", None),
            ("http://db.example:+80/", None),
            ("http://db.example:65536/", None),
            ("http://[fe80::1%25lo]/", None),
            ("http://db\t.example/", None),
            (" http://db.example/", None),
            ("http:///db.example/", None),
            ("http:\\\\db.example/", None),
            ("http:db.example/", None),
            ("ftp://db.example/", None),
            ("http://*/", None),
        ];
        for (text, expected) in rows {
            assert_eq!(destination(text), expected, "{text}");
        }
    }

    #[test]
    fn an_address_with_a_user_is_an_address() {
        assert!(http_url("HTTPS://user:password@db.example:1/?x#y").is_some());
        for text in ["", "http", "http://", "http://?", "http://h:x/", "http://h /", "file:///h"] {
            assert!(http_url(text).is_none(), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn a_destination_is_what_the_parser_dials(text in "https?://[a-zA-Z0-9@:./\\\\\\[\\]%?#\t-]{0,20}") {
            if let Some((host, port)) = destination(&text) {
                let url = Url::parse(&text).unwrap();
                assert_eq!(url.host().map(bare_host), Some(host));
                assert_eq!(url.port_or_known_default(), Some(port));
                assert!(url.username().is_empty() && url.password().is_none());
            }
        }
    }
}
