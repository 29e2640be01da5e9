//! The calls of a run in a table, each with its bar on the time line, and what was decided about it.

use std::collections::{BTreeMap, HashMap, VecDeque};

use maud::{Markup, html};
use onecall_core::Digest;
use onecall_core::storage::{
    AuditDecision, AuditEvent, AuditFilter, QuestionFilter, QuestionState, RunRecord, StoredCall,
};
use onecall_core::text::visible_line;

use super::call_lines::CallLines;
use super::timeline::{TimeWindow, bar_class, end, micros};
use crate::page::context::PageContext;
use crate::page::error::PageError;
use crate::page::text;

/// How many calls one page has.
const PAGE_LENGTH: usize = 50;

/// How many calls a file for a colleague has.
const FILE_LENGTH: usize = 2_000;

/// How many rows of the audit trail are read for one run.
const MAX_AUDIT_ROWS: usize = 20_000;

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

/// What was decided about the calls of a run.
#[derive(Default)]
pub(super) struct Decisions {
    /// For each call of the record, what was decided, if it is known.
    texts: Vec<Option<String>>,
}

impl Decisions {
    /// Reads the audit trail, if there is one, and the answers of people.
    pub(super) fn read(context: &PageContext, record: &RunRecord) -> Result<Self, PageError> {
        let mut texts = BTreeMap::<u64, ((String, String), String)>::new();
        let id = &record.run.id;
        if context.gateway.audit().is_some() {
            let limit = Some(MAX_AUDIT_ROWS);
            let filter = AuditFilter { run: Some(id.clone()), limit, ..AuditFilter::default() };
            for row in context.store.audit_rows(&filter)? {
                let Some(call) = row.entry.call.filter(|call| call.run == id.as_str()) else {
                    continue;
                };
                if let AuditEvent::Decided { decision, rule, arguments } = row.entry.event {
                    let word = match decision {
                        AuditDecision::Allow => "allowed",
                        AuditDecision::Deny => "denied",
                        AuditDecision::Ask => "asked a person",
                    };
                    let rule = rule.map_or(String::new(), |rule| format!(" by {rule}"));
                    texts.insert(call.id, ((call.tool, arguments.sha256), format!("{word}{rule}")));
                }
            }
        }
        let filter = QuestionFilter { run: Some(id.clone()), open: false };
        for stored in context.store.questions(&filter)? {
            let question = stored.question;
            let answer = match stored.state {
                QuestionState::Open => "waits for a person".to_owned(),
                QuestionState::Withdrawn => "was not answered".to_owned(),
                QuestionState::Answered(answer) => {
                    format!("{} by {}", answer.verdict.name().replace('_', " "), answer.by)
                }
            };
            let text = format!("{answer}, because of {}", question.rule);
            let sha256 = Digest::of(&question.arguments).to_string();
            texts.insert(question.call, ((question.name.to_string(), sha256), text));
        }
        // Records have no numbers of calls, so equal calls are told apart by their order.
        let mut queues = HashMap::<(String, String), VecDeque<String>>::new();
        for (call, text) in texts.into_values() {
            queues.entry(call).or_default().push_back(text);
        }
        let texts = record.calls.iter().map(|call| {
            let call = (call.name.clone(), call.arguments_hash.clone());
            queues.get_mut(&call).and_then(VecDeque::pop_front)
        });
        Ok(Self { texts: texts.collect() })
    }

    /// What was decided about the call with this index.
    pub(super) fn of(&self, index: usize) -> Option<&str> {
        self.texts.get(index)?.as_deref()
    }
}

/// The calls that the query selects.
pub(super) fn table(
    context: &PageContext,
    record: &RunRecord,
    lines: &CallLines,
    decisions: &Decisions,
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
    let (length, page) = match extent {
        Extent::Page => (PAGE_LENGTH, query.number::<usize>("page").unwrap_or(1).max(1)),
        Extent::File => (FILE_LENGTH, 1),
    };
    let shown = selected.iter().skip((page - 1).saturating_mul(length)).take(length);
    let more = selected.len() > page.saturating_mul(length);
    let not_recorded = usize::try_from(record.run.call_count).unwrap_or(usize::MAX);
    let not_recorded = not_recorded.saturating_sub(record.calls.len());
    html! {
        @if extent == Extent::Page && (line.is_some() || is_failed_only) {
            p { "Only calls "
                @if let Some(line) = line { "of line " (line) " " }
                @if is_failed_only { "that failed " }
                "are listed. " a href=(query.with(&[("line", None), ("only", None), ("page", None)])) { "All calls" } }
        }
        div.scroll { table.calls {
            caption.sr { "Calls in the order in which they began" }
            thead { tr {
                th.number scope="col" { "#" } th scope="col" { "Tool" } th.number scope="col" { "Line" }
                th.wide.minor scope="col" { "When" } th.number scope="col" { "Time" } th.number.minor scope="col" { "Sent" }
                th.number scope="col" { "Answer" } th scope="col" { "Result" }
            } }
            tbody { @for (index, call) in shown {
                @let (left, right) = (window.place(micros(call.started), BAR_WIDTH), window.place(end(call, total), BAR_WIDTH));
                tr {
                    td.number { (index + 1) }
                    td { @match extent {
                        Extent::Page => a href={ "/page/runs/" (record.run.id) "/calls/" (index + 1) } { (text::line(&call.name, 80)) },
                        Extent::File => (text::line(&call.name, 80)),
                    } }
                    td.number { @if let Some(line) = line_of(*index) { a href={ "#line-" (line) } { (line) } } }
                    td.wide.minor { svg.row viewBox={ "0 0 " (BAR_WIDTH) " 10" } preserveAspectRatio="none" aria-hidden="true" {
                        rect class=(bar_class(call)) x=(left) y="1" width=((right - left).max(2)) height="8" {}
                    } }
                    td.number { @match call.duration { Some(span) => (text::span(span)), None => "cut off" } }
                    td.number.minor { (text::bytes(call.arguments_bytes)) }
                    td.number { (text::bytes(call.result_bytes)) }
                    td { (result(call, decisions.of(*index))) }
                }
            } }
        } }
        @if extent == Extent::Page {
            nav.pages aria-label="Pages of calls" {
                @if page > 1 { a href=(query.with(&[("page", Some(&(page - 1).to_string()))])) { "Earlier calls" } }
                @if more { a href=(query.with(&[("page", Some(&(page + 1).to_string()))])) { "Later calls" } }
                @if record.run.failed_calls > 0 && !is_failed_only {
                    a href=(query.with(&[("only", Some("failed")), ("page", None)])) { "Only failed calls" }
                }
                span.muted { (count(selected.len(), record.run.call_count)) }
            }
        } @else if more {
            p.muted { "Further calls are left out; the JSON file has all." }
        }
        @if not_recorded > 0 { p.muted { (not_recorded) " further calls were made and not recorded." } }
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
pub(super) fn result(call: &StoredCall, decision: Option<&str>) -> Markup {
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
            (None, Some(decision)) => { " " span.muted { (visible_line(decision)) } },
            (None, None) => {},
        }
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
