//! Users and their personal tokens in PostgreSQL.

use std::collections::BTreeSet;

use onecall_core::storage::{
    MAX_TOKENS_PER_USER, StoreError, StoredToken, StoredUser, TokenAddition, UserAddition,
    UserLogin, UserRemoval, UserSource, Users,
};
use onecall_core::{Digest, Timestamp, UserName};
use tokio_postgres::types::ToSql;

use super::PostgresStore;
use super::changes::Topic;
use super::columns::Text;
use super::error::QueryError;
use super::transaction::{Exclusive, Queries};
use crate::rows::Columns;
use crate::rows::users::{
    TOKEN_COLUMNS, USER_COLUMNS, accept, login_without_write, read_token, read_user,
};

impl Users for PostgresStore {
    fn add_user(
        &self,
        name: &UserName,
        groups: &BTreeSet<String>,
        now: Timestamp,
    ) -> Result<UserAddition, StoreError> {
        self.write_durably(Some(Topic::Users), async |queries| {
            queries.lock(Exclusive::Users).await?;
            let groups = serde_json::to_string(groups)?;
            if let Some(known) = find(queries, name).await? {
                let statement =
                    "UPDATE users SET groups = $2, source = $3, removed_ms = NULL WHERE name = $1";
                let source = UserSource::Added.name();
                queries.execute(statement, &[&name.as_str(), &Text(&groups), &source]).await?;
                return Ok(match known.removed {
                    Some(_) => UserAddition::Restored,
                    None => UserAddition::Updated,
                });
            }
            if let Some(other) = find_similar(queries, name).await? {
                return Ok(UserAddition::SimilarName(other));
            }
            insert(queries, name, UserSource::Added, &groups, now).await?;
            Ok(UserAddition::Added)
        })
    }

    fn log_in(
        &self,
        name: &UserName,
        groups: &BTreeSet<String>,
        now: Timestamp,
    ) -> Result<UserLogin, StoreError> {
        // Most logins are of known users, and need no transaction.
        let known = self.read(async |queries| find(queries, name).await)?;
        if let Some(login) = login_without_write(known, groups, now) {
            return Ok(login);
        }
        self.write_durably(None, async |queries| {
            queries.lock(Exclusive::Users).await?;
            if find(queries, name).await?.is_none() {
                if let Some(other) = find_similar(queries, name).await? {
                    return Ok(UserLogin::SimilarName(other));
                }
                insert(queries, name, UserSource::Identity, "[]", now).await?;
            }
            let statement = "UPDATE users SET last_seen_ms = $2, provider_groups = $3
                 WHERE name = $1 AND removed_ms IS NULL";
            let groups = serde_json::to_string(groups)?;
            queries.execute(statement, &[&name.as_str(), &now.0, &Text(&groups)]).await?;
            Ok(find(queries, name).await?.map_or(UserLogin::Removed, accept))
        })
    }

    fn remove_user(&self, name: &UserName, now: Timestamp) -> Result<UserRemoval, StoreError> {
        self.write_durably(Some(Topic::Users), async |queries| {
            queries.lock(Exclusive::Users).await?;
            let delete = "DELETE FROM user_tokens WHERE \"user\" = $1";
            let tokens = queries.execute(delete, &[&name.as_str()]).await?;
            let tokens = usize::try_from(tokens).unwrap_or(usize::MAX);
            let delete = "DELETE FROM browser_sessions WHERE \"user\" = $1";
            queries.execute(delete, &[&name.as_str()]).await?;
            let statement =
                "UPDATE users SET removed_ms = $2 WHERE name = $1 AND removed_ms IS NULL";
            let removed = queries.execute(statement, &[&name.as_str(), &now.0]).await?;
            Ok(match find(queries, name).await? {
                _ if removed > 0 => UserRemoval::Removed { tokens },
                Some(_) => UserRemoval::AlreadyRemoved,
                None => UserRemoval::Unknown,
            })
        })
    }

    fn user(&self, name: &UserName) -> Result<Option<StoredUser>, StoreError> {
        self.read(async |queries| find(queries, name).await)
    }

    fn users(&self) -> Result<Vec<StoredUser>, StoreError> {
        self.read(async |queries| {
            let query = format!("SELECT {USER_COLUMNS} FROM users ORDER BY name");
            queries.query(&query, &[]).await?.iter().map(read_user).collect()
        })
    }

    fn add_token(&self, token: &StoredToken) -> Result<TokenAddition, StoreError> {
        self.write_durably(Some(Topic::Users), async |queries| {
            queries.lock(Exclusive::Users).await?;
            match find(queries, &token.user).await? {
                None => return Ok(TokenAddition::UnknownUser),
                Some(StoredUser { removed: Some(_), .. }) => return Ok(TokenAddition::RemovedUser),
                Some(_) => {}
            }
            let user = token.user.as_str();
            let expired = "DELETE FROM user_tokens WHERE \"user\" = $1 AND expires_ms <= $2";
            queries.execute(expired, &[&user, &token.created.0]).await?;
            let count = "SELECT count(*) FROM user_tokens WHERE \"user\" = $1";
            let count = queries.query_number(count, &[&user]).await?;
            if usize::try_from(count).is_ok_and(|count| count >= MAX_TOKENS_PER_USER) {
                return Ok(TokenAddition::TooMany);
            }
            insert_token(queries, token).await?;
            Ok(TokenAddition::Added)
        })
    }

    fn token(&self, digest: &Digest) -> Result<Option<(StoredToken, StoredUser)>, StoreError> {
        self.read(async |queries| {
            // The index reveals by its time at most how a digest begins, which helps to find no
            // token.
            let query = format!("SELECT {TOKEN_COLUMNS} FROM user_tokens WHERE digest = $1");
            let digest = digest.into_bytes();
            let Some(row) = queries.query_optional(&query, &[&digest.as_slice()]).await? else {
                return Ok(None);
            };
            let token = read_token(&row)?;
            let user = find(queries, &token.user).await?.filter(|user| user.removed.is_none());
            Ok(user.map(|user| (token, user)))
        })
    }

    fn tokens(&self, user: Option<&UserName>) -> Result<Vec<StoredToken>, StoreError> {
        self.read(async |queries| {
            let query = format!(
                "SELECT {TOKEN_COLUMNS} FROM user_tokens WHERE $1::text IS NULL OR \"user\" = $1
                 ORDER BY created_ms, id"
            );
            let user = user.map(UserName::as_str);
            queries.query(&query, &[&user]).await?.iter().map(read_token).collect()
        })
    }

    fn revoke_token(&self, id: &str) -> Result<bool, StoreError> {
        self.write_durably(Some(Topic::Users), async |queries| {
            let statement = "DELETE FROM user_tokens WHERE id = $1";
            Ok(queries.execute(statement, &[&Text(id)]).await? > 0)
        })
    }

    fn note_token_use(&self, id: &str, now: Timestamp) -> Result<(), StoreError> {
        self.write_durably(None, async |queries| {
            let token = "UPDATE user_tokens SET last_used_ms = $2 WHERE id = $1";
            queries.execute(token, &[&Text(id), &now.0]).await?;
            let user = "UPDATE users SET last_seen_ms = $2
                WHERE name = (SELECT \"user\" FROM user_tokens WHERE id = $1)";
            queries.execute(user, &[&Text(id), &now.0]).await.map(drop)
        })
    }

    fn users_change_number(&self) -> Result<i64, StoreError> {
        Ok(self.changes.count(Topic::Users))
    }
}

async fn insert(
    queries: &Queries<'_>,
    name: &UserName,
    source: UserSource,
    groups: &str,
    now: Timestamp,
) -> Result<(), QueryError> {
    let statement = "INSERT INTO users (name, folded, source, groups, created_ms)
        VALUES ($1, $2, $3, $4, $5)";
    let values: [&(dyn ToSql + Sync); 5] =
        [&name.as_str(), &name.folded(), &source.name(), &Text(groups), &now.0];
    queries.execute(statement, &values).await.map(drop)
}

async fn insert_token(queries: &Queries<'_>, token: &StoredToken) -> Result<(), QueryError> {
    let statement =
        format!("INSERT INTO user_tokens ({TOKEN_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7)");
    let digest = token.digest.into_bytes();
    let values: [&(dyn ToSql + Sync); 7] = [
        &token.id,
        &token.user.as_str(),
        &digest.as_slice(),
        &Text(&token.label),
        &token.created.0,
        &token.expires.0,
        &token.last_used.map(|at| at.0),
    ];
    queries.execute(&statement, &values).await.map(drop)
}

async fn find(queries: &Queries<'_>, name: &UserName) -> Result<Option<StoredUser>, QueryError> {
    let query = format!("SELECT {USER_COLUMNS} FROM users WHERE name = $1");
    let row = queries.query_optional(&query, &[&name.as_str()]).await?;
    row.as_ref().map(read_user).transpose()
}

/// The user whose name differs from `name` in nothing that people notice.
async fn find_similar(
    queries: &Queries<'_>,
    name: &UserName,
) -> Result<Option<UserName>, QueryError> {
    let query = "SELECT name FROM users WHERE folded = $1";
    let row = queries.query_optional(query, &[&name.folded()]).await?;
    Ok(row.map(|row| row.text(0)).transpose()?.map(UserName::from_existing))
}
