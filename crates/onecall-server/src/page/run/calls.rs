//! The calls of a run in a table, each with its bar on the time line, and what was decided about it.

use maud::{Markup, html};
use onecall_core::storage::{RunRecord, StoredCall};

use super::call_lines::CallLines;
use super::decisions::{CallDecision, Decisions, SentArguments};
use super::line_links::LineLinks;
use super::program::ProgramPart;
use super::timeline::{TimeWindow, bar_class, end, micros};
use crate::page::context::PageContext;
use crate::page::room::fill;
use crate::page::text;

/// How many calls one page has, and how much of the page they and the program take together, in bytes.
const PAGE_LENGTH: usize = 50;
const PAGE_SIZE: usize = 40_000;

/// How many calls a file for a colleague has.
const FILE_LENGTH: usize = 2_000;

/// The longest arguments that stand in the row of a call, if a person wrote them, in characters.
const MAX_SENT: usize = 150;

/// The width of a bar, in its own units.
const BAR_WIDTH: u64 = 400;

/// How much is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// One page, with links to the others.
    Page,
    /// As much as a file may have, without links.
    File,
}

/// The calls that the query selects.
pub(super) fn table(
    context: &PageContext,
    record: &RunRecord,
    lines: &CallLines,
    decisions: &Decisions,
    program: &ProgramPart,
    extent: Extent,
) -> Markup {
    let query = &context.query;
    let (line, total) = (query.number::<usize>("line"), record.run.duration);
    let window = TimeWindow::read(record, query);
    let line_of = |index: usize| lines.lines.get(index).copied().flatten();
    let is_failed_only = query.get("only") == Some("failed");
    let selected: Vec<(usize, &StoredCall)> = record
        .calls
        .iter()
        .enumerate()
        .filter(|(index, call)| {
            window.has(call, total)
                && (line.is_none() || line_of(*index) == line)
                && (!is_failed_only || call.error.is_some())
        })
        .collect();
    let (length, size, before) = match extent {
        Extent::Page => (
            PAGE_LENGTH,
            PAGE_SIZE.saturating_sub(program.size()),
            query.number::<usize>("after").unwrap_or(0),
        ),
        Extent::File => (FILE_LENGTH, usize::MAX, 0),
    };
    let rows = fill(selected.iter().skip(before).take(length), size, |(index, call)| {
        row(record, (*index, call), line_of(*index), window, decisions, &program.links, extent)
    });
    let end = before.saturating_add(rows.count);
    let not_recorded = usize::try_from(record.run.call_count).unwrap_or(usize::MAX);
    let not_recorded = not_recorded.saturating_sub(record.calls.len());
    let after = |count: usize| query.with(&[("after", Some(&count.to_string()))]);
    html! {
        @if extent == Extent::Page && (line.is_some() || is_failed_only) {
            p { "Only calls "
                @if let Some(line) = line { "of line " (line) " " }
                @if is_failed_only { "that failed " }
                "are listed. " a href=(query.with(&[("line", None), ("only", None), ("after", None)])) { "All calls" } }
        }
        div.scroll { table.calls {
            caption.sr { "Calls in the order in which they began" }
            thead { tr {
                th.number scope="col" { "#" } th scope="col" { "Tool" } th.number scope="col" { "Line" }
                th.wide.minor scope="col" { "When" } th.number scope="col" { "Time" } th.number.minor scope="col" { "Sent" }
                th.number scope="col" { "Answer" } th scope="col" { "Result" }
            } }
            tbody { (rows.markup) }
        } }
        @if extent == Extent::Page {
            nav.pages aria-label="Pages of calls" {
                @if before > 0 { a href=(after(before.saturating_sub(PAGE_LENGTH))) { "Earlier calls" } }
                @if end < selected.len() { a href=(after(end)) { "Later calls" } }
                @if record.run.failed_calls > 0 && !is_failed_only {
                    a href=(query.with(&[("only", Some("failed")), ("after", None)])) { "Only failed calls" }
                }
                span.muted { (count(selected.len(), record.run.call_count)) }
            }
        } @else if end < selected.len() {
            p.muted { "Further calls are left out; the JSON file has all." }
        }
        @if not_recorded > 0 { p.muted { (not_recorded) " further calls were made and not recorded." } }
    }
}

/// One call.
fn row(
    record: &RunRecord,
    (index, call): (usize, &StoredCall),
    line: Option<usize>,
    window: TimeWindow,
    decisions: &Decisions,
    links: &LineLinks,
    extent: Extent,
) -> Markup {
    let end = end(call, record.run.duration);
    let (left, right) =
        (window.place(micros(call.started), BAR_WIDTH), window.place(end, BAR_WIDTH));
    html! {
        tr {
            td.number { (index + 1) }
            td { @match extent {
                Extent::Page => a href={ "/page/runs/" (record.run.id) "/calls/" (index + 1) } { (text::line(&call.name, 80)) },
                Extent::File => (text::line(&call.name, 80)),
            } }
            td.number { @if let Some(line) = line { a href=(links.to(line)) { (line) } } }
            td.wide.minor { svg.row viewBox={ "0 0 " (BAR_WIDTH) " 10" } preserveAspectRatio="none" aria-hidden="true" {
                rect class=(bar_class(call)) x=(left) y="1" width=((right - left).max(2)) height="8" {}
            } }
            td.number { @match call.duration { Some(span) => (text::span(span)), None => "cut off" } }
            td.number.minor { (text::bytes(call.arguments_bytes)) }
            td.number { (text::bytes(call.result_bytes)) }
            td { (result(call, decisions.of(index))) }
        }
    }
}

/// How many calls are listed, of how many.
fn count(listed: usize, all: u64) -> String {
    let calls = text::count(all, "call", "calls");
    match u64::try_from(listed) == Ok(all) {
        true => calls,
        false => format!("{listed} of {calls}"),
    }
}

/// How a call ended, and what was decided about it.
pub(super) fn result(call: &StoredCall, decision: Option<&CallDecision>) -> Markup {
    html! {
        @match (&call.error, call.cached) {
            (Some(error), _) => {
                span.tag.bad { "failed" } " " span.muted { (text::line(first_line(error), 120)) }
            },
            (None, true) => span.tag.cached { "cache" },
            (None, false) if call.duration.is_none() => span.tag.wait { "cut off" },
            (None, false) => {},
        }
        @match (&call.denied_by, decision) {
            (Some(rule), _) => { " " span.muted { "denied by " (text::line(rule, 80)) } },
            (None, Some(decision)) => {
                " " span.muted { (text::line(&decision.text, 300)) }
                @if let SentArguments::Other(sent) = &decision.sent { " " code { (text::line(sent, MAX_SENT)) } }
            },
            (None, None) => {},
        }
    }
}

pub(super) fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
