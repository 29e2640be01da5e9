//! A run that has not ended: it runs, waits for a person, or was interrupted.

use std::collections::HashSet;

use maud::html;
use onecall_core::RunId;
use onecall_core::storage::{QuestionFilter, QuestionState};

use crate::page::context::PageContext;
use crate::page::error::PageError;
use crate::page::inbox;
use crate::page::reply::PageAnswer;
use crate::page::room::fill;
use crate::page::text;
use crate::page::unfinished_runs::{self, RunState};

/// How many lines of the program are shown, and how much of the page they take, in bytes.
const MAX_LINES: usize = 500;
const PROGRAM_SIZE: usize = 20_000;

pub(super) fn page(context: &PageContext, id: &RunId) -> Result<PageAnswer, PageError> {
    let run = unfinished_runs::find(context, id)?.ok_or(PageError::NotFound)?;
    let has_ended = run.state == RunState::Ended;
    let filter = QuestionFilter { run: Some(id.clone()), open: true, ..QuestionFilter::default() };
    let mut open = context.store.questions(&filter)?;
    open.retain(|stored| stored.state == QuestionState::Open);
    let is_asking = !open.is_empty() && !has_ended;
    let state = if is_asking { RunState::Waiting } else { run.state };
    let program = &run.program;
    let asking: HashSet<usize> =
        open.iter().filter_map(|it| usize::try_from(it.question.line?).ok()).collect();
    let first = context.query.number::<usize>("at").unwrap_or(1).max(1);
    let lines = program.lines().enumerate().skip(first - 1).take(MAX_LINES);
    let lines = fill(lines, PROGRAM_SIZE, |(index, line)| {
        let asks = asking.contains(&(index + 1));
        html! {
            tr #{ "line-" (index + 1) } .waits[asks] {
                td { (index + 1) }
                td { code { (text::line(line, 400)) } }
                @if asks { td { span.tag.wait { "waits here" } } }
            }
        }
    });
    let next = first.saturating_add(lines.count);
    let at = |line: usize| context.query.with(&[("at", Some(&line.to_string()))]);
    let body = html! {
        div #run-state data-live data-reload=[has_ended.then_some("")] {
            dl.facts {
                div { dt { "State" } dd { (state.tag(id)) } }
                div { dt { "Started" } dd { (text::time(run.started)) } }
                @if !run.user.is_local() { div { dt { "User" } dd { (text::line(run.user.as_str(), 80)) } } }
                div { dt { "Client" } dd { (text::line(&run.client, 80)) } }
                div { dt { "Kind" } dd { (text::line(&run.kind, 20)) } }
                @if run.resumed > 0 { div { dt { "Continued" } dd { (text::count(run.resumed, "time", "times")) } } }
            }
            @if has_ended { p.muted { "The run has ended. Its record follows in a moment, if runs are recorded." } }
        }
        div #questions data-live data-cards { (inbox::cards_of_run(context, &open)?) }
        @if !program.is_empty() {
            section { h2 { "Program" }
                div.source tabindex="0" role="group" aria-label="Program" { table.program { tbody { (lines.markup) } } }
                nav.pages aria-label="Parts of the program" {
                    @if first > 1 { a href=(at(1)) { "The first lines" } }
                    @if program.lines().nth(next - 1).is_some() { a href=(at(next)) { "Lines after" } }
                }
            }
        }
    };
    Ok(PageAnswer::page(format!("Run {id}"), body))
}
