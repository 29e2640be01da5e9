//! The HTTP client for servers and authorization servers, and text about their addresses and errors
//! that is safe to show: without paths, queries and passwords.

use std::error::Error as _;
use std::time::Duration;

use onecall_core::text::one_line;
use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, Url};
use url::Host;

/// The time limit for opening a connection, including TLS.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long an idle connection is kept: shorter than common servers keep it (5 s), so that a
/// request is not sent on a connection that is being closed.
const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(4);

/// The keep-alive interval, which detects a peer that has disappeared.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(30);

/// The longest origin or error text that is shown, in characters.
const MAX_SHOWN: usize = 200;

/// Creates a client for the server at `url`. It follows no redirects.
///
/// # Errors
/// If the client cannot be created.
pub fn client(url: &Url) -> reqwest::Result<Client> {
    client_builder(url).build()
}

/// Prepares a client for the server at `url`, for further configuration.
pub fn client_builder(url: &Url) -> ClientBuilder {
    // Fails if a provider is already installed, which is sufficient.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut client = Client::builder()
        .user_agent(concat!("onecall/", env!("CARGO_PKG_VERSION")))
        .redirect(Policy::none())
        .referer(false)
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(POOL_IDLE_TIMEOUT)
        .tcp_keepalive(KEEPALIVE_INTERVAL)
        .tcp_nodelay(true);
    if is_loopback(url) {
        client = client.no_proxy();
    }
    if url.scheme() == "http" {
        // Without TLS no certificates are needed, and loading those of the system takes time.
        client = client.tls_certs_only([]);
    }
    client
}

/// Whether an address is on this machine.
#[must_use]
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// The scheme, host and port of a URL, which contain no secret.
#[must_use]
pub fn shown_origin(url: &Url) -> String {
    one_line(&url.origin().ascii_serialization(), MAX_SHOWN)
}

/// The innermost cause of a client error, which is the most specific one and contains no URL.
#[must_use]
pub fn cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    match error.source() {
        _ if error.is_timeout() => "no connection in time".to_owned(),
        Some(_) => one_line(&cause.to_string(), MAX_SHOWN),
        None => "the request could not be made".to_owned(),
    }
}
