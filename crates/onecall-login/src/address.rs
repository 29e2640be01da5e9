//! Checks of the addresses to which tokens and authorization codes may be sent, and derived
//! addresses.

use onecall_core::text::one_line;
use reqwest::Url;

use crate::error::LoginError;
use crate::http::{is_loopback, shown_origin};

/// Parses and checks an address that `server` named. Secrets are sent over TLS only; plain HTTP is
/// allowed between addresses on this machine.
pub(crate) fn parse_checked(text: &str, server: &Url) -> Result<Url, LoginError> {
    let url = Url::parse(text).map_err(|_| LoginError::NoAddress { text: shortened(text) })?;
    check(&url, server)?;
    Ok(url)
}

/// Checks whether tokens for `server` may be sent to `url`, by the rule of [`parse_checked`].
pub(crate) fn check(url: &Url, server: &Url) -> Result<(), LoginError> {
    let is_here = is_loopback(url) && is_loopback(server);
    match url.scheme() {
        "https" => Ok(()),
        "http" if is_here => Ok(()),
        "http" => Err(LoginError::Insecure { origin: shown_origin(url) }),
        _ => Err(LoginError::NoAddress { text: shortened(url.as_str()) }),
    }
}

/// The name of the server in tokens: its URL without a query, a fragment or a lone slash.
pub(crate) fn resource(server: &Url) -> String {
    let mut resource = server.clone();
    resource.set_query(None);
    resource.set_fragment(None);
    let text = String::from(resource);
    match text.strip_suffix('/') {
        Some(origin) if server.path() == "/" => origin.to_owned(),
        _ => text,
    }
}

/// Whether the URL of `server` is that of `resource`, or below it.
pub(crate) fn is_within(server: &Url, resource: &str) -> bool {
    let Ok(resource) = Url::parse(resource) else { return false };
    let path = resource.path().trim_end_matches('/');
    let rest = server.path().strip_prefix(path);
    resource.origin() == server.origin()
        && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The well-known address of a document about `url`, with the path of `url` appended.
pub(crate) fn well_known(url: &Url, name: &str) -> Url {
    let path = url.path().trim_end_matches('/').to_owned();
    at_origin(url, &format!("/.well-known/{name}{path}"))
}

/// Another path on the same origin.
pub(crate) fn at_origin(url: &Url, path: &str) -> Url {
    let mut address = url.clone();
    address.set_path(path);
    address.set_query(None);
    address.set_fragment(None);
    address
}

fn shortened(text: &str) -> String {
    one_line(text, 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn secrets_go_over_tls_or_stay_on_this_machine() {
        let rows = [
            ("https://a.example/x", "https://b.example/", true),
            ("http://a.example/x", "https://a.example/", false),
            ("http://a.example/x", "http://a.example/", false),
            ("http://127.0.0.1:1/x", "http://localhost:2/", true),
            // A server elsewhere has nothing to say about this machine.
            ("http://127.0.0.1:1/x", "https://a.example/", false),
            ("file:///etc/passwd", "http://localhost/", false),
            ("nonsense", "http://localhost/", false),
        ];
        for (address, server, expected) in rows {
            assert_eq!(
                parse_checked(address, &url(server)).is_ok(),
                expected,
                "{address} for {server}"
            );
        }
    }

    #[test]
    fn a_server_is_within_its_resource_only() {
        let server = url("https://a.example/team/mcp?key=1");
        assert_eq!(resource(&server), "https://a.example/team/mcp");
        assert_eq!(resource(&url("https://a.example")), "https://a.example");
        let rows = [
            ("https://a.example/team/mcp", true),
            ("https://a.example/team/mcp/", true),
            ("https://a.example", true),
            ("https://A.example:443/team", true),
            ("https://a.example/tea", false),
            ("https://a.example/other", false),
            ("https://b.example/team/mcp", false),
            ("http://a.example/team/mcp", false),
            ("?", false),
        ];
        for (resource, expected) in rows {
            assert_eq!(is_within(&server, resource), expected, "{resource}");
        }
    }
}
