//! Cached answers in PostgreSQL. Rows are not trusted: one that is malformed is removed.

use onecall_core::Timestamp;
use onecall_core::storage::{
    AnswerKey, AnswerSize, AnswerStore, MAX_ANSWER_BYTES, StoreError, StoreVersion, StoredAnswer,
};
use tokio_postgres::types::ToSql;

use super::changes::Topic;
use super::columns::Text;
use super::error::QueryError;
use super::transaction::Queries;
use super::{PostgresStore, to_i64, to_u64};
use crate::rows::Columns;
use crate::rows::answers::{AnswerRow, BATCH, EncodedAnswer, count_to_remove, read_size};

impl AnswerStore for PostgresStore {
    fn answer(&self, key: &AnswerKey, now: Timestamp) -> Result<Option<StoredAnswer>, StoreError> {
        match self.read(async |queries| find(queries, key, now).await)? {
            AnswerRow::None => Ok(None),
            AnswerRow::Answer(answer) => Ok(Some(answer)),
            AnswerRow::Malformed => {
                self.write(Some(Topic::Answers), async |queries| {
                    queries.execute("DELETE FROM answers WHERE key = $1", &[&key.as_slice()]).await
                })?;
                Ok(None)
            }
        }
    }

    fn check(&self) -> Result<(), StoreError> {
        self.read(async |queries| queries.exists("SELECT 1 FROM version", &[]).await.map(drop))
    }

    fn version(&self) -> Result<StoreVersion, StoreError> {
        let connection = self.changes.store_number();
        Ok(StoreVersion { connection, count: self.changes.count(Topic::Answers) })
    }

    fn is_unchanged_since(&self, version: StoreVersion) -> bool {
        version.connection == self.changes.store_number()
            && self.changes.is_count(Topic::Answers, version.count)
    }

    fn put_answer(
        &self,
        key: &AnswerKey,
        server: &str,
        tool: &str,
        answer: &StoredAnswer,
    ) -> Result<(), StoreError> {
        let encoded = EncodedAnswer::new(key, server, tool, answer)?;
        let values: [&(dyn ToSql + Sync); 8] = [
            &key.as_slice(),
            &Text(server),
            &Text(tool),
            &answer.stored_at.0,
            &answer.expires_at.0,
            &encoded.bytes,
            &encoded.kind,
            &Text(&encoded.text),
        ];
        self.write(Some(Topic::Answers), async |queries| {
            let statement = "INSERT INTO answers
                  (key, server, tool, stored_ms, expires_ms, bytes, kind, value)
                VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
                ON CONFLICT (key) DO UPDATE SET server = excluded.server, tool = excluded.tool,
                  stored_ms = excluded.stored_ms, expires_ms = excluded.expires_ms, hits = 0,
                  bytes = excluded.bytes, kind = excluded.kind, value = excluded.value";
            queries.execute(statement, &values).await.map(drop)
        })
    }

    fn count_hits(&self, key: &AnswerKey, hits: u64) -> Result<(), StoreError> {
        self.write(None, async |queries| {
            let statement = "UPDATE answers SET hits = hits + $2 WHERE key = $1";
            queries.execute(statement, &[&key.as_slice(), &to_i64(hits)]).await.map(drop)
        })
    }

    fn forget_answers(&self, chosen: &dyn Fn(&str, &str) -> bool) -> Result<u64, StoreError> {
        self.write(Some(Topic::Answers), async |queries| {
            let tools = queries.query("SELECT DISTINCT server, tool FROM answers", &[]).await?;
            let mut forgotten = 0;
            for row in tools {
                let (server, tool) = (row.text(0)?, row.text(1)?);
                if chosen(&server, &tool) {
                    let statement = "DELETE FROM answers WHERE server = $1 AND tool = $2";
                    forgotten +=
                        queries.execute(statement, &[&Text(&server), &Text(&tool)]).await?;
                }
            }
            Ok(forgotten)
        })
    }

    fn evict_answers(&self, max_bytes: u64, now: Timestamp) -> Result<u64, StoreError> {
        // Copies of evicted answers stay valid, so no other process has to know.
        self.write(None, async |queries| {
            let expired = "DELETE FROM answers WHERE expires_ms <= $1";
            let mut evicted = queries.execute(expired, &[&now.0]).await?;
            loop {
                let oldest = oldest_to_remove(queries, max_bytes).await?;
                let statement = "DELETE FROM answers WHERE key IN
                      (SELECT key FROM answers ORDER BY stored_ms LIMIT $1)";
                match queries.execute(statement, &[&oldest]).await? {
                    0 => return Ok(evicted),
                    removed => evicted += removed,
                }
            }
        })
    }

    fn answer_sizes(&self, now: Timestamp) -> Result<Vec<AnswerSize>, StoreError> {
        self.read(async |queries| {
            let query = "SELECT server, tool, count(*), sum(bytes)::bigint, sum(hits)::bigint
                FROM answers WHERE expires_ms > $1 GROUP BY server, tool ORDER BY server, tool";
            queries.query(query, &[&now.0]).await?.iter().map(read_size).collect()
        })
    }
}

async fn find(
    queries: &Queries<'_>,
    key: &AnswerKey,
    now: Timestamp,
) -> Result<AnswerRow, QueryError> {
    // A value that is too long is not read; NULL makes the row malformed.
    let query = "SELECT kind, CASE WHEN octet_length(value) <= $2 THEN value END, stored_ms,
        expires_ms FROM answers WHERE key = $1";
    let longest = i32::try_from(MAX_ANSWER_BYTES).unwrap_or(i32::MAX);
    let Some(row) = queries.query_optional(query, &[&key.as_slice(), &longest]).await? else {
        return Ok(AnswerRow::None);
    };
    let read = || -> Result<_, QueryError> {
        Ok((row.text(0)?, row.text(1)?, Timestamp(row.number(2)?), Timestamp(row.number(3)?)))
    };
    Ok(AnswerRow::check(read().ok(), now))
}

/// How many of the oldest answers exceed the limit, at most one batch.
async fn oldest_to_remove(queries: &Queries<'_>, max_bytes: u64) -> Result<i64, QueryError> {
    let sum = "SELECT coalesce(sum(bytes), 0)::bigint FROM answers";
    let surplus = to_u64(queries.query_number(sum, &[]).await?).saturating_sub(max_bytes);
    let sizes = "SELECT bytes FROM answers ORDER BY stored_ms LIMIT $1";
    let sizes = queries.query(sizes, &[&BATCH]).await?;
    let sizes = sizes.iter().map(|row| row.number(0)).collect::<Result<Vec<_>, _>>()?;
    Ok(count_to_remove(surplus, sizes))
}
