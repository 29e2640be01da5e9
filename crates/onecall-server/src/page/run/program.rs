//! The source of a program with, beside each line, the calls that the line made.

use std::collections::BTreeMap;
use std::time::Duration;

use maud::{Markup, html};
use onecall_core::storage::{RunRecord, StoredCall};

use super::call_lines::{CallLines, LineSource};
use super::calls::Extent;
use crate::page::fields::Fields;
use crate::page::text;

/// How many lines one page has.
const PAGE_LENGTH: usize = 300;

/// How many lines a file for a colleague has.
const FILE_LENGTH: usize = 10_000;

/// The longest line that is shown whole, in characters.
const MAX_LINE: usize = 400;

/// How many tools are named beside one line.
const MAX_TOOLS: usize = 3;

/// The calls of one tool that one line made.
#[derive(Default)]
struct LineCalls {
    count: u64,
    failed: u64,
    cached: u64,
    denied: u64,
    bytes: u64,
    time: Duration,
    /// The first error.
    error: Option<String>,
}

impl LineCalls {
    fn add(&mut self, call: &StoredCall) {
        self.count += 1;
        self.failed += u64::from(call.error.is_some());
        self.cached += u64::from(call.cached);
        self.denied += u64::from(call.denied_by.is_some());
        self.bytes = self.bytes.saturating_add(call.result_bytes);
        self.time = self.time.saturating_add(call.duration.unwrap_or_default());
        if self.error.is_none() {
            self.error.clone_from(&call.error);
        }
    }
}

/// The program of a run.
pub(super) fn program(
    record: &RunRecord,
    lines: &CallLines,
    query: &Fields,
    extent: Extent,
) -> Markup {
    let mut by_line = BTreeMap::<usize, BTreeMap<&str, LineCalls>>::new();
    let mut unplaced = 0_usize;
    for (call, line) in record.calls.iter().zip(&lines.lines) {
        match line {
            Some(line) => {
                by_line.entry(*line).or_default().entry(&call.name).or_default().add(call);
            }
            None => unplaced += 1,
        }
    }
    let failed_line = record.error_line.and_then(|line| usize::try_from(line).ok());
    let total = record.program.lines().count();
    let (length, part) = match extent {
        Extent::Page => (PAGE_LENGTH, query.number::<usize>("part").unwrap_or(1).max(1)),
        Extent::File => (FILE_LENGTH, 1),
    };
    let first = (part - 1).saturating_mul(length);
    let shown = record.program.lines().enumerate().skip(first).take(length);
    let is_cut = total > first.saturating_add(length);
    html! {
        @if record.program.is_empty() { p.muted { "This run has no program." } }
        div.source role="group" aria-label="Program" tabindex="0" { table.program { tbody {
            @for (index, line) in shown {
                @let number = index + 1;
                tr #{ "line-" (number) } .failed[failed_line == Some(number)] {
                    td.ln aria-hidden="true" { (number) }
                    td.code { code { (text::line(line, MAX_LINE)) } }
                    td.beside { @if let Some(tools) = by_line.get(&number) { (beside(record, number, tools, query, extent)) }
                        @if failed_line == Some(number) { span.tag.bad { "failed here" } } }
                }
            }
        } } }
        @if extent == Extent::Page && total > length {
            nav.pages aria-label="Parts of the program" {
                @if part > 1 { a href=(query.with(&[("part", Some(&(part - 1).to_string()))])) { "Lines before" } }
                @if is_cut { a href=(query.with(&[("part", Some(&(part + 1).to_string()))])) { "Lines after" } }
                a href={ "/page/runs/" (record.run.id) "/program.txt" } { "The whole program as a file" }
            }
        }
        @if unplaced > 0 {
            p.muted { (text::count(u64::try_from(unplaced).unwrap_or(u64::MAX), "call has", "calls have"))
                " no known line." }
        }
        @if lines.source == LineSource::Names && !record.calls.is_empty() {
            p.muted { "Lines were found by the names of tools. With " code { "records: full" } " they are recorded." }
        }
    }
}

/// What one line called.
fn beside(
    record: &RunRecord,
    line: usize,
    tools: &BTreeMap<&str, LineCalls>,
    query: &Fields,
    extent: Extent,
) -> Markup {
    let number = line.to_string();
    let address = query.with(&[("line", Some(&number)), ("page", None)]);
    html! {
        @for (name, calls) in tools.iter().take(MAX_TOOLS) {
            span.call {
                @let label = match calls.count { 1 => short_name(name), count => format!("{count}× {}", short_name(name)) };
                @match extent {
                    Extent::Page => a href={ "/page/runs/" (record.run.id) (address) "#calls-title" } title=(text::line(name, 80)) { (label) },
                    Extent::File => (label),
                }
                " " span.muted { (text::span(calls.time)) " · " (text::bytes(calls.bytes))
                    @if calls.cached > 0 { " · " @if calls.count > 1 { (calls.cached) " " } "cached" }
                    @if calls.denied > 0 { " · denied" } }
                @if calls.failed > 0 {
                    " " span.bad title=(text::line(calls.error.as_deref().unwrap_or_default(), 200)) {
                        @if calls.count > 1 { (calls.failed) " " } "failed"
                    }
                }
            }
        }
        @if tools.len() > MAX_TOOLS { span.muted { "and " (tools.len() - MAX_TOOLS) " more tools" } }
    }
}

/// A callable name without the prefix that all of them have.
fn short_name(name: &str) -> String {
    text::line(name.strip_prefix("mcp__").unwrap_or(name), 40)
}
