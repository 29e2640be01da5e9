//! The rows of questions and their answers.

use onecall_core::storage::{QuestionFilter, QuestionState, StoredQuestion};
use onecall_core::{AnsweredVerdict, ApprovalQuestion, ItemId, RunId, Timestamp};
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::filtered::{self, DIALECT};
use crate::encoding::names::name_of;
use crate::rows::query::Query;
use crate::rows::questions::{self as rows, COLUMNS, read_question};

/// Whether the run is stored and has ended.
pub(super) fn has_run_ended(connection: &Connection, run: &RunId) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT 1 FROM durable_runs WHERE id = ?1 AND ended_ms IS NOT NULL")?
        .exists(params![run.as_str()])
}

pub(super) fn find(
    connection: &Connection,
    item: &ItemId,
) -> rusqlite::Result<Option<StoredQuestion>> {
    let statement = format!("SELECT {COLUMNS} FROM questions WHERE item = ?1");
    connection.query_row(&statement, params![item.as_str()], |row| read_question(row)).optional()
}

/// The query that lists questions.
pub(super) fn list_query(filter: &QuestionFilter) -> Query {
    rows::query(filter, "rowid", &DIALECT)
}

pub(super) fn list(
    connection: &Connection,
    filter: &QuestionFilter,
) -> rusqlite::Result<Vec<StoredQuestion>> {
    let query = list_query(filter);
    let mut statement = connection.prepare_cached(&query.text)?;
    statement.query_map(filtered::values(&query), |row| read_question(row))?.collect()
}

/// Stores an open question in the place of an earlier one about the same item.
pub(super) fn replace(
    transaction: &Transaction<'_>,
    question: &ApprovalQuestion,
    announce: Option<Timestamp>,
) -> rusqlite::Result<StoredQuestion> {
    transaction.execute(
        "INSERT OR REPLACE INTO questions (item, run_id, call, kind, name, line, arguments, rule,
           asked_ms, expires_ms, ways, announce_ms, state)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, 'open')",
        params![
            question.item.as_str(),
            question.run.as_str(),
            question.call.cast_signed(),
            name_of(&question.kind),
            question.name.as_str(),
            question.line,
            question.arguments,
            question.rule,
            question.asked.0,
            question.expires.0,
            ways_text(question)?,
            announce.map(|at| at.0),
        ],
    )?;
    Ok(StoredQuestion { question: question.clone(), state: QuestionState::Open, announce })
}

/// Gives a stored question that is open the ways of `asked`, the same question asked again.
pub(super) fn renew_ways(
    transaction: &Transaction<'_>,
    mut stored: StoredQuestion,
    asked: &ApprovalQuestion,
) -> rusqlite::Result<StoredQuestion> {
    if stored.state == QuestionState::Open && stored.question.ways != asked.ways {
        let update = "UPDATE questions SET ways = ?2 WHERE item = ?1";
        transaction.execute(update, params![asked.item.as_str(), ways_text(asked)?])?;
        stored.question.ways.clone_from(&asked.ways);
    }
    Ok(stored)
}

fn ways_text(question: &ApprovalQuestion) -> rusqlite::Result<String> {
    serde_json::to_string(&question.ways)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}

/// Changes when an open question is announced, unless that was changed since it was `from`.
pub(super) fn postpone_announcement(
    transaction: &Transaction<'_>,
    item: &ItemId,
    from: Timestamp,
    until: Timestamp,
) -> rusqlite::Result<bool> {
    let statement = "UPDATE questions SET announce_ms = ?3
        WHERE item = ?1 AND announce_ms = ?2 AND state = 'open'";
    Ok(transaction.execute(statement, params![item.as_str(), from.0, until.0])? > 0)
}

pub(super) fn set_announced(
    transaction: &Transaction<'_>,
    items: &[ItemId],
) -> rusqlite::Result<()> {
    let statement = "UPDATE questions SET announce_ms = NULL WHERE item = ?1";
    let mut statement = transaction.prepare_cached(statement)?;
    items.iter().try_for_each(|item| statement.execute(params![item.as_str()]).map(drop))
}

pub(super) fn set_answer(
    transaction: &Transaction<'_>,
    item: &ItemId,
    answer: &AnsweredVerdict,
) -> rusqlite::Result<()> {
    let verdict = serde_json::to_string(&answer.verdict)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
    transaction.execute(
        "UPDATE questions SET state = 'answered', verdict = ?2, answered_by = ?3, way = ?4,
           answered_ms = ?5
         WHERE item = ?1",
        params![item.as_str(), verdict, answer.by, name_of(&answer.way), answer.at.0],
    )?;
    Ok(())
}
