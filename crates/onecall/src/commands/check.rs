//! `onecall check`: validates the configuration and connects to every server once.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use onecall_bridge::{NextStart, QuarantinedTool, ServerState, ServerStatus};
use onecall_config::ConfigFormat;

use super::check_json::{Remarks, report};
use crate::cli::Global;
use crate::setup;
use crate::terminal::{TerminalEscaper, print};
use crate::waiting;

/// Connects to every server once and prints the results.
pub(crate) fn check(is_json: bool, global: &Global) -> anyhow::Result<ExitCode> {
    let loaded = setup::load(global)?;
    let source = match (&loaded.source, loaded.format) {
        (Some(path), ConfigFormat::Onecall) => {
            format!("The configuration {} is valid", path.display())
        }
        (Some(path), ConfigFormat::PtcMcp) => format!(
            "The configuration {} is read in the format of ptc-mcp, because it has no key that only onecall knows",
            path.display()
        ),
        (None, _) => {
            "No configuration file found, so there are no servers: run `onecall init`".to_owned()
        }
    };
    let skipped = loaded.skipped.clone();
    let former_names = loaded.config.former_names.clone();
    let (path, format) = (loaded.source.clone(), loaded.format);
    let runtime = setup::tokio_runtime()?;
    let (servers, warnings, collisions, unused) = runtime.block_on(async {
        let gateway = setup::gateway(loaded)?;
        let servers = waiting::with_progress(gateway.servers(), || gateway.status()).await;
        let (warnings, collisions) = (gateway.local_problems(), gateway.name_collisions());
        let unused = gateway.unused_entries().await;
        gateway.shutdown().await;
        anyhow::Ok((servers, warnings, collisions, unused))
    })?;
    let quarantined: Vec<_> = servers.iter().flat_map(|server| &server.quarantined).collect();
    // If a server was left out, it is unknown whether an entry matches one of its tools.
    let unused: Vec<_> = unused.into_iter().filter(|_| skipped.is_empty()).collect();
    let is_ready = |server: &ServerStatus| {
        matches!(server.state, ServerState::Ready { .. } | ServerState::Local { .. })
    };
    let all_ready = servers.iter().all(is_ready)
        && warnings.is_empty()
        && quarantined.is_empty()
        && skipped.is_empty();
    let code = if all_ready { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    if is_json {
        let notes = collisions.iter().map(ToString::to_string);
        let notes = notes.chain(unused.iter().map(ToString::to_string));
        let notes = notes.chain(former_names.iter().map(ToString::to_string)).collect();
        let warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
        let remarks = Remarks { skipped: &skipped, notes, warnings: &warnings };
        let report = report(path.as_deref(), format, &servers, &remarks, all_ready);
        print(&format!("{}\n", serde_json::to_string_pretty(&report)?))?;
        return Ok(code);
    }
    let mut stdout = io::stdout().lock();
    let escaper = TerminalEscaper::new(stdout.is_terminal());
    writeln!(stdout, "{source}")?;
    stdout.write_all(escaper.text(&table(&servers)).as_bytes())?;
    stdout.write_all(escaper.text(&quarantine(&quarantined)).as_bytes())?;
    for reason in &skipped {
        writeln!(stdout, "{}", escaper.text(&format!("warning: {reason}")))?;
    }
    for collision in &collisions {
        writeln!(stdout, "{}", escaper.text(&format!("note: {collision}")))?;
    }
    for entry in &unused {
        writeln!(stdout, "{}", escaper.text(&format!("note: {entry}")))?;
    }
    for name in &former_names {
        writeln!(stdout, "note: {name}")?;
    }
    for warning in &warnings {
        writeln!(stdout, "{}", escaper.text(&format!("warning: {warning}")))?;
    }
    Ok(code)
}

/// One line for every tool in quarantine.
pub(super) fn quarantine(tools: &[&QuarantinedTool]) -> String {
    let line =
        |tool: &&QuarantinedTool| format!("'{}' is quarantined: {tool}\n", tool.spec.callable);
    tools.iter().map(line).collect()
}

pub(super) fn table(servers: &[ServerStatus]) -> String {
    let mut rows = vec![["SERVER", "TRANSPORT", "TOOLS", "STATE"].map(str::to_owned)];
    for server in servers {
        let (tools, state) = match &server.state {
            ServerState::Idle => ("-".to_owned(), "not started yet".to_owned()),
            ServerState::Connecting => ("-".to_owned(), "still connecting".to_owned()),
            ServerState::Installing { .. } => {
                ("-".to_owned(), "installing for the first time".to_owned())
            }
            ServerState::Local { tools } => (tools.to_string(), "need no server".to_owned()),
            ServerState::Ready { server_name, server_version, protocol, tools, took } => {
                let about = format!(
                    "ready in {} ms: {server_name} {server_version}, protocol {protocol}",
                    took.as_millis()
                );
                (tools.to_string(), about)
            }
            // This is not a failure: the server waits for a login.
            ServerState::Failed { reason, next_start: NextStart::AfterLogin, .. } => {
                ("-".to_owned(), reason.clone())
            }
            ServerState::Failed { reason, stderr_tail, .. } => {
                let more = waiting::logs_hint(&server.name, stderr_tail);
                ("-".to_owned(), format!("failed: {reason}{stderr_tail}{more}"))
            }
        };
        let state = match &server.cut {
            Some(cut) => format!("{state}\n{cut}"),
            None => state,
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
        // A message from a server may have several lines; they are aligned below the first.
        let state = state.replace('\n', &format!("\n{:1$}", "", name + transport + tools + 6));
        table.push_str(&format!("{server:name$}  {way:transport$}  {count:>tools$}  {state}\n"));
    }
    table
}
