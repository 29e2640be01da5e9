//! A recorded program that runs again, and whether it did the same.

use std::sync::Arc;
use std::time::Duration;

use maud::{Markup, html};
use onecall_core::storage::{CallTexts, ReplayData, RunRecord, RunSummary};
use onecall_core::{BoxFuture, RunLimits};
use onecall_runtime::Redactor;
use thiserror::Error;

use super::{find, output};
use crate::page::context::PageContext;
use crate::page::difference;
use crate::page::error::PageError;
use crate::page::reply::PageAnswer;
use crate::page::room::excerpt;
use crate::page::routes::blocking;
use crate::page::text;

/// How much of a page the error of a replay takes, in bytes.
const ERROR_SIZE: usize = 4_000;

/// How much of a page the difference of the outputs takes, in bytes.
const DIFFERENCE_SIZE: usize = 30_000;

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
        let recorded = Recorded::of(&record);
        let report = context.replayer.replay(record, context.gateway.limits()).await?;
        Ok::<_, PageError>((recorded, report))
    };
    // It is a program of the reader, who may see runs of other users.
    let done = context.gateway.run_as_program(ENGINE_START_TIME, work).await;
    let done = done.map_err(|failure| PageError::Failed(failure.summary().message))?;
    let (recorded, report) = done?;
    blocking(context, move |context| {
        // What a program reads from the workspace is not a part of its record.
        let report = ReplayReport { output: context.redacted(&report.output), ..report };
        Ok(PageAnswer::page("Replay", body(context, &recorded, &report)))
    })
    .await
}

/// What a replay is compared with.
struct Recorded {
    run: RunSummary,
    output: String,
    /// Whether the program was recorded without secrets that it has, so that another program runs again.
    is_redacted: bool,
}

impl Recorded {
    fn of(record: &RunRecord) -> Self {
        let has_replacement = |text: &String| text.contains(Redactor::REPLACEMENT);
        Self {
            run: record.run.clone(),
            output: record.output.clone().unwrap_or_default(),
            is_redacted: has_replacement(&record.program)
                || record.argv.iter().any(has_replacement),
        }
    }
}

/// How the result of a replay differs from that of the run, in a sentence; `None` if it does not. Each result is the
/// class of its error, if it is one.
fn other_result(before: Option<&str>, now: Option<&str>) -> Option<String> {
    let class = |kind: &str| text::line(kind, 100);
    match (before, now) {
        (before, now) if before == now => None,
        (Some(before), None) => Some(format!(
            "The recorded run failed with {}; this time the program succeeded.",
            class(before)
        )),
        (Some(before), Some(now)) => Some(format!(
            "The recorded run failed with {}; this time it was {}.",
            class(before),
            class(now)
        )),
        (None, _) => Some("The recorded run succeeded; this time the program failed.".to_owned()),
    }
}

fn body(context: &PageContext, recorded: &Recorded, report: &ReplayReport) -> Markup {
    let run = &recorded.run;
    let class = |error: &Option<(String, String)>| error.as_ref().map(|(kind, _)| kind.clone());
    let other_result = other_result(class(&run.error).as_deref(), class(&report.error).as_deref());
    let is_same_output = recorded.output == report.output;
    html! {
        nav.tools aria-label="This run" { a href={ "/page/runs/" (run.id) } { "Run " (run.id) } }
        @if is_same_output && other_result.is_none() && report.calls_left == 0 {
            p.good-note role="status" { "The program did the same as in the recorded run." }
        } @else {
            div.problem role="alert" {
                strong { "The program did something else than in the recorded run." }
                @if let Some(other_result) = &other_result { p { (other_result) } }
                @if let Some((kind, message)) = &report.error {
                    pre { (text::line(kind, 100)) ": " (excerpt(&context.redacted(message), ERROR_SIZE).text) }
                }
                @if report.calls_left > 0 {
                    p { (text::count(u64::try_from(report.calls_left).unwrap_or(u64::MAX), "recorded call was", "recorded calls were")) " not made this time." }
                }
                @if !is_same_output { p { "The output is different." } }
                @if recorded.is_redacted {
                    p { "The program was recorded with " code { (Redactor::REPLACEMENT) } " in the place of secrets, which may be the reason." }
                }
            }
        }
        @if is_same_output { (output(run, Some(&report.output), super::OUTPUT_SIZE)) } @else {
            @let found = difference::whole(&recorded.output, &report.output, DIFFERENCE_SIZE);
            section { h2 { "Output" } (found.markup)
                @if found.is_cut { p { "Not all that differs is shown. " a href={ "/page/runs/" (run.id) "/output.txt" } { "The recorded output as a file" } } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_result_is_named() {
        let rows = [
            (Some("ValueError"), Some("ValueError"), None),
            (None, None, None),
            (
                Some("ValueError"),
                None,
                Some("The recorded run failed with ValueError; this time the program succeeded."),
            ),
            (
                Some("ValueError"),
                Some("KeyError"),
                Some("The recorded run failed with ValueError; this time it was KeyError."),
            ),
            (
                None,
                Some("KeyError"),
                Some("The recorded run succeeded; this time the program failed."),
            ),
        ];
        for (before, now, expected) in rows {
            assert_eq!(other_result(before, now).as_deref(), expected);
        }
    }
}
