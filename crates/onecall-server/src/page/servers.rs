//! The servers: their state, what to do about failures, and changed tools of pinned servers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use maud::{Markup, html};
use onecall_bridge::{FailureKind, NextStart, ServerState, ServerStatus};
use onecall_core::storage::Counter;
use onecall_core::text::shell_word;
use onecall_gateway::{AcceptError, PinChanges, ServerLogin};
use tokio::time::timeout;

use super::context::PageContext;
use super::error::PageError;
use super::fields::segment;
use super::figures::{Overview, PERIODS};
use super::reply::PageAnswer;
use super::routes::blocking;
use super::run::text_difference;
use super::{server_logins, text};

/// How long a page waits for a server that is started.
const START_TIMEOUT: Duration = Duration::from_secs(10);

/// The longest reason of a failure that is shown, in characters.
const MAX_REASON: usize = 4_000;

pub(super) async fn page(context: &Arc<PageContext>) -> Result<PageAnswer, PageError> {
    let mut servers = Vec::new();
    for server in context.gateway.status() {
        let login = context.gateway.server_login(&server.name, context.is_here).await;
        servers.push((server, login));
    }
    blocking(context, move |context| {
        let period = PERIODS[0];
        let overview = Overview::read(context, period)?;
        let body = html! {
            div #servers data-live {
                @if servers.is_empty() {
                    div.empty { p { strong { "There are no servers." } }
                        p { "Add one with " code { "onecall add NAME -- COMMAND" } ", or import those you have with " code { "onecall init" } "." } }
                }
                @for (server, login) in &servers { (server_card(context, server, *login, &overview)) }
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
                div.problem { pre { (text::block(&context.redacted(&format!("{reason}{stderr_tail}")), MAX_REASON)) } }
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
        Err(error) => return html! { p.problem { (text::block(&error.to_string(), MAX_REASON)) } },
    };
    let PinChanges { tools, digest } = changes;
    html! {
        h3 { "Changed since it was pinned" }
        p { "Programs cannot call these tools until they are accepted. Read what has changed: a description can contain instructions to a model." }
        @for tool in &tools {
            details {
                summary { code { (text::line(&tool.tool, 80)) } @if tool.is_new { " is new" } @else { " has changed" } }
                @for part in &tool.parts {
                    @if part.before != part.now {
                        h4 { (text::line(&part.name, 60)) }
                        (text_difference(&context.redacted(&part.before), &context.redacted(&part.now)))
                    }
                }
            }
        }
        @if context.sees_everyone() && !tools.is_empty() {
            form method="post" action={ "/page/servers/" (segment(name)) "/accept" } {
                (context.form_check())
                input type="hidden" name="digest" value=(digest);
                button type="submit" { "Accept these tools" }
            }
        } @else if !tools.is_empty() { p.muted { "An administrator can accept them." } }
    }
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
