//! Approvals in PostgreSQL: questions, their answers, and approvals that cover later calls.

use onecall_core::storage::{
    AnswerReceipt, Approvals, Grant, QuestionFilter, QuestionState, StoreError, StoredQuestion,
};
use onecall_core::{
    AnsweredVerdict, ApprovalQuestion, CallableName, ItemId, RunId, Timestamp, UserName,
};
use tokio_postgres::types::ToSql;

use super::changes::Topic;
use super::columns::Text;
use super::error::QueryError;
use super::transaction::{Exclusive, Queries};
use super::{PostgresStore, durable_runs, questions};
use crate::encoding::{SEALING_KEY, random_key};
use crate::rows::Columns;
use crate::rows::grants::{COLUMNS as GRANT_COLUMNS, GrantScope, read_grant};
use crate::rows::questions::{check_answer, is_asked_again};

impl Approvals for PostgresStore {
    fn add_question(
        &self,
        question: &ApprovalQuestion,
        announce: Option<Timestamp>,
    ) -> Result<StoredQuestion, StoreError> {
        self.write_durably(Some(Topic::Runs), async |queries| {
            queries.lock(Exclusive::Questions(question.run.as_str())).await?;
            durable_runs::lock(queries, [&question.run]).await?;
            if durable_runs::has_ended(queries, &question.run).await? {
                let state = QuestionState::Withdrawn;
                return Ok(StoredQuestion { question: question.clone(), state, announce: None });
            }
            let stored = match questions::find(queries, &question.item).await? {
                Some(stored) if is_asked_again(&stored, question) => {
                    questions::renew_ways(queries, stored, question).await
                }
                _ => questions::replace(queries, question, announce).await,
            }?;
            if stored.state == QuestionState::Open {
                durable_runs::begin_to_wait(queries, &question.run).await?;
            }
            Ok(stored)
        })
    }

    fn question(&self, item: &ItemId) -> Result<Option<StoredQuestion>, StoreError> {
        self.read(async |queries| questions::find(queries, item).await)
    }

    fn questions(&self, filter: &QuestionFilter) -> Result<Vec<StoredQuestion>, StoreError> {
        self.read(async |queries| questions::list(queries, filter).await)
    }

    fn claim_announcement(
        &self,
        run: &RunId,
        questions: &[(ItemId, Timestamp)],
        until: Timestamp,
    ) -> Result<Vec<ItemId>, StoreError> {
        self.write_durably(None, async |queries| {
            durable_runs::lock(queries, [run]).await?;
            let mut claimed = Vec::new();
            for (item, from) in questions {
                if questions::postpone_announcement(queries, item, *from, until).await? {
                    claimed.push(item.clone());
                }
            }
            Ok(claimed)
        })
    }

    fn end_announcement(&self, run: &RunId, items: &[ItemId]) -> Result<(), StoreError> {
        self.write_durably(None, async |queries| {
            durable_runs::lock(queries, [run]).await?;
            questions::set_announced(queries, items).await
        })
    }

    fn answer_question(
        &self,
        item: &ItemId,
        answer: &AnsweredVerdict,
    ) -> Result<AnswerReceipt, StoreError> {
        self.write_durably(Some(Topic::Runs), async |queries| {
            let Some(asked) = questions::find(queries, item).await? else {
                return Ok(AnswerReceipt::Unknown);
            };
            let run = &asked.question.run;
            queries.lock(Exclusive::Questions(run.as_str())).await?;
            durable_runs::lock(queries, [run]).await?;
            // The first answer counts: the question is read again when no other answer can come.
            let stored = questions::find(queries, item).await?;
            let has_run_ended = durable_runs::has_ended(queries, run).await?;
            let question = match check_answer(stored, has_run_ended, answer) {
                Ok(question) => question,
                Err(receipt) => return Ok(*receipt),
            };
            questions::set_answer(queries, item, answer).await?;
            insert_grant(queries, &question, answer).await?;
            Ok(AnswerReceipt::Accepted)
        })
    }

    fn withdraw_question(&self, item: &ItemId) -> Result<(), StoreError> {
        self.write_durably(Some(Topic::Runs), async |queries| {
            let statement =
                "UPDATE questions SET state = 'withdrawn' WHERE item = $1 AND state = 'open'";
            queries.execute(statement, &[&item.as_str()]).await.map(drop)
        })
    }

    fn grants(
        &self,
        name: &CallableName,
        run: &RunId,
        user: &UserName,
        now: Timestamp,
    ) -> Result<Vec<Grant>, StoreError> {
        self.read(async |queries| {
            let query = format!(
                "SELECT {GRANT_COLUMNS} FROM grants
                 WHERE name = $1 AND (run_id IS NULL OR run_id = $2)
                   AND (until_ms IS NULL OR until_ms > $3) AND \"user\" = $4
                 ORDER BY item"
            );
            let selected: [&(dyn ToSql + Sync); 4] =
                [&Text(name.as_str()), &run.as_str(), &now.0, &user.as_str()];
            queries.query(&query, &selected).await?.iter().map(read_grant).collect()
        })
    }

    fn all_grants(&self, now: Timestamp) -> Result<Vec<Grant>, StoreError> {
        self.read(async |queries| {
            let query = format!(
                "SELECT {GRANT_COLUMNS} FROM grants
                 WHERE until_ms IS NULL OR until_ms > $1 ORDER BY item"
            );
            queries.query(&query, &[&now.0]).await?.iter().map(read_grant).collect()
        })
    }

    fn revoke_grant(&self, item: &ItemId) -> Result<bool, StoreError> {
        self.write_durably(Some(Topic::Runs), async |queries| {
            let statement = "DELETE FROM grants WHERE item = $1";
            Ok(queries.execute(statement, &[&item.as_str()]).await? > 0)
        })
    }

    fn change_number(&self) -> Result<i64, StoreError> {
        Ok(self.changes.count(Topic::Runs))
    }

    fn sealing_key(&self) -> Result<[u8; 32], StoreError> {
        if let Some(key) = self.read(async |queries| stored_key(queries).await)? {
            return Ok(key);
        }
        let new = random_key().map_err(|source| self.error(source))?;
        let stored = self.write_durably(None, async |queries| {
            // Another process may have made one.
            let insert = "INSERT INTO secrets (name, value) VALUES ($1, $2)
                ON CONFLICT (name) DO UPDATE SET value = excluded.value
                  WHERE octet_length(secrets.value) <> 32";
            queries.execute(insert, &[&SEALING_KEY, &new.as_slice()]).await?;
            stored_key(queries).await
        })?;
        Ok(stored.unwrap_or(new))
    }
}

/// The stored key; `None` if there is none or its length is wrong.
async fn stored_key(queries: &Queries<'_>) -> Result<Option<[u8; 32]>, QueryError> {
    let query = "SELECT value FROM secrets WHERE name = $1";
    let row = queries.query_optional(query, &[&SEALING_KEY]).await?;
    Ok(row.and_then(|row| row.array(0).ok()))
}

/// Keeps an approval that covers later calls.
async fn insert_grant(
    queries: &Queries<'_>,
    question: &ApprovalQuestion,
    answer: &AnsweredVerdict,
) -> Result<(), QueryError> {
    let Some(scope) = GrantScope::of(question, answer) else { return Ok(()) };
    let values: [&(dyn ToSql + Sync); 7] = [
        &question.item.as_str(),
        &Text(question.name.as_str()),
        &scope.run,
        &Text(&scope.constraints),
        &scope.until,
        &Text(&answer.by),
        &question.run.as_str(),
    ];
    let statement = "INSERT INTO grants
          (item, name, run_id, constraints, until_ms, given_by, \"user\")
        SELECT $1, $2, $3, $4, $5, $6,
          coalesce((SELECT \"user\" FROM durable_runs WHERE id = $7), 'local')
        ON CONFLICT (item) DO UPDATE SET name = excluded.name, run_id = excluded.run_id,
          constraints = excluded.constraints, until_ms = excluded.until_ms,
          given_by = excluded.given_by, \"user\" = excluded.\"user\"";
    queries.execute(statement, &values).await.map(drop)
}

/// Removes approvals that ended before `before`, and questions of runs that are not stored which were
/// settled or have expired before.
pub(super) async fn remove_old(queries: &Queries<'_>, before: Timestamp) -> Result<(), QueryError> {
    queries.execute("DELETE FROM grants WHERE until_ms < $1", &[&before.0]).await?;
    let statement = "DELETE FROM questions
        WHERE asked_ms < $1 AND (state <> 'open' OR expires_ms < $1)
          AND NOT EXISTS (SELECT 1 FROM durable_runs WHERE id = run_id)";
    queries.execute(statement, &[&before.0]).await.map(drop)
}
