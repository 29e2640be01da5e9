//! Lists the latest runs, one per row: first those that have not ended.

use std::collections::HashSet;
use std::process::ExitCode;

use onecall_config::Config;
use onecall_core::storage::{RunFilter, RunSummary, Store};
use onecall_core::{RunId, Timestamp, UserName};
use serde_json::Value;

use super::RunsArguments;
use super::unrecorded::{UnrecordedRun, resumed_runs, unfinished_runs, unrecorded_runs};
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
    let (mut unfinished, mut unrecorded) = match filter.failed || filter.tool.is_some() {
        true => (Vec::new(), Vec::new()),
        false => (unfinished_runs(config)?, unrecorded_runs(config, arguments.limit)?),
    };
    for without_record in [&mut unfinished, &mut unrecorded] {
        without_record.retain(|it| filter.since.is_none_or(|since| it.run.started >= since));
        let is_selected = |user: &UserName| filter.user.as_ref().is_none_or(|it| it == user);
        without_record.retain(|it| is_selected(&it.run.principal.user));
        without_record.truncate(arguments.limit);
        // A run may have ended and been recorded since.
        without_record.retain(|it| !runs.iter().any(|run| run.id == it.run.id));
    }
    let resumed = resumed_runs(config, runs.iter().map(|run| &run.id))?;
    let mut ended: Vec<EndedRun> = runs.iter().map(EndedRun::Recorded).collect();
    ended.extend(unrecorded.iter().map(EndedRun::Unrecorded));
    ended.sort_by_key(|run| std::cmp::Reverse(run.started()));
    ended.truncate(arguments.limit.saturating_sub(unfinished.len()));
    if arguments.json {
        let unfinished = unfinished.iter().map(UnrecordedRun::json);
        let ended = ended.iter().map(|run| match run {
            EndedRun::Unrecorded(run) => run.json(),
            EndedRun::Recorded(run) => {
                let mut summary = run.to_json();
                summary["resumed"] = resumed.contains(&run.id).into();
                summary
            }
        });
        let runs: Value = unfinished.chain(ended).collect();
        print(&format!("{runs:#}\n"))?;
    } else if ended.is_empty() && unfinished.is_empty() {
        let everything = RunFilter { limit: filter.limit, ..RunFilter::default() };
        note(match filter == everything {
            true => "No runs are recorded",
            false => "No recorded run matches",
        });
    } else {
        print(&rows(&unfinished, &ended, &resumed, now, terminal_width()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A run that has ended.
enum EndedRun<'a> {
    Recorded(&'a RunSummary),
    /// Its record was lost, or is not written yet.
    Unrecorded(&'a UnrecordedRun),
}

impl EndedRun<'_> {
    fn started(&self) -> Timestamp {
        match self {
            Self::Recorded(run) => run.started,
            Self::Unrecorded(run) => run.run.started,
        }
    }

    fn user(&self) -> &UserName {
        match self {
            Self::Recorded(run) => &run.user,
            Self::Unrecorded(run) => &run.run.principal.user,
        }
    }
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
    unfinished: &[UnrecordedRun],
    ended: &[EndedRun<'_>],
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
    let has_users = users.chain(ended.iter().map(EndedRun::user)).any(|user| !user.is_local());
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
    let without_record = |it: &UnrecordedRun| {
        let (id, when) = (it.run.id.to_string(), age(now.since(it.run.started)));
        let mut row = vec![id, when, unknown(), unknown(), unknown()];
        row.extend(user(&it.run.principal.user));
        row.extend(client(&it.run.client));
        row.push(it.outcome());
        row
    };
    let recorded = |run: &RunSummary| {
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
    };
    let ended = ended.iter().map(|run| match run {
        EndedRun::Recorded(run) => recorded(run),
        EndedRun::Unrecorded(run) => without_record(run),
    });
    let rows: Vec<_> = unfinished.iter().map(without_record).chain(ended).collect();
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
