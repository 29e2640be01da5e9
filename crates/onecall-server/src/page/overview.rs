//! The overview: how much ran, how long it took, what failed and what was saved.

use std::time::Duration;

use maud::{Markup, html};
use onecall_core::storage::{Counter, Figures};

use super::chart::{Axis, Series, bars, lines};
use super::context::PageContext;
use super::error::PageError;
use super::fields::segment;
use super::figures::{Overview, PERIODS, Period};
use super::reply::PageAnswer;
use super::room::fill;
use super::run_list::MAX_FILTER;
use super::{damaged_store, text};

/// How many tools each list has, and how much of the page they take, in bytes.
const MAX_TOOLS: usize = 8;
const TOOLS_SIZE: usize = 6_000;

pub(super) fn page(context: &PageContext) -> Result<PageAnswer, PageError> {
    let name = context.query.get("period").unwrap_or_default();
    let period = PERIODS.into_iter().find(|period| period.name == name).unwrap_or(PERIODS[0]);
    let overview = Overview::read(context, period)?;
    let body = html! {
        (damaged_store::notice(context))
        nav.tools aria-label="Period" { @for one in PERIODS {
            a href={ "/page/?period=" (one.name) } aria-current=[(one == period).then_some("true")] { (one.title) }
        } }
        div #overview data-live {
            @if overview.total.get(Counter::Runs) == 0 { (empty(context, period)?) } @else {
                (totals(&overview.total))
                div.charts { (charts(&overview, period)) }
                div.columns { (slowest(&overview)) (failing(&overview)) }
            }
        }
    };
    Ok(PageAnswer::page("Overview", body))
}

fn empty(context: &PageContext, period: Period) -> Result<Markup, PageError> {
    let any = onecall_core::storage::RunFilter {
        user: context.viewer.only_user(),
        limit: Some(1),
        ..Default::default()
    };
    let ran_before = !context.store.runs(&any)?.is_empty();
    Ok(html! {
        div.empty {
            p { strong { "Nothing ran in the last " (period.title) "." } }
            @if ran_before { p { a href="/page/runs" { "Earlier runs" } } } @else {
                p { "Add onecall to an agent with " code { "onecall install CLIENT" }
                    ". What its programs do appears here." }
            }
        }
    })
}

fn totals(total: &Figures) -> Markup {
    let percent = |part: u64, whole: u64| match whole {
        0 => "–".to_owned(),
        whole => format!("{}%", part.saturating_mul(100) / whole),
    };
    let span = |time: Option<Duration>| time.map_or("–".to_owned(), text::span);
    let get = |counter| total.get(counter);
    let short = |counter| text::short(total.get(counter));
    let tokens = percent(get(Counter::SavedTokens), get(Counter::DirectTokens));
    html! {
        dl.figures {
            div { dt { "Runs" } dd { (short(Counter::Runs)) } dd.more { (short(Counter::FailedRuns)) " failed" } }
            div { dt { "Calls" } dd { (short(Counter::Calls)) } dd.more { (short(Counter::FailedCalls)) " failed" } }
            div { dt { "Time of a run" } dd { (span(total.percentile(50))) } dd.more { "95% within " (span(total.percentile(95))) } }
            div { dt { "From the cache" } dd { (percent(get(Counter::CachedCalls), get(Counter::Calls))) } dd.more { (short(Counter::CachedCalls)) @if get(Counter::CachedCalls) == 1 { " call" } @else { " calls" } } }
            div { dt { "Tokens saved" } dd { (text::short_signed(total.signed(Counter::SavedTokens))) } dd.more {
                @match get(Counter::DirectTokens) {
                    0 => "no agent ran a program",
                    _ => { (tokens) " of direct calls" (estimated(total)) },
                }
            } }
        }
    }
}

/// Says how many of the tokens are estimates.
fn estimated(total: &Figures) -> &'static str {
    match (total.get(Counter::EstimatedRuns), total.get(Counter::Runs)) {
        (0, _) => "",
        (estimated, runs) if estimated == runs => ", estimated",
        _ => ", partly estimated",
    }
}

fn charts(overview: &Overview, period: Period) -> Markup {
    let axis =
        |write: fn(u64) -> String| Axis { from: overview.from, interval: period.interval, write };
    let values = |counter: Counter| -> Vec<u64> {
        overview.intervals.iter().map(|figures| figures.get(counter)).collect()
    };
    let micros = |span: Option<Duration>| {
        span.map_or(0, |span| u64::try_from(span.as_micros()).unwrap_or(u64::MAX))
    };
    let times = |percent: u64| -> Vec<u64> {
        overview.intervals.iter().map(|figures| micros(figures.percentile(percent))).collect()
    };
    html! {
        (bars("Runs", &axis(text::short), &[
            Series { name: "runs", class: "one", values: values(Counter::Runs) },
            Series { name: "failed", class: "two", values: values(Counter::FailedRuns) },
        ]))
        (bars("Calls", &axis(text::short), &[
            Series { name: "calls", class: "one", values: values(Counter::Calls) },
            Series { name: "from the cache", class: "three", values: values(Counter::CachedCalls) },
            Series { name: "failed", class: "two", values: values(Counter::FailedCalls) },
        ]))
        (lines("Time of runs", &axis(|micros| text::span(Duration::from_micros(micros))), &[
            Series { name: "half of them within", class: "one", values: times(50) },
            Series { name: "95% within", class: "two", values: times(95) },
        ]))
        (bars("Tokens saved", &axis(text::short), &[
            Series { name: "saved", class: "one", values: values(Counter::SavedTokens) },
        ]))
    }
}

fn slowest(overview: &Overview) -> Markup {
    let tools = overview.tools.iter();
    let mut tools: Vec<_> = tools.filter(|(_, tool)| tool.percentile(95).is_some()).collect();
    tools.sort_by_cached_key(|(_, tool)| std::cmp::Reverse(tool.percentile(95)));
    list("Slowest tools", &tools, "95% within", |tool| {
        tool.percentile(95).map_or(String::new(), text::span)
    })
}

fn failing(overview: &Overview) -> Markup {
    let failed = |tool: &Figures| tool.get(Counter::FailedCalls);
    let mut tools: Vec<_> = overview.tools.iter().filter(|(_, tool)| failed(tool) > 0).collect();
    tools.sort_by_key(|(_, tool)| std::cmp::Reverse(failed(tool)));
    list("Most failing tools", &tools, "Failed", |tool| failed(tool).to_string())
}

fn list(
    title: &str,
    tools: &[(&String, &Figures)],
    column: &str,
    value: impl Fn(&Figures) -> String,
) -> Markup {
    let rows = fill(tools.iter().take(MAX_TOOLS), TOOLS_SIZE, |(name, tool)| {
        html! { tr {
            td {
                // A program may have called any name. The filter takes no longer one.
                @if name.chars().count() > MAX_FILTER { (text::line(name, 80)) } @else {
                    a href={ "/page/runs?tool=" (segment(name)) } { (text::line(name, 80)) }
                }
            }
            td.number { (text::short(tool.get(Counter::Calls))) }
            td.number { (value(tool)) }
        } }
    });
    html! {
        section { h2 { (title) }
            @if tools.is_empty() { p.muted { "None." } } @else { div.scroll { table {
                caption.sr { (title) }
                thead { tr { th scope="col" { "Tool" } th.number scope="col" { "Calls" } th.number scope="col" { (column) } } }
                tbody { (rows.markup) }
            } } }
        }
    }
}
