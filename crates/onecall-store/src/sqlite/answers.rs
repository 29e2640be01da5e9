//! Cached answers in SQLite. Rows are not trusted: one that is malformed is removed.

use std::time::Duration;

use onecall_core::Timestamp;
use onecall_core::storage::{
    AnswerKey, AnswerSize, AnswerStore, MAX_ANSWER_BYTES, StoreError, StoreVersion, StoredAnswer,
};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::connection::FileConnection;
use super::{SqliteStore, to_i64, to_u64};
use crate::rows::answers::{AnswerRow, BATCH, EncodedAnswer, count_to_remove, read_size};

impl AnswerStore for SqliteStore {
    fn answer(&self, key: &AnswerKey, now: Timestamp) -> Result<Option<StoredAnswer>, StoreError> {
        let found = self.read(|connection| find(connection, key, now))?;
        match found {
            AnswerRow::None => Ok(None),
            AnswerRow::Answer(answer) => Ok(Some(answer)),
            AnswerRow::Malformed => {
                self.write(|transaction| {
                    transaction.execute("DELETE FROM answers WHERE key = ?1", params![key])
                })?;
                Ok(None)
            }
        }
    }

    fn check(&self) -> Result<(), StoreError> {
        self.version().map(drop)
    }

    fn version(&self) -> Result<StoreVersion, StoreError> {
        self.with(&self.watching_connection, version)
    }

    fn is_unchanged_since(&self, before: StoreVersion) -> bool {
        let Ok(file_connection) = self.watching_connection.connection.try_lock() else {
            return false;
        };
        let file_connection =
            file_connection.as_ref().filter(|file_connection| file_connection.is_at(&self.path));
        file_connection
            .is_some_and(|file_connection| version(file_connection).is_ok_and(|now| now == before))
    }

    fn put_answer(
        &self,
        key: &AnswerKey,
        server: &str,
        tool: &str,
        answer: &StoredAnswer,
    ) -> Result<(), StoreError> {
        let encoded = EncodedAnswer::new(key, server, tool, answer)?;
        self.write(|transaction| {
            transaction.execute(
                "INSERT OR REPLACE INTO answers
                   (key, server, tool, stored_ms, expires_ms, bytes, kind, value)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                params![
                    key,
                    server,
                    tool,
                    answer.stored_at.0,
                    answer.expires_at.0,
                    encoded.bytes,
                    encoded.kind,
                    encoded.text
                ],
            )?;
            Ok(())
        })
    }

    fn count_hits(&self, key: &AnswerKey, hits: u64) -> Result<(), StoreError> {
        self.write(|transaction| {
            transaction.execute(
                "UPDATE answers SET hits = hits + ?2 WHERE key = ?1",
                params![key, to_i64(hits)],
            )?;
            Ok(())
        })
    }

    fn forget_answers(&self, chosen: &dyn Fn(&str, &str) -> bool) -> Result<u64, StoreError> {
        self.write(|transaction| {
            let tools: Vec<(String, String)> = transaction
                .prepare("SELECT DISTINCT server, tool FROM answers")?
                .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect::<rusqlite::Result<_>>()?;
            let mut forgotten = 0;
            for (server, tool) in tools.iter().filter(|(server, tool)| chosen(server, tool)) {
                let removed = transaction.execute(
                    "DELETE FROM answers WHERE server = ?1 AND tool = ?2",
                    params![server, tool],
                )?;
                forgotten += u64::try_from(removed).unwrap_or(0);
            }
            Ok(forgotten)
        })
    }

    fn evict_answers(&self, max_bytes: u64, now: Timestamp) -> Result<u64, StoreError> {
        self.write(|transaction| {
            let expired = "DELETE FROM answers WHERE expires_ms <= ?1";
            let mut evicted = transaction.execute(expired, params![now.0])?;
            while total_bytes(transaction)? > max_bytes {
                let removed = transaction.execute(
                    "DELETE FROM answers WHERE key IN
                       (SELECT key FROM answers ORDER BY stored_ms LIMIT ?1)",
                    params![oldest_to_remove(transaction, max_bytes)?],
                )?;
                if removed == 0 {
                    break;
                }
                evicted += removed;
            }
            Ok(u64::try_from(evicted).unwrap_or(0))
        })
    }

    fn answer_sizes(&self, now: Timestamp) -> Result<Vec<AnswerSize>, StoreError> {
        self.read(|connection| {
            let mut statement = connection.prepare(
                "SELECT server, tool, count(*), sum(bytes), sum(hits) FROM answers
                 WHERE expires_ms > ?1 GROUP BY server, tool ORDER BY server, tool",
            )?;
            statement.query_map(params![now.0], |row| read_size(row))?.collect()
        })
    }
}

fn version(file_connection: &FileConnection) -> rusqlite::Result<StoreVersion> {
    file_connection.connection.busy_timeout(Duration::ZERO)?;
    let mut statement = file_connection.connection.prepare_cached("PRAGMA data_version")?;
    let count = statement.query_row([], |row| row.get(0))?;
    Ok(StoreVersion { connection: file_connection.number, count })
}

fn find(connection: &Connection, key: &AnswerKey, now: Timestamp) -> rusqlite::Result<AnswerRow> {
    // A value that is too long is not read; NULL makes the row malformed.
    let mut statement = connection.prepare_cached(
        "SELECT kind, iif(length(CAST(value AS BLOB)) <= ?2, value, NULL), stored_ms, expires_ms
         FROM answers WHERE key = ?1",
    )?;
    let longest = i64::try_from(MAX_ANSWER_BYTES).unwrap_or(i64::MAX);
    let found = statement
        .query_row(params![key, longest], |row| Ok(AnswerRow::check(read_row(row).ok(), now)))
        .optional()?;
    Ok(found.unwrap_or(AnswerRow::None))
}

fn read_row(row: &Row<'_>) -> rusqlite::Result<(String, String, Timestamp, Timestamp)> {
    Ok((row.get(0)?, row.get(1)?, Timestamp(row.get(2)?), Timestamp(row.get(3)?)))
}

fn total_bytes(connection: &Connection) -> rusqlite::Result<u64> {
    let sum = "SELECT coalesce(sum(bytes), 0) FROM answers";
    connection.query_row(sum, [], |row| row.get(0)).map(to_u64)
}

/// How many of the oldest answers exceed the limit, at most one batch.
fn oldest_to_remove(connection: &Connection, max_bytes: u64) -> rusqlite::Result<i64> {
    let surplus = total_bytes(connection)?.saturating_sub(max_bytes);
    let mut statement =
        connection.prepare("SELECT bytes FROM answers ORDER BY stored_ms LIMIT ?1")?;
    let sizes = statement.query_map(params![BATCH], |row| row.get(0))?;
    let sizes: Vec<i64> = sizes.collect::<rusqlite::Result<_>>()?;
    Ok(count_to_remove(surplus, sizes))
}
