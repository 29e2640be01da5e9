//! The logins of the reader to servers: buttons to log in and out, and what they do.

use std::sync::Arc;

use maud::{Markup, html};
use onecall_bridge::{FailureKind, ServerState, ServerStatus};
use onecall_core::ServerName;
use onecall_gateway::{LoginAddress, ServerLogin, ServerLoginError};
use onecall_login::LogoutOutcome;

use super::context::PageContext;
use super::error::PageError;
use super::fields::segment;
use super::reply::PageAnswer;
use super::text;

/// The button with which the reader logs in to a server or out, where that is possible here. A server that all
/// users share asks for a login only when it needs one.
pub(super) fn form(context: &PageContext, server: &ServerStatus, login: ServerLogin) -> Markup {
    let needs_login =
        matches!(server.state, ServerState::Failed { failure_kind: FailureKind::LoggedOut, .. });
    let (action, label) = match login {
        ServerLogin::LoggedIn => ("logout", "Log out"),
        ServerLogin::LoggedOut if needs_login || server.user.is_some() => ("login", "Log in"),
        ServerLogin::LoggedOut | ServerLogin::Unsupported => return html! {},
    };
    html! {
        form.inline method="post" action={ "/page/servers/" (segment(server.name.as_str())) "/" (action) } {
            (context.form_check()) button type="submit" .quiet[login == ServerLogin::LoggedIn] { (label) }
        }
    }
}

/// Begins a login of the reader to a server.
pub(super) async fn log_in(
    context: &Arc<PageContext>,
    name: &str,
) -> Result<PageAnswer, PageError> {
    let server = ServerName::new(name);
    match context.gateway.begin_server_login(&server, context.is_here).await {
        Ok(LoginAddress::Path(path)) => Ok(PageAnswer::Redirect(path)),
        Ok(LoginAddress::AuthorizationServer(address)) => {
            // A form may not lead to another site; a link may.
            let body = html! {
                p { "The server " strong { (text::line(name, 80)) } " asks you to log in at:" }
                pre.output { (text::block(origin(&address), 300)) }
                p { a.button.primary href=(address) { "Go there" } " " a.button href="/page/servers" { "Cancel" } }
                p.muted { "Afterwards, go back to the servers. The server starts by itself." }
            };
            Ok(PageAnswer::page(format!("Log in to {}", text::line(name, 80)), body))
        }
        Err(ServerLoginError::Unsupported(_)) => Err(PageError::NotFound),
        Err(ServerLoginError::Failed(error)) => Err(PageError::Invalid(error.to_string())),
    }
}

/// The scheme, host and port of an address.
fn origin(address: &str) -> &str {
    let after_scheme = address.find("://").map_or(0, |at| at + 3);
    let end = address.get(after_scheme..).and_then(|rest| rest.find(['/', '?', '#']));
    end.and_then(|end| address.get(..after_scheme + end)).unwrap_or(address)
}

/// Ends the login of the reader to a server.
pub(super) async fn log_out(
    context: &Arc<PageContext>,
    name: &str,
) -> Result<PageAnswer, PageError> {
    let server = ServerName::new(name);
    match context.gateway.end_server_login(&server, context.is_here).await {
        Ok(LogoutOutcome::LoggedOut { not_revoked: Some(why) }) => {
            let body = html! {
                p { "You are logged out of " strong { (text::line(name, 80)) } ": onecall has deleted the login." }
                p.problem { "Its tokens may be valid until they expire: " (text::line(&why, 300)) }
                p { a.button href="/page/servers" { "Servers" } }
            };
            Ok(PageAnswer::page("Logged out", body))
        }
        Ok(LogoutOutcome::LoggedOut { not_revoked: None } | LogoutOutcome::NotLoggedIn) => {
            Ok(PageAnswer::Redirect(format!("/page/servers#server-{}", segment(name))))
        }
        Err(ServerLoginError::Unsupported(_)) => Err(PageError::NotFound),
        Err(ServerLoginError::Failed(error)) => Err(PageError::Failed(error.to_string())),
    }
}
