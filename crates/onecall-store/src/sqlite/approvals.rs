//! Approvals in SQLite: questions, their answers, and approvals that cover later calls.

use onecall_core::storage::{
    AnswerReceipt, AnswerStore, Approvals, Grant, QuestionFilter, QuestionState, StoreError,
    StoredQuestion,
};
use onecall_core::{
    AnsweredVerdict, ApprovalQuestion, CallableName, ItemId, RunId, Timestamp, UserName,
};
use rusqlite::{OptionalExtension, Transaction, params};

use super::{SqliteStore, durable_runs, questions};
use crate::encoding::{SEALING_KEY, random_key};
use crate::rows::grants::{COLUMNS as GRANT_COLUMNS, GrantScope, read_grant};
use crate::rows::questions::{check_answer, is_asked_again};

impl Approvals for SqliteStore {
    fn add_question(
        &self,
        question: &ApprovalQuestion,
        announce: Option<Timestamp>,
    ) -> Result<StoredQuestion, StoreError> {
        self.write_marked(&self.durable_writing_connection, |transaction| {
            if questions::has_run_ended(transaction, &question.run)? {
                let state = QuestionState::Withdrawn;
                return Ok(StoredQuestion { question: question.clone(), state, announce: None });
            }
            let stored = match questions::find(transaction, &question.item)? {
                Some(stored) if is_asked_again(&stored, question) => {
                    questions::renew_ways(transaction, stored, question)
                }
                _ => questions::replace(transaction, question, announce),
            }?;
            if stored.state == QuestionState::Open {
                durable_runs::begin_to_wait(transaction, &question.run)?;
            }
            Ok(stored)
        })
    }

    fn question(&self, item: &ItemId) -> Result<Option<StoredQuestion>, StoreError> {
        self.read_durable(|connection| questions::find(connection, item))
    }

    fn questions(&self, filter: &QuestionFilter) -> Result<Vec<StoredQuestion>, StoreError> {
        self.read_durable(|connection| questions::list(connection, filter))
    }

    fn claim_announcement(
        &self,
        _run: &RunId,
        questions: &[(ItemId, Timestamp)],
        until: Timestamp,
    ) -> Result<Vec<ItemId>, StoreError> {
        self.write_durably(|transaction| {
            let mut claimed = Vec::new();
            for (item, from) in questions {
                if questions::postpone_announcement(transaction, item, *from, until)? {
                    claimed.push(item.clone());
                }
            }
            Ok(claimed)
        })
    }

    fn end_announcement(&self, _run: &RunId, items: &[ItemId]) -> Result<(), StoreError> {
        self.write_durably(|transaction| questions::set_announced(transaction, items))
    }

    fn answer_question(
        &self,
        item: &ItemId,
        answer: &AnsweredVerdict,
    ) -> Result<AnswerReceipt, StoreError> {
        self.write_and_unmark(|transaction| {
            let stored = questions::find(transaction, item)?;
            let has_run_ended = match &stored {
                Some(stored) => questions::has_run_ended(transaction, &stored.question.run)?,
                None => false,
            };
            let question = match check_answer(stored, has_run_ended, answer) {
                Ok(question) => question,
                Err(receipt) => return Ok(*receipt),
            };
            questions::set_answer(transaction, item, answer)?;
            insert_grant(transaction, &question, answer)?;
            Ok(AnswerReceipt::Accepted)
        })
    }

    fn withdraw_question(&self, item: &ItemId) -> Result<(), StoreError> {
        self.write_and_unmark(|transaction| {
            transaction.execute(
                "UPDATE questions SET state = 'withdrawn' WHERE item = ?1 AND state = 'open'",
                params![item.as_str()],
            )?;
            Ok(())
        })
    }

    fn grants(
        &self,
        name: &CallableName,
        run: &RunId,
        user: &UserName,
        now: Timestamp,
    ) -> Result<Vec<Grant>, StoreError> {
        self.read_durable(|connection| {
            let mut statement = connection.prepare_cached(&format!(
                "SELECT {GRANT_COLUMNS} FROM grants
                 WHERE name = ?1 AND (run_id IS NULL OR run_id = ?2)
                   AND (until_ms IS NULL OR until_ms > ?3) AND user = ?4
                 ORDER BY item",
            ))?;
            let selected = params![name.as_str(), run.as_str(), now.0, user.as_str()];
            statement.query_map(selected, |row| read_grant(row))?.collect()
        })
    }

    fn all_grants(&self, now: Timestamp) -> Result<Vec<Grant>, StoreError> {
        self.read_durable(|connection| {
            let mut statement = connection.prepare_cached(&format!(
                "SELECT {GRANT_COLUMNS} FROM grants
                 WHERE until_ms IS NULL OR until_ms > ?1
                 ORDER BY item",
            ))?;
            statement.query_map(params![now.0], |row| read_grant(row))?.collect()
        })
    }

    fn revoke_grant(&self, item: &ItemId) -> Result<bool, StoreError> {
        self.write_durably(|transaction| {
            let delete = "DELETE FROM grants WHERE item = ?1";
            Ok(transaction.execute(delete, params![item.as_str()])? > 0)
        })
    }

    fn change_number(&self) -> Result<i64, StoreError> {
        let version = self.version()?;
        // The count of another connection means nothing, so the connection is a part of the number.
        let connection = version.connection.cast_signed().wrapping_shl(40);
        Ok(connection.wrapping_add(version.count))
    }

    fn sealing_key(&self) -> Result<[u8; 32], StoreError> {
        if let Some(key) = self.read_durable(stored_key)? {
            return Ok(key);
        }
        let new = random_key().map_err(|source| StoreError::database(&self.path, source))?;
        self.write_durably(|transaction| {
            // Another process may have made one.
            if let Some(key) = stored_key(transaction)? {
                return Ok(key);
            }
            let insert = "INSERT OR REPLACE INTO secrets (name, value) VALUES (?1, ?2)";
            transaction.execute(insert, params![SEALING_KEY, new])?;
            Ok(new)
        })
    }
}

/// The stored key; `None` if there is none or its length is wrong.
fn stored_key(connection: &rusqlite::Connection) -> rusqlite::Result<Option<[u8; 32]>> {
    let key: Option<Vec<u8>> = connection
        .query_row("SELECT value FROM secrets WHERE name = ?1", params![SEALING_KEY], |row| {
            row.get(0)
        })
        .optional()?;
    Ok(key.and_then(|key| key.try_into().ok()))
}

/// Keeps an approval that covers later calls.
fn insert_grant(
    transaction: &Transaction<'_>,
    question: &ApprovalQuestion,
    answer: &AnsweredVerdict,
) -> rusqlite::Result<()> {
    let Some(scope) = GrantScope::of(question, answer) else { return Ok(()) };
    transaction.execute(
        "INSERT OR REPLACE INTO grants
           (item, name, run_id, constraints, until_ms, given_by, user)
         SELECT ?1, ?2, ?3, ?4, ?5, ?6,
           coalesce((SELECT user FROM durable_runs WHERE id = ?7), 'local')",
        params![
            question.item.as_str(),
            question.name.as_str(),
            scope.run,
            scope.constraints,
            scope.until,
            answer.by,
            question.run.as_str(),
        ],
    )?;
    Ok(())
}

/// Removes approvals that ended before `before`, and questions of runs that are not stored which were
/// settled or have expired before.
pub(super) fn remove_old(transaction: &Transaction<'_>, before: Timestamp) -> rusqlite::Result<()> {
    transaction.execute("DELETE FROM grants WHERE until_ms < ?1", params![before.0])?;
    transaction.execute(
        "DELETE FROM questions
         WHERE asked_ms < ?1 AND (state <> 'open' OR expires_ms < ?1)
           AND NOT EXISTS (SELECT 1 FROM durable_runs WHERE id = run_id)",
        params![before.0],
    )?;
    Ok(())
}
