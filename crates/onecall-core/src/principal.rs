//! The user that a run is for. Every decision, session, cached answer, approval and record of the run
//! belongs to this user.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use thiserror::Error;
use unicode_normalization::UnicodeNormalization;

use crate::text::visible_line;

/// The user of a process that serves one person: a client over stdio, or the command line.
const LOCAL: &str = "local";

/// The longest name of a user, in bytes.
const MAX_NAME_BYTES: usize = 256;

/// The name of a user. Two names are the same user only if they are equal to the byte.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UserName(Arc<str>);

/// Why a text cannot be the name of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum InvalidUserName {
    /// The text is empty, or begins or ends with a space.
    #[error("a user's name must not be empty, nor begin or end with a space")]
    Blank,
    /// The text is too long.
    #[error("a user's name has at most {MAX_NAME_BYTES} bytes")]
    TooLong,
    /// The text contains a character that people cannot see.
    #[error("a user's name must not contain control characters or invisible characters")]
    Invisible,
    /// The text is the name of the local user.
    #[error("the name '{LOCAL}' is reserved for the local user")]
    Reserved,
}

impl UserName {
    /// Accepts a text as the name of a user.
    ///
    /// # Errors
    /// If people could not read the name, or it is reserved.
    pub fn parse(text: &str) -> Result<Self, InvalidUserName> {
        if text.is_empty() || text.trim() != text {
            return Err(InvalidUserName::Blank);
        }
        if text.len() > MAX_NAME_BYTES {
            return Err(InvalidUserName::TooLong);
        }
        if text.chars().any(char::is_control) || visible_line(text) != text {
            return Err(InvalidUserName::Invisible);
        }
        let name = Self(text.into());
        if name.folded() == LOCAL { Err(InvalidUserName::Reserved) } else { Ok(name) }
    }

    /// The name of the local user: of a client over stdio, and of the command line.
    #[must_use]
    pub fn local() -> Self {
        Self(LOCAL.into())
    }

    /// Wraps a name that was accepted before, as a store returns it.
    pub fn from_existing(name: impl Into<Arc<str>>) -> Self {
        Self(name.into())
    }

    /// Whether this is the local user.
    #[must_use]
    pub fn is_local(&self) -> bool {
        &*self.0 == LOCAL
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name without differences that people easily overlook: case and Unicode form. Two users never
    /// have the same folded name.
    #[must_use]
    pub fn folded(&self) -> String {
        let fold = |text: &str| text.nfkc().flat_map(char::to_lowercase).collect::<String>();
        // Lower case can bring characters that have a compatible form themselves.
        fold(&fold(&self.0))
    }
}

impl fmt::Display for UserName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Debug for UserName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, formatter)
    }
}

/// How many groups one user may have.
pub const MAX_GROUPS: usize = 1_000;

/// A text that cannot be the name of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "a group's name must not be empty, has at most {MAX_NAME_BYTES} bytes, and contains only visible \
     characters"
)]
pub struct InvalidGroupName;

/// Checks that people can read the name of a group.
///
/// # Errors
/// If they cannot.
pub fn check_group_name(name: &str) -> Result<(), InvalidGroupName> {
    let is_readable = !name.is_empty()
        && name.trim() == name
        && name.len() <= MAX_NAME_BYTES
        && !name.chars().any(char::is_control)
        && visible_line(name) == name;
    if is_readable { Ok(()) } else { Err(InvalidGroupName) }
}

/// The user that a request comes from, with the groups that the user has at the time of the request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Principal {
    /// The user.
    pub user: UserName,
    /// The groups of the user.
    pub groups: BTreeSet<String>,
}

impl Principal {
    /// The local user, who is in no group.
    #[must_use]
    pub fn local() -> Self {
        Self { user: UserName::local(), groups: BTreeSet::new() }
    }

    /// Whether this is the local user.
    #[must_use]
    pub fn is_local(&self) -> bool {
        self.user.is_local()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_visible_text_and_not_reserved() {
        for name in ["anna", "Anna Müller", "00u1a2b3", "anna@example.com", "李"] {
            assert_eq!(UserName::parse(name).map(|it| it.to_string()), Ok(name.to_owned()));
        }
        for (text, why) in [
            ("", InvalidUserName::Blank),
            (" anna", InvalidUserName::Blank),
            ("an\u{200b}na", InvalidUserName::Invisible),
            ("an\nna", InvalidUserName::Invisible),
            ("\u{202e}anna", InvalidUserName::Invisible),
            ("local", InvalidUserName::Reserved),
            ("LOCAL", InvalidUserName::Reserved),
            ("ｌｏｃａｌ", InvalidUserName::Reserved),
            (&"x".repeat(257), InvalidUserName::TooLong),
        ] {
            assert_eq!(UserName::parse(text), Err(why), "{text:?}");
        }
    }

    #[test]
    fn a_group_is_visible_text() {
        for name in ["admin", "Team Berlin", "8f1d-42"] {
            assert_eq!(check_group_name(name), Ok(()));
        }
        for name in ["", " ", "a\nb", "ad\u{200b}min", &"x".repeat(257)] {
            assert_eq!(check_group_name(name), Err(InvalidGroupName), "{name:?}");
        }
    }

    #[test]
    fn names_that_look_alike_have_the_same_folded_name() {
        let folded = |name: &str| UserName::parse(name).unwrap().folded();
        assert_eq!(folded("Anna"), folded("anna"));
        assert_eq!(folded("Ame\u{301}lie"), folded("Amélie"));
        assert_eq!(folded("ﬁona"), folded("Fiona"));
        assert_ne!(folded("anna"), folded("anne"));
        assert_ne!(UserName::parse("Anna"), UserName::parse("anna"));
    }
}
