//! `onecall runs`: what ran.

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
use onecall_store::{Found, RunId, RunRecord, Store};

use crate::cli::Global;
use crate::setup;
use crate::span::span;

/// What `onecall runs` takes.
#[derive(Args, Debug)]
pub(crate) struct RunsArguments {
    /// Only those that failed
    #[arg(long)]
    failed: bool,
    /// Only those that called a tool with this in its name
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// Only those of this long: 30m, 2h, 7d
    #[arg(long, value_name = "SPAN", value_parser = span)]
    since: Option<Duration>,
    /// At most so many
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
    /// Show one run: its facts, a timeline of its calls, its program
    #[command(after_help = "Example:\n  onecall runs show 1m7g7r5ga39rv3")]
    Show {
        /// Its id, or the beginning of it
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Run a fully recorded program again, its calls answered from the record
    #[command(after_help = "\
No server is started: each call gets what the same call got then. Only runs that were recorded
with `records: full` can be replayed.

Example:
  onecall runs replay 1m7g7r5ga39rv3

Exit codes: 0 the output came out the same, 1 it did not, 2 there is nothing to replay")]
    Replay {
        /// Its id, or the beginning of it
        id: String,
    },
}

/// Lists runs, or does something with one.
pub(crate) fn runs(arguments: RunsArguments, global: &Global) -> anyhow::Result<ExitCode> {
    let config = setup::load(global)?.config;
    let store = open(&config)?;
    match arguments.command {
        None => list::list(store.as_ref(), &arguments),
        Some(RunsCommand::Show { id, json }) => show::show(&find(store.as_ref(), &id)?, json),
        Some(RunsCommand::Replay { id }) => replay::replay(find(store.as_ref(), &id)?, &config),
    }
}

/// The store of a configuration.
pub(crate) fn open(config: &Config) -> anyhow::Result<Arc<dyn Store>> {
    let file = config.store.file(&Surroundings::of_process().directories);
    let file = file.context(
        "there is no place for the store: set HOME, XDG_STATE_HOME, or path in the \
         configuration's store",
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
