//! Encrypted secrets of users in SQLite.

use onecall_core::storage::{
    Reencryption, ReplacedVersion, SealedSecret, StoreError, StoredUserSecret, UserSecretKey,
    UserSecretKind, UserSecretStore, WriteOutcome,
};
use onecall_core::{Timestamp, UserName};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use super::names::malformed;
use super::{SqliteStore, to_i64, to_u64};

/// The columns that [`read_row`] expects.
const COLUMNS: &str = "user, kind, name, key_id, nonce, sealed, version, changed_ms";

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
            if let ReplacedVersion::Exactly(expected) = replaced
                && expected != stored
            {
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
            let mut changes = Vec::with_capacity(stored.len());
            for secret in &stored {
                match reencrypt(secret) {
                    Reencryption::Abort => return Ok(()),
                    change => changes.push((&secret.key, change)),
                }
            }
            for (key, change) in changes {
                match change {
                    Reencryption::Replace(content) => replace(transaction, key, &content)?,
                    Reencryption::Remove => remove(transaction, key)?,
                    Reencryption::Keep | Reencryption::Abort => {}
                }
            }
            Ok(())
        })
    }
}

fn find(
    connection: &Connection,
    key: &UserSecretKey,
) -> rusqlite::Result<Option<StoredUserSecret>> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM user_secrets WHERE user = ?1 AND kind = ?2 AND name = ?3"
    ))?;
    let found =
        statement.query_row(params![key.user.as_str(), key.kind.name(), key.name], read_row);
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
    let rows = statement.query_map(params![user.map(UserName::as_str)], read_row)?;
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

fn read_row(row: &Row<'_>) -> rusqlite::Result<StoredUserSecret> {
    let kind = UserSecretKind::named(&row.get::<_, String>(1)?).ok_or_else(|| malformed(1))?;
    let user = UserName::from_existing(row.get::<_, String>(0)?);
    Ok(StoredUserSecret {
        key: UserSecretKey { user, kind, name: row.get(2)? },
        content: SealedSecret { key_id: row.get(3)?, nonce: row.get(4)?, sealed: row.get(5)? },
        version: to_u64(row.get(6)?),
        changed: Timestamp(row.get(7)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::open_durable;

    fn key(user: &str, kind: UserSecretKind, name: &str) -> UserSecretKey {
        UserSecretKey { user: UserName::from_existing(user), kind, name: name.to_owned() }
    }

    fn content(text: &str) -> SealedSecret {
        SealedSecret {
            key_id: "k".to_owned(),
            nonce: b"nonce".to_vec(),
            sealed: text.as_bytes().to_vec(),
        }
    }

    #[test]
    fn a_write_replaces_only_the_version_that_it_expects() {
        let folder = tempfile::tempdir().unwrap();
        // Two processes have the file open.
        let [one, other] = [(); 2].map(|()| open_durable(folder.path().join("store.db"), 1));
        let key = key("anna", UserSecretKind::Login, "d1");
        let put = |store: &SqliteStore, text: &str, replaced| {
            store.put_user_secret(&key, &content(text), replaced, Timestamp(7)).unwrap()
        };
        let exactly = ReplacedVersion::Exactly;
        assert_eq!(put(&one, "a", exactly(Some(1))), WriteOutcome::Conflict);
        assert_eq!(put(&one, "a", exactly(None)), WriteOutcome::Written { replaced: false });
        assert_eq!(put(&other, "b", exactly(None)), WriteOutcome::Conflict);
        assert_eq!(put(&other, "b", exactly(Some(1))), WriteOutcome::Written { replaced: true });
        assert_eq!(put(&one, "c", exactly(Some(1))), WriteOutcome::Conflict);
        let expected = StoredUserSecret {
            key: key.clone(),
            content: content("b"),
            version: 2,
            changed: Timestamp(7),
        };
        assert_eq!(one.user_secret(&key).unwrap(), Some(expected));
        assert_eq!(put(&one, "d", ReplacedVersion::Any), WriteOutcome::Written { replaced: true });
    }

    #[test]
    fn secrets_are_listed_and_removed_by_user_kind_and_name() {
        let folder = tempfile::tempdir().unwrap();
        let store = open_durable(folder.path().join("store.db"), 1);
        let keys = [
            key("anna", UserSecretKind::Secret, "A"),
            key("anna", UserSecretKind::Secret, "B"),
            key("anna", UserSecretKind::Login, "A"),
            key("Anna", UserSecretKind::Secret, "A"),
        ];
        for key in &keys {
            store.put_user_secret(key, &content("x"), ReplacedVersion::Any, Timestamp(1)).unwrap();
        }
        let listed = |user: Option<&str>| -> Vec<UserSecretKey> {
            let user = user.map(UserName::from_existing);
            let listed = store.user_secrets(user.as_ref()).unwrap();
            listed.into_iter().map(|stored| stored.key).collect()
        };
        let [a, b, login, other] = keys;
        assert_eq!(listed(Some("anna")), [a.clone(), b.clone(), login.clone()]);
        assert_eq!(listed(None), [other.clone(), a.clone(), b.clone(), login.clone()]);
        let absent = key("anna", UserSecretKind::Secret, "C");
        let both = [a.clone(), absent.clone()];
        assert_eq!(store.remove_user_secrets(&both).unwrap(), Some(absent));
        assert_eq!(store.remove_user_secrets(&[a]).unwrap(), None);
        assert_eq!(listed(Some("anna")), [b, login]);
        assert_eq!(store.remove_secrets_of_user(&UserName::from_existing("anna")).unwrap(), 2);
        assert_eq!(listed(None), [other]);
    }

    #[test]
    fn all_secrets_are_encrypted_again_or_none() {
        let folder = tempfile::tempdir().unwrap();
        let store = open_durable(folder.path().join("store.db"), 1);
        for name in ["A", "B", "C"] {
            let key = key("anna", UserSecretKind::Secret, name);
            let any = ReplacedVersion::Any;
            store.put_user_secret(&key, &content(name), any, Timestamp(1)).unwrap();
        }
        let values = || -> Vec<Vec<u8>> {
            let stored = store.user_secrets(None).unwrap();
            stored.into_iter().map(|stored| stored.content.sealed).collect()
        };
        let mut again = |stored: &StoredUserSecret| match stored.key.name.as_str() {
            "C" => Reencryption::Abort,
            _ => Reencryption::Replace(content("new")),
        };
        store.reencrypt_user_secrets(&mut again).unwrap();
        assert_eq!(values(), [b"A", b"B", b"C"]);
        let mut again = |stored: &StoredUserSecret| match stored.key.name.as_str() {
            "A" => Reencryption::Keep,
            "B" => Reencryption::Remove,
            _ => Reencryption::Replace(content("new")),
        };
        store.reencrypt_user_secrets(&mut again).unwrap();
        assert_eq!(values(), [b"A".to_vec(), b"new".to_vec()]);
    }
}
