//! Ends a login: revokes its tokens and deletes them.

use std::sync::Arc;

use onecall_config::ServerConfig;
use onecall_core::UserName;

use crate::address;
use crate::error::LoginError;
use crate::login_place::LoginOwner;
use crate::login_target::LoginTarget;
use crate::token::TokenEndpoint;
use crate::user_vault::UserVault;
use crate::web::LoginHttpClient;

/// The result of a logout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogoutOutcome {
    /// There was no login.
    NotLoggedIn,
    /// The login was deleted.
    LoggedOut {
        /// Why the tokens may still be valid.
        not_revoked: Option<String>,
    },
}

/// Deletes the login of the local user to `server`, and revokes its tokens if possible. It is in `vault` if
/// that keeps the logins of the local user.
///
/// # Errors
/// If the login cannot be deleted.
pub async fn log_out(
    server: &ServerConfig,
    vault: Option<&Arc<UserVault>>,
) -> Result<LogoutOutcome, LoginError> {
    end_login(LoginTarget::of(server, &LoginOwner::local(vault))?).await
}

/// Deletes the login of a user of the gateway to `server`, and revokes its tokens if possible.
///
/// # Errors
/// If the login cannot be deleted.
pub async fn log_out_user(
    server: &ServerConfig,
    user: &UserName,
    vault: &Arc<UserVault>,
) -> Result<LogoutOutcome, LoginError> {
    end_login(LoginTarget::of(server, &LoginOwner::of(user, vault))?).await
}

async fn end_login(target: LoginTarget) -> Result<LogoutOutcome, LoginError> {
    target.place.take_over_earlier().await?;
    let locked = target.place.lock().await?;
    let entry = locked.read().await;
    locked.remove().await?;
    let entry = match entry {
        Ok(Some(entry)) => entry,
        Ok(None) => return Ok(LogoutOutcome::NotLoggedIn),
        Err(error) => return Ok(LogoutOutcome::LoggedOut { not_revoked: Some(error.to_string()) }),
    };
    let Some(tokens) = &entry.tokens else {
        return Ok(LogoutOutcome::LoggedOut { not_revoked: None });
    };
    let Some(url) = &entry.revocation_endpoint else {
        let why = "the authorization server has no endpoint to revoke them".to_owned();
        return Ok(LogoutOutcome::LoggedOut { not_revoked: Some(why) });
    };
    let url = &address::parse_checked(url, &target.url)?;
    let web = LoginHttpClient::new(&target.url);
    let client = entry.client(&target.settings);
    let endpoint = TokenEndpoint { web: &web, url, client: &client, resource: &entry.resource };
    let mut not_revoked = None;
    let access = Some((&tokens.access, "access_token"));
    let refresh = tokens.refresh.as_ref().map(|token| (token, "refresh_token"));
    for (token, hint) in refresh.into_iter().chain(access) {
        if let Err(why) = endpoint.revoke(token, hint).await {
            not_revoked = Some(why.to_string());
        }
    }
    Ok(LogoutOutcome::LoggedOut { not_revoked })
}
