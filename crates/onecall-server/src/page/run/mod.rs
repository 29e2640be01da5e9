//! One run: its program with the calls beside the lines that made them, the calls on a time line, the
//! output, what was decided, and what went to the model.

mod call;
mod call_lines;
mod calls;
mod compare;
mod decisions;
mod export;
mod facts;
mod line_links;
mod pictures;
mod program;
mod replay;
mod timeline;
mod unfinished;

pub(super) use call::pretty;
pub(super) use replay::replay;
pub use replay::{ReplayError, ReplayReport, Replayer};

use maud::{Markup, html};
use onecall_core::RunId;
use onecall_core::storage::{CallTexts, RunRecord, RunSummary};

use super::context::PageContext;
use super::error::PageError;
use super::reply::PageAnswer;
use super::room::excerpt;
use super::text;

/// How much of a page the output takes, in bytes. The whole output is a file.
const OUTPUT_SIZE: usize = 8_000;

/// Answers a request for an address of a run.
pub(super) fn page(
    context: &PageContext,
    id: &str,
    rest: Vec<String>,
) -> Result<PageAnswer, PageError> {
    let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
    let record = match find(context, id, texts_of(&rest))? {
        Some(record) => record,
        None if rest.is_empty() => return unfinished::page(context, &RunId::from_existing(id)),
        None => return Err(PageError::NotFound),
    };
    match rest.as_slice() {
        [] => Ok(PageAnswer::page(format!("Run {}", record.run.id), run_page(context, &record)?)),
        ["calls", number] => {
            let number = number.parse().map_err(|_| PageError::NotFound)?;
            call::page(context, &record, number)
        }
        ["calls", number, "sent-arguments.txt"] => {
            let number = number.parse().map_err(|_| PageError::NotFound)?;
            call::sent_arguments_file(context, &record, number)
        }
        ["calls", number, file @ ("arguments.txt" | "answer.txt" | "error.txt")] => {
            let number = number.parse().map_err(|_| PageError::NotFound)?;
            call::file(&record, number, file)
        }
        ["calls", number, "pictures", picture] => {
            let found = number.parse().ok().and_then(|number| call::call(&record, number));
            let pictures = found.map(pictures::of_call).unwrap_or_default();
            pictures::answer(pictures.iter().map(Some), picture)
        }
        ["pictures", picture] => {
            pictures::answer(record.pictures.iter().map(Option::as_ref), picture)
        }
        ["output.txt"] => Ok(export::output_file(&record)),
        ["program.txt"] => Ok(export::program_file(&record)),
        ["error.txt"] => export::error_file(&record),
        ["run.json"] => Ok(export::json(&record)),
        ["run.html"] => export::html(context, &record),
        ["compare"] => compare::choose(context, &record),
        ["compare", other] => {
            let other = find(context, other, CallTexts::All)?.ok_or(PageError::NotFound)?;
            Ok(compare::page(&record, &other))
        }
        _ => Err(PageError::NotFound),
    }
}

/// Of which calls an address needs arguments and results, which can be very large.
fn texts_of(rest: &[&str]) -> CallTexts {
    match rest {
        [] | ["pictures" | "output.txt" | "program.txt" | "error.txt", ..] => CallTexts::None,
        ["calls", number, ..] => {
            let index = number.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
            index.map_or(CallTexts::None, CallTexts::Of)
        }
        _ => CallTexts::All,
    }
}

/// The record of a run that the reader may see.
fn find(context: &PageContext, id: &str, texts: CallTexts) -> Result<Option<RunRecord>, PageError> {
    let found = context.store.run(&RunId::from_existing(id), texts)?;
    Ok(found.filter(|record| context.viewer.sees_run(&record.run)))
}

fn run_page(context: &PageContext, record: &RunRecord) -> Result<Markup, PageError> {
    let id = &record.run.id;
    let lines = call_lines::of(record);
    let decisions = decisions::Decisions::read(context, record)?;
    let program = program::program(record, &lines, &decisions, &context.query, calls::Extent::Page);
    Ok(html! {
        nav.tools aria-label="This run" {
            a href={ "/page/runs/" (id) "/compare" } { "Compare" }
            a href={ "/page/runs/" (id) "/run.json" } { "JSON" }
            a href={ "/page/runs/" (id) "/run.html" } { "HTML file" }
            @if replay::is_possible(record) {
                form.inline method="post" action={ "/page/runs/" (id) "/replay" } {
                    (context.form_check()) button.quiet type="submit" { "Replay" }
                }
            }
        }
        (facts::facts(record))
        (facts::error(record, &program.links, calls::Extent::Page))
        @if !record.calls.is_empty() {
            section aria-labelledby="calls-title" {
                h2 #calls-title { "Calls" }
                (timeline::strip(record, &context.query))
                (calls::table(context, record, &lines, &decisions, &program, calls::Extent::Page))
            }
        }
        section aria-labelledby="program-title" {
            h2 #program-title { "Program" }
            (program.markup)
        }
        (output(&record.run, record.output.as_deref(), OUTPUT_SIZE))
        (pictures::section(record, calls::Extent::Page))
    })
}

/// The output of a run, as far as it is recorded. It takes at most `most` bytes.
fn output(run: &RunSummary, output: Option<&str>, most: usize) -> Markup {
    html! {
        section aria-labelledby="output-title" {
            h2 #output-title { "Output " span.muted { (text::bytes(run.output_bytes)) } }
            @match output {
                None => p.muted {
                    "The output was not recorded. With " code { "records: full" }
                    " in the configuration, later runs keep it."
                },
                Some("") => p.muted { "The program printed nothing." },
                Some(output) => {
                    @let shown = excerpt(output, most);
                    pre.output tabindex="0" { (shown.text) }
                    @if shown.is_cut {
                        p { a href={ "/page/runs/" (run.id) "/output.txt" } { "The whole output as a file" } }
                    }
                    @if run.output_truncated { p.muted { "The program printed more than onecall keeps." } }
                }
            }
        }
    }
}
