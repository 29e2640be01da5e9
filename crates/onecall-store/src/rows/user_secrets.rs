//! The rows of encrypted secrets of users.

use onecall_core::storage::{
    Reencryption, ReplacedVersion, SealedSecret, StoredUserSecret, UserSecretKey, UserSecretKind,
};
use onecall_core::{Timestamp, UserName};

use super::Columns;
use crate::encoding::to_u64;

/// The columns that [`read_secret`] reads, in its order.
pub(crate) const COLUMNS: &str = "\"user\", kind, name, key_id, nonce, sealed, version, changed_ms";

pub(crate) fn read_secret<R: Columns>(row: &R) -> Result<StoredUserSecret, R::Error> {
    let kind = UserSecretKind::named(&row.text(1)?).ok_or_else(|| R::malformed(1))?;
    let user = UserName::from_existing(row.text(0)?);
    Ok(StoredUserSecret {
        key: UserSecretKey { user, kind, name: row.text(2)? },
        content: SealedSecret { key_id: row.text(3)?, nonce: row.bytes(4)?, sealed: row.bytes(5)? },
        version: to_u64(row.number(6)?),
        changed: Timestamp(row.number(7)?),
    })
}

/// Whether a write that expects `replaced` may replace the version that is stored.
pub(crate) fn may_replace(stored: Option<u64>, replaced: ReplacedVersion) -> bool {
    match replaced {
        ReplacedVersion::Any => true,
        ReplacedVersion::Exactly(expected) => expected == stored,
    }
}

/// The changes that `reencrypt` makes to the secrets; `None` if it aborts.
pub(crate) fn changes<'a>(
    stored: &'a [StoredUserSecret],
    reencrypt: &mut dyn FnMut(&StoredUserSecret) -> Reencryption,
) -> Option<Vec<(&'a UserSecretKey, Reencryption)>> {
    let change = |secret: &'a StoredUserSecret| match reencrypt(secret) {
        Reencryption::Abort => None,
        change => Some((&secret.key, change)),
    };
    stored.iter().map(change).collect()
}
