//! Converts the command line of `onecall serve --http` into settings.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use onecall_config::LoadedConfig;
use onecall_core::storage::CompleteStore;
use onecall_gateway::Authenticator;
use onecall_server::{AllowedHostHeader, AllowedOrigin, BearerToken, HttpSettings, PageSettings};

use crate::replay::PageReplayer;
use crate::store;

/// The variable with the token, if no option gives one.
const TOKEN_VARIABLE: &str = "ONECALL_TOKEN";

/// A longer file is not a token file.
const MAX_TOKEN_FILE: u64 = 64 * 1024;

/// Options of serving over HTTP.
#[derive(Args, Debug)]
pub(crate) struct HttpOptions {
    /// Serve MCP over streamable HTTP at http://ADDR/mcp instead of stdio, to many clients at once;
    /// port 0 takes a free port
    #[arg(long, value_name = "ADDR")]
    http: Option<String>,
    /// Ask clients for this token of at least 16 characters; without a token, ADDR must be a loopback
    /// address. Other users and the servers can read it from the command line: prefer --token-file
    /// or the variable ONECALL_TOKEN
    #[arg(long, requires = "http", conflicts_with = "token_file")]
    token: Option<String>,
    /// Ask clients for the token in this file
    #[arg(long, requires = "http", value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Accept requests for this host too, as NAME or NAME:PORT; may be repeated
    #[arg(long, requires = "http", value_name = "NAME")]
    allow_host: Vec<AllowedHostHeader>,
    /// Accept requests of web pages of this origin too, as https://app.example.com; may be repeated
    #[arg(long, requires = "http", value_name = "ORIGIN")]
    allow_origin: Vec<AllowedOrigin>,
}

impl HttpOptions {
    /// Whether HTTP is to be served.
    pub(crate) fn is_wanted(&self) -> bool {
        self.http.is_some()
    }

    /// The settings for HTTP without those of the configuration; `None` serves on standard input and
    /// output.
    pub(crate) fn settings(self) -> anyhow::Result<Option<HttpSettings>> {
        let Some(address) = &self.http else { return Ok(None) };
        let address = socket_address(address)?;
        let token = self.token()?;
        let (hosts, origins) = (self.allow_host, self.allow_origin);
        let drain = Duration::ZERO;
        Ok(Some(HttpSettings { address, token, users: None, hosts, origins, drain, page: None }))
    }

    fn token(&self) -> anyhow::Result<Option<BearerToken>> {
        if let Some(token) = &self.token {
            return BearerToken::new(token).map(Some).context("--token cannot be used");
        }
        if let Some(file) = &self.token_file {
            let unusable = || format!("the token file '{}' cannot be used", file.display());
            let length = std::fs::metadata(file).with_context(unusable)?.len();
            if length > MAX_TOKEN_FILE {
                bail!("{}: it is too long", unusable());
            }
            let text = std::fs::read_to_string(file).with_context(unusable)?;
            return BearerToken::new(text.trim()).map(Some).with_context(unusable);
        }
        match std::env::var(TOKEN_VARIABLE) {
            Ok(token) => {
                let token = BearerToken::new(&token);
                token.map(Some).with_context(|| format!("{TOKEN_VARIABLE} cannot be used"))
            }
            Err(std::env::VarError::NotPresent) => Ok(None),
            Err(std::env::VarError::NotUnicode(_)) => bail!("{TOKEN_VARIABLE} is not Unicode"),
        }
    }
}

/// Adds what the configuration says. If it has users, every request needs the token of a user. Must be
/// called inside a tokio runtime.
pub(crate) fn configure(
    settings: &mut HttpSettings,
    loaded: &LoadedConfig,
    shared: Option<&Arc<dyn CompleteStore>>,
) -> anyhow::Result<()> {
    let config = &loaded.config;
    // Each store in a database has connections of its own. A file is opened once more, so that pages do not
    // wait for programs.
    let shared = shared.filter(|_| config.store.url.is_some());
    settings.drain = config.fleet.as_ref().map_or(Duration::ZERO, |fleet| fleet.drain);
    if let Some(store) = shared.cloned().or_else(|| store::open_if_located(config)) {
        let public_url = config.users.as_ref().and_then(|users| users.public_url.clone());
        let replayer = Arc::new(PageReplayer::new(loaded));
        settings.page = Some(PageSettings { store, public_url, replayer, owner: None });
    }
    let Some(users) = &config.users else { return Ok(()) };
    if settings.token.is_some() {
        bail!(
            "the configuration has `users`, and a token for everybody is given (--token, \
             --token-file or {TOKEN_VARIABLE}): each user needs a token of their own, which `onecall \
             users token NAME` makes; leave the token for everybody away, or remove `users`"
        );
    }
    // Requests for the public address come through a proxy, which keeps their Host and Origin.
    if let Some((scheme, rest)) = users.public_url.as_deref().and_then(|url| url.split_once("://"))
    {
        let host = rest.split_once('/').map_or(rest, |(host, _)| host);
        settings.hosts.extend(host.parse::<AllowedHostHeader>().ok());
        settings.origins.extend(format!("{scheme}://{host}").parse::<AllowedOrigin>().ok());
    }
    let store = shared.cloned().map_or_else(|| store::open(config), Ok)?;
    settings.users = Some(Authenticator::start(users.clone(), store)?);
    Ok(())
}

fn socket_address(text: &str) -> anyhow::Result<SocketAddr> {
    let wrong = || format!("'{text}' is not an address to listen on, such as 127.0.0.1:8808");
    let mut found = text.to_socket_addrs().with_context(wrong)?;
    found.next().with_context(wrong)
}
