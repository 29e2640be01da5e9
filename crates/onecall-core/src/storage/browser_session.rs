//! The storage trait for the sessions of browsers that have signed in to the page of a gateway. Gateways
//! that share a store share the sessions, too.

use std::collections::BTreeSet;

use super::StoreError;
use crate::{Digest, Timestamp, UserName};

/// The largest number of sessions of one user. A new session replaces the one that ends first.
pub const MAX_BROWSER_SESSIONS_PER_USER: u32 = 50;

/// The session of a browser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrowserSession {
    /// The SHA-256 digest of the secret in the browser's cookie.
    pub digest: Digest,
    /// The user who has signed in.
    pub user: UserName,
    /// How the user has signed in, which decides how long the session can be used.
    pub proof: SessionProof,
    /// When the session ends.
    pub ends: Timestamp,
}

/// How the user of a session has signed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionProof {
    /// With the token that has this SHA-256 digest. The session can be used as long as the token.
    Token(Digest),
    /// At the identity provider.
    Provider {
        /// The groups that the provider has named.
        groups: BTreeSet<String>,
        /// When the provider last named the user and the groups.
        confirmed: Timestamp,
    },
}

/// Stores the sessions of browsers. Every write is on disk when its method returns.
pub trait BrowserSessions: Send + Sync {
    /// Stores a session, or replaces the one with the same digest. Sessions that have ended are deleted,
    /// and the oldest of a user who has too many.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn put_browser_session(
        &self,
        session: &BrowserSession,
        now: Timestamp,
    ) -> Result<(), StoreError>;

    /// The session with this digest, if it has not ended.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn browser_session(
        &self,
        digest: &Digest,
        now: Timestamp,
    ) -> Result<Option<BrowserSession>, StoreError>;

    /// Deletes the session with this digest, if there is one.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn remove_browser_session(&self, digest: &Digest) -> Result<(), StoreError>;
}
