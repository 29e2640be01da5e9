//! Encrypted secrets of users in SQLite.

use onecall_core::storage::{
    Approvals, Reencryption, ReplacedVersion, SealedSecret, SecretLock, StoreError,
    StoredUserSecret, UserSecretKey, UserSecretStore, WriteOutcome,
};
use onecall_core::{Timestamp, UserName};
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::{SqliteStore, secret_locks, to_i64};
use crate::rows::user_secrets::{COLUMNS, changes, may_replace, read_secret};

impl UserSecretStore for SqliteStore {
    fn user_secret(&self, key: &UserSecretKey) -> Result<Option<StoredUserSecret>, StoreError> {
        self.read(|connection| find(connection, key))
    }

    fn user_secrets(&self, user: Option<&UserName>) -> Result<Vec<StoredUserSecret>, StoreError> {
        self.read(|connection| list(connection, user))
    }

    fn put_user_secret(
        &self,
        key: &UserSecretKey,
        content: &SealedSecret,
        replaced: ReplacedVersion,
        now: Timestamp,
    ) -> Result<WriteOutcome, StoreError> {
        self.write_marked(&self.durable_writing_connection, |transaction| {
            let stored = find(transaction, key)?.map(|stored| stored.version);
            if !may_replace(stored, replaced) {
                return Ok(WriteOutcome::Conflict);
            }
            let SealedSecret { key_id, nonce, sealed } = content;
            transaction.execute(
                "INSERT OR REPLACE INTO user_secrets
                   (user, kind, name, key_id, nonce, sealed, version, changed_ms)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                params![
                    key.user.as_str(),
                    key.kind.name(),
                    key.name,
                    key_id,
                    nonce,
                    sealed,
                    to_i64(stored.unwrap_or(0).saturating_add(1)),
                    now.0
                ],
            )?;
            Ok(WriteOutcome::Written { replaced: stored.is_some() })
        })
    }

    fn remove_user_secrets(
        &self,
        keys: &[UserSecretKey],
    ) -> Result<Option<UserSecretKey>, StoreError> {
        self.write_durably(|transaction| {
            for key in keys {
                if find(transaction, key)?.is_none() {
                    return Ok(Some(key.clone()));
                }
            }
            keys.iter().try_for_each(|key| remove(transaction, key))?;
            Ok(None)
        })
    }

    fn remove_secrets_of_user(&self, user: &UserName) -> Result<u64, StoreError> {
        self.write_durably(|transaction| {
            let removed = transaction
                .execute("DELETE FROM user_secrets WHERE user = ?1", params![user.as_str()])?;
            Ok(u64::try_from(removed).unwrap_or(u64::MAX))
        })
    }

    fn reencrypt_user_secrets(
        &self,
        reencrypt: &mut dyn FnMut(&StoredUserSecret) -> Reencryption,
    ) -> Result<(), StoreError> {
        self.write_durably(|transaction| {
            let stored = list(transaction, None)?;
            for (key, change) in changes(&stored, reencrypt).unwrap_or_default() {
                match change {
                    Reencryption::Replace(content) => replace(transaction, key, &content)?,
                    Reencryption::Remove => remove(transaction, key)?,
                    Reencryption::Keep | Reencryption::Abort => {}
                }
            }
            Ok(())
        })
    }

    fn try_lock_secret(
        &self,
        key: &UserSecretKey,
    ) -> Result<Option<Box<dyn SecretLock>>, StoreError> {
        if let Some(reason) = self.disabled.get() {
            return Err(StoreError::Disabled { reason: reason.clone() });
        }
        secret_locks::try_lock(&self.path, key)
            .map_err(|source| StoreError::unusable(&self.path, source))
    }

    fn secrets_change_number(&self) -> Result<i64, StoreError> {
        self.change_number()
    }
}

fn find(
    connection: &Connection,
    key: &UserSecretKey,
) -> rusqlite::Result<Option<StoredUserSecret>> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM user_secrets WHERE user = ?1 AND kind = ?2 AND name = ?3"
    ))?;
    let found = statement
        .query_row(params![key.user.as_str(), key.kind.name(), key.name], |row| read_secret(row));
    found.optional()
}

fn list(
    connection: &Connection,
    user: Option<&UserName>,
) -> rusqlite::Result<Vec<StoredUserSecret>> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM user_secrets WHERE ?1 IS NULL OR user = ?1
         ORDER BY user, kind DESC, name"
    ))?;
    let rows = statement.query_map(params![user.map(UserName::as_str)], |row| read_secret(row))?;
    rows.collect()
}

fn replace(
    transaction: &Transaction<'_>,
    key: &UserSecretKey,
    content: &SealedSecret,
) -> rusqlite::Result<()> {
    let SealedSecret { key_id, nonce, sealed } = content;
    transaction.execute(
        "UPDATE user_secrets SET key_id = ?4, nonce = ?5, sealed = ?6
         WHERE user = ?1 AND kind = ?2 AND name = ?3",
        params![key.user.as_str(), key.kind.name(), key.name, key_id, nonce, sealed],
    )?;
    Ok(())
}

fn remove(transaction: &Transaction<'_>, key: &UserSecretKey) -> rusqlite::Result<()> {
    transaction.execute(
        "DELETE FROM user_secrets WHERE user = ?1 AND kind = ?2 AND name = ?3",
        params![key.user.as_str(), key.kind.name(), key.name],
    )?;
    Ok(())
}
