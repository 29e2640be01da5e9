//! `onecall runs`: lists, shows and replays recorded runs, and shows durable runs that have no record.

mod list;
mod replay;
mod show;
mod timeline;
mod unrecorded;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use clap::{Args, Subcommand};
use onecall_config::Config;
use onecall_core::RunId;
use onecall_core::storage::{RunLookup, RunRecord, Store};

use crate::cli::Global;
use crate::terminal::print;
use crate::time_span::parse_time_span;
use crate::{setup, store};

/// What `onecall runs` takes.
#[derive(Args, Debug)]
pub(crate) struct RunsArguments {
    /// Show only runs that failed
    #[arg(long)]
    failed: bool,
    /// Show only runs that called this tool: its name, TOOL, SERVER.TOOL or a part of it
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// Show only runs of this user
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    /// Show only runs of the last 30m, 2h or 7d, for example
    #[arg(long, value_name = "SPAN", value_parser = parse_time_span)]
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
Starts no server and makes no call: the program gets the answers of the recorded run in the same
order, and sees the same times and random numbers. If it makes another call than in that run, the
replay stops and says in which line. Only programs that were recorded with `records: full` can be
replayed; `onecall runs show` says if one cannot, and why.

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
    let store = store::open(&loaded.config)?;
    match arguments.command {
        None => list::list(store.as_ref(), &loaded.config, &arguments),
        Some(RunsCommand::Show { id, json }) => show(store.as_ref(), &loaded.config, &id, json),
        Some(RunsCommand::Replay { id }) => replay::replay(find(store.as_ref(), &id)?, &loaded),
    }
}

/// Shows a recorded run, or a durable one without a record.
fn show(store: &dyn Store, config: &Config, id: &str, as_json: bool) -> anyhow::Result<ExitCode> {
    let recorded = find(store, id);
    if recorded.is_err()
        && let Some(run) = unrecorded::find_unrecorded(config, id)?
    {
        print(&run.details(config, as_json))?;
        return Ok(ExitCode::SUCCESS);
    }
    show::show(&recorded?, as_json)
}

fn find(store: &dyn Store, id: &str) -> anyhow::Result<RunRecord> {
    match store.find_run(id)? {
        RunLookup::One(record) => Ok(*record),
        RunLookup::Nothing => bail!("no run has the id '{id}'; see `onecall runs`"),
        RunLookup::Several(ids) => {
            let ids: Vec<_> = ids.iter().map(RunId::as_str).collect();
            bail!("several runs begin with '{id}': {}; write more of it", ids.join(", "))
        }
    }
}
