//! `onecall check`: is the configuration valid, and does every server answer?

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use onecall_bridge::{NextStart, Quarantined, ServerState, ServerStatus};

use crate::cli::Global;
use crate::setup;
use crate::terminal::Readable;
use crate::waiting;

/// Connects to every server once and prints how it went.
pub(crate) fn check(global: &Global) -> anyhow::Result<ExitCode> {
    let loaded = setup::load(global)?;
    let source = match &loaded.source {
        Some(path) => format!("configuration {} is valid", path.display()),
        None => "no configuration file found; running with no servers".to_owned(),
    };
    let runtime = setup::tokio_runtime()?;
    let (servers, warnings) = runtime.block_on(async {
        let gateway = setup::gateway(loaded.config)?;
        let servers = waiting::shown(gateway.servers(), || gateway.status()).await;
        let warnings = gateway.local_problems();
        gateway.shutdown().await;
        anyhow::Ok((servers, warnings))
    })?;
    let mut stdout = io::stdout().lock();
    let readable = Readable::new(stdout.is_terminal());
    writeln!(stdout, "{source}")?;
    stdout.write_all(readable.text(&table(&servers)).as_bytes())?;
    let quarantined: Vec<_> = servers.iter().flat_map(|server| &server.quarantined).collect();
    stdout.write_all(readable.text(&quarantine(&quarantined)).as_bytes())?;
    for warning in &warnings {
        writeln!(stdout, "{}", readable.text(&format!("warning: {warning}")))?;
    }
    let is_ready = |server: &ServerStatus| {
        matches!(server.state, ServerState::Ready { .. } | ServerState::Local { .. })
    };
    let all_ready = servers.iter().all(is_ready) && warnings.is_empty() && quarantined.is_empty();
    Ok(if all_ready { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A line for every tool that waits to be accepted.
pub(super) fn quarantine(tools: &[&Quarantined]) -> String {
    let line = |tool: &&Quarantined| format!("'{}' is quarantined: {tool}\n", tool.spec.callable);
    tools.iter().map(line).collect()
}

pub(super) fn table(servers: &[ServerStatus]) -> String {
    let mut rows = vec![["SERVER", "TRANSPORT", "TOOLS", "STATE"].map(str::to_owned)];
    for server in servers {
        let (tools, state) = match &server.state {
            ServerState::Idle => ("-".to_owned(), "not started yet".to_owned()),
            ServerState::Connecting => ("-".to_owned(), "still connecting".to_owned()),
            ServerState::Local { tools } => (tools.to_string(), "need no server".to_owned()),
            ServerState::Ready { server_name, server_version, protocol, tools, took } => {
                let about = format!(
                    "ready in {} ms: {server_name} {server_version}, protocol {protocol}",
                    took.as_millis()
                );
                (tools.to_string(), about)
            }
            // Nothing failed: it waits for a person.
            ServerState::Failed { reason, next_start: NextStart::AfterLogin, .. } => {
                ("-".to_owned(), reason.clone())
            }
            ServerState::Failed { reason, last_words, .. } => {
                ("-".to_owned(), format!("failed: {reason}{last_words}"))
            }
        };
        rows.push([server.name.to_string(), server.transport.to_owned(), tools, state]);
    }
    if servers.is_empty() {
        return String::new();
    }
    let mut widths = [0; 4];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let [name, transport, tools, _] = widths;
    let mut table = String::new();
    for [server, way, count, state] in &rows {
        // What a server says may span lines; further ones stand under the first.
        let state = state.replace('\n', &format!("\n{:1$}", "", name + transport + tools + 6));
        table.push_str(&format!("{server:name$}  {way:transport$}  {count:>tools$}  {state}\n"));
    }
    table
}
