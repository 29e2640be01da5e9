//! `onecall stats`: sums of recorded runs, their durations and what they saved.

mod statistics;

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use onecall_core::Timestamp;
use onecall_core::storage::RunFilter;

use self::statistics::Statistics;
use crate::cli::Global;
use crate::commands::note;
use crate::formatting::terminal_width;
use crate::terminal::print;
use crate::time_span::parse_time_span;
use crate::{setup, store};

/// What `onecall stats` takes.
#[derive(Args, Debug)]
pub(crate) struct StatsArguments {
    /// Count the runs of the last 12h, 7d or 4w, for example
    #[arg(long, value_name = "SPAN", default_value = "7d", value_parser = parse_time_span)]
    since: Duration,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Shows the sums of recorded runs.
pub(crate) fn stats(arguments: &StatsArguments, global: &Global) -> anyhow::Result<ExitCode> {
    let config = setup::load(global)?.config;
    let store = store::open(&config)?;
    let since = Some(Timestamp::now().before(arguments.since));
    let mut statistics = Statistics::default();
    for run in store.runs(&RunFilter { since, ..RunFilter::default() })? {
        statistics.add_run(&run);
    }
    store.for_each_call(since, &mut |id, call| statistics.add_call(id, &call))?;
    if arguments.json {
        print(&format!("{:#}\n", statistics.to_json()))?;
    } else if statistics.is_empty() {
        note("No runs are recorded in that time");
    } else {
        print(&statistics.to_text(terminal_width()))?;
    }
    Ok(ExitCode::SUCCESS)
}
