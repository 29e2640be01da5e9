//! The servers that a plan may use: those it is restricted to, and those it defines.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use onecall_config::address::destination;
use onecall_config::{PerUserSettings, ProxyPolicy, RemoteTransport, ServerConfig, Transport};
use onecall_core::ServerName;
use onecall_runtime::PlanProblem;
use serde_json::{Map, Value};
use thiserror::Error;

/// Timeout for connecting to a server that a plan defines.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The paths that are tried if only host and port of a server are given: one for streamable HTTP,
/// and one for HTTP with server-sent events.
const HTTP_PATH: &str = "/mcp";
const SSE_PATH: &str = "/sse";

/// The servers that a plan may use.
#[derive(Debug, Default)]
pub(crate) struct PlanServers {
    /// The only servers whose tools the plan may use; `None` permits all.
    pub(crate) only: Option<BTreeSet<String>>,
    /// Servers to connect to for this plan alone.
    pub(crate) dynamic: Vec<ServerConfig>,
}

impl PlanServers {
    /// Reads `server_config`; `configured` tells whether the gateway has a server of that name.
    pub(crate) fn read(
        servers: Option<&Map<String, Value>>,
        configured: &dyn Fn(&str) -> bool,
        policy: &ProxyPolicy,
        problems: &mut Vec<PlanProblem>,
    ) -> Self {
        let Some(servers) = servers else { return Self::default() };
        let mut dynamic = Vec::new();
        for (name, entry) in servers {
            let path = format!("server_config.{name}");
            match address(entry) {
                Ok(None) if configured(name) => {}
                Ok(None) => {
                    let message = format!("there is no server '{name}' in the configuration");
                    problems.push(PlanProblem::new(path, message));
                }
                Ok(Some(_)) if configured(name) => {
                    let message =
                        "is in the configuration, which has its address; leave the address out";
                    problems.push(PlanProblem::new(path, message));
                }
                Ok(Some(address)) => match check_permitted(&address, policy) {
                    Ok(()) => dynamic.push(address.server(name)),
                    Err(error) => problems.push(PlanProblem::new(path, error.to_string())),
                },
                Err(error) => problems.push(PlanProblem::new(path, error.to_string())),
            }
        }
        Self { only: Some(servers.keys().cloned().collect()), dynamic }
    }

    /// Whether the plan may use tools of this server.
    pub(crate) fn permits(&self, server: &ServerName) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(server.as_str()))
    }
}

/// Why an entry in `server_config` cannot be used.
#[derive(Debug, Error)]
enum ServerEntryError {
    #[error("must be an object with 'url', or with 'host' and 'port'")]
    NoObject,
    #[error("'{0}' is not a key here; the keys are url, host, port")]
    UnknownKey(String),
    #[error("must have 'url', or 'host' and 'port'")]
    NoAddress,
    #[error("'port' must be from 1 to 65535")]
    NoPort,
    #[error("'{0}' is not a host name")]
    NoHost(String),
    #[error("'{0}' is not an http:// or https:// URL")]
    NoUrl(String),
    #[error(
        "is not in the configuration; plans may bring servers along only with \
         `proxy: {{ dynamic_servers: true }}`"
    )]
    NotConfigured,
    #[error("'{0}' is not in `allowed_hosts` of `proxy`; if plans may go there, add it")]
    HostNotAllowed(String),
}

/// The address of a server.
struct Address {
    /// The URL; `None` if only host and port are known.
    url: Option<String>,
    /// The host; an IPv6 address has no brackets here.
    host: String,
    port: u16,
}

impl Address {
    fn server(self, name: &str) -> ServerConfig {
        let remote = |url: String| RemoteTransport {
            url,
            headers: BTreeMap::new(),
            // Logins belong to configured servers and are not sent to servers that a plan names.
            oauth: None,
        };
        let at = |path: &str| remote(format!("http://{}{path}", self.authority()));
        let transport = match &self.url {
            Some(url) => Transport::Auto(remote(url.clone())),
            None => Transport::Either { http: at(HTTP_PATH), sse: at(SSE_PATH) },
        };
        ServerConfig {
            name: ServerName::new(name),
            transport,
            connect_timeout: Some(CONNECT_TIMEOUT),
            call_timeout: None,
            lazy: false,
            pins: None,
            per_user: PerUserSettings::default(),
        }
    }

    /// Host and port as they are written in a URL.
    fn authority(&self) -> String {
        let Self { host, port, .. } = self;
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
    }
}

/// The address in an entry; `None` if the entry only names a server.
fn address(entry: &Value) -> Result<Option<Address>, ServerEntryError> {
    let entry = match entry {
        Value::Null => return Ok(None),
        Value::Object(entry) if entry.is_empty() => return Ok(None),
        Value::Object(entry) => entry,
        _ => return Err(ServerEntryError::NoObject),
    };
    if let Some(key) = entry.keys().find(|key| !["url", "host", "port"].contains(&key.as_str())) {
        return Err(ServerEntryError::UnknownKey(key.clone()));
    }
    match (entry.get("url"), entry.get("host"), entry.get("port")) {
        (Some(Value::String(url)), None, None) => from_url(url).map(Some),
        (None, Some(Value::String(host)), Some(port)) => {
            let port = port_number(port).ok_or(ServerEntryError::NoPort)?;
            let host = host.trim_matches(['[', ']']);
            let read = onecall_config::address::host(host);
            let host = read.ok_or_else(|| ServerEntryError::NoHost(host.to_owned()))?;
            Ok(Some(Address { url: None, host, port }))
        }
        _ => Err(ServerEntryError::NoAddress),
    }
}

/// Reads a port, also from text, as it comes from environment variables.
fn port_number(port: &Value) -> Option<u16> {
    let port = match port {
        Value::String(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok(),
        port => port.as_u64().and_then(|port| u16::try_from(port).ok()),
    };
    port.filter(|port| *port > 0)
}

fn from_url(url: &str) -> Result<Address, ServerEntryError> {
    let (host, port) = destination(url).ok_or_else(|| ServerEntryError::NoUrl(url.to_owned()))?;
    Ok(Address { url: Some(url.to_owned()), host, port })
}

fn check_permitted(address: &Address, policy: &ProxyPolicy) -> Result<(), ServerEntryError> {
    if !policy.dynamic_servers {
        return Err(ServerEntryError::NotConfigured);
    }
    let Address { host, port, .. } = address;
    if policy.permits(host, *port) {
        return Ok(());
    }
    Err(ServerEntryError::HostNotAllowed(address.authority()))
}

#[cfg(test)]
mod tests {
    use onecall_config::AllowedHost;
    use serde_json::json;

    use super::*;

    fn read(servers: &Value, policy: &ProxyPolicy) -> Result<Vec<String>, Vec<String>> {
        let mut problems = Vec::new();
        let read =
            PlanServers::read(servers.as_object(), &|name| name == "sales", policy, &mut problems);
        if !problems.is_empty() {
            let text = |it: PlanProblem| format!("{}: {}", it.path, it.message);
            return Err(problems.into_iter().map(text).collect());
        }
        let url = |server: ServerConfig| match server.transport {
            Transport::Auto(remote) => remote.url,
            Transport::Either { http, sse } => format!("{} {}", http.url, sse.url),
            other => format!("{other:?}"),
        };
        Ok(read.dynamic.into_iter().map(url).collect())
    }

    fn open() -> ProxyPolicy {
        let hosts = ["db.example", "10.0.0.1:80", "localhost:8080", "[::1]:1"];
        let allowed_hosts = hosts.map(|host| AllowedHost::parse(host).unwrap()).to_vec();
        ProxyPolicy { dynamic_servers: true, allowed_hosts }
    }

    #[test]
    fn configured_servers_are_named() {
        let servers = json!({ "sales": null });
        assert_eq!(read(&servers, &ProxyPolicy::default()), Ok(Vec::new()));
        assert_eq!(
            read(&json!({ "sale": {} }), &open()),
            Err(vec![
                "server_config.sale: there is no server 'sale' in the configuration".to_owned()
            ])
        );
    }

    #[test]
    fn others_are_listed() {
        let servers = json!({
            "a": { "host": "localhost", "port": 8080 }, "b": { "url": "http://127.1.2.3:8080/x" },
            "c": { "host": "::1", "port": 1 }, "d": { "url": "https://db.example/mcp" },
            "e": { "url": "http://10.0.0.1:80" },
        });
        let expected = [
            "http://localhost:8080/mcp http://localhost:8080/sse",
            "http://127.1.2.3:8080/x",
            "http://[::1]:1/mcp http://[::1]:1/sse",
            "https://db.example/mcp",
            "http://10.0.0.1:80",
        ];
        assert_eq!(read(&servers, &open()), Ok(expected.map(str::to_owned).to_vec()));
        assert!(read(&servers, &ProxyPolicy::default()).is_err());
    }

    #[test]
    fn a_host_is_a_host_and_nothing_more() {
        for host in [
            "127.1",
            "0x7f.1",
            "0177.0.0.1",
            "2130706433",
            "[::]",
            "::",
            "0.0.0.0",
            "localhost.",
            "169.254.169.254",
            "[fe80::1%lo]",
            "::ffff:169.254.169.254",
            "user@localhost",
            "localhost:8080",
            "localhost/mcp",
            "localhost#",
            "localhost\\@evil.example",
            "http://localhost",
            "local host",
            "localhost\u{0}",
            "l\u{f6}calhost",
            "",
            "*",
        ] {
            let servers = json!({ "x": { "host": host, "port": 8080 } });
            assert!(read(&servers, &open()).is_err(), "{host}");
        }
        for port in [
            json!(0),
            json!(65_536),
            json!(-1),
            json!(8080.5),
            json!(null),
            json!("80a"),
            json!("+8080"),
            json!(""),
        ] {
            let servers = json!({ "x": { "host": "localhost", "port": port } });
            assert!(read(&servers, &open()).is_err(), "{port}");
        }
        let text = json!({ "x": { "host": "localhost", "port": "8080" } });
        assert!(read(&text, &open()).is_ok());
    }

    #[test]
    fn nothing_else_is_reached() {
        for url in [
            "http://169.254.169.254/latest",
            "http://localhost/",
            "http://localhost:8081/",
            "http://127.0.0.1:2/",
            "http://[::1]:2/",
            "http://[::ffff:127.0.0.1]/",
            "http://127.1:8080/",
            "http://0x7f.1:8080/",
            "http://2130706433:8080/",
            "http://localhost@evil.example/",
            "http://localhost.evil.example/",
            "http://evil.example#localhost",
            "http://evil.example\\@localhost/",
            "http://10.0.0.1:81/",
            "http://0.0.0.0/",
            "http://[::ffff:10.0.0.9]/",
            "file:///etc/passwd",
            "http://127.0.0.1:99999/",
            "http:///",
        ] {
            assert!(read(&json!({ "x": { "url": url } }), &open()).is_err(), "{url}");
        }
        let mapped = json!({ "x": { "url": "http://[::ffff:127.0.0.1]:8080/" } });
        assert!(read(&mapped, &open()).is_ok());
    }
}
