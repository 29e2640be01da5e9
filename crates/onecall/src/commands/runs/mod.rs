//! `onecall runs`: lists, shows and replays recorded runs.

mod json;
mod list;
mod recorded;
mod replay;
mod show;
mod timeline;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use onecall_config::{Config, Surroundings};
use onecall_core::storage::{Found, RunRecord, RunSummary, Store};
use onecall_core::{RunId, Tokens};

use crate::cli::Global;
use crate::live::COMMAND_LINE;
use crate::setup;
use crate::span::span;

/// The tokens that an agent saved with a run. A run from the command line saves none: no model would
/// have made its calls.
pub(crate) fn agent_tokens(run: &RunSummary) -> Option<Tokens> {
    run.tokens().filter(|_| run.client != COMMAND_LINE)
}

/// What `onecall runs` takes.
#[derive(Args, Debug)]
pub(crate) struct RunsArguments {
    /// Show only runs that failed
    #[arg(long)]
    failed: bool,
    /// Show only runs that called this tool: its name, TOOL, SERVER.TOOL or a part of it
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// Show only runs of the last 30m, 2h or 7d, for example
    #[arg(long, value_name = "SPAN", value_parser = span)]
    since: Option<Duration>,
    /// Show at most this many runs
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    command: Option<RunsCommand>,
}

#[derive(Debug, Subcommand)]
enum RunsCommand {
    /// Show one run: a summary, a timeline of its calls, and its program
    #[command(after_help = "Example:\n  onecall runs show 1m7g7r5ga39rv3")]
    Show {
        /// The run's id, or the beginning of it
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Run a recorded program again, with the recorded answers of its tool calls
    #[command(after_help = "\
Starts no server: each call gets the answer that the same call got in the recorded run. Only runs
that were recorded with `records: full` can be replayed.

Example:
  onecall runs replay 1m7g7r5ga39rv3

Exit codes: 0 the output is the same, 1 it differs, 2 the run cannot be replayed")]
    Replay {
        /// The run's id, or the beginning of it
        id: String,
    },
}

/// Lists runs, or runs a subcommand.
pub(crate) fn runs(arguments: RunsArguments, global: &Global) -> anyhow::Result<ExitCode> {
    let loaded = setup::load(global)?;
    let store = open(&loaded.config)?;
    match arguments.command {
        None => list::list(store.as_ref(), &arguments),
        Some(RunsCommand::Show { id, json }) => show::show(&find(store.as_ref(), &id)?, json),
        Some(RunsCommand::Replay { id }) => replay::replay(find(store.as_ref(), &id)?, &loaded),
    }
}

/// The store of a configuration.
pub(crate) fn open(config: &Config) -> anyhow::Result<Arc<dyn Store>> {
    let file = config.store.file(&Surroundings::of_process().directories);
    let file = file.context(
        "there is no place for the store: set HOME or XDG_STATE_HOME, or `path` under `store` in \
         the configuration",
    )?;
    Ok(onecall_store::open(file))
}

fn find(store: &dyn Store, id: &str) -> anyhow::Result<RunRecord> {
    match store.find_run(id)? {
        Found::One(record) => Ok(*record),
        Found::Nothing => bail!("no run has the id '{id}'; see `onecall runs`"),
        Found::Several(ids) => {
            let ids: Vec<_> = ids.iter().map(RunId::as_str).collect();
            bail!("several runs begin with '{id}': {}; write more of it", ids.join(", "))
        }
    }
}
