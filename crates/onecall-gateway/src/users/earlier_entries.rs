//! What was known of users and tokens when the store was last reached.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use onecall_core::storage::{StoredToken, StoredUser, UserLogin};
use onecall_core::{Digest, UserName};

/// Entries that were what the store had at a time.
#[derive(Default)]
pub(super) struct EarlierEntries {
    pub(super) tokens: HashMap<Digest, (Instant, (StoredToken, StoredUser))>,
    pub(super) users: HashMap<UserName, (Instant, UserLogin)>,
    pub(super) found: HashMap<UserName, (Instant, Option<StoredUser>)>,
}

impl EarlierEntries {
    /// Forgets the entries that are older than `grace`, or all of them if there are more than `most`.
    pub(super) fn trim(&mut self, grace: Duration, most: usize) {
        let count = self.tokens.len() + self.users.len() + self.found.len();
        let grace = if count > most { Duration::ZERO } else { grace };
        self.tokens.retain(|_, (at, _)| at.elapsed() < grace);
        self.users.retain(|_, (at, _)| at.elapsed() < grace);
        self.found.retain(|_, (at, _)| at.elapsed() < grace);
    }
}
