//! Two runs beside each other: their facts, and what differs in their programs, calls and outputs.

use maud::{Markup, html};
use onecall_core::storage::{RunFilter, RunRecord};

use crate::line_diff::diff_lines;
use crate::page::context::PageContext;
use crate::page::error::PageError;
use crate::page::reply::PageAnswer;
use crate::page::run_list::outcome;
use crate::page::text;

/// How many lines of a difference are shown.
const MAX_LINES: usize = 400;

/// How many lines around a change are shown.
const CONTEXT: usize = 3;

/// How many runs are offered to compare with.
const MAX_OFFERED: usize = 30;

/// The runs that a run can be compared with: those of the same program first.
pub(super) fn choose(context: &PageContext, record: &RunRecord) -> Result<PageAnswer, PageError> {
    if let Some(other) = context.query.get("with") {
        let address =
            format!("/page/runs/{}/compare/{}", record.run.id, crate::page::fields::segment(other));
        return Ok(PageAnswer::Redirect(address));
    }
    let user = context.viewer.only_user();
    let filter = RunFilter { user, limit: Some(200), ..RunFilter::default() };
    let mut runs = context.store.runs(&filter)?;
    runs.retain(|run| run.id != record.run.id);
    runs.sort_by_key(|run| run.program_hash != record.run.program_hash);
    let body = html! {
        form.filters method="get" {
            label { "Run" input name="with" required maxlength="60" placeholder="1m7g7r5ga39rv3"; }
            span.actions { button type="submit" { "Compare" } }
        }
        div.scroll { table {
            caption.sr { "Runs to compare with" }
            thead { tr { th scope="col" { "Started" } th scope="col" { "Run" } th scope="col" { "Outcome" } th scope="col" { "Program" } } }
            tbody { @for run in runs.iter().take(MAX_OFFERED) {
                tr {
                    td { (text::time(run.started)) }
                    td { a.id href={ "/page/runs/" (record.run.id) "/compare/" (run.id) } { (run.id) } }
                    td { (outcome(run)) }
                    td { @if run.program_hash == record.run.program_hash { "the same" } @else { span.muted { "another" } } }
                }
            } }
        } }
    };
    Ok(PageAnswer::page(format!("Compare run {}", record.run.id), body))
}

pub(super) fn page(one: &RunRecord, other: &RunRecord) -> PageAnswer {
    let output = |record: &RunRecord| record.output.clone().unwrap_or_default();
    let body = html! {
        div.scroll { table {
            caption.sr { "The two runs" }
            thead { tr { th { span.sr { "Fact" } } @for record in [one, other] {
                th scope="col" { a.id href={ "/page/runs/" (record.run.id) } { (record.run.id) } }
            } } }
            tbody {
                (fact("Started", one, other, |record| text::time(record.run.started)))
                (fact("Outcome", one, other, |record| outcome(&record.run)))
                (fact("Time", one, other, |record| html! { (text::span(record.run.duration)) }))
                (fact("Calls", one, other, |record| html! {
                    (record.run.call_count) @if record.run.failed_calls > 0 { ", " (record.run.failed_calls) " failed" }
                }))
                (fact("Output", one, other, |record| html! { (text::bytes(record.run.output_bytes)) }))
            }
        } }
        (difference("Program", &one.program, &other.program))
        (difference("Calls", &calls(one), &calls(other)))
        @if one.output.is_none() || other.output.is_none() {
            section { h2 { "Output" } p.muted { "At least one of the outputs was not recorded." } }
        } @else {
            (difference("Output", &output(one), &output(other)))
        }
    };
    PageAnswer::page("Two runs", body)
}

fn fact(
    name: &str,
    one: &RunRecord,
    other: &RunRecord,
    value: impl Fn(&RunRecord) -> Markup,
) -> Markup {
    html! { tr { th scope="row" { (name) } td { (value(one)) } td { (value(other)) } } }
}

/// The calls of a run, one in each line, without what differs between any two runs.
fn calls(record: &RunRecord) -> String {
    let line = |call: &onecall_core::storage::StoredCall| {
        let arguments = call.arguments.as_deref().unwrap_or("…");
        let end = match (&call.error, call.cached) {
            (Some(error), _) => format!("  failed: {error}"),
            (None, true) => "  from the cache".to_owned(),
            (None, false) => String::new(),
        };
        text::line(&format!("{}({arguments}){end}", call.name), 300)
    };
    record.calls.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// What differs between two texts, with some lines around each change.
fn difference(title: &str, one: &str, other: &str) -> Markup {
    let lines = diff_lines(one, other);
    let is_change = |line: &String| !line.starts_with(' ');
    let is_near = |index: usize| {
        let near = lines.iter().skip(index.saturating_sub(CONTEXT)).take(2 * CONTEXT + 1);
        near.clone().any(is_change)
    };
    let shown: Vec<(usize, &String)> =
        lines.iter().enumerate().filter(|(index, _)| is_near(*index)).collect();
    html! {
        section { h2 { (title) }
            @if shown.is_empty() { p.muted { "The same." } } @else { (changed_lines(&shown)) }
        }
    }
}

fn changed_lines(shown: &[(usize, &String)]) -> Markup {
    let indices = shown.iter().map(|(index, _)| *index);
    let gaps = indices.clone().zip(std::iter::once(None).chain(indices.map(Some)));
    let gaps: Vec<bool> =
        gaps.map(|(index, last)| last.is_some_and(|last| last + 1 < index)).collect();
    html! {
        div.source tabindex="0" role="group" aria-label="Differences" { table.diff { tbody {
            @for ((_, line), gap) in shown.iter().zip(gaps).take(MAX_LINES) {
                @if gap { tr.gap { td { "…" } td {} } }
                @let class = match line.chars().next() { Some('+') => "added", Some('-') => "removed", _ => "" };
                tr class=(class) {
                    td.ln { (line.get(..1).unwrap_or_default()) }
                    td.code { code { (text::line(line.get(2..).unwrap_or_default(), 400)) } }
                }
            }
        } } }
        @if shown.len() > MAX_LINES { p.muted { "and " (shown.len() - MAX_LINES) " more lines" } }
    }
}

/// A difference between two texts, for other parts of the page.
pub(in crate::page) fn text_difference(one: &str, other: &str) -> Markup {
    let lines = diff_lines(one, other);
    let all: Vec<(usize, &String)> = lines.iter().enumerate().collect();
    changed_lines(&all)
}
