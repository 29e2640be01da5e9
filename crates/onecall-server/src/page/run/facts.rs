//! The facts about a run, in a list above everything else.

use maud::{Markup, html};
use onecall_core::storage::{ReplayData, RunDetail, RunRecord};

use super::calls::Extent;
use super::line_links::LineLinks;
use crate::page::room::excerpt;
use crate::page::run_list::outcome;
use crate::page::text;

/// How much of a page the error takes, in bytes.
const ERROR_SIZE: usize = 3_000;

pub(super) fn facts(record: &RunRecord) -> Markup {
    let run = &record.run;
    let tokens = run.agent_tokens();
    html! {
        dl.facts {
            div { dt { "Outcome" } dd { (outcome(run)) } }
            div { dt { "Started" } dd { (text::time(run.started)) } }
            div { dt { "Time" } dd { (text::span(run.duration)) } }
            div { dt { "Calls" } dd {
                (run.call_count)
                @if run.failed_calls > 0 { span.bad { ", " (run.failed_calls) " failed" } }
                @if run.cached_calls > 0 { ", " (run.cached_calls) " from the cache" }
            } }
            @if !run.user.is_local() { div { dt { "User" } dd { (text::line(run.user.as_str(), 80)) } } }
            div { dt { "Client" } dd { (text::line(&run.client, 80)) } }
            div { dt { "Program" } dd {
                (text::line(&run.kind, 20)) " in " (text::line(&run.language, 20))
                @if run.language != run.engine { ", engine " (text::line(&run.engine, 20)) }
            } }
            @if let Some(session) = &run.session { div { dt { "Session" } dd { (text::line(session, 60)) } } }
            @if let Some(tokens) = tokens {
                div { dt { "To the model" } dd { (went(record, tokens.onecall, tokens.estimated)) } }
                div { dt { "Kept from it" } dd { (kept(record, tokens.saved(), tokens.direct)) } }
            }
            div { dt { "Recorded" } dd { (recorded(record)) } }
        }
    }
}

/// What the model read and wrote of the run.
fn went(record: &RunRecord, tokens: u64, is_estimate: bool) -> Markup {
    let about = if is_estimate { "about " } else { "" };
    html! {
        (about) (text::short(tokens)) " tokens"
        @if let Some(sizes) = record.run.sizes { ", " (text::bytes(sizes.onecall)) }
    }
}

/// What the model would have read and written with direct calls, and did not.
fn kept(record: &RunRecord, saved: i64, direct: u64) -> Markup {
    html! {
        @if saved < 0 { "nothing: direct calls would have taken " (text::short(direct)) " tokens" } @else {
            (text::short_signed(saved)) " of " (text::short(direct)) " tokens"
            @if let Some(sizes) = record.run.sizes {
                ", " (text::bytes(sizes.direct.saturating_sub(sizes.onecall)))
            }
        }
    }
}

fn recorded(record: &RunRecord) -> Markup {
    html! {
        @match (record.run.detail, &record.replay) {
            (RunDetail::Metadata, _) => {
                "no arguments, results and output, so it cannot be replayed; with " code { "records: full" }
                " in the configuration, later runs can"
            },
            (RunDetail::Full, ReplayData::None) => "everything",
            (RunDetail::Full, ReplayData::Journal(_)) => {
                "everything; " code { "onecall runs replay " (record.run.id) } " runs it again"
            },
            (RunDetail::Full, ReplayData::Impossible(obstacle)) => {
                "everything; no replay, because " (obstacle.explanation())
            },
        }
    }
}

/// The error that ended the run.
pub(super) fn error(record: &RunRecord, links: &LineLinks, extent: Extent) -> Markup {
    let size = if extent == Extent::Page { ERROR_SIZE } else { usize::MAX };
    html! {
        @if let Some((kind, message)) = &record.run.error {
            div.problem role="alert" {
                strong { (text::line(kind, 100)) }
                @if let Some(line) = record.error_line { " in " a href=(links.to(usize::try_from(line).unwrap_or(0))) { "line " (line) } }
                @let shown = excerpt(message, size);
                pre { (shown.text) }
                @if shown.is_cut { p { a href={ "/page/runs/" (record.run.id) "/error.txt" } { "The whole error as a file" } } }
            }
        }
    }
}
