//! What a user reads if the server needs other credentials. The hint is made when it is shown, because it
//! may contain a link that is meant for this user and does not work for ever; for the same reason it is
//! not part of the stored state, which is logged.

use onecall_config::{ServerConfig, Transport};
use onecall_core::text::one_line;
use onecall_login::AccessError;
use reqwest::StatusCode;

use super::Server;
use super::state::MAX_REASON;
use crate::error::RequestError;
use crate::supervision::status::{FailureKind, NextStart, ServerState};
use crate::transport::http::HttpError;
use crate::users::ServerOwner;

/// The reason in the stored state of a server that needs credentials of its user.
pub(super) const NEEDS_CREDENTIALS: &str = "needs credentials of its user";

/// The state of a server of a user that cannot start: the user has not provided credentials, or its
/// entry refers to variables that are not set. `None` if it can start.
pub(super) fn unusable_state(config: &ServerConfig, owner: &ServerOwner) -> Option<ServerState> {
    let (reason, failure_kind, next_start) = match &config.transport {
        _ if owner.lacks_credentials() => {
            (NEEDS_CREDENTIALS.to_owned(), FailureKind::LoggedOut, NextStart::AfterLogin)
        }
        Transport::Unresolved(unresolved) => {
            (unresolved.to_string(), FailureKind::Unresolved, NextStart::AfterReload)
        }
        _ => return None,
    };
    let stderr_tail = String::new();
    Some(ServerState::Failed { reason, stderr_tail, failure_kind, next_start })
}

impl Server {
    /// The state with the hint as its reason, if the server belongs to a user and needs credentials.
    pub(super) fn with_access_hint(&self, mut state: ServerState) -> ServerState {
        if let ServerState::Failed { reason, failure_kind, .. } = &mut state
            && let Some(hint) = self.access_hint(*failure_kind)
        {
            *reason = hint;
        }
        state
    }

    /// The hint how to get access, if a failure of this kind needs it. It continues a sentence that
    /// begins with the name of the server.
    pub(super) fn access_hint(&self, failure: FailureKind) -> Option<String> {
        let owner = self.owner.as_ref()?;
        let hint = || one_line(&owner.hint.text(), MAX_REASON);
        match failure {
            FailureKind::LoggedOut => Some(hint()),
            FailureKind::Unauthorized => Some(format!("rejected your credentials; it {}", hint())),
            _ => None,
        }
    }

    /// The text of a failed call, with the hint if the server rejected the credentials of its user.
    pub(super) fn request_failure(&self, error: &RequestError) -> String {
        let failure = match error {
            RequestError::Http(HttpError::Access(
                AccessError::NeedsLogin { .. }
                | AccessError::NeedsScope { .. }
                | AccessError::UserNeedsScope { .. },
            )) => FailureKind::LoggedOut,
            RequestError::Http(HttpError::Refused { status, .. })
                if *status == StatusCode::UNAUTHORIZED =>
            {
                FailureKind::Unauthorized
            }
            _ => return error.to_string(),
        };
        match self.access_hint(failure) {
            Some(hint) => format!("server '{}' {hint}", self.config.name),
            None => error.to_string(),
        }
    }
}
