//! Signing in to the page, and the check whether a session of the page can still be used.

use std::sync::Arc;
use std::time::Duration;

use onecall_core::storage::{BrowserSession, SessionProof};
use onecall_core::{Digest, Principal, Timestamp, UserName};

use super::claims::Identity;
use super::{Authenticator, LoginRefusal, MAX_TOKEN_BYTES, PersonalToken, unavailable};

/// How long a session can be used after the identity provider has named its user and the user's groups.
const CONFIRMATION_INTERVAL: Duration = Duration::from_secs(15 * 60);

/// A user who has proved who they are, for a session that begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProvenUser {
    /// The user.
    pub user: UserName,
    /// How the user has signed in.
    pub proof: SessionProof,
}

impl ProvenUser {
    pub(super) fn by_provider(identity: Identity) -> Self {
        let Identity { name, groups } = identity;
        let proof = SessionProof::Provider { groups, confirmed: Timestamp::now() };
        Self { user: name, proof }
    }
}

/// Whether a session of the page can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionState {
    /// The session can be used by this user, who has these groups at this moment.
    Valid(Arc<Principal>),
    /// The session can be used again when the identity provider has named its user again.
    Unconfirmed,
    /// The session cannot be used any more: the user or the token was removed, or has expired.
    Ended,
}

impl Authenticator {
    /// Signs a user in to the page with a token.
    ///
    /// # Errors
    /// If the token is not accepted.
    pub async fn sign_in(&self, token: &str) -> Result<ProvenUser, LoginRefusal> {
        if token.len() > MAX_TOKEN_BYTES {
            return Err(LoginRefusal::TooLong);
        }
        if PersonalToken::is_one(token) {
            let digest = Digest::of(token);
            let user = self.personal(digest).await?.user.clone();
            return Ok(ProvenUser { user, proof: SessionProof::Token(digest) });
        }
        let verifier = self.verifier.as_ref().ok_or(LoginRefusal::UnknownToken)?;
        let identity = verifier.verify(token).await?;
        self.log_in(identity.clone()).await?;
        Ok(ProvenUser::by_provider(identity))
    }

    /// Checks whether a session can be used at this moment.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn check_session(
        &self,
        session: &BrowserSession,
    ) -> Result<SessionState, LoginRefusal> {
        let (groups, confirmed) = match &session.proof {
            SessionProof::Token(digest) => {
                return match self.personal(*digest).await {
                    Ok(principal) => Ok(SessionState::Valid(principal)),
                    Err(LoginRefusal::StoreUnavailable) => Err(LoginRefusal::StoreUnavailable),
                    Err(_) => Ok(SessionState::Ended),
                };
            }
            SessionProof::Provider { groups, confirmed } => (groups, *confirmed),
        };
        let user = self.directory.user(&session.user).await.map_err(|error| unavailable(&error))?;
        let Some(user) = user.filter(|user| user.removed.is_none()) else {
            return Ok(SessionState::Ended);
        };
        if Timestamp::now().since(confirmed) >= CONFIRMATION_INTERVAL {
            return Ok(match self.has_browser_login() {
                true => SessionState::Unconfirmed,
                false => SessionState::Ended,
            });
        }
        let groups = groups.union(&user.groups).cloned().collect();
        Ok(SessionState::Valid(Arc::new(Principal { user: user.name, groups })))
    }
}
