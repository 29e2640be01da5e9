//! How the person at a browser shows that they are the user of a link. Without that, the user of a link
//! could send it to another person, whose account would then be used by the sender.

use std::sync::Arc;

use onecall_core::storage::{StoredToken, Users};
use onecall_core::{Digest, Timestamp, UserName};

/// What the person at the browser is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProofKind {
    /// The name of the onecall user, which the page shows.
    UserName,
    /// A personal token of the user.
    PersonalToken,
}

/// Checks what the person at the browser has typed.
pub trait BrowserProof: Send + Sync {
    /// What the person is asked for if the link is for this user.
    fn kind(&self, user: &UserName) -> ProofKind;

    /// Whether the answer shows that the person is this user.
    fn is_valid(&self, user: &UserName, answer: &str) -> bool;
}

/// The person types the name of the user. It is no secret: it makes people read for whom they log in.
#[derive(Clone, Copy, Debug)]
pub struct TypedUserName;

impl BrowserProof for TypedUserName {
    fn kind(&self, _user: &UserName) -> ProofKind {
        ProofKind::UserName
    }

    fn is_valid(&self, user: &UserName, answer: &str) -> bool {
        answer.trim() == user.as_str()
    }
}

/// The person types a personal token, if the user has one, and otherwise the name of the user.
pub struct PersonalTokenProof(Arc<dyn Users>);

impl PersonalTokenProof {
    /// Checks tokens of this store.
    #[must_use]
    pub fn new(users: Arc<dyn Users>) -> Self {
        Self(users)
    }
}

impl BrowserProof for PersonalTokenProof {
    fn kind(&self, user: &UserName) -> ProofKind {
        let now = Timestamp::now();
        match self.0.tokens(Some(user)) {
            Ok(tokens) if tokens.iter().all(|token| token.expires <= now) => ProofKind::UserName,
            // Without the store, no answer is accepted.
            Ok(_) | Err(_) => ProofKind::PersonalToken,
        }
    }

    fn is_valid(&self, user: &UserName, answer: &str) -> bool {
        if self.kind(user) == ProofKind::UserName {
            return TypedUserName.is_valid(user, answer);
        }
        let found = self.0.token(&Digest::of(answer.trim()));
        let is_valid =
            |token: &StoredToken| token.user == *user && token.expires > Timestamp::now();
        found.is_ok_and(|found| found.is_some_and(|(token, _)| is_valid(&token)))
    }
}
