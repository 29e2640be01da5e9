//! A team whose identity provider is a published authorization server, `oidc-provider` from npm:
//! published clients log in with nothing but the address of onecall, and users log in to a published
//! server that the same provider protects. See `tests/interop/authorization`.

mod clients;
mod logins;
mod small_provider;
mod tokens;

use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::listening_server::ListeningServer;
use crate::support::http_gateway::HttpGateway;
use crate::support::installed::{bounded, installed, interop_file};
use crate::support::{fixture, free_port};

/// Anna develops, ian is an intern. Both have an account at the provider.
const POLICY: &str = r#"
permit (principal in Group::"dev", action in Action::"call", resource);
permit (principal in Group::"intern", action == Action::"mcp__fixture__echo", resource);
permit (principal in Group::"intern", action in Action::"call", resource)
when { context.tool == "whoami" };
"#;

/// A gateway whose users log in at the provider, and the provider.
struct Team {
    gateway: HttpGateway,
    provider: ListeningServer,
    _policy: TempDir,
}

impl Team {
    /// Starts both; `None` if the provider is not installed.
    fn start() -> Option<Self> {
        let port = free_port();
        let provider = provider(&[&format!("http://127.0.0.1:{port}/mcp")])?;
        Some(Self::with(provider, port, &[]))
    }

    /// Starts a gateway at this port for users of the provider, with these servers beside the fixture.
    fn with(provider: ListeningServer, port: u16, more: &[Value]) -> Self {
        let servers = [&[fixture("fixture", &[])], more].concat();
        let policy = TempDir::new().expect("a folder");
        std::fs::write(policy.path().join("team.cedar"), POLICY).expect("a file");
        let address = format!("127.0.0.1:{port}");
        let users = json!({
            "public_url": format!("http://{address}"),
            // This provider refuses requests without a scope; clients request those that onecall names.
            "oidc": { "issuer": issuer(&provider), "scopes": ["tools"] },
        });
        let settings = json!({ "users": users, "policy": policy.path(), "servers": servers });
        let (gateway, _) = HttpGateway::serve(&address, &[], &settings, |_| {});
        Self { gateway, provider, _policy: policy }
    }

    /// The address that clients are given.
    fn url(&self) -> String {
        format!("http://{}/mcp", self.gateway.address)
    }

    fn issuer(&self) -> String {
        issuer(&self.provider)
    }
}

/// Starts the provider, which gives tokens for these resources.
fn provider(resources: &[&str]) -> Option<ListeningServer> {
    let node = installed("ONECALL_INTEROP_RECENT_NODE")?;
    installed("ONECALL_INTEROP_OIDC_PROVIDER")?;
    let users = json!({
        "anna": { "groups": ["dev"] },
        "ian": { "groups": ["intern"] },
        // Her tokens were issued two hours ago and lasted for one.
        "olga": { "groups": ["dev"], "age": 7200 },
    });
    Some(ListeningServer::start(|port| {
        let setup = json!({ "port": port, "users": users, "resources": resources });
        let mut command: Command = bounded(&node);
        command.arg(interop_file("authorization/provider.mjs")).arg(setup.to_string());
        command
    }))
}

fn issuer(provider: &ListeningServer) -> String {
    format!("http://127.0.0.1:{}", provider.port)
}
