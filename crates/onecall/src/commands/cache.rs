//! `onecall cache`: the cached answers on disk, which all onecall processes of the user share.

use std::fmt::Write;
use std::process::ExitCode;

use anyhow::{Context, ensure};
use clap::Subcommand;
use onecall_config::Config;
use onecall_core::storage::AnswerSize;
use onecall_core::{CacheScope, Timestamp, ToolPattern};
use serde_json::{Value, json};

use crate::cli::Global;
use crate::commands::note;
use crate::terminal::print;
use crate::{setup, store};

/// What `onecall cache` takes.
#[derive(Debug, Subcommand)]
pub(crate) enum CacheCommand {
    /// Show how many answers are cached, of which tools, and how often they were used
    #[command(after_help = "Example:\n  onecall cache stats")]
    Stats {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Delete cached answers
    #[command(after_help = "\
Examples:
  onecall cache clear
  onecall cache clear 'mcp__sales__*'")]
    Clear {
        /// Delete only answers of tools whose names match; * stands for any characters
        pattern: Option<String>,
    },
}

/// Shows or clears the cached answers on disk.
pub(crate) fn cache(command: CacheCommand, global: &Global) -> anyhow::Result<ExitCode> {
    let config = setup::load(global)?.config;
    if let Some(explanation) = what_is_on_disk(&config) {
        note(explanation);
    }
    let store = store::open_existing(&config);
    ensure!(
        store::location(&config).is_some(),
        "onecall cannot find your state directory, where the cache is: set HOME or XDG_STATE_HOME"
    );
    match command {
        CacheCommand::Stats { json } => {
            let answers = match &store {
                Some(store) => store.answer_sizes(Timestamp::now())?,
                None => Vec::new(),
            };
            // An entry without a tool is an internal mark.
            let answers: Vec<_> = answers.into_iter().filter(|it| !it.tool.is_empty()).collect();
            print(&if json { format!("{}\n", as_json(&answers)) } else { table(&answers) })?;
        }
        CacheCommand::Clear { pattern } => {
            let pattern = pattern.as_deref().unwrap_or("*");
            let pattern = ToolPattern::parse(pattern).with_context(|| {
                format!("'{pattern}' is not a pattern; write one like 'mcp__sales__*'")
            })?;
            let fits = |_: &str, tool: &str| !tool.is_empty() && pattern.matches(tool);
            let forgotten = match &store {
                Some(store) => store.forget_answers(&fits)?,
                None => 0,
            };
            note(&format!("Removed {}", counted(forgotten)));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Why there may be fewer answers than expected.
fn what_is_on_disk(config: &Config) -> Option<&'static str> {
    match config.cache.as_ref().map(|cache| cache.scope) {
        Some(CacheScope::Shared) => None,
        Some(CacheScope::Process) => Some(
            "Note: with `scope: process`, each onecall process caches answers in its memory; this shows \
             only answers on disk",
        ),
        Some(CacheScope::Run) => Some(
            "Note: with `scope: run`, answers are cached for one program; this shows only answers on \
             disk",
        ),
        None => Some("Note: the cache is off; this shows only answers on disk"),
    }
}

fn counted(answers: u64) -> String {
    if answers == 1 { "1 cached answer".to_owned() } else { format!("{answers} cached answers") }
}

fn totals(answers: &[AnswerSize]) -> (u64, u64, u64) {
    answers.iter().fold((0, 0, 0), |(entries, bytes, hits), it| {
        (entries + it.entries, bytes + it.bytes, hits + it.hits)
    })
}

fn as_json(answers: &[AnswerSize]) -> Value {
    let (entries, bytes, hits) = totals(answers);
    let tools = answers.iter().map(|AnswerSize { server, tool, entries, bytes, hits }| {
        json!({ "server": server, "tool": tool, "entries": entries, "bytes": bytes, "hits": hits })
    });
    let tools: Vec<Value> = tools.collect();
    json!({ "entries": entries, "bytes": bytes, "hits": hits, "tools": tools })
}

fn table(answers: &[AnswerSize]) -> String {
    if answers.is_empty() {
        return "No answers are cached on disk\n".to_owned();
    }
    let (entries, bytes, hits) = totals(answers);
    let total = AnswerSize { server: String::new(), tool: "total".into(), entries, bytes, hits };
    let rows = answers.iter().chain([&total]);
    let width = rows.clone().map(|row| row.tool.chars().count()).max().unwrap_or_default();
    let mut table = format!("{:width$}  answers      bytes     used\n", "");
    for AnswerSize { tool, entries, bytes, hits, .. } in rows {
        _ = writeln!(table, "{tool:width$}  {entries:>7}  {bytes:>9}  {hits:>7}");
    }
    table
}
