//! Confines the connections of a server that a plan defines to the addresses that the configuration
//! allows. The addresses of a name are checked for each new connection.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use onecall_config::ProxyPolicy;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{ClientBuilder, Url};
use thiserror::Error;
use url::Host;

/// The server is at an address that the configuration does not allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "its address is on this machine or in a private network, where `allowed_hosts` of `proxy` has \
     to list it with its port"
)]
pub(crate) struct NotAllowed;

/// A DNS resolver that leaves out addresses that the server may not have.
struct ConfinedLookup {
    policy: Arc<ProxyPolicy>,
    host: String,
    port: u16,
}

/// Confines a client to what `policy` allows for the server at `url`.
pub(crate) fn confine(
    client: ClientBuilder,
    url: &Url,
    policy: &Arc<ProxyPolicy>,
) -> Result<ClientBuilder, NotAllowed> {
    let port = url.port_or_known_default().ok_or(NotAllowed)?;
    let (host, address): (_, Option<IpAddr>) = match url.host().ok_or(NotAllowed)? {
        Host::Domain(name) => (name.to_owned(), None),
        Host::Ipv4(address) => (address.to_string(), Some(address.into())),
        Host::Ipv6(address) => (address.to_string(), Some(address.into())),
    };
    // A literal address is not passed to the resolver, so it is checked here.
    if let Some(address) = address
        && !policy.permits_address(&host, SocketAddr::new(address, port))
    {
        return Err(NotAllowed);
    }
    Ok(client.dns_resolver(ConfinedLookup { policy: Arc::clone(policy), host, port }))
}

impl Resolve for ConfinedLookup {
    fn resolve(&self, name: Name) -> Resolving {
        let (policy, host, port) = (Arc::clone(&self.policy), self.host.clone(), self.port);
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), port)).await?;
            // Any other name is that of a proxy from the environment of the gateway.
            let is_proxy = !name.as_str().eq_ignore_ascii_case(&host);
            let allowed: Vec<SocketAddr> =
                found.filter(|at| is_proxy || policy.permits_address(&host, *at)).collect();
            if allowed.is_empty() {
                return Err(NotAllowed.into());
            }
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}
