//! Ends a login: revokes its tokens and deletes them.

use onecall_config::ServerConfig;

use crate::address;
use crate::error::LoginError;
use crate::site::Site;
use crate::token::TokenEndpoint;
use crate::web::Web;

/// The result of a logout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoggedOut {
    /// There was no login.
    WasNot,
    /// The login was deleted from this machine.
    Forgotten {
        /// Why the tokens may still be valid.
        not_revoked: Option<String>,
    },
}

/// Deletes the login to `server`, and revokes its tokens if possible.
///
/// # Errors
/// If the login cannot be deleted.
pub async fn log_out(server: &ServerConfig) -> Result<LoggedOut, LoginError> {
    let site = Site::of(server)?;
    let held = site.slot.lock().await?;
    let entry = held.read();
    held.remove()?;
    let entry = match entry {
        Ok(Some(entry)) => entry,
        Ok(None) => return Ok(LoggedOut::WasNot),
        Err(error) => return Ok(LoggedOut::Forgotten { not_revoked: Some(error.to_string()) }),
    };
    let Some(tokens) = &entry.tokens else {
        return Ok(LoggedOut::Forgotten { not_revoked: None });
    };
    let Some(url) = &entry.revocation_endpoint else {
        let why = "the authorization server has no place to say so".to_owned();
        return Ok(LoggedOut::Forgotten { not_revoked: Some(why) });
    };
    let url = &address::read(url, &site.url)?;
    let web = Web::new(&site.url);
    let client = entry.client(site.settings);
    let endpoint = TokenEndpoint { web: &web, url, client: &client, resource: &entry.resource };
    let mut not_revoked = None;
    let access = Some((&tokens.access, "access_token"));
    let refresh = tokens.refresh.as_ref().map(|token| (token, "refresh_token"));
    for (token, hint) in refresh.into_iter().chain(access) {
        if let Err(why) = endpoint.revoke(token, hint).await {
            not_revoked = Some(why.to_string());
        }
    }
    Ok(LoggedOut::Forgotten { not_revoked })
}
