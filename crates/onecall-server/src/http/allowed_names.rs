//! Checks the `Host` and `Origin` headers against DNS rebinding and cross-site requests. A foreign
//! web page can make a browser send requests to this machine, but their headers contain the host
//! name that the browser has connected to and the origin of the page.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use hyper::HeaderMap;
use hyper::Uri;
use hyper::header::{HOST, ORIGIN};
use hyper::http::uri::{Authority, Scheme};
use onecall_config::address::{host, host_and_port};
use thiserror::Error;

/// An accepted host, as `name` or `name:port`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedHostHeader {
    name: String,
    /// The port; `None` accepts any.
    port: Option<u16>,
}

/// An accepted origin, as `https://app.example.com`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedOrigin {
    scheme: Scheme,
    name: String,
    port: u16,
}

/// A text that is not a valid host or origin.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InvalidName {
    /// The text is not a host.
    #[error("'{0}' is not a host name, nor a host name with a port")]
    Host(String),
    /// The text is not an origin.
    #[error("'{0}' is not an origin, such as https://app.example.com")]
    Origin(String),
}

impl FromStr for AllowedHostHeader {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        // An IPv6 address may be written without brackets.
        let without_port = || Some((host(text)?, None));
        let read = host_and_port(text).or_else(without_port);
        let (name, port) = read.ok_or_else(|| InvalidName::Host(text.to_owned()))?;
        Ok(Self { name, port })
    }
}

impl FromStr for AllowedOrigin {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        parse_origin(text).ok_or_else(|| InvalidName::Origin(text.to_owned()))
    }
}

/// The accepted hosts and origins.
pub(super) struct AllowedNames {
    pub hosts: Vec<AllowedHostHeader>,
    pub origins: Vec<AllowedOrigin>,
}

/// Which header of a request was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RejectedHeader {
    Host,
    Origin,
}

impl AllowedNames {
    /// Checks the host and the origin of a request that arrived at `local_address`.
    pub fn check(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        local_address: SocketAddr,
    ) -> Result<(), RejectedHeader> {
        self.check_host(uri, headers, local_address)?;
        self.check_origin(headers, local_address)
    }

    /// Checks the host of a request that arrived at `local_address`.
    pub fn check_host(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        local_address: SocketAddr,
    ) -> Result<(), RejectedHeader> {
        let mut hosts = headers.get_all(HOST).iter();
        let (Some(named), None) = (hosts.next(), hosts.next()) else {
            return Err(RejectedHeader::Host);
        };
        let named = named.to_str().map_err(|_| RejectedHeader::Host)?;
        // A request line with an absolute URI names a host as well.
        for named in [Some(named), uri.authority().map(Authority::as_str)].into_iter().flatten() {
            let (name, port) = host_and_port(named).ok_or(RejectedHeader::Host)?;
            if !self.is_allowed_host(&name, port, local_address) {
                return Err(RejectedHeader::Host);
            }
        }
        Ok(())
    }

    fn check_origin(
        &self,
        headers: &HeaderMap,
        local_address: SocketAddr,
    ) -> Result<(), RejectedHeader> {
        let mut origins = headers.get_all(ORIGIN).iter();
        match (origins.next(), origins.next()) {
            (None, _) => Ok(()),
            (Some(named), None) => {
                let origin =
                    named.to_str().ok().and_then(parse_origin).ok_or(RejectedHeader::Origin)?;
                if self.is_allowed_origin(&origin, local_address) {
                    Ok(())
                } else {
                    Err(RejectedHeader::Origin)
                }
            }
            (Some(_), Some(_)) => Err(RejectedHeader::Origin),
        }
    }

    fn is_allowed_host(&self, name: &str, port: Option<u16>, local_address: SocketAddr) -> bool {
        let allowed = |host: &AllowedHostHeader| {
            host.name == name && host.port.is_none_or(|wanted| port.unwrap_or(80) == wanted)
        };
        // An IP address needs no DNS lookup, so an attacker cannot have redirected it to this
        // machine.
        let address = name.parse::<IpAddr>().ok();
        let is_here = address.is_some_and(|address| address == local_address.ip().to_canonical());
        (port.unwrap_or(80) == local_address.port() && (is_loopback(name) || is_here))
            || self.hosts.iter().any(allowed)
    }

    fn is_allowed_origin(&self, origin: &AllowedOrigin, local_address: SocketAddr) -> bool {
        let is_own = origin.scheme == Scheme::HTTP
            && origin.port == local_address.port()
            && is_loopback(&origin.name);
        is_own || self.origins.contains(origin)
    }
}

fn is_loopback(name: &str) -> bool {
    matches!(name, "localhost" | "127.0.0.1" | "::1")
}

fn parse_origin(text: &str) -> Option<AllowedOrigin> {
    let (scheme, rest) = text.split_once("://")?;
    let (scheme, default_port) = match scheme.to_ascii_lowercase().as_str() {
        "http" => (Scheme::HTTP, 80),
        "https" => (Scheme::HTTPS, 443),
        _ => return None,
    };
    let (name, port) = host_and_port(rest)?;
    Some(AllowedOrigin { scheme, name, port: port.unwrap_or(default_port) })
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn checked(host: &[&str], origin: &[&str], local_address: &str) -> Result<(), RejectedHeader> {
        let names = AllowedNames {
            hosts: vec!["tools.example.com".parse().unwrap(), "10.1.1.1:99".parse().unwrap()],
            origins: vec!["https://app.example.com".parse().unwrap()],
        };
        let mut headers = HeaderMap::new();
        for value in host {
            headers.append(HOST, HeaderValue::from_str(value).unwrap());
        }
        for value in origin {
            headers.append(ORIGIN, HeaderValue::from_str(value).unwrap());
        }
        names.check(&Uri::from_static("/mcp"), &headers, local_address.parse().unwrap())
    }

    #[test]
    fn a_host_is_ours_or_allowed() {
        let ours = [
            "localhost:8808",
            "LocalHost:8808",
            "127.0.0.1:8808",
            "[::1]:8808",
            "tools.example.com",
            "Tools.Example.com:443",
            "10.1.1.1:99",
            "192.168.0.7:8808",
        ];
        for host in ours {
            assert_eq!(checked(&[host], &[], "192.168.0.7:8808"), Ok(()), "{host}");
        }
        let foreign = [
            "evil.example",
            "evil.example:8808",
            "localhost",
            "localhost:8809",
            "localhost.evil.example:8808",
            "user@localhost:8808",
            "localhost:8808:8808",
            "localhost:",
            "10.1.1.1:8808",
            "192.168.0.8:8808",
            "",
            "local host",
        ];
        for host in foreign {
            assert_eq!(
                checked(&[host], &[], "192.168.0.7:8808"),
                Err(RejectedHeader::Host),
                "{host}"
            );
        }
        assert_eq!(checked(&["localhost"], &[], "127.0.0.1:80"), Ok(()));
        assert_eq!(checked(&[], &[], "127.0.0.1:80"), Err(RejectedHeader::Host));
        let twice = ["localhost:8808", "localhost:8808"];
        assert_eq!(checked(&twice, &[], "127.0.0.1:8808"), Err(RejectedHeader::Host));
    }

    #[test]
    fn an_origin_is_ours_or_allowed() {
        let check = |origin: &[&str]| checked(&["localhost:8808"], origin, "127.0.0.1:8808");
        for origin in ["http://localhost:8808", "http://[::1]:8808", "https://app.example.com:443"]
        {
            assert_eq!(check(&[origin]), Ok(()), "{origin}");
        }
        let foreign = [
            "http://evil.example",
            "http://evil.example:8808",
            "https://localhost:8808",
            "http://localhost:3000",
            "http://app.example.com",
            "null",
            "",
            "file://",
            "http://localhost:8808/path",
        ];
        for origin in foreign {
            assert_eq!(check(&[origin]), Err(RejectedHeader::Origin), "{origin}");
        }
        let twice = ["http://localhost:8808", "http://localhost:8808"];
        assert_eq!(check(&twice), Err(RejectedHeader::Origin));
    }

    #[test]
    fn a_whole_address_in_the_request_line_counts_too() {
        let names = AllowedNames { hosts: Vec::new(), origins: Vec::new() };
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_static("localhost:8808"));
        let local_address = "127.0.0.1:8808".parse().unwrap();
        let uri = Uri::from_static("http://evil.example:8808/mcp");
        assert_eq!(names.check(&uri, &headers, local_address), Err(RejectedHeader::Host));
        let uri = Uri::from_static("http://localhost:8808/mcp");
        assert_eq!(names.check(&uri, &headers, local_address), Ok(()));
    }

    #[test]
    fn what_cannot_be_allowed_is_refused() {
        assert!("https://host".parse::<AllowedHostHeader>().is_err());
        assert!("app.example.com".parse::<AllowedOrigin>().is_err());
        assert_eq!("::1".parse::<AllowedHostHeader>(), "[::1]".parse());
    }
}
