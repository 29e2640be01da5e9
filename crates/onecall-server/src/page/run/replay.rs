//! A recorded program that runs again, and whether it did the same.

use maud::html;
use onecall_core::storage::{ReplayData, RunRecord};

use super::output;
use crate::page::context::PageContext;
use crate::page::error::PageError;
use crate::page::reply::PageAnswer;
use crate::page::text;

/// Runs recorded programs again. Nothing is called: the record answers.
pub trait Replayer: Send + Sync {
    /// Runs the program of a record again, and waits for its end.
    ///
    /// # Errors
    /// If the run cannot be replayed, with the reason for a person.
    fn replay(&self, record: RunRecord) -> Result<ReplayReport, String>;
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

/// Whether the page can replay a run.
pub(super) fn is_possible(context: &PageContext, record: &RunRecord) -> bool {
    context.replayer.is_some() && matches!(record.replay, ReplayData::Journal(_))
}

pub(super) fn page(context: &PageContext, record: &RunRecord) -> Result<PageAnswer, PageError> {
    let replayer = context.replayer.as_ref().ok_or(PageError::NotFound)?;
    let report = replayer.replay(record.clone()).map_err(PageError::Invalid)?;
    let before = record.output.as_deref().unwrap_or_default();
    let kind = |error: &Option<(String, String)>| error.as_ref().map(|(kind, _)| kind.clone());
    let is_same = before == report.output && kind(&record.run.error) == kind(&report.error);
    let again = RunRecord { output: Some(report.output.clone()), ..record.clone() };
    let body = html! {
        nav.tools aria-label="This run" { a href={ "/page/runs/" (record.run.id) } { "Run " (record.run.id) } }
        @if is_same && report.calls_left == 0 {
            p.good-note role="status" { "The program did the same as in the recorded run." }
        } @else {
            div.problem role="alert" {
                strong { "The program did something else than in the recorded run." }
                @if let Some((kind, message)) = &report.error {
                    pre { (text::line(kind, 100)) ": " (text::block(&context.redacted(message), 4_000)) }
                }
                @if report.calls_left > 0 {
                    p { (text::count(u64::try_from(report.calls_left).unwrap_or(u64::MAX), "recorded call was", "recorded calls were")) " not made this time." }
                }
            }
        }
        @if before == report.output { (output(&again, super::OUTPUT_SIZE)) } @else {
            section { h2 { "Output" } (super::text_difference(before, &report.output)) }
        }
    };
    Ok(PageAnswer::page("Replay", body))
}
