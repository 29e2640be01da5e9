//! Personal tokens, which `onecall users token` makes. A token is shown once; only its digest is kept.

use std::fs::File;
use std::io::{self, Read};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use onecall_core::storage::StoredToken;
use onecall_core::{Digest, Secret, Timestamp, UserName};

/// Every personal token begins with this, so that people and scanners of leaked secrets recognise it.
const PREFIX: &str = "oc_";

/// How many random bytes a token has.
const RANDOM_BYTES: usize = 32;

/// How many random bytes the id of a token has.
const ID_BYTES: usize = 5;

/// How long a token can be used, unless something else is asked for.
pub const DEFAULT_TOKEN_LIFETIME: Duration = Duration::from_secs(90 * 86_400);

/// The longest time that a token can be used.
pub const MAX_TOKEN_LIFETIME: Duration = Duration::from_secs(366 * 86_400);

/// A new personal token.
#[derive(Debug)]
pub struct PersonalToken {
    /// The token, which has to be shown now or never.
    pub token: Secret,
    /// What is stored of it.
    pub stored: StoredToken,
}

impl PersonalToken {
    /// Makes a token for a user.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn generate(
        user: &UserName,
        label: &str,
        lifetime: Duration,
        now: Timestamp,
    ) -> io::Result<Self> {
        let token = format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(random::<RANDOM_BYTES>()?));
        let id: String = random::<ID_BYTES>()?.iter().map(|byte| format!("{byte:02x}")).collect();
        let stored = StoredToken {
            id,
            user: user.clone(),
            digest: Digest::of(&token),
            label: label.to_owned(),
            created: now,
            expires: now.after(lifetime),
            last_used: None,
        };
        Ok(Self { token: Secret::new(token), stored })
    }

    /// Whether a text has the form of a personal token.
    pub(super) fn is_one(text: &str) -> bool {
        text.starts_with(PREFIX)
    }
}

fn random<const LENGTH: usize>() -> io::Result<[u8; LENGTH]> {
    let mut bytes = [0; LENGTH];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_tokens_are_the_same_and_none_is_stored() {
        let user = UserName::parse("anna").unwrap();
        let new = || PersonalToken::generate(&user, "laptop", DEFAULT_TOKEN_LIFETIME, Timestamp(5));
        let (one, other) = (new().unwrap(), new().unwrap());
        let text = one.token.reveal().to_owned();
        assert!(PersonalToken::is_one(&text) && text.len() == 3 + 43, "{text}");
        assert_ne!(text, other.token.reveal());
        assert_ne!(one.stored.id, other.stored.id);
        assert_eq!(
            one.stored,
            StoredToken {
                id: one.stored.id.clone(),
                user,
                digest: Digest::of(&text),
                label: "laptop".to_owned(),
                created: Timestamp(5),
                expires: Timestamp(5 + 90 * 86_400_000),
                last_used: None,
            }
        );
        assert!(!format!("{one:?}").contains(&text));
    }
}
