//! The audit trail: who called which tool, who decided it and how it ended, and the check that no row was
//! changed.

use maud::{Markup, html};
use onecall_core::storage::{
    AuditDecision, AuditEntry, AuditEvent, AuditFilter, AuditReport, AuditRow,
};
use onecall_core::{RunId, ToolPattern};

use super::context::PageContext;
use super::error::PageError;
use super::reply::PageAnswer;
use super::room::{fill, left_beside};
use super::text;

/// How many rows one page lists.
const PAGE_LENGTH: usize = 100;

/// How many rows one page searches.
const MAX_SEARCHED: u64 = 10_000;

pub(super) fn page(context: &PageContext) -> Result<PageAnswer, PageError> {
    Ok(PageAnswer::page("Audit", body(context, None)?))
}

/// Checks the whole trail.
pub(super) fn verify(context: &PageContext) -> Result<PageAnswer, PageError> {
    if !context.sees_everyone() {
        return Err(PageError::Forbidden("only administrators check the audit trail".to_owned()));
    }
    let report = context.store.verify_audit(None)?;
    Ok(PageAnswer::page("Audit", body(context, Some(&report))?))
}

fn body(context: &PageContext, report: Option<&AuditReport>) -> Result<Markup, PageError> {
    let query = &context.query;
    let filter = filter(context)?;
    let searched_to = searched_to(context, &filter)?;
    let searched = AuditFilter { after: searched_to, ..filter.clone() };
    let rows = context.store.audit_rows(&searched)?;
    let report = html! { @if let Some(report) = report { (report_text(report)) } };
    let filters = filters(context);
    let link = html! { a href=(query.with(&[])) { "Older rows" } };
    let room = left_beside(&[&report, &filters, &link, &link, &link]);
    let shown = fill(rows.iter().take(PAGE_LENGTH), room, row);
    let last = rows.get(shown.count.saturating_sub(1)).filter(|_| rows.len() > shown.count);
    let before = |number: u64| query.with(&[("before", Some(&number.to_string()))]);
    let older = last.map(|last| before(last.number));
    let is_first = filter.before.is_none();
    let all = AuditFilter {
        user: context.viewer.only_user().map(|user| user.to_string()),
        limit: filter.limit,
        ..AuditFilter::default()
    };
    let is_filtered = filter != all;
    Ok(html! {
        (report)
        @if context.sees_everyone() {
            form method="post" action="/page/audit/verify" { (context.form_check()) button type="submit" { "Check the whole trail" } }
        }
        (filters)
        @if rows.is_empty() && searched_to.is_none() { (empty(is_filtered)) } @else if !rows.is_empty() { div.scroll { table {
            caption.sr { "Rows of the audit trail, newest first" }
            thead { tr { th.number scope="col" { "Row" } th scope="col" { "When" } th scope="col" { "What" } th scope="col" { "Tool" }
                th scope="col" { "User" } th scope="col" { "Run" } } }
            tbody { (shown.markup) }
        } } }
        @if let (None, Some(searched_to)) = (&older, searched_to) {
            p { "Searched back to row " (searched_to + 1) ". " a href=(before(searched_to + 1)) { "Search older rows" } }
        }
        nav.pages aria-label="Pages of the audit trail" {
            @if !is_first { a href=(query.with(&[("before", None)])) { "Newest rows" } }
            @if let Some(older) = &older { a href=(older) { "Older rows" } }
        }
    })
}

fn filter(context: &PageContext) -> Result<AuditFilter, PageError> {
    let query = &context.query;
    let own = context.viewer.only_user().map(|user| user.to_string());
    let tool = query.get("tool").map(|tool| ToolPattern::parse(&format!("*{tool}*"))).transpose();
    let tool = tool.map_err(|error| {
        let message = format!("the tool cannot be searched for: {error}");
        PageError::InvalidFilter { message, form: filters(context) }
    })?;
    Ok(AuditFilter {
        user: own.or_else(|| query.get("user").map(str::to_owned)),
        tool,
        run: query.get("run").map(RunId::from_existing),
        denied: query.get("denied").is_some(),
        before: query.number("before"),
        limit: Some(PAGE_LENGTH + 1),
        ..AuditFilter::default()
    })
}

/// The number of the row before which the search of this page ends, if there are such rows. A tool or a denial
/// would otherwise be looked for in the whole trail; users and runs are found by indexes.
fn searched_to(context: &PageContext, filter: &AuditFilter) -> Result<Option<u64>, PageError> {
    if (filter.tool.is_none() && !filter.denied) || filter.run.is_some() {
        return Ok(None);
    }
    let newest_before = |before: Option<u64>| {
        let newest = AuditFilter { before, limit: Some(1), ..AuditFilter::default() };
        Ok::<_, PageError>(context.store.audit_rows(&newest)?.first().map(|row| row.number))
    };
    let Some(newest) = newest_before(filter.before)? else { return Ok(None) };
    let end = newest.saturating_sub(MAX_SEARCHED);
    Ok(newest_before(Some(end + 1))?.map(|_| end))
}

fn filters(context: &PageContext) -> Markup {
    let only_denials = context.query.get("denied").is_some();
    let value = |name: &str| context.query.get(name).unwrap_or_default();
    html! {
        form.filters method="get" action="/page/audit" role="search" aria-label="Filter the audit trail" {
            label { "Tool" input type="search" name="tool" value=(value("tool")) maxlength="200"; }
            label { "Run" input type="search" name="run" value=(value("run")) maxlength="60"; }
            @if context.sees_everyone() { label { "User" input type="search" name="user" value=(value("user")) maxlength="200"; } }
            label.check { input type="checkbox" name="denied" value="1" checked[only_denials]; "only denials" }
            span.actions { button type="submit" { "Filter" } a href="/page/audit" { "Clear" } }
        }
    }
}

fn row(row: &AuditRow) -> Markup {
    let AuditRow { number, entry, .. } = row;
    html! { tr {
        td.number { (number) }
        td.nowrap { (text::time(entry.at)) }
        td { (what(entry)) }
        td { (text::line(entry.tool(), 80)) }
        td { (text::line(&entry.user, 60)) }
        td { @if !entry.run().is_empty() { a.id href={ "/page/runs/" (super::fields::segment(entry.run())) } { (text::line(entry.run(), 40)) } } }
    } }
}

fn empty(is_filtered: bool) -> Markup {
    html! {
        div.empty {
            @if is_filtered {
                p { strong { "No row of the trail matches." } }
                p { "Search for less, or see " a href="/page/audit" { "all rows" } "." }
            } @else {
                p { strong { "The trail has no rows yet." } }
                p { "Every call of a tool adds some: run a program, or " a href="/page/tools" { "try a call" } "." }
            }
        }
    }
}

fn report_text(report: &AuditReport) -> Markup {
    html! {
        @if report.is_intact() {
            div.good-note role="status" { strong { "The trail is intact: " (report.rows) " rows." }
                @if let Some(head) = &report.head { p { "The newest is " code.long { (head) } } } }
        } @else {
            div.problem role="alert" { strong { "The trail is not intact." }
                ul { @for problem in &report.problems { li { (text::line(&problem.to_string(), 300)) } } }
                @if report.further_problems > 0 { p { "and " (report.further_problems) " further problems" } } }
        }
    }
}

fn what(entry: &AuditEntry) -> Markup {
    let rule =
        |rule: &Option<String>| rule.as_ref().map_or(String::new(), |rule| format!(" by {rule}"));
    html! {
        @match &entry.event {
            AuditEvent::Decided { decision, rule: why, .. } => {
                @match decision {
                    AuditDecision::Allow => span.tag.good { "allowed" },
                    AuditDecision::Deny => span.tag.bad { "denied" },
                    AuditDecision::Ask => span.tag.wait { "asked" },
                }
                span.muted { (text::line(&rule(why), 200)) }
            },
            AuditEvent::Answered { verdict, by, way, .. } => {
                span.tag { (text::line(&verdict.replace('_', " "), 30)) } span.muted { " by " (text::line(by, 80)) " (" (way.name()) ")" }
            },
            AuditEvent::Ended { outcome, cached, duration_us, .. } => {
                "ended: " (outcome.name()) @if *cached { ", from the cache" }
                span.muted { ", " (text::span(std::time::Duration::from_micros(*duration_us))) }
            },
            AuditEvent::Started { version, .. } => { "gateway " (text::line(version, 30)) " started" },
            AuditEvent::Stopped { .. } => "gateway stopped",
            AuditEvent::Changed { change } => (text::line(change, 300)),
            AuditEvent::Pruned { removed, .. } => { (removed) " old rows removed" },
        }
    }
}
