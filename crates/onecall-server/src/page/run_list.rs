//! The list of runs, newest first, with filters. Runs that have not ended come before the others.

use std::time::Duration;

use maud::{Markup, html};
use onecall_core::storage::{RunFilter, RunPosition, RunSummary};
use onecall_core::{RunId, Timestamp, UserName};

use super::context::PageContext;
use super::error::PageError;
use super::reply::PageAnswer;
use super::room::{fill, left_beside};
use super::unfinished_runs::{self, RunState, Source, UnfinishedRun};
use super::{damaged_store, text};

/// How many runs one page has; as many that have not ended can stand above them.
pub(super) const PAGE_LENGTH: usize = 50;

/// How much of a page the runs take that have not ended, in bytes.
const UNFINISHED_SIZE: usize = 20_000;

/// The longest text of a filter, in characters.
pub(super) const MAX_FILTER: usize = 200;

/// How many runs one page searches.
const MAX_SEARCHED: usize = 10_000;

/// The filters that are texts, with their labels.
const TEXT_FILTERS: [(&str, &str); 4] =
    [("text", "Text"), ("tool", "Tool"), ("server", "Server"), ("client", "Client")];

/// The outcomes of records that runs can be filtered by.
const OUTCOMES: [(&str, &str); 11] = [
    ("", "any"),
    ("ok", "ok"),
    ("failed", "failed in any way"),
    ("raised", "raised an exception"),
    ("refused", "refused"),
    ("timed_out", "timed out"),
    ("cancelled", "cancelled"),
    ("too_many_programs", "too many programs"),
    ("workspace_full", "workspace full"),
    ("worker_died", "worker died"),
    ("engine_unavailable", "engine unavailable"),
];

pub(super) fn page(context: &PageContext) -> Result<PageAnswer, PageError> {
    let filter = filter(context)?;
    let is_first = filter.after.is_none();
    // Read before the others, so that a run that ends meanwhile is not missing.
    let mut unfinished = if is_first { unfinished(context, &filter)? } else { Vec::new() };
    let has_ended = unfinished_state(&filter).is_none();
    let searched_to = if has_ended { searched_to(context, &filter)? } else { None };
    let since = filter.since.max(searched_to);
    let runs = match has_ended {
        true => context.store.runs(&RunFilter { since, ..filter.clone() })?,
        false => Vec::new(),
    };
    unfinished.retain(|run| runs.iter().all(|recorded| recorded.id != run.id));
    let controls = html! { (damaged_store::notice(context)) (filters(context)) };
    let before = context.query.number::<usize>("unfinished").unwrap_or(0);
    let listed = unfinished.iter().skip(before).take(PAGE_LENGTH);
    let running = fill(listed, UNFINISHED_SIZE, |run| unfinished_row(context, run));
    let further = before.saturating_add(running.count);
    let further = (further < unfinished.len()).then(|| further.to_string());
    // Links repeat the filters: to older runs, to the newest, to further searches and to others that run.
    let link = html! { a href=(context.query.with(&[])) { "Older runs" } };
    let room = left_beside(&[&controls, &running.markup, &link, &link, &link, &link]);
    let shown = fill(runs.iter().take(PAGE_LENGTH), room, |run| row(context, run));
    let last = runs.get(shown.count.saturating_sub(1)).filter(|_| runs.len() > shown.count);
    let next = last.map(|last| format!("{}-{}", last.started.0, last.id));
    let is_filtered = filter != RunFilter { limit: filter.limit, ..own(context) };
    let is_empty = runs.is_empty() && unfinished.is_empty();
    let body = html! {
        (controls)
        div #runs data-live {
            @if is_empty && searched_to.is_none() { (empty(is_filtered)) } @else if !is_empty {
                div.scroll { table {
                    caption.sr { "Runs, newest first" }
                    thead { tr {
                        th scope="col" { "Started" } th scope="col" { "Run" } th scope="col" { "Outcome" }
                        th.number scope="col" { "Time" } th.number scope="col" { "Calls" }
                        th.number.minor scope="col" { "Tokens saved" }
                        @if context.sees_everyone() && context.gateway.has_users() { th scope="col" { "User" } }
                        th scope="col" { "Client" } th.minor scope="col" { "Kind" }
                    } }
                    tbody { (running.markup) (shown.markup) }
                } }
            }
            @if let Some(further) = &further {
                p { a href=(context.query.with(&[("unfinished", Some(further))])) { "More runs that have not ended" } }
            }
            @if let (None, Some(oldest)) = (&next, searched_to) {
                p { "Searched " (text::short(u64::try_from(MAX_SEARCHED).unwrap_or(u64::MAX))) " runs, back to " (text::time(oldest)) ". "
                    a href=(context.query.with(&[("after", Some(&format!("{}-", oldest.0))), ("unfinished", None)])) { "Search older runs" } }
            }
            nav.pages aria-label="Pages of runs" {
                @if !is_first || before > 0 { a href=(context.query.with(&[("after", None), ("unfinished", None)])) { "Newest runs" } }
                @if let Some(next) = &next {
                    a href=(context.query.with(&[("after", Some(next)), ("unfinished", None)])) { "Older runs" }
                }
            }
        }
    };
    Ok(PageAnswer::page("Runs", body))
}

/// Where the search of this page ends, if it ends before the oldest run. A text, a tool or a client that few runs
/// have would otherwise be looked for in all of them.
fn searched_to(context: &PageContext, filter: &RunFilter) -> Result<Option<Timestamp>, PageError> {
    let RunFilter { failed, tool, client, server, outcome, text, .. } = filter;
    let is_search =
        *failed || [tool, client, server, outcome, text].into_iter().any(Option::is_some);
    match is_search {
        true => Ok(context.store.start_of_run_at(filter, MAX_SEARCHED)?),
        false => Ok(None),
    }
}

/// The filter that selects everything that the reader sees.
fn own(context: &PageContext) -> RunFilter {
    RunFilter { user: context.viewer.only_user(), ..RunFilter::default() }
}

fn filter(context: &PageContext) -> Result<RunFilter, PageError> {
    let query = &context.query;
    let get = |name: &str| query.get(name).map(str::to_owned);
    let day = |name: &str| match query.get(name) {
        None => Ok(None),
        // The end of the day before is the beginning of this one.
        Some(day) => match Timestamp::parse(day) {
            Some(end) => Ok(Some(end)),
            None => Err(PageError::InvalidFilter {
                message: format!("'{}' is not a date such as 2026-05-09", text::line(day, 40)),
                form: filters(context),
            }),
        },
    };
    let after = match query.get("after") {
        None => None,
        Some(text) => {
            let position = text.split_once('-').and_then(|(started, id)| {
                let started = Timestamp(started.parse().ok()?);
                Some(RunPosition { started, id: RunId::from_existing(id) })
            });
            Some(position.ok_or_else(|| {
                PageError::Invalid("this page of the list is not there".to_owned())
            })?)
        }
    };
    let outcome = query.get("outcome");
    let user = query.get("user").map(UserName::from_existing);
    Ok(RunFilter {
        failed: outcome == Some("failed"),
        tool: get("tool"),
        user: context.viewer.only_user().or(user),
        client: get("client"),
        server: get("server"),
        outcome: outcome.filter(|it| *it != "failed").map(str::to_owned),
        text: get("text"),
        since: day("since")?.map(|end| end.before(Duration::from_secs(86_400))),
        until: day("until")?,
        after,
        limit: Some(PAGE_LENGTH + 1),
    })
}

fn filters(context: &PageContext) -> Markup {
    let query = &context.query;
    let value = |name: &str| query.get(name).unwrap_or_default();
    html! {
        form.filters method="get" action="/page/runs" role="search" aria-label="Filter runs" {
            @for (name, label) in TEXT_FILTERS {
                label { (label) input type="search" name=(name) value=(value(name)) maxlength=(MAX_FILTER); }
            }
            @if context.sees_everyone() && context.gateway.has_users() {
                label { "User" input type="search" name="user" value=(value("user")) maxlength=(MAX_FILTER); }
            }
            label { "Outcome" select name="outcome" {
                @for (outcome, label) in OUTCOMES.into_iter().chain(RunState::UNFINISHED.map(|(_, name, label)| (name, label))) {
                    option value=(outcome) selected[value("outcome") == outcome] { (label) }
                }
            } }
            label { "From, in UTC" input type="date" name="since" value=(value("since")); }
            label { "To, in UTC" input type="date" name="until" value=(value("until")); }
            span.actions {
                button type="submit" { "Filter" }
                a href="/page/runs" { "Clear" }
            }
        }
    }
}

fn empty(is_filtered: bool) -> Markup {
    html! {
        div.empty {
            @if is_filtered {
                p { "No run matches. " a href="/page/runs" { "Show all runs" } "." }
            } @else {
                p { strong { "Nothing ran yet." } }
                p { "Add onecall to an agent with " code { "onecall install CLIENT" } ", or run a program with "
                    code { "onecall run -e 'print(1)'" } ". It appears here." }
            }
        }
    }
}

fn row(context: &PageContext, run: &RunSummary) -> Markup {
    let tokens = run.agent_tokens();
    html! {
        tr {
            td.nowrap { (text::time(run.started)) }
            td { a.id href={ "/page/runs/" (run.id) } { (run.id) } }
            td { (outcome(run)) }
            td.number { (text::span(run.duration)) }
            td.number {
                (run.call_count)
                @if run.failed_calls > 0 { span.bad { " · " (run.failed_calls) " failed" } }
            }
            td.number.minor { @if let Some(tokens) = tokens { (text::short_signed(tokens.saved())) } }
            @if context.sees_everyone() && context.gateway.has_users() {
                td { (text::line(run.user.as_str(), 40)) }
            }
            td { (text::line(&run.client, 40)) }
            td.minor { (text::line(&run.kind, 20)) }
        }
    }
}

/// How a run ended, with its error.
pub(super) fn outcome(run: &RunSummary) -> Markup {
    html! {
        @if run.outcome == "ok" { span.tag.good { "ok" } } @else {
            span.tag.bad { (text::line(&run.outcome, 30)) }
            @if let Some((kind, _)) = &run.error { " " span.muted { (text::line(kind, 60)) } }
        }
    }
}

/// The state of runs that have not ended, if the filter is for one.
fn unfinished_state(filter: &RunFilter) -> Option<RunState> {
    filter.outcome.as_deref().and_then(RunState::named)
}

/// The runs that have not ended, newest first. What they called is not known yet, so a filter for that
/// leaves them out.
fn unfinished(context: &PageContext, filter: &RunFilter) -> Result<Vec<UnfinishedRun>, PageError> {
    let wanted = unfinished_state(filter);
    let is_known = filter.failed
        || (filter.outcome.is_some() && wanted.is_none())
        || filter.tool.is_some()
        || filter.server.is_some();
    if is_known {
        return Ok(Vec::new());
    }
    let text = filter.text.as_ref().map(|text| text.to_lowercase());
    let has_text = |run: &UnfinishedRun, text: &str| {
        [run.id.as_str(), &run.program].iter().any(|it| it.to_lowercase().contains(text))
    };
    let source = if text.is_some() { Source::Read } else { Source::LeftOut };
    let mut runs = unfinished_runs::list(context, source)?;
    runs.retain(|run| {
        wanted.is_none_or(|wanted| run.state == wanted)
            && text.as_ref().is_none_or(|text| has_text(run, text))
            && filter.user.as_ref().is_none_or(|user| run.user == *user)
            && filter.client.as_ref().is_none_or(|client| run.client.contains(client.as_str()))
            && filter.since.is_none_or(|since| run.started >= since)
            && filter.until.is_none_or(|until| run.started < until)
    });
    Ok(runs)
}

fn unfinished_row(context: &PageContext, run: &UnfinishedRun) -> Markup {
    html! {
        tr {
            td.nowrap { (text::time(run.started)) }
            td { a.id href={ "/page/runs/" (run.id) } { (run.id) } }
            td { (run.state.tag(&run.id)) }
            td.number { (text::age(context.now, run.started)) }
            td {} td.minor {}
            @if context.sees_everyone() && context.gateway.has_users() {
                td { (text::line(run.user.as_str(), 40)) }
            }
            td { (text::line(&run.client, 40)) }
            td.minor { (text::line(&run.kind, 20)) }
        }
    }
}
