//! The rows of users and their tokens.

use std::collections::BTreeSet;
use std::time::Duration;

use onecall_core::storage::{StoredToken, StoredUser, UserLogin, UserSource};
use onecall_core::{Digest, Timestamp, UserName};

use super::Columns;

/// The time of the last login is written only if the stored one is older than this.
const SEEN_INTERVAL: Duration = Duration::from_secs(10 * 60);

/// The columns that [`read_user`] reads, in its order.
pub(crate) const USER_COLUMNS: &str =
    "name, source, groups, created_ms, last_seen_ms, removed_ms, provider_groups";

/// The columns that [`read_token`] reads, in its order.
pub(crate) const TOKEN_COLUMNS: &str =
    "id, \"user\", digest, label, created_ms, expires_ms, last_used_ms";

/// The outcome of a login that needs no write: the user was removed, or was seen a short time ago with
/// the same groups.
pub(crate) fn login_without_write(
    known: Option<StoredUser>,
    groups: &BTreeSet<String>,
    now: Timestamp,
) -> Option<UserLogin> {
    let is_recent = |known: &StoredUser| {
        known.provider_groups == *groups
            && known.last_seen.is_some_and(|seen| now.since(seen) < SEEN_INTERVAL)
    };
    known.filter(|known| known.removed.is_some() || is_recent(known)).map(accept)
}

/// The outcome of a login of a user that is known.
pub(crate) fn accept(user: StoredUser) -> UserLogin {
    match user.removed {
        Some(_) => UserLogin::Removed,
        None => UserLogin::Accepted(user),
    }
}

pub(crate) fn read_user<R: Columns>(row: &R) -> Result<StoredUser, R::Error> {
    let source = row.text(1)?;
    let source = UserSource::NAMES.into_iter().find(|(name, _)| *name == source);
    Ok(StoredUser {
        name: UserName::from_existing(row.text(0)?),
        source: source.ok_or_else(|| R::malformed(1))?.1,
        groups: row.json(2)?,
        created: Timestamp(row.number(3)?),
        last_seen: row.optional_number(4)?.map(Timestamp),
        removed: row.optional_number(5)?.map(Timestamp),
        provider_groups: row.json(6)?,
    })
}

pub(crate) fn read_token<R: Columns>(row: &R) -> Result<StoredToken, R::Error> {
    Ok(StoredToken {
        id: row.text(0)?,
        user: UserName::from_existing(row.text(1)?),
        digest: Digest::from_bytes(row.array(2)?),
        label: row.text(3)?,
        created: Timestamp(row.number(4)?),
        expires: Timestamp(row.number(5)?),
        last_used: row.optional_number(6)?.map(Timestamp),
    })
}
