//! The servers: their state, what to do about failures, and changed tools of pinned servers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use maud::{Markup, html};
use onecall_bridge::{FailureKind, NextStart, ServerState, ServerStatus};
use onecall_core::storage::Counter;
use onecall_core::text::{shell_word, visible_line};
use onecall_gateway::{AcceptError, ChangedTool, PinChanges, ServerLogin};
use tokio::time::timeout;

use super::context::PageContext;
use super::error::PageError;
use super::fields::segment;
use super::figures::{Overview, PERIODS};
use super::reply::PageAnswer;
use super::room::{excerpt, fill, left_beside};
use super::routes::blocking;
use super::{difference, server_logins, text};
use crate::line_diff::diff_lines;

/// How long a page waits for a server that is started.
const START_TIMEOUT: Duration = Duration::from_secs(10);

/// How much of a page the reason of a failure takes, in bytes.
const REASON_SIZE: usize = 4_000;

/// How many servers one page lists.
const PAGE_LENGTH: usize = 40;

/// How much of a page the changed tools of one server take, and each part of a tool, in bytes. A file has all of
/// them.
const CHANGES_SIZE: usize = 30_000;
const PART_SIZE: usize = 18_000;

pub(super) async fn page(context: &Arc<PageContext>) -> Result<PageAnswer, PageError> {
    let mut servers = Vec::new();
    for server in context.gateway.status() {
        let login = context.gateway.server_login(&server.name, context.is_here).await;
        servers.push((server, login));
    }
    blocking(context, move |context| {
        let period = PERIODS[0];
        let overview = Overview::read(context, period)?;
        let before = context.query.number::<usize>("after").unwrap_or(0);
        let listed = servers.iter().skip(before).take(PAGE_LENGTH);
        let after = |count: usize| context.query.with(&[("after", Some(&count.to_string()))]);
        let link = html! { a href=(after(usize::MAX)) { "Servers before" } };
        let cards = fill(listed, left_beside(&[&link, &link]), |(server, login)| {
            server_card(context, server, *login, &overview)
        });
        let end = before.saturating_add(cards.count);
        let body = html! {
            div #servers data-live {
                @if servers.is_empty() {
                    div.empty { p { strong { "There are no servers." } }
                        p { "Add one with " code { "onecall add NAME -- COMMAND" } ", or import those you have with " code { "onecall init" } "." } }
                }
                (cards.markup)
            }
            nav.pages aria-label="Pages of servers" {
                @if before > 0 { a href=(after(before.saturating_sub(PAGE_LENGTH))) { "Servers before" } }
                @if end < servers.len() { a href=(after(end)) { "More servers" } }
                @if before > 0 || end < servers.len() { span.muted { (servers.len()) " servers" } }
            }
            @if context.is_here {
                p.muted { "These are the servers of this page, which starts them for searches and calls that you try. Each agent's gateway has processes of its own." }
            }
        };
        Ok(PageAnswer::page("Servers", body))
    })
    .await
}

fn server_card(
    context: &PageContext,
    server: &ServerStatus,
    login: ServerLogin,
    overview: &Overview,
) -> Markup {
    let name = server.name.as_str();
    let figures = overview.tools_with(&onecall_catalog::name_prefix(&server.name));
    let (calls, failed) = (figures.get(Counter::Calls), figures.get(Counter::FailedCalls));
    html! {
        section.card #{ "server-" (name) } aria-labelledby={ "server-title-" (name) } {
            h2 #{ "server-title-" (name) } { (text::line(name, 80)) " " (state_tag(&server.state)) }
            dl.facts {
                div { dt { "Transport" } dd { (server.transport) } }
                @if let Some(user) = &server.user { div { dt { "User" } dd { (text::line(user.as_str(), 80)) } } }
                (state_facts(&server.state))
                @if server.restarts > 0 { div { dt { "Restarts" } dd { (server.restarts) } } }
                @if login == ServerLogin::LoggedIn { div { dt { "Login" } dd { "you are logged in" } } }
                div { dt { "Calls in " (PERIODS[0].title) } dd { (calls) @if failed > 0 { span.bad { ", " (failed) " failed" } } } }
                @if let (Some(half), Some(most)) = (figures.percentile(50), figures.percentile(95)) {
                    div { dt { "Time of a call" } dd { (text::span(half)) ", 95% within " (text::span(most)) } }
                }
            }
            @if let ServerState::Failed { reason, stderr_tail, failure_kind, .. } = &server.state {
                // What a shared server wrote may be about other users.
                @let stderr_tail = if context.sees_everyone() { stderr_tail.as_str() } else { "" };
                @let shown = excerpt(&context.redacted(&format!("{reason}{stderr_tail}")), REASON_SIZE);
                div.problem { pre { (shown.text) } @if shown.is_cut { p { code { "onecall logs " (shell_word(name)) } " has the rest." } } }
                p { strong { "What helps: " } (advice(*failure_kind, name, login)) }
            }
            @if let Some(cut) = &server.cut { p.muted { (text::line(&cut.to_string(), 300)) } }
            div.actions {
                a href={ "/page/tools?server=" (segment(name)) } { "Tools" }
                a href={ "/page/runs?server=" (segment(name)) } { "Runs" }
                @if matches!(server.state, ServerState::Idle | ServerState::Failed { .. }) {
                    form.inline method="post" action={ "/page/servers/" (segment(name)) "/start" } {
                        (context.form_check()) button.quiet type="submit" { "Start it now" }
                    }
                }
                (server_logins::form(context, server, login))
            }
            @if !server.quarantined.is_empty() { (quarantine(context, name)) }
        }
    }
}

fn state_tag(state: &ServerState) -> Markup {
    html! {
        @match state {
            ServerState::Idle => span.tag { "starts when it is needed" },
            ServerState::Connecting => span.tag.wait { "connecting" },
            ServerState::Installing { .. } => span.tag.wait { "installing" },
            ServerState::Local { .. } => span.tag.good { "local tools" },
            ServerState::Ready { .. } => span.tag.good { "ready" },
            ServerState::Failed { failure_kind, .. } => span.tag.bad { (failure_kind.label()) },
        }
    }
}

fn state_facts(state: &ServerState) -> Markup {
    html! {
        @match state {
            ServerState::Local { tools } => div { dt { "Tools" } dd { (tools) } },
            ServerState::Ready { server_name, server_version, protocol, tools, took } => {
                div { dt { "Tools" } dd { (tools) } }
                div { dt { "Software" } dd { (text::line(server_name, 60)) " " (text::line(server_version, 30)) } }
                div { dt { "Protocol" } dd { (text::line(protocol, 30)) } }
                div { dt { "Started in" } dd { (text::span(*took)) } }
            },
            ServerState::Failed { next_start, .. } => div { dt { "Next start" } dd { (next(*next_start)) } },
            ServerState::Idle | ServerState::Connecting | ServerState::Installing { .. } => {},
        }
    }
}

fn next(next: NextStart) -> String {
    match next {
        NextStart::At(at) => match at.checked_duration_since(Instant::now()) {
            Some(left) => format!("in {}", text::span(Duration::from_secs(left.as_secs().max(1)))),
            None => "now".to_owned(),
        },
        NextStart::Now => "now".to_owned(),
        NextStart::WhenNeeded => "when a call needs it".to_owned(),
        NextStart::AfterLogin => "after a login".to_owned(),
        NextStart::AfterReload => "after its entry in the configuration is changed".to_owned(),
        NextStart::Never => "it was stopped".to_owned(),
    }
}

/// What a person can do about a failure.
fn advice(kind: FailureKind, name: &str, login: ServerLogin) -> Markup {
    html! {
        @match kind {
            FailureKind::NoCommand => "install its command, or give the full path in 'command'.",
            FailureKind::NotExecutable => "make its command executable.",
            FailureKind::NoDirectory => "correct 'cwd', or create the directory.",
            FailureKind::TooSlow => "run its command once by hand; if it only needs longer, raise 'connect_timeout_seconds'.",
            FailureKind::Ended => "run its command by hand to see why. A server gets only some variables of the environment, and those in 'env' and 'env_inherit'.",
            FailureKind::LoggedOut if login != ServerLogin::Unsupported => "log in below.",
            FailureKind::LoggedOut => { "run " code { "onecall login " (shell_word(name)) } "." },
            FailureKind::Unauthorized => "check the token in 'headers', or remove it and log in instead.",
            FailureKind::Unreachable => "check 'url', and that the server is running.",
            FailureKind::Unresolved => "set the variable that its entry names.",
            FailureKind::Other => { code { "onecall doctor" } " may say more." },
        }
    }
}

/// The changed tools of a server, with what differs.
fn quarantine(context: &PageContext, name: &str) -> Markup {
    let changes = match context.gateway.pin_changes(name) {
        Ok(changes) => changes,
        Err(error) => {
            return html! { p.problem { (excerpt(&error.to_string(), REASON_SIZE).text) } };
        }
    };
    let PinChanges { tools, digest } = changes;
    let (mut left, mut is_cut) = (CHANGES_SIZE, false);
    let shown = fill(&tools, CHANGES_SIZE, |tool| {
        let (markup, is_tool_cut) = changed_tool(context, tool, left);
        (left, is_cut) = (left.saturating_sub(markup.0.len()), is_cut || is_tool_cut);
        markup
    });
    let further = tools.len() - shown.count;
    let file = html! { a href={ "/page/servers/" (segment(name)) "/changes.txt" } { "all changes as a file" } };
    html! {
        h3 { "Changed since it was pinned" }
        p { "Programs cannot call these tools until they are accepted. Read what has changed: a description can contain instructions to a model." }
        (shown.markup)
        @if further > 0 { p { "and " (text::count(u64::try_from(further).unwrap_or(u64::MAX), "more tool", "more tools")) "." } }
        @if is_cut || further > 0 {
            p.problem { "Not all that has changed is shown here. Before you accept it, read " (file) "." }
        } @else { p { "See " (file) "." } }
        @if context.sees_everyone() && !tools.is_empty() {
            form method="post" action={ "/page/servers/" (segment(name)) "/accept" } {
                (context.form_check())
                input type="hidden" name="digest" value=(digest);
                button type="submit" { "Accept these tools" }
            }
        } @else if !tools.is_empty() { p.muted { "An administrator can accept them." } }
    }
}

/// A changed tool, with what differs, in at most about `most` bytes, and whether something that differs is not shown.
fn changed_tool(context: &PageContext, tool: &ChangedTool, most: usize) -> (Markup, bool) {
    let (mut left, mut is_cut) = (most, false);
    let mut part_of_page = |before: &str, now: &str| {
        let (before, now) = (context.redacted(before), context.redacted(now));
        let found = difference::whole(&before, &now, left.min(PART_SIZE));
        (left, is_cut) = (left.saturating_sub(found.markup.0.len()), is_cut || found.is_cut);
        found.markup
    };
    let markup = html! {
        details {
            summary { code { (text::line(&tool.tool, 80)) } @if tool.is_new { " is new" } @else { " has changed" } }
            @for part in tool.parts.iter().filter(|part| part.before != part.now) {
                h4 { (text::line(&part.name, 60)) }
                (part_of_page(&part.before, &part.now))
            }
        }
    };
    (markup, is_cut)
}

/// The changed tools of a server as a file.
pub(super) fn changes_file(context: &PageContext, name: &str) -> Result<PageAnswer, PageError> {
    let changes = match context.gateway.pin_changes(name) {
        Ok(changes) => changes,
        Err(AcceptError::NotPinned(_)) => return Err(PageError::NotFound),
        Err(error) => return Err(PageError::Failed(error.to_string())),
    };
    let mut content = String::new();
    for tool in &changes.tools {
        let what = if tool.is_new { "is new" } else { "has changed" };
        content.push_str(&format!("{} {what}\n", visible_line(&tool.tool)));
        for part in tool.parts.iter().filter(|part| part.before != part.now) {
            content.push_str(&format!("  {}:\n", visible_line(&part.name)));
            let (before, now) = (context.redacted(&part.before), context.redacted(&part.now));
            for line in diff_lines(&before, &now) {
                content.push_str(&format!("    {line}\n"));
            }
        }
    }
    let name = format!("{}-changes.txt", segment(name));
    Ok(PageAnswer::File { kind: "text/plain; charset=utf-8", name, content })
}

/// Starts a server, and waits a moment for it.
pub(super) async fn start(context: &Arc<PageContext>, name: &str) -> Result<PageAnswer, PageError> {
    if !context.gateway.status().iter().any(|server| server.name.as_str() == name) {
        return Err(PageError::NotFound);
    }
    let names = [name.to_owned()];
    // A server that takes longer goes on starting.
    _ = timeout(START_TIMEOUT, context.gateway.servers_named(&names)).await;
    Ok(PageAnswer::Redirect(format!("/page/servers#server-{}", segment(name))))
}

/// Accepts the changed tools of a server.
pub(super) fn accept(context: &PageContext, name: &str) -> Result<PageAnswer, PageError> {
    if !context.sees_everyone() {
        return Err(PageError::Forbidden("only administrators accept changed tools".to_owned()));
    }
    let digest = context.form.get("digest").unwrap_or_default();
    match context.gateway.accept_changes(name, digest) {
        Ok(_) => Ok(PageAnswer::Redirect(format!("/page/servers#server-{}", segment(name)))),
        Err(AcceptError::NotPinned(_)) => Err(PageError::NotFound),
        Err(error) => Err(PageError::Invalid(error.to_string())),
    }
}
