//! Converts a configuration into the settings of the runtime's parts.

use std::collections::{HashMap, HashSet};

use onecall_catalog::content_digest;
use onecall_config::{
    Config, LocalToolKind, OAuthConfig, RecordLevel, RemoteTransport, Secret, ServerConfig,
    Transport,
};
use onecall_core::ServerName;
use onecall_core::storage::{Retention, RunDetail};
use onecall_runtime::{RecordSettings, Redactor};

/// The settings for recording runs.
#[must_use]
pub fn record_settings(config: &Config) -> RecordSettings {
    RecordSettings {
        detail: match config.records {
            RecordLevel::Off => None,
            RecordLevel::Metadata => Some(RunDetail::Metadata),
            RecordLevel::Full => Some(RunDetail::Full),
        },
        retention: Retention { max_age: config.store.max_age, max_bytes: config.store.max_bytes },
        report_savings: config.report_savings,
        redactor: redactor(config),
    }
}

/// A redactor for all secret values of the configuration: the environments of servers and commands,
/// the headers and credentials for remote servers, and the user's secrets.
#[must_use]
pub fn redactor(config: &Config) -> Redactor {
    let mut values: Vec<&Secret> = config.secrets.iter().collect();
    for server in &config.servers {
        match &server.transport {
            Transport::Stdio(stdio) => values.extend(stdio.env.values()),
            Transport::Auto(remote)
            | Transport::Either { http: remote, .. }
            | Transport::Http(remote)
            | Transport::Sse(remote) => {
                values.extend(remote.headers.values());
                let oauth = remote.oauth.as_ref();
                values.extend(
                    oauth.and_then(|OAuthConfig { client_secret, .. }| client_secret.as_ref()),
                );
            }
            Transport::Unresolved(_) => {}
        }
    }
    for tool in &config.local_tools {
        if let LocalToolKind::Command(command) = &tool.kind {
            values.extend(command.env.values());
        }
    }
    let webhook = config.approvals.as_ref().and_then(|approvals| approvals.webhook.as_ref());
    values.extend(webhook.map(|webhook| &webhook.secret));
    values.extend(config.fleet.as_ref().map(|fleet| &fleet.secret));
    let oidc = config.users.as_ref().and_then(|users| users.oidc.as_ref());
    values.extend(oidc.and_then(|oidc| oidc.client_secret.as_ref()));
    let password = config.store.password();
    values.extend(&password);
    Redactor::new(values.into_iter().map(Secret::reveal))
}

/// The servers that run for each user.
pub(crate) fn private_servers(servers: &[ServerConfig]) -> HashSet<ServerName> {
    servers.iter().filter(|it| it.is_per_user()).map(|it| it.name.clone()).collect()
}

/// A text for each server that distinguishes it from another server of the same name.
pub(crate) fn origins(servers: &[ServerConfig]) -> HashMap<ServerName, String> {
    servers.iter().map(|server| (server.name.clone(), origin(&server.transport))).collect()
}

/// The command or URL of a server, without the secrets that it is given.
fn origin(transport: &Transport) -> String {
    let remote = |it: &RemoteTransport| it.url.clone();
    let origin = match transport {
        Transport::Stdio(it) => format!("{}\n{}", it.command, it.args.join("\n")),
        Transport::Auto(it)
        | Transport::Either { http: it, .. }
        | Transport::Http(it)
        | Transport::Sse(it) => remote(it),
        Transport::Unresolved(_) => String::new(),
    };
    content_digest(origin.as_bytes())
}
