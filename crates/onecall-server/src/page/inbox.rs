//! The inbox: the calls that wait for a person, each with a form that answers it, and what was answered
//! lately.

use std::time::Duration;

use hyper::StatusCode;
use maud::{Markup, html};
use onecall_core::storage::{AnswerReceipt, DurableRun, QuestionState, StoredQuestion};
use onecall_core::text::visible_json;
use onecall_core::{
    AnsweredVerdict, ApprovalScope, ApprovalWay, ItemId, QuestionKind, Timestamp, Verdict,
};
use serde_json::{Map, Value};

use super::context::PageContext;
use super::error::PageError;
use super::fields::segment;
use super::reply::PageAnswer;
use super::run::program_of;
use super::{text, verdict};

/// How many questions one page shows.
const MAX_OPEN: usize = 40;

/// How many answers are listed, and for how long.
const MAX_ANSWERED: usize = 20;
const ANSWERED_FOR: Duration = Duration::from_secs(86_400);

/// How many lines of a program are shown around the line that asks.
const LINES_AROUND: usize = 3;

/// The longest arguments that are shown, in characters. Longer ones cannot be edited here.
const MAX_ARGUMENTS: usize = 20_000;

/// How many arguments can be chosen to stay the same in later calls.
const MAX_CONSTRAINTS: usize = 12;

pub(super) fn page(context: &PageContext) -> Result<PageAnswer, PageError> {
    Ok(PageAnswer::page("Inbox", body(context, None)?))
}

/// The whole inbox. `refused` is a question whose form could not be used, with the reason.
fn body(context: &PageContext, refused: Option<(&ItemId, &str)>) -> Result<Markup, PageError> {
    let open = context.questions(true)?;
    let mut answered = context.questions(false)?;
    let since = context.now.before(ANSWERED_FOR);
    answered.retain(|stored| match &stored.state {
        QuestionState::Answered(answer) => answer.at >= since,
        QuestionState::Open | QuestionState::Withdrawn => false,
    });
    answered.reverse();
    let mut cards = Vec::new();
    for stored in open.iter().take(MAX_OPEN) {
        let run = context.store.durable_run(&stored.question.run)?;
        let problem = refused.filter(|(item, _)| **item == stored.question.item);
        cards.push(card(context, stored, run.as_ref(), problem.map(|(_, problem)| problem)));
    }
    Ok(html! {
        p.keys.muted { kbd { "j" } " and " kbd { "k" } " go through the questions, " kbd { "a" } " approves, "
            kbd { "d" } " denies, " kbd { "e" } " edits the arguments. "
            button.quiet #notify type="button" hidden { "Notify me in this browser" } }
        div #questions data-live data-cards {
            @if cards.is_empty() {
                div.empty #nothing-waits {
                    p { strong { "Nothing waits for you." } }
                    p { "Calls that need an approval appear here at once. The section " code { "approvals" }
                        " of the configuration says which do." }
                }
            }
            @for card in cards { (card) }
            @if open.len() > MAX_OPEN { p.muted { "and " (open.len() - MAX_OPEN) " more, once these are answered" } }
        }
        section aria-labelledby="answered-title" {
            h2 #answered-title { "Answered in the last day" }
            div #answered data-live {
                @if answered.is_empty() { p.muted { "Nothing." } }
                ul.plain { @for stored in answered.iter().take(MAX_ANSWERED) { li { (answered_line(context, stored)) } } }
            }
        }
    })
}

/// A question, with the form that answers it.
pub(super) fn card(
    context: &PageContext,
    stored: &StoredQuestion,
    run: Option<&DurableRun>,
    problem: Option<&str>,
) -> Markup {
    let question = &stored.question;
    let shown = shown_arguments(context, &question.arguments);
    let is_editable = shown.chars().nth(MAX_ARGUMENTS).is_none();
    let may_answer = question.allows(ApprovalWay::Page);
    let name = text::line(question.name.as_str(), 120);
    let item = question.item.as_str();
    let form = context.form.clone();
    // What was typed before an error is shown again.
    let typed = |field: &str| problem.and_then(|_| form.raw(field)).map(str::to_owned);
    html! {
        article.question #{ "question-" (item) } data-question=(item) tabindex="-1" aria-labelledby={ "title-" (item) } {
            @if let Some(problem) = problem { p.problem role="alert" { (problem) } }
            h2 #{ "title-" (item) } {
                @match question.kind {
                    QuestionKind::Approve => { "May " code { (name) } " be called?" },
                    QuestionKind::Unknown => { "Was " code { (name) } " called?" },
                }
            }
            dl.facts {
                div { dt { "Rule" } dd { (text::line(&context.redacted(&question.rule), 300)) } }
                div { dt { "Run" } dd #{ "run-" (question.run) } { a.id href={ "/page/runs/" (question.run) } { (question.run) }
                    @if let Some(line) = question.line { ", line " (line) } } }
                @if let Some(run) = run {
                    @if !run.principal.user.is_local() { div { dt { "User" } dd { (text::line(run.principal.user.as_str(), 80)) } } }
                    div { dt { "Client" } dd { (text::line(&run.client, 80)) } }
                }
                div { dt { "Asked" } dd { (text::time(question.asked)) } }
                div { dt { "Denied without an answer" } dd { (text::time(question.expires)) } }
            }
            @if question.kind == QuestionKind::Unknown {
                p { "The gateway ended while this call was under way. Look at what it should have done, and answer." }
            }
            (program_around(context, question.line, run))
            @if let Some(reason) = run.and_then(|run| run.in_place) {
                p.muted { "The run can only be continued while its gateway runs, because " (reason.explanation()) "." }
            }
            @if !may_answer {
                pre.output tabindex="0" { (text::block(&shown, MAX_ARGUMENTS)) }
                p.muted { "Its gateway does not accept answers on the page (" code { "ways" } " in " code { "approvals" } ")." }
            } @else {
                form.answer method="post" action={ "/page/inbox/" (segment(item)) } {
                    (context.form_check())
                    label for={ "arguments-" (item) } { "Arguments" }
                    @if is_editable && question.kind == QuestionKind::Approve {
                        textarea.code #{ "arguments-" (item) } name="arguments" spellcheck="false" rows=(rows(&shown)) {
                            (typed("arguments").unwrap_or(shown))
                        }
                    } @else {
                        pre.output #{ "arguments-" (item) } tabindex="0" { (text::block(&shown, MAX_ARGUMENTS)) }
                    }
                    @match question.kind {
                        QuestionKind::Approve => (approve_controls(question.arguments.as_str(), item, typed("reason"))),
                        QuestionKind::Unknown => (unknown_controls(item, typed("result"))),
                    }
                }
            }
        }
    }
}

fn approve_controls(arguments: &str, item: &str, reason: Option<String>) -> Markup {
    let arguments: Map<String, Value> = serde_json::from_str(arguments).unwrap_or_default();
    html! {
        div.decide {
            button.primary type="submit" name="decision" value="once" { "Approve once" }
            button type="submit" name="decision" value="run" { "Approve for this run" }
            details {
                summary { "Later calls, too" }
                fieldset {
                    legend { "Approve calls of this tool for" }
                    select name="length" aria-label="How long" {
                        @for (value, label, _) in verdict::LENGTHS { option value=(value) selected[value == "1d"] { (label) } }
                    }
                    @if !arguments.is_empty() {
                        p { "where these arguments are the same:" }
                        @for name in arguments.keys().take(MAX_CONSTRAINTS) {
                            label.check { input type="checkbox" name="same" value=(name) checked; (text::line(name, 60)) }
                        }
                    }
                    button type="submit" name="decision" value="tool" { "Approve these calls" }
                }
            }
        }
        div.decide {
            label for={ "reason-" (item) } { "Reason, if you deny it" }
            input #{ "reason-" (item) } name="reason" maxlength="1000" value=(reason.unwrap_or_default());
            button.danger type="submit" name="decision" value="deny" { "Deny" }
        }
    }
}

fn unknown_controls(item: &str, result: Option<String>) -> Markup {
    html! {
        div.decide {
            label for={ "result-" (item) } { "Its result, as JSON" }
            input #{ "result-" (item) } name="result" value=(result.unwrap_or_else(|| "null".to_owned()));
            button.primary type="submit" name="decision" value="happened" { "It happened" }
            button type="submit" name="decision" value="not_happened" { "It did not; call it now" }
            button.danger type="submit" name="decision" value="give_up" { "Give up the run" }
        }
    }
}

/// The lines of the program around the one that asks.
fn program_around(context: &PageContext, line: Option<u32>, run: Option<&DurableRun>) -> Markup {
    let line = line.and_then(|line| usize::try_from(line).ok()).filter(|line| *line > 0);
    let program = run.and_then(|run| program_of(&run.request));
    let (Some(line), Some(program)) = (line, program) else { return html! {} };
    let program = context.redacted(&program);
    let first = line.saturating_sub(LINES_AROUND + 1);
    let lines = program.lines().enumerate().skip(first).take(2 * LINES_AROUND + 1);
    html! {
        div.source tabindex="0" role="group" aria-label="The program around the call" { table.program { tbody {
            @for (index, text) in lines {
                tr.waits[index + 1 == line] {
                    td.ln { (index + 1) }
                    td.code { code { (text::line(text, 300)) } }
                }
            }
        } } }
    }
}

/// The arguments in lines, without secrets and without hidden characters.
fn shown_arguments(context: &PageContext, arguments: &str) -> String {
    let redacted = context.redacted(arguments);
    match serde_json::from_str::<Value>(&redacted) {
        Ok(value) => visible_json(&format!("{value:#}")).into_owned(),
        Err(_) => text::block(&redacted, MAX_ARGUMENTS),
    }
}

/// The height of the field for a text.
fn rows(text: &str) -> usize {
    text.lines().count().clamp(2, 16)
}

/// Answers a question with the form that was sent.
pub(super) fn answer(context: &PageContext, item: &str) -> Result<PageAnswer, PageError> {
    let item = ItemId::known(item);
    let stored = context.store.question(&item)?.ok_or(PageError::NotFound)?;
    if !context.sees_durable_run(&stored.question.run)? {
        return Err(PageError::NotFound);
    }
    let shown = shown_arguments(context, &stored.question.arguments);
    let read = verdict::read(&context.form, &stored.question, &shown, context.now);
    let refused = |problem: &str| {
        let body = body(context, Some((&item, problem)))?;
        Ok(PageAnswer::Page { title: "Inbox".to_owned(), body, status: StatusCode::CONFLICT })
    };
    let verdict = match read {
        Ok(verdict) => verdict,
        Err(error) => return refused(&error.to_string()),
    };
    let answer = AnsweredVerdict {
        verdict,
        by: context.viewer.name.clone(),
        way: ApprovalWay::Page,
        at: Timestamp::now(),
    };
    match context.store.answer_question(&item, &answer)? {
        AnswerReceipt::Accepted => {
            Ok(PageAnswer::Redirect(format!("/page/inbox#answered-{}", segment(item.as_str()))))
        }
        AnswerReceipt::AlreadyAnswered(earlier) => {
            let line = format!("The call was answered before: {}.", summary(&earlier));
            gone(context, &line)
        }
        AnswerReceipt::Withdrawn => gone(
            context,
            "The call needs no answer any more: the program cancelled it, or its run has ended.",
        ),
        AnswerReceipt::Expired => {
            gone(context, "The question has expired: no answer counts any more.")
        }
        AnswerReceipt::Unknown => Err(PageError::NotFound),
        AnswerReceipt::DoesNotFit => refused("the answer does not fit the question"),
        AnswerReceipt::WayNotAllowed => refused("its gateway does not accept answers on the page"),
    }
}

/// The inbox, after an answer that does not count any more.
fn gone(context: &PageContext, message: &str) -> Result<PageAnswer, PageError> {
    let body = html! { p.problem role="alert" { (message) } (body(context, None)?) };
    Ok(PageAnswer::Page { title: "Inbox".to_owned(), body, status: StatusCode::CONFLICT })
}

fn answered_line(context: &PageContext, stored: &StoredQuestion) -> Markup {
    let question = &stored.question;
    html! {
        @if let QuestionState::Answered(answer) = &stored.state {
            span #{ "answered-" (question.item.as_str()) } {
                code { (text::line(question.name.as_str(), 80)) } " "
                (text::line(&context.redacted(&summary(answer)), 300)) ", "
                (text::time(answer.at)) ", run " a.id href={ "/page/runs/" (question.run) } { (question.run) }
            }
        }
    }
}

/// An answer as the end of a sentence: `approved for its run by ada on the page`.
fn summary(answer: &AnsweredVerdict) -> String {
    let decision = match &answer.verdict {
        Verdict::Approve { scope: ApprovalScope::Run, .. } => "approved for its run".to_owned(),
        Verdict::Approve { scope: ApprovalScope::Tool { .. }, .. } => {
            "approved, with later calls,".to_owned()
        }
        Verdict::Approve { arguments: Some(_), .. } => "approved with other arguments".to_owned(),
        Verdict::Approve { .. } => "approved".to_owned(),
        Verdict::Deny { reason: Some(reason) } => format!("denied ({reason})"),
        Verdict::Deny { reason: None } => "denied".to_owned(),
        Verdict::Happened { .. } => "said to have happened".to_owned(),
        Verdict::NotHappened => "said not to have happened".to_owned(),
        Verdict::GiveUp => "given up".to_owned(),
    };
    let way = match answer.way {
        ApprovalWay::Client => " in the client",
        ApprovalWay::Cli => " on the command line",
        ApprovalWay::Page => " on the page",
        ApprovalWay::Rule => "",
    };
    format!("{decision} by {}{way}", answer.by)
}
