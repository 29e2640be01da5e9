//! `onecall cancel`: ends a durable run, whichever process has it.

use std::process::ExitCode;

use onecall_core::nearest::nearest;
use onecall_core::storage::{DurableRun, DurableState, DurableStore, FinalAnswer};
use onecall_core::text::visible_line;
use onecall_core::{RunId, Timestamp, UserName};
use onecall_gateway::RunAnswer;
use serde_json::json;
use thiserror::Error;

use crate::cli::Global;
use crate::commands::{note, say};
use crate::terminal::print;
use crate::{setup, store};

/// Why an id means no durable run.
#[derive(Debug, Error)]
pub(super) enum UnknownRun {
    #[error("no run that can be continued has the id '{id}'{hint}")]
    Nothing {
        id: String,
        /// The id that was probably meant, or where ids are listed.
        hint: String,
    },
    #[error("several runs begin with '{id}': {}; write more of it", .runs.join(", "))]
    Several { id: String, runs: Vec<String> },
}

/// The durable run with this id, or the only one whose id begins with it.
pub(super) fn find_run(id: &str, runs: Vec<DurableRun>) -> Result<DurableRun, UnknownRun> {
    let known: Vec<String> = runs.iter().map(|run| run.id.to_string()).collect();
    let is_exact = runs.iter().any(|run| run.id.as_str() == id);
    let is_meant = |run: &DurableRun| match is_exact {
        true => run.id.as_str() == id,
        false => !id.is_empty() && run.id.as_str().starts_with(id),
    };
    let mut found: Vec<DurableRun> = runs.into_iter().filter(is_meant).collect();
    match (found.pop(), found.is_empty()) {
        (Some(run), true) => Ok(run),
        (Some(run), false) => {
            let runs = found.iter().chain([&run]).map(|run| run.id.to_string()).collect();
            Err(UnknownRun::Several { id: id.to_owned(), runs })
        }
        (None, _) => {
            let hint = match nearest(id, known.iter().map(String::as_str)) {
                Some(meant) => format!("; did you mean '{meant}'?"),
                None => "; see `onecall runs`".to_owned(),
            };
            Err(UnknownRun::Nothing { id: id.to_owned(), hint })
        }
    }
}

/// Cancels a run.
pub(crate) fn cancel(id: &str, as_json: bool, global: &Global) -> anyhow::Result<ExitCode> {
    let config = setup::load(global)?.config;
    let store = store::open(&config)?;
    let (run, refusal) = match find_run(id, store.durable_runs(true)?) {
        Ok(run) => {
            let refusal = end(store.as_ref(), &run)?;
            (Some(run.id), refusal)
        }
        Err(error) => (None, Some(error.to_string())),
    };
    if as_json {
        let result = json!({
            "run": run.as_ref().map(RunId::as_str),
            "cancelled": refusal.is_none(),
            "message": refusal,
        });
        print(&format!("{result:#}\n"))?;
    } else if let Some(refusal) = &refusal {
        say(&visible_line(&format!("error: {refusal}")));
    } else if let Some(run) = &run {
        note(&format!("Cancelled run {run}"));
    }
    Ok(if refusal.is_none() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Ends a run in the store, or says why it cannot be ended.
fn end(store: &dyn DurableStore, run: &DurableRun) -> anyhow::Result<Option<String>> {
    let ended =
        |run: &RunId| format!("run {run} has already ended; `onecall runs show {run}` shows it");
    if matches!(run.state, DurableState::Ended(_)) {
        return Ok(Some(ended(&run.id)));
    }
    let result = serde_json::to_string(&RunAnswer::cancelled())?;
    let answer = FinalAnswer { result, at: Timestamp::now() };
    let is_cancelled = store.cancel_durable_run(&run.id, &answer)?;
    Ok((!is_cancelled).then(|| ended(&run.id)))
}

/// Cancels all runs of a user that have not ended; returns how many there were.
pub(super) fn cancel_runs_of(store: &dyn DurableStore, user: &UserName) -> anyhow::Result<usize> {
    let mut cancelled = 0;
    for run in store.durable_runs(false)?.iter().filter(|run| run.principal.user == *user) {
        cancelled += usize::from(end(store, run)?.is_none());
    }
    Ok(cancelled)
}

/// Prints the ids of the runs that have not ended, for the completion of a shell.
pub(crate) fn ids(global: &Global) -> anyhow::Result<ExitCode> {
    let config = setup::load(global)?.config;
    let Some(store) = store::open_existing(&config) else { return Ok(ExitCode::SUCCESS) };
    let runs = store.durable_runs(false)?;
    print(&runs.iter().map(|run| format!("{}\n", run.id)).collect::<String>())?;
    Ok(ExitCode::SUCCESS)
}
