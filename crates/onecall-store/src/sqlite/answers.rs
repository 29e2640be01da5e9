//! Cached answers in SQLite. Rows are not trusted: one that is malformed is removed.

use std::time::Duration;

use onecall_core::storage::{
    AnswerKey, AnswerSize, Answers, MAX_ANSWER_BYTES, StoreError, StoredAnswer, Version,
};
use onecall_core::{Timestamp, ToolValue};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::connection::Link;
use super::{SqliteStore, count, whole};

/// How many answers are removed in one statement.
const BATCH: i64 = 256;

impl Answers for SqliteStore {
    fn answer(&self, key: &AnswerKey, now: Timestamp) -> Result<Option<StoredAnswer>, StoreError> {
        let found = self.read(|connection| find(connection, key, now))?;
        match found {
            Entry::None => Ok(None),
            Entry::Answer(answer) => Ok(Some(answer)),
            Entry::Spoilt => {
                self.write(|transaction| {
                    transaction.execute("DELETE FROM answers WHERE key = ?1", params![key])
                })?;
                Ok(None)
            }
        }
    }

    fn version(&self) -> Result<Version, StoreError> {
        self.with(&self.watching, version)
    }

    fn is_still(&self, before: Version) -> bool {
        let Ok(link) = self.watching.try_lock() else { return false };
        let link = link.as_ref().filter(|link| link.is_at(&self.path));
        link.is_some_and(|link| version(link).is_ok_and(|now| now == before))
    }

    fn put_answer(
        &self,
        key: &AnswerKey,
        server: &str,
        tool: &str,
        answer: &StoredAnswer,
    ) -> Result<(), StoreError> {
        let (kind, text) = answer.value.written();
        let bytes = text.len() + server.len() + tool.len() + key.len();
        if bytes > MAX_ANSWER_BYTES {
            let (what, limit) = ("an answer", MAX_ANSWER_BYTES);
            return Err(StoreError::TooLarge { what, bytes, limit });
        }
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
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
                    bytes,
                    kind,
                    text
                ],
            )?;
            Ok(())
        })
    }

    fn count_hits(&self, key: &AnswerKey, hits: u64) -> Result<(), StoreError> {
        self.write(|transaction| {
            transaction.execute(
                "UPDATE answers SET hits = hits + ?2 WHERE key = ?1",
                params![key, whole(hits)],
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
            while bytes(transaction)? > max_bytes {
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
            let rows = statement.query_map(params![now.0], |row| {
                Ok(AnswerSize {
                    server: row.get(0)?,
                    tool: row.get(1)?,
                    entries: count(row.get(2)?),
                    bytes: count(row.get(3)?),
                    hits: count(row.get(4)?),
                })
            })?;
            rows.collect()
        })
    }
}

fn version(link: &Link) -> rusqlite::Result<Version> {
    link.connection.busy_timeout(Duration::ZERO)?;
    let mut statement = link.connection.prepare_cached("PRAGMA data_version")?;
    let count = statement.query_row([], |row| row.get(0))?;
    Ok(Version { observer: link.number, count })
}

/// The result of looking a key up.
enum Entry {
    None,
    Answer(StoredAnswer),
    /// The row is malformed.
    Spoilt,
}

fn find(connection: &Connection, key: &AnswerKey, now: Timestamp) -> rusqlite::Result<Entry> {
    // A value that is too long is not read; NULL makes the row malformed.
    let mut statement = connection.prepare_cached(
        "SELECT kind, iif(length(CAST(value AS BLOB)) <= ?2, value, NULL), stored_ms, expires_ms
         FROM answers WHERE key = ?1",
    )?;
    let longest = i64::try_from(MAX_ANSWER_BYTES).unwrap_or(i64::MAX);
    let found = statement.query_row(params![key, longest], |row| Ok(read(row, now))).optional()?;
    Ok(found.unwrap_or(Entry::None))
}

/// Parses and checks a row.
fn read(row: &Row<'_>, now: Timestamp) -> Entry {
    let moments = || Ok::<_, rusqlite::Error>((Timestamp(row.get(2)?), Timestamp(row.get(3)?)));
    let (Ok(kind), Ok(text), Ok((stored_at, expires_at))) =
        (row.get::<_, String>(0), row.get::<_, String>(1), moments())
    else {
        return Entry::Spoilt;
    };
    // A row from the future is not used: the clock was set back.
    if stored_at > now || expires_at < stored_at {
        return Entry::Spoilt;
    }
    if expires_at <= now {
        return Entry::None;
    }
    match ToolValue::read(&kind, text) {
        Some(value) => Entry::Answer(StoredAnswer { value, stored_at, expires_at }),
        None => Entry::Spoilt,
    }
}

fn bytes(connection: &Connection) -> rusqlite::Result<u64> {
    let sum = "SELECT coalesce(sum(bytes), 0) FROM answers";
    connection.query_row(sum, [], |row| row.get(0)).map(count)
}

/// How many of the oldest answers exceed the limit, at most one batch.
fn oldest_to_remove(connection: &Connection, max_bytes: u64) -> rusqlite::Result<i64> {
    let mut surplus = bytes(connection)?.saturating_sub(max_bytes);
    let mut statement =
        connection.prepare("SELECT bytes FROM answers ORDER BY stored_ms LIMIT ?1")?;
    let mut rows = statement.query(params![BATCH])?;
    let mut oldest = 0;
    while let Some(row) = rows.next()? {
        if surplus == 0 {
            break;
        }
        surplus = surplus.saturating_sub(count(row.get(0)?));
        oldest += 1;
    }
    Ok(oldest)
}
