//! The HTTP client for servers and authorization servers, and what may be said of their addresses
//! and failures in messages: no path, no query, no password.

use std::error::Error as _;
use std::time::Duration;

use onecall_core::text::plain;
use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, Url};
use url::Host;

/// How long a connection may take, TLS included.
const CONNECT: Duration = Duration::from_secs(10);

/// Shorter than what common servers keep idle connections for (5 s): a request
/// must not meet a connection that is just being closed.
const POOL_IDLE: Duration = Duration::from_secs(4);

/// A peer that vanished without a word is noticed after about this time.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// How much of an origin or of a cause is shown, in characters.
const MAX_SHOWN: usize = 200;

/// A client for the server at `url`. It follows no redirections.
///
/// # Errors
/// If it cannot be made.
pub fn client(url: &Url) -> reqwest::Result<Client> {
    client_builder(url).build()
}

/// Prepares a client for the server at `url`, to be changed before it is made.
pub fn client_builder(url: &Url) -> ClientBuilder {
    // Fails if there is one already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut client = Client::builder()
        .user_agent(concat!("onecall/", env!("CARGO_PKG_VERSION")))
        .redirect(Policy::none())
        .referer(false)
        .connect_timeout(CONNECT)
        .pool_idle_timeout(POOL_IDLE)
        .tcp_keepalive(KEEPALIVE)
        .tcp_nodelay(true);
    if is_loopback(url) {
        client = client.no_proxy();
    }
    if url.scheme() == "http" {
        // No certificate will be looked at, and reading the system's takes time.
        client = client.tls_certs_only([]);
    }
    client
}

/// Whether an address is on this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Scheme, host and port: what of an address is no secret.
#[must_use]
pub fn shown_origin(url: &Url) -> String {
    plain(&url.origin().ascii_serialization(), MAX_SHOWN)
}

/// The innermost cause of a client's error, which is the one that says something and has no address
/// in it.
#[must_use]
pub fn cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    match error.source() {
        _ if error.is_timeout() => "no connection in time".to_owned(),
        Some(_) => plain(&cause.to_string(), MAX_SHOWN),
        None => "the request could not be made".to_owned(),
    }
}
