//! The source of a program with, beside each line, the calls that the line made.

use std::collections::BTreeMap;
use std::time::Duration;

use maud::{Markup, html};
use onecall_core::storage::{RunRecord, StoredCall};

use super::call_lines::{CallLines, LineSource};
use super::calls::{Extent, first_line};
use super::decisions::Decisions;
use super::line_links::LineLinks;
use crate::page::fields::Fields;
use crate::page::room::fill;
use crate::page::text;

/// How many lines one page has, and how much of the page they take, in bytes.
const PAGE_LENGTH: usize = 300;
const PAGE_SIZE: usize = 22_000;

/// How many lines a file for a colleague has.
const FILE_LENGTH: usize = 10_000;

/// The longest line that is shown whole, in characters.
const MAX_LINE: usize = 400;

/// How many lines the link to earlier lines goes back at least.
const LINES_BACK: usize = 50;

/// How many tools are named beside one line.
const MAX_TOOLS: usize = 3;

/// The longest error and rule that stand beside a line, in characters.
const MAX_ERROR: usize = 70;
const MAX_RULE: usize = 50;

/// The calls of one tool that one line made.
#[derive(Default)]
struct LineCalls {
    count: u64,
    failed: u64,
    cached: u64,
    bytes: u64,
    time: Duration,
    /// The first error, with the index of its call.
    error: Option<(usize, String)>,
    /// What the first rule has decided that denied a call or had a person asked.
    decision: Option<String>,
}

impl LineCalls {
    fn add(&mut self, index: usize, call: &StoredCall, decisions: &Decisions) {
        self.count += 1;
        self.failed += u64::from(call.error.is_some());
        self.cached += u64::from(call.cached);
        self.bytes = self.bytes.saturating_add(call.result_bytes);
        self.time = self.time.saturating_add(call.duration.unwrap_or_default());
        if self.error.is_none() {
            self.error = call.error.clone().map(|error| (index, error));
        }
        if self.decision.is_none() {
            let denied = call.denied_by.as_ref().map(|rule| format!("denied by {rule}"));
            let special = decisions.of(index).filter(|decision| decision.is_special);
            self.decision = denied.or_else(|| special.map(|decision| decision.text.clone()));
        }
    }
}

/// The program of a run as a part of a page.
pub(super) struct ProgramPart {
    pub(super) markup: Markup,
    /// The links to its lines.
    pub(super) links: LineLinks,
}

impl ProgramPart {
    /// How much of a page the program takes, in bytes.
    pub(super) fn size(&self) -> usize {
        self.markup.0.len()
    }
}

/// The program of a run.
pub(super) fn program(
    record: &RunRecord,
    lines: &CallLines,
    decisions: &Decisions,
    query: &Fields,
    extent: Extent,
) -> ProgramPart {
    let mut by_line = BTreeMap::<usize, BTreeMap<&str, LineCalls>>::new();
    let mut unplaced = 0_usize;
    for (index, (call, line)) in record.calls.iter().zip(&lines.lines).enumerate() {
        match line {
            Some(line) => {
                let tools = by_line.entry(*line).or_default();
                tools.entry(&call.name).or_default().add(index, call, decisions);
            }
            None => unplaced += 1,
        }
    }
    let failed_line = record.error_line.and_then(|line| usize::try_from(line).ok());
    let total = record.program.lines().count();
    let (length, size, first) = match extent {
        Extent::Page => (PAGE_LENGTH, PAGE_SIZE, query.number::<usize>("at").unwrap_or(1).max(1)),
        Extent::File => (FILE_LENGTH, usize::MAX, 1),
    };
    let longest = match extent {
        Extent::Page => MAX_LINE,
        Extent::File => usize::MAX,
    };
    let part = record.program.lines().enumerate().skip(first - 1).take(length);
    let mut is_line_cut = false;
    let shown = fill(part, size, |(index, line)| {
        let number = index + 1;
        let is_failed = failed_line == Some(number);
        let tools = by_line.get(&number);
        let written = text::line(line, usize::MAX);
        is_line_cut |= written.chars().nth(longest).is_some();
        html! {
            tr #{ "line-" (number) } .failed[is_failed] {
                td { (number) }
                td { code { (text::line(&written, longest)) } }
                @if tools.is_some() || is_failed { td {
                    @if let Some(tools) = tools { (beside(record, number, tools, query, extent)) }
                    @if is_failed { span.tag.bad { "failed here" } }
                } }
            }
        }
    });
    let end = first.saturating_add(shown.count);
    let at = |line: usize| query.with(&[("at", Some(&line.to_string()))]);
    let markup = html! {
        @if record.program.is_empty() { p.muted { "This run has no program." } }
        div.source role="group" aria-label="Program" tabindex="0" { table.program { tbody { (shown.markup) } } }
        @if extent == Extent::Page && (first > 1 || end <= total || is_line_cut) {
            nav.pages aria-label="Parts of the program" {
                @if first > 1 { a href=(at(first.saturating_sub(shown.count.max(LINES_BACK)).max(1))) { "Lines before" } }
                @if end <= total { a href=(at(end)) { "Lines after" } }
                a href={ "/page/runs/" (record.run.id) "/program.txt" } { "The whole program as a file" }
                span.muted { (text::count(u64::try_from(total).unwrap_or(u64::MAX), "line", "lines"))
                    @if is_line_cut { ", of which long ones are cut here" } }
            }
        }
        @if unplaced > 0 {
            p.muted { (text::count(u64::try_from(unplaced).unwrap_or(u64::MAX), "call has", "calls have"))
                " no known line." }
        }
        @if lines.source == LineSource::Names && !record.calls.is_empty() {
            p.muted { "Lines were found by the names of tools. With " code { "records: full" } " they are recorded." }
        }
    };
    ProgramPart { markup, links: LineLinks::new(first..end, &record.run.id, query) }
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
    let address = query.with(&[("line", Some(&number)), ("after", None)]);
    html! {
        @for (name, calls) in tools.iter().take(MAX_TOOLS) {
            span.call {
                @let label = match calls.count { 1 => short_name(name), count => format!("{count}× {}", short_name(name)) };
                @match extent {
                    Extent::Page => a href={ (address) "#calls-title" } title=(text::line(name, 80)) { (label) },
                    Extent::File => (label),
                }
                " " span.muted { (text::span(calls.time)) " · " (text::bytes(calls.bytes))
                    @if calls.cached > 0 { " · " @if calls.count > 1 { (calls.cached) " " } "cached" } }
                @if let Some(decision) = &calls.decision {
                    " " span.rule title=(text::line(decision, 300)) { (text::line(decision, MAX_RULE)) }
                }
                @if let Some((index, error)) = &calls.error { " " (failure(record, calls, *index, error, extent)) }
            }
        }
        @if tools.len() > MAX_TOOLS { span.muted { "and " (tools.len() - MAX_TOOLS) " more tools" } }
    }
}

/// How many calls failed, and the beginning of the first error.
fn failure(
    record: &RunRecord,
    calls: &LineCalls,
    index: usize,
    error: &str,
    extent: Extent,
) -> Markup {
    let error = text::line(first_line(error), MAX_ERROR);
    html! {
        span.bad { @if calls.count > 1 { (calls.failed) " " } "failed: "
            @match extent {
                Extent::Page => a.bad href={ "/page/runs/" (record.run.id) "/calls/" (index + 1) } { (error) },
                Extent::File => (error),
            } }
    }
}

/// A callable name without the prefix that all of them have.
fn short_name(name: &str) -> String {
    text::line(name.strip_prefix("mcp__").unwrap_or(name), 40)
}
