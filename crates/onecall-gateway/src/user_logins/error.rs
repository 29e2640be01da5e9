//! Why a step of a login over HTTP failed. The texts are shown on the login page.

use onecall_core::ServerName;
use onecall_login::{LinkError, LoginError};
use thiserror::Error;

use super::proof::ProofKind;

/// Why a step of a login over HTTP failed.
#[derive(Debug, Error)]
pub enum UserLoginError {
    /// The link cannot be used.
    #[error(transparent)]
    Link(LinkError),
    /// The server of the link is not in the configuration any more, or users do not log in to it.
    #[error("server '{server}' is not configured any more, or needs no login of its users")]
    Removed {
        /// The server.
        server: ServerName,
    },
    /// The entry of the server has changed since the login began.
    #[error(
        "the configuration of server '{server}' has changed during the login, and nothing was stored; \
         call the tool again to get a new link"
    )]
    Changed {
        /// The server.
        server: ServerName,
    },
    /// The person at the browser did not show that they are the user.
    #[error("{}", match proof {
        ProofKind::UserName => "this is not the name of the user that the link is for",
        ProofKind::PersonalToken => "this is not a personal token of the user that the link is for",
    })]
    WrongAnswer {
        /// What was asked.
        proof: ProofKind,
    },
    /// The response of an authorization server belongs to no login that is in progress in this browser.
    #[error(
        "this page does not belong to a login in progress in this browser: the login took longer than \
         10 minutes, has ended already, or began in another browser. Call the tool again to get a new \
         link"
    )]
    NoSuchLogin,
    /// Too many logins are in progress.
    #[error("too many logins are in progress at the moment; open the link again in a few seconds")]
    Busy,
    /// The login failed.
    #[error("the login to server '{server}' did not work: {source}")]
    Login {
        /// The server.
        server: ServerName,
        /// The reason.
        source: LoginError,
    },
}
