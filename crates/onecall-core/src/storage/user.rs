//! The storage trait for the people who use a gateway, and for their personal tokens.

use std::collections::BTreeSet;

use super::StoreError;
use crate::{Digest, Timestamp, UserName};

/// How many tokens one user may have at once.
pub const MAX_TOKENS_PER_USER: usize = 100;

/// How a user became known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserSource {
    /// An administrator has added the user.
    Added,
    /// The user has logged in with a token of the identity provider.
    Identity,
}

impl UserSource {
    /// Every source with its name in the store.
    pub const NAMES: [(&str, Self); 2] = [("added", Self::Added), ("identity", Self::Identity)];

    /// The name of the source in the store.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Identity => "identity",
        }
    }
}

/// A user that is known. A removed user stays known, so that no later login brings the user back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredUser {
    /// The name.
    pub name: UserName,
    /// How the user became known.
    pub source: UserSource,
    /// The groups that an administrator has given to the user.
    pub groups: BTreeSet<String>,
    /// The groups that the identity provider gave the user at the last login.
    pub provider_groups: BTreeSet<String>,
    /// When the user became known.
    pub created: Timestamp,
    /// When the user last logged in, to within some minutes.
    pub last_seen: Option<Timestamp>,
    /// When the user was removed; `None` while the user may log in.
    pub removed: Option<Timestamp>,
}

/// A personal token. The token itself is not stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredToken {
    /// Names the token in lists and commands. It is no secret.
    pub id: String,
    /// The user that the token belongs to.
    pub user: UserName,
    /// The SHA-256 digest of the token.
    pub digest: Digest,
    /// What the token is for, in the words of the person who made it.
    pub label: String,
    /// When the token was made.
    pub created: Timestamp,
    /// When the token ends.
    pub expires: Timestamp,
    /// When the token was last used, to within some minutes.
    pub last_used: Option<Timestamp>,
}

/// The result of adding a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserAddition {
    /// The user is new.
    Added,
    /// The user was known already and has these groups from now on.
    Updated,
    /// The user had been removed and may log in again.
    Restored,
    /// Another user has a name that people could take for this one. Nothing was changed.
    SimilarName(UserName),
}

/// The result of a login through the identity provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserLogin {
    /// The user may log in.
    Accepted(StoredUser),
    /// The user was removed.
    Removed,
    /// The user is not known, and another user has a name that people could take for this one.
    SimilarName(UserName),
}

/// The result of removing a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserRemoval {
    /// The user was removed, together with this number of tokens.
    Removed {
        /// How many tokens were deleted.
        tokens: usize,
    },
    /// The user had been removed before.
    AlreadyRemoved,
    /// No user has this name.
    Unknown,
}

/// The result of storing a new token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenAddition {
    /// The token can be used from now on.
    Added,
    /// No user has this name.
    UnknownUser,
    /// The user was removed.
    RemovedUser,
    /// The user has [`MAX_TOKENS_PER_USER`] tokens already.
    TooMany,
}

/// Stores users and their tokens. Every write is on disk when its method returns.
pub trait Users: Send + Sync {
    /// Adds a user with these groups. A user who is known gets exactly these groups, and may log in
    /// again if removed before.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn add_user(
        &self,
        name: &UserName,
        groups: &BTreeSet<String>,
        now: Timestamp,
    ) -> Result<UserAddition, StoreError>;

    /// Registers a login through the identity provider, which gives the user these groups. A user who
    /// is not known becomes known.
    ///
    /// # Errors
    /// If the store cannot be read or written.
    fn log_in(
        &self,
        name: &UserName,
        groups: &BTreeSet<String>,
        now: Timestamp,
    ) -> Result<UserLogin, StoreError>;

    /// Removes a user and deletes the user's tokens and browser sessions.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn remove_user(&self, name: &UserName, now: Timestamp) -> Result<UserRemoval, StoreError>;

    /// The user with this name, removed or not.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn user(&self, name: &UserName) -> Result<Option<StoredUser>, StoreError>;

    /// All users, removed ones too, by name.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn users(&self) -> Result<Vec<StoredUser>, StoreError>;

    /// Stores a new token. Expired tokens of the user are deleted.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn add_token(&self, token: &StoredToken) -> Result<TokenAddition, StoreError>;

    /// The token with this digest and its user, if the user was not removed. It may have expired.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn token(&self, digest: &Digest) -> Result<Option<(StoredToken, StoredUser)>, StoreError>;

    /// The tokens of a user, or of all users, oldest first.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn tokens(&self, user: Option<&UserName>) -> Result<Vec<StoredToken>, StoreError>;

    /// Deletes a token. The result is `false` if there is no token with this id.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn revoke_token(&self, id: &str) -> Result<bool, StoreError>;

    /// Notes that a token was used, and that its user was seen.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn note_token_use(&self, id: &str, now: Timestamp) -> Result<(), StoreError>;

    /// A number that changes whenever any process changes users, their tokens or their secrets; it may
    /// change with other writes, too. A change by a process on another machine is noticed within a second.
    /// It is cheap to read.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn users_change_number(&self) -> Result<i64, StoreError>;
}
