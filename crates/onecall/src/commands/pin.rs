//! `onecall pin`: shows the changes to the tools of a pinned server, and accepts them.

use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use onecall_bridge::{
    Bridge, ConnectionOptions, DefinitionPart, PinError, PinState, Pins, ServerState,
};
use onecall_catalog::{Catalog, ToolDefinition};
use onecall_config::{Config, ServerConfig};
use onecall_core::text::visible_line;
use onecall_core::{CallableName, ServerName, ToolName};
use onecall_server::diff_lines;

use crate::cli::Global;
use crate::commands::{note, say};
use crate::{listings, logs, setup, store, user_vault, waiting};

/// How many similar names are suggested for an unknown one.
const MAX_SUGGESTIONS: usize = 3;

/// Accepts the tools of `server` as they are now, or only those named.
pub(crate) fn pin(
    server: &str,
    names: &[String],
    yes: bool,
    global: &Global,
) -> anyhow::Result<ExitCode> {
    let config = setup::load(global)?.config;
    logs::configure(&config);
    let (server, file) = pinned(&config.servers, server)?;
    let name = server.name.clone();
    let listed = list_tools(server, &config)?;
    let storage = store::pin_storage(&config);
    let about_server = |error: PinError| anyhow::anyhow!("server '{name}': {error}");
    let before = storage.read(&file).map_err(about_server)?;
    let mut pins = match &before {
        Some(before) => (*before.pins).clone(),
        // The first pins in a store are those of this machine's file, if there is one.
        None => Pins::read(&file).map_err(about_server)?.unwrap_or_else(|| Pins::none(&name)),
    };
    let selected = selected_tools(&name, &listed, names)?;
    let is_selected = |tool: &&ToolDefinition| names.is_empty() || selected.contains(&tool.tool);
    let changes: Vec<(&ToolDefinition, PinState)> = listed
        .iter()
        .filter(is_selected)
        .map(|tool| (tool, pins.state(tool)))
        .filter(|(_, state)| *state != PinState::Same)
        .collect();
    if changes.is_empty() {
        note(&format!(
            "Nothing to accept: the tools of '{name}' have not changed since they were pinned"
        ));
        return Ok(ExitCode::SUCCESS);
    }
    let mut stdout = io::stdout().lock();
    for (tool, state) in &changes {
        stdout.write_all(changes_text(tool, state, &pins).as_bytes())?;
    }
    stdout.flush()?;
    let tools = if changes.len() == 1 { "this tool" } else { "these tools" };
    if !yes && !confirm(&format!("Accept {tools} of '{name}'?"))? {
        note("Nothing was accepted");
        return Ok(ExitCode::FAILURE);
    }
    changes.iter().for_each(|(tool, _)| pins.accept(tool));
    storage.replace(&file, before.as_ref(), &pins).map_err(about_server)?;
    note(&format!("Accepted {} of '{name}'", count(changes.len())));
    Ok(ExitCode::SUCCESS)
}

/// The configuration of a pinned server, and the file in which its tools are remembered.
fn pinned(servers: &[ServerConfig], wanted: &str) -> anyhow::Result<(ServerConfig, PathBuf)> {
    let names: Vec<String> = servers.iter().map(|server| server.name.to_string()).collect();
    let server = servers.iter().find(|server| server.name.as_str() == wanted).cloned();
    let server = server.with_context(|| match names.is_empty() {
        true => format!("there is no server '{wanted}': the configuration has no servers"),
        false => format!(
            "there is no server '{wanted}' in the configuration; configured servers: {}",
            names.join(", ")
        ),
    })?;
    let file = server.pins.clone();
    let file = file.with_context(|| {
        format!("server '{wanted}' is not pinned; add 'pin: true' to its entry first")
    })?;
    Ok((server, file))
}

/// The tools that these names refer to, in any spelling that other commands accept.
fn selected_tools(
    server: &ServerName,
    listed: &Arc<Vec<ToolDefinition>>,
    names: &[String],
) -> anyhow::Result<Vec<ToolName>> {
    let catalog = Catalog::default().with_tool_lists([(server.clone(), Arc::clone(listed))]);
    let own_name = |callable: &CallableName| {
        let own = catalog.get(callable.as_str()).map(|spec| visible_line(spec.tool.as_str()));
        format!("'{}'", own.unwrap_or_default())
    };
    let mut selected = Vec::new();
    for name in names {
        let found = catalog.find_by_name(name);
        let shown = visible_line(name);
        match found.as_slice() {
            [spec] => selected.push(spec.tool.clone()),
            [] => {
                let near: Vec<_> =
                    catalog.nearest(name, MAX_SUGGESTIONS).iter().map(own_name).collect();
                ensure!(!near.is_empty(), "server '{server}' has no tool '{shown}'");
                bail!("server '{server}' has no tool '{shown}'. Did you mean: {}?", near.join(", "))
            }
            several => {
                let names: Vec<_> = several.iter().map(|spec| own_name(&spec.callable)).collect();
                bail!("several tools are named '{shown}': write one of {}", names.join(", "))
            }
        }
    }
    Ok(selected)
}

/// All tools that the server lists now.
fn list_tools(
    mut server: ServerConfig,
    config: &Config,
) -> anyhow::Result<Arc<Vec<ToolDefinition>>> {
    // Listing must not accept any tools.
    server.pins = None;
    let name = server.name.clone();
    setup::tokio_runtime()?.block_on(async {
        let options = ConnectionOptions {
            downloads: setup::downloads(),
            vault: user_vault::with_shared_logins(config),
            ..ConnectionOptions::default()
        };
        let bridge = Bridge::start_with(vec![server], Vec::new(), setup::guard()?, options);
        waiting::with_progress(bridge.catalog(), || bridge.status()).await;
        let status = bridge.status();
        let listed = bridge.listed(&name).unwrap_or_default();
        listings::save(&bridge, config);
        bridge.shutdown().await;
        let failure = status.into_iter().find_map(|status| match status.state {
            ServerState::Failed { reason, stderr_tail, .. } => {
                Some(format!("{reason}{stderr_tail}"))
            }
            _ => None,
        });
        ensure!(failure.is_none(), "server '{name}': {}", failure.unwrap_or_default());
        Ok(listed)
    })
}

/// The changes to a tool, with every character visible.
fn changes_text(tool: &ToolDefinition, state: &PinState, pins: &Pins) -> String {
    let name = visible_line(tool.tool.as_str());
    let before = pins.definition(&tool.tool);
    let (mut text, parts) = match state {
        PinState::Changed(parts) => (format!("{name} has changed\n"), parts.as_slice()),
        PinState::New | PinState::Same => {
            (format!("{name} is new\n"), DefinitionPart::ALL.as_slice())
        }
    };
    for part in parts {
        let old = before.as_ref().map_or(String::new(), |before| part.readable(before));
        let difference = diff_lines(&old, &part.readable(tool));
        if !difference.is_empty() {
            text.push_str(&format!("  {part}:\n"));
            difference.iter().for_each(|line| text.push_str(&format!("    {line}\n")));
        }
    }
    text.push('\n');
    text
}

/// Asks a question; the default answer is no.
pub(super) fn confirm(question: &str) -> anyhow::Result<bool> {
    Ok(matches!(read_answer(&format!("{question} [y/N] "))?.trim(), "y" | "Y" | "yes"))
}

/// Asks a question; an empty line means yes, the end of the input no.
pub(super) fn confirm_by_default(question: &str) -> anyhow::Result<bool> {
    let answer = read_answer(&format!("{question} [Y/n] "))?;
    Ok(answer.ends_with('\n') && matches!(answer.trim(), "" | "y" | "Y" | "yes"))
}

/// The line that the user types; empty at the end of the input.
fn read_answer(question: &str) -> anyhow::Result<String> {
    let mut stderr = io::stderr();
    write!(stderr, "{question}")?;
    stderr.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).context("cannot read your answer")?;
    if !answer.ends_with('\n') {
        say("");
    }
    Ok(answer)
}

fn count(tools: usize) -> String {
    if tools == 1 { "1 tool".to_owned() } else { format!("{tools} tools") }
}
