//! A recorded program that runs again, and whether it did the same.

use std::sync::Arc;
use std::time::Duration;

use maud::{Markup, html};
use onecall_core::storage::{CallTexts, ReplayData, RunRecord, RunSummary};
use onecall_core::{BoxFuture, RunLimits};
use thiserror::Error;

use super::{find, output, text_difference};
use crate::page::context::PageContext;
use crate::page::error::PageError;
use crate::page::reply::PageAnswer;
use crate::page::room::excerpt;
use crate::page::routes::blocking;
use crate::page::text;

/// How much of a page the error of a replay takes, in bytes.
const ERROR_SIZE: usize = 4_000;

/// How long the engine of a replay may take to start. This does not count as the program's time.
const ENGINE_START_TIME: Duration = Duration::from_secs(60);

/// Runs recorded programs again. Nothing is called: the record answers.
pub trait Replayer: Send + Sync {
    /// Runs the program of a record again, within these limits. The texts of calls need not be in the record.
    /// Dropping the future kills the program.
    fn replay(
        &self,
        record: RunRecord,
        limits: RunLimits,
    ) -> BoxFuture<'_, Result<ReplayReport, ReplayError>>;
}

/// Why a run was not replayed. The texts are for people.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ReplayError {
    /// The record does not have what a replay needs.
    #[error("{0}")]
    NotReplayable(String),
    /// The program could not be run.
    #[error("{0}")]
    NotRun(String),
}

impl From<ReplayError> for PageError {
    fn from(error: ReplayError) -> Self {
        match error {
            ReplayError::NotReplayable(reason) => Self::Invalid(reason),
            ReplayError::NotRun(reason) => Self::Failed(reason),
        }
    }
}

/// What came of a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayReport {
    /// What the program printed.
    pub output: String,
    /// The class and the text of the error that ended it.
    pub error: Option<(String, String)>,
    /// How many calls of the record were not made this time.
    pub calls_left: usize,
}

/// Whether a run can be replayed.
pub(super) fn is_possible(record: &RunRecord) -> bool {
    matches!(record.replay, ReplayData::Journal(_))
}

/// Runs a recorded program again, if the reader sees its run.
pub(in crate::page) async fn replay(
    context: &Arc<PageContext>,
    id: &str,
) -> Result<PageAnswer, PageError> {
    let find = |id: String| move |context: &PageContext| find(context, &id, CallTexts::None);
    if blocking(context, find(id.to_owned())).await?.is_none() {
        return Err(PageError::NotFound);
    }
    let work = async {
        // A record can be large, so it is read when the replay does not wait any more.
        let record = blocking(context, find(id.to_owned())).await?.ok_or(PageError::NotFound)?;
        let (run, before) = (record.run.clone(), record.output.clone().unwrap_or_default());
        let report = context.replayer.replay(record, context.gateway.limits()).await?;
        Ok::<_, PageError>((run, before, report))
    };
    // It is a program of the reader, who may see runs of other users.
    let done = context.gateway.run_as_program(ENGINE_START_TIME, work).await;
    let done = done.map_err(|failure| PageError::Failed(failure.summary().message))?;
    let (run, before, report) = done?;
    blocking(context, move |context| {
        // What a program reads from the workspace is not a part of its record.
        let report = ReplayReport { output: context.redacted(&report.output), ..report };
        Ok(PageAnswer::page("Replay", body(context, &run, &before, &report)))
    })
    .await
}

fn body(context: &PageContext, run: &RunSummary, before: &str, report: &ReplayReport) -> Markup {
    let kind = |error: &Option<(String, String)>| error.as_ref().map(|(kind, _)| kind.clone());
    let is_same = before == report.output && kind(&run.error) == kind(&report.error);
    html! {
        nav.tools aria-label="This run" { a href={ "/page/runs/" (run.id) } { "Run " (run.id) } }
        @if is_same && report.calls_left == 0 {
            p.good-note role="status" { "The program did the same as in the recorded run." }
        } @else {
            div.problem role="alert" {
                strong { "The program did something else than in the recorded run." }
                @if let Some((kind, message)) = &report.error {
                    pre { (text::line(kind, 100)) ": " (excerpt(&context.redacted(message), ERROR_SIZE).text) }
                }
                @if report.calls_left > 0 {
                    p { (text::count(u64::try_from(report.calls_left).unwrap_or(u64::MAX), "recorded call was", "recorded calls were")) " not made this time." }
                }
            }
        }
        @if before == report.output { (output(run, Some(&report.output), super::OUTPUT_SIZE)) } @else {
            section { h2 { "Output" } (text_difference(before, &report.output)) }
        }
    }
}
