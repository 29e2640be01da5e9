//! The hosts on which servers that a plan defines may be. A model writes the plan, so the
//! configuration alone decides: by name when the plan is read, and by address when a connection is
//! made, because a name can resolve to any address.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use thiserror::Error;

use crate::address;
use crate::model::ProxyPolicy;

/// A host, or one port of it, on which servers of plans may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedHost {
    /// The name in lower case, or the address without brackets.
    host: String,
    /// The port; `None` allows every port.
    port: Option<u16>,
}

/// Why a text is not a valid allowed host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum AllowedHostError {
    /// The text is neither a host nor a host with a port.
    #[error("must be 'host' or 'host:port'")]
    Malformed,
    /// A host on this machine or in a private network must be given with a port.
    #[error("is on this machine or in a private network, and needs a port")]
    NeedsPort,
}

impl AllowedHost {
    /// Parses `host` or `host:port`; an IPv6 address with a port is in brackets.
    ///
    /// # Errors
    /// If the text is invalid, or names a host on this machine or in a private network without a
    /// port.
    pub fn parse(text: &str) -> Result<Self, AllowedHostError> {
        let without_port = || Some((address::host(text)?, None));
        let read = address::host_and_port(text).or_else(without_port);
        let read = read.filter(|(_, port)| *port != Some(0));
        let (host, port) = read.ok_or(AllowedHostError::Malformed)?;
        let address = host.parse::<IpAddr>().ok();
        let allowed = Self { host, port };
        let is_inner = address.is_some_and(|address| !is_public(address)) || allowed.is_loopback();
        if is_inner && port.is_none() {
            return Err(AllowedHostError::NeedsPort);
        }
        Ok(allowed)
    }

    fn is_loopback(&self) -> bool {
        is_loopback(&self.host)
    }

    /// Whether this entry allows `host` at this port, as a plan names it.
    fn allows(&self, host: &str, port: u16) -> bool {
        let is_same = self.host.eq_ignore_ascii_case(host)
            || self.is_loopback() && is_loopback(host)
            || self
                .address()
                .is_some_and(|it| host.parse().is_ok_and(|host: IpAddr| it == host.to_canonical()));
        is_same && self.port.is_none_or(|allowed| allowed == port)
    }

    fn address(&self) -> Option<IpAddr> {
        self.host.parse::<IpAddr>().ok().map(|address| address.to_canonical())
    }
}

impl ProxyPolicy {
    /// Whether a plan may define a server at `host`, which has no brackets.
    #[must_use]
    pub fn permits(&self, host: &str, port: u16) -> bool {
        self.allowed_hosts.iter().any(|allowed| allowed.allows(host, port))
    }

    /// Whether a connection to `host` may be made to this address. A name may resolve to public
    /// addresses, and to private ones if it was allowed with its port; loopback and other special
    /// addresses must be allowed themselves.
    #[must_use]
    pub fn permits_address(&self, host: &str, address: SocketAddr) -> bool {
        let (ip, port) = (address.ip().to_canonical(), address.port());
        self.allowed_hosts.iter().any(|allowed| {
            let is_itself = allowed.port == Some(port)
                && (allowed.address() == Some(ip) || allowed.is_loopback() && ip.is_loopback());
            let is_behind_name = is_public(ip) || is_private(ip) && allowed.port.is_some();
            is_itself || is_behind_name && allowed.allows(host, port)
        })
    }
}

fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
}

/// Whether an address is publicly routable and embeds no other address.
fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            let [first, second, third, _] = address.octets();
            let is_special = match first {
                0 | 127 | 224..=255 => true,
                169 => second == 254,
                192 => second == 0 && third == 0,
                198 => second == 18 || second == 19,
                _ => false,
            };
            !is_special && !is_private_v4(address)
        }
        // Global unicast addresses, except 6to4 addresses, which embed IPv4 addresses.
        IpAddr::V6(address) => {
            let first = first_word(address);
            first & 0xe000 == 0x2000 && first != 0x2002
        }
    }
}

/// Whether an address belongs to a private network.
fn is_private(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_private_v4(address),
        IpAddr::V6(address) => first_word(address) & 0xfe00 == 0xfc00,
    }
}

fn is_private_v4(address: Ipv4Addr) -> bool {
    let [first, second, ..] = address.octets();
    // Addresses of carrier-grade NAT are as private as those of a home network.
    address.is_private() || first == 100 && second & 0xc0 == 64
}

fn first_word(address: Ipv6Addr) -> u16 {
    let [first, ..] = address.segments();
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(hosts: &[&str]) -> ProxyPolicy {
        let allowed_hosts = hosts.iter().map(|host| AllowedHost::parse(host).unwrap()).collect();
        ProxyPolicy { dynamic_servers: true, allowed_hosts }
    }

    #[test]
    fn hosts_as_they_are_written() {
        let allowed = |host: &str, port| Ok(AllowedHost { host: host.to_owned(), port });
        let rows = [
            ("db.example", allowed("db.example", None)),
            ("DB.example:80", allowed("db.example", Some(80))),
            ("[::1]:80", allowed("::1", Some(80))),
            ("2600::1", allowed("2600::1", None)),
            ("[2600::1]", allowed("2600::1", None)),
            ("9.9.9.9", allowed("9.9.9.9", None)),
            ("localhost", Err(AllowedHostError::NeedsPort)),
            ("127.0.0.1", Err(AllowedHostError::NeedsPort)),
            ("[::ffff:127.0.0.1]", Err(AllowedHostError::NeedsPort)),
            ("169.254.169.254", Err(AllowedHostError::NeedsPort)),
            ("10.0.0.1", Err(AllowedHostError::NeedsPort)),
            ("", Err(AllowedHostError::Malformed)),
            ("http://db.example", Err(AllowedHostError::Malformed)),
            ("db.example:", Err(AllowedHostError::Malformed)),
            ("db.example:0", Err(AllowedHostError::Malformed)),
            ("*", Err(AllowedHostError::Malformed)),
        ];
        for (text, expected) in rows {
            assert_eq!(AllowedHost::parse(text), expected, "{text}");
        }
    }

    #[test]
    fn a_name_is_allowed_as_it_is_written() {
        let policy = policy(&["db.example", "localhost:8080", "10.0.0.1:80"]);
        for (host, port, expected) in [
            ("db.example", 1, true),
            ("DB.EXAMPLE", 1, true),
            ("x.db.example", 1, false),
            ("localhost", 8080, true),
            ("127.1.2.3", 8080, true),
            ("::1", 8080, true),
            ("localhost", 8081, false),
            ("::ffff:10.0.0.1", 80, true),
            ("10.0.0.1", 81, false),
        ] {
            assert_eq!(policy.permits(host, port), expected, "{host}:{port}");
        }
    }

    #[test]
    fn a_name_does_not_lead_inside() {
        let policy =
            policy(&["db.example", "inner.example:80", "localhost:8080", "169.254.1.1:80"]);
        for (host, address, expected) in [
            ("db.example", "9.9.9.9:443", true),
            ("db.example", "[2600::1]:443", true),
            ("db.example", "10.0.0.1:443", false),
            ("db.example", "127.0.0.1:443", false),
            ("db.example", "[::ffff:127.0.0.1]:443", false),
            ("db.example", "[64:ff9b::7f00:1]:443", false),
            ("db.example", "[2002:7f00:1::]:443", false),
            ("db.example", "169.254.169.254:443", false),
            ("db.example", "[fe80::1]:443", false),
            ("db.example", "0.0.0.0:443", false),
            ("inner.example", "10.0.0.1:80", true),
            ("inner.example", "100.64.0.1:80", true),
            ("inner.example", "[fd00::1]:80", true),
            ("inner.example", "10.0.0.1:81", false),
            ("inner.example", "127.0.0.1:80", false),
            ("inner.example", "169.254.169.254:80", false),
            ("localhost", "127.0.0.1:8080", true),
            ("localhost", "[::1]:8080", true),
            ("localhost", "127.0.0.1:8081", false),
            ("169.254.1.1", "169.254.1.1:80", true),
            ("evil.example", "9.9.9.9:443", false),
        ] {
            let at = address.parse().unwrap();
            assert_eq!(policy.permits_address(host, at), expected, "{host} at {address}");
        }
    }
}
