//! Lists the latest runs, one per row: first those that have not ended.

use std::collections::HashSet;
use std::process::ExitCode;

use onecall_config::Config;
use onecall_core::storage::{RunFilter, RunSummary, Store};
use onecall_core::{RunId, Timestamp, UserName};
use serde_json::Value;

use super::RunsArguments;
use super::unfinished::{UnfinishedRun, resumed_runs, unfinished_runs};
use crate::commands::note;
use crate::formatting::{Alignment, age, duration, short_number, table, terminal_width};
use crate::terminal::{neutralise, print};

/// In a narrower terminal, rows have no client.
const NARROW: usize = 80;

pub(super) fn list(
    store: &dyn Store,
    config: &Config,
    arguments: &RunsArguments,
) -> anyhow::Result<ExitCode> {
    let now = Timestamp::now();
    let filter = RunFilter {
        failed: arguments.failed,
        tool: arguments.tool.clone(),
        user: arguments.user.as_deref().map(UserName::from_existing),
        since: arguments.since.map(|span| now.before(span)),
        limit: Some(arguments.limit),
        ..RunFilter::default()
    };
    let mut runs = store.runs(&filter)?;
    for tool in filter.tool.as_deref().map(spellings).unwrap_or_default() {
        if runs.is_empty() {
            runs = store.runs(&RunFilter { tool: Some(tool), ..filter.clone() })?;
        }
    }
    // Neither the failure nor the calls of a run are known before it has ended.
    let mut unfinished = match filter.failed || filter.tool.is_some() {
        true => Vec::new(),
        false => unfinished_runs(config)?,
    };
    unfinished.retain(|it| filter.since.is_none_or(|since| it.run.started >= since));
    let is_selected = |user: &UserName| filter.user.as_ref().is_none_or(|it| it == user);
    unfinished.retain(|it| is_selected(&it.run.principal.user));
    unfinished.truncate(arguments.limit);
    // A run may have ended and been recorded since.
    unfinished.retain(|it| !runs.iter().any(|run| run.id == it.run.id));
    runs.truncate(arguments.limit.saturating_sub(unfinished.len()));
    let resumed = resumed_runs(config, runs.iter().map(|run| &run.id))?;
    if arguments.json {
        let unfinished = unfinished.iter().map(UnfinishedRun::json);
        let ended = runs.iter().map(|run| {
            let mut summary = run.to_json();
            summary["resumed"] = resumed.contains(&run.id).into();
            summary
        });
        let runs: Value = unfinished.chain(ended).collect();
        print(&format!("{runs:#}\n"))?;
    } else if runs.is_empty() && unfinished.is_empty() {
        let everything = RunFilter { limit: filter.limit, ..RunFilter::default() };
        note(match filter == everything {
            true => "No runs are recorded",
            false => "No recorded run matches",
        });
    } else {
        print(&rows(&unfinished, &runs, &resumed, now, terminal_width()))?;
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

fn rows(
    unfinished: &[UnfinishedRun],
    runs: &[RunSummary],
    resumed: &HashSet<RunId>,
    now: Timestamp,
    width: usize,
) -> String {
    let is_narrow = width < NARROW;
    let mut headings = vec![
        ("ID", Alignment::Left),
        ("WHEN", Alignment::Right),
        ("TIME", Alignment::Right),
        ("CALLS", Alignment::Right),
        ("SAVED", Alignment::Right),
        ("USER", Alignment::Left),
        ("CLIENT", Alignment::Left),
        ("OUTCOME", Alignment::Left),
    ];
    let users = unfinished.iter().map(|it| &it.run.principal.user);
    let has_users = users.chain(runs.iter().map(|run| &run.user)).any(|user| !user.is_local());
    headings.retain(|(heading, _)| match *heading {
        "USER" => has_users,
        "CLIENT" => !is_narrow,
        _ => true,
    });
    let user = |user: &UserName| {
        let name = neutralise(&crate::formatting::truncate_line(user.as_str(), 20));
        has_users.then_some(name)
    };
    let client = |name: &str| {
        let name = neutralise(&crate::formatting::truncate_line(name, 20));
        (!is_narrow).then_some(name)
    };
    let unknown = || "-".to_owned();
    let unfinished = unfinished.iter().map(|it| {
        let (id, when) = (it.run.id.to_string(), age(now.since(it.run.started)));
        let mut row = vec![id, when, unknown(), unknown(), unknown()];
        row.extend(user(&it.run.principal.user));
        row.extend(client(&it.run.client));
        row.push(it.outcome());
        row
    });
    let ended = runs.iter().map(|run| {
        let mut row = vec![
            run.id.to_string(),
            age(now.since(run.started)),
            duration(run.duration),
            run.call_count.to_string(),
            saved(run),
        ];
        row.extend(user(&run.user));
        row.extend(client(&run.client));
        row.push(outcome(run, resumed.contains(&run.id)));
        row
    });
    let rows: Vec<_> = unfinished.chain(ended).collect();
    table(&headings, &rows, width)
}

fn saved(run: &RunSummary) -> String {
    let about = |estimated| if estimated { "~" } else { "" };
    run.agent_tokens().map_or("-".to_owned(), |tokens| {
        format!("{}{}", about(tokens.estimated), short_number(tokens.saved()))
    })
}

/// The outcome of a run, and its error.
fn outcome(run: &RunSummary, is_resumed: bool) -> String {
    let resumed = if is_resumed { ", resumed" } else { "" };
    let calls = match run.failed_calls {
        0 => String::new(),
        1 => ", 1 call failed".to_owned(),
        failed => format!(", {failed} calls failed"),
    };
    match &run.error {
        None => format!("{}{resumed}{calls}", run.outcome),
        Some((kind, message)) => neutralise(&format!("{kind}: {message}")),
    }
}
