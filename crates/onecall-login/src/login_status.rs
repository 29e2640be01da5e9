//! Whether a user is logged in to a server.

use std::sync::Arc;

use onecall_config::ServerConfig;
use onecall_core::UserName;

use crate::error::LoginError;
use crate::login_place::LoginOwner;
use crate::login_target::LoginTarget;
use crate::user_vault::UserVault;

/// Whether the local user is logged in to `server`. The login is in `vault` if that keeps the logins of the
/// local user.
///
/// # Errors
/// If the server supports no logins, or the login cannot be read.
pub async fn is_logged_in(
    server: &ServerConfig,
    vault: Option<&Arc<UserVault>>,
) -> Result<bool, LoginError> {
    has_tokens(&LoginTarget::of(server, &LoginOwner::local(vault))?).await
}

/// Whether a user of the gateway is logged in to `server`.
///
/// # Errors
/// If the server supports no logins, or the login cannot be read.
pub async fn is_user_logged_in(
    server: &ServerConfig,
    user: &UserName,
    vault: &Arc<UserVault>,
) -> Result<bool, LoginError> {
    has_tokens(&LoginTarget::of(server, &LoginOwner::of(user, vault))?).await
}

async fn has_tokens(target: &LoginTarget) -> Result<bool, LoginError> {
    let (_, login) = target.place.read().await?;
    Ok(login.is_some_and(|login| login.tokens.is_some()))
}
