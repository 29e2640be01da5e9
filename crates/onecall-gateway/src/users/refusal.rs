//! Why a token is not accepted. The texts go to the client that sent the token; they contain neither
//! the token nor what an administrator alone should know.

use thiserror::Error;

/// Why a request is not let in.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LoginRefusal {
    /// The token is longer than any token that is accepted.
    #[error("the token is too long")]
    TooLong,
    /// The text is neither a personal token nor a JSON Web Token.
    #[error("the token is malformed")]
    Malformed,
    /// The token is signed with an algorithm that is not accepted, or not signed.
    #[error("the token is signed with an algorithm that is not accepted")]
    Algorithm,
    /// The header of the token says that it is something else than an access token.
    #[error("this type of token is not accepted")]
    Type,
    /// The header has extensions that have to be understood.
    #[error("the token has critical extensions, which are not supported")]
    CriticalExtension,
    /// The issuer has no key with the id in the token.
    #[error("the token is signed with a key that the issuer does not publish")]
    UnknownKey,
    /// The token does not say which of several keys it is signed with.
    #[error("the token does not name the key that it is signed with")]
    AmbiguousKey,
    /// The key is not used with the algorithm in the token.
    #[error("the key of the token is not used with this algorithm")]
    KeyAlgorithm,
    /// The signature is wrong.
    #[error("the signature of the token is wrong")]
    Signature,
    /// The token has ended.
    #[error("the token has expired")]
    Expired,
    /// The token is not valid yet.
    #[error("the token is not valid yet")]
    NotYetValid,
    /// The token was made for another audience.
    #[error("the token was made for another audience")]
    Audience,
    /// The token was made by another issuer.
    #[error("the token was made by another issuer")]
    Issuer,
    /// A claim is missing or has a form that cannot be used.
    #[error("the claim '{0}' of the token is missing or cannot be used")]
    Claim(String),
    /// No such personal token exists.
    #[error("the token is not known, was revoked or has expired")]
    UnknownToken,
    /// The token lacks scopes. All scopes that are required are listed.
    #[error("the token does not have all scopes that are required")]
    MissingScopes(Vec<String>),
    /// The user was removed.
    #[error("this user was removed; ask the administrator of onecall")]
    RemovedUser,
    /// Another user has a name that people could take for this one.
    #[error(
        "another user has the same name in different letters; ask the administrator of onecall"
    )]
    SimilarName,
    /// The keys of the issuer could not be fetched.
    #[error("the identity provider cannot be reached, so the token cannot be checked; try again")]
    IssuerUnavailable,
    /// The store of users could not be used.
    #[error("the users of onecall cannot be read; try again, or ask the administrator of onecall")]
    StoreUnavailable,
}

/// What a client can do about a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalKind {
    /// Another token is needed.
    InvalidToken,
    /// A token with more scopes is needed.
    InsufficientScope,
    /// The user is not let in, with whatever token.
    Forbidden,
    /// The same token may be accepted later.
    Unavailable,
}

impl LoginRefusal {
    /// What a client can do about this refusal.
    #[must_use]
    pub fn kind(&self) -> RefusalKind {
        match self {
            Self::MissingScopes(_) => RefusalKind::InsufficientScope,
            Self::RemovedUser | Self::SimilarName => RefusalKind::Forbidden,
            Self::IssuerUnavailable | Self::StoreUnavailable => RefusalKind::Unavailable,
            _ => RefusalKind::InvalidToken,
        }
    }
}
