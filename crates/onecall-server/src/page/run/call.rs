//! One call of a run: its arguments and its answer.

use maud::{Markup, html};
use onecall_core::storage::{RunRecord, StoredCall};
use serde_json::Value;

use super::calls::result;
use super::decisions::{Decisions, SentArguments};
use super::line_links::LineLinks;
use super::{call_lines, pictures};
use crate::page::context::PageContext;
use crate::page::error::PageError;
use crate::page::fields::Fields;
use crate::page::reply::PageAnswer;
use crate::page::room::excerpt;
use crate::page::text;

/// How much of a page the error, the arguments and the answer take, in bytes. Each is a file, too.
const ERROR_SIZE: usize = 8_000;
const ARGUMENTS_SIZE: usize = 22_000;
const ANSWER_SIZE: usize = 30_000;

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
            @if let Some(line) = line { div { dt { "Line" } dd { a href=(LineLinks::new(0..0, &record.run.id, &Fields::default()).to(line)) { (line) } } } }
            div { dt { "Began after" } dd { (text::span(call.started)) } }
            div { dt { "Time" } dd { @match call.duration { Some(span) => (text::span(span)), None => "cut off when the run ended" } } }
            div { dt { "Result" } dd {
                @if call.error.is_none() && !call.cached && call.duration.is_some() { span.tag.good { "answered" } }
                (result(call, decisions.of(index))) } }
        }
        @if let Some(error) = &call.error {
            @let shown = excerpt(error, ERROR_SIZE);
            div.problem { pre { (shown.text) } @if shown.is_cut { (whole(&run, number, "error.txt")) } }
        }
        @let sent = decisions.of(index).map(|decision| &decision.sent).filter(|sent| **sent != SentArguments::Programs);
        @let arguments_size = if sent.is_some() { ARGUMENTS_SIZE / 2 } else { ARGUMENTS_SIZE };
        @if let Some(sent) = sent {
            section { h2 { "Arguments that were sent" }
                p { "The call was approved with these arguments, and not with those of the program." }
                @match sent {
                    SentArguments::Other(sent) => (value(Some(sent), arguments_size, &whole(&run, number, "sent-arguments.txt"))),
                    SentArguments::OtherNotKept | SentArguments::Programs => p.muted { "They were not kept." },
                } }
        }
        section { h2 { @if sent.is_some() { "Arguments of the program " } @else { "Arguments " } span.muted { (text::bytes(call.arguments_bytes)) } }
            (value(call.arguments.as_deref(), arguments_size, &whole(&run, number, "arguments.txt"))) }
        section { h2 { "Answer " span.muted { (text::bytes(call.result_bytes)) } }
            (pictures::of_answer(&run, number, call))
            (value(call.result.as_ref().map(|(_, text)| text.as_str()), ANSWER_SIZE, &whole(&run, number, "answer.txt"))) }
    };
    Ok(PageAnswer::page(format!("Call {number}"), body))
}

/// The link to a text as a file.
fn whole(run: &str, number: usize, file: &str) -> Markup {
    html! { p { a href={ (run) "/calls/" (number) "/" (file) } { "The whole text as a file" } } }
}

/// The arguments, the answer or the error of a call as a file.
pub(super) fn file(record: &RunRecord, number: usize, file: &str) -> Result<PageAnswer, PageError> {
    let call = call(record, number).ok_or(PageError::NotFound)?;
    let content = match file {
        "arguments.txt" => call.arguments.clone(),
        "answer.txt" => call.result.as_ref().map(|(_, text)| text.clone()),
        _ => call.error.clone(),
    };
    let name = format!("{}-call-{number}-{file}", record.run.id);
    let content = content.ok_or(PageError::NotFound)?;
    Ok(PageAnswer::File { kind: "text/plain; charset=utf-8", name, content })
}

/// The arguments with which a person has approved a call as a file.
pub(super) fn sent_arguments_file(
    context: &PageContext,
    record: &RunRecord,
    number: usize,
) -> Result<PageAnswer, PageError> {
    let index = number.checked_sub(1).ok_or(PageError::NotFound)?;
    match Decisions::read(context, record)?.of(index).map(|decision| &decision.sent) {
        Some(SentArguments::Other(sent)) => {
            let name = format!("{}-call-{number}-sent-arguments.txt", record.run.id);
            let content = sent.clone();
            Ok(PageAnswer::File { kind: "text/plain; charset=utf-8", name, content })
        }
        _ => Err(PageError::NotFound),
    }
}

/// A recorded value, as indented JSON if it is JSON. `whole` leads to it if it is too long.
fn value(recorded: Option<&str>, most: usize, whole: &Markup) -> Markup {
    html! {
        @match recorded {
            None => p.muted { "Not recorded. With " code { "records: full" } " in the configuration, later runs keep it." },
            Some(recorded) => {
                @let shown = excerpt(&pretty(recorded), most);
                pre.output tabindex="0" { (shown.text) }
                @if shown.is_cut { (whole) }
            },
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
