//! Lists the latest runs, one per row.

use std::process::ExitCode;

use onecall_core::Timestamp;
use onecall_core::storage::{RunFilter, RunSummary, Store};
use serde_json::Value;

use super::{RunsArguments, agent_tokens, json};
use crate::commands::note;
use crate::figures::{Side, age, amount, duration, table, terminal_width};
use crate::terminal::{neutralise, print};

/// In a narrower terminal, rows have no client.
const NARROW: usize = 80;

pub(super) fn list(store: &dyn Store, arguments: &RunsArguments) -> anyhow::Result<ExitCode> {
    let now = Timestamp::now();
    let filter = RunFilter {
        failed: arguments.failed,
        tool: arguments.tool.clone(),
        since: arguments.since.map(|span| now.before(span)),
        limit: Some(arguments.limit),
    };
    let mut runs = store.runs(&filter)?;
    for tool in filter.tool.as_deref().map(spellings).unwrap_or_default() {
        if runs.is_empty() {
            runs = store.runs(&RunFilter { tool: Some(tool), ..filter.clone() })?;
        }
    }
    if arguments.json {
        let runs: Value = runs.iter().map(json::summary).collect();
        print(&format!("{runs:#}\n"))?;
    } else if runs.is_empty() {
        let everything = RunFilter { limit: filter.limit, ..RunFilter::default() };
        note(match filter == everything {
            true => "No runs are recorded",
            false => "No recorded run matches",
        });
    } else {
        print(&rows(&runs, now, terminal_width()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Other spellings for the recorded name of a tool: `server.tool`, and a tool's own name with
/// characters that callable names do not have.
fn spellings(name: &str) -> Vec<String> {
    let plain = |part: &str| part.replace(|it: char| !it.is_ascii_alphanumeric(), "_");
    let with_server =
        name.split_once('.').map(|(server, tool)| format!("__{}__{}", plain(server), plain(tool)));
    with_server.into_iter().chain([plain(name)]).collect()
}

fn rows(runs: &[RunSummary], now: Timestamp, width: usize) -> String {
    let is_narrow = width < NARROW;
    let mut headings = vec![
        ("ID", Side::Left),
        ("WHEN", Side::Right),
        ("TIME", Side::Right),
        ("CALLS", Side::Right),
        ("SAVED", Side::Right),
        ("CLIENT", Side::Left),
        ("OUTCOME", Side::Left),
    ];
    headings.retain(|(heading, _)| !(is_narrow && *heading == "CLIENT"));
    let rows: Vec<_> = runs
        .iter()
        .map(|run| {
            let mut row = vec![
                run.id.to_string(),
                age(now.since(run.started)),
                duration(run.duration),
                run.call_count.to_string(),
                saved(run),
            ];
            if !is_narrow {
                row.push(neutralise(&crate::figures::fitted(&run.client, 20)));
            }
            row.push(outcome(run));
            row
        })
        .collect();
    table(&headings, &rows, width)
}

fn saved(run: &RunSummary) -> String {
    let about = |estimated| if estimated { "~" } else { "" };
    agent_tokens(run).map_or("-".to_owned(), |tokens| {
        format!("{}{}", about(tokens.estimated), amount(tokens.saved()))
    })
}

/// The outcome of a run, and its error.
fn outcome(run: &RunSummary) -> String {
    let calls = match run.failed_calls {
        0 => String::new(),
        1 => ", 1 call failed".to_owned(),
        failed => format!(", {failed} calls failed"),
    };
    match &run.error {
        None => format!("{}{calls}", run.outcome),
        Some((kind, message)) => neutralise(&format!("{kind}: {message}")),
    }
}
