//! Users and their personal tokens in SQLite. A store that knows users is never replaced by an empty
//! one, because an empty store would let removed users log in again.

use std::collections::BTreeSet;

use onecall_core::storage::{
    Approvals, MAX_TOKENS_PER_USER, StoreError, StoredToken, StoredUser, TokenAddition,
    UserAddition, UserLogin, UserRemoval, UserSource, Users,
};
use onecall_core::{Digest, Timestamp, UserName};
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::SqliteStore;
use crate::rows::users::{
    TOKEN_COLUMNS, USER_COLUMNS, accept, login_without_write, read_token, read_user,
};

impl Users for SqliteStore {
    fn add_user(
        &self,
        name: &UserName,
        groups: &BTreeSet<String>,
        now: Timestamp,
    ) -> Result<UserAddition, StoreError> {
        self.write_marked(&self.durable_writing_connection, |transaction| {
            let groups = serde_json::to_string(groups).map_err(to_sql_error)?;
            if let Some(known) = find(transaction, name)? {
                transaction.execute(
                    "UPDATE users SET source = 'added', groups = ?2, removed_ms = NULL
                     WHERE name = ?1",
                    params![name.as_str(), groups],
                )?;
                return Ok(match known.removed {
                    Some(_) => UserAddition::Restored,
                    None => UserAddition::Updated,
                });
            }
            if let Some(other) = find_similar(transaction, name)? {
                return Ok(UserAddition::SimilarName(other));
            }
            insert(transaction, name, UserSource::Added, &groups, now)?;
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
        let known = self.read_durable(|connection| find(connection, name))?;
        if let Some(login) = login_without_write(known, groups, now) {
            return Ok(login);
        }
        self.write_marked(&self.durable_writing_connection, |transaction| {
            if find(transaction, name)?.is_none() {
                if let Some(other) = find_similar(transaction, name)? {
                    return Ok(UserLogin::SimilarName(other));
                }
                insert(transaction, name, UserSource::Identity, "[]", now)?;
            }
            let groups = serde_json::to_string(groups).map_err(to_sql_error)?;
            transaction.execute(
                "UPDATE users SET last_seen_ms = ?2, provider_groups = ?3
                 WHERE name = ?1 AND removed_ms IS NULL",
                params![name.as_str(), now.0, groups],
            )?;
            Ok(find(transaction, name)?.map_or(UserLogin::Removed, accept))
        })
    }

    fn remove_user(&self, name: &UserName, now: Timestamp) -> Result<UserRemoval, StoreError> {
        self.write_durably(|transaction| {
            let tokens = transaction
                .execute("DELETE FROM user_tokens WHERE user = ?1", params![name.as_str()])?;
            transaction
                .execute("DELETE FROM browser_sessions WHERE user = ?1", params![name.as_str()])?;
            let removed = transaction.execute(
                "UPDATE users SET removed_ms = ?2 WHERE name = ?1 AND removed_ms IS NULL",
                params![name.as_str(), now.0],
            )?;
            Ok(match find(transaction, name)? {
                _ if removed > 0 => UserRemoval::Removed { tokens },
                Some(_) => UserRemoval::AlreadyRemoved,
                None => UserRemoval::Unknown,
            })
        })
    }

    fn user(&self, name: &UserName) -> Result<Option<StoredUser>, StoreError> {
        self.read_durable(|connection| find(connection, name))
    }

    fn users(&self) -> Result<Vec<StoredUser>, StoreError> {
        self.read_durable(|connection| {
            let query = format!("SELECT {USER_COLUMNS} FROM users ORDER BY name");
            connection.prepare_cached(&query)?.query_map([], |row| read_user(row))?.collect()
        })
    }

    fn add_token(&self, token: &StoredToken) -> Result<TokenAddition, StoreError> {
        self.write_durably(|transaction| {
            match find(transaction, &token.user)? {
                None => return Ok(TokenAddition::UnknownUser),
                Some(StoredUser { removed: Some(_), .. }) => return Ok(TokenAddition::RemovedUser),
                Some(_) => {}
            }
            let user = token.user.as_str();
            transaction.execute(
                "DELETE FROM user_tokens WHERE user = ?1 AND expires_ms <= ?2",
                params![user, token.created.0],
            )?;
            let count: u32 = transaction.query_row(
                "SELECT count(*) FROM user_tokens WHERE user = ?1",
                params![user],
                |row| row.get(0),
            )?;
            if usize::try_from(count).is_ok_and(|count| count >= MAX_TOKENS_PER_USER) {
                return Ok(TokenAddition::TooMany);
            }
            let insert = format!(
                "INSERT INTO user_tokens ({TOKEN_COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"
            );
            transaction.execute(
                &insert,
                params![
                    token.id,
                    user,
                    token.digest.into_bytes(),
                    token.label,
                    token.created.0,
                    token.expires.0,
                    token.last_used.map(|at| at.0),
                ],
            )?;
            Ok(TokenAddition::Added)
        })
    }

    fn token(&self, digest: &Digest) -> Result<Option<(StoredToken, StoredUser)>, StoreError> {
        self.read_durable(|connection| {
            // The index reveals by its time at most how a digest begins, which helps to find no
            // token.
            let query = format!("SELECT {TOKEN_COLUMNS} FROM user_tokens WHERE digest = ?1");
            let mut statement = connection.prepare_cached(&query)?;
            let token = statement
                .query_row(params![digest.into_bytes()], |row| read_token(row))
                .optional()?;
            let Some(token) = token else { return Ok(None) };
            let user = find(connection, &token.user)?.filter(|user| user.removed.is_none());
            Ok(user.map(|user| (token, user)))
        })
    }

    fn tokens(&self, user: Option<&UserName>) -> Result<Vec<StoredToken>, StoreError> {
        self.read_durable(|connection| {
            let query = format!(
                "SELECT {TOKEN_COLUMNS} FROM user_tokens WHERE ?1 IS NULL OR user = ?1
                 ORDER BY created_ms, id"
            );
            let mut statement = connection.prepare_cached(&query)?;
            statement
                .query_map(params![user.map(UserName::as_str)], |row| read_token(row))?
                .collect()
        })
    }

    fn revoke_token(&self, id: &str) -> Result<bool, StoreError> {
        self.write_durably(|transaction| {
            Ok(transaction.execute("DELETE FROM user_tokens WHERE id = ?1", params![id])? > 0)
        })
    }

    fn note_token_use(&self, id: &str, now: Timestamp) -> Result<(), StoreError> {
        self.write_durably(|transaction| {
            transaction.execute(
                "UPDATE user_tokens SET last_used_ms = ?2 WHERE id = ?1",
                params![id, now.0],
            )?;
            transaction.execute(
                "UPDATE users SET last_seen_ms = ?2
                 WHERE name = (SELECT user FROM user_tokens WHERE id = ?1)",
                params![id, now.0],
            )?;
            Ok(())
        })
    }

    fn users_change_number(&self) -> Result<i64, StoreError> {
        self.change_number()
    }
}

fn insert(
    transaction: &Transaction<'_>,
    name: &UserName,
    source: UserSource,
    groups: &str,
    now: Timestamp,
) -> rusqlite::Result<()> {
    transaction.execute(
        "INSERT INTO users (name, folded, source, groups, created_ms) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![name.as_str(), name.folded(), source.name(), groups, now.0],
    )?;
    Ok(())
}

fn find(connection: &Connection, name: &UserName) -> rusqlite::Result<Option<StoredUser>> {
    let query = format!("SELECT {USER_COLUMNS} FROM users WHERE name = ?1");
    let mut statement = connection.prepare_cached(&query)?;
    statement.query_row(params![name.as_str()], |row| read_user(row)).optional()
}

/// The user whose name differs from `name` in nothing that people notice.
fn find_similar(connection: &Connection, name: &UserName) -> rusqlite::Result<Option<UserName>> {
    let query = "SELECT name FROM users WHERE folded = ?1";
    let found: Option<String> =
        connection.query_row(query, params![name.folded()], |row| row.get(0)).optional()?;
    Ok(found.map(UserName::from_existing))
}

pub(super) fn to_sql_error(error: serde_json::Error) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(Box::new(error))
}
