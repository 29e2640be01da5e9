//! Two runs beside each other: their facts, and what differs in their programs, calls and outputs.

use maud::{Markup, html};
use onecall_core::Digest;
use onecall_core::storage::{RunDetail, RunFilter, RunRecord, StoredCall};

use crate::page::context::PageContext;
use crate::page::difference::around_changes;
use crate::page::error::PageError;
use crate::page::reply::PageAnswer;
use crate::page::run_list::outcome;
use crate::page::text;

/// How much of a page a difference takes, in bytes.
const DIFFERENCE_SIZE: usize = 18_000;

/// The longest arguments and answers in the line of a call, in characters.
const MAX_VALUE: usize = 150;

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
        @if runs.is_empty() {
            div.empty { p { strong { "There is no other run." } }
                p { "Run the program again, or another one: the runs that this one can be compared with are listed here." } }
        } @else { div.scroll { table {
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
        } } }
    };
    Ok(PageAnswer::page(format!("Compare run {}", record.run.id), body))
}

pub(super) fn page(one: &RunRecord, other: &RunRecord) -> PageAnswer {
    let output = |record: &RunRecord| record.output.clone().unwrap_or_default();
    let runs = [one, other];
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
        (difference("Program", runs, [&one.program, &other.program], "program.txt"))
        @let detail = CallDetail::of(one, other);
        (difference("Calls", runs, [&calls(one, detail), &calls(other, detail)], "run.json"))
        p.muted { (detail.explanation()) }
        @if one.output.is_none() || other.output.is_none() {
            section { h2 { "Output" } p.muted { "At least one of the outputs was not recorded." } }
        } @else {
            (difference("Output", runs, [&output(one), &output(other)], "output.txt"))
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

/// What is compared of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallDetail {
    /// Arguments and answers, which both runs have recorded.
    Texts,
    /// The hashes of arguments and the sizes of answers, because a run has not recorded more.
    Hashes,
}

impl CallDetail {
    fn of(one: &RunRecord, other: &RunRecord) -> Self {
        let is_full = |record: &RunRecord| record.run.detail == RunDetail::Full;
        if is_full(one) && is_full(other) { Self::Texts } else { Self::Hashes }
    }

    fn explanation(self) -> &'static str {
        match self {
            Self::Texts => "Of calls, arguments and answers are compared.",
            Self::Hashes => {
                "At least one of the runs has no recorded arguments and answers, so the hashes of arguments \
                 and the sizes of answers are compared. With `records: full` in the configuration, later runs \
                 keep them."
            }
        }
    }
}

/// The calls of a run, one in each line, without what differs between any two runs.
fn calls(record: &RunRecord, detail: CallDetail) -> String {
    record.calls.iter().map(|call| call_line(call, detail)).collect::<Vec<_>>().join("\n")
}

/// A call in one line. Texts that are too long for it are named by their hashes, so that two that differ further
/// on are not the same.
fn call_line(call: &StoredCall, detail: CallDetail) -> String {
    let shortened = |text: &str| match text.len() > MAX_VALUE {
        true => format!(
            "{} #{}",
            text::line(text, MAX_VALUE),
            short_hash(&Digest::of(text).to_string())
        ),
        false => text::line(text, MAX_VALUE),
    };
    let (arguments, answer) = match detail {
        CallDetail::Texts => {
            let answer = call.result.as_ref().map(|(_, text)| shortened(text));
            (call.arguments.as_deref().map(shortened), answer)
        }
        CallDetail::Hashes => (None, None),
    };
    let arguments = arguments.unwrap_or_else(|| {
        format!("#{}, {}", short_hash(&call.arguments_hash), text::bytes(call.arguments_bytes))
    });
    let answer = answer.unwrap_or_else(|| format!("{} bytes", call.result_bytes));
    let end = match (&call.error, call.cached) {
        (Some(error), _) => format!("failed: {}", text::line(error, MAX_VALUE)),
        (None, true) => format!("{answer}, from the cache"),
        (None, false) => answer,
    };
    format!("{}({arguments})  {end}", text::line(&call.name, 120))
}

/// The beginning of a hash, by which people tell two apart.
fn short_hash(hash: &str) -> String {
    text::line(hash, 12)
}

/// What differs between two texts, with some lines around each change. `file` is what the addresses of the
/// whole texts end with.
fn difference(title: &str, runs: [&RunRecord; 2], texts: [&str; 2], file: &str) -> Markup {
    let [one, other] = texts;
    let found = around_changes(one, other, DIFFERENCE_SIZE);
    html! {
        section { h2 { (title) }
            @match found {
                None => p.muted { "The same." },
                Some(found) => {
                    (found.markup)
                    @if found.is_cut { p { "Not all that differs is shown. The whole as files: "
                        @for (index, record) in runs.iter().enumerate() {
                            @if index > 0 { ", " }
                            a href={ "/page/runs/" (record.run.id) "/" (file) } { "run " (record.run.id) }
                        }
                    } }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn call(arguments: &str, result: &str) -> StoredCall {
        StoredCall {
            name: "mcp__a__b".to_owned(),
            server: "a".to_owned(),
            arguments_hash: Digest::of(arguments).to_string(),
            arguments_bytes: 7,
            result_bytes: 9,
            started: Duration::ZERO,
            duration: Some(Duration::ZERO),
            error: None,
            denied_by: None,
            cached: false,
            arguments: Some(arguments.to_owned()),
            result: Some(("json".to_owned(), result.to_owned())),
            counted_tokens: None,
        }
    }

    #[test]
    fn calls_differ_if_their_arguments_or_answers_do() {
        let line =
            |arguments: &str, result: &str, detail| call_line(&call(arguments, result), detail);
        let (texts, hashes) = (CallDetail::Texts, CallDetail::Hashes);
        assert_eq!(line("{}", "1", texts), "mcp__a__b({})  1");
        assert_ne!(line("{}", "1", texts), line("{}", "2", texts));
        assert_ne!(line("[1]", "1", hashes), line("[2]", "1", hashes));
        assert_eq!(line("[1]", "1", hashes), line("[1]", "2", hashes));
        let long = |end: char| format!("{}{end}", "x".repeat(2 * MAX_VALUE));
        assert_ne!(line(&long('a'), "1", texts), line(&long('b'), "1", texts));
        assert_ne!(line("{}", &long('a'), texts), line("{}", &long('b'), texts));
    }
}
