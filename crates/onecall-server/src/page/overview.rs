//! The overview: how much ran, how long it took, what failed and what was saved.

use std::time::Duration;

use maud::{Markup, html};

use super::chart::{Axis, Series, bars, lines};
use super::context::PageContext;
use super::error::PageError;
use super::fields::segment;
use super::figures::{Figures, IntervalFigures, PERIODS, Period, ToolFigures};
use super::reply::PageAnswer;
use super::text;

/// How many tools each list has.
const MAX_TOOLS: usize = 8;

pub(super) fn page(context: &PageContext) -> Result<PageAnswer, PageError> {
    let name = context.query.get("period").unwrap_or_default();
    let period = PERIODS.into_iter().find(|period| period.name == name).unwrap_or(PERIODS[0]);
    let user = context.viewer.only_user();
    let figures = context.figures.get(&context.store, period, user)?;
    let body = html! {
        nav.tools aria-label="Period" { @for one in PERIODS {
            a href={ "/page/?period=" (one.name) } aria-current=[(one == period).then_some("true")] { (one.title) }
        } }
        div #overview data-live {
            @if figures.total.runs == 0 { (empty(context, period)?) } @else {
                (totals(&figures.total))
                div.charts { (charts(&figures, period)) }
                div.columns { (slowest(&figures)) (failing(&figures)) }
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

fn totals(total: &IntervalFigures) -> Markup {
    let percent = |part: u64, whole: u64| match whole {
        0 => "–".to_owned(),
        whole => format!("{}%", part.saturating_mul(100) / whole),
    };
    let span = |time: Option<Duration>| time.map_or("–".to_owned(), text::span);
    let saved = u64::try_from(total.saved_tokens).unwrap_or(0);
    html! {
        dl.figures {
            div { dt { "Runs" } dd { (text::short(total.runs)) } dd.more { (text::short(total.failed_runs)) " failed" } }
            div { dt { "Calls" } dd { (text::short(total.calls)) } dd.more { (text::short(total.failed_calls)) " failed" } }
            div { dt { "Time of a run" } dd { (span(total.times.half)) } dd.more { "95% within " (span(total.times.most)) } }
            div { dt { "From the cache" } dd { (percent(total.cached_calls, total.calls)) } dd.more { (text::short(total.cached_calls)) " calls" } }
            div { dt { "Tokens saved" } dd { (text::short_signed(total.saved_tokens)) } dd.more { (percent(saved, total.direct_tokens)) " of direct calls, estimated" } }
        }
    }
}

fn charts(figures: &Figures, period: Period) -> Markup {
    let axis =
        |write: fn(u64) -> String| Axis { from: figures.from, interval: period.interval, write };
    let values = |value: fn(&IntervalFigures) -> u64| -> Vec<u64> {
        figures.intervals.iter().map(value).collect()
    };
    let micros = |span: Option<Duration>| {
        span.map_or(0, |span| u64::try_from(span.as_micros()).unwrap_or(u64::MAX))
    };
    let times = |time: fn(&IntervalFigures) -> Option<Duration>| -> Vec<u64> {
        figures.intervals.iter().map(|it| micros(time(it))).collect()
    };
    html! {
        (bars("Runs", &axis(text::short), &[
            Series { name: "runs", class: "one", values: values(|it| it.runs) },
            Series { name: "failed", class: "two", values: values(|it| it.failed_runs) },
        ]))
        (bars("Calls", &axis(text::short), &[
            Series { name: "calls", class: "one", values: values(|it| it.calls) },
            Series { name: "from the cache", class: "three", values: values(|it| it.cached_calls) },
            Series { name: "failed", class: "two", values: values(|it| it.failed_calls) },
        ]))
        (lines("Time of runs", &axis(|micros| text::span(Duration::from_micros(micros))), &[
            Series { name: "half", class: "one", values: times(|it| it.times.half) },
            Series { name: "95%", class: "two", values: times(|it| it.times.most) },
        ]))
        (bars("Tokens saved", &axis(text::short), &[
            Series { name: "saved", class: "three", values: values(|it| u64::try_from(it.saved_tokens).unwrap_or(0)) },
        ]))
    }
}

fn slowest(figures: &Figures) -> Markup {
    let mut tools: Vec<_> =
        figures.tools.iter().filter(|(_, tool)| tool.times.most.is_some()).collect();
    tools.sort_by_key(|(_, tool)| std::cmp::Reverse(tool.times.most));
    list("Slowest tools", &tools, "95% within", |tool| {
        tool.times.most.map_or(String::new(), text::span)
    })
}

fn failing(figures: &Figures) -> Markup {
    let mut tools: Vec<_> = figures.tools.iter().filter(|(_, tool)| tool.failed > 0).collect();
    tools.sort_by_key(|(_, tool)| std::cmp::Reverse(tool.failed));
    list("Most failing tools", &tools, "Failed", |tool| tool.failed.to_string())
}

fn list(
    title: &str,
    tools: &[(&String, &ToolFigures)],
    column: &str,
    value: impl Fn(&ToolFigures) -> String,
) -> Markup {
    html! {
        section { h2 { (title) }
            @if tools.is_empty() { p.muted { "None." } } @else { div.scroll { table {
                caption.sr { (title) }
                thead { tr { th scope="col" { "Tool" } th.number scope="col" { "Calls" } th.number scope="col" { (column) } } }
                tbody { @for (name, tool) in tools.iter().take(MAX_TOOLS) { tr {
                    td { a href={ "/page/runs?tool=" (segment(name)) } { (text::line(name, 80)) } }
                    td.number { (text::short(tool.calls)) }
                    td.number { (value(tool)) }
                } } }
            } } }
        }
    }
}
