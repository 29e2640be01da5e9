//! The servers a plan is restricted to, and those it brings along.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use onecall_config::{ProxyPolicy, RemoteTransport, ServerConfig, Transport};
use onecall_core::ServerName;
use serde_json::{Map, Value};

use super::Problem;

/// A server that a plan brings along has this long to answer.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const CALL_TIMEOUT: Duration = Duration::from_secs(60);

/// Where a server without a path answers.
const DEFAULT_PATH: &str = "/mcp";

/// What a plan says about servers.
#[derive(Debug, Default)]
pub(crate) struct PlanServers {
    /// The only ones whose tools it may use; all if absent.
    pub(crate) only: Option<BTreeSet<String>>,
    /// Those to connect to for this plan.
    pub(crate) dynamic: Vec<ServerConfig>,
}

impl PlanServers {
    /// Reads `server_config`; `configured` says whether the gateway has a server.
    pub(crate) fn read(
        servers: Option<&Map<String, Value>>,
        configured: &dyn Fn(&str) -> bool,
        policy: &ProxyPolicy,
        problems: &mut Vec<Problem>,
    ) -> Self {
        let Some(servers) = servers else { return Self::default() };
        let mut dynamic = Vec::new();
        for (name, entry) in servers {
            let path = format!("server_config.{name}");
            match address(entry) {
                Ok(None) if configured(name) => {}
                Ok(None) => {
                    let message = format!("there is no server '{name}' in the configuration");
                    problems.push(Problem::new(path, message));
                }
                Ok(Some(_)) if configured(name) => {
                    let message = "is in the configuration, which says where it is; leave that out";
                    problems.push(Problem::new(path, message));
                }
                Ok(Some(address)) => match permitted(&address, policy) {
                    Ok(()) => dynamic.push(address.server(name)),
                    Err(message) => problems.push(Problem::new(path, message)),
                },
                Err(message) => problems.push(Problem::new(path, message)),
            }
        }
        Self { only: Some(servers.keys().cloned().collect()), dynamic }
    }

    /// Whether tools of this server may be used.
    pub(crate) fn permits(&self, server: &ServerName) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(server.as_str()))
    }
}

/// Where a server is.
struct Address {
    url: String,
    host: String,
    port: Option<u16>,
}

impl Address {
    fn server(self, name: &str) -> ServerConfig {
        ServerConfig {
            name: ServerName::new(name),
            transport: Transport::Auto(RemoteTransport {
                url: self.url,
                headers: BTreeMap::new(),
                // The login of a configured server is not for servers that a plan names.
                oauth: None,
            }),
            connect_timeout: CONNECT_TIMEOUT,
            call_timeout: CALL_TIMEOUT,
            lazy: false,
            pins: None,
        }
    }
}

/// The address in an entry; `None` if it only names a server.
fn address(entry: &Value) -> Result<Option<Address>, String> {
    let entry = match entry {
        Value::Null => return Ok(None),
        Value::Object(entry) if entry.is_empty() => return Ok(None),
        Value::Object(entry) => entry,
        _ => return Err("must be an object with 'url', or with 'host' and 'port'".to_owned()),
    };
    if let Some(key) = entry.keys().find(|key| !["url", "host", "port"].contains(&key.as_str())) {
        return Err(format!("'{key}' is not a key here; the keys are url, host, port"));
    }
    match (entry.get("url"), entry.get("host"), entry.get("port")) {
        (Some(Value::String(url)), None, None) => from_url(url).map(Some),
        (None, Some(Value::String(host)), Some(port)) => {
            let port = port.as_u64().and_then(|port| u16::try_from(port).ok());
            let port = port.filter(|port| *port > 0).ok_or("'port' must be from 1 to 65535")?;
            let host = host.trim_matches(['[', ']']);
            if !is_host(host) {
                return Err(format!("'{host}' is no host"));
            }
            let shown = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
            let url = format!("http://{shown}:{port}{DEFAULT_PATH}");
            Ok(Some(Address { url, host: host.to_owned(), port: Some(port) }))
        }
        _ => Err("must have 'url', or 'host' and 'port'".to_owned()),
    }
}

fn from_url(url: &str) -> Result<Address, String> {
    let invalid = || format!("'{url}' is no http:// or https:// URL");
    let (scheme, rest) = url.split_once("://").ok_or_else(invalid)?;
    if !matches!(scheme, "http" | "https") {
        return Err(invalid());
    }
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let (host, port) = match authority.strip_prefix('[').and_then(|it| it.split_once(']')) {
        Some((host, "")) => (host, None),
        Some((host, port)) => (host, Some(port.strip_prefix(':').ok_or_else(invalid)?)),
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    let port = port.map(|port| port.parse().map_err(|_| invalid())).transpose()?;
    // A user name before the host could pass for one.
    if !is_host(host) {
        return Err(invalid());
    }
    Ok(Address { url: url.to_owned(), host: host.to_owned(), port })
}

fn is_host(host: &str) -> bool {
    let is_name = |it: char| it.is_ascii_alphanumeric() || matches!(it, '.' | '-' | '_');
    host.parse::<IpAddr>().is_ok() || (!host.is_empty() && host.chars().all(is_name))
}

fn permitted(address: &Address, policy: &ProxyPolicy) -> Result<(), String> {
    if !policy.dynamic_servers {
        return Err("is not in the configuration; plans may bring servers along only with \
                    `proxy: { dynamic_servers: true }`"
            .to_owned());
    }
    let Address { host, port, .. } = address;
    let is_loopback = host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|ip| ip.to_canonical().is_loopback());
    let with_port = port.map(|port| format!("{host}:{port}"));
    let is_allowed = |allowed: &String| {
        allowed.eq_ignore_ascii_case(host)
            || with_port.as_ref().is_some_and(|with_port| allowed.eq_ignore_ascii_case(with_port))
    };
    if is_loopback || policy.allowed_hosts.iter().any(is_allowed) {
        return Ok(());
    }
    Err(format!("'{host}' is not on this machine, nor in `allowed_hosts` of `proxy`"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(servers: &Value, policy: &ProxyPolicy) -> Result<Vec<String>, Vec<String>> {
        let mut problems = Vec::new();
        let read =
            PlanServers::read(servers.as_object(), &|name| name == "sales", policy, &mut problems);
        if !problems.is_empty() {
            let told = |it: Problem| format!("{}: {}", it.path, it.message);
            return Err(problems.into_iter().map(told).collect());
        }
        let url = |server: ServerConfig| match server.transport {
            Transport::Auto(remote) => remote.url,
            other => format!("{other:?}"),
        };
        Ok(read.dynamic.into_iter().map(url).collect())
    }

    fn open() -> ProxyPolicy {
        let allowed_hosts = vec!["db.example".to_owned(), "10.0.0.1:80".to_owned()];
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
    fn others_are_on_this_machine_or_listed() {
        let servers = json!({
            "a": { "host": "localhost", "port": 8080 }, "b": { "url": "http://127.1.2.3/x" },
            "c": { "host": "::1", "port": 1 }, "d": { "url": "https://db.example/mcp" },
            "e": { "url": "http://10.0.0.1:80" },
        });
        let expected = [
            "http://localhost:8080/mcp",
            "http://127.1.2.3/x",
            "http://[::1]:1/mcp",
            "https://db.example/mcp",
            "http://10.0.0.1:80",
        ];
        assert_eq!(read(&servers, &open()), Ok(expected.map(str::to_owned).to_vec()));
        assert!(read(&servers, &ProxyPolicy::default()).is_err());
    }

    #[test]
    fn nothing_passes_for_this_machine() {
        for url in [
            "http://169.254.169.254/latest",
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
        let mapped = json!({ "x": { "url": "http://[::ffff:127.0.0.1]/" } });
        assert!(read(&mapped, &open()).is_ok());
    }
}
