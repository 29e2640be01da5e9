//! One call of a run: its arguments and its answer.

use maud::{Markup, html};
use onecall_core::storage::{RunRecord, StoredCall};
use serde_json::Value;

use super::calls::{Decisions, result};
use super::{call_lines, pictures};
use crate::page::context::PageContext;
use crate::page::error::PageError;
use crate::page::reply::PageAnswer;
use crate::page::text;

/// The longest value that a page shows, in characters.
const MAX_VALUE: usize = 20_000;

/// The call with this number, which counts from 1.
pub(super) fn call(record: &RunRecord, number: usize) -> Option<&StoredCall> {
    record.calls.get(number.checked_sub(1)?)
}

pub(super) fn page(
    context: &PageContext,
    record: &RunRecord,
    number: usize,
) -> Result<PageAnswer, PageError> {
    let call = call(record, number).ok_or(PageError::NotFound)?;
    let index = number.saturating_sub(1);
    let decisions = Decisions::read(context, record)?;
    let line = call_lines::of(record).lines.get(index).copied().flatten();
    let run = format!("/page/runs/{}", record.run.id);
    let body = html! {
        nav.tools aria-label="This call" {
            a href=(run) { "Run " (record.run.id) }
            @if index > 0 { a href={ (run) "/calls/" (index) } rel="prev" { "Call before" } }
            @if number < record.calls.len() { a href={ (run) "/calls/" (number + 1) } rel="next" { "Next call" } }
        }
        dl.facts {
            div { dt { "Tool" } dd { a href={ "/page/tools/" (crate::page::fields::segment(&call.name)) } { (text::line(&call.name, 120)) } } }
            div { dt { "Server" } dd { (text::line(&call.server, 80)) } }
            @if let Some(line) = line { div { dt { "Line" } dd { a href={ (run) "#line-" (line) } { (line) } } } }
            div { dt { "Began after" } dd { (text::span(call.started)) } }
            div { dt { "Time" } dd { @match call.duration { Some(span) => (text::span(span)), None => "cut off when the run ended" } } }
            div { dt { "Result" } dd {
                @if call.error.is_none() && !call.cached && call.duration.is_some() { span.tag.good { "answered" } }
                (result(call, decisions.of(index))) } }
        }
        @if let Some(error) = &call.error { div.problem { pre { (text::block(error, MAX_VALUE)) } } }
        section { h2 { "Arguments " span.muted { (text::bytes(call.arguments_bytes)) } }
            (value(call.arguments.as_deref())) }
        section { h2 { "Answer " span.muted { (text::bytes(call.result_bytes)) } }
            (pictures::of_answer(&run, number, call))
            (value(call.result.as_ref().map(|(_, text)| text.as_str()))) }
    };
    Ok(PageAnswer::page(format!("Call {number}"), body))
}

/// A recorded value, as indented JSON if it is JSON.
fn value(recorded: Option<&str>) -> Markup {
    html! {
        @match recorded {
            None => p.muted { "Not recorded. With " code { "records: full" } " in the configuration, later runs keep it." },
            Some(recorded) => pre.output tabindex="0" { (text::block(&pretty(recorded), MAX_VALUE)) },
        }
    }
}

/// Indented JSON, or the text as it is.
pub(in crate::page) fn pretty(text: &str) -> String {
    match serde_json::from_str::<Value>(text) {
        Ok(value @ (Value::Object(_) | Value::Array(_))) => format!("{value:#}"),
        Ok(_) | Err(_) => text.to_owned(),
    }
}
