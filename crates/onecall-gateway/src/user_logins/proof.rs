//! How the person at a browser shows that they are the user of a link. Without that, the user of a link
//! could send it to another person, whose account would then be used by the sender.

use onecall_core::UserName;

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
