//! `onecall generate`: writes typed files for agents that run code themselves.

mod manifest;
mod tree;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use clap::Args;
use onecall_bridge::{ServerState, ServerStatus};
use onecall_catalog::{GeneratedTool, generate as files_for};
use onecall_config::Config;
use onecall_core::{Language, ToolSpec};
use onecall_gateway::Gateway;

use self::tree::{Change, GeneratedTree};
use crate::cli::{Global, language_names};
use crate::commands::note;
use crate::terminal::print;
use crate::{setup, waiting};

/// What `onecall generate` takes.
#[derive(Args, Debug)]
pub(crate) struct GenerateArguments {
    /// Language to write
    #[arg(long, value_parser = language_names())]
    lang: String,
    /// Folder to write to
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Write only the tools of this server; may be repeated
    #[arg(long = "server", value_name = "NAME")]
    servers: Vec<String>,
    /// Leave out learned result types, which differ between machines
    #[arg(long)]
    declared: bool,
    /// Write nothing: list what differs, and exit with 1 if anything does
    #[arg(long, conflicts_with = "force")]
    check: bool,
    /// Overwrite files that were edited
    #[arg(long)]
    force: bool,
}

/// Writes the files, or compares them with the existing ones.
pub(crate) fn generate(arguments: &GenerateArguments, global: &Global) -> anyhow::Result<ExitCode> {
    let language = Language::named(&arguments.lang).context("there is no such language")?;
    let loaded = setup::load(global)?;
    check_names(&loaded.config, &arguments.servers)?;
    let tree = GeneratedTree::open(&arguments.out, language)?;
    let tools = setup::tokio_runtime()?.block_on(async {
        let gateway = setup::gateway_on_demand(loaded)?;
        let tools = waiting::with_progress(tools(&gateway, arguments), || gateway.status()).await;
        gateway.shutdown().await;
        tools
    })?;
    let files = files_for(&tools, language, &folder_name(&arguments.out, language));
    let changes = tree.compare(&files)?;
    if arguments.check {
        return report(&changes);
    }
    let kept: Vec<_> = changes.iter().filter(|it| it.1.is_edited() && !arguments.force).collect();
    for (path, change) in &kept {
        note(&format!("Kept {path}: {}; --force {}", change.why_kept(), change.force_effect()));
    }
    let counts = tree.apply(&files, &changes, arguments.force)?;
    print(&format!(
        "{}: {} in {}; {} written, {} removed, {} unchanged\n",
        arguments.out.display(),
        counted(tools.len(), "tool"),
        counted(files.len(), "file"),
        counts.written,
        counts.removed,
        counts.unchanged,
    ))?;
    Ok(if kept.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn check_names(config: &Config, wanted: &[String]) -> anyhow::Result<()> {
    let local = (!config.local_tools.is_empty()).then_some("local");
    let known: Vec<&str> =
        config.servers.iter().map(|server| server.name.as_str()).chain(local).collect();
    match wanted.iter().find(|name| !known.contains(&name.as_str())) {
        Some(unknown) if known.is_empty() => {
            bail!("there is no server '{unknown}': the configuration has no servers")
        }
        Some(unknown) => bail!(
            "there is no server '{unknown}' in the configuration; configured servers: {}",
            known.join(", ")
        ),
        None => Ok(()),
    }
}

/// The tools to write, of all servers or of the given ones. A server that does not answer is an
/// error: its files would be removed as if its tools were gone.
async fn tools(
    gateway: &Gateway,
    arguments: &GenerateArguments,
) -> anyhow::Result<Vec<GeneratedTool>> {
    let servers = &arguments.servers;
    let observed = |spec: &ToolSpec| match arguments.declared {
        true => None,
        false => gateway.observed(spec),
    };
    let is_wanted = |name: &str| servers.is_empty() || servers.iter().any(|it| it == name);
    let statuses = match servers.as_slice() {
        [] => gateway.servers().await,
        names => gateway.servers_named(names).await,
    };
    let missing: Vec<String> = statuses.iter().filter_map(absence).collect();
    ensure!(
        missing.is_empty(),
        "nothing was written, because not every server answers:\n  {}\nFix it (see `onecall check`), \
         or leave it out: name the other servers with --server",
        missing.join("\n  ")
    );
    let tools = gateway.known_tools().into_iter().filter(|spec| is_wanted(spec.server.as_str()));
    let list = |spec: Arc<ToolSpec>| GeneratedTool {
        category: gateway.category(&spec),
        observed: observed(&spec),
        spec,
    };
    Ok(tools.map(list).collect())
}

fn absence(status: &ServerStatus) -> Option<String> {
    match &status.state {
        ServerState::Failed { reason, .. } => Some(format!("{}: {reason}", status.name)),
        ServerState::Connecting | ServerState::Installing { .. } | ServerState::Idle => {
            Some(format!("{}: it has not listed its tools", status.name))
        }
        ServerState::Ready { .. } | ServerState::Local { .. } => None,
    }
}

/// The name of the folder in generated texts, which must be a name that the language can import.
fn folder_name(out: &Path, language: Language) -> String {
    let path = std::path::absolute(out).unwrap_or_else(|_| out.to_owned());
    let name = path.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
    let is_word = |it: char| it.is_ascii_alphanumeric() || it == '_';
    let can_be_imported = match language {
        Language::Python => {
            name.chars().all(is_word) && name.starts_with(|it: char| it.is_ascii_alphabetic())
        }
        Language::TypeScript => {
            !name.is_empty() && name.chars().all(|it| is_word(it) || it == '-' || it == '.')
        }
    };
    if can_be_imported { name } else { "tools".to_owned() }
}

/// Lists the differences.
fn report(changes: &[(String, Change)]) -> anyhow::Result<ExitCode> {
    if changes.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    let lines: String =
        changes.iter().map(|(path, change)| format!("{}: {path}\n", change.word())).collect();
    print(&lines)?;
    note(&format!("{} not up to date", counted_are(changes.len())));
    Ok(ExitCode::FAILURE)
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

fn counted_are(count: usize) -> String {
    if count == 1 { "1 file is".to_owned() } else { format!("{count} files are") }
}
