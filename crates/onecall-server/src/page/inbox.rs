//! The inbox: the calls that wait for a person, each with a form that answers it, and what was answered
//! lately.

use std::time::Duration;

use hyper::StatusCode;
use maud::{Markup, PreEscaped, html};
use onecall_core::storage::{
    AnswerReceipt, DurableRun, QuestionFilter, QuestionState, StoredQuestion,
};
use onecall_core::text::{visible, visible_json};
use onecall_core::{
    AnsweredVerdict, ApprovalQuestion, ApprovalWay, ItemId, QuestionKind, Timestamp,
};
use serde_json::{Map, Value};

use super::context::PageContext;
use super::error::PageError;
use super::fields::{Fields, segment};
use super::reply::PageAnswer;
use super::room::{excerpt, fill};
use super::unfinished_runs::program_of;
use super::{give_back, text, verdict};

/// How many questions one page lists.
const MAX_OPEN: usize = 40;

/// How much of a page the whole cards take together, in bytes. Further questions are listed with a link.
const CARDS_SIZE: usize = 44_000;

/// How many answers are listed, for how long, and how much of a page they take, in bytes.
const MAX_ANSWERED: usize = 20;
const ANSWERED_FOR: Duration = Duration::from_secs(86_400);
const ANSWERED_SIZE: usize = 6_000;

/// How many lines of a program are shown around the line that asks.
const LINES_AROUND: usize = 3;

/// The longest arguments that a card shows among others and on a page of its own, in bytes of the page. Longer
/// ones cannot be edited here.
const MAX_LISTED_ARGUMENTS: usize = 8_000;
const MAX_ARGUMENTS: usize = 40_000;

/// Why a form is given back after the session that it was made in.
const STALE: &str = "Nothing was done: the form belongs to another session of this browser. What you typed is kept: \
                     read it, and send it again.";

/// Why an answer does not count.
const WITHDRAWN: &str =
    "The call needs no answer any more: the program cancelled it, or its run has ended.";
const EXPIRED: &str = "The question has expired: no answer counts any more.";

/// A question whose form could not be used.
struct Refused<'a> {
    item: &'a ItemId,
    problem: &'a str,
}

/// Where a question stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Among other questions.
    List,
    /// On a page of its own, or given back.
    Alone,
}

pub(super) fn page(context: &PageContext) -> Result<PageAnswer, PageError> {
    Ok(PageAnswer::page("Inbox", body(context, None)?))
}

/// The whole inbox, or the question that the query names. `refused` is a question whose form is given back.
fn body(context: &PageContext, refused: Option<&Refused<'_>>) -> Result<Markup, PageError> {
    let mut open = context.questions()?;
    let only = context.query.get("question").filter(|_| refused.is_none());
    if let Some(only) = only {
        open.retain(|stored| stored.question.item.as_str() == only);
    }
    Ok(html! {
        p.keys.muted { kbd { "j" } " and " kbd { "k" } " go through the questions, " kbd { "a" } " approves, "
            kbd { "d" } " denies, " kbd { "e" } " edits the arguments. "
            button.quiet #notify type="button" hidden { "Notify me in this browser" } }
        @if only.is_some() { p { a href="/page/inbox" { "All questions" } } }
        div #questions data-live data-cards {
            @if open.is_empty() {
                div.empty #nothing-waits {
                    @if only.is_some() { p { strong { "This question does not wait any more." } } } @else {
                        p { strong { "Nothing waits for you." } }
                        p { "Calls that need an approval appear here at once. The section " code { "approvals" }
                            " of the configuration says which do." }
                    }
                }
            }
            (cards(context, &open, if only.is_some() { Place::Alone } else { Place::List }, refused)?)
        }
        @if only.is_none() { (answered(context)?) }
    })
}

fn answered(context: &PageContext) -> Result<Markup, PageError> {
    let filter = QuestionFilter {
        user: context.viewer.only_user(),
        answered_since: Some(context.now.before(ANSWERED_FOR)),
        // One more shows that there are more.
        limit: Some(MAX_ANSWERED + 1),
        ..QuestionFilter::default()
    };
    let answered = context.store.questions(&filter)?;
    let lines = fill(answered.iter().take(MAX_ANSWERED), ANSWERED_SIZE, |stored| {
        html! { li { (answered_line(context, stored)) } }
    });
    Ok(html! {
        section aria-labelledby="answered-title" {
            h2 #answered-title { "Answered in the last day" }
            div #answered data-live {
                @if answered.is_empty() { p.muted { "Nothing." } }
                ul.plain { (lines.markup) }
                @if answered.len() > lines.count { p.muted { "and more; "
                    code { "onecall approvals list --all" } " has them" } }
            }
        }
    })
}

/// The questions of a run that has not ended.
pub(super) fn cards_of_run(
    context: &PageContext,
    open: &[StoredQuestion],
) -> Result<Markup, PageError> {
    cards(context, open, Place::List, None)
}

/// Cards for questions. Those that do not fit into the page are short, and lead to a page of their own.
fn cards(
    context: &PageContext,
    open: &[StoredQuestion],
    place: Place,
    refused: Option<&Refused<'_>>,
) -> Result<Markup, PageError> {
    let problem = |stored: &StoredQuestion| {
        refused.filter(|it| *it.item == stored.question.item).map(|it| it.problem)
    };
    // A form that is given back comes first.
    let mut ordered: Vec<_> = open.iter().map(|stored| (stored, problem(stored))).collect();
    ordered.sort_by_key(|(_, problem)| problem.is_none());
    let (mut cards, mut left) = (Vec::new(), CARDS_SIZE);
    for (stored, problem) in ordered.into_iter().take(MAX_OPEN) {
        let run = context.store.durable_run(&stored.question.run)?;
        let place = if problem.is_some() { Place::Alone } else { place };
        let whole = (left > 0 && (place == Place::Alone || is_listed_whole(context, stored)))
            .then(|| card(context, stored, run.as_ref(), place, problem).into_string());
        // One whole card is there in any case.
        match whole.filter(|it| it.len() <= left || cards.is_empty()) {
            Some(whole) => {
                left = left.saturating_sub(whole.len());
                cards.push(PreEscaped(whole));
            }
            None => cards.push(short_card(context, stored)),
        }
    }
    Ok(html! {
        @for card in cards { (card) }
        @if open.len() > MAX_OPEN { p.muted { "and " (open.len() - MAX_OPEN) " more, once these are answered" } }
    })
}

/// Whether the arguments of a question fit into a list of questions.
fn is_listed_whole(context: &PageContext, stored: &StoredQuestion) -> bool {
    let shown = shown_arguments(context, &stored.question.arguments);
    !excerpt(&shown, MAX_LISTED_ARGUMENTS).is_cut
}

/// A question that is answered on a page of its own.
fn short_card(context: &PageContext, stored: &StoredQuestion) -> Markup {
    let question = &stored.question;
    let item = question.item.as_str();
    html! {
        article.question #{ "question-" (item) } data-question=(item) tabindex="-1" aria-labelledby={ "title-" (item) } {
            h2 #{ "title-" (item) } { (title(question)) }
            p { (text::line(&context.redacted(&question.rule), 200)) ", run "
                a.id href={ "/page/runs/" (question.run) } { (question.run) } }
            p { a href={ "/page/inbox?question=" (segment(item)) } { "Read the whole question, and answer it" } }
        }
    }
}

fn title(question: &ApprovalQuestion) -> Markup {
    let name = text::line(question.name.as_str(), 120);
    html! {
        @match question.kind {
            QuestionKind::Approve => { "May " code { (name) } " be called?" },
            QuestionKind::Unknown => { "Was " code { (name) } " called?" },
        }
    }
}

/// A question, with the form that answers it.
fn card(
    context: &PageContext,
    stored: &StoredQuestion,
    run: Option<&DurableRun>,
    place: Place,
    problem: Option<&str>,
) -> Markup {
    let question = &stored.question;
    let item = question.item.as_str();
    html! {
        article.question #{ "question-" (item) } data-question=(item) tabindex="-1" aria-labelledby={ "title-" (item) } {
            @if let Some(problem) = problem { p.problem role="alert" { (problem) } }
            h2 #{ "title-" (item) } { (title(question)) }
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
            (answer_form(context, question, place, problem.is_some()))
        }
    }
}

/// The arguments of a question, and what answers it.
fn answer_form(
    context: &PageContext,
    question: &ApprovalQuestion,
    place: Place,
    is_given_back: bool,
) -> Markup {
    let item = question.item.as_str();
    let most = if place == Place::Alone { MAX_ARGUMENTS } else { MAX_LISTED_ARGUMENTS };
    let whole = shown_arguments(context, &question.arguments);
    let shown = excerpt(&whole, most);
    // What was typed before an error is shown again.
    let typed = if is_given_back { Some(&context.form) } else { None };
    let typed_text = |field: &str| typed.and_then(|form| form.raw(field)).map(str::to_owned);
    let more = html! { @if shown.is_cut { p { a href={ "/page/inbox/" (segment(item)) "/arguments.txt" } {
    "The whole arguments as a file" } } } };
    html! {
        @if !question.allows(ApprovalWay::Page) {
            pre.output tabindex="0" { (shown.text) }
            (more)
            p.muted { "Its gateway does not accept answers on the page (" code { "ways" } " in " code { "approvals" } ")." }
        } @else {
            form.answer method="post" action={ "/page/inbox/" (segment(item)) } {
                (context.form_check())
                label for={ "arguments-" (item) } { "Arguments" }
                @if !shown.is_cut && question.kind == QuestionKind::Approve {
                    textarea.code #{ "arguments-" (item) } name="arguments" spellcheck="false" rows=(rows(&whole)) {
                        (typed_text("arguments").unwrap_or(whole))
                    }
                } @else {
                    pre.output #{ "arguments-" (item) } tabindex="0" { (shown.text) }
                    (more)
                }
                @match question.kind {
                    QuestionKind::Approve => (approve_controls(question.arguments.as_str(), item, typed)),
                    QuestionKind::Unknown => (unknown_controls(item, typed_text("result"))),
                }
            }
        }
    }
}

/// The buttons of a question. `typed` is the form that is given back.
fn approve_controls(arguments: &str, item: &str, typed: Option<&Fields>) -> Markup {
    let arguments: Map<String, Value> = serde_json::from_str(arguments).unwrap_or_default();
    let is_ticked = |name: &str| typed.is_none_or(|form| form.all("same").any(|it| it == name));
    let length = typed.and_then(|form| form.get("length")).unwrap_or("1d");
    let pressed = typed.and_then(|form| form.get("decision")).unwrap_or_default();
    let reason = typed.and_then(|form| form.raw("reason")).unwrap_or_default();
    html! {
        div.decide {
            button.primary type="submit" name="decision" value="once" autofocus[pressed == "once"] { "Approve once" }
            button type="submit" name="decision" value="run" autofocus[pressed == "run"] { "Approve for this run" }
            details open[typed.is_some()] {
                summary { "Later calls, too" }
                fieldset {
                    legend { "Approve calls of this tool for" }
                    select name="length" aria-label="How long" {
                        @for (value, label, _) in verdict::LENGTHS { option value=(value) selected[value == length] { (label) } }
                    }
                    @if !arguments.is_empty() {
                        p { "where these arguments are as above, with what you have edited:" }
                        @for name in verdict::boxes(&arguments) {
                            label.check { input type="checkbox" name="same" value=(name) checked[is_ticked(name)]; (text::line(name, 60)) }
                        }
                        @let further = arguments.len() - verdict::boxes(&arguments).count();
                        @if further > 0 {
                            p.muted { "and " (text::count(u64::try_from(further).unwrap_or(u64::MAX), "further argument", "further arguments")) ", which must be the same" }
                        }
                        p.muted { "Arguments that you add must be the same, too." }
                    }
                    button type="submit" name="decision" value="tool" autofocus[pressed == "tool"] { "Approve these calls" }
                }
            }
        }
        div.decide {
            label for={ "reason-" (item) } { "Reason, if you deny it" }
            input #{ "reason-" (item) } name="reason" maxlength="1000" value=(reason);
            button.danger type="submit" name="decision" value="deny" autofocus[pressed == "deny"] { "Deny" }
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
                    td { (index + 1) }
                    td { code { (text::line(text, 300)) } }
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
        Err(_) => visible(&redacted).into_owned(),
    }
}

/// The height of the field for a text.
fn rows(text: &str) -> usize {
    text.lines().count().clamp(2, 16)
}

/// The arguments of a question as a file.
pub(super) fn arguments_file(context: &PageContext, item: &str) -> Result<PageAnswer, PageError> {
    let stored = find(context, &ItemId::known(item))?;
    let content = shown_arguments(context, &stored.question.arguments);
    let name = format!("{}-arguments.txt", stored.question.item.as_str());
    Ok(PageAnswer::File { kind: "text/plain; charset=utf-8", name, content })
}

/// The question of a run that the reader may see.
fn find(context: &PageContext, item: &ItemId) -> Result<StoredQuestion, PageError> {
    let stored = context.store.question(item)?.ok_or(PageError::NotFound)?;
    match context.sees_durable_run(&stored.question.run)? {
        true => Ok(stored),
        false => Err(PageError::NotFound),
    }
}

/// Gives a form back that belongs to another session.
pub(super) fn give_back(context: &PageContext, item: &str) -> Result<PageAnswer, PageError> {
    let item = ItemId::known(item);
    match find(context, &item)?.state {
        QuestionState::Open => refuse(context, &item, STALE, StatusCode::FORBIDDEN),
        QuestionState::Answered(earlier) => answered_before(context, &earlier),
        QuestionState::Withdrawn => gone(context, WITHDRAWN),
    }
}

/// The inbox with a form that could not be used, and why.
fn refuse(
    context: &PageContext,
    item: &ItemId,
    problem: &str,
    status: StatusCode,
) -> Result<PageAnswer, PageError> {
    let is_open = context
        .questions()?
        .iter()
        .any(|stored| stored.question.item == *item && stored.question.allows(ApprovalWay::Page));
    // The form has no place in the inbox any more.
    if !is_open {
        return gone(context, problem);
    }
    let body = body(context, Some(&Refused { item, problem }))?;
    Ok(PageAnswer::Page { title: "Inbox".to_owned(), body, status })
}

/// Answers a question with the form that was sent.
pub(super) fn answer(context: &PageContext, item: &str) -> Result<PageAnswer, PageError> {
    let item = ItemId::known(item);
    let stored = find(context, &item)?;
    let shown = shown_arguments(context, &stored.question.arguments);
    let read = verdict::read(&context.form, &stored.question, &shown, context.now);
    let refused = |problem: &str| refuse(context, &item, problem, StatusCode::CONFLICT);
    let verdict = match read {
        Ok(verdict) => verdict,
        // A form that cannot be used may also come too late, which is what the person has to know.
        Err(error) => {
            return match &stored.state {
                QuestionState::Answered(earlier) => answered_before(context, earlier),
                QuestionState::Withdrawn => gone(context, WITHDRAWN),
                QuestionState::Open if stored.question.expires <= context.now => {
                    gone(context, EXPIRED)
                }
                QuestionState::Open => refused(&error.to_string()),
            };
        }
    };
    let answer = AnsweredVerdict {
        verdict,
        by: context.viewer.name.clone(),
        way: ApprovalWay::Page,
        at: Timestamp::now(),
    };
    let receipt = match context.store.answer_question(&item, &answer) {
        Ok(receipt) => receipt,
        Err(error) => {
            let error = PageError::from(error);
            let problem =
                format!("Nothing was done: {error}. What you typed is kept: send it again.");
            // If the store cannot be read, either, the form is given back without the inbox.
            return refuse(context, &item, &problem, error.status()).map_err(|_| error);
        }
    };
    match receipt {
        AnswerReceipt::Accepted => {
            Ok(PageAnswer::Redirect(format!("/page/inbox#answered-{}", segment(item.as_str()))))
        }
        AnswerReceipt::AlreadyAnswered(earlier) => answered_before(context, &earlier),
        AnswerReceipt::Withdrawn => gone(context, WITHDRAWN),
        AnswerReceipt::Expired => gone(context, EXPIRED),
        AnswerReceipt::Unknown => Err(PageError::NotFound),
        AnswerReceipt::DoesNotFit => refused("the answer does not fit the question"),
        AnswerReceipt::WayNotAllowed => refused("its gateway does not accept answers on the page"),
    }
}

fn answered_before(
    context: &PageContext,
    earlier: &AnsweredVerdict,
) -> Result<PageAnswer, PageError> {
    let line = format!("The call was answered before: {}.", summary(earlier));
    gone(context, &context.redacted(&line))
}

/// The inbox, after an answer that does not count any more.
fn gone(context: &PageContext, message: &str) -> Result<PageAnswer, PageError> {
    let body = html! {
        p.problem role="alert" { (message) }
        details open { summary { "Your answer, which was not used" } (give_back::typed(&context.form)) }
        (body(context, None)?)
    };
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
    let decision = verdict::in_past_tense(&answer.verdict);
    let way = match answer.way {
        ApprovalWay::Client => " in the client",
        ApprovalWay::Cli => " on the command line",
        ApprovalWay::Page => " on the page",
        ApprovalWay::Rule => "",
    };
    format!("{decision} by {}{way}", answer.by)
}
