//! `onecall pin`: shows what has changed about the tools of a pinned server, and
//! accepts it.

use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use onecall_bridge::{Part, PinState, Pins, ServerState};
use onecall_catalog::ToolDefinition;
use onecall_config::ServerConfig;

use crate::cli::Global;
use crate::commands::say;
use crate::comparison::{compared, visible};
use crate::setup;

/// Accepts the tools of `server` as they are now, or only those named.
pub(crate) fn pin(
    server: &str,
    names: &[String],
    yes: bool,
    global: &Global,
) -> anyhow::Result<ExitCode> {
    let config = setup::load(global)?.config;
    let (server, file) = pinned(config.servers, server)?;
    let name = server.name.clone();
    let listed = listed(server)?;
    let pins = Pins::read(&file).map_err(|error| anyhow::anyhow!("server '{name}': {error}"))?;
    let mut pins = pins.unwrap_or_else(|| Pins::none(&name));
    let is_listed = |name: &String| listed.iter().any(|tool| tool.tool.as_str() == name);
    if let Some(unknown) = names.iter().find(|name| !is_listed(name)) {
        bail!("server '{name}' has no tool '{}'", visible(unknown));
    }
    let is_meant = |tool: &&ToolDefinition| {
        names.is_empty() || names.iter().any(|name| name == tool.tool.as_str())
    };
    let news: Vec<(&ToolDefinition, PinState)> = listed
        .iter()
        .filter(is_meant)
        .map(|tool| (tool, pins.state(tool)))
        .filter(|(_, state)| *state != PinState::Same)
        .collect();
    if news.is_empty() {
        say(&format!("nothing to accept: the tools of '{name}' are as they were pinned"));
        return Ok(ExitCode::SUCCESS);
    }
    let mut stdout = io::stdout().lock();
    for (tool, state) in &news {
        stdout.write_all(shown(tool, state, &pins).as_bytes())?;
    }
    stdout.flush()?;
    let tools = if news.len() == 1 { "this tool" } else { "these tools" };
    if !yes && !agrees(&format!("Accept {tools} of '{name}'?"))? {
        say("nothing was accepted");
        return Ok(ExitCode::FAILURE);
    }
    news.iter().for_each(|(tool, _)| pins.accept(tool));
    pins.write(&file).map_err(|error| anyhow::anyhow!("server '{name}': {error}"))?;
    say(&format!("accepted {} of '{name}'", count(news.len())));
    Ok(ExitCode::SUCCESS)
}

/// The entry of a server that is pinned, and where its tools are remembered.
fn pinned(servers: Vec<ServerConfig>, wanted: &str) -> anyhow::Result<(ServerConfig, PathBuf)> {
    let names: Vec<String> = servers.iter().map(|server| server.name.to_string()).collect();
    let server = servers.into_iter().find(|server| server.name.as_str() == wanted);
    let server = server.with_context(|| match names.is_empty() {
        true => format!("there is no server '{wanted}' in the configuration, nor any other"),
        false => format!(
            "there is no server '{wanted}' in the configuration; there is {}",
            names.join(", ")
        ),
    })?;
    let file = server.pins.clone();
    let file = file.with_context(|| {
        format!("server '{wanted}' is not pinned; add 'pin: true' to its entry first")
    })?;
    Ok((server, file))
}

/// Everything the server lists now.
fn listed(mut server: ServerConfig) -> anyhow::Result<Arc<Vec<ToolDefinition>>> {
    // Looked at here and nowhere else: listing it must accept nothing.
    server.pins = None;
    let name = server.name.clone();
    setup::tokio_runtime()?.block_on(async {
        let bridge = onecall_bridge::Bridge::start(vec![server], setup::guard()?);
        bridge.catalog().await;
        let status = bridge.status();
        let listed = bridge.listed(&name).unwrap_or_default();
        bridge.shutdown().await;
        let failure = status.into_iter().find_map(|status| match status.state {
            ServerState::Failed { reason, last_words, .. } => Some(format!("{reason}{last_words}")),
            _ => None,
        });
        ensure!(failure.is_none(), "server '{name}': {}", failure.unwrap_or_default());
        Ok(listed)
    })
}

/// What is new about a tool, every character of it.
fn shown(tool: &ToolDefinition, state: &PinState, pins: &Pins) -> String {
    let name = visible(tool.tool.as_str());
    let before = pins.definition(&tool.tool);
    let (mut text, parts) = match state {
        PinState::Changed(parts) => (format!("{name} has changed\n"), parts.as_slice()),
        PinState::New | PinState::Same => (format!("{name} is new\n"), Part::ALL.as_slice()),
    };
    for part in parts {
        let old = before.as_ref().map_or(String::new(), |before| part.readable(before));
        let difference = compared(&old, &part.readable(tool));
        if !difference.is_empty() {
            text.push_str(&format!("  {part}:\n"));
            difference.iter().for_each(|line| text.push_str(&format!("    {line}\n")));
        }
    }
    text.push('\n');
    text
}

pub(super) fn agrees(question: &str) -> anyhow::Result<bool> {
    let mut stderr = io::stderr();
    write!(stderr, "{question} [y/N] ")?;
    stderr.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).context("cannot read your answer")?;
    if !answer.ends_with('\n') {
        say("");
    }
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn count(tools: usize) -> String {
    if tools == 1 { "1 tool".to_owned() } else { format!("{tools} tools") }
}
