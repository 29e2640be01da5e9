//! Encrypted secrets of users in PostgreSQL.

use onecall_core::storage::{
    Reencryption, ReplacedVersion, SealedSecret, SecretLock, StoreError, StoredUserSecret,
    UserSecretKey, UserSecretStore, WriteOutcome,
};
use onecall_core::{Timestamp, UserName};
use tokio_postgres::types::ToSql;

use super::changes::Topic;
use super::columns::Text;
use super::error::QueryError;
use super::transaction::{Exclusive, Queries};
use super::{PostgresStore, to_i64};
use crate::rows::user_secrets::{COLUMNS, changes, may_replace, read_secret};

impl UserSecretStore for PostgresStore {
    fn user_secret(&self, key: &UserSecretKey) -> Result<Option<StoredUserSecret>, StoreError> {
        self.read(async |queries| find(queries, key).await)
    }

    fn user_secrets(&self, user: Option<&UserName>) -> Result<Vec<StoredUserSecret>, StoreError> {
        self.read(async |queries| list(queries, user).await)
    }

    fn put_user_secret(
        &self,
        key: &UserSecretKey,
        content: &SealedSecret,
        replaced: ReplacedVersion,
        now: Timestamp,
    ) -> Result<WriteOutcome, StoreError> {
        self.write_durably(Some(Topic::Users), async |queries| {
            queries.lock(Exclusive::UserSecrets).await?;
            let stored = find(queries, key).await?.map(|stored| stored.version);
            if !may_replace(stored, replaced) {
                return Ok(WriteOutcome::Conflict);
            }
            let SealedSecret { key_id, nonce, sealed } = content;
            let values: [&(dyn ToSql + Sync); 8] = [
                &key.user.as_str(),
                &key.kind.name(),
                &Text(&key.name),
                &Text(key_id),
                nonce,
                sealed,
                &to_i64(stored.unwrap_or(0).saturating_add(1)),
                &now.0,
            ];
            let statement = format!(
                "INSERT INTO user_secrets ({COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
                 ON CONFLICT (\"user\", kind, name) DO UPDATE SET key_id = excluded.key_id,
                   nonce = excluded.nonce, sealed = excluded.sealed, version = excluded.version,
                   changed_ms = excluded.changed_ms"
            );
            queries.execute(&statement, &values).await?;
            Ok(WriteOutcome::Written { replaced: stored.is_some() })
        })
    }

    fn remove_user_secrets(
        &self,
        keys: &[UserSecretKey],
    ) -> Result<Option<UserSecretKey>, StoreError> {
        self.write_durably(Some(Topic::Users), async |queries| {
            queries.lock(Exclusive::UserSecrets).await?;
            for key in keys {
                if find(queries, key).await?.is_none() {
                    return Ok(Some(key.clone()));
                }
            }
            for key in keys {
                remove(queries, key).await?;
            }
            Ok(None)
        })
    }

    fn remove_secrets_of_user(&self, user: &UserName) -> Result<u64, StoreError> {
        self.write_durably(Some(Topic::Users), async |queries| {
            queries.lock(Exclusive::UserSecrets).await?;
            let statement = "DELETE FROM user_secrets WHERE \"user\" = $1";
            queries.execute(statement, &[&user.as_str()]).await
        })
    }

    fn reencrypt_user_secrets(
        &self,
        reencrypt: &mut dyn FnMut(&StoredUserSecret) -> Reencryption,
    ) -> Result<(), StoreError> {
        self.write_durably(Some(Topic::Users), async |queries| {
            queries.lock(Exclusive::UserSecrets).await?;
            let stored = list(queries, None).await?;
            for (key, change) in changes(&stored, reencrypt).unwrap_or_default() {
                match change {
                    Reencryption::Replace(content) => replace(queries, key, &content).await?,
                    Reencryption::Remove => remove(queries, key).await?,
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
        self.secret_locks.try_lock(key)
    }

    fn secrets_change_number(&self) -> Result<i64, StoreError> {
        Ok(self.changes.count(Topic::Users))
    }
}

async fn find(
    queries: &Queries<'_>,
    key: &UserSecretKey,
) -> Result<Option<StoredUserSecret>, QueryError> {
    let query = format!(
        "SELECT {COLUMNS} FROM user_secrets WHERE \"user\" = $1 AND kind = $2 AND name = $3"
    );
    let (user, kind, name) = (key.user.as_str(), key.kind.name(), Text(&key.name));
    let row = queries.query_optional(&query, &[&user, &kind, &name]).await?;
    row.as_ref().map(read_secret).transpose()
}

async fn list(
    queries: &Queries<'_>,
    user: Option<&UserName>,
) -> Result<Vec<StoredUserSecret>, QueryError> {
    let query = format!(
        "SELECT {COLUMNS} FROM user_secrets WHERE $1::text IS NULL OR \"user\" = $1
         ORDER BY \"user\", kind DESC, name"
    );
    let user = user.map(UserName::as_str);
    queries.query(&query, &[&user]).await?.iter().map(read_secret).collect()
}

async fn replace(
    queries: &Queries<'_>,
    key: &UserSecretKey,
    content: &SealedSecret,
) -> Result<(), QueryError> {
    let SealedSecret { key_id, nonce, sealed } = content;
    let statement = "UPDATE user_secrets SET key_id = $4, nonce = $5, sealed = $6
        WHERE \"user\" = $1 AND kind = $2 AND name = $3";
    let (user, kind, name) = (key.user.as_str(), key.kind.name(), Text(&key.name));
    let values: [&(dyn ToSql + Sync); 6] = [&user, &kind, &name, &Text(key_id), nonce, sealed];
    queries.execute(statement, &values).await.map(drop)
}

async fn remove(queries: &Queries<'_>, key: &UserSecretKey) -> Result<(), QueryError> {
    let statement = "DELETE FROM user_secrets WHERE \"user\" = $1 AND kind = $2 AND name = $3";
    let (user, kind, name) = (key.user.as_str(), key.kind.name(), Text(&key.name));
    queries.execute(statement, &[&user, &kind, &name]).await.map(drop)
}
